//! Finds the encoding that a page declares in its first bytes.
//!
//! Follows the HTML Standard, 13.2.3.2 "Determining the character encoding": prescan for `meta`, then the XML declaration.

use std::cell::Cell;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252, X_USER_DEFINED};
use html5ever::{
    Attribute,
    buffer_queue::BufferQueue,
    local_name,
    tendril::StrTendril,
    tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};

/// Number of bytes that the standard examines.
const WINDOW: usize = 1024;

/// The encoding that the page declares by `meta` or by an XML declaration.
pub(super) fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(WINDOW)];
    by_meta(head).or_else(|| by_xml_declaration(head)).map(readable)
}

/// The encoding named by a `Content-Type`, as a header or as the `content` of a `meta`.
///
/// This is the standard's "extracting a character encoding from a meta element", which is more lenient than a header's grammar.
pub(super) fn charset_of(value: &[u8]) -> Option<&'static Encoding> {
    let mut rest = value;
    loop {
        rest = after(rest, b"charset")?;
        if let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") {
            return label_at_start(value.trim_ascii_start());
        }
    }
}

fn label_at_start(value: &[u8]) -> Option<&'static Encoding> {
    let label = if let Some(quote @ (b'"' | b'\'')) = value.first() {
        let value = &value[1..];
        &value[..value.iter().position(|byte| byte == quote)?]
    } else {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        value.split(ends).next()?
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
    let value = after(declaration, b"encoding")?.trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii_start();
    matches!(value.first(), Some(b'"' | b'\'')).then(|| label_at_start(value))?
}

/// The rest after the first occurrence of a word. Case is ignored.
fn after<'a>(bytes: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let start = bytes.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word))?;
    Some(&bytes[start + word.len()..])
}

/// The encoding that the first `meta` with one declares. Without a tree builder the tokenizer looks into scripts and styles too, as the
/// standard does.
fn by_meta(head: &[u8]) -> Option<&'static Encoding> {
    let (head, _) = WINDOWS_1252.decode_without_bom_handling(head);
    let tokenizer = Tokenizer::new(Prescan::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(&head));
    let _ = tokenizer.feed(&input);
    tokenizer.sink.0.get()
}

/// What the tags so far declare.
#[derive(Default)]
struct Prescan(Cell<Option<&'static Encoding>>);

impl TokenSink for Prescan {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(tag) = token
            && tag.kind == TagKind::StartTag
            && tag.name == local_name!("meta")
        {
            self.0.set(self.0.get().or_else(|| declared_by(&tag.attrs)));
        }
        TokenSinkResult::Continue
    }
}

/// The encoding that a `meta` with these attributes declares.
fn declared_by(attributes: &[Attribute]) -> Option<&'static Encoding> {
    let value = |name| {
        let mut found = attributes.iter().filter(|attribute| attribute.name.local == name);
        found.next().map(|attribute| attribute.value.as_bytes())
    };
    if let Some(label) = value(local_name!("charset")) {
        return Encoding::for_label(label);
    }
    let is_pragma = |pragma: &[u8]| pragma.eq_ignore_ascii_case(b"content-type");
    value(local_name!("http-equiv")).filter(|pragma| is_pragma(pragma))?;
    charset_of(value(local_name!("content"))?)
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
