//! Reads the documents of a request, and says what is wrong with it.
//!
//! A stream of lines (`POST /v1/judge.ndjson`) is answered by lines in their order, as they are ready. Lines that have arrived are judged
//! together. Nothing more is read until their answers are sent: a client that does not read its answers holds up nobody but itself.

use std::{io, sync::Arc, time::Duration};

use axum::{
    Json,
    body::{Body, BodyDataStream},
    extract::rejection::QueryRejection,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use serde::Serialize;
use serde_json::{json, value::RawValue};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::{Service, judge::Gone};
use crate::input::{Input, LineError, document};

/// How long a body may take.
const TIME: Duration = Duration::from_secs(30);
/// How much of a body that is too long is read, so that the client gets the answer and not a broken connection: this many times the limit.
const DRAINED: usize = 8;

/// The documents of a body, and whether it is an array.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) inputs: Vec<Input>,
    pub(super) is_array: bool,
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let reading = collect(body.into_data_stream(), limit);
    timeout(TIME, reading).await.unwrap_or_else(|_| {
        let error = format!("the body did not arrive within {} s", TIME.as_secs());
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, error))
    })
}

async fn collect(mut stream: BodyDataStream, limit: usize) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let broken =
            |error| Problem::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"));
        let chunk: Bytes = chunk.map_err(broken)?;
        length += chunk.len();
        if length <= limit {
            bytes.extend_from_slice(&chunk);
        } else if length > DRAINED * limit {
            break;
        }
    }
    if length > limit {
        let error = format!(
            "the body is longer than {limit} bytes; send fewer documents at a time, use /v1/judge.ndjson, or start the service with a larger --max-body"
        );
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error));
    }
    Ok(bytes)
}

impl Documents {
    /// One document, or an array of at most this many.
    pub(super) fn parse(body: &[u8], most: usize) -> Result<Self, Problem> {
        if !body.trim_ascii_start().starts_with(b"[") {
            let input = document(body).map_err(|error| wrong(&error, None))?;
            return Ok(Self { inputs: vec![input], is_array: false });
        }
        let items: Vec<&RawValue> = serde_json::from_slice(body)
            .map_err(|error| Problem::document(format!("the body is not JSON: {error}"), None))?;
        if items.len() > most {
            let error = format!(
                "{} documents are more than the {most} of one request; send them in several, or to /v1/judge.ndjson",
                items.len()
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error));
        }
        let parse = |(place, item): (usize, &&RawValue)| {
            document(item.get().as_bytes()).map_err(|error| wrong(&error, Some(place)))
        };
        let inputs = items.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { inputs, is_array: true })
    }
}

fn wrong(error: &LineError, place: Option<usize>) -> Problem {
    Problem::document(error.to_string(), place)
}

/// Seconds after which a client may ask again.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// An answer that is no success.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    said: Said,
}

/// What was wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Said {
    /// What was wrong, and what to do.
    error: String,
    /// The place of the document in the array, from 0, if the request has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, said: Said { error: error.into(), document: None } }
    }

    /// A document is not what it must be.
    pub(super) fn document(error: impl Into<String>, place: Option<usize>) -> Self {
        let said = Said { error: error.into(), document: place };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, said }
    }

    pub(super) fn busy() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "the queue is full: nothing of this request was judged; send it again in a second",
        )
    }

    pub(super) fn not_ready(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejected: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, rejected.body_text())
    }
}

impl From<Gone> for Problem {
    fn from(Gone: Gone) -> Self {
        Self::not_ready(
            "the state cannot be written, so nothing of this request is durable; see the service's log",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let again = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        let may_ask_again = again.contains(&self.status);
        let mut response = (self.status, Json(self.said)).into_response();
        if may_ask_again {
            response.headers_mut().insert(RETRY_AFTER, LATER);
        }
        response
    }
}

/// Documents that are judged together.
const BATCH: usize = 64;

/// A stream of lines that is being answered.
struct Lines {
    service: Arc<Service>,
    body: BodyDataStream,
    /// What was read and is not judged yet.
    read: Vec<u8>,
    /// The number of the last line that was taken from it, from 1.
    number: u64,
    dry: bool,
    is_over: bool,
}

/// A line of the body: its number, and the document or what is wrong with it.
type Line = (u64, Result<Input, String>);

/// What there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    Some,
    /// The body has ended.
    None,
    /// The connection is broken.
    Broken,
    /// The service is stopping.
    Stopped,
}

/// The answers to a body of lines. A client that waits until it may send the body is asked for it first: once the head of the answer is sent,
/// there is no place for `100 Continue`.
pub(super) async fn answers(service: Arc<Service>, body: Body, dry: bool, waits: bool) -> Body {
    let body = body.into_data_stream();
    let mut lines = Lines { service, body, read: Vec::new(), number: 0, dry, is_over: false };
    if waits {
        lines.begin().await;
    }
    Body::from_stream(stream::unfold(lines, |mut lines| async move {
        let answer = lines.next().await?;
        Some((Ok::<_, io::Error>(Bytes::from(answer)), lines))
    }))
}

impl Lines {
    /// Reads the beginning of the body. A body that has failed stays so.
    async fn begin(&mut self) {
        let stopping = self.service.stopping.clone();
        if let Some(Some(Ok(chunk))) = stopping.run_until_cancelled(self.body.next()).await {
            self.read.extend_from_slice(&chunk);
        }
    }

    /// The answers to the next lines.
    async fn next(&mut self) -> Option<String> {
        while !self.is_over {
            let more = self.read().await;
            let lines = self.take(more == More::None);
            if !lines.is_empty() {
                return Some(self.answer(lines).await);
            }
            self.is_over = more != More::Some;
            if more == More::Stopped {
                let error = "the service is stopping: this and later lines are not judged";
                return Some(error_line(error, self.number + 1));
            }
        }
        None
    }

    /// Reads until there is a line, and what has arrived after it.
    async fn read(&mut self) -> More {
        let limit = self.service.options.max_body;
        while self.read.len() <= limit {
            let chunk = if self.read.contains(&b'\n') {
                let Some(chunk) = self.body.next().now_or_never() else { return More::Some };
                chunk
            } else {
                let stopping = self.service.stopping.clone();
                let Some(chunk) = stopping.run_until_cancelled(self.body.next()).await else {
                    return More::Stopped;
                };
                chunk
            };
            match chunk {
                Some(Ok(chunk)) => self.read.extend_from_slice(&chunk),
                Some(Err(_)) => return More::Broken,
                None => return More::None,
            }
        }
        More::Some
    }

    /// Takes complete lines, and at the end the last one.
    fn take(&mut self, is_end: bool) -> Vec<Line> {
        let limit = self.service.options.max_body;
        let (mut lines, mut start) = (Vec::new(), 0);
        while lines.len() < BATCH {
            let rest = &self.read[start..];
            let (line, next) = match rest.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&rest[..end], start + end + 1),
                None if is_end && !rest.is_empty() => (rest, self.read.len()),
                None => break,
            };
            if line.len() > limit {
                break;
            }
            self.number += 1;
            if !line.trim_ascii().is_empty() {
                let document = document(line).map_err(|error| error.to_string());
                lines.push((self.number, document));
            }
            start = next;
        }
        self.read.drain(..start);
        if lines.is_empty() && self.read.len() > limit {
            self.is_over = true;
            let error = format!("the line is longer than {limit} bytes; nothing after it was read");
            lines.push((self.number + 1, Err(error)));
        }
        lines
    }

    async fn answer(&mut self, lines: Vec<Line>) -> String {
        let first = lines.first().map_or(0, |(number, _)| *number);
        let wrong: Vec<_> = lines
            .iter()
            .map(|(number, line)| line.as_ref().err().map(|error| error_line(error, *number)))
            .collect();
        let inputs = lines.into_iter().filter_map(|(_, line)| line.ok()).collect();
        let Ok(decisions) = self.service.judge_all(inputs, self.dry).await else {
            self.is_over = true;
            let error = "the state cannot be written: this and later lines are not judged";
            return error_line(error, first);
        };
        let mut decisions = decisions.into_iter();
        let answer = |wrong: Option<String>| match wrong {
            Some(wrong) => wrong,
            None => decisions.next().unwrap_or_default() + "\n",
        };
        wrong.into_iter().map(answer).collect()
    }
}

fn error_line(error: &str, line: u64) -> String {
    format!("{}\n", json!({ "error": error, "line": line }))
}
