//! The encoding that a page declares in its first bytes.
//!
//! Follows the HTML Standard, 13.2.3.2 "Determining the character encoding": prescan for `meta`, then the XML declaration.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252, X_USER_DEFINED};

/// How far the standard looks.
const WINDOW: usize = 1024;

/// The encoding that the page declares by `meta` or by an XML declaration.
pub(super) fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(WINDOW)];
    by_meta(head).or_else(|| by_xml_declaration(head))
}

/// The encoding that a `Content-Type` names, as a header or as the `content` of a `meta`.
///
/// This is the standard's "extracting a character encoding from a meta element", which is more lenient than a header's grammar.
pub(super) fn charset_of(value: &[u8]) -> Option<&'static Encoding> {
    let mut rest = value;
    loop {
        rest = &rest[find_ignoring_case(rest, b"charset")? + b"charset".len()..];
        if let Some(after) = skip_space(rest).strip_prefix(b"=") {
            return label_at_start(skip_space(after));
        }
    }
}

fn label_at_start(value: &[u8]) -> Option<&'static Encoding> {
    let label = if let Some(quote @ (b'"' | b'\'')) = value.first() {
        let value = &value[1..];
        &value[..value.iter().position(|byte| byte == quote)?]
    } else {
        let end = value.iter().position(|&byte| is_space(byte) || byte == b';');
        &value[..end.unwrap_or(value.len())]
    };
    Encoding::for_label(label)
}

/// A page whose declaration could be read byte by byte is in no UTF-16, whatever it says.
fn readable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding.output_encoding() != encoding {
        return UTF_8;
    }
    if encoding == X_USER_DEFINED { WINDOWS_1252 } else { encoding }
}

fn by_xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.iter().position(|&byte| byte == b'>')?];
    let name = find_ignoring_case(declaration, b"encoding")?;
    let value = skip_space(&declaration[name + b"encoding".len()..]).strip_prefix(b"=")?;
    let value = skip_space(value);
    matches!(value.first(), Some(b'"' | b'\'')).then(|| label_at_start(value))?.map(readable)
}

fn by_meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut at = 0;
    while let Some(found) = head[at..].iter().position(|&byte| byte == b'<') {
        at += found;
        let rest = &head[at..];
        if let Some(comment) = rest.strip_prefix(b"<!--") {
            // The mark that ends a comment may use the dashes that begin it.
            at += 2 + find(&rest[2..], b"-->").or_else(|| find(comment, b"-->"))? + 3;
        } else if is_tag(rest, b"<meta") {
            let mut attributes = Attributes { rest: &rest[b"<meta".len()..] };
            if let Some(encoding) = meta_charset(&mut attributes) {
                return Some(readable(encoding));
            }
            at = head.len() - attributes.rest.len();
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?'))
            && !rest.get(2).is_some_and(u8::is_ascii_alphabetic)
        {
            at += rest.iter().position(|&byte| byte == b'>')?;
        } else if rest
            .get(1 + usize::from(rest.get(1) == Some(&b'/')))
            .is_some_and(u8::is_ascii_alphabetic)
        {
            let name = rest.iter().position(|&byte| is_space(byte) || byte == b'>')?;
            let mut attributes = Attributes { rest: &rest[name..] };
            attributes.by_ref().for_each(drop);
            at = head.len() - attributes.rest.len();
        } else {
            at += 1;
        }
    }
    None
}

fn meta_charset(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let (mut is_pragma, mut needs_pragma, mut found) = (false, false, None);
    for (name, value) in attributes {
        if name.eq_ignore_ascii_case(b"http-equiv") {
            is_pragma |= value.eq_ignore_ascii_case(b"content-type");
        } else if name.eq_ignore_ascii_case(b"charset") {
            (found, needs_pragma) = (Encoding::for_label(value), false);
        } else if name.eq_ignore_ascii_case(b"content") && found.is_none() {
            (found, needs_pragma) = (charset_of(value), true);
        }
    }
    found.filter(|_| is_pragma || !needs_pragma)
}

fn is_tag(rest: &[u8], name: &[u8]) -> bool {
    rest.len() > name.len()
        && rest[..name.len()].eq_ignore_ascii_case(name)
        && (is_space(rest[name.len()]) || rest[name.len()] == b'/')
}

/// The attributes of a tag, from behind its name; afterwards `rest` begins with the tag's end.
struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.iter().position(|&byte| !is_space(byte) && byte != b'/');
        self.rest = &self.rest[start.unwrap_or(self.rest.len())..];
        if self.rest.first().is_none_or(|&byte| byte == b'>') {
            return None;
        }
        // A `=` in front belongs to the name.
        let ends_name = |&byte: &u8| is_space(byte) || matches!(byte, b'/' | b'>' | b'=');
        let end =
            self.rest.iter().skip(1).position(ends_name).map_or(self.rest.len(), |end| end + 1);
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let Some(value) = skip_space(rest).strip_prefix(b"=") else { return Some((name, b"")) };
        let value = skip_space(value);
        let (value, rest) = if let Some(quote @ (b'"' | b'\'')) = value.first() {
            let value = &value[1..];
            let end = value.iter().position(|byte| byte == quote).unwrap_or(value.len());
            (&value[..end], value.get(end + 1..).unwrap_or_default())
        } else {
            let end = value.iter().position(|&byte| is_space(byte) || byte == b'>');
            value.split_at(end.unwrap_or(value.len()))
        };
        self.rest = rest;
        Some((name, value))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

fn skip_space(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().position(|&byte| !is_space(byte)).unwrap_or(bytes.len())..]
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn find_ignoring_case(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}
