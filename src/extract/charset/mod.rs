//! Decodes a body: by byte order mark, `Content-Type`, the page's own declaration, or its bytes.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use url::Host;

use crate::page::Page;

/// Foreign bytes below which a guess does not refute a declaration.
const EVIDENCE: usize = 64;
/// Bytes that are enough to tell an undeclared encoding.
const SAMPLE: usize = 64 << 10;

/// Decodes the body; malformed sequences become U+FFFD. Returns the encoding that was used.
///
/// A byte order mark decides alone. Otherwise the first of header, declaration in the page and guess is taken that the bytes
/// do not contradict; if they contradict all, the first.
pub(super) fn decode(page: &Page) -> (Cow<'_, str>, &'static Encoding) {
    let body = &page.body[..];
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return (encoding.decode_without_bom_handling(&body[length..]).0, encoding);
    }
    let header =
        page.content_type.as_deref().and_then(|value| prescan::charset_of(value.as_bytes()));
    let mut first = None;
    for encoding in header.into_iter().chain(prescan::declared(body)) {
        match decode_as(encoding, body) {
            Ok(text) if !is_disguised(encoding, page) => return (text, encoding),
            Ok(text) | Err(text) => first.get_or_insert((text, encoding)),
        };
    }
    let guess = guess(page);
    match (decode_as(guess, body), first) {
        (Err(_), Some(first)) => first,
        (Ok(text) | Err(text), _) => (text, guess),
    }
}

/// Decodes by `encoding`; an error if so much is malformed that the bytes must be in another.
///
/// A few stray bytes, or a character that was cut at the end, speak against no encoding.
fn decode_as<'a>(
    encoding: &'static Encoding,
    body: &'a [u8],
) -> Result<Cow<'a, str>, Cow<'a, str>> {
    let (text, malformed) = encoding.decode_without_bom_handling(body);
    if !malformed {
        return Ok(text);
    }
    let (mut foreign, mut replaced) = (0_usize, 0_usize);
    for char in text.chars().filter(|char| !char.is_ascii()) {
        foreign += 1;
        replaced += usize::from(char == char::REPLACEMENT_CHARACTER);
    }
    replaced -= usize::from(text.ends_with(char::REPLACEMENT_CHARACTER));
    if replaced * 20 > foreign { Err(text) } else { Ok(text) }
}

/// Whether a single-byte encoding, which accepts any bytes, is claimed for text in one of several bytes a character, which only few
/// bytes happen to be.
fn is_disguised(claimed: &'static Encoding, page: &Page) -> bool {
    if !claimed.is_single_byte() {
        return false;
    }
    let foreign = page.body.iter().filter(|&&byte| is_foreign(byte)).count();
    let guess = if foreign == 0 { claimed } else { guess(page) };
    let is_evident = guess == UTF_8 || foreign >= EVIDENCE;
    is_evident && !guess.is_single_byte() && decode_as(guess, &page.body).is_ok()
}

/// Bytes that tell encodings apart: those outside of ASCII, and the escape by which ISO-2022-JP shifts.
fn is_foreign(byte: u8) -> bool {
    byte >= 0x80 || byte == 0x1B
}

fn guess(page: &Page) -> &'static Encoding {
    let body = &page.body[..];
    if let Some(encoding) = utf16_without_mark(body) {
        return encoding;
    }
    let escapes = body.iter().take(SAMPLE).any(|&byte| byte == 0x1B);
    if !escapes && decode_as(UTF_8, body).is_ok() {
        return UTF_8;
    }
    let start = body.iter().position(|&byte| is_foreign(byte)).unwrap_or(0);
    let sample = &body[start..body.len().min(start + SAMPLE)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, start + sample.len() == body.len());
    detector.guess(tld(page), Utf8Detection::Allow)
}

/// The top-level domain of the page, which tells encodings of neighbouring languages apart.
fn tld(page: &Page) -> Option<&[u8]> {
    match page.url.as_ref()?.host()? {
        Host::Domain(name) => {
            name.rsplit('.').next().filter(|label| !label.is_empty()).map(str::as_bytes)
        }
        _ => None,
    }
}

/// UTF-16 without a mark: markup is ASCII, so that every other byte of much of the page is zero, always the same one.
fn utf16_without_mark(body: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = body[..body.len().min(4096)].as_chunks::<2>();
    let zero_first = pairs.iter().filter(|pair| pair[0] == 0 && pair[1] != 0).count();
    let zero_last = pairs.iter().filter(|pair| pair[1] == 0 && pair[0] != 0).count();
    let many = (pairs.len() / 5).max(2);
    match (zero_first, zero_last) {
        (first, last) if last >= many && first * 16 < last => Some(UTF_16LE),
        (first, last) if first >= many && last * 16 < first => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
