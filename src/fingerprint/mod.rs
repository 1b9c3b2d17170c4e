//! Turns a text into a signature of 256 bits (`SimHash`), of which the first 64 are the indexed fingerprint, and a digest.
//!
//! Segment, hash, weight, sum, take signs: Charikar, *Similarity Estimation Techniques from Rounding Algorithms* (STOC 2002);
//! Manku, Jain, Das Sarma, *Detecting Near-Duplicates for Web Crawling* (WWW 2007). Takes plain text; knows neither HTML nor windows.
//!
//! # The recipe, version 3
//!
//! 1. **Normalise** (`normalise.rs`). Control characters (category Cc) other than white space are removed, and those that are ignorable
//!    by default (`Default_Ignorable_Code_Point`); apostrophes and single quotation marks become `'`, double ones `"` (`plain_quote`); then NFKC,
//!    quotation marks again, full case folding, NFKC again.
//! 2. **Cut** into runs by script (`segment.rs`). A run of Chinese characters continues over white space and ends at anything else, and
//!    where it would exceed 65,536 bytes; traditional characters are folded to simplified ones by `simplified.txt`, unless the recipe
//!    keeps them. Kana, Bopomofo, Thai, Lao, Khmer, Myanmar and the other scripts without spaces are runs of characters. Everything else
//!    is cut into words by Unicode Standard Annex #29; words with neither a letter nor a digit are dropped; symbols in front of a mark
//!    that counts as a letter and apostrophes at the end are cut off.
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
//! **Signs** (`signs.rs`) stand between the words and runs of step 2: mathematical and currency symbols (categories Sm and Sc),
//! `# % & * / @ \ ^ ° ‰ ‱ ٪`, and depending on their neighbours:
//!
//! - A hyphen (`-`, U+2010) or dash (U+2012, U+2013) is the minus sign U+2212 in front of a number or a currency (`-5`, `-.5`, `-$5`) and not after a letter or
//!   digit, and in `->`, `-=`, `<-`. So is a hyphen after a letter or digit that no word follows: `A-`.
//! - `!` counts in `!=` and `!~`; `~` beside `=` or `!`; both also in front of a letter, a digit, `(` or `/`, not after a letter or digit.
//! - `|` counts beside `|`, `<`, `=` or `>`, and where no white space is beside it.
//!
//! Adjacent signs are one sign. Two kinds are ornaments and do not count: `#`, `*`, `+`, `>`, `∙` and `⋅` in front of white space, if nothing that counts
//! precedes in the line, and the same sign four times or more. A line ends in a tab or a line break. Signs are no features.
//!
//! The **digest** (`fingerprinter.rs`) is the first 128 bits of BLAKE3 over the words of step 2 and the signs, each followed by a zero byte, and the
//! characters of the other runs as they are: what follows a zero byte or such a character shows which of the two it is. A text of signs alone
//! has none.
//!
//! Newer tables of Unicode or jieba can change sketches of texts with characters or words that are new in them. Tests pin sketches of known
//! texts; a change that makes one of them differ must raise the recipe's version.

mod accumulate;
mod bits;
mod features;
mod fingerprinter;
#[doc(hidden)]
pub mod java;
mod normalise;
mod recipe;
mod segment;
mod signs;

pub use accumulate::{Accumulator, Sums};
pub use bits::{Digest, Fingerprint, ParseBitsError, Signature, similarity};
pub(crate) use fingerprinter::Class;
pub use fingerprinter::{Feature, Fingerprinter, Sketch};
#[cfg(feature = "cli")]
pub(crate) use recipe::VERSION as RECIPE;
pub use recipe::{HashSeed, HashSeedChoice, Recipe, RecipeError, Segment};
