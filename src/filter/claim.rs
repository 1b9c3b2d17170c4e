//! What a unique document shows to others that share its window, and whether it repeats one of theirs.
//!
//! Each of them has a window of its own, and finds the documents of the others by keys. A page that is compared comes with what was known of its
//! origin when it was judged: how common each of its features was there.

use super::{
    compare::{compare, is_thin},
    document::Document,
    rule::Rule,
    sketch::Sketch,
    template::Template,
    thresholds::Thresholds,
    verdict::{Kind, Match, Step},
};
use crate::{fingerprint::Digest, page::DocId};

/// At most this many passages of a document are keys by which others find it: those of its body text, if that is long.
const MOST_PASSAGES: usize = 12;

/// By what a document is compared with those of others.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) thresholds: &'a Thresholds,
    /// That of its origin.
    pub(crate) template: &'a Template,
    pub(crate) thin: bool,
}

/// A document that is claimed: it is unique in the window where it was judged, and may be for all.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) document: &'a Document,
    /// In order, none twice.
    pub(crate) keys: Vec<i64>,
    /// What is known of its origin: see [`Template::mask`].
    pub(crate) mask: Vec<u8>,
    ground: Ground<'a>,
    template: Template,
}

impl<'a> Claim<'a> {
    pub(crate) fn of(document: &'a Document, ground: Ground<'a>) -> Self {
        let sketch = &document.sketch;
        let mask = sketch.content.as_ref().map_or_else(Vec::new, |it| ground.template.mask(it));
        let template = template_of(sketch, &mask);
        Self { document, keys: keys(sketch, ground.thin), mask, ground, template }
    }

    /// How it repeats a document that another one has claimed, if it does. The match has no number.
    pub(crate) fn repeats(&self, other: &Sketch, mask: &[u8]) -> Option<Match> {
        let Ground { rule, thresholds, thin, .. } = self.ground;
        let pages = [(&self.document.sketch, &self.template), (other, &template_of(other, mask))];
        match_of(rule, thresholds, pages, || thin)
    }
}

impl Thresholds {
    /// How a document repeats another one, if it does: by the steps of the filter, apart from its window. Each comes with the template of its origin,
    /// the later one first. The match has no number.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::{Options, Rule, Step, Template, Thresholds}};
    ///
    /// let options = Options::default();
    /// let documents = Filter::new(&options)?.documents();
    /// let [a, b] = ["The tide is high.", "the TIDE is high!"].map(|text| documents.text("", text));
    /// let template = Template::default();
    /// let sides = [(b.sketch(), &template), (a.sketch(), &template)];
    /// let found = Thresholds::new(&options).repeats(&Rule::default(), sides);
    /// assert_eq!(found.map(|found| found.step), Some(Step::Text));
    /// # Ok::<(), pagesieve::OptionsError>(())
    /// ```
    #[must_use]
    pub fn repeats(&self, rule: &Rule, sides: [(&Sketch, &Template); 2]) -> Option<Match> {
        let (later, template) = sides[0];
        match_of(rule, self, sides, || is_thin(rule, later, template))
    }
}

fn match_of(
    rule: &Rule,
    thresholds: &Thresholds,
    sides: [(&Sketch, &Template); 2],
    is_thin: impl FnOnce() -> bool,
) -> Option<Match> {
    let [(mine, _), (other, _)] = sides;
    if mine.body.is_some() && mine.body == other.body {
        return Some(exact(Step::Body));
    }
    let are_pages = mine.is_page() && other.is_page();
    let compared = || compare(rule, sides[0], sides[1]);
    if mine.text.digest.is_some() && mine.text.digest == other.text.digest {
        let is_one_origin = mine.origin.is_some() && mine.origin == other.origin;
        // Extraction may have missed the content of both.
        if !(are_pages && is_one_origin) || compared().similarity >= rule.similarity {
            return Some(exact(Step::Text));
        }
    }
    let near = Match::near(DocId(0), [other.text.signature, mine.text.signature]);
    if are_pages {
        let found = compared();
        #[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1")]
        let similarity = found.similarity as f32;
        return (found.repeats(rule) && !is_thin()).then_some(Match { similarity, ..near });
    }
    let signature = thresholds.comparable(&other.text)?;
    thresholds.comparable(&mine.text)?;
    let is_near = near.distance <= thresholds.search_radius(mine.text.features)
        && thresholds.confirms(&signature, &mine.text);
    (is_near && !is_thin()).then_some(near)
}

fn exact(step: Step) -> Match {
    let kind = Kind::Exact;
    Match { of: DocId(0), kind, step, distance: 0, signature_distance: 0, similarity: 1.0 }
}

/// The keys of a document: its text, and passages unless it has hardly any content.
fn keys(sketch: &Sketch, thin: bool) -> Vec<i64> {
    let digest = sketch.text.digest.or(sketch.body);
    let of_digest = digest.map(|Digest(bytes)| {
        let (first, _) = bytes.split_first_chunk().expect("a digest has 16 bytes");
        u64::from_le_bytes(*first)
    });
    let passages = if thin { &[] } else { sketch.keys() };
    let all = passages.iter().copied().take(MOST_PASSAGES).chain(of_digest);
    let mut keys: Vec<i64> = all.map(u64::cast_signed).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn template_of(sketch: &Sketch, mask: &[u8]) -> Template {
    let content = sketch.content.as_ref();
    content.map_or_else(Template::default, |content| Template::of_mask(content, mask))
}
