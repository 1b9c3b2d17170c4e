//! Which candidates are accepted as near duplicates.

use super::{Mode, Options, Step};
use crate::fingerprint::{Signature, Sketch};

/// What two texts must have in common to count as near duplicates: the rule of a [`Mode`] with the options that belong to it.
///
/// The fingerprints of near duplicates lie within the radius of the index. In the modes that confirm, their signatures lie within a
/// distance too. It measures the share of a text that is changed, whatever its length: one word of 60 is about 18 bits of 256, one of
/// 6,000 none. Only where a text is short, fewer bits are allowed: each change of a word there breaks a larger part of its shingles.
/// Texts of fewer than 24 features, some twelve words, are too short to be judged: they repeat another only if all features are equal.
///
/// ```
/// use pagesieve::{Fingerprinter, filter::{Options, Rule, Step}, fingerprint::Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::default());
/// let rule = Rule::new(&Options::default());
/// let [a, b] = ["The tide is high.", "the TIDE is high"].map(|text| fingerprinter.sketch(text));
/// assert_eq!(rule.judge(&a, &b), Some(Step::Text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    mode: Mode,
    radius: u32,
    min_features: u32,
}

/// Texts of fewer features than this, some twelve words, cannot be near duplicates: any change breaks a tenth of their shingles of five
/// words, and one in the middle more than half.
const TOO_SHORT: u32 = 24;
/// Texts of fewer features than this, some thirty words, are short.
const SHORT: u32 = 64;

impl Rule {
    /// The rule that these options make.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            mode: options.mode,
            radius: options.radius(),
            min_features: options.min_features.max(1),
        }
    }

    /// In how many bits of 64 the fingerprints of near duplicates may differ: the radius of the index.
    #[must_use]
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// In how many bits of 256 the signature of a text of so many features may differ from that of the text that it repeats.
    #[must_use]
    pub fn signature_radius(&self, features: u32) -> u32 {
        match self.mode {
            Mode::Classic => 256,
            Mode::Balanced | Mode::Strict if features < TOO_SHORT => 0,
            Mode::Balanced if features < SHORT => 23,
            Mode::Balanced => 26,
            Mode::Strict => 12,
        }
    }

    /// The signature of a text that is long enough to be compared by it; others are compared exactly.
    #[must_use]
    pub fn comparable(&self, sketch: &Sketch) -> Option<Signature> {
        (sketch.features >= self.min_features).then_some(sketch.signature)
    }

    /// Whether a text nearly repeats one of which the signature is given, if their fingerprints lie within the radius.
    #[must_use]
    pub fn confirms(&self, earlier: &Signature, sketch: &Sketch) -> bool {
        earlier.distance(&sketch.signature) <= self.signature_radius(sketch.features)
    }

    /// The step at which a text is found to repeat an earlier one; `None` if it does not.
    #[must_use]
    pub fn judge(&self, earlier: &Sketch, sketch: &Sketch) -> Option<Step> {
        if earlier.digest.is_some() && earlier.digest == sketch.digest {
            return Some(Step::Text);
        }
        let (a, b) = (self.comparable(earlier)?, self.comparable(sketch)?);
        let candidate = a.fingerprint().distance(b.fingerprint()) <= self.radius;
        (candidate && self.confirms(&a, sketch)).then_some(Step::Near)
    }
}
