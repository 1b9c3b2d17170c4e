//! Pages in many encodings: declared correctly, wrongly, or not at all.
#![allow(clippy::print_stderr, reason = "the rates are for the person who runs the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use encoding_rs::Encoding;
use pagesieve::{extract::Extracted, page::Page};
use serde_json::Value;

use super::extractor;
use crate::data::shared;

/// How many were read correctly, by name.
#[derive(Default)]
struct Rates(BTreeMap<String, (u32, u32)>);

impl Rates {
    fn count(&mut self, name: impl Into<String>, is_right: bool) {
        let (right, all) = self.0.entry(name.into()).or_default();
        *right += u32::from(is_right);
        *all += 1;
    }

    fn of(&self, name: &str) -> f64 {
        let (right, all) = self.0[name];
        f64::from(right) / f64::from(all)
    }

    fn print(&self) {
        for (name, (right, all)) in &self.0 {
            eprintln!("{name:>24}: {right} of {all}");
        }
    }
}

fn is_cjk(lang: &str) -> bool {
    matches!(lang, "zh" | "zh_TW" | "ja" | "ko")
}

struct Sample {
    file: PathBuf,
    charset: String,
    lang: String,
    mode: String,
    /// The `Content-Type` header.
    header: Option<String>,
}

fn samples(folder: &Path) -> Vec<Sample> {
    let index = fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let sample = |line: &str| {
        let truth: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| truth[name].as_str().unwrap_or_default().to_owned();
        Sample {
            file: folder.join(field("file")),
            charset: field("charset"),
            lang: field("lang"),
            mode: field("mode"),
            header: truth["http_charset"]
                .as_str()
                .map(|charset| format!("text/html; charset={charset}")),
        }
    };
    index.lines().map(sample).collect()
}

fn read(body: Vec<u8>, content_type: Option<String>) -> Extracted {
    extractor().extract(&Page { body, content_type, ..Page::default() })
}

/// The correct result: the same characters, extracted from UTF-8.
fn expected(markup: &str) -> Extracted {
    read(markup.as_bytes().to_vec(), Some("text/html; charset=utf-8".to_owned()))
}

#[test]
fn declared_encodings_decode_exactly_and_undeclared_ones_mostly() {
    let Some(folder) = shared("charset") else { return };
    let mut rates = Rates::default();
    for sample in samples(&folder) {
        let body = fs::read(&sample.file).unwrap();
        let encoding = Encoding::for_label(sample.charset.as_bytes()).unwrap();
        let whole = expected(&encoding.decode(&body).0);
        let document = read(body, sample.header);
        let is_right = document.text == whole.text && document.title == whole.title;
        let group = if is_cjk(&sample.lang) { "cjk" } else { "other" };
        rates.count(format!("{} {group}", sample.mode), is_right);
        rates.count(sample.mode.clone(), is_right);
        let is_declared = matches!(&*sample.mode, "meta" | "http");
        assert!(
            is_right || !is_declared,
            "{} was read as {}",
            sample.file.display(),
            document.charset
        );
    }
    rates.print();
    assert!(rates.of("none cjk") >= 1.0);
    assert!(rates.of("none other") >= 0.95);
    assert!(rates.of("wrong_meta cjk") >= 1.0);
    assert!(rates.of("wrong_meta other") >= 0.8);
}

/// Texts by language: those of the samples and of the development pages.
fn texts(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    for sample in samples(folder).into_iter().filter(|sample| sample.mode == "none") {
        let body = fs::read(&sample.file).unwrap();
        let content_type = format!("text/html; charset={}", sample.charset);
        texts.entry(sample.lang).or_default().push(read(body, Some(content_type)).text);
    }
    let labels = fs::read_to_string(folder.parent().unwrap().join("main_text.jsonl")).unwrap();
    for line in labels.lines().step_by(97) {
        let label: Value = serde_json::from_str(line).unwrap();
        let text = label["main_text"].as_str().unwrap().to_owned();
        texts.entry(label["lang"].as_str().unwrap().to_owned()).or_default().push(text);
    }
    texts
}

/// Passages of a text, of which at least a few characters are not ASCII.
fn passages(text: &str, length: usize) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let step = length.max(chars.len() / 3 + 1);
    let passages: Vec<String> = chars
        .chunks(step)
        .map(|chunk| chunk[..chunk.len().min(length)].iter().collect())
        .filter(|passage: &String| {
            passage.chars().count() == length
                && passage.chars().filter(|char| !char.is_ascii()).count() > 2
        })
        .collect();
    passages.into_iter()
}

/// The page in an encoding; `None` if the encoding lacks a character.
fn encoded(markup: &str, label: &str) -> Option<Vec<u8>> {
    match label {
        "utf-16le" => Some(markup.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        "utf-16be" => Some(markup.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        _ => {
            let (body, _, lacks) = Encoding::for_label(label.as_bytes()).unwrap().encode(markup);
            (!lacks).then(|| body.into_owned())
        }
    }
}

/// A bare page, and one that is mostly ASCII.
fn markups(passage: &str, declaration: &str) -> [String; 2] {
    let text = passage.replace('&', "&amp;").replace('<', "&lt;");
    let scripts = "<script src=\"/static/menu.min.js\"></script>".repeat(40);
    [
        format!("<html>{declaration}<p>{text}</p>"),
        format!(
            "<!DOCTYPE html><html><head>{declaration}<title>Page</title>{scripts}</head>\
             <body class=home><div class=content><p>{text}</p></div></body></html>"
        ),
    ]
}

const ENCODINGS: [(&str, &[&str]); 10] = [
    ("zh", &["gb18030", "gbk", "utf-8", "utf-16le", "utf-16be"]),
    ("zh_TW", &["big5", "utf-8", "utf-16le", "utf-16be"]),
    ("ja", &["euc-jp", "shift_jis", "iso-2022-jp", "utf-8", "utf-16le", "utf-16be"]),
    ("ko", &["euc-kr", "utf-8", "utf-16le", "utf-16be"]),
    ("ru", &["koi8-r", "windows-1251", "iso-8859-5", "utf-8", "utf-16le", "utf-16be"]),
    ("cs", &["windows-1250", "iso-8859-2", "utf-8", "utf-16le", "utf-16be"]),
    ("de", &["windows-1252", "utf-8", "utf-16le", "utf-16be"]),
    ("fr", &["windows-1252", "iso-8859-15", "utf-8", "utf-16le", "utf-16be"]),
    ("el", &["windows-1253", "iso-8859-7", "utf-8", "utf-16le", "utf-16be"]),
    ("vi", &["windows-1258", "utf-8", "utf-16le", "utf-16be"]),
];

#[test]
fn passages_of_any_length_are_read_in_their_encoding() {
    let Some(folder) = shared("charset") else { return };
    let texts = texts(&folder);
    let mut rates = Rates::default();
    for (lang, labels) in ENCODINGS {
        let passages = texts[lang].iter().flat_map(|text| {
            [20, 60, 200, 1000].into_iter().flat_map(|length| passages(text, length))
        });
        for passage in passages {
            for label in labels {
                count_undeclared(&mut rates, lang, label, &passage);
                if !label.starts_with("utf-16") {
                    assert_declared_is_exact(label, &passage);
                }
            }
        }
    }
    rates.print();
    assert!(rates.of("cjk") >= 0.97);
    assert!(rates.of("all") >= 0.95);
    assert!(rates.of("utf-16le") >= 1.0);
    assert!(rates.of("utf-16be") >= 1.0);
    assert!(rates.of("utf-8") >= 1.0);
}

fn count_undeclared(rates: &mut Rates, lang: &str, label: &str, passage: &str) {
    for markup in markups(passage, "") {
        let Some(body) = encoded(&markup, label) else { continue };
        let is_right = read(body, None).text == expected(&markup).text;
        rates.count("all", is_right);
        rates.count(label, is_right);
        if is_cjk(lang) {
            rates.count("cjk", is_right);
        }
    }
}

fn assert_declared_is_exact(label: &str, passage: &str) {
    for markup in markups(passage, &format!("<meta charset={label}>")) {
        let Some(body) = encoded(&markup, label) else { continue };
        let document = read(body, None);
        assert_eq!(
            document.text,
            expected(&markup).text,
            "{label} was read as {}",
            document.charset
        );
    }
}
