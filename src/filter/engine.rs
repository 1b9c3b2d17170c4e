//! The judgement itself, apart from where digests are kept. [`Engine::judge`] has its steps in order.
//!
//! The engine holds index, window and templates in memory. The table of digests is passed to each call: it is in memory or in a file, and
//! only a file can fail.

#[cfg(feature = "serve")]
use std::collections::BinaryHeap;
use std::{cell::LazyCell, cmp::Reverse};

#[cfg(feature = "cli")]
use super::article::{Figures, Passage};
use super::{
    article::{
        Article, ArticleSketch, OriginRelation, Own, PassageIndex, PassageKeys, Side, Targets,
    },
    digests::{Digests, DigestsMut, Horizon, Known},
    document::{Document, Documents},
    key::{Key, OriginKey},
    options::Options,
    templates::{Bounds, Share, TemplateChange, TemplateSample, Templates},
    thresholds::Thresholds,
    verdict::{Facts, Judgement, Kind, Match, Step, Verdict},
    window::{Representative, Window},
};
use crate::{
    fingerprint::{Digest, Fingerprint, Recipe, Signature},
    index::{Audit, BlockIndex, Candidate, Index, TableLayout},
    page::{DocId, Timestamp},
};
use serde::{Deserialize, Serialize};

/// At most this many representatives are known by one digest. Only versions of one document can be equal, and each of them is looked at
/// when the text comes again. The index has the same limit for equal fingerprints.
const EQUAL_LIMIT: usize = BlockIndex::EQUAL_LIMIT as usize;
/// Representatives that enter the index together when a window is restored.
const BATCH: usize = 1 << 20;
/// A page is compared with at most this many others by its article: those with most keys in common.
const MOST_COMPARED: usize = 16;

/// What a [`Filter`](super::Filter) and a `DurableFilter` have in common: it judges documents in order of arrival and remembers the unique
/// ones of the window. Both dereference to it, to be asked about the window.
#[derive(Clone, Debug)]
pub struct Engine<I = BlockIndex> {
    index: I,
    window: Window,
    thresholds: Thresholds,
    documents: Documents,
    /// `None` if they are switched off.
    templates: Option<Templates>,
    /// `None` if pages are not compared by their articles.
    articles: Option<PassageIndex>,
    /// The number of the next document.
    next: DocId,
    /// The number of aliases so far.
    aliases: u64,
    equal_limit: usize,
    /// The digests of the current document that have reached the limit: it is not entered under them.
    at_limit: Vec<Digest>,
    // Buffers, kept for their memory.
    candidates: Vec<Candidate>,
    known: Vec<Known>,
}

/// A judgement, and what it adds to the window and the templates.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) judgement: Judgement,
    /// The document's entry in the window, if it is unique.
    pub(crate) representative: Option<Representative>,
    pub(crate) template: Option<TemplateChange>,
}

/// How a document is judged, and what is remembered of it.
struct Decided {
    verdict: Verdict,
    facts: Facts,
    /// Its digests that are not known yet.
    new: Vec<Digest>,
    /// The keys of its article, if it is compared.
    keys: Option<PassageKeys>,
}

/// The article of the page that is judged.
struct Subject<'a> {
    article: &'a Article,
    /// What of it is its own.
    own: Own,
    /// How well its origin is known.
    known: OriginRelation,
    is_thin: bool,
}

impl<'a> Subject<'a> {
    /// It as one of two pages that are compared.
    fn side(&self) -> Side<'a> {
        Side::new(self.article.sketch(), self.own.clone())
    }
}

/// What the articles of two pages have in common and apart, the later page first.
#[cfg(feature = "cli")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedArticles {
    pub(crate) figures: Figures,
    pub(crate) passages: [Vec<Passage>; 2],
    /// Whether the pages differ beyond what is kept of them to compare articles.
    pub(crate) ends_differ: bool,
}

/// Where an engine stands, so that another can continue from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The number of the next document.
    pub(crate) next: DocId,
    /// The number of aliases so far.
    pub(crate) aliases: u64,
    /// The window's clock.
    pub(crate) clock: Timestamp,
    /// The oldest representative of the window. Earlier ones have left it and do not come back, even if the next window is larger.
    pub(crate) oldest: DocId,
}

impl<I: Index> Engine<I> {
    /// An engine with an empty window. It judges documents that were made by this recipe.
    pub(crate) fn new(options: &Options, recipe: Recipe, index: I) -> Self {
        Self {
            index,
            window: Window::new(options.window.clone()),
            thresholds: Thresholds::new(options),
            documents: Documents::new(recipe, options.knows_articles()),
            templates: options.knows_templates().then(|| Templates::new(Bounds::default())),
            articles: options.knows_articles().then(PassageIndex::default),
            next: DocId(1),
            aliases: 0,
            equal_limit: EQUAL_LIMIT,
            at_limit: Vec::new(),
            candidates: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Judges a document and remembers it.
    ///
    /// # Errors
    /// If the table of digests fails.
    ///
    /// # Panics
    /// If the document was made by another recipe.
    pub(crate) fn judge<D: DigestsMut>(
        &mut self,
        digests: &mut D,
        document: &Document,
    ) -> Result<Change, D::Error> {
        let recipe = self.documents.fingerprinter().recipe();
        assert!(document.recipe == recipe, "a document is made by the recipe of its filter");
        self.advance(digests, document.at)?;
        let Decided { verdict, facts, new, keys } = self.decide(digests, document)?;
        if !verdict.is_unique() {
            self.remember_alias(digests, document, &new, verdict, facts)?;
            return Ok(self.numbered(verdict, facts));
        }
        let representative = self.remember_representative(digests, document, new, facts)?;
        if let Some((article, keys)) = document.article.as_ref().zip(keys) {
            digests.keep_article(self.next, article.sketch(), &keys.own)?;
            self.enter_article(self.next, &keys.own, self.window.articles());
        }
        let template = self.learn(document);
        let change = self.numbered(Verdict::Unique, facts);
        Ok(Change { representative: Some(representative), template, ..change })
    }

    /// Judges a document and remembers nothing. The number is that of the next document.
    ///
    /// # Errors
    /// If the table of digests fails.
    #[cfg(feature = "crawl")]
    pub(crate) fn peek<D: Digests>(
        &mut self,
        digests: &mut D,
        document: &Document,
    ) -> Result<Judgement, D::Error> {
        self.at_limit.clear();
        let Decided { verdict, facts, .. } = self.decide(digests, document)?;
        Ok(Judgement { id: self.next, at: self.window.clock(), verdict, facts })
    }

    /// Gives a number to a document that repeats one outside of the window. Nothing else is remembered of it.
    ///
    /// # Errors
    /// If the table of digests fails.
    #[cfg(feature = "crawl")]
    pub(crate) fn repeat<D: DigestsMut>(
        &mut self,
        digests: &mut D,
        at: Timestamp,
        found: Match,
        facts: Facts,
    ) -> Result<Change, D::Error> {
        self.advance(digests, at)?;
        Ok(self.numbered(Verdict::Duplicate(found), facts))
    }

    /// Decides whether a document is a duplicate of one in the window.
    fn decide<D: Digests>(
        &mut self,
        digests: &mut D,
        document: &Document,
    ) -> Result<Decided, D::Error> {
        if let Some(body) = document.body
            && let Some((verdict, facts)) = self.look_up(digests, document.key, body, Step::Body)?
        {
            return Ok(Decided { verdict, facts, new: Vec::new(), keys: None });
        }
        let subject = self.subject(document);
        let thin = subject.as_ref().is_some_and(|subject| subject.is_thin);
        let facts = Facts { thin, ..document.facts() };
        if let Some(text) = document.sketch.digest.filter(|_| !thin)
            && let Some((verdict, _)) = self.look_up(digests, document.key, text, Step::Text)?
            && self.is_the_same_page(digests, document, subject.as_ref(), verdict)?
        {
            return Ok(Decided { verdict, facts, new: Vec::from_iter(document.body), keys: None });
        }
        let new = document.body.into_iter().chain(document.sketch.digest).collect();
        let subject = subject.map(|subject| {
            let keys = subject.article.keys(&subject.own.boilerplate);
            (subject, keys)
        });
        let near = if thin { None } else { self.near(digests, document, subject.as_ref())? };
        let verdict = near.map_or(Verdict::Unique, Verdict::Duplicate);
        Ok(Decided { verdict, facts, new, keys: subject.map(|(_, keys)| keys) })
    }

    /// The article of a document, if it has one.
    fn subject<'a>(&self, document: &'a Document) -> Option<Subject<'a>> {
        let article = document.article.as_ref().filter(|_| self.articles.is_some())?;
        let origin = document.blocks.as_ref().map(|blocks| blocks.origin);
        let boilerplate = match (&self.templates, &document.blocks) {
            (Some(templates), Some(blocks)) => templates.boilerplate_of(blocks),
            _ => vec![false; article.sketch().len()],
        };
        let own = Own { boilerplate, targets: self.own_targets(origin, article.targets()) };
        let known = self.origin_relation(origin, article.name());
        let is_thin = article.is_thin(&own.boilerplate);
        Some(Subject { article, own, known, is_thin })
    }

    /// What of a page is its own, not boilerplate of its origin.
    fn own(&self, origin: Option<OriginKey>, sketch: &ArticleSketch) -> Own {
        let boilerplate = match &self.templates {
            Some(templates) => templates.boilerplate(origin, sketch.block_hashes()),
            None => vec![false; sketch.len()],
        };
        Own { boilerplate, targets: self.own_targets(origin, sketch.targets()) }
    }

    /// Where the links of a page lead that are not boilerplate of its origin. If boilerplate is not learnt, that is not known.
    fn own_targets(&self, origin: Option<OriginKey>, targets: &Targets) -> Targets {
        let templates = self.templates.as_ref();
        let own = templates.map(|it| targets.own(&it.boilerplate(origin, targets.keys())));
        own.unwrap_or_default()
    }

    /// How well the origin of a page of this name is known.
    fn origin_relation(&self, origin: Option<OriginKey>, name: u32) -> OriginRelation {
        let templates = self.templates.as_ref();
        templates.map_or(OriginRelation::SameUnlearnt, |templates| {
            templates.origin_relation(origin, name)
        })
    }

    /// Whether a page with the body text of an earlier one is that page: extraction may have missed the articles of both.
    fn is_the_same_page<D: Digests>(
        &self,
        digests: &mut D,
        document: &Document,
        subject: Option<&Subject<'_>>,
        verdict: Verdict,
    ) -> Result<bool, D::Error> {
        let Some((subject, found)) = subject.zip(verdict.matched()) else { return Ok(true) };
        let Some(other) = self.window.get(found.of) else { return Ok(true) };
        let relation = origin_relation(document, &other, subject);
        if relation == OriginRelation::Different {
            return Ok(true);
        }
        let Some(sketch) = digests.article(found.of)? else { return Ok(true) };
        let own = self.own(other.origin, &sketch);
        Ok(!subject.side().beside(&sketch, own).differ_outside_body(relation))
    }

    /// Enters a page under the keys of its article. `pages` is the number of pages in the window, without texts.
    pub(crate) fn enter_article(&mut self, id: DocId, keys: &[u64], pages: usize) {
        if let Some(articles) = &mut self.articles {
            articles.insert(id, keys, pages, |id| self.window.still_has(id));
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
            representative: self.window.horizon(self.next),
            alias: self.aliases.saturating_sub(self.window.capacity()),
        }
    }

    /// What makes the documents for this filter.
    #[must_use]
    pub fn documents(&self) -> Documents {
        self.documents.clone()
    }

    /// The number of pages in the window, without texts.
    #[cfg(feature = "state")]
    pub(crate) fn pages(&self) -> usize {
        self.window.articles()
    }

    /// The number of unique documents in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether the window is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The oldest document that later ones may still repeat. The caller can forget what it knows of earlier ones.
    #[must_use]
    pub fn oldest(&self) -> DocId {
        self.window.horizon(self.next)
    }

    /// The documents of the window whose signatures differ least from this one, the nearest first, with the bits in which fingerprints and
    /// signatures differ. Compares with all of the window.
    #[cfg(feature = "serve")]
    pub(crate) fn nearest(&self, signature: Signature, limit: usize) -> Vec<(DocId, u32, u32)> {
        let mut nearest = BinaryHeap::new();
        for other in self.window.iter() {
            let Some(of_other) = other.signature else { continue };
            let distance = signature.fingerprint().distance(of_other.fingerprint());
            nearest.push((signature.distance(&of_other), other.id, distance));
            if nearest.len() > limit {
                nearest.pop();
            }
        }
        let sorted = nearest.into_sorted_vec().into_iter();
        sorted.map(|(of_signature, id, distance)| (id, distance, of_signature)).collect()
    }

    /// How many documents it has judged since its window was begun.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.next.0 - 1
    }

    /// The unique documents of the window that have this key, oldest first: versions of one document. Looks at the whole window.
    #[must_use]
    pub fn versions(&self, key: Key) -> Vec<DocId> {
        self.window.iter().filter(|it| it.key == key).map(|it| it.id).collect()
    }

    /// What the index counted of its own work since the filter was made or opened.
    #[must_use]
    pub fn audit(&self) -> Audit {
        self.index.audit()
    }

    /// The share of this document that is the template of its origin, as far as it is known by now.
    #[must_use]
    pub fn template(&self, document: &Document) -> Share {
        let known = self.templates.as_ref().zip(document.blocks.as_ref());
        known.map_or(Share::NONE, |(templates, blocks)| templates.share(blocks))
    }

    /// Adds a sample that an earlier engine has learnt from. They come oldest first, without those that are outdated.
    pub(crate) fn add_sample(&mut self, sample: &TemplateSample) {
        if let Some(templates) = &mut self.templates {
            templates.learn(sample);
        }
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
        self.next = position.next;
        self.aliases = position.aliases;
        self.window.advance(position.clock);
    }

    /// Where the engine stands.
    pub(crate) fn position(&self) -> Position {
        Position {
            next: self.next,
            aliases: self.aliases,
            clock: self.window.clock(),
            oldest: self.window.horizon(self.next),
        }
    }

    /// Moves the clock to a document, and expires what has left the window by then.
    fn advance<D: DigestsMut>(&mut self, digests: &mut D, at: Timestamp) -> Result<(), D::Error> {
        self.at_limit.clear();
        self.window.advance(at);
        self.window.expire();
        let horizon = self.horizon();
        self.index.expire(horizon.representative);
        digests.expire(horizon)
    }

    /// The verdict that a known digest gives, and the facts of the text known by it.
    fn look_up<D: Digests>(
        &mut self,
        digests: &mut D,
        key: Key,
        digest: Digest,
        step: Step,
    ) -> Result<Option<(Verdict, Facts)>, D::Error> {
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        digests.find(digest, &mut known)?;
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

    /// The page whose article a document repeats. Without articles the nearest text that the rule accepts, of equally near ones the oldest:
    /// nearest by signature, or by fingerprint where the rule compares nothing else.
    fn near<D: Digests>(
        &mut self,
        digests: &mut D,
        document: &Document,
        subject: Option<&(Subject<'_>, PassageKeys)>,
    ) -> Result<Option<Match>, D::Error> {
        self.candidates.clear();
        if let Some(signature) = self.thresholds.comparable(&document.sketch) {
            let radius = self.thresholds.search_radius(document.sketch.features);
            self.index.candidates(signature.fingerprint(), radius, &mut self.candidates);
        }
        let best = match subject {
            Some((subject, keys)) => self.near_by_article(digests, document, subject, keys)?,
            None => None,
        };
        Ok(best.or_else(|| self.near_by_text(document)))
    }

    /// The page that has the largest share of its article in common with a document that repeats it, of several the oldest.
    fn near_by_article<D: Digests>(
        &self,
        digests: &mut D,
        document: &Document,
        subject: &Subject<'_>,
        keys: &PassageKeys,
    ) -> Result<Option<Match>, D::Error> {
        let mut ids: Vec<(DocId, usize)> = self.candidates.iter().map(|it| (it.id, 0)).collect();
        if let Some(articles) = &self.articles {
            articles.find(keys, self.next, |id| self.window.still_has(id), &mut ids);
        }
        ids.sort_by_key(|&(id, keys)| (Reverse(keys), id));
        let side = LazyCell::new(|| subject.side());
        let (mut best, mut compared): (Option<Match>, Vec<DocId>) = (None, Vec::new());
        for (id, _) in ids {
            if compared.len() == MOST_COMPARED {
                break;
            }
            let Some(other) = self.window.get(id).filter(|other| other.key != document.key) else {
                continue;
            };
            if compared.contains(&id) || !other.has_article {
                continue;
            }
            compared.push(id);
            // Nothing later is better than all of the article.
            if best.is_some_and(|best| best.shared == Some(100) && best.of < id) {
                continue;
            }
            let Some(sketch) = digests.article(id)? else { continue };
            let relation = origin_relation(document, &other, subject);
            let own = || self.own(other.origin, &sketch);
            let Some(shared) = side.repeats(&sketch, own, relation) else { continue };
            if self.ends_differ(document, (&sketch, other.signature), relation) {
                continue;
            }
            let (signature, own) = (other.signature.unwrap_or_default(), document.sketch.signature);
            let found = Match {
                of: id,
                kind: Kind::Near,
                step: Step::Near,
                distance: signature.fingerprint().distance(own.fingerprint()),
                signature_distance: signature.distance(&own),
                shared: u8::try_from(shared).ok(),
            };
            best = best.into_iter().chain([found]).min_by_key(|it| (Reverse(it.shared), it.of));
        }
        Ok(best)
    }

    /// Whether long pages of one origin differ beyond the ends of their sketches, which only their signatures show. Links, which may be teasers,
    /// may all differ.
    fn ends_differ(
        &self,
        document: &Document,
        earlier: (&ArticleSketch, Option<Signature>),
        relation: OriginRelation,
    ) -> bool {
        let (sketch, signature) = earlier;
        let is_truncated = |page: &&ArticleSketch| page.is_body_truncated();
        let later = document.article.as_ref().map(Article::sketch).filter(is_truncated);
        let both = later.zip(Some(sketch).filter(is_truncated));
        let Some((later, sketch)) = both.filter(|_| relation != OriginRelation::Different) else {
            return false;
        };
        let features = document.sketch.features;
        let common = later.text_beside_links(sketch);
        signature.unwrap_or_default().distance(&document.sketch.signature)
            > self.thresholds.signature_radius_with_changes(features, common)
    }

    /// What the articles of two pages have in common and apart, the later page first, if the filter compares them.
    #[cfg(feature = "cli")]
    pub(crate) fn compare_articles(&self, pages: [&Document; 2]) -> Option<ComparedArticles> {
        self.articles.as_ref()?;
        let [later, earlier] = [pages[0].article.as_ref()?, pages[1].article.as_ref()?];
        let origins = pages.map(|page| page.blocks.as_ref().map(|blocks| blocks.origin));
        let mine = self.own(origins[0], later.sketch());
        let theirs = self.own(origins[1], earlier.sketch());
        let relation = OriginRelation::of(origins, self.origin_relation(origins[0], later.name()));
        let signature = self.thresholds.comparable(&pages[1].sketch);
        let ends_differ = self.ends_differ(pages[0], (earlier.sketch(), signature), relation);
        let side = Side::new(later.sketch(), mine);
        let pair = side.beside(earlier.sketch(), theirs);
        Some(ComparedArticles {
            figures: pair.figures(relation),
            passages: pair.passages(),
            ends_differ,
        })
    }

    /// The pages that share a key with the article of a document.
    #[cfg(feature = "crawl")]
    pub(crate) fn sharing_keys(&self, document: &Document, next: DocId) -> Vec<DocId> {
        let mut found = Vec::new();
        if let Some((articles, subject)) = self.articles.as_ref().zip(self.subject(document)) {
            let keys = subject.article.keys(&subject.own.boilerplate);
            articles.find(&keys, next, |id| self.window.still_has(id), &mut found);
        }
        found.into_iter().map(|(id, _)| id).collect()
    }

    /// The nearest candidate that the rule for texts accepts. Two pages are compared by their articles only.
    fn near_by_text(&self, document: &Document) -> Option<Match> {
        let has_article = self.articles.is_some() && document.article.is_some();
        let signature = self.thresholds.comparable(&document.sketch)?;
        let origin = document.blocks.as_ref().map(|blocks| blocks.origin);
        let template = LazyCell::new(|| self.template(document));
        let mut accepted = self.candidates.iter().filter_map(|&candidate| {
            let other = self.window.get(candidate.id).filter(|other| other.key != document.key)?;
            if has_article && other.has_article {
                return None;
            }
            let signature_of_other = other.signature?;
            let same_origin = origin.is_some() && other.origin == origin;
            let template = if same_origin { *template } else { Share::NONE };
            let found = Match {
                of: candidate.id,
                kind: Kind::Near,
                step: Step::Near,
                distance: candidate.distance,
                signature_distance: signature_of_other.distance(&signature),
                shared: None,
            };
            let is_near = self.thresholds.confirms(&signature_of_other, &document.sketch, template);
            is_near.then_some(found)
        });
        if self.thresholds.confirms_by_signature() {
            accepted.min_by_key(|found| (found.signature_distance, found.of))
        } else {
            // Candidates come in the order of their fingerprints' distances.
            accepted.next()
        }
    }

    fn remember_representative<D: DigestsMut>(
        &mut self,
        digests: &mut D,
        document: &Document,
        mut known_by: Vec<Digest>,
        facts: Facts,
    ) -> Result<Representative, D::Error> {
        let id = self.next;
        let facts = document.body.map(|_| facts);
        let known = Known { id, key: document.key, verdict: Verdict::Unique, alias: None, facts };
        known_by.retain(|digest| !self.at_limit.contains(digest));
        digests.insert(&known_by, &known)?;
        // A fingerprint that the index refuses is not compared later either, so that a restored window is the same.
        let signature = self
            .thresholds
            .comparable(&document.sketch)
            .filter(|signature| self.index.insert(id, signature.fingerprint()));
        let representative = Representative {
            id,
            at: self.window.clock(),
            key: document.key,
            origin: document.blocks.as_ref().map(|blocks| blocks.origin),
            signature,
            has_article: self.articles.is_some() && document.article.is_some(),
        };
        self.window.push(&representative);
        Ok(representative)
    }

    /// Enters the digests of a duplicate that were not known yet.
    fn remember_alias<D: DigestsMut>(
        &mut self,
        digests: &mut D,
        document: &Document,
        known_by: &[Digest],
        verdict: Verdict,
        facts: Facts,
    ) -> Result<(), D::Error> {
        if known_by.is_empty() {
            return Ok(());
        }
        let (id, alias) = (self.next, Some(self.aliases));
        let (key, facts) = (document.key, document.body.map(|_| facts));
        digests.insert(known_by, &Known { id, key, verdict, alias, facts })?;
        self.aliases += 1;
        Ok(())
    }

    /// Learns from a unique document, before it gets its number. Copies teach nothing: an article of many copies would become boilerplate.
    fn learn(&mut self, document: &Document) -> Option<TemplateChange> {
        let (templates, blocks) = self.templates.as_mut().zip(document.blocks.as_ref())?;
        let sample = templates.sample(self.next, document.key, blocks)?;
        let outdated = templates.learn(&sample);
        Some(TemplateChange { sample, outdated })
    }

    /// Gives the document its number.
    fn numbered(&mut self, verdict: Verdict, facts: Facts) -> Change {
        let id = self.next;
        self.next = DocId(id.0 + 1);
        let judgement = Judgement { id, at: self.window.clock(), verdict, facts };
        Change { judgement, representative: None, template: None }
    }
}

/// How a document and a page of the window are related.
fn origin_relation(
    document: &Document,
    other: &Representative,
    subject: &Subject<'_>,
) -> OriginRelation {
    let origin = document.blocks.as_ref().map(|blocks| blocks.origin);
    OriginRelation::of([origin, other.origin], subject.known)
}

impl Engine {
    /// The layout of the index.
    #[must_use]
    pub fn layout(&self) -> &TableLayout {
        self.index.layout()
    }
}

#[cfg(test)]
impl<I: Index> Engine<I> {
    pub(super) fn index(&self) -> &I {
        &self.index
    }

    /// The same with other bounds: of what it learns of templates, and of the representatives that are known by one digest.
    pub(crate) fn bounded(mut self, bounds: Bounds, equal_limit: std::num::NonZeroU32) -> Self {
        self.templates = self.templates.map(|_| Templates::new(bounds));
        self.equal_limit = equal_limit.get() as usize;
        self
    }

    /// The representatives in the window, oldest first.
    pub(crate) fn representatives(&self) -> impl Iterator<Item = Representative> {
        self.window.iter()
    }

    pub(crate) fn without_templates(mut self) -> Self {
        self.templates = None;
        self
    }
}
