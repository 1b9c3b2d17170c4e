//! Pages in 18 encodings, declared in four ways.

use std::{collections::BTreeMap, fs};

use pagesieve::page::Page;
use serde_json::Value;

use super::extractor;
use crate::data::shared;

#[test]
fn declared_encodings_decode_exactly_and_undeclared_ones_mostly() {
    let Some(folder) = shared("charset") else { return };
    let mut wrong: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("index.jsonl")).unwrap().lines() {
        let truth: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| truth[name].as_str().unwrap_or_default();
        let body = fs::read(folder.join(field("file"))).unwrap();
        let expected = encoding_rs::Encoding::for_label(field("charset").as_bytes()).unwrap();
        let content_type =
            truth["http_charset"].as_str().map(|charset| format!("text/html; charset={charset}"));
        let declared = matches!(field("mode"), "meta" | "http");
        // The right text, through the same extraction.
        let text = expected.decode(&body).0.into_owned();
        let whole = extractor().extract(&Page {
            content_type: Some("text/html; charset=utf-8".to_owned()),
            body: text.into_bytes(),
            ..Page::default()
        });
        let document = extractor().extract(&Page { content_type, body, ..Page::default() });
        let is_right = document.text == whole.text && document.title == whole.title;
        let is_cjk = matches!(field("lang"), "zh" | "ja" | "ko");
        if !is_right {
            wrong
                .entry((field("mode").to_owned(), is_cjk))
                .or_default()
                .push(field("file").to_owned());
        }
        assert!(is_right || !declared, "{} was read as {}", field("file"), document.charset);
    }
    // Of 108 each, 60 in Chinese, Japanese and Korean.
    let wrong_of = |mode: &str, is_cjk| wrong.get(&(mode.to_owned(), is_cjk)).map_or(0, Vec::len);
    assert_eq!(wrong_of("none", true), 0, "{wrong:?}");
    assert!(wrong_of("none", false) <= 3, "{wrong:?}");
    assert_eq!(wrong_of("wrong_meta", true), 0, "{wrong:?}");
}
