//! Which candidates are accepted as near duplicates by their signatures: those of texts. Pages are compared by `compare.rs` instead.

use super::{
    compare::{Comparison, compare, is_thin},
    options::{BALANCED, Mode, Options},
    rule::{Rule, Similarity},
    sketch::Sketch,
    template::Template,
    verdict::{Match, Step},
};
use crate::{
    fingerprint::{Signature, Sketch as TextSketch},
    page::DocId,
};

/// What two texts must have in common to count as near duplicates: the rule of a [`Mode`] with the options that belong to it. Two HTML pages
/// are compared by their content instead ([`Rule`](super::Rule)), in mode `balanced` and unless [`Options::article`] is off.
///
/// The fingerprints of near duplicates lie within the radius of the index. In the modes that confirm, their signatures lie within a
/// distance too. It measures the share of a text that is changed, whatever its length: one word of 60 is about 18 bits of 256, one of
/// 6,000 none. Only where a text is short, fewer bits are allowed: each change of a word there breaks a larger part of its shingles.
/// Texts of fewer than 24 features, some twelve words, are too short to be judged: they repeat another only if all features are equal.
///
/// ```
/// use pagesieve::{Fingerprinter, filter::{Options, Step, Thresholds}, fingerprint::Recipe};
///
/// let fingerprinter = Fingerprinter::new(Recipe::default());
/// let thresholds = Thresholds::new(&Options::default());
/// let [a, b] = ["The tide is high.", "the TIDE is high"].map(|text| fingerprinter.sketch(text));
/// assert_eq!(thresholds.judge(&a, &b), Some(Step::Text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// By which pages are compared.
    pub(super) rule: Rule,
    mode: Mode,
    radius: u32,
    /// The bits in which the signatures of texts may differ that are not short, in mode `balanced`.
    most: u32,
    min_features: u32,
}

/// Texts of fewer features than this, some twelve words, are near duplicates only of texts with the same signature: any change breaks a
/// tenth of their shingles of five words, and one in the middle more than half.
const TOO_SHORT: u32 = 24;
/// Texts of fewer features than this, some thirty words, are short.
const SHORT: u32 = 64;
/// The bits of 256 in which signatures may differ for short texts in mode `balanced`, which has [`BALANCED`] for others, and in mode `strict`. [`Mode`] has the bits of 64
/// in which fingerprints may differ. docs/decision.md derives both.
const BALANCED_SHORT: u32 = 23;
const STRICT: u32 = 12;

impl Thresholds {
    /// The rule that these options make.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            rule: options.rule,
            mode: options.mode,
            radius: options.radius(),
            most: options.similarity.map_or(BALANCED, Similarity::signature_bits),
            min_features: options.min_features.max(1),
        }
    }

    /// In how many bits of 64 the fingerprints of near duplicates may differ: the radius of the index.
    #[must_use]
    pub fn radius(&self) -> u32 {
        self.radius
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
            Mode::Balanced if features < SHORT => self.most * BALANCED_SHORT / BALANCED,
            Mode::Balanced => self.most,
            Mode::Strict => STRICT,
        }
    }

    /// The signature of a text that is long enough to be compared by it; others are compared exactly.
    #[must_use]
    pub fn comparable(&self, sketch: &TextSketch) -> Option<Signature> {
        (sketch.features >= self.min_features).then_some(sketch.signature)
    }

    /// Whether a text nearly repeats an earlier one with this signature, given that their fingerprints lie within the radius.
    #[must_use]
    pub fn confirms(&self, earlier: &Signature, sketch: &TextSketch) -> bool {
        earlier.distance(&sketch.signature) <= self.signature_radius(sketch.features)
    }

    /// The step at which a text is found to repeat an earlier one; `None` if it does not.
    #[must_use]
    pub fn judge(&self, earlier: &TextSketch, sketch: &TextSketch) -> Option<Step> {
        if earlier.digest.is_some() && earlier.digest == sketch.digest {
            return Some(Step::Text);
        }
        let (a, b) = (self.comparable(earlier)?, self.comparable(sketch)?);
        let candidate = a.fingerprint().distance(b.fingerprint()) <= self.radius;
        (candidate && self.confirms(&a, sketch)).then_some(Step::Near)
    }

    /// How a document repeats another one, if it does: by the steps of the filter, apart from its window. Each comes with the template of its origin,
    /// the later one first. The match has no number.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::{Options, Step, Template, Thresholds}};
    ///
    /// let options = Options::default();
    /// let documents = Filter::new(&options)?.documents();
    /// let [a, b] = ["The tide is high.", "the TIDE is high!"].map(|text| documents.text("", text));
    /// let template = Template::default();
    /// let sides = [(b.sketch(), &template), (a.sketch(), &template)];
    /// let found = Thresholds::new(&options).repeats(sides);
    /// assert_eq!(found.map(|found| found.step), Some(Step::Text));
    /// # Ok::<(), pagesieve::OptionsError>(())
    /// ```
    #[must_use]
    pub fn repeats(&self, sides: [(&Sketch, &Template); 2]) -> Option<Match> {
        let ([(later, template), (earlier, _)], rule) = (sides, &self.rule);
        if later.body.is_some() && later.body == earlier.body {
            return Some(Match::exact(DocId(0), Step::Body));
        }
        let are_pages = later.is_page() && earlier.is_page();
        let found = are_pages.then(|| compare(rule, sides[0], sides[1]));
        let step = self.judge(&earlier.text, &later.text);
        // Extraction may have missed the content of both pages.
        let is_same = |it: Comparison| !it.is_one_origin || it.similarity >= rule.similarity;
        if step == Some(Step::Text) && found.is_none_or(is_same) {
            return Some(Match::exact(DocId(0), Step::Text));
        }
        let signatures = [earlier.text.signature, later.text.signature];
        let is_near = found.map_or(step.is_some(), |found| found.repeats(rule));
        let near = is_near.then(|| Match::near(DocId(0), signatures, found.as_ref()));
        near.filter(|_| !is_thin(rule, later, template))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_is_the_bits_that_estimate_it() {
        let bits = |similarity: f64| {
            let similarity = Some(Similarity::try_from(similarity).unwrap());
            let options = Options { similarity, ..Options::default() };
            let thresholds = Thresholds::new(&options);
            (thresholds.radius(), thresholds.signature_radius(1000))
        };
        assert_eq!(bits(0.95), (9, 26), "that of the mode");
        assert_eq!([bits(1.0), bits(0.99), bits(0.9)], [(0, 0), (5, 12), (11, 37)]);
        assert_eq!([bits(0.86), bits(0.5)], [(11, 4 * 11); 2], "the index searches no further");
    }
}
