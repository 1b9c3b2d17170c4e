//! The quality of the filter on the pages of the demo, which are bundled: what the program promises, proven without other data.

#![allow(clippy::print_stderr, reason = "prints the figures")]

use std::{collections::HashMap, fs::File, io::Read};

use pagesieve::{
    eval::{Corpus, Text, Unlisted, evaluate, hash_seeds},
    extract::{self, Extractor},
    filter::Options,
    page::Page,
};
use serde_json::json;

const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/demo/pages.tar.zst");

/// Tokens of a shingle.
const SHINGLE: usize = 5;
/// Pairs that are less similar are different.
const LISTED: f64 = 0.3;

/// The body texts of the pages.
fn texts() -> Vec<Text> {
    let archive = zstd::Decoder::new(File::open(ARCHIVE).unwrap()).unwrap();
    let extractor = Extractor::new(extract::Options::default());
    let mut texts = Vec::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let id = entry.path().unwrap().display().to_string();
        let mut body = Vec::new();
        entry.read_to_end(&mut body).unwrap();
        if id != "NOTICES.md" {
            let text = extractor.extract(&Page { body, ..Page::default() }).text;
            texts.push(Text { id, lang: None, text });
        }
    }
    texts
}

/// The shingles of a text, as sorted numbers. A token is a word, or one character of Chinese.
fn shingles<'a>(text: &'a str, known: &mut HashMap<Vec<&'a str>, u32>) -> Vec<u32> {
    let is_chinese = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let mut tokens = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let end = if is_chinese(first) {
                first.len_utf8()
            } else {
                rest.find(is_chinese).unwrap_or(rest.len())
            };
            tokens.push(&rest[..end]);
            rest = &rest[end..];
        }
    }
    let length = SHINGLE.min(tokens.len().max(1));
    let mut shingles: Vec<u32> = tokens
        .windows(length)
        .map(|shingle| {
            let next = u32::try_from(known.len()).unwrap();
            *known.entry(shingle.to_vec()).or_insert(next)
        })
        .collect();
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// The Jaccard coefficient of two sorted sets.
#[allow(clippy::cast_precision_loss, reason = "sets of some thousands")]
fn jaccard(a: &[u32], b: &[u32]) -> f64 {
    let (mut both, mut rest) = (0, b.iter().peekable());
    for shingle in a {
        while rest.next_if(|other| *other < shingle).is_some() {}
        both += usize::from(rest.peek() == Some(&shingle));
    }
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

#[test]
fn of_the_bundled_pages_near_duplicates_are_found_and_no_others() {
    let texts = texts();
    let mut known = HashMap::new();
    let sets: Vec<_> = texts.iter().map(|text| shingles(&text.text, &mut known)).collect();
    let mut pairs = Vec::new();
    for (b, later) in sets.iter().enumerate() {
        for (a, earlier) in sets[..b].iter().enumerate() {
            let jaccard = jaccard(earlier, later);
            if jaccard >= LISTED {
                let pair = json!({"a": texts[a].id, "b": texts[b].id, "jaccard": jaccard});
                pairs.push(pair.to_string());
            }
        }
    }
    let corpus = Corpus::new(texts, pairs.join("\n").as_bytes(), Unlisted::Different).unwrap();
    let quality = evaluate(&corpus, &Options::default(), &hash_seeds(3));
    eprintln!("{quality}");
    eprintln!("{quality}");
    assert_eq!(quality.all().wrong, 0, "{quality}");
    assert!(quality.all().recall >= Some(0.99), "{quality}");
    for stream in &quality.stream {
        assert_eq!(stream.counts.wrong, 0, "{quality}");
    }
}
