//! Turns a text into 256 signs (SimHash) of which the first 64 are the indexed fingerprint.
//!
//! Segment, hash, weigh, add, take signs: Charikar, *Similarity Estimation Techniques from Rounding Algorithms* (STOC 2002);
//! Manku, Jain, Das Sarma, *Detecting Near-Duplicates for Web Crawling* (WWW 2007). Knows nothing of HTML or of windows.

mod bits;

pub use bits::{Digest, Fingerprint, ParseBitsError, Signature};

/// What judgement needs to know of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The signs of the weighted sums.
    pub signature: Signature,
    /// How many distinct features the text has; 0 for a text without words.
    pub features: u32,
    /// Digest of the normalised tokens (words; single characters where a script has no spaces); `None` for a text without any.
    pub digest: Option<Digest>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedChoice {
    #[default]
    Secret,
}
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Segment {
    #[default]
    Jieba,
}
pub use bits::similarity;
use serde::*;
#[derive(Debug)]
/// x
pub struct Fingerprinter;
impl Fingerprinter {
    /// x
    pub fn sketch(&self, _t: &str) -> Sketch {
        unimplemented!()
    }
}
/// x
#[derive(Debug, Clone, Copy)]
pub struct Seed(pub u64);
/// x
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// x
    pub segment: Segment,
    /// x
    pub fold_chinese: bool,
    /// x
    pub seed: Seed,
}
impl PartialEq for Seed {
    fn eq(&self, o: &Self) -> bool {
        self.0 == o.0
    }
}
impl Seed {
    /// x
    pub fn id(self) -> String {
        String::new()
    }
}
impl SeedChoice {
    /// x
    pub fn seed(self) -> Option<Seed> {
        None
    }
}
impl Recipe {
    /// x
    pub fn scheme(&self) -> String {
        String::new()
    }
}
impl Fingerprinter {
    /// x
    pub fn new(_: Recipe) -> Self {
        Self
    }
}
