//! The quality of the filter on all 1.86 million pairs of the development data.
#![allow(clippy::print_stderr, reason = "prints the figures")]

use std::{
    collections::HashMap,
    fs::{self, File},
    io::BufReader,
};

use pagesieve::{
    eval::{Axis, Corpus, GroupQuality, Quality, Text, Unlisted, evaluate, hash_seeds, read_texts},
    extract::{self, Extractor},
    filter::{Mode, Options},
    fingerprint::{Fingerprinter, Recipe, Segment},
    page::Page,
};

use crate::data::shared;

/// Recall varies by some points from hash seed to hash seed, so the tests use the mean of five.
const SEEDS: usize = 5;

pub(super) fn corpus() -> Option<Corpus> {
    let open = |name| shared(name).map(|path| BufReader::new(File::open(path).unwrap()));
    let (texts, pairs) = (open("main_text.jsonl")?, open("pairs.jsonl")?);
    Some(Corpus::new(read_texts(texts).unwrap(), pairs, Unlisted::Different).unwrap())
}

fn quality(corpus: &Corpus, mode: Mode, segment: Segment) -> Quality {
    let mut options = Options::default();
    (options.mode, options.segment) = (mode, segment);
    let quality = evaluate(corpus, &options, &hash_seeds(SEEDS));
    eprintln!("{quality}");
    quality
}

/// The groups of pairs of one language; there are too few pairs of two languages.
fn languages(quality: &Quality) -> impl Iterator<Item = &GroupQuality> {
    quality.groups.iter().filter(|group| {
        group.by == Axis::Language && ["en", "ja", "zh"].contains(&group.name.as_str())
    })
}

#[test]
fn balanced_finds_near_duplicates_and_no_others() {
    let Some(corpus) = corpus() else { return };
    for segment in [Segment::Jieba, Segment::Ngrams] {
        let quality = quality(&corpus, Mode::Balanced, segment);
        assert_eq!(quality.all().wrong, 0);
        assert!(quality.all().precision_50 >= Some(0.999));
        assert_eq!(languages(&quality).count(), 3);
        for language in languages(&quality) {
            let name = &language.name;
            assert!(language.figures.recall >= Some(0.99), "{name}");
            assert!(language.figures.recall_not_equal >= Some(0.98), "{name}");
            assert!(language.figures.least_recall >= Some(0.98), "{name}");
            assert!(language.figures.least_recall_not_equal >= Some(0.95), "{name}");
        }
        for stream in &quality.stream {
            assert!(stream.share_caught >= Some(0.99), "{}", stream.name);
            assert_eq!(stream.counts.wrong, 0, "{}", stream.name);
        }
    }
}

#[test]
fn from_the_pages_themselves_as_many_are_found() {
    let (Some(pages), Some(pairs)) = (shared("pages"), shared("pairs.jsonl")) else { return };
    let texts = File::open(shared("main_text.jsonl").unwrap()).map(BufReader::new).unwrap();
    let extractor = Extractor::new(extract::Options::default());
    let read = |text: Text| {
        let body = fs::read(pages.join(&text.id)).unwrap();
        Text { text: extractor.extract(&Page { body, ..Page::default() }).text, ..text }
    };
    let texts = read_texts(texts).unwrap().into_iter().map(read).collect();
    let pairs = BufReader::new(File::open(pairs).unwrap());
    let corpus = Corpus::new(texts, pairs, Unlisted::Different).unwrap();
    let quality = quality(&corpus, Mode::Balanced, Segment::Jieba);
    assert!(quality.all().precision_50 >= Some(0.99));
    assert!(quality.all().recall >= Some(0.95));
}

#[test]
fn distance_3_finds_most_near_duplicates_and_hardly_any_others() {
    let Some(corpus) = corpus() else { return };
    for segment in [Segment::Jieba, Segment::Ngrams] {
        let quality = quality(&corpus, Mode::Classic, segment);
        assert!(quality.all().recall >= Some(0.88));
        assert!(quality.all().precision_50 >= Some(0.998));
        assert!(quality.all().wrong <= 1);
    }
}

#[test]
fn strict_is_more_precise_than_distance_3() {
    let Some(corpus) = corpus() else { return };
    let [strict, classic] =
        [Mode::Strict, Mode::Classic].map(|mode| quality(&corpus, mode, Segment::Jieba));
    assert!(strict.all().precision_90 > classic.all().precision_90);
    assert!(strict.all().recall >= Some(0.88));
    assert_eq!(strict.all().wrong, 0);
}

#[test]
fn equal_texts_meet_and_equal_digests_have_equal_signatures() {
    let Some(corpus) = corpus() else { return };
    for segment in [Segment::Jieba, Segment::Ngrams] {
        let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
        let mut by_text = HashMap::new();
        let mut by_digest = HashMap::new();
        for text in corpus.texts() {
            let sketch = fingerprinter.sketch(&text.text);
            let first = by_text.entry(&text.text).or_insert_with(|| sketch.clone());
            assert_eq!(first, &sketch, "{}", text.id);
            if let Some(digest) = sketch.digest {
                let first = by_digest.entry(digest).or_insert(sketch.signature);
                assert_eq!(first, &sketch.signature, "{}", text.id);
            }
        }
    }
}
