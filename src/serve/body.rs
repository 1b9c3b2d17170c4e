//! Reads the documents of a request, and says what is wrong with it.

use std::time::Duration;

use axum::{
    Json,
    body::{Body, BodyDataStream},
    extract::rejection::{PathRejection, QueryRejection},
    http::{
        HeaderValue, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::judge::Gone;
use crate::{
    input::{Input, LineError, document},
    submission::Times,
};

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
    pub(super) fn parse(body: &[u8], most: usize, times: Times) -> Result<Self, Problem> {
        if !body.trim_ascii_start().starts_with(b"[") {
            let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let input = document(body, times).map_err(|error| {
                // The first line is a document, and there are more.
                let is_one = lines.next().is_some_and(|line| document(line, times).is_ok());
                if is_one && lines.next().is_some() {
                    return Problem::document("documents on lines go to /v1/judge.ndjson", None);
                }
                wrong(&error, None)
            })?;
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
            document(item.get().as_bytes(), times).map_err(|error| wrong(&error, Some(place)))
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

/// How a client says who it is (RFC 6750).
const BEARER: HeaderValue = HeaderValue::from_static("Bearer realm=\"pagesieve\"");

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
        let said = rejected.body_text();
        let why = said.strip_prefix("Failed to deserialize query string: ").unwrap_or(&said);
        Self::new(StatusCode::BAD_REQUEST, format!("the query cannot be read: {why}"))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejected: PathRejection) -> Self {
        let why = rejected.body_text();
        Self::new(StatusCode::BAD_REQUEST, format!("the id in the URL cannot be read: {why}"))
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
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, BEARER);
        }
        response
    }
}
