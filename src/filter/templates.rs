//! Templates of origins: the boilerplate that pages of one origin share and that extraction left in.
//!
//! Two pages that share a template and nothing else are as similar as the template is large. The template of an origin is learnt from its
//! unique pages, in epochs of [`EPOCH`] pages. A block belongs to it if at least [`HOLDERS`] pages of the last complete epoch contain it, or
//! at least as many of the current epoch so far. So a template follows the origin's changes. It depends only on the origin's own pages and their order. Memory is bounded by
//! the blocks per page, the pages per epoch and the number of origins.
//!
//! Templates do not change signatures. They affect how a candidate from the same origin is confirmed: see [`Thresholds`](super::Thresholds).

use std::{collections::HashMap, num::NonZeroUsize};

use super::{
    article::OriginRelation,
    key::{Key, OriginKey},
};
use crate::page::DocId;

/// Pages of an epoch.
pub(super) const EPOCH: usize = 32;
/// A block belongs to the template if this many pages of an epoch contain it.
pub(super) const HOLDERS: usize = 8;
/// A block is boilerplate if at least this many pages have it, and a quarter of the epoch's pages so far.
const BOILERPLATE_PAGES: usize = 2;
/// If at least this many of the latest pages have one name, it does not tell pages apart.
const SHARED_NAME: usize = 2;
/// At most this many blocks of a page are used: the longest. Where its links lead comes in addition.
const BLOCKS: usize = 128;
/// At most this many origins are remembered.
const ORIGINS: usize = 512;

/// A block of a text: a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    hash: u64,
    chars: u32,
}

/// The origin of a page, and the blocks of its text: one per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) origin: OriginKey,
    /// The hash of the page's title and first heading, digits left out; `None` for a text.
    name: Option<u32>,
    all: Vec<Block>,
    /// The keys of where the links of a page lead, and of blocks of which the page is too long to keep the words.
    targets: Vec<u64>,
}

/// The share of a text that is the template of its origin, in per cent of the characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u8);

/// The part of a unique page that its origin's template is learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateSample {
    /// The number of the page.
    pub(crate) id: DocId,
    /// The page's key.
    pub(crate) key: Key,
    /// The page's origin.
    pub(crate) origin: OriginKey,
    /// The hash of its title and first heading; `None` for a text.
    pub(crate) name: Option<u32>,
    /// The hashes of its largest blocks and the keys of where its links lead, in order.
    pub(crate) blocks: Vec<u64>,
}

/// Samples that no longer count: those of an origin before this page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outdated {
    /// The origin.
    pub(crate) origin: OriginKey,
    /// The oldest page whose sample still counts.
    pub(crate) before: DocId,
}

/// What a unique page adds to the knowledge of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateChange {
    /// The page's blocks.
    pub(crate) sample: TemplateSample,
    /// The samples that no longer count.
    pub(crate) outdated: Vec<Outdated>,
}

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) epoch: usize,
    pub(crate) holders: usize,
    pub(crate) origins: NonZeroUsize,
}

/// The templates of the origins whose pages came last.
#[derive(Clone, Debug)]
pub(super) struct Templates {
    bounds: Bounds,
    origins: HashMap<OriginKey, OriginTemplate>,
}

/// What is known of an origin.
#[derive(Clone, Debug, Default)]
struct OriginTemplate {
    /// The template by the last whole epoch: hashes in order.
    template: Vec<u64>,
    /// The number of pages of this epoch that contain each block.
    holders: HashMap<u64, usize>,
    /// Keys and names of the pages in the last epoch and in this one.
    pages: [Vec<(Key, Option<u32>)>; 2],
    /// The first page of this epoch.
    began: DocId,
    /// The latest page.
    last: DocId,
}

impl Blocks {
    /// The blocks of a text from this origin: its lines, white space around them removed.
    pub(crate) fn of(origin: &str, text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let blocks = lines.map(|line| Block {
            hash: xxhash_rust::xxh3::xxh3_64(line.as_bytes()),
            chars: u32::try_from(line.chars().count()).unwrap_or(u32::MAX),
        });
        let all = blocks.collect();
        Self { origin: OriginKey::of(origin), name: None, all, targets: Vec::new() }
    }

    /// The blocks of a page of this name from this origin, as hashes and weights, and the keys of where its links lead.
    pub(crate) fn of_page(
        origin: OriginKey,
        name: u32,
        blocks: impl Iterator<Item = (u64, u32)>,
        targets: impl Iterator<Item = u64>,
    ) -> Self {
        let all = blocks.map(|(hash, chars)| Block { hash, chars }).collect();
        Self { origin, name: Some(name), all, targets: targets.collect() }
    }

    /// The hashes of the largest blocks and the keys of targets, in order, none twice.
    fn largest(&self) -> Vec<u64> {
        let mut blocks: Vec<_> =
            self.all.iter().map(|block| (u32::MAX - block.chars, block.hash)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.truncate(BLOCKS);
        let blocks = blocks.into_iter().map(|(_, hash)| hash);
        let mut hashes: Vec<_> = blocks.chain(self.targets.iter().copied()).collect();
        hashes.sort_unstable();
        hashes
    }
}

impl Share {
    /// No template is known.
    pub const NONE: Self = Self(0);

    /// `part` of `whole`, rounded down to whole per cent.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Self {
        let percent = part.min(whole).saturating_mul(100).checked_div(whole).unwrap_or(0);
        Self(u8::try_from(percent).unwrap_or(100))
    }

    /// In per cent: 0 to 100.
    #[must_use]
    pub fn percent(self) -> u32 {
        self.0.into()
    }
}

impl Default for Bounds {
    fn default() -> Self {
        let origins = NonZeroUsize::new(ORIGINS).expect("not zero");
        Self { epoch: EPOCH, holders: HOLDERS, origins }
    }
}

impl Templates {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, origins: HashMap::new() }
    }

    /// The share of a page that is its origin's template, as far as it is known.
    pub(super) fn share(&self, page: &Blocks) -> Share {
        let Some(known) = self.origins.get(&page.origin) else { return Share::NONE };
        let (mut part, mut whole) = (0, 0);
        for block in &page.all {
            let chars = u64::from(block.chars);
            whole += chars;
            part += if known.knows(block.hash, self.bounds.holders) { chars } else { 0 };
        }
        Share::of(part, whole)
    }

    /// The sample of a unique page; none if an earlier version of it is among the latest samples.
    pub(super) fn sample(&self, id: DocId, key: Key, page: &Blocks) -> Option<TemplateSample> {
        let &Blocks { origin, name, .. } = page;
        let known = self.origins.get(&origin);
        let is_known =
            known.is_some_and(|known| known.pages.iter().flatten().any(|&(other, _)| other == key));
        (!is_known).then(|| TemplateSample { id, key, origin, name, blocks: page.largest() })
    }

    /// For each of these blocks whether it is boilerplate of the origin: several of its pages have it.
    pub(super) fn boilerplate(
        &self,
        origin: Option<OriginKey>,
        blocks: impl Iterator<Item = u64>,
    ) -> Vec<bool> {
        let known = origin.and_then(|origin| self.origins.get(&origin));
        let Some(known) = known else { return blocks.map(|_| false).collect() };
        let holders =
            BOILERPLATE_PAGES.max(known.pages[1].len().div_ceil(4)).min(self.bounds.holders);
        blocks.map(|hash| known.knows(hash, holders)).collect()
    }

    /// The same for the blocks of a page.
    pub(super) fn boilerplate_of(&self, page: &Blocks) -> Vec<bool> {
        self.boilerplate(Some(page.origin), page.all.iter().map(|block| block.hash))
    }

    /// How well the origin of a page of this name is known.
    pub(super) fn origin_relation(&self, origin: Option<OriginKey>, name: u32) -> OriginRelation {
        let known = origin.and_then(|origin| self.origins.get(&origin));
        let names = known.into_iter().flat_map(|known| known.pages.iter().flatten());
        let names: Vec<u32> = names.filter_map(|(_, name)| *name).collect();
        let same = names.iter().filter(|known| **known == name).count();
        match names.len() >= BOILERPLATE_PAGES {
            true if same >= SHARED_NAME => OriginRelation::SameNameShared,
            true => OriginRelation::SameLearnt,
            false => OriginRelation::SameUnlearnt,
        }
    }

    /// Learns from a sample, and returns the ones that it makes outdated.
    pub(super) fn learn(&mut self, sample: &TemplateSample) -> Vec<Outdated> {
        let mut outdated = Vec::new();
        if !self.origins.contains_key(&sample.origin) {
            outdated.extend(self.make_room());
        }
        let known = self.origins.entry(sample.origin).or_default();
        if known.learn(sample) == self.bounds.epoch {
            outdated.push(Outdated { origin: sample.origin, before: known.began });
            known.end_epoch(self.bounds.holders);
        }
        outdated
    }

    /// Forgets the origin whose latest page is the oldest, if there is no room for one more.
    fn make_room(&mut self) -> Option<Outdated> {
        if self.origins.len() < self.bounds.origins.get() {
            return None;
        }
        let (&origin, known) = self.origins.iter().min_by_key(|(_, known)| known.last)?;
        let before = DocId(known.last.0 + 1);
        self.origins.remove(&origin);
        Some(Outdated { origin, before })
    }
}

impl OriginTemplate {
    fn knows(&self, block: u64, holders: usize) -> bool {
        self.template.binary_search(&block).is_ok()
            || self.holders.get(&block).is_some_and(|&count| count >= holders)
    }

    /// Returns how many pages the epoch has now.
    fn learn(&mut self, sample: &TemplateSample) -> usize {
        let [_, pages] = &mut self.pages;
        if pages.is_empty() {
            self.began = sample.id;
        }
        pages.push((sample.key, sample.name));
        self.last = sample.id;
        for &block in &sample.blocks {
            *self.holders.entry(block).or_default() += 1;
        }
        pages.len()
    }

    fn end_epoch(&mut self, holders: usize) {
        let counts = std::mem::take(&mut self.holders).into_iter();
        self.template =
            counts.filter(|&(_, count)| count >= holders).map(|(block, _)| block).collect();
        self.template.sort_unstable();
        self.pages = [std::mem::take(&mut self.pages[1]), Vec::new()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(origin: &str, lines: &[&str]) -> Blocks {
        Blocks::of(origin, &lines.join("\n"))
    }

    /// Learns from pages that follow one another from this number on, each of another key.
    fn learn_from(templates: &mut Templates, first: u64, pages: &[Blocks]) {
        for (id, page) in (first..).zip(pages) {
            let sample = templates.sample(DocId(id), Key(id), page).unwrap();
            templates.learn(&sample);
        }
    }

    #[test]
    fn a_block_on_a_quarter_of_the_pages_belongs_to_the_template() {
        let mut templates = Templates::new(Bounds::default());
        let pages = (0..32).map(|number| {
            let own = format!("the text of page {number}");
            let often = if number % 4 == 0 { "stands on eight" } else { "" };
            let seldom = if (1..8).contains(&number) { "stands on seven" } else { "" };
            page("a", &[&own, often, "stands on all", seldom])
        });
        let pages: Vec<_> = pages.collect();
        let share = |templates: &Templates, line| templates.share(&page("a", &[line])).percent();
        learn_from(&mut templates, 1, &pages[..8]);
        assert_eq!(share(&templates, "stands on all"), 100, "before the epoch ends");
        learn_from(&mut templates, 9, &pages[8..]);
        let shares = ["stands on all", "stands on eight", "stands on seven", "the text of page 3"];
        assert_eq!(shares.map(|line| share(&templates, line)), [100, 100, 0, 0]);
        assert_eq!(
            templates.share(&page("a", &["  stands on all ", "", "a line of its own, as long"])),
            Share::of(13, 39)
        );
    }

    #[test]
    fn a_template_follows_its_origin() {
        let mut templates = Templates::new(Bounds::default());
        let of = |line: &str, pages: usize| vec![page("a", &[line]); pages];
        let knows =
            |templates: &Templates, line| templates.share(&page("a", &[line])) != Share::NONE;
        learn_from(&mut templates, 1, &[of("old", 32), of("new", 31)].concat());
        assert!(knows(&templates, "old") && knows(&templates, "new"));
        learn_from(&mut templates, 64, &of("new", 1));
        assert!(!knows(&templates, "old") && knows(&templates, "new"));
    }

    #[test]
    fn a_template_of_one_origin_does_not_affect_another() {
        let mut templates = Templates::new(Bounds::default());
        learn_from(&mut templates, 1, &vec![page("a", &["copied from b"]); 40]);
        assert_eq!(templates.share(&page("b", &["copied from b"])), Share::NONE);
    }

    #[test]
    fn versions_of_one_page_make_no_template() {
        let mut templates = Templates::new(Bounds::default());
        let version = |number: u64| page("a", &["what stays", &format!("version {number}")]);
        for number in 1..100 {
            if let Some(sample) = templates.sample(DocId(number), Key(number % 3), &version(number))
            {
                templates.learn(&sample);
            }
        }
        assert_eq!(templates.share(&version(0)), Share::NONE);
    }

    #[test]
    fn memory_for_templates_stays_bounded() {
        let mut templates = Templates::new(Bounds::default());
        let mut kept = Vec::new();
        for id in 0..4_000_u64 {
            let origin = if id % 3 == 0 { "always".to_owned() } else { id.to_string() };
            let lines: Vec<_> = (0..200).map(|line| format!("{id} {line}")).collect();
            let page = Blocks::of(&origin, &lines.join("\n"));
            let sample = templates.sample(DocId(id), Key(id), &page).unwrap();
            assert_eq!(sample.blocks.len(), BLOCKS);
            kept.push((sample.origin, id));
            for outdated in templates.learn(&sample) {
                kept.retain(|&(origin, id)| origin != outdated.origin || id >= outdated.before.0);
            }
            assert!(templates.origins.len() <= ORIGINS && kept.len() < ORIGINS + 2 * EPOCH);
        }
        for known in templates.origins.values() {
            assert!(
                known.holders.len() < EPOCH * BLOCKS
                    && known.template.len() <= EPOCH * BLOCKS / HOLDERS
            );
        }
    }

    #[test]
    fn the_largest_blocks_are_taken_whatever_their_order() {
        let mut lines: Vec<_> = (1..=200).map(|chars| "x".repeat(chars)).collect();
        let largest = |lines: &[String]| Blocks::of("a", &lines.join("\n")).largest();
        let expected = largest(&lines[72..]);
        assert_eq!((expected.len(), largest(&lines)), (BLOCKS, expected.clone()));
        lines.reverse();
        lines.extend(lines.clone());
        assert_eq!(largest(&lines), expected);
    }

    /// A page of this name with these blocks, some of the same weight.
    fn named(name: u64, blocks: &[u64]) -> Blocks {
        let weighted = blocks.iter().map(|&block| (block, 10));
        Blocks::of_page(
            OriginKey::of("a"),
            u32::try_from(name).unwrap(),
            weighted,
            std::iter::empty(),
        )
    }

    /// Learns from pages, each with a key of its own.
    fn taught(bounds: Bounds, pages: &[Blocks]) -> Templates {
        let mut templates = Templates::new(bounds);
        learn_from(&mut templates, 1, pages);
        templates
    }

    fn boilerplate(templates: &Templates, origin: &str, blocks: &[u64]) -> (Vec<bool>, bool) {
        let blocks = blocks.iter().copied();
        let origin = Some(OriginKey::of(origin));
        let is_learnt = templates.origin_relation(origin, 999) == OriginRelation::SameLearnt;
        (templates.boilerplate(origin, blocks), is_learnt)
    }

    #[test]
    fn different_pages_of_one_name_teach_what_they_share() {
        let mut templates = Templates::new(Bounds::default());
        for number in 1..4 {
            let page = named(1, &[7, 100 + number]);
            let sample = templates.sample(DocId(number), Key(number), &page).unwrap();
            templates.learn(&sample);
        }
        assert_eq!(boilerplate(&templates, "a", &[7, 101]), (vec![true, false], true));
    }

    #[test]
    fn a_name_of_several_pages_does_not_tell_them_apart() {
        let mut templates = Templates::new(Bounds::default());
        let mut learn = |number: u64, name: u64| {
            learn_from(&mut templates, number, &[named(name, &[100 + number])]);
            [1, 2, 3].map(|name| templates.origin_relation(Some(OriginKey::of("a")), name))
        };
        assert_eq!(learn(1, 1), [OriginRelation::SameUnlearnt; 3]);
        assert_eq!(learn(2, 2), [OriginRelation::SameLearnt; 3]);
        let expected = [
            OriginRelation::SameLearnt,
            OriginRelation::SameNameShared,
            OriginRelation::SameLearnt,
        ];
        assert_eq!(learn(3, 2), expected);
    }

    #[test]
    fn a_block_under_all_of_the_first_names_is_boilerplate() {
        let pages: Vec<_> =
            (0..BOILERPLATE_PAGES as u64).map(|name| named(name, &[7, 100 + name])).collect();
        let templates = taught(Bounds::default(), &pages);
        assert_eq!(boilerplate(&templates, "a", &[7, 100, 101, 9]).0, [true, false, false, false]);
        assert!(boilerplate(&templates, "a", &[]).1, "boilerplate is known");
        assert_eq!(boilerplate(&templates, "b", &[7, 100]), (vec![false; 2], false));
        assert_eq!(templates.boilerplate(None, [7].into_iter()), [false]);
        assert_eq!(templates.origin_relation(None, 0), OriginRelation::SameUnlearnt);
    }

    #[test]
    fn boilerplate_of_many_names_is_on_a_quarter_of_them() {
        for names in BOILERPLATE_PAGES..EPOCH {
            // Each block is on as many pages as its number says.
            let blocks: Vec<u64> = (1..=names as u64).collect();
            let pages: Vec<_> =
                (0..names).map(|name| named(name as u64, &blocks[name..])).collect();
            let (known, _) = boilerplate(&taught(Bounds::default(), &pages), "a", &blocks);
            for (block, is_known) in (1..).zip(known) {
                let is_quarter = 4 * block >= names || block >= HOLDERS;
                assert_eq!(
                    is_known,
                    block >= BOILERPLATE_PAGES && is_quarter,
                    "{block} of {names}"
                );
            }
        }
    }

    #[test]
    fn boilerplate_of_the_last_epoch_is_still_known() {
        let page = |name: u64| named(name, &[7, 100 + name]);
        let epoch: Vec<_> = (0..EPOCH as u64).map(page).collect();
        let templates = taught(Bounds::default(), &epoch);
        assert_eq!(boilerplate(&templates, "a", &[7, 100]), (vec![true, false], true));
    }
}
