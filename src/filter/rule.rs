//! The numbers of the measure by which pages are compared, in one table.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// The numbers of the measure. Weights are in words. `cargo bench --bench measure -- fit` fits them, and prints how much each matters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rule {
    /// From this similarity on one page repeats the other.
    pub similarity: f64,
    /// What two pages must share at least.
    pub shared: f64,
    /// The weight of a character of a script without spaces.
    pub character: f64,
    /// The weight of a word in a block of links.
    pub link: f64,
    /// The weight of a word of prose around the body text.
    pub around: f64,
    /// The weight of a target that only one of the pages links to.
    pub target: f64,
    /// The weight of one title: all words of one are in the other.
    pub title: f64,
    /// The words that a title must have in common with another one to be one with it.
    pub title_words: f64,
    /// What two titles count as apart.
    pub title_apart: f64,
    /// What a block that `d` of `n` other pages of the site have weighs: `(1 - d / (n + site))^fade`.
    pub site: f64,
    /// The exponent of that.
    pub fade: i32,
    /// How many times more what only one has matters if the titles differ.
    pub other_title: f64,
    /// How much what only one has matters across origins.
    pub across: f64,
    /// Across origins, the tokens of a run that counts.
    pub run: usize,
    /// The share of what is common that the element of the article holds.
    pub enclosing: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            similarity: 0.68,
            shared: 8.0,
            character: 0.6,
            link: 0.2,
            around: 0.1,
            target: 10.0,
            title: 30.0,
            title_words: 3.0,
            title_apart: 2.0,
            site: 4.0,
            fade: 8,
            other_title: 6.0,
            across: 0.47,
            run: 12,
            enclosing: 0.75,
        }
    }
}

/// How similar two pages must be to count as one: above 0 and at most 1, and nothing else.
///
/// ```
/// use pagesieve::filter::Similarity;
///
/// assert_eq!(Similarity::try_from(0.9).map(Similarity::get), Ok(0.9));
/// assert!(Similarity::try_from(90.0).unwrap_err().to_string().starts_with("similarity 90 is out of range"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Similarity(f64);

/// A similarity that no two pages have, or that all have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("similarity {0} is out of range: write a number above 0 and at most 1, such as 0.9")]
#[non_exhaustive]
pub struct SimilarityError(pub f64);

/// It is a number.
impl Eq for Similarity {}

impl Similarity {
    /// From 0 to 1.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Texts are compared by this similarity at least. The fingerprint is a quarter of the signature, and the index searches up to 11 bits of it: of
    /// texts that differ in more than 44 bits of 256 it would find less than half.
    pub const LEAST_OF_TEXTS: f64 = 0.86;

    /// The number of bits, of 256, in which the signatures of texts differ whose similarity, the cosine of their features, is this.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 0 to 44"
    )]
    pub(super) fn signature_bits(self) -> u32 {
        (self.0.max(Self::LEAST_OF_TEXTS).acos() * 256.0 / PI).round() as u32
    }
}

impl Default for Similarity {
    fn default() -> Self {
        Self(Rule::default().similarity)
    }
}

impl TryFrom<f64> for Similarity {
    type Error = SimilarityError;

    fn try_from(similarity: f64) -> Result<Self, SimilarityError> {
        let is_one = similarity > 0.0 && similarity <= 1.0;
        is_one.then_some(Self(similarity)).ok_or(SimilarityError(similarity))
    }
}
