//! Reads a body: removes its content coding while it arrives, counts the decoded bytes, stops at the limit.
//!
//! No declared length is trusted. The memory of a body is bounded by the limit, the decoder's window (at most 16 MiB) and one chunk from the
//! network. All downloads share one budget of bytes, so that no number of hosts exhausts the memory.
//!
//! A short body needs no share of it and never waits. A longer one takes its share as it grows, and holds it until the page is recorded.
//! When nothing is left, it waits. One of those that wait may go on beyond the budget, so downloads never wait for each other in a circle.

use std::{
    io, iter,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_compression::{
    tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder},
    zstd::DParameter,
};
use bytes::{BufMut, Bytes};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    future::{Either, select},
    stream::{self, FusedStream},
};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, copy_buf, sink},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::io::StreamReader;

/// Bytes decoded in one step, and the first allocation for a body.
const STEP: usize = 32 << 10;

/// The ratio counts from this many decoded bytes on; small bodies of one repeated character are not bombs.
const RATIO_FROM: usize = 1 << 20;

/// Above this many decoded bytes per received byte, a body is a bomb. HTML has 5 or 10, generated tables have 60.
const MAX_RATIO: usize = 200;

/// Window of a zstd frame, as a power of two: 8 MiB, the most a server may use (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// How much of a body was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// As many bytes as the limit allows; there would have been more.
    Cut,
    /// Nothing, because it is not needed: the status is not 2xx, or a page was requested and this is not HTML.
    Skipped,
}

/// The content codings that are understood (RFC 9110, section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Why a body is not decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadBody {
    #[error("content coding `{0}` is not known")]
    UnknownCoding(String),
    #[error("more than one content coding: `{0}`")]
    SeveralCodings(String),
    #[error("brotli large-window streams are not supported")]
    LargeWindow,
    #[error("compression ratio above {MAX_RATIO}")]
    Ratio,
    #[error("the compressed body exceeds the limit")]
    Oversized,
    /// The network failed, or the body ended too early.
    #[error("the body ended early")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Coding {
    /// The coding that the `Content-Encoding` headers name.
    ///
    /// Some servers write a charset or `none` instead of a coding; like browsers, we take that as no coding.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, BadBody> {
        let value = headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
            .collect::<Vec<_>>()
            .join(",");
        let mut codings = value.split(',').map(str::trim).filter(|name| !is_meaningless(name));
        let coding = match codings.next() {
            None => Self::Identity,
            Some("gzip" | "x-gzip") => Self::Gzip,
            Some("deflate") => Self::Deflate,
            Some("br") => Self::Brotli,
            Some("zstd") => Self::Zstd,
            Some(other) => return Err(BadBody::UnknownCoding(other.to_owned())),
        };
        if codings.next().is_some() { Err(BadBody::SeveralCodings(value)) } else { Ok(coding) }
    }

    /// Bytes of memory for each decoded byte: the window of some may be as long as the body.
    pub(super) fn memory(self) -> usize {
        match self {
            Self::Identity | Self::Gzip | Self::Deflate => 1,
            Self::Brotli | Self::Zstd => 2,
        }
    }
}

fn is_meaningless(coding: &str) -> bool {
    matches!(coding, "" | "identity" | "none")
        || encoding_rs::Encoding::for_label(coding.as_bytes()).is_some()
}

/// Reads and decodes at most `limit` bytes: the body without its content coding.
///
/// # Errors
///
/// An error whose inner error is a [`BadBody`], or the decoder's own.
pub(super) async fn read<S>(
    chunks: S,
    coding: Coding,
    limit: usize,
    share: &mut MemoryShare,
) -> io::Result<(Vec<u8>, Extent)>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Send + Unpin,
{
    // A stored block may be a little longer than what it holds.
    let allowance = limit.saturating_add(limit / 16 + STEP);
    let consumed = AtomicUsize::new(0);
    let pieces = chunks
        .map_err(|error| BadBody::Broken(error.without_url().into()))
        .map_ok(|chunk| stream::iter(pieces(chunk).map(Ok)))
        .try_flatten()
        .map(|piece| match piece {
            Ok(piece) if consumed.fetch_add(piece.len(), Ordering::Relaxed) > allowance => {
                Err(BadBody::Oversized)
            }
            piece => piece,
        });
    let mut wire = StreamReader::new(pieces.fuse());
    let mut decoded = Vec::new();
    let mut extent = Extent::Whole;
    while let Some(&first) = wire.fill_buf().await?.first() {
        let reader = decoder(coding, first, &mut wire)?;
        let filled = fill(&mut decoded, reader, limit, share, &consumed).await;
        // A decoder that fails after the last byte wanted more. Without a declared length nothing else notices a cut body.
        let ended = wire.get_ref().is_terminated();
        extent = filled
            .map_err(|error| if ended { BadBody::Broken(error.into()).into() } else { error })?;
        // A gzip body may have several members (RFC 1952). What follows the last one is ignored, as browsers do.
        let goes_on = coding == Coding::Gzip && wire.fill_buf().await?.first() == Some(&0x1f);
        if extent == Extent::Cut || !goes_on {
            break;
        }
    }
    if extent == Extent::Whole {
        // A cut body is noticed, and the connection can be reused.
        copy_buf(&mut wire, &mut sink()).await?;
    }
    Ok((decoded, extent))
}

/// A chunk in pieces that are too small to hide a bomb while they wait for the decoder.
fn pieces(mut chunk: Bytes) -> impl Iterator<Item = Bytes> {
    iter::from_fn(move || {
        (!chunk.is_empty()).then(|| chunk.split_to(chunk.len().min(RATIO_FROM / MAX_RATIO)))
    })
}

/// The decoder of a stream that begins with `first`.
fn decoder<'a, R>(
    coding: Coding,
    first: u8,
    wire: &'a mut R,
) -> Result<Box<dyn AsyncRead + Send + Unpin + 'a>, io::Error>
where
    R: AsyncBufRead + Send + Unpin,
{
    Ok(match coding {
        Coding::Identity => Box::new(wire),
        Coding::Gzip => Box::new(GzipDecoder::new(wire)),
        // `deflate` means zlib (RFC 9110), but some servers send a bare stream. The low half of zlib's first byte is 8; a bare stream
        // could begin with that only if it had a stored block with padding bits set, which no encoder writes.
        Coding::Deflate if first & 0x0f == 8 => Box::new(ZlibDecoder::new(wire)),
        Coding::Deflate => Box::new(DeflateDecoder::new(wire)),
        // The mark of windows up to 1 GiB, which are outside RFC 7932.
        Coding::Brotli if first & 0x7f == 0x11 => return Err(BadBody::LargeWindow.into()),
        Coding::Brotli => Box::new(BrotliDecoder::new(wire)),
        Coding::Zstd => {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
            let mut decoder = ZstdDecoder::with_params(wire, &[window]);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
    })
}

/// Appends the output of `decoder` until it ends or `body` has `limit` bytes.
async fn fill(
    body: &mut Vec<u8>,
    mut decoder: impl AsyncRead + Unpin,
    limit: usize,
    share: &mut MemoryShare,
    consumed: &AtomicUsize,
) -> io::Result<Extent> {
    // One byte more than the limit distinguishes a body that is too long from one that just fits.
    let most = limit.saturating_add(1);
    while body.len() < most {
        if body.len() == body.capacity() {
            let more = body.len().max(STEP).min(most - body.len());
            share.grow(body.len() + more).await;
            body.reserve_exact(more);
        }
        let step = STEP.min(most - body.len());
        if decoder.read_buf(&mut (&mut *body).limit(step)).await? == 0 {
            return Ok(Extent::Whole);
        }
        let ratio_cap = consumed.load(Ordering::Relaxed).saturating_mul(MAX_RATIO);
        if body.len() > RATIO_FROM && body.len() > ratio_cap {
            return Err(BadBody::Ratio.into());
        }
        // A decoder can run for long without waiting for the network.
        tokio::task::consume_budget().await;
    }
    body.truncate(limit);
    Ok(Extent::Cut)
}

impl From<BadBody> for io::Error {
    fn from(bad: BadBody) -> Self {
        Self::other(bad)
    }
}

/// The bytes of a body that need no share: most pages have fewer.
const FREE: usize = 256 << 10;

/// The budget of pages and robots.txt files, for what their bodies have beyond that. With 64 requests in flight and the default of
/// `fetch.max_body`, all bodies together take at most 64 MiB.
pub(super) const PAGES: usize = 40 << 20;

/// That of sitemaps, which may have 50 MiB: only one at a time is long.
pub(super) const SITEMAPS: usize = 0;

/// The bytes of a permit.
const UNIT: usize = 1 << 10;

/// A budget for some kinds of bodies. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    permits: Arc<Semaphore>,
    /// Who may go on beyond the budget.
    beyond: Arc<Semaphore>,
}

/// The share of the budget that a body has; it ends when it is dropped.
#[derive(Debug)]
pub(in crate::crawl) struct MemoryShare {
    budget: MemoryBudget,
    /// Bytes of memory for each byte of the body.
    factor: usize,
    bytes: usize,
    permits: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl MemoryBudget {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(bytes / UNIT)),
            beyond: Arc::new(Semaphore::new(1)),
        }
    }

    /// The share of a body that takes `factor` bytes of memory for each of its own.
    pub(super) fn share(&self, factor: usize) -> MemoryShare {
        MemoryShare { budget: self.clone(), factor, bytes: FREE, permits: None, beyond: None }
    }
}

impl MemoryShare {
    /// Waits until the body may have this length.
    pub(super) async fn grow(&mut self, length: usize) {
        let bytes = length.saturating_mul(self.factor);
        if bytes <= self.bytes || self.beyond.is_some() {
            return;
        }
        let units = (bytes - self.bytes).div_ceil(UNIT);
        let more = u32::try_from(units).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.budget.permits).acquire_many_owned(more);
        let beyond = Arc::clone(&self.budget.beyond).acquire_owned();
        match select(pin!(permits), pin!(beyond)).await {
            Either::Left((permits, _)) => {
                let permits = permits.expect("the budget is never closed");
                match &mut self.permits {
                    Some(held) => held.merge(permits),
                    held => *held = Some(permits),
                }
                self.bytes += units * UNIT;
            }
            Either::Right((beyond, _)) => {
                self.beyond = Some(beyond.expect("the budget is never closed"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn bodies_in_flight_have_one_budget_and_one_goes_on_beyond_it() {
        let budget = MemoryBudget::new(PAGES);
        let mut shares: Vec<MemoryShare> = Vec::new();
        for _ in 0..9 {
            let mut share = budget.share(1);
            for length in [FREE, 1 << 20, 4 << 20, 8 << 20] {
                if share.grow(length).now_or_never().is_none() {
                    break;
                }
            }
            shares.push(share);
        }
        let held: usize = shares.iter().map(|it| it.bytes - FREE).sum();
        assert!(held <= PAGES, "{held}");
        assert_eq!(shares.iter().filter(|it| it.beyond.is_some()).count(), 1);
        let mut short = budget.share(1);
        assert!(short.grow(FREE).now_or_never().is_some(), "short bodies never wait");
        assert!(short.grow(4 << 20).now_or_never().is_none());
        shares.retain(|it| it.beyond.is_none());
        assert!(short.grow(4 << 20).now_or_never().is_some());
        drop((shares, short));
        assert_eq!(budget.permits.available_permits(), PAGES / UNIT);
    }
}
