//! Whether pages can be forged that suppress others.
//!
//! Who knows the seed can compute the sums of a page and append words that push them towards the signs of a page that is yet to be
//! crawled, the victim. If the forged page comes first, the victim looks like its near duplicate.

use std::{collections::HashSet, fs::File, io::BufReader, sync::LazyLock};

use pagesieve::{
    Filter, Fingerprinter, Subject,
    eval::{Text, read_texts},
    filter::{Mode, Options},
    fingerprint::{Recipe, Seed},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VICTIMS: usize = 20;
const FORGED_EACH: usize = 50;
/// Words of a page before it is padded.
const WORDS: usize = 600;

/// The finaliser of `SplitMix64`, as the recipe says.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash(word: &str) -> u64 {
    xxh3_64_with_seed(word.as_bytes(), Seed::PUBLIC.0)
}

fn pair(first: u64, second: u64) -> u64 {
    mix(first.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32).wrapping_add(second))
}

/// A word that no text has.
fn word(number: u64) -> String {
    let letters = (0..6).map(|place| mix(number) >> (10 * place));
    letters
        .flat_map(|bits| {
            ["bdfgklmnprstvz", "aeiouaeiouaeio"]
                .map(|of| char::from(of.as_bytes()[(bits % 14) as usize]))
        })
        .collect()
}

/// Words to pad pages with, and their hashes under the public seed.
static FILLER: LazyLock<Vec<(String, u64)>> = LazyLock::new(|| {
    let words = (0..8_192).map(|number| word(mix(!number)));
    words.map(|word| (hash(&word), word)).map(|(hash, word)| (word, hash)).collect()
});

/// A page of an attacker, padded by at most 15 % to bring its fingerprint within 3 bits of the victim's under the public seed.
fn forge(victim: u64, number: u64) -> Option<String> {
    let mut words: Vec<String> =
        (0..WORDS as u64).map(|n| word(mix(number * 10_000 + n))).collect();
    let mut sums = [0_i64; 64];
    let push = |sums: &mut [i64; 64], hash: u64, weight: i64| {
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { weight } else { -weight };
        }
    };
    let mut last = hash(&words[0]);
    push(&mut sums, last, 16);
    for word in &words[1..] {
        let this = hash(word);
        push(&mut sums, this, 16);
        push(&mut sums, pair(last, this), 16);
        last = this;
    }
    let margin =
        |sums: &[i64; 64], bit: usize| if victim >> bit & 1 == 1 { sums[bit] } else { -sums[bit] };
    // Words that come again weigh less than the sum of their occurrences: the attacker takes each only once.
    let mut used: HashSet<u64> = words.iter().map(|word| hash(word)).collect();
    for _ in 0..WORDS * 15 / 100 {
        if (0..64).filter(|&bit| margin(&sums, bit) < 20).count() <= 2 {
            return Some(words.join(" "));
        }
        // The word whose hash and pair point the right way in most of the bits that are wrong or nearly so.
        let weak =
            (0..64).filter(|&bit| margin(&sums, bit) < 60).fold(0, |weak, bit| weak | 1_u64 << bit);
        let agree = |hash: u64| i64::from((weak & !(hash ^ victim)).count_ones());
        let candidates = FILLER.iter().filter(|(_, this)| !used.contains(this)).take(1_000);
        let best = candidates.max_by_key(|(_, this)| agree(*this) + agree(pair(last, *this)));
        let (word, this) = best.unwrap();
        used.insert(*this);
        push(&mut sums, *this, 16);
        push(&mut sums, pair(last, *this), 16);
        last = *this;
        words.push(word.clone());
    }
    None
}

fn victims() -> Vec<Text> {
    let texts = read_texts(BufReader::new(File::open(super::TEXTS).unwrap())).unwrap();
    texts.into_iter().take(VICTIMS).collect()
}

/// Whether the victim is dropped after the forged pages have come.
fn suppressed(mode: Mode, seed: Seed, forged: &[String], victim: &str) -> bool {
    let options = Options { mode, ..Options::default() };
    let fingerprinter = Fingerprinter::new(Recipe { seed, ..Recipe::default() });
    let mut filter = Filter::new(&options).unwrap();
    let mut judge = |id: &str, text: &str| {
        let Ok(judgement) = filter.judge(&Subject::of_text(&fingerprinter, id, text));
        judgement.verdict.is_unique()
    };
    for (number, text) in forged.iter().enumerate() {
        assert!(judge(&format!("forged {number}"), text) || number > 0);
    }
    !judge("victim", victim)
}

#[test]
fn forged_pages_suppress_victims_under_a_known_seed_and_none_under_a_secret_one() {
    let public = Fingerprinter::new(Recipe::default());
    for (number, victim) in (1..).zip(victims()) {
        let target = public.fingerprint(&victim.text).0;
        // An attacker whose page does not come near enough takes another.
        let near = |text: &String| (public.fingerprint(text).0 ^ target).count_ones() <= 3;
        let attempts = (0..2 * FORGED_EACH as u64).map(|copy| forge(target, number * 1_000 + copy));
        let forged: Vec<_> = attempts.flatten().filter(near).take(FORGED_EACH).collect();
        assert_eq!(forged.len(), FORGED_EACH, "{}", victim.id);
        let suppressed = |mode, seed| suppressed(mode, seed, &forged, &victim.text);
        assert!(suppressed(Mode::Classic, Seed::PUBLIC), "the attack works: {}", victim.id);
        assert!(
            !suppressed(Mode::Balanced, Seed::PUBLIC),
            "the signature refuses it: {}",
            victim.id
        );
        for secret in [Seed(mix(number)), Seed(mix(!number))] {
            assert!(!suppressed(Mode::Classic, secret), "the seed alone: {}", victim.id);
            assert!(!suppressed(Mode::Balanced, secret), "seed and signature: {}", victim.id);
        }
    }
}
