//! Decodes a body: by byte order mark, `Content-Type`, the page's own declaration, or its bytes.

mod evidence;
mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use url::Host;

use crate::page::Page;

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
            Ok(text) if !is_refuted(encoding, page) => return (text, encoding),
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

/// Whether the bytes speak for another encoding than the one that is claimed. A page of ASCII speaks for none, and one that is valid
/// UTF-8 can be in no other, but for those that are all made of ASCII bytes.
fn is_refuted(claimed: &'static Encoding, page: &Page) -> bool {
    let speaks = |&byte: &u8| {
        byte == 0 || if claimed == UTF_8 { byte == 0x1B } else { evidence::is_foreign(byte) }
    };
    page.body.iter().any(speaks) && evidence::refutes(&page.body, claimed, guess(page))
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
    let start = body.iter().position(|&byte| evidence::is_foreign(byte)).unwrap_or(0);
    let sample = &body[start..body.len().min(start + SAMPLE)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, start + sample.len() == body.len());
    evidence::western(detector.guess(tld(page), Utf8Detection::Allow), body)
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

/// UTF-16 without a mark, by the characters of which markup is made: one of their two bytes is zero, which no byte is elsewhere. The
/// same bytes the other way round are characters that hardly occur, whatever the language.
fn utf16_without_mark(body: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = body[..body.len().min(SAMPLE)].as_chunks::<2>();
    let is_markup = |byte: u8| matches!(byte, b'<' | b'>' | b'/' | b'=' | b'"' | b' ' | b'\n');
    let little = pairs.iter().filter(|pair| pair[1] == 0 && is_markup(pair[0])).count();
    let big = pairs.iter().filter(|pair| pair[0] == 0 && is_markup(pair[1])).count();
    match (little, big) {
        (2.., _) if big * 8 < little => Some(UTF_16LE),
        (_, 2..) if little * 8 < big => Some(UTF_16BE),
        _ => None,
    }
    .filter(|encoding| decode_as(encoding, body).is_ok())
}

#[cfg(test)]
mod tests;
