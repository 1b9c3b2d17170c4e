use super::{
    decode,
    prescan::{charset_of, declared},
};
use crate::page::Page;

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
fn only_the_first_kilobyte_is_looked_at() {
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
        decoded(b"<meta charset=utf-8>\xD6\xD0\xCE\xC4\xCD\xF8\xD2\xB3", Some("charset=gb2312")).1,
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
fn ascii_is_utf_8() {
    assert_eq!(decoded(b"plain", None).1, "UTF-8");
    assert_eq!(decoded(b"", None).1, "UTF-8");
}
