//! The judgement itself, apart from where documents are kept. [`Engine::judge`] has its steps in order.
//!
//! The engine holds index, window and templates in memory. The store of the documents is passed to each call.

use std::cmp::Reverse;

use super::{
    compare::{Comparison, Passage, Side, passages},
    document::{Document, Documents},
    keys::PassageIndex,
    options::Options,
    rule::Rule,
    sketch::{Content, Key, OriginKey},
    store::{Change, Ground, Horizon, JudgeError, Known, Store},
    template::{TemplateChange, TemplateSample, Templates},
    thresholds::Thresholds,
    verdict::{Facts, Judgement, Kind, Match, Previous, Step, Verdict},
    window::{Representative, Window},
};
use crate::{
    fingerprint::{Digest, Fingerprint, Recipe},
    index::{BlockIndex, Candidate, Index},
    page::{DocId, Timestamp},
};
use serde::{Deserialize, Serialize};

/// At most this many representatives are known by one digest. Only versions of one document can be equal, and each of them is looked at
/// when the text comes again. The index has the same limit for equal fingerprints.
const EQUAL_LIMIT: usize = BlockIndex::EQUAL_LIMIT as usize;
/// Representatives that enter the index together when a window is restored.
const BATCH: usize = 1 << 20;
/// A page is compared with at most this many others.
const MOST_COMPARED: usize = 4;

/// A page that is not near enough, and how similar it is.
type Nearest = (DocId, f32);

/// What judges for a [`Filter`](super::Filter): the window and what searches it.
#[derive(Clone, Debug)]
pub(crate) struct Engine<I = BlockIndex> {
    pub(super) index: I,
    pub(crate) window: Window,
    thresholds: Thresholds,
    pub(crate) documents: Documents,
    rule: Rule,
    pub(super) templates: Templates,
    /// `None` if pages are not compared by their content.
    passages: Option<PassageIndex>,
    /// Where it stands; its clock and its oldest representative are those of the window.
    pub(super) position: Position,
    equal_limit: usize,
    /// The digests of the current document that have reached the limit: it is not entered under them.
    at_limit: Vec<Digest>,
    // Buffers, kept for their memory.
    candidates: Vec<Candidate>,
    known: Vec<Known>,
}

/// How two pages compare, the later one first.
#[cfg(feature = "cli")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComparedPages {
    pub(crate) comparison: Comparison,
    pub(crate) rule: Rule,
    pub(crate) passages: [Vec<Passage>; 2],
}

/// How a document is judged, and what is remembered of it.
struct Decided {
    verdict: Verdict,
    facts: Facts,
    /// Its digests that are not known yet.
    new: Vec<Digest>,
    /// If it is unique, the most similar page that it was compared with.
    nearest: Option<Nearest>,
}

/// Where an engine stands, so that another can continue from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The number of the next document.
    pub(crate) next: DocId,
    /// The number of aliases so far.
    pub(crate) aliases: u64,
    /// The window's clock.
    pub(crate) clock: Timestamp,
    /// The oldest representative of the window. Earlier ones have left it and do not come back, even if the next window is larger.
    pub(crate) oldest: DocId,
    /// Documents without an id have got numbers below this one.
    #[serde(default)]
    pub(crate) numbered: u64,
    /// How many exact and near duplicates there were.
    #[serde(default)]
    pub(crate) duplicates: [u64; 2],
    /// How many versions there were without change.
    #[serde(default)]
    pub(crate) unchanged: u64,
}

impl<I: Index> Engine<I> {
    /// An engine with an empty window. It judges documents that were made by this recipe.
    pub(crate) fn new(options: &Options, recipe: Recipe, index: I) -> Self {
        Self {
            index,
            window: Window::new(options.window.clone()),
            thresholds: Thresholds::new(options),
            documents: Documents::new(recipe, options.compares_content()),
            rule: options.rule,
            templates: Templates::default(),
            passages: options.compares_content().then(PassageIndex::default),
            position: Position { next: DocId(1), ..Position::default() },
            equal_limit: EQUAL_LIMIT,
            at_limit: Vec::new(),
            candidates: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Refuses a document that was made by another recipe.
    ///
    /// # Errors
    /// If it was.
    pub(super) fn check(&self, document: &Document) -> Result<(), JudgeError> {
        let is_ours = document.recipe == self.documents.fingerprinter().recipe();
        if is_ours { Ok(()) } else { Err(JudgeError::Recipe) }
    }

    /// Judges a document and remembers it. A version without change does not enter the window again.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn judge<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
    ) -> Result<Judgement, S::Error> {
        self.advance(store, document.at)?;
        let (decided, previous) = self.decide_and_settle(store, document, false)?;
        let mut change = if previous.is_some_and(|it| it.is_unchanged) {
            self.position.unchanged += 1;
            Change::nothing(self.numbered(decided.verdict, decided.facts))
        } else {
            self.add(document, decided)
        };
        change.judgement.previous = previous;
        store.remember(document, &change)?;
        Ok(change.judgement)
    }

    /// Decides on a document for all that share the window; also finds the earlier version of a unique one. `is_looked_at`: nothing is claimed.
    fn decide_and_settle<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
        is_looked_at: bool,
    ) -> Result<(Decided, Option<Previous>), S::Error> {
        let decided = self.decide(store, document)?;
        if !decided.verdict.is_unique() {
            return Ok((decided, None));
        }
        let previous = self.previous(store, document)?;
        if previous.is_some_and(|it| it.is_unchanged) {
            return Ok((decided, previous));
        }
        let decided = self.settle(store, document, decided, is_looked_at)?;
        let previous = previous.filter(|_| decided.verdict.is_unique());
        Ok((decided, previous))
    }

    /// An earlier version of a document in the window, if keys are indexed: the latest one with the same text or bytes, or else the latest.
    fn previous<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
    ) -> Result<Option<Previous>, S::Error> {
        let Some(latest) = self.window.latest(document.key) else { return Ok(None) };
        let text = &document.sketch.text;
        let digests = || document.sketch.body.into_iter().chain(text.digest);
        let mut known = Vec::new();
        for digest in digests() {
            store.known_by(digest, &mut known)?;
        }
        known.retain(|it| it.key == document.key && it.alias.is_none());
        let same = known.iter().filter_map(|it| self.window.get(it.id)).max_by_key(|it| it.id);
        let has_nothing = digests().next().is_none() && latest.signature.is_none();
        if let Some(Representative { id, at, .. }) = same.or(has_nothing.then_some(latest)) {
            return Ok(Some(Previous { id, at, is_unchanged: true, distances: Some((0, 0)) }));
        }
        let signatures = latest.signature.zip(self.thresholds.comparable(text));
        let distances =
            signatures.map(|(a, b)| (a.fingerprint().distance(b.fingerprint()), a.distance(&b)));
        let Representative { id, at, .. } = latest;
        Ok(Some(Previous { id, at, is_unchanged: false, distances }))
    }

    /// Judges a document and remembers nothing. The number is that of the next document.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn peek<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
    ) -> Result<Judgement, S::Error> {
        self.at_limit.clear();
        let (decided, previous) = self.decide_and_settle(store, document, true)?;
        let Decided { verdict, facts, nearest, .. } = decided;
        Ok(Judgement {
            id: self.position.next,
            at: self.window.clock,
            verdict,
            facts,
            nearest,
            previous,
        })
    }

    /// Decides whether a document is a duplicate of one in the window.
    fn decide<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
    ) -> Result<Decided, S::Error> {
        if let Some(body) = document.sketch.body
            && let Some((verdict, facts)) = self.look_up(store, document.key, body, Step::Body)?
        {
            return Ok(Decided { verdict, facts, new: Vec::new(), nearest: None });
        }
        let side = self.content_of(document).map(|content| Side::new(&self.rule, content));
        let template = self.templates.get(document.sketch.origin);
        let thin = match &side {
            Some(side) => side.is_thin(&self.rule, template),
            None => document.sketch.text.features == 0,
        };
        let facts = Facts { thin, ..document.facts() };
        if let Some(text) = document.sketch.text.digest
            && let Some((verdict, _)) = self.look_up(store, document.key, text, Step::Text)?
            && self.is_the_same_page(store, document, side.as_ref(), verdict)?
        {
            let new = Vec::from_iter(document.sketch.body);
            return Ok(Decided { verdict, facts, new, nearest: None });
        }
        let new = document.sketch.body.into_iter().chain(document.sketch.text.digest).collect();
        let (near, nearest) =
            if thin { (None, None) } else { self.near(store, document, side.as_ref())? };
        let verdict = near.map_or(Verdict::Unique, Verdict::Duplicate);
        Ok(Decided { verdict, facts, new, nearest: nearest.filter(|_| near.is_none()) })
    }

    /// Whether a document that is unique here is so for all that share the window.
    fn settle<S: Store>(
        &self,
        store: &mut S,
        document: &Document,
        decided: Decided,
        is_looked_at: bool,
    ) -> Result<Decided, S::Error> {
        let template = self.templates.get(document.sketch.origin);
        let (rule, thresholds, thin) = (&self.rule, &self.thresholds, decided.facts.thin);
        let ground = Ground { rule, thresholds, template, thin };
        Ok(match store.claim(document, &ground, is_looked_at)? {
            // It becomes no alias: its match is not in this window.
            Some(found) => {
                let verdict = Verdict::Duplicate(found);
                Decided { verdict, new: Vec::new(), nearest: None, ..decided }
            }
            None => decided,
        })
    }

    /// The content of a page, if pages are compared by it.
    fn content_of<'a>(&self, document: &'a Document) -> Option<&'a Content> {
        document.sketch.content.as_ref().filter(|_| self.passages.is_some())
    }

    /// Whether a page with the body text of an earlier one is that page: extraction may have missed the content of both.
    fn is_the_same_page<S: Store>(
        &self,
        store: &mut S,
        document: &Document,
        side: Option<&Side<'_>>,
        verdict: Verdict,
    ) -> Result<bool, S::Error> {
        let Some((side, found)) = side.zip(verdict.matched()) else { return Ok(true) };
        let origin = document.sketch.origin;
        let other =
            self.window.get(found.of).filter(|it| it.origin.is_some() && it.origin == origin);
        let Some(other) = other else { return Ok(true) };
        let compared = self.compare(store, (side, origin), &other)?;
        Ok(compared.is_none_or(|it| it.similarity >= self.rule.similarity))
    }

    /// Compares a page of this origin with an earlier one; `None` if that one is not kept.
    fn compare<S: Store>(
        &self,
        store: &mut S,
        (side, origin): (&Side<'_>, Option<OriginKey>),
        other: &Representative,
    ) -> Result<Option<Comparison>, S::Error> {
        let content = store.content(other.id)?;
        Ok(content.map(|it| {
            self.compare_sides([side, &Side::new(&self.rule, &it)], [origin, other.origin])
        }))
    }

    fn compare_sides(
        &self,
        [side, earlier]: [&Side<'_>; 2],
        origins: [Option<OriginKey>; 2],
    ) -> Comparison {
        let templates = origins.map(|origin| self.templates.get(origin));
        let is_one_origin = origins[0].is_some() && origins[0] == origins[1];
        side.compare(&self.rule, earlier, templates, is_one_origin)
    }

    /// Enters a page under its keys. `pages` is the number of pages in the window, without texts.
    pub(crate) fn enter_page(&mut self, id: DocId, keys: &[u64], pages: usize) {
        if let Some(passages) = &mut self.passages {
            passages.insert(id, keys, pages, |id| self.window.still_has(id));
        }
    }

    /// Removes a representative: from now on nothing repeats it. Returns whether it was in the window.
    pub(crate) fn remove(&mut self, id: DocId) -> bool {
        let taken = self.window.take(id);
        if let Some(Representative { signature: Some(_), .. }) = taken {
            self.index.remove(id);
        }
        taken.is_some()
    }

    /// What has left the window by now.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon {
            representative: self.window.horizon(self.position.next),
            alias: self.position.aliases.saturating_sub(self.window.capacity()),
        }
    }

    /// Adds a sample that an earlier engine has learnt from. They come oldest first, without those that are outdated.
    pub(crate) fn add_sample(&mut self, sample: TemplateSample) {
        self.templates.learn(sample);
    }

    /// Takes in representatives of an earlier engine's window. `give` passes them, oldest first, to the function that it is called with.
    /// Returns what `give` returns.
    pub(crate) fn restore<R>(
        &mut self,
        give: impl FnOnce(&mut dyn FnMut(Representative)) -> R,
    ) -> R {
        let mut entering = Vec::new();
        let given = give(&mut |representative| {
            self.window.advance(representative.at);
            self.window.expire();
            self.window.push(&representative);
            let signature = representative.signature;
            entering.extend(signature.map(|it| (representative.id, it.fingerprint())));
            if entering.len() == BATCH {
                self.enter(&mut entering);
            }
        });
        self.enter(&mut entering);
        given
    }

    /// Adds to the index what is still in the window, which it had room for together.
    fn enter(&mut self, entering: &mut Vec<(DocId, Fingerprint)>) {
        let oldest = self.window.horizon(DocId(0));
        self.index.expire(oldest);
        self.index.insert_all(entering.drain(..).filter(|(id, _)| *id >= oldest));
    }

    /// Continues from where an earlier engine stood.
    pub(crate) fn resume(&mut self, position: Position) {
        self.position = position;
        self.window.advance(position.clock);
    }

    /// Where the engine stands.
    pub(crate) fn position(&self) -> Position {
        let oldest = self.window.horizon(self.position.next);
        Position { clock: self.window.clock, oldest, ..self.position }
    }

    /// Moves the clock to a document, and expires what has left the window by then.
    pub(super) fn advance<S: Store>(
        &mut self,
        store: &mut S,
        at: Timestamp,
    ) -> Result<(), S::Error> {
        self.at_limit.clear();
        self.window.advance(at);
        self.window.expire();
        let horizon = self.horizon();
        self.index.expire(horizon.representative);
        store.expire(horizon)
    }

    /// The verdict that a known digest gives, and the facts of the text known by it.
    fn look_up<S: Store>(
        &mut self,
        store: &mut S,
        key: Key,
        digest: Digest,
        step: Step,
    ) -> Result<Option<(Verdict, Facts)>, S::Error> {
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        store.known_by(digest, &mut known)?;
        let horizon = self.horizon();
        let oldest = known
            .iter()
            .filter(|known| self.may_match(known, key, horizon))
            .min_by_key(|known| known.id);
        let found = oldest.map(|known| {
            (Verdict::Duplicate(known.matched_at(step)), known.facts.unwrap_or_default())
        });
        if known.len() >= self.equal_limit && self.is_at_limit(&known) {
            self.at_limit.push(digest);
        }
        self.known = known;
        Ok(found)
    }

    /// Whether as many representatives as allowed are among these: versions of one document, which do not match each other.
    fn is_at_limit(&self, known: &[Known]) -> bool {
        let held = known
            .iter()
            .filter(|known| known.alias.is_none() && self.window.get(known.id).is_some());
        held.count() >= self.equal_limit
    }

    fn may_match(&self, known: &Known, key: Key, horizon: Horizon) -> bool {
        let in_time = known.alias.is_none_or(|alias| alias >= horizon.alias);
        let representative = self.window.get(known.representative());
        in_time
            && known.key != key
            && representative.is_some_and(|representative| representative.key != key)
    }

    /// The page whose content a document repeats. Without content the nearest text that the rule accepts, of equally near ones the oldest:
    /// nearest by signature, or by fingerprint where the rule compares nothing else. Also the most similar page whose content it does not repeat.
    fn near<S: Store>(
        &mut self,
        store: &mut S,
        document: &Document,
        side: Option<&Side<'_>>,
    ) -> Result<(Option<Match>, Option<Nearest>), S::Error> {
        self.candidates.clear();
        if let Some(signature) = self.thresholds.comparable(&document.sketch.text) {
            let radius = self.thresholds.search_radius(document.sketch.text.features);
            self.index.candidates(signature.fingerprint(), radius, &mut self.candidates);
        }
        let (best, nearest) = match side {
            Some(side) => self.near_by_content(store, document, side)?,
            None => (None, None),
        };
        Ok((best.or_else(|| self.near_by_text(document)), nearest))
    }

    /// The most similar page that a document repeats, of several the oldest; and the most similar one that it does not.
    fn near_by_content<S: Store>(
        &self,
        store: &mut S,
        document: &Document,
        side: &Side<'_>,
    ) -> Result<(Option<Match>, Option<Nearest>), S::Error> {
        let (mut best, mut nearest) = (None::<Match>, None::<Nearest>);
        for other in self.to_compare(document) {
            let id = other.id;
            // Nothing later is better than equal content.
            if best.is_some_and(|best| best.similarity >= 1.0 && best.of < id) {
                continue;
            }
            let found = self.compare(store, (side, document.sketch.origin), &other)?;
            let Some(found) = found.filter(|it| it.shared >= self.rule.shared) else { continue };
            let signatures = [other.signature.unwrap_or_default(), document.sketch.text.signature];
            let near = Match::of_pages(id, signatures, &found);
            let order = |it: &Match| (it.similarity, Reverse(it.of));
            if found.repeats(&self.rule) {
                best = best.filter(|best| order(best) >= order(&near)).or(Some(near));
            } else if nearest.is_none_or(|(_, most)| most < near.similarity) {
                nearest = Some((id, near.similarity));
            }
        }
        Ok((best, nearest))
    }

    /// The pages with which one is compared, in this order. Each is the one with most of the keys that no page before it has: what several pages
    /// share, the furniture of a site, is looked at once, and leaves room for those that share something else. The fingerprint is a key.
    fn to_compare(&self, document: &Document) -> Vec<Representative> {
        let fingerprint = document.searched.len();
        let mut held: Vec<(DocId, usize)> =
            self.candidates.iter().map(|it| (it.id, fingerprint)).collect();
        if let Some(passages) = &self.passages {
            let is_known = |id| self.window.still_has(id);
            passages.find(&document.searched, self.position.next, is_known, &mut held);
        }
        held.sort_unstable();
        let mut pages: Vec<_> = held
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|keys| {
                let page = self.window.get(keys[0].0)?;
                (page.has_content && page.key != document.key).then_some((page, keys))
            })
            .collect();
        let mut is_new = vec![true; fingerprint + 1];
        let mut found = Vec::new();
        while found.len() < MOST_COMPARED {
            let order = |(page, keys): &(Representative, &[(DocId, usize)])| {
                (keys.iter().filter(|it| is_new[it.1]).count(), keys.len(), Reverse(page.id))
            };
            let most = (0..pages.len()).max_by_key(|&place| order(&pages[place]));
            let Some((page, keys)) = most.map(|most| pages.swap_remove(most)) else { break };
            for &(_, key) in keys {
                is_new[key] = false;
            }
            found.push(page);
        }
        found
    }

    /// What two pages have in common and apart, the later page first, if the filter compares pages.
    #[cfg(feature = "cli")]
    pub(crate) fn compare_pages(&self, pages: [&Document; 2]) -> Option<ComparedPages> {
        let [later, earlier] = [self.content_of(pages[0])?, self.content_of(pages[1])?];
        let sides = [later, earlier].map(|content| Side::new(&self.rule, content));
        let origins = pages.map(|page| page.sketch.origin);
        let comparison = self.compare_sides([&sides[0], &sides[1]], origins);
        let templates = origins.map(|origin| self.templates.get(origin));
        let passages =
            passages(&self.rule, [&sides[0], &sides[1]], templates, comparison.is_one_origin);
        Some(ComparedPages { comparison, rule: self.rule, passages })
    }

    /// The nearest candidate that the rule for texts accepts. Two pages are compared by their content only.
    fn near_by_text(&self, document: &Document) -> Option<Match> {
        let has_content = self.content_of(document).is_some();
        let signature = self.thresholds.comparable(&document.sketch.text)?;
        let mut accepted = self.candidates.iter().filter_map(|&candidate| {
            let other = self.window.get(candidate.id).filter(|other| other.key != document.key)?;
            if has_content && other.has_content {
                return None;
            }
            let of_other = other.signature?;
            let is_near = self.thresholds.confirms(&of_other, &document.sketch.text);
            is_near.then(|| Match::near(candidate.id, [of_other, signature]))
        });
        if self.thresholds.confirms_by_signature() {
            accepted.min_by_key(|found| (found.signature_distance, found.of))
        } else {
            // Candidates come in the order of their fingerprints' distances.
            accepted.next()
        }
    }

    /// Remembers a document that was decided on.
    fn add(&mut self, document: &Document, decided: Decided) -> Change {
        let Decided { verdict, facts, new, nearest } = decided;
        let mut change = match verdict {
            Verdict::Unique => self.add_representative(document, facts, new),
            Verdict::Duplicate(_) => self.add_duplicate(verdict, facts, new),
        };
        change.judgement.nearest = nearest;
        change
    }

    /// Enters a unique document into the window and the indexes.
    fn add_representative(
        &mut self,
        document: &Document,
        facts: Facts,
        mut digests: Vec<Digest>,
    ) -> Change {
        let id = self.position.next;
        digests.retain(|digest| !self.at_limit.contains(digest));
        // A fingerprint that the index refuses is not compared later either, so that a restored window is the same.
        let signature = self
            .thresholds
            .comparable(&document.sketch.text)
            .filter(|signature| self.index.insert(id, signature.fingerprint()));
        let representative = Representative {
            id,
            at: self.window.clock,
            key: document.key,
            origin: document.sketch.origin,
            signature,
            has_content: self.content_of(document).is_some(),
        };
        self.window.push(&representative);
        if representative.has_content {
            self.enter_page(id, &document.sketch.keys, self.window.pages);
        }
        let template = self.learn(document);
        let judgement = self.numbered(Verdict::Unique, facts);
        let representative = Some(representative);
        Change { digests, representative, template, ..Change::nothing(judgement) }
    }

    /// Counts a duplicate. With digests that were not known yet it becomes an alias.
    pub(super) fn add_duplicate(
        &mut self,
        verdict: Verdict,
        facts: Facts,
        digests: Vec<Digest>,
    ) -> Change {
        let alias = (!digests.is_empty()).then_some(self.position.aliases);
        self.position.aliases += u64::from(alias.is_some());
        Change { digests, alias, ..Change::nothing(self.numbered(verdict, facts)) }
    }

    /// Learns from a unique page, before it gets its number. Copies teach nothing.
    fn learn(&mut self, document: &Document) -> Option<TemplateChange> {
        let (origin, content) = document.sketch.origin.zip(self.content_of(document))?;
        let sample = self.templates.sample(self.position.next, document.key, origin, content)?;
        let outdated = self.templates.learn(sample.clone());
        Some(TemplateChange { sample, outdated })
    }

    /// Gives the document its number.
    fn numbered(&mut self, verdict: Verdict, facts: Facts) -> Judgement {
        let id = self.position.next;
        self.position.next = DocId(id.0 + 1);
        if let Some(found) = verdict.matched() {
            self.position.duplicates[usize::from(found.kind == Kind::Near)] += 1;
        }
        Judgement { id, at: self.window.clock, verdict, facts, nearest: None, previous: None }
    }
}

#[cfg(test)]
impl<I: Index> Engine<I> {
    /// The same with another limit of the representatives that are known by one digest.
    pub(crate) fn bounded(mut self, equal_limit: std::num::NonZeroU32) -> Self {
        self.equal_limit = equal_limit.get() as usize;
        self
    }

    /// The representatives in the window, oldest first.
    pub(crate) fn representatives(&self) -> impl Iterator<Item = Representative> {
        self.window.iter()
    }
}
