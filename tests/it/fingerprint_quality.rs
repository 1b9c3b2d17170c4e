//! How well fingerprints tell near duplicates from other pages, on all 1.86 million pairs of the development data.
#![allow(clippy::print_stderr, reason = "the figures are for whoever runs the test")]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
};

use pagesieve::{
    Sketch,
    fingerprint::{Fingerprinter, Recipe, Seed, Segment},
};
use serde::Deserialize;

use crate::data::shared;

/// One seed moves recall by some points, so the mean of five is judged.
const SEEDS: [u64; 5] = [11, 7_930, 15_849, 23_768, 31_687];

#[derive(Deserialize)]
struct Page {
    path: String,
    lang: String,
    #[serde(rename = "main_text")]
    text: String,
}

#[derive(Deserialize)]
struct Pair {
    path_a: String,
    path_b: String,
    jaccard: f64,
}

struct Corpus {
    pages: Vec<Page>,
    /// By the places of two pages, the smaller first. Pairs that are not here are below 0.3.
    jaccard: HashMap<(usize, usize), f64>,
}

impl Corpus {
    fn read() -> Option<Self> {
        let pages = fs::read_to_string(shared("main_text.jsonl")?).unwrap();
        let pages: Vec<Page> =
            pages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let places: HashMap<_, _> =
            pages.iter().enumerate().map(|(place, page)| (page.path.as_str(), place)).collect();
        let pairs = fs::read_to_string(shared("pairs.jsonl")?).unwrap();
        let jaccard = pairs.lines().map(|line| {
            let pair: Pair = serde_json::from_str(line).unwrap();
            let (a, b) = (places[pair.path_a.as_str()], places[pair.path_b.as_str()]);
            ((a.min(b), a.max(b)), pair.jaccard)
        });
        let jaccard = jaccard.collect();
        Some(Self { pages, jaccard })
    }

    fn sketches(&self, recipe: Recipe) -> Vec<Sketch> {
        let fingerprinter = Fingerprinter::new(recipe);
        self.pages.iter().map(|page| fingerprinter.sketch(&page.text)).collect()
    }

    fn language(&self, (a, b): (usize, usize)) -> &str {
        let (a, b) = (&self.pages[a].lang, &self.pages[b].lang);
        if a == b { a } else { "two languages" }
    }
}

/// Pairs counted over all seeds.
#[derive(Default)]
struct Tally {
    near: u32,
    near_found: u32,
    reported: u32,
    reported_alike: u32,
    wrong: u32,
}

impl Tally {
    fn count(&mut self, jaccard: f64, reported: bool) {
        self.near += u32::from(jaccard >= 0.9);
        self.near_found += u32::from(jaccard >= 0.9 && reported);
        self.reported += u32::from(reported);
        self.reported_alike += u32::from(reported && jaccard >= 0.5);
        self.wrong += u32::from(reported && jaccard < 0.3);
    }

    fn recall(&self) -> f64 {
        f64::from(self.near_found) / f64::from(self.near)
    }

    fn precision(&self) -> f64 {
        f64::from(self.reported_alike) / f64::from(self.reported)
    }

    fn print(&self, name: &str) {
        let (recall, precision) = (self.recall(), self.precision());
        eprintln!(
            "{name:>16}: {recall:.4} of near pairs found, {precision:.4} of reported at 0.5 or more, {} below 0.3",
            self.wrong
        );
    }
}

fn tally(corpus: &Corpus, segment: Segment) -> Tally {
    let mut languages = BTreeMap::<&str, Tally>::new();
    let mut all = Tally::default();
    for seed in SEEDS.map(Seed) {
        let sketches = corpus.sketches(Recipe { segment, seed, ..Recipe::default() });
        for (a, first) in sketches.iter().enumerate() {
            for (b, second) in sketches.iter().enumerate().skip(a + 1) {
                let reported =
                    first.signature.fingerprint().distance(second.signature.fingerprint()) <= 3;
                let jaccard = corpus.jaccard.get(&(a, b)).copied();
                if reported || jaccard.is_some() {
                    let jaccard = jaccard.unwrap_or(0.0);
                    all.count(jaccard, reported);
                    languages.entry(corpus.language((a, b))).or_default().count(jaccard, reported);
                }
            }
        }
    }
    eprintln!("distance 3, {segment:?}, {} seeds:", SEEDS.len());
    for (language, tally) in &languages {
        tally.print(language);
    }
    all.print("all");
    all
}

#[test]
fn distance_3_finds_near_duplicates_and_no_others() {
    let Some(corpus) = Corpus::read() else { return };
    for segment in [Segment::Jieba, Segment::Ngrams] {
        let tally = tally(&corpus, segment);
        assert!(tally.precision() >= 0.998);
        assert!(tally.recall() >= 0.87);
        assert!(tally.wrong <= 1);
    }
}

#[test]
fn equal_texts_meet_and_equal_digests_have_equal_signatures() {
    let Some(corpus) = Corpus::read() else { return };
    for segment in [Segment::Jieba, Segment::Ngrams] {
        let mut by_text = HashMap::new();
        let mut by_digest = HashMap::new();
        for (page, sketch) in
            corpus.pages.iter().zip(corpus.sketches(Recipe { segment, ..Recipe::default() }))
        {
            assert_eq!(
                by_text.entry(&page.text).or_insert_with(|| sketch.clone()),
                &sketch,
                "{}",
                page.path
            );
            if let Some(digest) = sketch.digest {
                assert_eq!(
                    by_digest.entry(digest).or_insert(sketch.signature),
                    &sketch.signature,
                    "{}",
                    page.path
                );
            }
        }
    }
}
