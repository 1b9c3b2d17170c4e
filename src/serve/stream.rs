//! `POST /v1/judge.ndjson`: documents as lines, answered by lines in their order, as they are ready.
//!
//! Lines that have arrived are judged together. Nothing more is read until their answers are sent: a client that does not read its answers
//! holds up nobody but itself.

use std::{io, sync::Arc};

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::json;

use super::Service;
use crate::input::{Input, document};

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
