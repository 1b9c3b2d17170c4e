//! Percent-encoding in one normal form, so that equal URLs are equal strings.

use std::{borrow::Cow, fmt::Write, str};

/// Normalises a path, a query or a part of one by RFC 3986, section 6.2.2: hexadecimal digits in upper case,
/// unreserved characters decoded.
///
/// Characters that are not allowed in a URI are encoded: characters outside ASCII, control characters, space, `"#<>[\]^{|}`,
/// backtick, and a `%` without two hexadecimal digits. The bytes of `also` are encoded too.
/// Reserved characters stay as they are, raw or encoded, because the two forms may differ in meaning.
pub(crate) fn normalise<'a>(part: &'a [u8], also: &[u8]) -> Cow<'a, str> {
    let is_raw = |byte: &u8| is_allowed(*byte) && !also.contains(byte);
    if let Ok(text) = str::from_utf8(part)
        && part.iter().all(is_raw)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let [byte, tail @ ..] = rest {
        if let Some(byte) = escaped(rest) {
            push(&mut out, byte, is_unreserved(byte));
            rest = &rest[3..];
        } else {
            push(&mut out, *byte, is_raw(byte));
            rest = tail;
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, byte: u8, raw: bool) {
    if raw {
        out.push(char::from(byte));
    } else {
        write!(out, "%{byte:02X}").expect("writing to a string cannot fail");
    }
}

/// Decodes a `%` with two hexadecimal digits at the start of `text`.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether RFC 3986 allows this character unencoded in a path or a query.
fn is_allowed(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(byte, b'!' | b'$' | b'&'..=b'/' | b':' | b';' | b'=' | b'?' | b'@')
}
