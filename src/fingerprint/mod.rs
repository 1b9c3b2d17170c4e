//! Turns a text into a signature of 256 bits (`SimHash`), of which the first 64 are the indexed fingerprint, and a digest.
//!
//! Segment, hash, weight, sum, take signs: Charikar, *Similarity Estimation Techniques from Rounding Algorithms* (STOC 2002);
//! Manku, Jain, Das Sarma, *Detecting Near-Duplicates for Web Crawling* (WWW 2007). Takes plain text; knows neither HTML nor windows.
//!
//! # The recipe, version 2
//!
//! 1. **Normalise** (`normalise.rs`). Control characters (category Cc) other than white space are removed, and those that are ignorable
//!    by default (`Default_Ignorable_Code_Point`); then NFKC, full case folding, NFKC again.
//! 2. **Cut** into runs by script (`segment.rs`). A run of Chinese characters continues over white space and ends at anything else, and
//!    where it would exceed 65,536 bytes; traditional characters are folded to simplified ones by `simplified.txt`, unless the recipe
//!    keeps them. Kana, Bopomofo, Thai, Lao, Khmer, Myanmar and the other scripts without spaces are runs of characters. Everything else
//!    is cut into words by Unicode Standard Annex #29; words with neither a letter nor a digit are dropped, and signs in front of a mark
//!    that counts as a letter are cut off.
//! 3. **Tokens** (`units` in `segment.rs`) are the words, the words of jieba (dictionary only, no hidden Markov model) in Chinese runs, or
//!    their characters with [`Segment::Ngrams`], and the characters of other runs. **Features** (`fingerprinter.rs`) are the tokens, each two adjacent tokens (across runs,
//!    punctuation and lines), the characters of jieba's words of more than one character, and each two adjacent characters in such a word.
//! 4. **Hash** (`features.rs`). A token's or character's hash is `h = xxh3_64(utf8, seed)`. A pair's is
//!    `mix(rotl(first·K, 32) + second)` where `K = 0x9e3779b97f4a7c15` and `mix` is the finaliser of `SplitMix64`:
//!    `x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31`, all modulo 2^64.
//!    The four words of 64 bits are `h, mix(h + K), mix(h + 2K), mix(h + 3K)`.
//! 5. **Weight** (`features.rs`). A hash that occurs `n` times in the text has the weight `16·(1 + ln n)`, rounded.
//!    What follows the 524,288th distinct hash does not count.
//! 6. **Sum and take signs** (`accumulate.rs`). Bit i of the signature is 1 if the weights of the hashes in which bit i is 1 exceed those
//!    of the hashes in which it is 0.
//!
//! The **digest** (`fingerprinter.rs`) is the first 128 bits of BLAKE3 over the words of step 2, each followed by a zero byte, and the characters of the
//! other runs as they are: the script of what follows a zero byte or such a character shows which of the two it is.
//!
//! Newer tables of Unicode or jieba can change sketches of texts with characters or words that are new in them. Tests pin sketches of known
//! texts; a change that makes one of them differ must raise the recipe's version.

mod accumulate;
mod bits;
mod features;
mod fingerprinter;
pub mod java;
mod normalise;
mod recipe;
mod segment;

pub use accumulate::{Accumulator, Sums};
pub use bits::{Digest, Fingerprint, ParseBitsError, Signature, similarity};
#[cfg(feature = "cli")]
pub(crate) use features::mix;
pub(crate) use fingerprinter::Class;
pub use fingerprinter::{Feature, Fingerprinter, Sketch};
#[cfg(feature = "cli")]
pub(crate) use recipe::VERSION as RECIPE;
pub use recipe::{HashSeed, HashSeedChoice, Recipe, RecipeError, Segment};
