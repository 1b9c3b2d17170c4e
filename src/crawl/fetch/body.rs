//! Reads a body: removes its content coding while it arrives, counts the decoded bytes, stops at the limit.
//!
//! No declared length is trusted. The memory of a body is bounded by the limit, the decoder's window (at most 16 MiB) and one chunk from the
//! network. All downloads share one budget of bytes, so that no number of hosts exhausts the memory.
//!
//! A short body needs no share of it and never waits. A longer one takes its share as it grows, and holds it until the page is recorded.
//! When nothing is left, it waits. One of those that wait may go on beyond the budget, so downloads never wait for each other in a circle.

use std::{
    error::Error,
    io, iter,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_compression::{
    tokio::bufread::{BrotliDecoder, DeflateDecoder, ZstdDecoder},
    zstd::DParameter,
};
use bytes::{BufMut, Bytes};
use flate2::{Crc, DecompressError};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    future::{Either, select},
    stream,
};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, copy_buf, sink},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::io::StreamReader;

use super::sniff::is_text;

/// Bytes decoded in one step, and the first allocation for a body.
const STEP: usize = 32 << 10;

/// The ratio counts from this many decoded bytes on; small bodies of one repeated character are not bombs.
const RATIO_FROM: usize = 1 << 20;

/// Above this many decoded bytes per received byte, a body is a bomb. HTML has 5 or 10, generated tables have 60.
const MAX_RATIO: usize = 200;

/// Window of a zstd frame, as a power of two: 8 MiB, the most a server may use (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// How many bytes of a body show whether it is in the coding that is named.
const HEAD: usize = 64;

/// A body with more codings is not decoded.
const MAX_CODINGS: usize = 4;

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

/// A content coding (RFC 9110, section 8.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    Unknown(String),
}

/// The codings of a body, in the order in which they were applied.
pub(super) type Codings = Vec<Coding>;

/// Why a body is not decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadBody {
    #[error("content coding `{0}` is not known")]
    UnknownCoding(String),
    #[error("more than {MAX_CODINGS} content codings")]
    TooManyCodings,
    #[error("the checksum of the gzip stream is wrong")]
    Checksum,
    #[error("no gzip stream")]
    NoGzip,
    #[error("brotli large-window streams are not supported")]
    LargeWindow,
    #[error("compression ratio above {MAX_RATIO}")]
    Ratio,
    #[error("the compressed body exceeds the limit")]
    Oversized,
    /// The network failed, or the body ended too early.
    #[error("the body ended early")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

impl Coding {
    /// Whether a body that begins so may be in this coding. Brotli and bare deflate streams have no mark, but no long one consists of text.
    fn may_be_of(&self, head: &[u8]) -> bool {
        match self {
            Self::Gzip => head.starts_with(b"\x1f\x8b"),
            Self::Zstd => {
                matches!(head, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..0x60, 0x2a, 0x4d, 0x18, ..])
            }
            Self::Deflate | Self::Brotli => head.len() < HEAD,
            Self::Unknown(_) => false,
        }
    }
}

/// The codings that the `Content-Encoding` headers name.
///
/// Some servers write a charset or `none` instead of a coding; like browsers, we take that as no coding.
pub(super) fn codings(headers: &HeaderMap) -> Codings {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    let names = values.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    let names = names.collect::<Vec<_>>().join(",");
    let known = names.split(',').map(str::trim).filter(|name| !is_meaningless(name));
    known
        .map(|name| match name {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            other => Coding::Unknown(other.to_owned()),
        })
        .collect()
}

/// Bytes of memory for each decoded byte: the window of some may be as long as the body, and of two codings one body is read from the other.
pub(super) fn memory(codings: &[Coding]) -> usize {
    let has_window = codings.iter().any(|it| matches!(it, Coding::Brotli | Coding::Zstd));
    1 + usize::from(has_window) + usize::from(codings.len() > 1)
}

fn is_meaningless(coding: &str) -> bool {
    matches!(coding, "" | "identity" | "none")
        || encoding_rs::Encoding::for_label(coding.as_bytes()).is_some()
}

/// Reads and decodes at most `limit` bytes: the body without its content codings. A coding that the body does not have is ignored if the body can
/// be read without it: servers and archives name codings that were never applied, or were removed.
///
/// # Errors
///
/// An error whose inner error is a [`BadBody`], or the decoder's own.
pub(super) async fn read<S>(
    chunks: S,
    codings: &[Coding],
    limit: usize,
    share: &mut MemoryShare,
) -> io::Result<(Vec<u8>, Extent)>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Send + Unpin,
{
    if codings.len() > MAX_CODINGS {
        return Err(BadBody::TooManyCodings.into());
    }
    let mut layers = codings.iter().rev();
    // What is still coded has as much room as if it had arrived so.
    let room = |left| if left == 0 { limit } else { allowance(limit) };
    let first = layers.next();
    let (mut body, mut extent) = read_layer(chunks, first, room(layers.len()), share).await?;
    while let Some(coding) = layers.next() {
        let (coded, was_cut) = (stream::iter([Ok(Bytes::from(body))]), extent == Extent::Cut);
        let read = read_layer(coded, Some(coding), room(layers.len()), share).await;
        (body, extent) = match read {
            Ok((_, Extent::Whole | Extent::Skipped)) | Err(_) if was_cut => {
                return Err(BadBody::Oversized.into());
            }
            read => read?,
        };
    }
    Ok((body, extent))
}

/// How many bytes may arrive of a body that has at most `limit`: a stored block may be a little longer than what it holds.
fn allowance(limit: usize) -> usize {
    limit.saturating_add(limit / 16 + STEP)
}

/// The same for one coding at most.
async fn read_layer<S>(
    chunks: S,
    coding: Option<&Coding>,
    limit: usize,
    share: &mut MemoryShare,
) -> io::Result<(Vec<u8>, Extent)>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Send + Unpin,
{
    let allowance = allowance(limit);
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
    let mut wire = StreamReader::new(pieces);
    let mut head = Vec::new();
    if coding.is_some() {
        (&mut wire).take(HEAD as u64).read_to_end(&mut head).await?;
    }
    let is_text = is_text(&head);
    let coding = coding.filter(|it| !head.is_empty() && (!is_text || it.may_be_of(&head)));
    let mut wire = head.chain(wire);
    let mut target = Target { body: Vec::new(), limit, share, consumed: &consumed };
    let extent = match decode(coding, &mut wire, &mut target).await {
        Err(_) if coding.is_some() && is_text && head.len() < HEAD.min(limit) => {
            head.clone_into(&mut target.body);
            Extent::Whole
        }
        extent => extent?,
    };
    if extent == Extent::Whole {
        // A cut body is noticed, and the connection can be reused.
        copy_buf(&mut wire, &mut sink()).await?;
    }
    Ok((target.body, extent))
}

/// A chunk in pieces that are too small to hide a bomb while they wait for the decoder.
fn pieces(mut chunk: Bytes) -> impl Iterator<Item = Bytes> {
    iter::from_fn(move || {
        (!chunk.is_empty()).then(|| chunk.split_to(chunk.len().min(RATIO_FROM / MAX_RATIO)))
    })
}

/// Decodes a stream; one that ends too early is a broken body.
async fn decode<R>(
    coding: Option<&Coding>,
    wire: &mut R,
    target: &mut Target<'_>,
) -> io::Result<Extent>
where
    R: AsyncBufRead + Send + Unpin,
{
    let decoder: Box<dyn AsyncRead + Send + Unpin + '_> = match coding {
        None => Box::new(wire),
        Some(Coding::Gzip) => return gunzip(wire, target).await.map_err(as_broken),
        Some(Coding::Deflate) => return inflate(wire, target).await.map_err(as_broken),
        Some(Coding::Brotli) => {
            // The mark of windows up to 1 GiB, which are outside RFC 7932.
            if wire.fill_buf().await?.first().is_some_and(|first| first & 0x7f == 0x11) {
                return Err(BadBody::LargeWindow.into());
            }
            Box::new(BrotliDecoder::new(wire))
        }
        Some(Coding::Zstd) => {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
            let mut decoder = ZstdDecoder::with_params(wire, &[window]);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        Some(Coding::Unknown(name)) => return Err(BadBody::UnknownCoding(name.clone()).into()),
    };
    target.fill(decoder).await.map_err(as_broken)
}

/// Decodes a body of one or several gzip members (RFC 1952). What follows the last one is ignored, as browsers do, and so is a missing end of its
/// trailer.
async fn gunzip<R>(wire: &mut R, target: &mut Target<'_>) -> io::Result<Extent>
where
    R: AsyncBufRead + Send + Unpin,
{
    loop {
        read_gzip_head(wire).await?;
        let start = target.body.len();
        if target.inflate(&mut *wire).await? == Extent::Cut {
            return Ok(Extent::Cut);
        }
        let (mut trailer, mut sum) = (Vec::new(), Crc::new());
        (&mut *wire).take(8).read_to_end(&mut trailer).await?;
        sum.update(&target.body[start..]);
        if trailer.len() == 8 && !trailer.starts_with(&sum.sum().to_le_bytes()) {
            return Err(BadBody::Checksum.into());
        }
        if wire.fill_buf().await?.first() != Some(&0x1f) {
            return Ok(Extent::Whole);
        }
    }
}

/// Reads what precedes the data of a gzip member.
async fn read_gzip_head(wire: &mut (impl AsyncBufRead + Send + Unpin)) -> io::Result<()> {
    if wire.fill_buf().await?.first().is_some_and(|first| *first != 0x1f) {
        return Err(BadBody::NoGzip.into());
    }
    let mut fixed = [0; 10];
    wire.read_exact(&mut fixed).await?;
    let [0x1f, 0x8b, 8, flags, ..] = fixed else { return Err(BadBody::NoGzip.into()) };
    if flags & 4 != 0 {
        let length = wire.read_u16_le().await?;
        copy_buf(&mut wire.take(length.into()), &mut sink()).await?;
    }
    // The file's name and a comment.
    for flag in [8, 16] {
        while flags & flag != 0 && wire.read_u8().await? != 0 {}
    }
    if flags & 2 != 0 {
        wire.read_u16_le().await?;
    }
    Ok(())
}

/// Decodes a body in `deflate`. It means zlib (RFC 9110), but some servers send a bare stream. The low half of zlib's first byte is 8; a bare
/// stream could begin with that only if it had a stored block with padding bits set, which no encoder writes.
async fn inflate<R>(wire: &mut R, target: &mut Target<'_>) -> io::Result<Extent>
where
    R: AsyncBufRead + Send + Unpin,
{
    if wire.fill_buf().await?.first().is_some_and(|first| first & 0x0f == 8) {
        wire.read_u16().await?;
    }
    target.inflate(wire).await
}

/// An error of a decoder that wanted more than there was.
fn as_broken(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        BadBody::Broken(error.into()).into()
    } else {
        error
    }
}

/// What is decoded so far.
struct Target<'a> {
    body: Vec<u8>,
    limit: usize,
    share: &'a mut MemoryShare,
    /// Bytes received so far.
    consumed: &'a AtomicUsize,
}

impl Target<'_> {
    /// Decodes a bare stream up to its end.
    async fn inflate(&mut self, wire: impl AsyncBufRead + Send + Unpin) -> io::Result<Extent> {
        let filled = self.fill(DeflateDecoder::new(wire)).await;
        filled.map_err(|error| {
            // This decoder has no kind of its own for an early end.
            let inner = error.get_ref();
            let has_reason =
                inner.is_some_and(|it| it.is::<BadBody>() || it.is::<DecompressError>());
            let is_early = error.kind() == io::ErrorKind::Other && !has_reason;
            if is_early { io::Error::new(io::ErrorKind::UnexpectedEof, error) } else { error }
        })
    }

    /// Appends the output of `decoder` until it ends or the body has `limit` bytes.
    async fn fill(&mut self, mut decoder: impl AsyncRead + Unpin) -> io::Result<Extent> {
        let body = &mut self.body;
        // One byte more than the limit distinguishes a body that is too long from one that just fits.
        let most = self.limit.saturating_add(1);
        while body.len() < most {
            if body.len() == body.capacity() {
                let more = body.len().max(STEP).min(most - body.len());
                self.share.grow(body.len() + more).await;
                body.reserve_exact(more);
            }
            let step = STEP.min(most - body.len());
            if decoder.read_buf(&mut (&mut *body).limit(step)).await? == 0 {
                return Ok(Extent::Whole);
            }
            let ratio_cap = self.consumed.load(Ordering::Relaxed).saturating_mul(MAX_RATIO);
            if body.len() > RATIO_FROM && body.len() > ratio_cap {
                return Err(BadBody::Ratio.into());
            }
            // A decoder can run for long without waiting for the network.
            tokio::task::consume_budget().await;
        }
        body.truncate(self.limit);
        Ok(Extent::Cut)
    }
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
