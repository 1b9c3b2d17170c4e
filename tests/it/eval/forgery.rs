//! Whether an attacker can forge pages that suppress others.
//!
//! An attacker who knows the hash seed can compute the sums of a page, and append words that push them towards the signature of a page
//! that will be crawled later, the victim. If the forged page comes first, the victim looks like a near duplicate of it.

#![allow(clippy::print_stdout, reason = "prints the cost of an attack")]

use std::{collections::HashSet, fs::File, io::BufReader, sync::LazyLock};

use pagesieve::{
    Filter, Fingerprinter,
    eval::{Text, read_texts},
    filter::{Mode, Options},
    fingerprint::{HashSeed, HashSeedChoice, Recipe},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VICTIMS: usize = 20;
const FORGED_EACH: usize = 50;
/// Words of a page before padding.
const WORDS: usize = 600;

/// The finaliser of `SplitMix64`, as in the recipe.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash(word: &str) -> u64 {
    xxh3_64_with_seed(word.as_bytes(), HashSeed::PUBLIC.0)
}

fn pair(first: u64, second: u64) -> u64 {
    mix(first.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32).wrapping_add(second))
}

/// A word that occurs in no text.
fn word(number: u64) -> String {
    let letters = (0..6).map(|place| mix(number) >> (10 * place));
    letters
        .flat_map(|bits| {
            ["bdfgklmnprstvz", "aeiouaeiouaeio"]
                .map(|of| char::from(of.as_bytes()[(bits % 14) as usize]))
        })
        .collect()
}

/// Words for padding, and their hashes with the public hash seed.
static FILLER: LazyLock<Vec<(String, u64)>> = LazyLock::new(|| {
    let words = (0..8_192).map(|number| word(mix(!number)));
    words.map(|word| (hash(&word), word)).map(|(hash, word)| (word, hash)).collect()
});

/// A feature's 256 bits.
fn expand(hash: u64) -> [u64; 4] {
    let step = 0x9e37_79b9_7f4a_7c15_u64;
    [0, 1, 2, 3].map(|n| if n == 0 { hash } else { mix(hash.wrapping_add(step.wrapping_mul(n))) })
}

/// A page of an attacker: the sums of the first `N` words of its signature, and the signature that it should get.
struct Forgery<const N: usize> {
    victim: [u64; N],
    words: Vec<String>,
    sums: [[i64; 64]; N],
    last: u64,
    /// Repeated words weigh less than the sum of their occurrences, so the attacker uses each word once.
    used: HashSet<u64>,
}

impl<const N: usize> Forgery<N> {
    /// A page before padding.
    fn new(victim: [u64; N], number: u64) -> Self {
        let words: Vec<String> =
            (0..WORDS as u64).map(|n| word(mix(number * 10_000 + n))).collect();
        let last = hash(&words[0]);
        let mut page =
            Self { victim, words: Vec::new(), sums: [[0; 64]; N], last, used: HashSet::new() };
        page.push(last);
        words[1..].iter().for_each(|word| page.append(hash(word)));
        page.used = words.iter().map(|word| hash(word)).collect();
        page.words = words;
        page
    }

    fn append(&mut self, this: u64) {
        self.push(this);
        self.push(pair(self.last, this));
        self.last = this;
    }

    fn push(&mut self, feature: u64) {
        for (sums, bits) in self.sums.iter_mut().zip(expand(feature)) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if bits >> bit & 1 == 1 { 16 } else { -16 };
            }
        }
    }

    /// The bits that are wrong, or right by less than `margin`.
    fn weak(&self, margin: i64) -> [u64; N] {
        let mut weak = [0; N];
        for ((weak, sums), victim) in weak.iter_mut().zip(&self.sums).zip(self.victim) {
            for (bit, sum) in sums.iter().enumerate() {
                let right = if victim >> bit & 1 == 1 { *sum } else { -sum };
                *weak |= u64::from(right < margin) << bit;
            }
        }
        weak
    }

    /// Appends the word whose hash and pair push most of the wrong or nearly wrong bits in the right direction.
    fn pad(&mut self) {
        let weak = self.weak(60);
        let agree = |feature: u64| -> u32 {
            let bits = expand(feature).into_iter().zip(self.victim).zip(weak);
            bits.map(|((bits, victim), weak)| (weak & !(bits ^ victim)).count_ones()).sum()
        };
        let candidates = FILLER.iter().filter(|(_, this)| !self.used.contains(this)).take(1_000);
        let best = candidates.max_by_key(|(_, this)| agree(*this) + agree(pair(self.last, *this)));
        let (word, this) = best.unwrap();
        self.used.insert(*this);
        self.words.push(word.clone());
        self.append(*this);
    }
}

/// A page of an attacker, padded by at most 15 % so that its fingerprint is within 3 bits of the victim's with the public hash seed.
fn forge(victim: u64, number: u64) -> Option<String> {
    let mut page = Forgery::new([victim], number);
    for _ in 0..WORDS * 15 / 100 {
        if page.weak(20)[0].count_ones() <= 2 {
            return Some(page.words.join(" "));
        }
        page.pad();
    }
    None
}

fn victims() -> Vec<Text> {
    let texts = read_texts(BufReader::new(File::open(super::TEXTS).unwrap())).unwrap();
    texts.into_iter().take(VICTIMS).collect()
}

/// Whether the victim is dropped if it comes after the forged pages.
fn suppressed(mode: Mode, seed: HashSeed, forged: &[String], victim: &str) -> bool {
    let seed = HashSeedChoice::Fixed(seed);
    let mut options = Options::default();
    (options.mode, options.hash_seed) = (mode, seed);
    let mut filter = Filter::new(&options).unwrap();
    let documents = filter.documents();
    let mut judge =
        |id: &str, text: &str| filter.judge(&documents.text(id, text)).unwrap().verdict.is_unique();
    for (number, text) in forged.iter().enumerate() {
        assert!(judge(&format!("forged {number}"), text) || number > 0);
    }
    !judge("victim", victim)
}

#[test]
fn forged_pages_suppress_victims_with_a_known_seed_but_none_with_a_secret_one() {
    let public = Fingerprinter::new(Recipe::default());
    for (number, victim) in (1..).zip(victims()) {
        let target = public.fingerprint(&victim.text).0;
        // If a page does not get near enough, the attacker tries another.
        let near = |text: &String| (public.fingerprint(text).0 ^ target).count_ones() <= 3;
        let attempts = (0..2 * FORGED_EACH as u64).map(|copy| forge(target, number * 1_000 + copy));
        let forged: Vec<_> = attempts.flatten().filter(near).take(FORGED_EACH).collect();
        assert_eq!(forged.len(), FORGED_EACH, "{}", victim.id);
        let suppressed = |mode, seed| suppressed(mode, seed, &forged, &victim.text);
        assert!(suppressed(Mode::Classic, HashSeed::PUBLIC), "the attack works: {}", victim.id);
        assert!(
            !suppressed(Mode::Balanced, HashSeed::PUBLIC),
            "the signature refuses it: {}",
            victim.id
        );
        for secret in [HashSeed(mix(number)), HashSeed(mix(!number))] {
            assert!(!suppressed(Mode::Classic, secret), "the seed alone: {}", victim.id);
            assert!(!suppressed(Mode::Balanced, secret), "seed and signature: {}", victim.id);
        }
    }
}

#[test]
fn forging_a_whole_signature_takes_more_words_and_still_the_seed() {
    for (number, victim) in (1..).zip(victims()) {
        let target = Fingerprinter::new(Recipe::default()).signature(&victim.text);
        let mut page = Forgery::new(target.0, number);
        let suppressed = |page: &Forgery<4>, seed| {
            suppressed(Mode::Balanced, seed, &[page.words.join(" ")], &victim.text)
        };
        while !suppressed(&page, HashSeed::PUBLIC) {
            assert!(page.words.len() < 2 * WORDS, "no signature is out of reach: {}", victim.id);
            (0..WORDS / 50).for_each(|_| page.pad());
        }
        let filler = 100 * (page.words.len() - WORDS) / WORDS;
        println!("{filler} % of filler: {}", victim.id);
        assert!(filler > 15, "more than for the fingerprint alone: {filler} %, {}", victim.id);
        assert!(!suppressed(&page, HashSeed(mix(number))), "the seed refuses it: {}", victim.id);
    }
}
