//! The text of 1,931 real pages against labels made by rules for their generators.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
};

use pagesieve::page::Page;
use serde_json::Value;
use url::Url;

use super::extractor;
use crate::data::shared;

#[test]
fn the_text_of_real_pages_is_their_main_text() {
    let Some(root) =
        shared("main_text.jsonl").and_then(|path| path.parent().map(ToOwned::to_owned))
    else {
        return;
    };
    let mut corpora: BTreeMap<String, Vec<(f64, String)>> = BTreeMap::new();
    let mut wrong_language = BTreeMap::<String, usize>::new();
    for line in fs::read_to_string(root.join("main_text.jsonl")).unwrap().lines() {
        let label: Value = serde_json::from_str(line).unwrap();
        let path = label["path"].as_str().unwrap();
        let body = fs::read(root.join("pages").join(path)).unwrap();
        let document = extractor().extract(&Page { body, ..Page::default() });
        let similarity = jaccard(&document.text, label["main_text"].as_str().unwrap());
        let corpus = path.split('/').next().unwrap().to_owned();
        if document.lang.map(str::to_owned) != label["lang"].as_str().map(str::to_owned) {
            *wrong_language
                .entry(format!("{corpus} {} {:?}", label["lang"], document.lang))
                .or_default() += 1;
        }
        corpora.entry(corpus).or_default().push((similarity, path.to_owned()));
    }
    // The label is that of the folder: some pages were never translated, some are mostly code.
    assert!(wrong_language.values().sum::<usize>() <= 45, "{wrong_language:?}");
    for (corpus, similarities) in corpora {
        let count = u32::try_from(similarities.len()).unwrap();
        let mean =
            similarities.iter().map(|(similarity, _)| similarity).sum::<f64>() / f64::from(count);
        let lowest = similarities.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        assert!(mean >= 0.99, "{corpus}: mean Jaccard similarity {mean}, lowest {lowest:?}");
    }
}

/// Jaccard similarity of the sets of 5-token shingles; a token is a word, or a character of a script without spaces.
fn jaccard(a: &str, b: &str) -> f64 {
    let (a, b) = (shingles(a), shingles(b));
    let common = a.intersection(&b).count();
    let all = a.len() + b.len() - common;
    if all == 0 {
        1.0
    } else {
        f64::from(u32::try_from(common).unwrap()) / f64::from(u32::try_from(all).unwrap())
    }
}

fn shingles(text: &str) -> HashSet<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for char in text.chars().flat_map(char::to_lowercase) {
        let is_alone = char >= '\u{2E80}';
        if !char.is_alphanumeric() {
            in_word = false;
        } else if in_word && !is_alone {
            tokens.last_mut().unwrap().push(char);
        } else {
            tokens.push(char.to_string());
            in_word = !is_alone;
        }
    }
    if tokens.len() < 5 {
        return HashSet::from([tokens.join(" ")]);
    }
    tokens.windows(5).map(|window| window.join(" ")).collect()
}

#[test]
fn following_the_links_of_real_pages_reaches_every_reachable_page() {
    let Some(root) = shared("pages") else { return };
    let mut queue: Vec<Url> =
        starting_pages().iter().map(|path| Url::parse(path).unwrap()).collect();
    assert_eq!(queue.len(), 22);
    let mut seen: HashSet<Url> = queue.iter().cloned().collect();
    let mut reached = 0;
    while let Some(url) = queue.pop() {
        let Ok(body) = fs::read(root.join(&url.path()[1..])) else { continue };
        reached += 1;
        let document = extractor().extract(&Page { url: Some(url), body, ..Page::default() });
        let here = document.links.into_iter().map(|link| link.url).filter(|url| {
            url.host_str() == Some("docs.test")
                && Path::new(url.path()).extension().is_some_and(|end| end == "html")
        });
        queue.extend(here.filter(|url| seen.insert(url.clone())));
    }
    assert_eq!(reached, 1_917);
}

fn starting_pages() -> Vec<String> {
    let mut pages = Vec::new();
    for variant in ["amd64", "arm64", "i386", "s390x"] {
        pages.extend(["en", "zh", "ja"].map(|lang| format!("iguide/{variant}/{lang}/index.html")));
    }
    for variant in ["bullseye", "bookworm"] {
        pages.push(format!("pgdoc/{variant}/en/index.html"));
        pages.push(format!("faq/{variant}/en/index.en.html"));
        pages.push(format!("faq/{variant}/zh/index.zh-cn.html"));
        pages.extend(
            ["zh-CN", "en-US"]
                .map(|lang| format!("lohelp/{variant}/{lang}/text/swriter/main0000.html")),
        );
    }
    pages.iter().map(|path| format!("http://docs.test/{path}")).collect()
}
