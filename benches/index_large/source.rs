//! Fingerprints to fill a window with.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use pagesieve::{Fingerprinter, fingerprint::Recipe};
use serde::Deserialize;

use crate::measure::numbers::mix;

/// Bytes of a passage, at least.
const PASSAGE: usize = 400;

/// Where fingerprints come from.
pub(crate) enum Source {
    /// Bits without structure.
    Random,
    /// Texts made of real passages: the fingerprints of the different passages of each language.
    Passages(Vec<Vec<u64>>),
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "text")]
    main_text: String,
    #[serde(default)]
    lang: String,
}

impl Source {
    /// From a file of lines `{"lang", "text"}` or `{"lang", "main_text"}`; only of some languages if any are given.
    pub(crate) fn of_texts(file: &Path, only: &[&str]) -> Self {
        let fingerprinter = Fingerprinter::new(Recipe::default());
        let lines = fs::read_to_string(file).expect("the file of texts can be read");
        let mut all: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for line in lines.lines() {
            let text: Line = serde_json::from_str(line).expect("a line of JSON with a text");
            if only.is_empty() || only.contains(&text.lang.as_str()) {
                let of_language = all.entry(text.lang).or_default();
                for passage in passages(&text.main_text) {
                    of_language.insert(fingerprinter.sketch(&passage).signature.fingerprint().0);
                }
            }
        }
        let all: Vec<Vec<u64>> = all.into_values().map(|all| all.into_iter().collect()).collect();
        assert!(!all.concat().is_empty(), "no text has {PASSAGE} bytes");
        Self::Passages(all)
    }

    /// The fingerprint of this number.
    ///
    /// A text's bits are what most of its three passages have, as a `SimHash` is the sign of a sum over all features. Real texts of one
    /// language share words, and so do these: their bits lean to one side together. With three passages, distances are spread as those of
    /// the different pages of the development data in English (mean 28.1 and 28.6, at most 16 for 0.0017 and 0.0019 of the pairs) and
    /// Chinese (28.4 and 28.1; 0.0020 and 0.0037); Japanese texts become more alike than the pages are (20.5 and 22.9).
    pub(crate) fn fingerprint(&self, number: u64) -> u64 {
        let Self::Passages(languages) = self else { return mix(number) };
        let first = mix(number);
        let mut turn = first as usize % languages.iter().map(Vec::len).sum::<usize>();
        for passages in languages {
            if turn < passages.len() {
                let part = |part: u64| passages[mix(first ^ part) as usize % passages.len()];
                let (a, b, c) = (part(1), part(2), part(3));
                return (a & b) | (c & (a | b));
            }
            turn -= passages.len();
        }
        unreachable!("a turn is less than the sum of all lengths")
    }

    /// In how many bits two fingerprints differ on average.
    pub(crate) fn mean_distance(&self) -> f64 {
        let pairs = 100_000;
        let differ = |i: u64| (self.fingerprint(2 * i) ^ self.fingerprint(2 * i + 1)).count_ones();
        (0..pairs).map(differ).map(f64::from).sum::<f64>() / pairs as f64
    }
}

/// Stretches of lines, each of at least [`PASSAGE`] bytes.
fn passages(text: &str) -> Vec<String> {
    let (mut all, mut passage) = (Vec::new(), String::new());
    for line in text.lines() {
        passage.push_str(line);
        passage.push('\n');
        if passage.len() >= PASSAGE {
            all.push(std::mem::take(&mut passage));
        }
    }
    all
}
