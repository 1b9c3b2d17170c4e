//! Fingerprints to fill a window with.

use std::{fs, path::Path};

use pagesieve::{Fingerprinter, fingerprint::Recipe};
use serde::Deserialize;

/// Bytes of a passage, at least.
const PASSAGE: usize = 400;
/// Passages of which a text is made.
const PARTS: u64 = 5;
/// From so many that follow each other they are taken.
const REGION: u64 = 1000;

/// Where fingerprints come from.
pub(crate) enum Source {
    /// Bits without structure.
    Random,
    /// Texts made of real passages: the fingerprints of all passages, in their order.
    Passages(Vec<u64>),
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "text")]
    main_text: String,
}

/// The finaliser of `SplitMix64`.
pub(crate) fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Source {
    /// From a file of lines `{"text"}` or `{"main_text"}`.
    pub(crate) fn of_texts(file: &Path) -> Self {
        let fingerprinter = Fingerprinter::new(Recipe::default());
        let lines = fs::read_to_string(file).expect("the file of texts can be read");
        let mut all = Vec::new();
        for line in lines.lines() {
            let text: Line = serde_json::from_str(line).expect("a line of JSON with a text");
            for passage in passages(&text.main_text) {
                all.push(fingerprinter.sketch(&passage).signature.fingerprint().0);
            }
        }
        assert!(!all.is_empty(), "no text has {PASSAGE} bytes");
        Self::Passages(all)
    }

    /// The fingerprint of this number.
    ///
    /// A text's bits are what most of its parts have: a `SimHash` is the sign of a sum over all features. Real texts of one language
    /// share words, and so do these: their bits lean to one side together.
    pub(crate) fn fingerprint(&self, number: u64) -> u64 {
        let Self::Passages(all) = self else { return mix(number) };
        let (len, first) = (all.len() as u64, mix(number));
        let parts: [u64; PARTS as usize] = std::array::from_fn(|part| {
            let at = first.wrapping_add(mix(first ^ part as u64) % REGION);
            all[(at % len) as usize]
        });
        majority(parts)
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

/// The bits that at least three of five words have.
fn majority(words: [u64; PARTS as usize]) -> u64 {
    // How many words have a bit, in binary.
    let (mut one, mut two, mut four) = (0, 0, 0);
    for word in words {
        let carry = one & word;
        one ^= word;
        four |= two & carry;
        two ^= carry;
    }
    four | (two & one)
}
