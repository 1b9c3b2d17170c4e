//! Decodes a body: by byte order mark, `Content-Type`, the page's declaration, or a guess from its bytes.
//!
//! Labels are wrong where a server sends the same one for all its pages, so a label is rejected if the bytes refute it. Every rule requires
//! evidence that no correctly labelled page can give, however unusual its text is: in doubt the label stays.
//!
//! The declaration is found in the page's first bytes, as the HTML Standard says (13.2.3.2 "Determining the character encoding"): prescan for
//! `meta`, then the XML declaration.

use std::{borrow::Cow, iter};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, ISO_2022_JP, ISO_8859_15, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};
use html5ever::{Attribute, LocalName, local_name, tokenizer::TagKind};
use memchr::{memchr_iter, memchr2};

use super::tokenizer::{Token, Tokenizer, normalised};
use crate::page::Page;

/// Bytes that suffice to guess an encoding.
const SAMPLE: usize = 64 << 10;
/// Foreign bytes that make a guess certain.
const ENOUGH: usize = 64;
/// The same if the guess is an encoding of pairs of bytes, in which longer Western text is not even valid.
const ENOUGH_IN_PAIRS: usize = 32;
/// The same if most of them are in words of their own, and the number of different ones there must be: a row of dashes is not a word.
const ENOUGH_IN_WORDS: usize = 24;
const DIFFERENT: usize = 10;
/// The same if both are encodings of several bytes per character, and much text of one is valid in the other.
const PLENTY: usize = 256;
/// Foreign bytes that are not valid UTF-8 by chance in any other encoding.
const UTF_8_ENOUGH: usize = 24;

/// Decodes the body; malformed sequences become U+FFFD. Returns the encoding that was used.
///
/// A byte order mark decides alone. Otherwise the first of header, declaration in the page and guess is used that the bytes do not
/// refute; if they refute all, the first. A declaration after the first bytes of the page counts last.
pub(super) fn decode(page: &Page) -> (Cow<'_, str>, &'static Encoding) {
    let body = &page.body[..];
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return (encoding.decode_without_bom_handling(&body[length..]).0, encoding);
    }
    let header = page.content_type.as_deref().and_then(|value| charset_of(value.as_bytes()));
    let mut first = None;
    let early = header.into_iter().chain(declared(body));
    let late = || decode_as(UTF_8, body).is_err().then(|| by_meta(body).map(readable)).flatten();
    for encoding in early.chain(iter::once_with(late).flatten()) {
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

/// Decodes by `encoding`; an error if so much is malformed that the bytes must be in another encoding.
///
/// A few stray bytes, or a character cut at the end, refute no encoding.
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

/// Whether the bytes refute the claimed encoding. ASCII refutes none, and valid UTF-8 can be in no other encoding except those that
/// consist of ASCII bytes.
fn is_refuted(claimed: &'static Encoding, page: &Page) -> bool {
    let is_evidence =
        memchr2(0, 0x1B, &page.body).is_some() || claimed != UTF_8 && !page.body.is_ascii();
    is_evidence && refutes(&page.body, claimed, guess(page))
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
    let guess = detector.guess(tld(page), Utf8Detection::Allow);
    if guess == WINDOWS_1252 && has_ligatures_of_latin_9(body) { ISO_8859_15 } else { guess }
}

/// The top-level domain of the page, which distinguishes encodings of neighbouring languages.
fn tld(page: &Page) -> Option<&[u8]> {
    let label = page.url.as_ref()?.domain()?.rsplit('.').next()?;
    (!label.is_empty()).then_some(label.as_bytes())
}

/// Recognises UTF-16 without a mark by the characters of markup: one of their two bytes is zero, which occurs nowhere else. The same
/// bytes in the other order are characters that hardly occur, whatever the language. In a page whose tags or declaration can be read byte by
/// byte, a zero is an error, not a half of a character.
fn utf16_without_mark(body: &[u8]) -> Option<&'static Encoding> {
    let sample = &body[..body.len().min(SAMPLE)];
    let is_tag = |at: usize| matches!(sample[at + 1..], [b'/' | b'!' | b'?', next, ..] if next.is_ascii_alphabetic());
    if memchr_iter(b'<', sample).any(is_tag) || declared(body).is_some() {
        return None;
    }
    let (pairs, _) = sample.as_chunks::<2>();
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

/// Whether the bytes show that the page is in `guess` and not in `claimed`, although they are valid in both.
fn refutes(body: &[u8], claimed: &'static Encoding, guess: &'static Encoding) -> bool {
    if guess == claimed || guess.is_single_byte() && !claimed.is_single_byte() {
        return false;
    }
    let foreign = body.iter().filter(|&&byte| is_foreign(byte)).count();
    let in_words = || foreign >= ENOUGH_IN_WORDS && is_of_another_script(body, foreign);
    let is_evident = if guess == UTF_8 {
        claimed.is_single_byte() || foreign >= UTF_8_ENOUGH
    } else if [ISO_2022_JP, UTF_16LE, UTF_16BE].contains(&guess) {
        true
    } else if !claimed.is_single_byte() {
        foreign >= PLENTY
    } else if !guess.is_single_byte() {
        foreign >= ENOUGH_IN_PAIRS || in_words()
    } else {
        claimed == WINDOWS_1252 && (foreign >= ENOUGH || in_words())
    };
    is_evident && decode_as(guess, body).is_ok()
}

/// Bytes that distinguish encodings: those outside of ASCII, and the escape by which ISO-2022-JP shifts.
fn is_foreign(byte: u8) -> bool {
    byte >= 0x80 || byte == 0x1B
}

/// Whether most of the foreign bytes are adjacent, as in whole words; in a Latin script they are single or in pairs.
fn is_of_another_script(body: &[u8], foreign: usize) -> bool {
    let runs = body.chunk_by(|a, b| a.is_ascii() == b.is_ascii());
    let in_words: usize =
        runs.filter(|run| !run[0].is_ascii() && run.len() > 2).map(<[u8]>::len).sum();
    let mut seen = [false; 256];
    for &byte in body.iter().filter(|byte| !byte.is_ascii()) {
        seen[usize::from(byte)] = true;
    }
    in_words * 2 > foreign && seen.iter().filter(|&&seen| seen).count() >= DIFFERENT
}

/// Whether the text has œ or Œ of ISO-8859-15. In windows-1252 these bytes are fractions, which never occur between letters.
fn has_ligatures_of_latin_9(body: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0xC0;
    let is_c1 = |byte: &u8| matches!(byte, 0x80..=0x9F);
    !body.iter().any(is_c1)
        && body.windows(3).any(|bytes| {
            matches!(bytes[1], 0xBC | 0xBD)
                && bytes[2].is_ascii_alphabetic()
                && (is_letter(bytes[0]) || bytes[0] == b' ')
        })
}

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
    let head = normalised(&head);
    let is_read = |_: &LocalName, name: &str| matches!(name, "charset" | "http-equiv" | "content");
    let mut tokens = Tokenizer::new(&head, is_read);
    while let Some(token) = tokens.next(|| false) {
        if let Token::Tag(tag) = token
            && tag.kind == TagKind::StartTag
            && tag.name == local_name!("meta")
            && let Some(encoding) = declared_by(&tag.attrs)
        {
            return Some(encoding);
        }
    }
    None
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
    use encoding_rs::WINDOWS_1251;

    use super::*;
    use super::{charset_of, declared};

    fn decoded(body: &[u8], content_type: Option<&str>) -> (String, &'static str) {
        let page = Page {
            body: body.to_vec(),
            content_type: content_type.map(str::to_owned),
            ..Page::default()
        };
        let (text, encoding) = decode(&page);
        (text.into_owned(), encoding.name())
    }

    #[test]
    fn a_byte_order_mark_decides_before_the_header_and_the_header_before_the_page() {
        let gbk = Some("text/html; charset=gbk");
        assert_eq!(decoded(b"\xEF\xBB\xBF\xE4\xB8\xAD", gbk), ("中".to_owned(), "UTF-8"));
        assert_eq!(decoded(b"\xFF\xFE\x2D\x4E", gbk), ("中".to_owned(), "UTF-16LE"));
        assert_eq!(decoded(b"<meta charset=big5>\xD6\xD0", gbk).0, "<meta charset=big5>中");
    }

    #[test]
    fn a_declaration_that_the_bytes_contradict_does_not_count() {
        let utf8 = "<meta charset=iso-8859-1>été à la plage".as_bytes();
        assert_eq!(decoded(utf8, None).1, "UTF-8");
        assert_eq!(
            decoded(b"caf\xE9 au lait, d\xE9j\xE0 vu", Some("text/html; charset=utf-8")).1,
            "windows-1252"
        );
        assert_eq!(
            decoded(
                b"<meta charset=utf-8>\xD6\xD0\xCE\xC4\xCD\xF8\xD2\xB3",
                Some("charset=gb2312")
            )
            .1,
            "GBK"
        );
    }

    #[test]
    fn a_stray_byte_or_a_cut_character_refutes_nothing() {
        let long = "编码".repeat(40);
        let stray = [long.as_bytes(), b"\xFF", long.as_bytes()].concat();
        assert_eq!(decoded(&stray, None).1, "UTF-8");
        let cut = &long.as_bytes()[..long.len() - 1];
        assert_eq!(decoded(cut, None), (format!("{}编\u{FFFD}", "编码".repeat(39)), "UTF-8"));
        assert_eq!(decoded(b"caf\xE9 au lait", None).1, "windows-1252");
    }

    #[test]
    fn utf_16_without_a_mark_is_known_by_its_zeros() {
        let html = "<html><title>中文</title><p>編碼</p></html>";
        let little: Vec<u8> = html.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = html.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&little, None), (html.to_owned(), "UTF-16LE"));
        assert_eq!(decoded(&big, None), (html.to_owned(), "UTF-16BE"));
        assert_eq!(decoded(b"a\0b", None).1, "UTF-8");
    }

    #[test]
    fn zeros_in_a_page_whose_markup_is_read_byte_by_byte_are_errors() {
        let page =
            "<meta charset=utf-8><p>a =\0b\0</p><p \0>\0c \0d</p> été \0 \0 \0 \0 ".repeat(9);
        for body in [page.as_str(), &page[20..], "<meta charset=utf-8><p>a <\0 >\0 =\0 "] {
            for header in [None, Some("text/html; charset=utf-8")] {
                assert_eq!(decoded(body.as_bytes(), header), (body.to_owned(), "UTF-8"));
            }
        }
    }

    #[test]
    fn a_late_declaration_counts_if_nothing_else_says_anything() {
        let (cyrillic, _, _) = WINDOWS_1251.encode("Ёж");
        let late =
            |filler: &str| [filler.as_bytes(), b"<meta charset=windows-1251>", &cyrillic].concat();
        assert_eq!(decoded(&late(&" ".repeat(5000)), None).1, "windows-1251");
        let koi8 = Some("text/html; charset=koi8-r");
        assert_eq!(decoded(&late(&" ".repeat(5000)), koi8).1, "KOI8-R");
        let early = format!("<meta charset=koi8-r>{}", " ".repeat(5000));
        assert_eq!(decoded(&late(&early), None).1, "KOI8-R");
        let utf8 = format!("{}<meta charset=windows-1251>Ёж", " ".repeat(5000));
        assert_eq!(decoded(utf8.as_bytes(), None).1, "UTF-8");
    }

    #[test]
    fn ascii_is_utf_8() {
        assert_eq!(decoded(b"plain", None).1, "UTF-8");
        assert_eq!(decoded(b"", None).1, "UTF-8");
    }

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
