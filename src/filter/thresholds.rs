//! Which candidates are accepted as near duplicates by their signatures: those of texts. Pages that are compared by their articles have the
//! rules of `article/compare.rs` instead.

use super::{
    options::{Mode, Options},
    templates::Share,
    verdict::Step,
};
use crate::fingerprint::{Signature, Sketch};

/// What two texts must have in common to count as near duplicates: the rule of a [`Mode`] with the options that belong to it. Two HTML pages
/// are compared by their articles instead, in mode `balanced` and unless [`Options::article`] is off.
///
/// The fingerprints of near duplicates lie within the radius of the index. In the modes that confirm, their signatures lie within a
/// distance too. It measures the share of a text that is changed, whatever its length: one word of 60 is about 18 bits of 256, one of
/// 6,000 none. Only where a text is short, fewer bits are allowed: each change of a word there breaks a larger part of its shingles.
/// Texts of fewer than 24 features, some twelve words, are too short to be judged: they repeat another only if all features are equal.
///
/// Two texts of one origin that consist of its template to the share `t`, and whose own parts have the cosine `c`, have the cosine
/// `t + c·(1 - t)` together: the larger the template, the less a signature shows of the own part. So the limit is lower: as many bits as
/// differ if the own parts differ as much as texts of their length may. If the own part is too short to be judged, the template is ignored.
/// [`Filter`](super::Filter) learns the template.
///
/// ```
/// use pagesieve::{Fingerprinter, filter::{Options, Step, Thresholds}, fingerprint::Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::default());
/// let thresholds = Thresholds::new(&Options::default());
/// let [a, b] = ["The tide is high.", "the TIDE is high"].map(|text| fingerprinter.sketch(text));
/// assert_eq!(thresholds.judge(&a, &b), Some(Step::Text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    mode: Mode,
    radius: u32,
    min_features: u32,
}

/// Texts of fewer features than this, some twelve words, are near duplicates only of texts with the same signature: any change breaks a
/// tenth of their shingles of five words, and one in the middle more than half.
const TOO_SHORT: u32 = 24;
/// Texts of fewer features than this, some thirty words, are short.
const SHORT: u32 = 64;
/// The bits of 256 in which signatures may differ in mode `balanced`, there for short texts, and in mode `strict`. [`Mode`] has the bits of 64
/// in which fingerprints may differ. docs/decision.md derives both.
const BALANCED: u32 = 26;
const BALANCED_SHORT: u32 = 23;
const STRICT: u32 = 12;

impl Thresholds {
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

    /// The radius in which the index is searched for near duplicates of a text with this many features: a fingerprint is the beginning of
    /// a signature, so it differs in no more bits.
    #[must_use]
    pub fn search_radius(&self, features: u32) -> u32 {
        self.radius.min(self.signature_radius(features))
    }

    /// Whether not only fingerprints must be near, but signatures too.
    #[must_use]
    pub fn confirms_by_signature(&self) -> bool {
        self.mode != Mode::Classic
    }

    /// The number of bits, of 256, in which the signature of a text with this many features may differ from its match's.
    #[must_use]
    pub fn signature_radius(&self, features: u32) -> u32 {
        match self.mode {
            Mode::Classic => 256,
            Mode::Balanced | Mode::Strict if features < TOO_SHORT => 0,
            Mode::Balanced if features < SHORT => BALANCED_SHORT,
            Mode::Balanced => BALANCED,
            Mode::Strict => STRICT,
        }
    }

    /// The number of bits in which the signatures of two texts from one origin may differ, if its template is this share of the text. Never
    /// more than [`signature_radius`](Self::signature_radius).
    ///
    /// ```
    /// use pagesieve::filter::{Options, Share, Thresholds};
    ///
    /// let thresholds = Thresholds::new(&Options::default());
    /// let bits = [0, 50, 75, 90].map(|percent| thresholds.signature_radius_within(1000, Share::of(percent, 100)));
    /// assert_eq!(bits, [26, 18, 12, 8]);
    /// ```
    #[must_use]
    pub fn signature_radius_within(&self, features: u32, template: Share) -> u32 {
        let most = self.signature_radius(features);
        let percent = template.percent();
        let own = u64::from(features) * u64::from(100 - percent) / 100;
        let own = u32::try_from(own).unwrap_or(u32::MAX);
        if percent == 0 || own < TOO_SHORT || self.mode == Mode::Classic {
            return most;
        }
        distance_with_template(self.signature_radius(own), percent).min(most)
    }

    /// The number of bits in which the signatures of two texts may differ if all but this share of them, in per cent, may be anything.
    pub(super) fn signature_radius_with_changes(&self, features: u32, common: u32) -> u32 {
        let most = self.signature_radius(features);
        distance_with_changes(most, common).max(most)
    }

    /// The signature of a text that is long enough to be compared by it; others are compared exactly.
    #[must_use]
    pub fn comparable(&self, sketch: &Sketch) -> Option<Signature> {
        (sketch.features >= self.min_features).then_some(sketch.signature)
    }

    /// Whether a text nearly repeats an earlier one with this signature, given that their fingerprints lie within the radius. `template` is the
    /// share of the text that is its origin's template, if both are from one origin.
    #[must_use]
    pub fn confirms(&self, earlier: &Signature, sketch: &Sketch, template: Share) -> bool {
        let most = self.signature_radius_within(sketch.features, template);
        earlier.distance(&sketch.signature) <= most
    }

    /// The step at which a text is found to repeat an earlier one; `None` if it does not.
    #[must_use]
    pub fn judge(&self, earlier: &Sketch, sketch: &Sketch) -> Option<Step> {
        if earlier.digest.is_some() && earlier.digest == sketch.digest {
            return Some(Step::Text);
        }
        let (a, b) = (self.comparable(earlier)?, self.comparable(sketch)?);
        let candidate = a.fingerprint().distance(b.fingerprint()) <= self.radius;
        (candidate && self.confirms(&a, sketch, Share::NONE)).then_some(Step::Near)
    }
}

/// The expected distance between the signatures of two texts that have this percentage in common, if the signatures of their other parts
/// differ in `bits`.
fn distance_with_template(bits: u32, percent: u32) -> u32 {
    let share = f64::from(percent) / 100.0;
    distance(share + cosine(bits) * (1.0 - share))
}

/// The same if only this percentage of what would be common without changes is, and the signatures would differ in `bits` without them.
fn distance_with_changes(bits: u32, percent: u32) -> u32 {
    distance(cosine(bits) * f64::from(percent) / 100.0)
}

/// The cosine of two texts whose signatures differ in so many bits.
fn cosine(bits: u32) -> f64 {
    (f64::from(bits) * std::f64::consts::PI / 256.0).cos()
}

/// The bits in which the signatures of two texts with this cosine differ, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is from 0 to 256"
)]
fn distance(cosine: f64) -> u32 {
    (cosine.min(1.0).acos() * 256.0 / std::f64::consts::PI) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cosines differ between machines in the last digits.
    #[test]
    fn no_bound_hangs_on_the_last_digit_of_a_cosine() {
        for bits in [12, 23, 26] {
            for percent in 1..100 {
                let share = f64::from(percent) / 100.0;
                for cosine in [share + cosine(bits) * (1.0 - share), cosine(bits) * share] {
                    let exact = cosine.acos() * 256.0 / std::f64::consts::PI;
                    assert!(
                        (exact - exact.round()).abs() > 1e-6,
                        "{bits} bits, {percent} per cent"
                    );
                }
            }
        }
    }

    #[test]
    fn a_template_never_allows_more() {
        for mode in [Mode::Balanced, Mode::Classic, Mode::Strict] {
            let thresholds = Thresholds::new(&Options { mode, ..Options::default() });
            for features in (0..200).chain([1000, u32::MAX]) {
                let bounds: Vec<_> = (0..=100)
                    .map(|percent| {
                        thresholds.signature_radius_within(features, Share::of(percent, 100))
                    })
                    .collect();
                let plain = thresholds.signature_radius(features);
                assert_eq!((bounds[0], bounds[100]), (plain, plain));
                assert!(bounds.iter().all(|&bound| bound <= plain));
                let judged =
                    (0..100).take_while(|percent| features as usize * (100 - percent) / 100 >= 24);
                let judged: Vec<_> = judged.map(|percent| bounds[percent]).collect();
                assert!(judged.is_sorted_by(|a, b| a >= b), "{mode:?}, {features}: {judged:?}");
            }
        }
    }
}
