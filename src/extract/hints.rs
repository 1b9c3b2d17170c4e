//! Decides which blocks count as text of the page: their [`Hint`]s, as far as the page's measurements and declarations agree.

use std::collections::HashSet;

use foldhash::HashMap;

use super::{
    blocks::{Kind, Measured, Sum},
    declared::{Declaration, Declared},
    kinds::PageKind,
    labels::Label,
    names::{Hint, Mark},
    numbers::{
        ARTICLE, FEW, LEAST, PART, SENTENCE, SHORT, TEXT, is_half, is_little, is_more, is_most,
        is_much, is_nearly_all,
    },
};

/// The kind of a page, the hint of each block, and the page with more prose where it declares its article's.
pub(super) fn judge<'a>(
    page: &mut Measured<'a>,
    declared: &Declared,
    labels: &[Option<Label>],
) -> (PageKind, Vec<Hint>, Measured<'a>) {
    mark_labelled(page, labels);
    let kind = PageKind::of(page, declared);
    let mut weighed = page.clone();
    weighed.weigh(declared);
    let mut hints = credible_hints(&weighed, declared, kind);
    mark_copies(page, &mut hints);
    (kind, hints, weighed)
}

/// Gives a hint to the boxes that start with a line that labels them, unless they are much of the page, and marks lines outside of the article
/// that ask for consent.
fn mark_labelled(page: &mut Measured<'_>, labels: &[Option<Label>]) {
    for (index, &label) in labels.iter().enumerate() {
        let block = page.block_of(index);
        if label == Some(Label::Consent) {
            let is_article = |block: usize| {
                page.blocks[block].marks.has_any([Mark::Body, Mark::Article, Mark::Main])
            };
            let is_text = page.around(block).any(is_article);
            page.blocks[block].marks.set(Mark::Consent, !is_text);
        }
        if label != Some(Label::Section) {
            continue;
        }
        let is_more = |&block: &usize| page.sums[block].bytes > page.segments[index].bytes;
        let Some(labelled) = page.around(block).find(is_more) else { continue };
        let is_much = is_much(page.sums[labelled].prose, page.sums[0].prose);
        if page.blocks[labelled].first == index && !is_much {
            let own = &mut page.blocks[labelled].hint;
            *own = Hint::Aside.max(*own);
        }
    }
}

impl Measured<'_> {
    /// Adds what a declared text is worth to the prose of the lines that have it, unless there is another text beside it, or the page is a list.
    fn weigh(&mut self, declared: &Declared) {
        let Some(found) = declared.find_text(self.writer) else { return };
        let own = self.own_hints();
        let is_contents = |block: usize| {
            self.blocks[block].kind == Kind::List
                && is_half(self.sums[block].linked, self.sums[0].bytes)
        };
        if self.has_text(&own, |prose| prose >= TEXT, None)
            || (0..self.blocks.len()).any(is_contents)
        {
            return;
        }
        let share = |(index, &pieces): (usize, &usize)| {
            let is_text = found.is_excerpt || own[self.block_of(index)] == Hint::None;
            if is_text && self.kind(index) != Kind::Heading { pieces } else { 0 }
        };
        let shares: Vec<usize> = found.pieces.iter().enumerate().map(share).collect();
        let all = shares.iter().sum::<usize>().max(1);
        for (sum, share) in self.segments.iter_mut().zip(shares) {
            sum.prose += ARTICLE * share / all;
        }
        self.sums = self.add_up(|segment| self.segments[segment]);
    }

    /// The hints of the blocks, as their names give them, inherited from what contains them.
    pub(super) fn own_hints(&self) -> Vec<Hint> {
        let mut hints: Vec<Hint> = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            hints.push(hints.get(block.parent).copied().unwrap_or(Hint::None).max(block.hint));
        }
        hints
    }

    /// Whether a container has enough prose of its own, outside of a block, if one is given.
    pub(super) fn has_text(
        &self,
        hints: &[Hint],
        is_enough: impl Fn(usize) -> bool,
        apart_from: Option<usize>,
    ) -> bool {
        let inside = apart_from.map_or(0..0, |block| self.inside(block));
        self.own_prose().iter().enumerate().any(|(block, &own)| {
            is_enough(own)
                && hints[block] == Hint::None
                && self.sums[block].is_free()
                && !inside.contains(&block)
        })
    }

    /// The only article and the only main content of the page, of those without a hint.
    pub(super) fn mains(&self, hints: impl Fn(usize) -> Hint) -> impl Iterator<Item = usize> {
        [Mark::Article, Mark::Main].into_iter().filter_map(move |mark| {
            let is_one = |&block: &usize| self.has(block, mark) && hints(block) == Hint::None;
            let mut all = (1..self.blocks.len()).filter(is_one);
            all.next().filter(|_| all.next().is_none())
        })
    }

    /// What each block has that stands in no block with a stronger hint.
    pub(super) fn shown(&self, hints: &[Hint], strongest: Hint) -> Vec<Sum> {
        self.add_up(|segment| {
            let is_shown = hints[self.block_of(segment)] <= strongest;
            if is_shown { self.segments[segment] } else { Sum::default() }
        })
    }
}

/// The block that is named the body of the page's article. A page with several articles has none.
pub(super) fn named_body(page: &Measured<'_>, hints: &[Hint]) -> Option<usize> {
    let is_body = |&block: &usize| {
        page.has(block, Mark::Body) && hints[block] <= Hint::Teaser && page.sums[block].bytes > 0
    };
    let bodies: Vec<usize> = (1..page.blocks.len()).filter(is_body).collect();
    let &largest = bodies.iter().rev().max_by_key(|&&body| page.sums[body].bytes)?;
    let (inside, outside): (Vec<usize>, Vec<usize>) =
        bodies.iter().partition(|body| page.inside(largest).contains(body));
    if outside.iter().any(|&other| !is_little(page.sums[other].bytes, page.sums[largest].bytes)) {
        return None;
    }
    // The innermost one with most of it. Where hints leave little of it, they are not believed.
    let mut shown = page.shown(hints, Hint::Teaser);
    if !is_half(shown[largest].prose, page.sums[largest].prose) {
        shown.clone_from(&page.sums);
    }
    inside.into_iter().rfind(|&body| is_more(shown[body].bytes, shown[largest].bytes))
}

/// The blocks around the only block that is named an article's body: it is not beside the text, whatever their names say.
fn holders_of_body(page: &Measured<'_>) -> Vec<usize> {
    let is_body = |&block: &usize| {
        page.has(block, Mark::Body)
            && page.blocks[block].hint == Hint::None
            && page.sums[block].bytes > 0
    };
    let mut bodies = (1..page.blocks.len()).filter(is_body);
    let Some(body) = bodies.next() else { return Vec::new() };
    let holders: Vec<usize> = page.around(body).skip(1).collect();
    let is_beside = |&block: &usize| page.has(block, Mark::Beside);
    if bodies.any(|other| other >= page.blocks[body].end) || holders.iter().any(is_beside) {
        return Vec::new();
    }
    holders
}

/// The hint of each block, inherited from its parents. Hints that would drop too much are ignored.
fn credible_hints(page: &Measured<'_>, declared: &Declared, kind: PageKind) -> Vec<Hint> {
    let (blocks, all) = (&page.blocks, &page.sums[0]);
    let mut hints = vec![Hint::None; blocks.len()];
    let holders: HashSet<usize> = holders_of_body(page).into_iter().collect();
    let own = |block: usize| blocks[block].hint;
    // What stands apart from the only `article` or `main` is beside the text, however long it is.
    let main = page.mains(own).next().filter(|&main| page.sums[main].other() >= SENTENCE);
    let (mut comments, mut boilerplate) = (0, 0);
    let alike = named_alike(page);
    let is_text = matches!(kind, PageKind::Article | PageKind::List);
    let weight = |sum: &Sum| sum.prose + sum.bytes.saturating_sub(sum.prose) / FEW;
    for index in 1..blocks.len() {
        let (block, sum) = (blocks[index], page.sums[index]);
        let inherited = hints[block.parent];
        let of_name = alike.get(&(block.parent, block.shape)).unwrap_or(&sum);
        let is_much = is_text
            && of_name.is_free()
            && weight(of_name) >= LEAST
            && is_much(weight(of_name), weight(all));
        let is_greater_part = is_much || (sum.prose >= LEAST && is_half(sum.prose, all.prose));
        let is_card =
            kind == PageKind::Discussion && block.marks.has(Mark::Card) && sum.bytes > SENTENCE;
        let are_reviews = kind == PageKind::Product
            && block.marks.has(Mark::Reviews)
            && block.kind != Kind::Heading;
        hints[index] = inherited.max(match block.hint {
            Hint::None if (is_card || are_reviews) && !is_greater_part => Hint::Aside,
            _ if block.marks.has(Mark::Consent) => Hint::Boilerplate,
            _ if holders.contains(&index) => Hint::None,
            hint if main.is_some_and(|main| page.are_apart(main, index)) => hint,
            Hint::Aside if is_greater_part => Hint::None,
            Hint::Boilerplate if is_greater_part && !sum.is_linked() => Hint::None,
            hint => hint,
        });
        if inherited == Hint::None {
            comments += if hints[index] == Hint::Comments { sum.prose } else { 0 };
            boilerplate += if hints[index] == Hint::Boilerplate { sum.prose } else { 0 };
        }
    }
    let has_parts = is_of_parts(page, &hints, declared, kind);
    ignore_builders(page, has_parts, &mut hints);
    let rest = all.prose - comments - boilerplate;
    if kind != PageKind::List && !has_parts {
        mark_teasers(page, rest, &mut hints);
    }
    if kind == PageKind::Discussion || rest < SHORT {
        for hint in hints.iter_mut().filter(|hint| **hint == Hint::Comments) {
            *hint = Hint::None;
        }
    }
    hints
}

/// What the elements of one name in one parent have together, if the name says that they stand beside the text.
fn named_alike(page: &Measured<'_>) -> HashMap<(usize, u32), Sum> {
    let mut alike: HashMap<(usize, u32), Sum> = HashMap::default();
    for (block, sum) in page.blocks.iter().zip(&page.sums).skip(1) {
        if block.hint != Hint::None && block.shape != 0 {
            *alike.entry((block.parent, block.shape)).or_default() += *sum;
        }
    }
    alike
}

/// Whether the page has no text of its own, but parts or entries, as a landing page does: it declares and shows no text, and nobody comments
/// on it.
fn is_of_parts(page: &Measured<'_>, hints: &[Hint], declared: &Declared, kind: PageKind) -> bool {
    let all = page.sums[0].prose;
    let is_text = |prose: usize| prose >= TEXT || (prose >= LEAST && is_much(prose, all));
    matches!(kind, PageKind::Article | PageKind::List)
        && !declared.says(Declaration::Article)
        && !declared.says(Declaration::Product)
        && page.blocks.iter().all(|block| block.hint != Hint::Comments)
        && !page.has_text(hints, is_text, None)
}

/// Ignores names by which most of the prose of the page, of its named body or of its main content stands beside the text: page builders name
/// every part a widget. A short article between teasers is not such a page, because teasers are links.
fn ignore_builders(page: &Measured<'_>, has_parts: bool, hints: &mut [Hint]) {
    let main = page.mains(|block| hints[block]).next();
    for root in [Some(0), named_body(page, hints), main].into_iter().flatten() {
        let sum = page.sums[root];
        let mut beside = page.outermost(root, |block| hints[block] != Hint::None);
        let prose = |is: &dyn Fn(&Sum) -> bool, blocks: &[usize]| -> usize {
            let sums = blocks.iter().map(|&block| &page.sums[block]);
            sums.filter(|sum| is(sum)).map(|sum| sum.prose).sum()
        };
        let rest = sum.prose - prose(&|_| true, &beside);
        beside.retain(|&block| {
            let sum = page.sums[block];
            hints[block] == Hint::Aside && sum.is_free() && is_half(sum.prose, sum.bytes)
        });
        let prose = prose(&|sum| is_nearly_all(sum.bytes - sum.linked, sum.bytes), &beside);
        let is_most_of_it = is_most(prose, prose + rest) && (root > 0 || rest <= SHORT);
        let is_part = root == 0 && has_parts && !is_little(prose, rest);
        if prose >= PART && (is_most_of_it || is_part) {
            for block in beside {
                let parts = hints[page.inside(block)].iter_mut();
                parts.filter(|hint| **hint == Hint::Aside).for_each(|hint| *hint = Hint::None);
            }
            return;
        }
    }
}

/// Marks what stands in for a script and repeats what the page shows elsewhere, as in pages that were saved after their scripts had run.
fn mark_copies(page: &Measured<'_>, hints: &mut [Hint]) {
    let is_fallback = |block: usize| page.blocks[block].kind == Kind::Fallback;
    if !(0..page.blocks.len()).any(is_fallback) {
        return;
    }
    let (fallbacks, others): (Vec<usize>, Vec<usize>) = (0..page.segments.len())
        .partition(|&index| page.around(page.block_of(index)).any(is_fallback));
    let shown: HashSet<&str> = others.into_iter().map(|index| page.text(index)).collect();
    for copy in fallbacks.into_iter().filter(|&index| shown.contains(page.text(index))) {
        hints[page.block_of(copy)] = Hint::Boilerplate;
    }
}

/// Marks blocks whose headings are all links and whose text is short, unless they are the content of the page.
fn mark_teasers(page: &Measured<'_>, prose: usize, hints: &mut [Hint]) {
    let teasers = page.outermost(0, |block| {
        let sum = page.sums[block];
        hints[block] == Hint::None
            && page.blocks[block].kind != Kind::Heading
            && sum.linked_headings > 0
            && sum.linked_headings == sum.headings
            && sum.prose < PART * sum.headings
            && !is_half(sum.prose, prose)
    });
    let of_teasers: usize = teasers.iter().map(|&teaser| page.sums[teaser].prose).sum();
    let hint = match prose.saturating_sub(of_teasers) {
        rest if rest >= ARTICLE || !is_much(of_teasers, prose) => Hint::Aside,
        rest if rest > of_teasers => Hint::Teaser,
        _ => return,
    };
    for teaser in teasers {
        hints[page.inside(teaser)].fill(hint);
    }
}
