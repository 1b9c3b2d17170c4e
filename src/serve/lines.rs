//! Answers a body of lines (`POST /v1/judge.ndjson`) by lines in their order, as they are ready.
//!
//! Lines that have arrived are judged together. Answers wait for the client in a bounded buffer, so that it may write for a while before it
//! reads. A client that goes on without reading is told so: nothing more is judged then, and the rest of its body is read and dropped, because it
//! would not look at the answer before it has sent everything.

use std::{io, sync::Arc, time::Duration};

use axum::body::{Body, BodyDataStream};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::json;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};

use super::Service;
use crate::input::{Input, document};

/// Documents that are judged together, at most.
const BATCH: usize = 256;
/// A stream takes this part of the queue at a time, so that others have room.
const SHARE: usize = 16;
/// How long the buffer of answers may be full while the client takes nothing of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer is shorter, in bytes.
const SHORTEST: usize = 32;

/// A stream of lines that is being answered.
struct Lines {
    service: Arc<Service>,
    body: BodyDataStream,
    /// What was read and is not judged yet.
    read: BytesMut,
    /// The number of the last line that was taken from it, from 1.
    number: u64,
    dry: bool,
    /// Why the body broke off, or cannot be decoded, if it is so. What came before is judged.
    broken: Option<String>,
    is_over: bool,
}

/// A line of the body: its number, and the document or what is wrong with it.
type Line = (u64, Result<Input, String>);

/// What there is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum More {
    Some,
    /// The body has ended.
    None,
    /// The body broke off, or cannot be decoded, and why.
    Broken(String),
    /// The service is stopping.
    Stopped,
}

/// Answers that wait for the client, with the room that they take.
struct Buffer {
    room: Arc<Semaphore>,
    size: usize,
    answers: mpsc::Sender<(Bytes, OwnedSemaphorePermit)>,
}

/// The client cannot get any more answers.
enum Lost {
    /// It does not read.
    Stalled,
    /// It is not there.
    Gone,
}

/// The answers to a body of lines. A client that waits until it may send the body is asked for it first: once the head of the answer is sent,
/// there is no place for `100 Continue`.
pub(super) async fn answers(service: Arc<Service>, body: Body, dry: bool, waits: bool) -> Body {
    let body = body.into_data_stream();
    let streams = Arc::clone(&service.streams);
    let size = service.options.limits.max_body;
    let mut lines = Lines {
        service,
        body,
        read: BytesMut::new(),
        number: 0,
        dry,
        broken: None,
        is_over: false,
    };
    if waits {
        lines.begin().await;
    }
    let permits = size.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
    // Its bound is that in bytes.
    let (answers, answered) = mpsc::channel(permits / SHORTEST + 1);
    let buffer = Buffer { room: Arc::new(Semaphore::new(permits)), size: permits, answers };
    let mut streams = streams.lock().expect("no thread panics while it holds the lock");
    while streams.try_join_next().is_some() {}
    streams.spawn(lines.serve(buffer));
    Body::from_stream(stream::unfold(answered, |mut answered| async move {
        // The room is free again when the connection takes the answer.
        let (answer, _room) = answered.recv().await?;
        Some((Ok::<_, io::Error>(answer), answered))
    }))
}

impl Buffer {
    async fn push(&self, answer: String) -> Result<(), Lost> {
        let bytes = u32::try_from(answer.len().min(self.size)).unwrap_or(u32::MAX);
        let mut free = self.room.available_permits();
        loop {
            let room = Arc::clone(&self.room).acquire_many_owned(bytes);
            if let Ok(room) = timeout(PATIENCE, room).await {
                let room = room.map_err(|_| Lost::Gone)?;
                let sent = self.answers.send((answer.into(), room)).await;
                return sent.map_err(|_| Lost::Gone);
            }
            let was_free = std::mem::replace(&mut free, self.room.available_permits());
            if self.answers.is_closed() {
                return Err(Lost::Gone);
            }
            if free == was_free {
                return Err(Lost::Stalled);
            }
        }
    }

    /// Adds the last line, for which there is always room.
    async fn end(self, answer: String) {
        self.room.add_permits(answer.len());
        let bytes = u32::try_from(answer.len()).unwrap_or(0);
        if let Ok(room) = self.room.acquire_many_owned(bytes).await {
            // The client may be gone.
            drop(self.answers.send((answer.into(), room)).await);
        }
    }
}

impl Lines {
    /// Answers all lines.
    async fn serve(mut self, buffer: Buffer) {
        loop {
            let first = self.number + 1;
            let Some(answer) = self.next().await else { return };
            match buffer.push(answer).await {
                Ok(()) => {}
                Err(Lost::Gone) => return,
                Err(Lost::Stalled) => {
                    let error = format!(
                        "{} bytes of answers wait, and none was read for {} s: the decisions on this and later lines are not sent. Read \
                         answers while you send lines, or send fewer lines at a time",
                        buffer.size,
                        PATIENCE.as_secs()
                    );
                    tracing::warn!(line = first, "a client does not read its answers");
                    let end = buffer.end(error_line(&error, first));
                    tokio::join!(end, self.drain());
                    return;
                }
            }
        }
    }

    /// Reads what is left of the body, and drops it.
    async fn drain(&mut self) {
        let stopping = self.service.stopping.clone();
        while let Some(Some(Ok(_))) = stopping.run_until_cancelled(self.body.next()).await {}
    }

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
            let error = match more {
                More::Some | More::None => continue,
                More::Broken(why) => format!(
                    "the body broke off: {why}: what was to come from this line on is not judged"
                ),
                More::Stopped => {
                    "the service is stopping: this and later lines are not judged".to_owned()
                }
            };
            return Some(error_line(&error, self.number + 1));
        }
        None
    }

    /// Reads until there is a line, and what has arrived after it.
    async fn read(&mut self) -> More {
        let limit = self.service.options.limits.max_body;
        if let Some(why) = &self.broken {
            return More::Broken(why.clone());
        }
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
                Some(Err(error)) => {
                    let why = error.to_string();
                    self.broken = Some(why.clone());
                    return More::Broken(why);
                }
                None => return More::None,
            }
        }
        More::Some
    }

    /// Takes complete lines, and at the end the last one.
    fn take(&mut self, is_end: bool) -> Vec<Line> {
        let limit = self.service.options.limits.max_body;
        let most = (self.service.options.limits.queue / SHARE).clamp(1, BATCH);
        let (mut lines, mut start) = (Vec::new(), 0);
        while lines.len() < most {
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
                let document =
                    document(line, self.service.times()).map_err(|error| error.to_string());
                lines.push((self.number, document));
            }
            start = next;
        }
        self.read.advance(start);
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
