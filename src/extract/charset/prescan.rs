//! Finds the encoding that a page declares in its first bytes.
//!
//! Follows the HTML Standard, 13.2.3.2 "Determining the character encoding": prescan for `meta`, then the XML declaration.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252, X_USER_DEFINED};

/// Number of bytes that the standard examines.
const WINDOW: usize = 1024;

/// The encoding that the page declares by `meta` or by an XML declaration.
pub(super) fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(WINDOW)];
    by_meta(head).or_else(|| by_xml_declaration(head))
}

/// The encoding named by a `Content-Type`, as a header or as the `content` of a `meta`.
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

/// A page whose declaration could be read byte by byte is not in UTF-16, whatever it declares.
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
            // The end of a comment may share the dashes of its start.
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

/// The attributes of a tag, starting after its name. After the iteration `rest` starts with the tag's end.
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

#[cfg(test)]
mod tests {
    use super::{charset_of, declared};

    fn name(body: &str) -> Option<&'static str> {
        declared(body.as_bytes()).map(encoding_rs::Encoding::name)
    }

    #[test]
    fn meta_declares_by_charset_and_by_pragma() {
        assert_eq!(name("<meta charset=gbk>"), Some("GBK"));
        assert_eq!(name("<!doctype html><html><META CharSet = 'big5' >"), Some("Big5"));
        assert_eq!(
            name(r#"<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">"#),
            Some("EUC-KR")
        );
        assert_eq!(
            name(r#"<meta content="text/html; charset='shift_jis'" http-equiv=content-type />"#),
            Some("Shift_JIS")
        );
        assert_eq!(name(r#"<meta name=x content="charset=gbk">"#), None, "no pragma");
    }

    #[test]
    fn a_declaration_in_a_comment_or_an_attribute_does_not_count() {
        assert_eq!(name("<!-- <meta charset=gbk> --><meta charset=big5>"), Some("Big5"));
        assert_eq!(name("<!--><meta charset=big5>"), Some("Big5"));
        assert_eq!(name("<p title='<meta charset=gbk>'><meta charset=big5>"), Some("Big5"));
        assert_eq!(name("</p title='<meta charset=gbk>'><meta charset=big5>"), Some("Big5"));
        assert_eq!(name("<metadata charset=gbk>"), None);
    }

    #[test]
    fn only_the_first_kilobyte_is_read() {
        assert_eq!(name(&format!("{}<meta charset=gbk>", " ".repeat(1000))), Some("GBK"));
        assert_eq!(name(&format!("{}<meta charset=gbk>", " ".repeat(1020))), None);
    }

    #[test]
    fn an_unreadable_declaration_of_utf_16_means_utf_8() {
        assert_eq!(name("<meta charset=utf-16le>"), Some("UTF-8"));
        assert_eq!(name("<meta charset=x-user-defined>"), Some("windows-1252"));
    }

    #[test]
    fn an_xml_declaration_counts_after_meta() {
        assert_eq!(name("<?xml version='1.0' encoding='koi8-r'?><html>"), Some("KOI8-R"));
        assert_eq!(name("<?xml version='1.0' encoding='koi8-r'?><meta charset=gbk>"), Some("GBK"));
        assert_eq!(name("<?xml version='1.0'?><html>"), None);
    }

    #[test]
    fn a_content_type_names_its_charset_in_many_spellings() {
        for value in [
            "text/html;charset=gb2312",
            "text/html; Charset = \"GB2312\" ; x=y",
            "charset charset=gbk;",
        ] {
            assert_eq!(
                charset_of(value.as_bytes()).map(encoding_rs::Encoding::name),
                Some("GBK"),
                "{value}"
            );
        }
        assert_eq!(charset_of(b"text/html; charset=\"gbk"), None);
        assert_eq!(charset_of(b"text/html"), None);
        assert_eq!(charset_of(b"charset="), None);
    }
}
