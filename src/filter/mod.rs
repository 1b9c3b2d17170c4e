//! Decides which earlier document, if any, a new one repeats or nearly repeats.
//!
//! Sits between [`crate::fingerprint`] and whatever stores documents. A cascade whose steps grow dearer, and the first that decides
//! ends it: the digest of the body, the digest of the text, the fingerprints near by in the index, and the confirmation of these
//! by the whole signature. Knows nothing of URLs, HTML, policy or the network: whose document it is says an opaque [`Key`].
//!
//! Three rules make it sound. *Only unique documents are matched*: a duplicate's digests become aliases of the document that it
//! repeats, so that groups are stars and never chains. *A document never matches an earlier version of itself*: what has the
//! same key is passed over. *A text of few features is judged by equality only*: its fingerprint would say too little.
//!
//! Of equal versions of one document, which do not match each other, the oldest 256 in the window are known by their digests, as an index
//! holds 256 equal fingerprints. Should all of these leave while later ones stay, a text like theirs is not found until it comes again.
//!
//! Verdicts depend on the documents and their order alone. A filter judges on one thread; documents may be fingerprinted on many.
//! Representatives leave the window in the order of their numbers.
//!
//! What all pages of a site have in common makes them no duplicates of each other: the filter learns each site's template from its unique
//! pages, and confirms candidates of the same site the more strictly the larger a part of the text it is (`templates.rs`, `rule.rs`).
//! It never makes a verdict less strict, and what one site shows says nothing of another's pages.

mod digests;
mod document;
mod learning;
#[cfg(test)]
pub(crate) mod model;
mod near;
mod options;
mod queue;
mod radius;
mod representative;
mod restore;
mod rule;
mod steady;
mod stream;
mod templates;
mod verdict;
mod window;

#[cfg(test)]
mod tests;

use crate::{
    fingerprint::Digest,
    index::{BlockIndex, Candidate, Index},
    page::{DocId, Timestamp},
};

pub use digests::{Digests, Horizon, Known, MemoryDigests};
pub use document::{Document, Key};
pub use learning::Taught;
pub use options::{Links, MemoryError, Mode, Options, Policy, Store, WindowError};
pub use radius::{Radius, RadiusError};
#[cfg(feature = "crawl")]
pub(crate) use representative::Packed;
pub use representative::Representative;
pub use restore::Position;
pub use rule::Rule;
pub use stream::{Judged, NearDupExt};
pub(crate) use templates::Bounds;
use templates::Templates;
pub use templates::{Blocks, Lesson, Outdated, Share, Site};
pub use verdict::{Facts, Judgement, Kind, Match, Step, Verdict};
use window::Window;
pub use window::WindowOptions;

/// Of so many representatives with one digest, which only versions of one document can be, later ones are not known by it, as with the
/// equal fingerprints of an index: each would be looked at whenever the text comes again.
const EQUAL_LIMIT: usize = BlockIndex::EQUAL_LIMIT as usize;

/// The duplicate filter: judges documents in the order of their arrival, and remembers the unique ones of the window.
#[derive(Clone, Debug)]
pub struct Filter<I = BlockIndex, D = MemoryDigests> {
    index: I,
    digests: D,
    window: Window,
    rule: Rule,
    /// None if they are switched off.
    templates: Option<Templates>,
    /// What the document that was judged last has taught about its site's template.
    taught: Option<Taught>,
    /// The number of the next document.
    next: DocId,
    /// How many aliases there ever were.
    aliases: u64,
    /// Of so many representatives with one digest, later ones are not known by it.
    equal_limit: usize,
    /// The digests of the document that is judged of which there are too many representatives: it is not entered under them.
    crowded: Vec<Digest>,
    // Kept for their memory only.
    candidates: Vec<Candidate>,
    known: Vec<Known>,
}

impl Filter {
    /// An empty filter that keeps everything in memory.
    ///
    /// # Errors
    /// If the memory of `options` has no room for their window, or the system refuses it.
    pub fn new(options: &Options) -> Result<Self, WindowError> {
        let index = options.index_beside_digests()?;
        Ok(Self::with(options, index, MemoryDigests::default()))
    }
}

impl<I: Index, D: Digests> Filter<I, D> {
    /// An empty filter over an index and a table of digests of the caller's.
    pub fn with(options: &Options, index: I, digests: D) -> Self {
        Self {
            index,
            digests,
            window: Window::new(options.window.clone()),
            rule: Rule::new(options),
            templates: options.knows_templates().then(|| Templates::new(Bounds::default())),
            taught: None,
            next: DocId(1),
            aliases: 0,
            equal_limit: EQUAL_LIMIT,
            crowded: Vec::new(),
            candidates: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Judges a document and remembers it.
    ///
    /// # Errors
    /// If the table of digests fails; in memory it cannot.
    pub fn judge(&mut self, subject: &Document) -> Result<Judgement, D::Error> {
        self.advance(subject.at)?;
        self.taught = None;
        if let Some(body) = subject.body
            && let Some(judgement) = self.known_body(subject.key, body)?
        {
            return Ok(judgement);
        }
        let facts = subject.facts();
        if let Some(text) = subject.sketch.digest
            && let Some((verdict, _)) = self.look_up(subject.key, text, Step::Text)?
        {
            self.remember_alias(subject, subject.body.as_slice(), verdict)?;
            return Ok(self.number(verdict, facts));
        }
        let digests: Vec<Digest> = subject.body.into_iter().chain(subject.sketch.digest).collect();
        let Some(found) = self.near(subject) else {
            self.remember_representative(subject, &digests)?;
            self.learn(subject);
            return Ok(self.number(Verdict::Unique, facts));
        };
        let verdict = Verdict::Duplicate(found);
        self.remember_alias(subject, &digests, verdict)?;
        Ok(self.number(verdict, facts))
    }

    /// The match of a document by its body alone, if the body is known. Nothing is remembered.
    ///
    /// # Errors
    /// If the table of digests fails; in memory it cannot.
    pub fn peek_body(
        &mut self,
        key: Key,
        body: Digest,
        at: Timestamp,
    ) -> Result<Option<Match>, D::Error> {
        self.advance(at)?;
        let found = self.look_up(key, body, Step::Body)?;
        Ok(found.and_then(|(verdict, _)| verdict.matched().copied()))
    }

    /// Judges a document by its body alone: `None`, and nothing is remembered, unless the body is known. What is
    /// then told of its text is what is known of the text of that body.
    ///
    /// # Errors
    /// If the table of digests fails; in memory it cannot.
    pub fn judge_body(
        &mut self,
        key: Key,
        body: Digest,
        at: Timestamp,
    ) -> Result<Option<Judgement>, D::Error> {
        self.advance(at)?;
        self.taught = None;
        self.known_body(key, body)
    }

    /// Removes a representative: from now on nothing repeats it. Returns whether it was in the window.
    pub fn remove(&mut self, id: DocId) -> bool {
        let taken = self.window.take(id);
        if let Some(Representative { signature: Some(_), .. }) = taken {
            self.index.remove(id);
        }
        taken.is_some()
    }

    /// What has left the window by now.
    pub fn horizon(&self) -> Horizon {
        Horizon {
            representative: self.window.horizon(self.next),
            alias: self.aliases.saturating_sub(self.window.capacity()),
        }
    }

    /// The index.
    pub fn index(&self) -> &I {
        &self.index
    }

    /// How many representatives are in the window.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether the window is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The representative of this number, if it is in the window.
    pub fn representative(&self, id: DocId) -> Option<Representative> {
        self.window.get(id)
    }

    /// The representatives in the window, oldest first.
    pub fn representatives(&self) -> impl Iterator<Item = Representative> {
        self.window.iter()
    }

    /// Begins with a document.
    fn advance(&mut self, at: Timestamp) -> Result<(), D::Error> {
        self.crowded.clear();
        self.window.advance(at);
        self.window.expire();
        let horizon = self.horizon();
        self.index.expire(horizon.representative);
        self.digests.expire(horizon)
    }

    fn known_body(&mut self, key: Key, body: Digest) -> Result<Option<Judgement>, D::Error> {
        let found = self.look_up(key, body, Step::Body)?;
        Ok(found.map(|(verdict, facts)| self.number(verdict, facts)))
    }

    /// The verdict that a known digest gives, and the facts of the text known by it.
    fn look_up(
        &mut self,
        key: Key,
        digest: Digest,
        step: Step,
    ) -> Result<Option<(Verdict, Facts)>, D::Error> {
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        self.digests.find(digest, &mut known)?;
        let horizon = self.horizon();
        let oldest = known
            .iter()
            .filter(|known| self.may_match(known, key, horizon))
            .min_by_key(|known| known.id);
        let found = oldest.map(|known| (Verdict::Duplicate(known.matched_at(step)), known.facts));
        if known.len() >= self.equal_limit && self.is_crowded(&known) {
            self.crowded.push(digest);
        }
        self.known = known;
        Ok(found)
    }

    /// Whether there are as many representatives among these as may be: versions of one document, which do not match each other.
    fn is_crowded(&self, known: &[Known]) -> bool {
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

    fn remember_representative(
        &mut self,
        subject: &Document,
        digests: &[Digest],
    ) -> Result<(), D::Error> {
        let (id, signature) = (self.next, self.rule.comparable(&subject.sketch));
        let known = Known {
            id,
            key: subject.key,
            verdict: Verdict::Unique,
            alias: None,
            facts: subject.facts(),
        };
        let entered: Vec<Digest> =
            digests.iter().copied().filter(|digest| !self.crowded.contains(digest)).collect();
        self.digests.insert(&entered, &known)?;
        // Of which there are too many it is not compared later either, so that a window that is restored is the same.
        let signature =
            signature.filter(|signature| self.index.insert(id, signature.fingerprint()));
        self.window.push(&Representative {
            id,
            at: self.window.clock(),
            key: subject.key,
            site: subject.site(),
            signature,
        });
        Ok(())
    }

    /// Enters the digests of a duplicate that were not known yet.
    fn remember_alias(
        &mut self,
        subject: &Document,
        digests: &[Digest],
        verdict: Verdict,
    ) -> Result<(), D::Error> {
        if digests.is_empty() {
            return Ok(());
        }
        let (id, alias) = (self.next, Some(self.aliases));
        self.digests.insert(
            digests,
            &Known { id, key: subject.key, verdict, alias, facts: subject.facts() },
        )?;
        self.aliases += 1;
        Ok(())
    }

    /// Gives the document its number.
    fn number(&mut self, verdict: Verdict, facts: Facts) -> Judgement {
        let id = self.next;
        self.next = DocId(id.0 + 1);
        Judgement { id, at: self.window.clock(), verdict, facts }
    }
}

impl Known {
    /// The representative that a document with the same digest repeats.
    fn representative(&self) -> DocId {
        self.verdict.matched().map_or(self.id, |matched| matched.of)
    }

    /// The match of a document that has this one's digest.
    fn matched_at(&self, step: Step) -> Match {
        let equal =
            Match { of: self.id, kind: Kind::Exact, step, distance: 0, signature_distance: 0 };
        self.verdict.matched().map_or(equal, |&of_alias| Match { step, ..of_alias })
    }
}
