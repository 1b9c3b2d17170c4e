//! What a fingerprint depends on besides the text.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::seed::HashSeed;

/// The version of the recipe that the documentation of this module writes down.
const VERSION: u32 = 2;

/// How Chinese characters are cut: the key `dedup.segment`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// Into words, by the dictionary of jieba (loaded at the first Chinese characters: 0.2 s, 22 MB), and these into characters and pairs of them.
    #[default]
    Jieba,
    /// Into characters alone; several times faster.
    Ngrams,
}

/// How texts become fingerprints. Only fingerprints of one recipe can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// How Chinese characters are cut.
    pub segment: Segment,
    /// Whether traditional Chinese characters count as simplified ones.
    pub fold_chinese: bool,
    /// What the hashes depend on.
    pub hash_seed: HashSeed,
}

/// A recipe that this build cannot follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The dictionary of jieba is not compiled in.
    #[error(
        "`segment = \"jieba\"` needs the Cargo feature `jieba`: build with it, or set `segment = \"ngrams\"`"
    )]
    NoJieba,
}

impl Recipe {
    /// Checks that this build can follow the recipe.
    ///
    /// # Errors
    /// If it needs a Cargo feature that this build does not have.
    pub fn check(&self) -> Result<(), RecipeError> {
        if self.segment == Segment::Jieba && cfg!(not(feature = "jieba")) {
            return Err(RecipeError::NoJieba);
        }
        Ok(())
    }

    /// What is stored beside the seed's id with fingerprints made by this recipe.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        Scheme { version: VERSION, segment: self.segment, fold_chinese: self.fold_chinese }
    }
}

impl Default for Recipe {
    /// Words by jieba, folded Chinese, the public seed.
    fn default() -> Self {
        Self { segment: Segment::Jieba, fold_chinese: true, hash_seed: HashSeed::PUBLIC }
    }
}

/// The version of the recipe and the options that alter fingerprints. Written as `2:jieba:fold`, or `2:ngrams:keep` when
/// traditional characters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    version: u32,
    segment: Segment,
    fold_chinese: bool,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segment = match self.segment {
            Segment::Jieba => "jieba",
            Segment::Ngrams => "ngrams",
        };
        let chinese = if self.fold_chinese { "fold" } else { "keep" };
        write!(f, "{}:{segment}:{chinese}", self.version)
    }
}
