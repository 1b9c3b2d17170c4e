//! The judgement itself: [`Filter::judge`] has its steps in order.
//!
//! The engine holds index, digests, window and templates in memory; the store has what is kept of the documents.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{
    Filter,
    compare::{Comparison, Passage, Side, passages},
    document::{Document, Documents},
    keys::PassageIndex,
    options::Options,
    rule::Rule,
    sketch::{Content, Key, OriginKey},
    store::{Change, Ground, JudgeError, Known, Store},
    template::Templates,
    thresholds::Thresholds,
    verdict::{Facts, Judgement, Kind, Match, Previous, Step, Verdict},
    window::{HashIndex, Horizon, Representative, Window},
};
use crate::{
    fingerprint::{Digest, Recipe, Sketch as TextSketch},
    index::{BlockIndex, Candidate, Index},
    page::{DocId, Timestamp},
};

/// At most this many representatives are known by one digest. Only versions of one document can be equal, and each of them is looked at
/// when the text comes again. The index has the same limit for equal fingerprints.
const EQUAL_LIMIT: usize = BlockIndex::EQUAL_LIMIT as usize;
/// Representatives that enter the index together when a window is restored.
const BATCH: usize = 1 << 20;
/// A page is compared with at most this many others.
const MOST_COMPARED: usize = 4;

/// A page that is not near enough, and how similar it is.
type Nearest = (DocId, f32);

/// What judges for a [`Filter`]: the window and what searches it.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(super) index: BlockIndex,
    pub(crate) window: Window,
    pub(super) digests: HashIndex,
    thresholds: Thresholds,
    pub(crate) documents: Documents,
    pub(crate) templates: Templates,
    passages: PassageIndex,
    /// Where it stands; its clock and its oldest representative are those of the window.
    pub(super) position: Position,
    pub(super) equal_limit: usize,
}

/// How two pages compare, the later one first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComparedPages {
    pub(crate) comparison: Comparison,
    pub(crate) rule: Rule,
    pub(crate) passages: [Vec<Passage>; 2],
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

impl<S: Store> Filter<S> {
    /// Judges a document and remembers it. A durable filter does so as part of the open transaction, and begins one if there is none. If
    /// [keys are indexed](Self::index_keys), a version without change does not enter the window again.
    ///
    /// # Errors
    /// If the document was made for a filter with another recipe: nothing has changed then. If the store cannot be read or written, or an
    /// earlier call failed; memory has no such errors.
    pub fn judge(&mut self, document: &Document) -> Result<Judgement, S::Error> {
        self.engine.check(document)?;
        self.store.begin()?;
        self.advance(document.at);
        let (judgement, new) = self.decide(document, false)?;
        let digests = if judgement.is_new() { self.below_limit(new)? } else { new };
        let change = self.engine.enter(document, judgement, digests);
        self.store.remember(document, &change)?;
        self.store.end();
        Ok(change.judgement)
    }

    /// Judges a document and remembers nothing. The number is that of the next document.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub fn peek(&mut self, document: &Document) -> Result<Judgement, S::Error> {
        self.engine.check(document)?;
        self.store.check()?;
        self.decide(document, true).map(|(judgement, _)| judgement)
    }

    /// Remembers that a document repeats one that is not in the window, and nothing else of it.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub(crate) fn repeat(
        &mut self,
        document: &Document,
        found: Match,
        facts: Facts,
    ) -> Result<Judgement, S::Error> {
        self.store.begin()?;
        self.advance(document.at);
        let judgement = self.engine.judgement(Verdict::Duplicate(found), facts);
        let change = self.engine.enter(document, judgement, Vec::new());
        self.store.remember(document, &change)?;
        self.store.end();
        Ok(change.judgement)
    }

    /// Removes a unique document: from now on nothing repeats it. Returns whether it was in the window.
    ///
    /// # Errors
    /// If the store cannot be written, or an earlier call failed; memory has no such errors.
    pub fn remove(&mut self, id: DocId) -> Result<bool, S::Error> {
        self.store.begin()?;
        let was_there = self.engine.remove(id);
        if was_there {
            self.store.forget(id)?;
        }
        self.store.end();
        Ok(was_there)
    }

    /// Moves the clock to a document, and expires what has left the window by then.
    fn advance(&mut self, at: Timestamp) {
        self.engine.window.advance(at);
        self.engine.window.expire();
        let horizon = self.engine.horizon();
        self.engine.index.expire(horizon.representative);
        self.engine.digests.expire(horizon);
        self.store.expire(horizon);
    }

    /// The judgement of a document by all that share the window, and its digests that are not known yet. `is_looked_at`: nothing is claimed.
    fn decide(
        &mut self,
        document: &Document,
        is_looked_at: bool,
    ) -> Result<(Judgement, Vec<Digest>), S::Error> {
        let (mut judgement, new) = self.decide_alone(document)?;
        if judgement.verdict.is_unique() {
            judgement.previous = self.previous(document)?;
        }
        if !judgement.is_new() {
            return Ok((judgement, new));
        }
        let template = self.engine.templates.get(document.sketch.origin);
        let thresholds = &self.engine.thresholds;
        let ground = Ground { thresholds, template, thin: judgement.facts.thin };
        let found = self.store.claim(document, &ground, is_looked_at)?;
        let Some(found) = found else { return Ok((judgement, new)) };
        // It becomes no alias: its match is not in this window.
        Ok((self.engine.judgement(Verdict::Duplicate(found), judgement.facts), Vec::new()))
    }

    /// Whether a document is a duplicate of one in this window. Also returns its digests that are not known yet.
    fn decide_alone(&self, document: &Document) -> Result<(Judgement, Vec<Digest>), S::Error> {
        let (engine, rule) = (&self.engine, &self.engine.thresholds.rule);
        let (key, sketch) = (document.key, &document.sketch);
        if let Some(body) = sketch.body
            && let Some((found, facts)) = self.look_up(key, body, Step::Body)?
        {
            return Ok((engine.judgement(Verdict::Duplicate(found), facts), Vec::new()));
        }
        let side = engine.content_of(document).map(|content| engine.side(content, sketch.origin));
        let thin = side.as_ref().map_or(sketch.text.features == 0, |it| it.is_thin(rule));
        let facts = Facts { thin, ..document.facts() };
        if let Some(text) = sketch.text.digest
            && let Some((found, _)) = self.look_up(key, text, Step::Text)?
            && self.is_the_same_page(side.as_ref(), &found)?
        {
            let new = Vec::from_iter(sketch.body);
            return Ok((engine.judgement(Verdict::Duplicate(found), facts), new));
        }
        let new = sketch.body.into_iter().chain(sketch.text.digest).collect();
        if thin {
            return Ok((engine.judgement(Verdict::Unique, facts), new));
        }
        let candidates = engine.candidates(&sketch.text);
        let (near, nearest) = match &side {
            Some(side) => self.near_by_content(document, side, &candidates)?,
            None => (None, None),
        };
        let near = near.or_else(|| engine.near_by_text(document, &candidates));
        let judgement = engine.judgement(near.map_or(Verdict::Unique, Verdict::Duplicate), facts);
        Ok((Judgement { nearest: nearest.filter(|_| near.is_none()), ..judgement }, new))
    }

    /// An earlier version of a document in the window, if keys are indexed: the latest one with the same text or bytes, or else the latest.
    fn previous(&self, document: &Document) -> Result<Option<Previous>, S::Error> {
        let window = &self.engine.window;
        let Some(latest) = window.latest(document.key) else { return Ok(None) };
        let text = &document.sketch.text;
        let digests: Vec<_> = document.sketch.body.into_iter().chain(text.digest).collect();
        let mut same = None;
        for digest in &digests {
            let known = self.known(*digest)?;
            let known = known.iter().filter(|it| it.key == document.key && it.alias.is_none());
            same = known.filter_map(|it| window.get(it.id)).chain(same).max_by_key(|it| it.id);
        }
        let has_nothing = digests.is_empty() && latest.signature().is_none();
        let same = same.or(has_nothing.then_some(latest));
        let signatures = latest.signature().zip(self.engine.thresholds.comparable(text));
        let apart =
            signatures.map(|(a, b)| (a.fingerprint().distance(b.fingerprint()), a.distance(&b)));
        let (is_unchanged, of) = (same.is_some(), same.unwrap_or(latest));
        let distances = if is_unchanged { Some((0, 0)) } else { apart };
        Ok(Some(Previous { id: of.id, at: of.at, is_unchanged, distances }))
    }

    /// The documents that are known by a digest, oldest first. Some of them may have left the window.
    fn known(&self, digest: Digest) -> Result<Vec<Known>, S::Error> {
        let found = self.engine.known_by(digest).into_iter();
        found.filter_map(|id| self.store.known(id, digest).transpose()).collect()
    }

    /// The oldest match that a known digest gives, and the facts of the text known by it.
    fn look_up(
        &self,
        key: Key,
        digest: Digest,
        step: Step,
    ) -> Result<Option<(Match, Facts)>, S::Error> {
        let (known, horizon) = (self.known(digest)?, self.engine.horizon());
        let oldest = known.into_iter().find(|it| {
            let in_time = it.alias.is_none_or(|alias| alias >= horizon.alias);
            let of = self.engine.window.get(it.representative());
            in_time && it.key != key && of.is_some_and(|of| of.key != key)
        });
        Ok(oldest.map(|known| (known.matched_at(step), known.facts.unwrap_or_default())))
    }

    /// Of these digests those by which fewer representatives are known than may be: versions of one document, which do not match each other.
    fn below_limit(&self, digests: Vec<Digest>) -> Result<Vec<Digest>, S::Error> {
        let Engine { window, equal_limit, .. } = &self.engine;
        let mut below = Vec::new();
        for digest in digests {
            let mut held = self.engine.known_by(digest).len();
            if held >= *equal_limit {
                let known = self.known(digest)?.into_iter();
                held = known.filter(|it| it.alias.is_none() && window.get(it.id).is_some()).count();
            }
            below.extend((held < *equal_limit).then_some(digest));
        }
        Ok(below)
    }

    /// Whether a page with the body text of an earlier one is that page: extraction may have missed the content of both.
    fn is_the_same_page(&self, side: Option<&Side<'_>>, found: &Match) -> Result<bool, S::Error> {
        let Engine { window, thresholds, .. } = &self.engine;
        let Some((side, other)) = side.zip(window.get(found.of)) else { return Ok(true) };
        if other.origin.is_none() || other.origin != side.origin {
            return Ok(true);
        }
        let compared = self.compare(side, &other)?;
        Ok(compared.is_none_or(|it| it.similarity >= thresholds.rule.similarity))
    }

    /// Compares a page with an earlier one; `None` if that one is not kept.
    fn compare(
        &self,
        side: &Side<'_>,
        other: &Representative,
    ) -> Result<Option<Comparison>, S::Error> {
        let engine = &self.engine;
        let content = self.store.content(other.id)?;
        Ok(content.map(|it| side.compare(&engine.thresholds.rule, &engine.side(&it, other.origin))))
    }

    /// The most similar page that a document repeats, of several the oldest; and the most similar one that it does not.
    fn near_by_content(
        &self,
        document: &Document,
        side: &Side<'_>,
        candidates: &[Candidate],
    ) -> Result<(Option<Match>, Option<Nearest>), S::Error> {
        let rule = &self.engine.thresholds.rule;
        let (mut best, mut nearest) = (None::<Match>, None::<Nearest>);
        for other in self.engine.to_compare(document, candidates) {
            // Nothing later is better than equal content.
            if best.is_some_and(|best| best.similarity >= 1.0 && best.of < other.id) {
                continue;
            }
            let found = self.compare(side, &other)?.filter(|it| it.shared >= rule.shared);
            let Some(found) = found else { continue };
            let pair = [other.signature().unwrap_or_default(), document.sketch.text.signature];
            let near = Match::near(other.id, pair, Some(&found));
            let order = |it: &Match| (it.similarity, Reverse(it.of));
            if found.repeats(rule) {
                best = best.filter(|best| order(best) >= order(&near)).or(Some(near));
            } else if nearest.is_none_or(|(_, most)| most < near.similarity) {
                nearest = Some((other.id, near.similarity));
            }
        }
        Ok((best, nearest))
    }
}

impl Engine {
    /// An engine with an empty window. It judges documents that were made by this recipe.
    pub(crate) fn new(options: &Options, recipe: Recipe, index: BlockIndex) -> Self {
        Self {
            index,
            window: Window::new(options.window.clone()),
            digests: HashIndex::default(),
            thresholds: Thresholds::new(options),
            documents: Documents::new(recipe, options.compares_content()),
            templates: Templates::default(),
            passages: PassageIndex::default(),
            position: Position { next: DocId(1), ..Position::default() },
            equal_limit: EQUAL_LIMIT,
        }
    }

    /// Refuses a document that was made by another recipe.
    fn check(&self, document: &Document) -> Result<(), JudgeError> {
        let is_ours = document.recipe == self.documents.fingerprinter().recipe();
        if is_ours { Ok(()) } else { Err(JudgeError::Recipe) }
    }

    /// The judgement of the next document.
    fn judgement(&self, verdict: Verdict, facts: Facts) -> Judgement {
        let (id, at) = (self.position.next, self.window.clock);
        Judgement { id, at, verdict, facts, nearest: None, previous: None }
    }

    /// The content of a page, if pages are compared by it.
    fn content_of<'a>(&self, document: &'a Document) -> Option<&'a Content> {
        document.sketch.content.as_ref().filter(|_| self.documents.reads_content)
    }

    /// A page that is compared.
    fn side<'a>(&'a self, content: &'a Content, origin: Option<OriginKey>) -> Side<'a> {
        Side::new(&self.thresholds.rule, content, origin, self.templates.get(origin))
    }

    /// The documents whose fingerprints are near to that of a text.
    fn candidates(&self, text: &TextSketch) -> Vec<Candidate> {
        let (mut candidates, thresholds) = (Vec::new(), &self.thresholds);
        if let Some(signature) = thresholds.comparable(text) {
            // A fingerprint is the beginning of a signature, so it differs in no more bits.
            let radius = thresholds.radius().min(thresholds.signature_radius(text.features));
            self.index.candidates(signature.fingerprint(), radius, &mut candidates);
        }
        candidates
    }

    /// The pages with which one is compared, in this order. Each is the one with most of the keys that no page before it has: what several pages
    /// share, the furniture of a site, is looked at once, and leaves room for those that share something else. The fingerprint is a key.
    fn to_compare(&self, document: &Document, candidates: &[Candidate]) -> Vec<Representative> {
        let fingerprint = document.searched.len();
        let mut held: Vec<_> = candidates.iter().map(|it| (it.id, fingerprint)).collect();
        let is_known = |id| self.window.still_has(id);
        self.passages.find(&document.searched, self.position.next, is_known, &mut held);
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
    pub(crate) fn compare_pages(&self, pages: [&Document; 2]) -> Option<ComparedPages> {
        let side = |page| Some(self.side(self.content_of(page)?, page.sketch.origin));
        let [later, earlier] = [side(pages[0])?, side(pages[1])?];
        let rule = self.thresholds.rule;
        let comparison = later.compare(&rule, &earlier);
        let passages = passages(&rule, [&later, &earlier]);
        Some(ComparedPages { comparison, rule, passages })
    }

    /// The nearest text that the rule accepts, of equally near ones the oldest: nearest by signature, or by fingerprint where the rule compares nothing
    /// else. Two pages are compared by their content only.
    fn near_by_text(&self, document: &Document, candidates: &[Candidate]) -> Option<Match> {
        let has_content = self.content_of(document).is_some();
        let signature = self.thresholds.comparable(&document.sketch.text)?;
        let mut accepted = candidates.iter().filter_map(|&candidate| {
            let other = self.window.get(candidate.id).filter(|other| other.key != document.key)?;
            if has_content && other.has_content {
                return None;
            }
            let of_other = other.signature()?;
            let is_near = self.thresholds.confirms(&of_other, &document.sketch.text);
            is_near.then(|| Match::near(candidate.id, [of_other, signature], None))
        });
        if self.thresholds.confirms_by_signature() {
            accepted.min_by_key(|found| (found.signature_distance, found.of))
        } else {
            // Candidates come in the order of their fingerprints' distances.
            accepted.next()
        }
    }

    /// Counts a document that was judged, and enters it: a new one into the window and the indexes, a duplicate with digests that are not known
    /// yet as an alias.
    fn enter(&mut self, document: &Document, judgement: Judgement, digests: Vec<Digest>) -> Change {
        let id = judgement.id;
        let mut change =
            Change { judgement, digests, alias: None, representative: None, template: None };
        match judgement.verdict {
            Verdict::Unique if judgement.is_new() => {
                change.representative = Some(self.enter_representative(id, document));
                // Copies teach nothing.
                let page = document.sketch.origin.zip(self.content_of(document));
                change.template = page.and_then(|(origin, content)| {
                    self.templates.learn(id, document.key, origin, content)
                });
            }
            Verdict::Unique => {
                change.digests.clear();
                self.position.unchanged += 1;
            }
            Verdict::Duplicate(found) => {
                self.position.duplicates[usize::from(found.kind == Kind::Near)] += 1;
                change.alias = (!change.digests.is_empty()).then_some(self.position.aliases);
                self.position.aliases += u64::from(change.alias.is_some());
            }
        }
        self.enter_digests(&change.digests, id, change.alias);
        self.position.next = DocId(id.0 + 1);
        change
    }

    /// Enters a unique document into the window and the indexes.
    fn enter_representative(&mut self, id: DocId, document: &Document) -> Representative {
        // A fingerprint that the index refuses is not compared later either, so that a restored window is the same.
        let signature = self
            .thresholds
            .comparable(&document.sketch.text)
            .filter(|signature| self.index.insert(id, signature.fingerprint()));
        let clock = self.window.clock;
        let mut representative = Representative::new(id, clock, document.key, signature);
        representative.origin = document.sketch.origin;
        representative.has_content = self.content_of(document).is_some();
        self.window.push(&representative);
        if representative.has_content {
            self.enter_page(id, &document.sketch.keys, self.window.pages);
        }
        representative
    }

    /// Enters a document under its digests; `alias` is its number among aliases.
    pub(crate) fn enter_digests(&mut self, digests: &[Digest], id: DocId, alias: Option<u64>) {
        for digest in digests {
            self.digests.insert(hash_of(*digest), id, alias);
        }
    }

    /// The documents that may be known by a digest, oldest first.
    pub(crate) fn known_by(&self, digest: Digest) -> Vec<DocId> {
        self.digests.find(hash_of(digest))
    }

    /// Enters a page under its keys. `pages` is the number of pages in the window, without texts.
    pub(crate) fn enter_page(&mut self, id: DocId, keys: &[u64], pages: usize) {
        if self.documents.reads_content {
            self.passages.insert(id, keys, pages, |id| self.window.still_has(id));
        }
    }

    /// Removes a representative: from now on nothing repeats it. Returns whether it was in the window.
    pub(crate) fn remove(&mut self, id: DocId) -> bool {
        let taken = self.window.take(id);
        if taken.is_some_and(|it| it.signature().is_some()) {
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

    /// Takes in a representative of an earlier engine's window. They come oldest first.
    pub(crate) fn restore(&mut self, representative: &Representative) {
        self.window.advance(representative.at);
        self.window.expire();
        self.window.push(representative);
    }

    /// Continues from where an earlier engine stood, after its window was restored; unless that is `cancelled` meanwhile.
    pub(crate) fn resume(&mut self, position: Position, cancelled: impl Fn() -> bool) {
        self.position = position;
        self.window.advance(position.clock);
        // What was taken out before is not known any more.
        let Position { oldest, next, .. } = position;
        self.window.taken = Some(oldest).filter(|&oldest| oldest < self.window.horizon(next));
        let signed = self.window.iter().filter_map(|it| Some((it.id, it.signature()?)));
        let mut entering = signed.map(|(id, signature)| (id, signature.fingerprint())).peekable();
        while entering.peek().is_some() && !cancelled() {
            self.index.insert_all(entering.by_ref().take(BATCH));
        }
    }

    /// Where the engine stands.
    pub(crate) fn position(&self) -> Position {
        let oldest = self.horizon().representative;
        Position { clock: self.window.clock, oldest, ..self.position }
    }
}

/// By which a digest is found.
fn hash_of(Digest(bytes): Digest) -> u64 {
    u64::from_le_bytes(bytes.as_chunks().0[0])
}
