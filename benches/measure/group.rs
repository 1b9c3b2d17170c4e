//! Groups of pages: a JSON object a line with `set`, `group`, `pages` (URL or null, and HTML), `checks` (the number of a page, a kind, and what is right: `new`, `dup` or the
//! URL that it repeats) and `pairs` of pages that are copies.

use std::{
    collections::{HashMap, HashSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use pagesieve::{
    Document, Filter,
    extract::Extractor,
    filter::{Documents, Options},
    fingerprint::{HashSeedChoice, Segment},
    page::{Page, Timestamp},
};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Raw {
    pub(crate) set: String,
    pub(crate) group: String,
    pages: Vec<(Option<String>, String)>,
    #[serde(default)]
    pub(crate) checks: Vec<(usize, String, String)>,
    #[serde(default)]
    pub(crate) pairs: Vec<(usize, usize)>,
}

pub(crate) struct Group {
    pub(crate) set: String,
    pub(crate) name: String,
    pub(crate) pages: Vec<Arc<OnePage>>,
    pub(crate) checks: Vec<(usize, String, String)>,
    pub(crate) pairs: Vec<(usize, usize)>,
}

pub(crate) struct OnePage {
    pub(crate) url: String,
    /// The host, or nothing.
    pub(crate) host: String,
    pub(crate) document: Document,
    pub(crate) title: String,
    pub(crate) words: usize,
    pub(crate) shingles: HashSet<u64>,
}

pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.hash_seed = HashSeedChoice::Public;
    options.segment = Segment::Ngrams;
    options
}

/// Reads the groups of these files.
pub(crate) fn read(files: &[String]) -> Vec<Group> {
    let filter = Filter::new(&options()).expect("the options are valid");
    let (documents, extractor) = (filter.documents(), Extractor::default());
    let mut known: HashMap<u64, Arc<OnePage>> = HashMap::new();
    let mut groups = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        for line in text.lines() {
            let Raw { set, group, pages, checks, pairs } =
                serde_json::from_str(line).expect("a group");
            let pages =
                pages.into_iter().enumerate().map(|(at, (url, html))| {
                    let mut hasher = DefaultHasher::new();
                    (&url, &html).hash(&mut hasher);
                    let page = known.entry(hasher.finish());
                    Arc::clone(page.or_insert_with(|| {
                        Arc::new(page_of(at, url, html, &documents, &extractor))
                    }))
                });
            let pages: Vec<_> = pages.collect();
            // Views of one page whose body texts extraction finds.
            let is_pair = |(a, b): &(usize, usize)| {
                let (a, b): (&OnePage, &OnePage) = (&pages[*a], &pages[*b]);
                a.words.min(b.words) >= 60 && jaccard(a, b) >= 0.9
            };
            let pairs = pairs.into_iter().filter(is_pair).collect();
            groups.push(Group { set, name: group, pages, checks, pairs });
        }
    }
    groups
}

fn page_of(
    at: usize,
    url: Option<String>,
    html: String,
    documents: &Documents,
    extractor: &Extractor,
) -> OnePage {
    let page = Page {
        url: url.as_ref().and_then(|url| url.parse().ok()),
        content_type: Some("text/html; charset=utf-8".to_owned()),
        body: html.into_bytes(),
        ..Page::default()
    };
    let (document, extracted) = documents.page(extractor, &page);
    let mut tokens = Vec::new();
    documents.fingerprinter().tokens(&extracted.text, |token| {
        let mut hasher = DefaultHasher::new();
        token.hash(&mut hasher);
        tokens.push(hasher.finish());
    });
    let shingles = tokens.windows(5).map(|words| {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        hasher.finish()
    });
    let host = page.url.as_ref().map(|url| url.authority().to_owned()).unwrap_or_default();
    let url = url.unwrap_or_else(|| format!("#{at}"));
    let document = document.with_key(pagesieve::filter::Key::of(&url)).with_time(Timestamp(0));
    OnePage {
        url,
        host,
        document,
        title: extracted.title.unwrap_or_default(),
        words: tokens.len(),
        shingles: shingles.collect(),
    }
}

/// The Jaccard similarity of the passages of five tokens of two body texts.
pub(crate) fn jaccard(a: &OnePage, b: &OnePage) -> f64 {
    let both = a.shingles.intersection(&b.shingles).count();
    let all = a.shingles.len() + b.shingles.len() - both;
    if all == 0 { 0.0 } else { both as f64 / all as f64 }
}
