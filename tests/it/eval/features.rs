//! Which features recognise near duplicates best: the experiment behind the recipe, on the development data.
#![allow(clippy::print_stdout, reason = "the table is for whoever runs the experiment")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "weights and counts are small"
)]

use std::collections::HashMap;

use pagesieve::{
    eval::{BandCounts, Corpus, Figures, count_pairs, hash_seeds},
    fingerprint::{Accumulator, Fingerprinter, Recipe, Segment, Signature},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::development::corpus;

const SEEDS: usize = 15;

/// A choice of features.
#[derive(Clone, Copy)]
struct Features {
    name: &'static str,
    segment: Segment,
    /// The weights of features of one token, of two tokens, and so on; 0 leaves a length out.
    grams: [u32; 5],
    /// The weights of the characters of Chinese words with more than one character, and of pairs of them.
    characters: [u32; 2],
    weight: Weight,
    /// Tokens that occur in more than this share of the texts are noise.
    noise: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Weight {
    Once,
    Frequency,
    Damped,
    /// Damped, times the logarithm of the inverse share of texts that have the feature.
    DampedIdf,
}

const BASE: Features = Features {
    name: "words, pairs, characters and their pairs (recipe)",
    segment: Segment::Jieba,
    grams: [16, 16, 0, 0, 0],
    characters: [16, 16],
    weight: Weight::Damped,
    noise: 1.0,
};

const VARIANTS: [Features; 18] = [
    BASE,
    Features { name: "… without pairs of characters", characters: [16, 0], ..BASE },
    Features { name: "… without characters", characters: [0, 0], ..BASE },
    Features { name: "… pairs ¾", grams: [21, 16, 0, 0, 0], characters: [21, 16], ..BASE },
    Features { name: "… pairs ½", grams: [32, 16, 0, 0, 0], characters: [32, 16], ..BASE },
    Features { name: "… noise words dropped (over 30 %)", noise: 0.3, ..BASE },
    Features { name: "… unweighted", weight: Weight::Once, ..BASE },
    Features { name: "… term frequency", weight: Weight::Frequency, ..BASE },
    Features { name: "… times IDF", weight: Weight::DampedIdf, ..BASE },
    Features { name: "words", grams: [16, 0, 0, 0, 0], characters: [0, 0], ..BASE },
    Features {
        name: "words, term frequency (tutorials)",
        grams: [16, 0, 0, 0, 0],
        characters: [0, 0],
        weight: Weight::Frequency,
        ..BASE
    },
    Features { name: "pairs", grams: [0, 16, 0, 0, 0], characters: [0, 0], ..BASE },
    Features { name: "words, pairs, triples", grams: [16, 16, 16, 0, 0], ..BASE },
    Features { name: "words, fives", grams: [16, 0, 0, 0, 16], ..BASE },
    Features { name: "fives (shingles)", grams: [0, 0, 0, 0, 16], characters: [0, 0], ..BASE },
    Features { name: "characters, pairs (fast mode)", segment: Segment::Ngrams, ..BASE },
    Features {
        name: "characters, pairs ¾",
        segment: Segment::Ngrams,
        grams: [21, 16, 0, 0, 0],
        ..BASE
    },
    Features {
        name: "characters, pairs, triples",
        segment: Segment::Ngrams,
        grams: [16, 16, 16, 0, 0],
        ..BASE
    },
];

/// A text's features by hash, with the weight of one occurrence and the number of occurrences.
type Bag = HashMap<u64, (u32, u32)>;

fn bag(tokens: &[String], features: &Features, noise: &HashMap<&str, f64>, seed: u64) -> Bag {
    let kept = tokens.iter().filter(|token| noise[token.as_str()] <= features.noise);
    let hash = |text: &str| xxh3_64_with_seed(text.as_bytes(), seed);
    let mut bag = Bag::new();
    let mut add = |hash: u64, weight: u32| {
        if weight > 0 {
            bag.entry(hash).or_insert((weight, 0)).1 += 1;
        }
    };
    let kept: Vec<_> = kept.map(|token| (token, hash(token))).collect();
    for (place, (token, this)) in kept.iter().enumerate() {
        for (width, weight) in (1..).zip(features.grams) {
            if place + 1 >= width {
                let gram = kept[place + 1 - width..place].iter();
                let before = gram.fold(0, |hash, (_, token)| mix(hash, *token));
                add(mix(before, *this), weight);
            }
        }
        let han = token.chars().all(|c| ('\u{3400}'..='\u{9fff}').contains(&c));
        if han && token.chars().count() > 1 {
            let characters: Vec<_> =
                token.chars().map(|c| hash(c.encode_utf8(&mut [0; 4]))).collect();
            for &character in &characters {
                add(mix(0, character), features.characters[0]);
            }
            for pair in characters.windows(2) {
                add(mix(mix(0, pair[0]), pair[1]), features.characters[1]);
            }
        }
    }
    bag
}

fn mix(a: u64, b: u64) -> u64 {
    let mut x = (a.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(32).wrapping_add(b);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn signature(bag: &Bag, weight: Weight, holders: &HashMap<u64, f64>) -> Signature {
    let mut accumulator = Accumulator::new();
    for (&hash, &(once, count)) in bag {
        let damped = f64::from(once) * (1.0 + f64::from(count).ln());
        let weight = match weight {
            Weight::Once => f64::from(once),
            Weight::Frequency => f64::from(once * count),
            Weight::Damped => damped,
            Weight::DampedIdf => damped * -holders[&hash].ln(),
        };
        accumulator.add([0, 1, 2, 3].map(|word| mix(word, hash)), weight.round() as u32);
    }
    Signature(accumulator.finish().signs())
}

/// The signature of each text, and the number of its features.
fn signatures(tokens: &[Vec<String>], features: &Features, seed: u64) -> Vec<(Signature, usize)> {
    let texts = tokens.len() as f64;
    let mut noise: HashMap<&str, f64> = HashMap::new();
    for tokens in tokens {
        let distinct: std::collections::HashSet<_> = tokens.iter().map(String::as_str).collect();
        for token in distinct {
            *noise.entry(token).or_default() += 1.0 / texts;
        }
    }
    let bags: Vec<_> = tokens.iter().map(|tokens| bag(tokens, features, &noise, seed)).collect();
    let mut holders: HashMap<u64, f64> = HashMap::new();
    if features.weight == Weight::DampedIdf {
        for &hash in bags.iter().flat_map(HashMap::keys) {
            *holders.entry(hash).or_default() += 1.0 / texts;
        }
    }
    bags.iter().map(|bag| (signature(bag, features.weight, &holders), bag.len())).collect()
}

fn tokens(corpus: &Corpus, segment: Segment) -> Vec<Vec<String>> {
    let fingerprinter = Fingerprinter::new(Recipe { segment, ..Recipe::default() });
    let of_text = |text: &pagesieve::eval::Text| {
        let mut tokens = Vec::new();
        fingerprinter.tokens(&text.text, |token| tokens.push(token.to_owned()));
        tokens
    };
    corpus.texts().iter().map(of_text).collect()
}

#[test]
#[ignore = "an experiment: cargo test --release --test it features_by_experiment -- --ignored --nocapture"]
fn features_by_experiment() {
    let Some(corpus) = corpus() else { return };
    println!(
        "means (least) of {SEEDS} seeds; distance 3, then 9 of 64 and 26 of 256: near pairs found, of those not equal, ≥ 0.5 of reported, wrong\n"
    );
    for features in VARIANTS {
        let tokens = tokens(&corpus, features.segment);
        let (mut classic, mut balanced): (Vec<BandCounts>, Vec<BandCounts>) = Default::default();
        for seed in hash_seeds(SEEDS) {
            let signatures = signatures(&tokens, &features, seed.0);
            // Short texts are compared exactly, as in the rule.
            let report = |a: usize, b: usize, radius, confirmed| {
                let ((x, m), (y, n)) = (&signatures[a], &signatures[b]);
                let most = if (*m).min(*n) < 24 { 0 } else { confirmed };
                x.fingerprint().distance(y.fingerprint()) <= radius && x.distance(y) <= most
            };
            classic.push(count_pairs(&corpus, |a, b| report(a, b, 3, 256)));
            balanced.push(count_pairs(&corpus, |a, b| report(a, b, 9, 26)));
        }
        let cells = [classic, balanced].map(|counts| {
            let figures = Figures::new(&counts);
            let [found, not_equal, least, alike] = [
                figures.recall,
                figures.recall_not_equal,
                figures.least_recall_not_equal,
                figures.precision_50,
            ]
            .map(Option::unwrap_or_default);
            format!("{found:.4} | {not_equal:.4} ({least:.3}) | {alike:.4} | {}", figures.wrong)
        });
        println!("| {} | {} | {} |", features.name, cells[0], cells[1]);
    }
}
