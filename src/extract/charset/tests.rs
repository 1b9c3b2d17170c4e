use super::prescan::{charset_of, declared};

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
