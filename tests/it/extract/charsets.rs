//! Pages in 18 encodings, declared in four ways.

use std::{collections::BTreeMap, fs};

use pagesieve::page::Page;
use serde_json::Value;

use super::{data, extractor};

#[test]
fn declared_encodings_decode_exactly_and_undeclared_ones_mostly() {
    let Some(folder) = data("charset") else { return };
    let mut right: BTreeMap<(String, bool), (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
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
        let tally = right.entry((field("mode").to_owned(), is_cjk)).or_default();
        tally.0 += usize::from(is_right);
        tally.1 += 1;
        if !is_right {
            wrong.push(format!("{}: {}", field("file"), document.charset));
        }
        assert!(is_right || !declared, "{} was read as {}", field("file"), document.charset);
    }
    eprintln!("right by (mode, CJK): {right:?}\nwrong: {wrong:#?}");
}
