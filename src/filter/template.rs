//! The template of an origin: how common each block, word of a title and target of a link is on its pages.
//!
//! What many pages of a site have says little of any of them. The template counts the last [`PAGES`] unique pages of an origin. How common a
//! block is fades smoothly into its weight ([`Frequencies::rarity`]), so nothing changes at once when a second page has it. A template
//! depends on the pages of its own origin and their order only.

use std::collections::VecDeque;

use foldhash::HashMap;

use super::{
    rule::Rule,
    sketch::{Content, Feature, Key, OriginKey, Sketch},
};
use crate::page::DocId;

/// So many pages are counted of an origin.
pub(super) const PAGES: usize = 32;
/// At most this many origins are remembered.
const ORIGINS: usize = 512;

/// What a template learns from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateSample {
    /// The number of the page.
    pub(crate) id: DocId,
    /// The page's key.
    pub(crate) key: Key,
    pub(crate) origin: OriginKey,
    /// In order, none twice.
    pub(crate) features: Vec<Feature>,
}

/// A sample that no longer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outdated {
    pub(crate) origin: OriginKey,
    /// The oldest page whose sample still counts.
    pub(crate) before: DocId,
}

/// What a unique page adds to the knowledge of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateChange {
    pub(crate) sample: TemplateSample,
    pub(crate) outdated: Vec<Outdated>,
}

/// How common the features of pages are on the last pages of an origin.
#[derive(Clone, Debug, Default)]
pub struct Template {
    samples: VecDeque<TemplateSample>,
    counts: HashMap<Feature, u8>,
}

/// A template without two pages that are compared: what they have in common is not common for that.
#[derive(Clone, Debug)]
pub(super) struct Frequencies<'a> {
    template: &'a Template,
    without: Vec<&'a TemplateSample>,
}

impl Template {
    /// Adds a page. Returns the sample that no longer counts.
    pub(super) fn add(&mut self, sample: TemplateSample) -> Option<TemplateSample> {
        for feature in &sample.features {
            *self.counts.entry(*feature).or_default() += 1;
        }
        self.samples.push_back(sample);
        let outdated = (self.samples.len() > PAGES).then(|| self.samples.pop_front()).flatten()?;
        for feature in &outdated.features {
            if let Some(count) = self.counts.get_mut(feature) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(feature);
                }
            }
        }
        Some(outdated)
    }

    /// Adds the page of this sketch, if it is one, as a unique page of the origin.
    pub fn learn(&mut self, sketch: &Sketch) {
        if let Some(content) = &sketch.content {
            self.add(TemplateSample::unnamed(content.features(content.block_features())));
        }
    }

    /// What it says of a page, to be kept with it: how many pages are counted, how many of them have all features of this one and no others, and how many
    /// have each of its features. Nothing for a text.
    #[must_use]
    pub fn marks(&self, sketch: &Sketch) -> Vec<u8> {
        let Some(content) = &sketch.content else { return Vec::new() };
        let features = content.features(content.block_features());
        let equal = self.samples.iter().filter(|sample| sample.features == features).count();
        let counted = [self.samples.len(), equal].map(|it| u8::try_from(it).unwrap_or(u8::MAX));
        let count = |feature| self.counts.get(feature).copied().unwrap_or_default();
        counted.into_iter().chain(features.iter().map(count)).collect()
    }

    /// The template of one origin as far as the [marks](Self::marks) of these pages of it say: it compares them as the whole one does.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::{Options, Template}, page::Outline};
    ///
    /// let documents = Filter::new(&Options::default())?.documents();
    /// let mut outline = Outline::new("Tides");
    /// outline.line(Outline::PAGE, "The tide is high.", 0, true);
    /// let page = documents.outlined("a", Some("example.org:443"), "The tide is high.", &outline);
    /// let mut template = Template::default();
    /// template.learn(page.sketch());
    /// let marks = template.marks(page.sketch());
    /// assert_eq!(Template::of_marks(&[(page.sketch(), &marks)]).marks(page.sketch()), marks);
    /// # Ok::<(), pagesieve::OptionsError>(())
    /// ```
    #[must_use]
    pub fn of_marks(pages: &[(&Sketch, &[u8])]) -> Self {
        let (mut template, mut most) = (Self::default(), 0);
        for (sketch, marks) in pages {
            let (Some(content), [pages, equal, counts @ ..]) = (&sketch.content, *marks) else {
                continue;
            };
            let sample = TemplateSample::unnamed(content.features(content.block_features()));
            most = most.max(usize::from(*pages));
            template.counts.extend(sample.features.iter().copied().zip(counts.iter().copied()));
            if template.samples.iter().all(|other| other.features != sample.features) {
                template.samples.extend(std::iter::repeat_n(sample, usize::from(*equal)));
            }
        }
        // Of the others only the counts matter.
        template.samples.resize(most, TemplateSample::unnamed(Vec::new()));
        template
    }

    /// The template without the pages of these features.
    pub(super) fn without(&self, pages: [&[Feature]; 2]) -> Frequencies<'_> {
        let without = self.samples.iter().filter(|sample| pages.contains(&&*sample.features));
        Frequencies { template: self, without: without.collect() }
    }
}

impl TemplateSample {
    /// The sample of a page of which nothing else matters.
    fn unnamed(features: Vec<Feature>) -> Self {
        Self { id: DocId(0), key: Key(0), origin: OriginKey::of(""), features }
    }
}

impl Frequencies<'_> {
    /// How much of its weight a feature keeps: 1 if no other page has it, less the more do.
    pub(super) fn rarity(&self, rule: &Rule, feature: Feature) -> f64 {
        let has = |sample: &&&TemplateSample| sample.features.binary_search(&feature).is_ok();
        let mine = self.without.iter().filter(has).count();
        let count = self.template.counts.get(&feature).map_or(0, |count| usize::from(*count));
        let pages = self.template.samples.len() - self.without.len();
        let share = number(count.saturating_sub(mine)) / (number(pages) + rule.site);
        (1.0 - share).powi(rule.fade)
    }
}

/// A count of what is kept of pages.
pub(super) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The templates of the origins whose pages came last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Templates {
    origins: HashMap<OriginKey, Template>,
    none: Template,
}

impl Templates {
    /// The template of an origin, as far as it is known.
    pub(super) fn get(&self, origin: Option<OriginKey>) -> &Template {
        origin.and_then(|origin| self.origins.get(&origin)).unwrap_or(&self.none)
    }

    /// Learns from a unique page, unless an earlier version of it is among the samples.
    pub(super) fn learn(
        &mut self,
        id: DocId,
        key: Key,
        origin: OriginKey,
        content: &Content,
    ) -> Option<TemplateChange> {
        if self.get(Some(origin)).samples.iter().any(|sample| sample.key == key) {
            return None;
        }
        let features = content.features(content.block_features());
        let sample = TemplateSample { id, key, origin, features };
        Some(TemplateChange { outdated: self.add(sample.clone()), sample })
    }

    /// Adds a sample, and returns the ones that it makes outdated.
    pub(crate) fn add(&mut self, sample: TemplateSample) -> Vec<Outdated> {
        let origin = sample.origin;
        let mut outdated = Vec::new();
        if !self.origins.contains_key(&origin) && self.origins.len() == ORIGINS {
            outdated.extend(self.forget_one());
        }
        let template = self.origins.entry(origin).or_default();
        if template.add(sample).is_some() {
            let oldest = template.samples.front();
            outdated.extend(oldest.map(|oldest| Outdated { origin, before: oldest.id }));
        }
        outdated
    }

    /// Forgets the origin whose latest page is the oldest.
    fn forget_one(&mut self) -> Option<Outdated> {
        let last = |template: &Template| template.samples.back().map(|sample| sample.id);
        let (&origin, template) = self.origins.iter().min_by_key(|(_, template)| last(template))?;
        let before = DocId(last(template)?.0 + 1);
        self.origins.remove(&origin);
        Some(Outdated { origin, before })
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "the numbers are small, and computed alike"
    )]

    use proptest::prelude::*;

    use super::*;

    fn sample(id: u64, origin: &str, features: &[Feature]) -> TemplateSample {
        TemplateSample {
            id: DocId(id),
            key: Key(id),
            origin: OriginKey::of(origin),
            features: features.to_vec(),
        }
    }

    fn rarity(template: &Template, feature: Feature) -> f64 {
        template.without([&[], &[]]).rarity(&Rule::default(), feature)
    }

    proptest! {
        #[test]
        fn a_template_counts_the_last_pages(
            pages in prop::collection::vec(prop::collection::btree_set(0..20_u32, 0..8), 0..3 * PAGES),
            without in 0..3 * PAGES,
        ) {
            let mut template = Template::default();
            for (id, features) in (1..).zip(&pages) {
                let features: Vec<_> = features.iter().copied().collect();
                template.add(sample(id, "a", &features));
            }
            let last: Vec<_> = pages.iter().rev().take(PAGES).collect();
            let without: Vec<Feature> = pages.get(without).into_iter().flatten().copied().collect();
            let rule = Rule::default();
            for feature in 0..20 {
                let others = last.iter().filter(|page| !page.iter().copied().eq(without.iter().copied()));
                let (count, all) = (others.clone().filter(|page| page.contains(&feature)).count(), others.count());
                let expected = (1.0 - count as f64 / (all as f64 + rule.site)).powi(rule.fade);
                prop_assert_eq!(template.without([&without, &without]).rarity(&rule, feature), expected);
            }
        }
    }

    #[test]
    fn what_more_pages_have_weighs_less_and_nothing_changes_at_once() {
        let mut template = Template::default();
        let mut before = 1.0;
        for id in 1..=PAGES as u64 {
            template.add(sample(id, "a", &[1]));
            let now = rarity(&template, 1);
            assert!(now < before, "{id} pages: {now}");
            before = now;
        }
        assert_eq!(rarity(&template, 2), 1.0);
        assert!(before < 0.001);
    }

    #[test]
    fn a_template_of_one_origin_does_not_affect_another() {
        let mut templates = Templates::default();
        for id in 1..20 {
            templates.add(sample(id, "a", &[1]));
        }
        assert!(rarity(templates.get(Some(OriginKey::of("a"))), 1) < 0.01);
        assert_eq!(rarity(templates.get(Some(OriginKey::of("b"))), 1), 1.0);
        assert_eq!(rarity(templates.get(None), 1), 1.0);
    }

    #[test]
    fn memory_for_templates_stays_bounded() {
        let mut templates = Templates::default();
        let mut kept: Vec<(OriginKey, u64)> = Vec::new();
        for id in 0..3 * ORIGINS as u64 {
            // One origin has a page every other time, all others have one.
            let origin = if id % 2 == 0 { "always".to_owned() } else { id.to_string() };
            let features: Vec<_> = (0..300).map(|at| at * 7 + u32::try_from(id).unwrap()).collect();
            let sample = sample(id, &origin, &features);
            kept.push((sample.origin, id));
            for outdated in templates.add(sample) {
                kept.retain(|&(origin, id)| origin != outdated.origin || id >= outdated.before.0);
            }
            assert!(templates.origins.len() <= ORIGINS && kept.len() < ORIGINS + PAGES);
        }
        let counted = |template: &Template| {
            template.samples.iter().map(|it| it.features.len()).sum::<usize>()
        };
        for template in templates.origins.values() {
            let counts: usize = template.counts.values().map(|count| usize::from(*count)).sum();
            assert_eq!(counts, counted(template));
        }
    }
}
