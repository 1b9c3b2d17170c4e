//! Which sentences were seen: a Bloom filter for all sites.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::page::Outline;

/// Bits of the filter.
const BITS: usize = 1 << 23;
/// With more than one sentence for this many bits, it begins anew.
const BITS_PER_SENTENCE: usize = 8;
/// A new text has new sentences if at least this many bytes of it, and an eighth, were not seen before.
const MIN_NEW_BYTES: usize = 100;
/// A line is new if one in so many of its bytes is in new sentences.
const CHANGED: usize = 4;

/// The sentences that were seen.
#[derive(Debug, Default)]
pub(super) struct Sentences {
    bits: Vec<u64>,
    /// How many sentences there are.
    count: usize,
}

impl Sentences {
    /// Whether much of a text is in sentences that no text before it had, and a hash of the text. Remembers them. Lines of `links` are text of
    /// links only, and never new.
    pub(super) fn are_new_in(&mut self, text: &str, links: &HashSet<u64>) -> (bool, u16) {
        if self.bits.is_empty() || self.count * BITS_PER_SENTENCE > BITS {
            (self.bits, self.count) = (vec![0; BITS / 64], 0);
        }
        let (mut novel, mut all, mut whole) = (0, 0, 0_u64);
        for line in text.lines() {
            let hash = hash_of_line(line);
            whole = whole.rotate_left(5) ^ hash;
            all += line.len();
            let mut new = 0;
            for sentence in sentences(line) {
                new += if self.is_new(sentence) { sentence.len() } else { 0 };
            }
            // A paragraph in which a sentence has changed is a new one, but not if only the name of the page in it has.
            novel += match links.contains(&hash) {
                true => 0,
                false if new * CHANGED >= line.len() => line.len(),
                false => new,
            };
        }
        let hash = u16::try_from(whole >> 48).unwrap_or_default().max(1);
        (novel >= MIN_NEW_BYTES && novel * 8 >= all, hash)
    }

    /// Whether no text before had this sentence.
    fn is_new(&mut self, sentence: &str) -> bool {
        let hash = hash_of_sentence(sentence);
        let places =
            [hash, hash >> 32].map(|bits| usize::try_from(bits % BITS as u64).unwrap_or(0));
        let is_new = places.iter().any(|at| self.bits[at / 64] >> (at % 64) & 1 == 0);
        for at in places {
            self.bits[at / 64] |= 1 << (at % 64);
        }
        self.count += usize::from(is_new);
        is_new
    }

    /// The filter as bytes, none if it is empty.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.bits.iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    /// The filter of these bytes; an empty one if they are none of its size.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() * 8 != BITS {
            return Self::default();
        }
        let (words, _) = bytes.as_chunks();
        let bits: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let ones: usize = bits.iter().map(|bits| bits.count_ones() as usize).sum();
        Self { bits, count: ones / 2 }
    }
}

/// The sentences of a line: a text that was made for its URL has the number or the name in one of them.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['。', '！', '？']).flat_map(|part| part.split(". "))
}

/// A hash of a sentence, the same whatever numbers it has: counters and dates make no new text. A row of numbers is no sentence.
fn hash_of_sentence(sentence: &str) -> u64 {
    let digits = sentence.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || sentence.chars().filter(|it| it.is_alphabetic()).count() <= digits {
        return hash_of_line(sentence);
    }
    let mut words = String::with_capacity(sentence.len());
    for part in sentence.split_inclusive(|it: char| it.is_ascii_digit()) {
        words.push_str(part.trim_end_matches(|it: char| it.is_ascii_digit()));
    }
    hash_of_line(&words)
}

fn hash_of_line(line: &str) -> u64 {
    xxh3_64_with_seed(line.as_bytes(), 11)
}

/// The lines of a page that are nothing but text of links: of a view all of them, of another page those with several links, as to recommended
/// pages.
pub(crate) fn link_lines(outline: &Outline, is_view: bool) -> HashSet<u64> {
    let lines = outline.lines().iter().enumerate();
    let lines = lines.filter(|(_, line)| is_view || line.links > 1);
    let lines = lines.map(|(number, line)| (outline.text_of(number), line.linked));
    let of_links = lines.filter(|(text, linked)| linked * 10 >= text.len() * 9);
    of_links.map(|(text, _)| hash_of_line(text.trim())).collect()
}
