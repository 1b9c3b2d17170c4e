//! Compares two pages: what both have, what only one of them has, and whether one repeats the other.
//!
//! Each token (a word, a number, a sign, a character) has a weight: by where it stands, and by how common its block is on its site. `S` is the
//! weight that both pages have, `U` the weight that only one of them has. The similarity is `S / (S + c·U)`; one page repeats the other if it
//! is at least [`Rule::similarity`] and `S` is enough evidence. [`Rule`] has all numbers.
//!
//! - *Pages of one origin* share their template, so all that they show counts: the body text, less so its blocks of links and the prose around
//!   it; and where the links of the body text lead, because in a list these are the content.
//! - *Pages of two origins* share next to nothing but articles. What they share counts in long runs, and most of it must be in the body text of
//!   one of them. The article of each is its body text, or the smallest element that holds what is shared, whichever has less of its own:
//!   extraction may have found too much or missed it.
//! - `c` says how much it matters what only one has: less across origins, where each page has a template of its own; more if the titles differ.
//!
//! The comparison is symmetric, and depends on nothing but the two sketches, the templates of their origins and the rule.

use std::ops::Range;

use foldhash::{HashSet, HashSetExt};
use serde::{Deserialize, Serialize};

use super::{
    rule::Rule,
    sketch::{
        Block, Content, Feature, OriginKey, PASSAGE, Place, Sketch, Tail, Token, feature_of_target,
        feature_of_title, sampled,
    },
    template::{Frequencies, Template, number},
};
use crate::fingerprint::similarity;

/// What two pages have in common and apart. Weights are in words; of two figures, the later page's comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// From 0 to 1: `S / (S + factor · U)`, where `S` is `shared` and `title`, and `U` is `unshared` of both and what two titles count.
    pub similarity: f64,
    /// What both have.
    pub shared: f64,
    /// What only one of them has.
    pub unshared: [f64; 2],
    /// How much it matters what only one has.
    pub factor: f64,
    /// What both have of one title, which counts as shared.
    pub title: f64,
    /// From 0 to 1: whether the titles are two. The title of each has a word that the other lacks, or one has hardly any of the other's words.
    pub other_title: f64,
    /// The targets that only one of them links to.
    pub targets: [f64; 2],
    /// Whether they are of one origin.
    pub is_one_origin: bool,
}

impl Comparison {
    /// Whether one of the pages repeats the other.
    #[must_use]
    pub fn repeats(&self, rule: &Rule) -> bool {
        self.similarity >= rule.similarity && self.shared >= rule.shared
    }
}

/// Compares two documents, each given with the template of its origin; the later one comes first. Two pages are compared by what they show, texts by
/// their signatures.
///
/// ```
/// use pagesieve::{Filter, filter::{Options, Rule, Template, compare}};
///
/// let documents = Filter::new(&Options::default())?.documents();
/// let [a, b] = ["The tide is high.", "the TIDE is high!"].map(|text| documents.text("", text));
/// let template = Template::default();
/// let found = compare(&Rule::default(), (b.sketch(), &template), (a.sketch(), &template));
/// assert_eq!(found.similarity, 1.0);
/// # Ok::<(), pagesieve::OptionsError>(())
/// ```
#[must_use]
pub fn compare(
    rule: &Rule,
    later: (&Sketch, &Template),
    earlier: (&Sketch, &Template),
) -> Comparison {
    let sides = [later, earlier].map(|(sketch, template)| Side::of(rule, sketch, template));
    if let [Some(later), Some(earlier)] = &sides {
        return later.compare(rule, earlier);
    }
    let is_one_origin = are_one([later.0.origin, earlier.0.origin]);
    let [one, other] = [&later.0.text, &earlier.0.text];
    let are_equal = one.digest.is_some() && one.digest == other.digest;
    let distance = one.signature.distance(&other.signature);
    let similarity = if are_equal { 1.0 } else { f64::from(similarity(distance)) };
    Comparison { similarity, is_one_origin, ..Comparison::default() }
}

/// Whether two origins are known, and one.
fn are_one([one, other]: [Option<OriginKey>; 2]) -> bool {
    one.is_some() && one == other
}

/// A page whose own content weighs less is thin: fewer than three words.
const THIN: f64 = 3.0;

/// Whether a document has hardly any content of its own, as far as is known of its origin.
pub(super) fn is_thin(rule: &Rule, sketch: &Sketch, template: &Template) -> bool {
    let side = Side::of(rule, sketch, template);
    side.map_or(sketch.text.features == 0, |side| side.is_thin(rule))
}

/// A page that is compared: what is looked up in it, made once.
#[derive(Clone, Debug)]
pub(super) struct Side<'a> {
    content: &'a Content,
    pub(super) origin: Option<OriginKey>,
    /// That of its origin.
    template: &'a Template,
    ranges: Vec<Range<usize>>,
    /// The passage from each token on.
    passages: Vec<u64>,
    has: HashSet<u64>,
    /// The features of its blocks, in page order.
    features: Vec<Feature>,
    /// All features of the page, sorted.
    all: Vec<Feature>,
    /// The weight of each token, apart from where it stands and how common its block is: repeated passages count once.
    weights: Vec<f64>,
}

impl<'a> Side<'a> {
    /// A document, if it is a page.
    fn of(rule: &Rule, sketch: &'a Sketch, template: &'a Template) -> Option<Self> {
        Some(Self::new(rule, sketch.content.as_ref()?, sketch.origin, template))
    }

    pub(super) fn new(
        rule: &Rule,
        content: &'a Content,
        origin: Option<OriginKey>,
        template: &'a Template,
    ) -> Self {
        let passages: Vec<u64> = content.passages().collect();
        let mut has = HashSet::with_capacity(passages.len());
        let weight = |token: &Token| if token.is_character() { rule.character } else { 1.0 };
        let mut weights: Vec<f64> = content.tokens.iter().map(weight).collect();
        // The end of the last passage that the page did not have before.
        let mut end = if passages.is_empty() { weights.len() } else { 0 };
        for (start, &passage) in passages.iter().enumerate() {
            if has.insert(passage) {
                end = start + PASSAGE;
            } else if start >= end {
                weights[start] = 0.0;
            }
        }
        let after = end.max(passages.len());
        weights[after..].fill(0.0);
        let ranges = content.ranges().collect();
        let features: Vec<Feature> = content.block_features().collect();
        let all = content.features(features.iter().copied());
        Self { content, origin, template, ranges, passages, has, features, all, weights }
    }

    /// Compares it with an earlier page.
    pub(super) fn compare(&self, rule: &Rule, earlier: &Self) -> Comparison {
        let is_one_origin = are_one([self.origin, earlier.origin]);
        let views = View::of(rule, [self, earlier]);
        let titles = Titles::of(rule, &views);
        let [one, other] = if is_one_origin {
            views.each_ref().map(|view| view.on_one_origin(rule))
        } else {
            let shares = views.each_ref().map(|view| view.on_two_origins(rule, titles.one));
            let is_article = shares.iter().any(|it| it.is_in_body);
            shares.map(|it| if is_article { it } else { Share { shared: 0.0, ..it } })
        };
        let targets = if is_one_origin { views.map(|view| view.targets(rule)) } else { [0.0; 2] };
        let unshared =
            [one.unshared + rule.target * targets[0], other.unshared + rule.target * targets[1]];
        let shared = one.shared.max(other.shared);
        // A title alone is no content.
        let title = (rule.title * titles.one).min(shared);
        let factor = if is_one_origin { 1.0 } else { rule.across }
            * (1.0 + (rule.other_title - 1.0) * titles.other);
        let apart = unshared[0] + unshared[1] + rule.title_apart * titles.other;
        let both = shared + title;
        let similarity = if both > 0.0 { both / (both + factor * apart) } else { 0.0 };
        let other_title = titles.other;
        Comparison {
            similarity,
            shared,
            unshared,
            factor,
            title,
            other_title,
            targets,
            is_one_origin,
        }
    }

    /// Whether what of it is not common on its site is hardly anything.
    pub(super) fn is_thin(&self, rule: &Rule) -> bool {
        let known = self.template.without([&self.all, &self.all]);
        let Tail { words, characters, .. } = self.content.tail;
        let mut sum = f64::from(words) + f64::from(characters);
        for (feature, range) in self.features.iter().zip(&self.ranges) {
            sum += known.rarity(rule, *feature) * self.weights[range.clone()].iter().sum::<f64>();
            if sum >= THIN {
                return false;
            }
        }
        true
    }

    /// The tokens that are in a passage of both pages.
    fn covered_by(&self, other: &Side<'_>) -> Vec<bool> {
        let mut covered = vec![false; self.content.tokens.len()];
        for (start, &passage) in self.passages.iter().enumerate() {
            if other.has.contains(&passage) {
                covered[start..start + PASSAGE].fill(true);
            }
        }
        covered
    }
}

/// A page, and what another one has of it.
struct View<'a> {
    side: &'a Side<'a>,
    other: &'a Side<'a>,
    /// How common its parts are on its site.
    known: Frequencies<'a>,
    /// For each token whether it is in a passage of both.
    covered: Vec<bool>,
    /// For each block how much of its weight counts, by how common it is on the site.
    rarity: Vec<f64>,
    /// The tail: what both have, and what only this page has.
    tail: [f64; 2],
}

/// What a page has of its article.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    shared: f64,
    unshared: f64,
    /// Whether at least half of what is shared is in the body text.
    is_in_body: bool,
}

impl<'a> View<'a> {
    /// Two pages, each with what the other one has of it.
    fn of(rule: &Rule, [one, two]: [&'a Side<'a>; 2]) -> [Self; 2] {
        [[one, two], [two, one]].map(|[side, other]| {
            let known = side.template.without([&side.all, &other.all]);
            let rarity = side.features.iter().map(|it| known.rarity(rule, *it)).collect();
            let (covered, tail) = (side.covered_by(other), tail(rule, side, other));
            Self { side, other, known, covered, rarity, tail }
        })
    }

    /// Whether the other page has an equal block.
    fn has_block(&self, number: usize) -> bool {
        self.other.all.binary_search(&self.side.features[number]).is_ok()
    }

    /// Of a page of one origin all counts: common passages and equal blocks are shared.
    fn on_one_origin(&self, rule: &Rule) -> Share {
        let mut sums = Share { shared: self.tail[0], unshared: self.tail[1], is_in_body: true };
        for (number, block) in self.side.content.blocks.iter().enumerate() {
            let place = match block.place {
                Place::Body => 1.0,
                Place::Links => rule.link,
                Place::Around => rule.around,
            };
            let [mut shared, mut unshared] = self.split(number, &self.covered);
            if unshared > 0.0 && self.has_block(number) {
                (shared, unshared) = (shared + unshared, 0.0);
            }
            sums.shared += place * shared;
            sums.unshared += place * unshared;
        }
        sums
    }

    /// The weight of what is shared of a block, and of what is not.
    fn split(&self, number: usize, is_shared: &[bool]) -> [f64; 2] {
        let range = self.side.ranges[number].clone();
        let mut sums = [0.0; 2];
        for (weight, is_shared) in self.side.weights[range.clone()].iter().zip(&is_shared[range]) {
            sums[usize::from(!is_shared)] += weight;
        }
        sums.map(|sum| sum * self.rarity[number])
    }

    /// Of a page of another origin its article counts: the body text, or the smallest element that holds what is shared in long runs. If the
    /// pages have one title, what the body text has around that element does not count.
    fn on_two_origins(&self, rule: &Rule, one_title: f64) -> Share {
        let is_shared = long_runs(&self.covered, rule.run);
        let blocks = &self.side.content.blocks;
        let sums: Vec<[f64; 2]> = (0..blocks.len())
            .map(|number| {
                let place = if blocks[number].place == Place::Links { rule.link } else { 1.0 };
                self.split(number, &is_shared).map(|sum| place * sum)
            })
            .collect();
        let weights: Vec<f64> = sums.iter().map(|[shared, _]| *shared).collect();
        let element = enclosing_element(blocks, &weights, rule.enclosing);
        let sum = |start: f64, part: usize, counts: &dyn Fn(usize) -> bool| {
            let counted = sums.iter().enumerate().filter(|(number, _)| counts(*number));
            counted.fold(start, |sum, (_, weights)| sum + weights[part])
        };
        let is_body = |number: usize| blocks[number].place.is_body();
        let is_inside = |number: usize| element.contains(&number);
        let [tail, own_tail] = self.tail;
        let shared = sum(tail, 0, &|_| true);
        if shared == 0.0 {
            return Share::default();
        }
        let is_in_body = 2.0 * sum(tail, 0, &is_body) >= shared;
        let own_around = sum(own_tail, 1, &|number| is_body(number) && !is_inside(number));
        let of_element = sum(0.0, 1, &is_inside) + (1.0 - one_title) * own_around;
        let own_body = sum(own_tail, 1, &is_body);
        let unshared = if is_in_body { own_body.min(of_element) } else { of_element };
        Share { shared: sum(tail, 0, &is_inside), unshared, is_in_body }
    }

    /// The targets that only this page links to in its body text, as far as they are not common on its site.
    fn targets(&self, rule: &Rule) -> f64 {
        let [mine, _] = &self.side.content.targets;
        let [in_body, others] = &self.other.content.targets;
        let bound = mine.bound.into_iter().chain(in_body.bound).chain(others.bound).min();
        let only = mine.up_to(bound).iter().filter(|it| !in_body.has(**it) && !others.has(**it));
        let sum: f64 = only.map(|it| self.known.rarity(rule, feature_of_target(*it))).sum();
        // Of many targets a sample is known.
        sum * bound.map_or(1.0, |bound| 65_536.0 / (f64::from(bound) + 1.0))
    }
}

/// How a part of a page compares with another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Both have it.
    Shared,
    /// Only this page has it.
    Own,
    /// It is a block that is so common on the site that it counts for less than half.
    Common,
}

/// A part of a block: its words, and how they compare with another page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The number of the block.
    pub(crate) block: usize,
    pub(crate) words: Range<usize>,
    /// Whether it is all of the block.
    pub(crate) is_whole: bool,
    pub(crate) part: Part,
}

/// The passages of two pages in page order, and how each compares with the other page.
pub(super) fn passages(rule: &Rule, sides: [&Side<'_>; 2]) -> [Vec<Passage>; 2] {
    let is_one_origin = are_one(sides.map(|side| side.origin));
    View::of(rule, sides).map(|view| {
        let least = if is_one_origin { 1 } else { rule.run };
        let runs = long_runs(&view.covered, least);
        let mut found = Vec::new();
        for (block, range) in view.side.ranges.iter().enumerate() {
            let is_equal = is_one_origin && view.has_block(block);
            let part = |is_shared: bool| match is_shared || is_equal {
                _ if view.rarity[block] < 0.5 => Part::Common,
                true => Part::Shared,
                false => Part::Own,
            };
            let mut at = 0;
            for run in runs[range.clone()].chunk_by(|a, b| part(*a) == part(*b)) {
                let words = at..at + run.len();
                at = words.end;
                let is_whole = run.len() == range.len();
                found.push(Passage { block, words, is_whole, part: part(run[0]) });
            }
        }
        found
    })
}

/// What of the tail of a page another one has, and what not. Both are estimates: of a tail a sample of passages is known.
fn tail(rule: &Rule, side: &Side<'_>, other: &Side<'_>) -> [f64; 2] {
    let [mine, theirs] = [side, other].map(|side| &side.content.tail);
    let tokens = f64::from(mine.words) + f64::from(mine.characters);
    if tokens == 0.0 {
        return [0.0; 2];
    }
    let mean = (f64::from(mine.words) + f64::from(mine.characters) * rule.character) / tokens;
    // Repeated words count once.
    let sampled_share = |bound| (f64::from(bound) + 1.0) / 4_294_967_296.0;
    let sampled_passages = number(mine.passages.hashes.len());
    let distinct =
        mine.passages.bound.map_or(sampled_passages, |it| sampled_passages / sampled_share(it));
    let known = mine.passages.up_to(mine.passages.common_bound(&theirs.passages));
    let most = known.last().copied().unwrap_or_default();
    let head = other.passages.iter().map(|passage| sampled(*passage)).filter(|it| *it <= most);
    let mut shared: Vec<u32> = head.filter(|hash| known.binary_search(hash).is_ok()).collect();
    shared.extend(known.iter().filter(|hash| theirs.passages.has(**hash)));
    shared.sort_unstable();
    shared.dedup();
    let share = number(shared.len()) / number(known.len().max(1));
    let weight = mean * distinct.min(tokens);
    [weight * share, weight * (1.0 - share)]
}

/// How the titles of two pages agree.
struct Titles {
    /// From 0 to 1: whether all words of one are in the other, and enough of them.
    one: f64,
    /// From 0 to 1: whether each has a word that the other lacks, or one has hardly any of the other's. The name of the site is common, and so hardly counts.
    other: f64,
}

impl Titles {
    fn of(rule: &Rule, views: &[View<'_>; 2]) -> Self {
        let (mut both, mut own) = (0.0, [0.0; 2]);
        for (page, View { side, other, .. }) in views.iter().enumerate() {
            for word in &side.content.title {
                let token = if word.is_character { rule.character } else { 1.0 };
                let feature = feature_of_title(word.hash);
                let weight = |page: usize| token * views[page].known.rarity(rule, feature);
                match other.content.title.binary_search(word) {
                    Ok(_) if page == 0 => both += weight(0).min(weight(1)),
                    Ok(_) => {}
                    Err(_) => own[page] += weight(page),
                }
            }
        }
        // Each has a word of its own, or one has hardly any of the other's.
        let [less, more] = [own[0].min(own[1]), own[0].max(own[1])];
        let few = (1.0 - 2.0 * both / (both + more).max(f64::MIN_POSITIVE)).max(0.0);
        let other = less.max(few * (both + less).min(1.0)).min(1.0);
        Self { one: (both / rule.title_words).min(1.0) * (1.0 - other).max(0.0), other }
    }
}

/// The runs of at least this many.
fn long_runs(covered: &[bool], least: usize) -> Vec<bool> {
    let runs = covered.chunk_by(|a, b| a == b);
    runs.flat_map(|run| std::iter::repeat_n(run[0] && run.len() >= least, run.len())).collect()
}

/// The blocks of the smallest element that holds this share of these weights. If it has one block only, it is the element around it.
fn enclosing_element(blocks: &[Block], weights: &[f64], share: f64) -> Range<usize> {
    let sum: f64 = weights.iter().sum();
    let (mut enclosing, mut level) = (0..blocks.len(), 0);
    loop {
        level += 1;
        let inside = blocks[enclosing.clone()].iter().enumerate();
        let starts: Vec<usize> = inside
            .filter(|&(at, block)| at == 0 || block.shared < level)
            .map(|(at, _)| enclosing.start + at)
            .collect();
        let ends = starts.iter().skip(1).copied().chain([enclosing.end]);
        let mut parts = starts.iter().zip(ends).map(|(&start, end)| start..end);
        match parts.find(|part| weights[part.clone()].iter().sum::<f64>() >= share * sum) {
            Some(part) if part.len() > 1 => enclosing = part,
            _ => return enclosing,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the same sums are equal")]

    use proptest::prelude::*;

    use super::{
        super::{
            sketch::{Place, TitleWord, Token},
            template::Template,
            tests::content::any_content,
        },
        *,
    };
    use crate::fingerprint::Sketch as TextSketch;

    fn found(
        one: &Content,
        other: &Content,
        templates: [&Template; 2],
        is_one_origin: bool,
    ) -> Comparison {
        let rule = Rule::default();
        let origins = ["a", if is_one_origin { "a" } else { "b" }].map(OriginKey::of);
        let [one, other] = [(one, 0), (other, 1)]
            .map(|(content, page)| Side::new(&rule, content, Some(origins[page]), templates[page]));
        one.compare(&rule, &other)
    }

    fn sketch(page: &Content) -> Sketch {
        Sketch { content: Some(page.clone()), ..Sketch::of_text(TextSketch::default(), None) }
    }

    /// Templates that have learnt from these pages.
    fn template(pages: &[Content]) -> Template {
        let mut template = Template::default();
        for page in pages {
            template.learn(&sketch(page));
        }
        template
    }

    proptest! {
        #[test]
        fn the_order_of_two_pages_changes_nothing(
            one in any_content(),
            other in any_content(),
            known in prop::collection::vec(any_content(), 0..4),
        ) {
            let (a, b) = (template(&known), template(&known[known.len() / 2..]));
            for (templates, is_one_origin) in [([&a, &a], true), ([&a, &b], false)] {
                let [x, y] = templates;
                let there = found(&one, &other, [x, y], is_one_origin);
                let back = found(&other, &one, [y, x], is_one_origin);
                prop_assert_eq!(there.similarity, back.similarity);
                prop_assert_eq!(there.shared, back.shared);
                prop_assert_eq!(there.unshared, [back.unshared[1], back.unshared[0]]);
                prop_assert!((0.0..=1.0).contains(&there.similarity), "{:?}", there);
            }
        }

        #[test]
        fn a_page_has_nothing_of_its_own_beside_itself(page in any_content(), known in prop::collection::vec(any_content(), 0..3)) {
            let template = template(&known);
            for is_one_origin in [true, false] {
                let found = found(&page, &page, [&template; 2], is_one_origin);
                prop_assert_eq!(found.other_title, 0.0);
                prop_assert_eq!(found.targets, [0.0; 2]);
                if is_one_origin {
                    prop_assert_eq!(found.unshared, [0.0; 2]);
                    prop_assert_eq!(found.similarity, if found.shared > 0.0 { 1.0 } else { 0.0 });
                }
            }
        }

        /// A page that was kept by mistake does not make its copies boilerplate.
        #[test]
        fn pages_that_are_compared_do_not_count_as_common(one in any_content(), other in any_content()) {
            let (none, both) = (Template::default(), template(&[one.clone(), other.clone()]));
            let plain = found(&one, &other, [&none; 2], true);
            prop_assert_eq!(plain, found(&one, &other, [&both; 2], true));
        }

        #[test]
        fn the_marks_of_two_pages_say_of_their_template_what_matters(
            pages in prop::collection::vec(any_content(), 2..5),
            has in any::<[bool; 2]>(),
        ) {
            let known: Vec<_> = (0..pages.len()).filter(|at| has.get(*at) != Some(&false)).collect();
            let whole = template(&known.iter().map(|&at| pages[at].clone()).collect::<Vec<_>>());
            let sketches = [0, 1].map(|at| sketch(&pages[at]));
            let marks = sketches.each_ref().map(|sketch| whole.marks(sketch));
            let marked = Template::of_marks(&[(&sketches[0], &marks[0]), (&sketches[1], &marks[1])]);
            for is_one_origin in [true, false] {
                let found = |template| found(&pages[0], &pages[1], [template; 2], is_one_origin);
                prop_assert_eq!(found(&whole), found(&marked));
            }
        }

        #[test]
        fn what_is_covered_is_in_a_passage_of_both(one in any_content(), other in any_content()) {
            let covered = {
                let (rule, none) = (Rule::default(), Template::default());
                let side = |content| Side::new(&rule, content, None, &none);
                side(&one).covered_by(&side(&other))
            };
            let mut expected = vec![false; one.tokens.len()];
            for start in 0..(one.tokens.len() + 1).saturating_sub(PASSAGE) {
                let passage = &one.tokens[start..start + PASSAGE];
                if other.tokens.windows(PASSAGE).any(|tokens| tokens == passage) {
                    expected[start..start + PASSAGE].fill(true);
                }
            }
            prop_assert_eq!(covered, expected);
        }

        #[test]
        fn the_element_that_is_found_is_the_smallest_that_holds_enough(
            blocks in prop::collection::vec((0..4_u8, 0..6_u8), 1..30),
        ) {
            let weights: Vec<f64> = blocks.iter().map(|(_, weight)| f64::from(*weight)).collect();
            let blocks: Vec<Block> = blocks
                .iter()
                .map(|(shared, _)| Block { len: 1, place: Place::Body, shared: *shared, hash: 0 })
                .collect();
            let sum: f64 = weights.iter().sum();
            prop_assume!(sum > 0.0);
            let found = enclosing_element(&blocks, &weights, 0.9);
            // An element: blocks each of which shares at least `level` elements with the one before it.
            let mut best = 0..blocks.len();
            for level in 1..5 {
                for start in best.clone() {
                    if start > best.start && blocks[start].shared >= level {
                        continue;
                    }
                    let rest = &blocks[start + 1..best.end];
                    let end = start + 1 + rest.iter().take_while(|block| block.shared >= level).count();
                    let holds: f64 = weights[start..end].iter().sum();
                    if end - start > 1 && holds >= 0.9 * sum {
                        best = start..end;
                        break;
                    }
                }
            }
            prop_assert_eq!(found, best);
        }
    }

    /// A page of one block of the body text with these words.
    fn text(words: impl Iterator<Item = u64>) -> Content {
        let byte = |word: u64| xxhash_rust::xxh3::xxh3_64(&word.to_le_bytes()).to_le_bytes()[0];
        let tokens: Vec<Token> = words.map(|word| Token(byte(word) & 0x7f)).collect();
        let block = Block {
            len: u16::try_from(tokens.len()).unwrap(),
            place: Place::Body,
            shared: 0,
            hash: 0,
        };
        Content { tokens, blocks: vec![block], ..Content::default() }
    }

    #[test]
    fn titles_are_two_if_one_has_hardly_any_of_the_words_of_the_other() {
        let titled = |words: std::ops::Range<u16>| Content {
            title: words.map(|hash| TitleWord { hash, is_character: false }).collect(),
            ..Content::default()
        };
        let none = Template::default();
        let other = |a: &Content, b: &Content| found(a, b, [&none; 2], true).other_title;
        let title = titled(0..10);
        for (page, expected) in [
            (titled(0..10), 0.0),
            (titled(0..6), 0.0),
            (titled(0..16), 0.0),
            (titled(5..15), 1.0),
            (Content::default(), 0.0),
        ] {
            assert_eq!(other(&title, &page), expected, "{:?}", page.title);
            assert_eq!(other(&page, &title), expected, "{:?}", page.title);
        }
        assert!(other(&titled(0..1), &title) > 0.7, "one word of ten");
    }

    #[test]
    fn more_in_common_is_more_similar_and_more_apart_is_less() {
        let none = Template::default();
        let of = |common: u64, own: u64| {
            let page = |number: u64| text((0..common).chain(1000 * number..1000 * number + own));
            found(&page(1), &page(2), [&none; 2], true).similarity
        };
        let by_common: Vec<f64> = (1..20).map(|tens| of(10 * tens, 30)).collect();
        let by_own: Vec<f64> = (1..20).map(|tens| of(100, 10 * tens)).collect();
        assert!(
            by_common.is_sorted() && by_own.is_sorted_by(|a, b| a >= b),
            "{by_common:?} {by_own:?}"
        );
    }
}
