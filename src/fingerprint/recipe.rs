//! What a fingerprint depends on besides the text: segmentation, folding of Chinese, the seed of the hashes.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    num::ParseIntError,
};

use serde::{Deserialize, Serialize};

/// The version of the recipe that the documentation of [`super`] specifies.
pub(crate) const VERSION: u32 = 3;

/// How Chinese text is segmented: the key `dedup.segment`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// Into words, by the dictionary of jieba (loaded on the first Chinese text: 0.2 s, 22 MB), and these into characters and pairs of them.
    #[default]
    Jieba,
    /// Into single characters; several times faster.
    Ngrams,
}

/// How texts become fingerprints. Only fingerprints of the same recipe can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// How Chinese text is segmented.
    pub segment: Segment,
    /// Whether traditional Chinese characters count as the simplified ones.
    pub fold_chinese: bool,
    /// The seed of the hashes.
    pub hash_seed: HashSeed,
}

/// This build cannot follow the recipe, because the dictionary of jieba is not compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`segment = \"jieba\"` needs the Cargo feature `jieba`: build with it, or set `segment = \"ngrams\"`"
)]
#[non_exhaustive]
pub struct RecipeError;

impl Recipe {
    /// Checks that this build can follow the recipe.
    ///
    /// # Errors
    /// If it needs a Cargo feature that this build does not have.
    pub fn check(&self) -> Result<(), RecipeError> {
        let is_missing = self.segment == Segment::Jieba && cfg!(not(feature = "jieba"));
        if is_missing { Err(RecipeError) } else { Ok(()) }
    }

    /// The version of the recipe and the options that change fingerprints: `3:jieba:fold`, or `3:ngrams:keep` if traditional
    /// characters are kept. Stored with fingerprints.
    #[must_use]
    pub fn scheme(&self) -> String {
        let segment = match self.segment {
            Segment::Jieba => "jieba",
            Segment::Ngrams => "ngrams",
        };
        let chinese = if self.fold_chinese { "fold" } else { "keep" };
        format!("{VERSION}:{segment}:{chinese}")
    }
}

impl Default for Recipe {
    /// Words by jieba, folded Chinese, the public seed.
    fn default() -> Self {
        Self { segment: Segment::Jieba, fold_chinese: true, hash_seed: HashSeed::PUBLIC }
    }
}

/// The seed of the hash of features, which makes fingerprints of texts. Anyone who knows it can forge texts with a chosen fingerprint, so it is never printed.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct HashSeed(pub u64);

/// A seed as a configuration has it: numbers of TOML end at 2^63.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Digits(String),
}

impl From<HashSeed> for Written {
    fn from(HashSeed(seed): HashSeed) -> Self {
        if i64::try_from(seed).is_ok() {
            Self::Number(seed)
        } else {
            Self::Digits(seed.to_string())
        }
    }
}

impl TryFrom<Written> for HashSeed {
    type Error = ParseIntError;

    fn try_from(written: Written) -> Result<Self, ParseIntError> {
        Ok(Self(match written {
            Written::Number(seed) => seed,
            Written::Digits(digits) => digits.parse()?,
        }))
    }
}

impl HashSeed {
    /// The seed of `dedup.seed = "public"`: everybody gets the same fingerprints. (The letters `pagesiev`.)
    pub const PUBLIC: Self = Self(0x7061_6765_7369_6576);

    /// A seed that nobody can guess, from the randomness of the system.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// Eight hexadecimal digits that identify the seed without revealing it.
    #[must_use]
    pub fn id(self) -> String {
        let hash = blake3::derive_key("pagesieve 2025 seed id", &self.0.to_le_bytes());
        format!("{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3])
    }
}

/// Prints the seed's id, never its value.
impl fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashSeed(id {})", self.id())
    }
}

/// The key `dedup.seed`: `"secret"`, `"public"` or a number of 0 or more, from 2^63 on in quotes. Serialised as a configuration spells it, the
/// number of a fixed seed included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(
    rename_all = "lowercase",
    expecting = r#"expected "secret", "public" or a number of 0 or more"#
)]
pub enum HashSeedChoice {
    /// Drawn at random when a crawl begins, and kept in its state, unless the runs of `dedup.against` have one. Other commands use
    /// [`HashSeed::PUBLIC`].
    #[default]
    Secret,
    /// [`HashSeed::PUBLIC`].
    Public,
    /// The given seed.
    #[serde(untagged)]
    Fixed(HashSeed),
}

impl HashSeedChoice {
    /// The seed, unless the caller draws it.
    #[must_use]
    pub fn seed(self) -> Option<HashSeed> {
        match self {
            Self::Secret => None,
            Self::Public => Some(HashSeed::PUBLIC),
            Self::Fixed(seed) => Some(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_never_printed() {
        let seed = HashSeed(1_234_567);
        let choice = HashSeedChoice::Fixed(seed);
        for text in [
            format!("{seed:?}"),
            format!("{choice:?}"),
            format!("{:?}", Recipe { hash_seed: seed, ..Recipe::default() }),
            seed.id(),
        ] {
            assert!(!text.contains("1234567") && !text.contains("12d687"), "{text}");
        }
        assert_eq!(HashSeed::PUBLIC.id(), "d57e26c0");
        assert_ne!(HashSeed(0).id(), HashSeed(1).id());
    }

    #[test]
    fn a_seed_is_secret_public_or_a_number() {
        let parse = |text: &str| serde_json::from_str::<HashSeedChoice>(text);
        assert_eq!(parse(r#""secret""#).unwrap().seed(), None);
        assert_eq!(parse(r#""public""#).unwrap().seed(), Some(HashSeed::PUBLIC));
        assert_eq!(parse("7").unwrap().seed(), Some(HashSeed(7)));
        assert!(
            parse("-1")
                .unwrap_err()
                .to_string()
                .contains(r#"expected "secret", "public" or a number of 0 or more"#)
        );
        assert!(parse(r#""hidden""#).is_err());
        for choice in [
            HashSeedChoice::Secret,
            HashSeedChoice::Public,
            HashSeedChoice::Fixed(HashSeed(u64::MAX)),
        ] {
            assert_eq!(parse(&serde_json::to_string(&choice).unwrap()).unwrap(), choice);
        }
    }

    #[test]
    fn a_seed_that_no_number_of_toml_holds_is_written_as_text() {
        let written = |seed| serde_json::to_string(&HashSeedChoice::Fixed(HashSeed(seed))).unwrap();
        assert_eq!(written(i64::MAX.unsigned_abs()), "9223372036854775807");
        assert_eq!(written(u64::MAX), r#""18446744073709551615""#);
    }

    #[test]
    fn a_scheme_names_what_changes_fingerprints() {
        let scheme = |segment, fold_chinese| {
            Recipe { segment, fold_chinese, hash_seed: HashSeed(9) }.scheme()
        };
        assert_eq!(scheme(Segment::Jieba, true), "3:jieba:fold");
        assert_eq!(scheme(Segment::Ngrams, false), "3:ngrams:keep");
    }
}
