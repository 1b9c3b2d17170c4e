//! Looks at a run without continuing it: what it knows of a URL, and which of its pages are nearest to a text.

use std::{collections::BinaryHeap, num::NonZeroUsize, path::Path};

use super::{directory::STATE, error::CrawlError, options::Dedup};
use crate::{
    filter::{
        Digests, Document, Engine, Filter, Horizon, Key, Kind, Known, Match, Options, Position,
        Representative, Rule, Share, TemplateSample, Verdict,
    },
    fingerprint::{Digest, HashSeed, Recipe, Signature},
    index::Scan,
    page::{DocId, NormalUrl, Timestamp, UrlOptions},
    state::{
        Difference, DigestCache, DigestTable, JudgedDocument, KeptText, Reason, Recorded,
        SignatureLog, State, StateError, UrlRow, UrlState,
    },
};

/// A run that is looked at as it is now, not continued: a crawl may go on with it meanwhile.
#[derive(Debug)]
pub struct PastRun {
    state: State,
    recorded: Recorded,
    seed: HashSeed,
}

/// What a run knows of a URL.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its row: state, reason, depth.
    pub url: UrlRow,
    /// The seed list to which it belongs: its URL or file.
    pub seed: Option<String>,
    /// Where it was found first.
    pub referrer: Option<String>,
    /// Why its host is set aside, if it is.
    pub aside: Option<String>,
    /// What was found about it, if it was judged.
    pub document: Option<JudgedDocument>,
    /// What it repeats, if it is a duplicate.
    pub matched: Option<JudgedDocument>,
}

/// A unique page of a run's window, and how far a text is from its text.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// The page.
    pub page: JudgedDocument,
    /// In how many of the 64 bits of the fingerprint the two differ.
    pub distance: u32,
    /// In how many of the 256 bits of the signature the two differ.
    pub signature_distance: u32,
}

/// What a run says of a text.
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// The nearest by signature first, of equally near ones the oldest.
    pub nearest: Vec<Neighbour>,
    /// How many pages the text was compared with: those of the window whose texts have features enough.
    pub compared: u64,
    /// What it would repeat if it came next, and how; `None` if the run would judge it unique.
    pub matched: Option<(Match, JudgedDocument)>,
    /// What share of the text the template of its site is, as far as the run knows it.
    pub template: Share,
}

impl Account {
    /// Why it was skipped, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self.url.state {
            UrlState::Judged => None,
            UrlState::Skipped(reason) => Some(reason),
            UrlState::Queued if self.aside.is_some() => Some(Reason::Host),
            UrlState::Queued => Some(Reason::Pending),
        }
    }
}

impl PastRun {
    /// Opens the run in this directory.
    ///
    /// # Errors
    /// If there is none, or its state cannot be read.
    pub fn open(directory: &Path) -> Result<Self, CrawlError> {
        let none = || CrawlError::NoRun { path: directory.to_owned() };
        let path = directory.join(STATE);
        if !path.is_file() {
            return Err(none());
        }
        let state = State::read(&path)?;
        let recorded = Recorded::read(&state)?;
        let seed = recorded.seed.ok_or_else(none)?;
        Ok(Self { state, recorded, seed })
    }

    /// How the run judges: its `[dedup]` table as of its last start.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn options(&self) -> Result<Dedup, CrawlError> {
        Ok(self
            .value("dedup")?
            .ok_or(StateError::Damaged("it does not say how pages are judged"))?)
    }

    /// How the run's texts were fingerprinted, and others must be to be compared with them.
    ///
    /// # Errors
    /// If these options ask for something else.
    pub fn recipe(&self, options: &Options) -> Result<Recipe, CrawlError> {
        match self.recorded.difference(options) {
            Some(Difference { key, stored, wanted }) => {
                Err(CrawlError::Unlike { key, stored, wanted })
            }
            None => Ok(options.recipe(self.seed)),
        }
    }

    /// What the run knows of a URL: `None` if it never heard of it. Redirects are not followed; the account of a redirecting URL says
    /// where it leads.
    ///
    /// # Errors
    /// If the state cannot be read, or `url` is none.
    pub fn account(&self, url: &str) -> Result<Option<Account>, CrawlError> {
        let state = &self.state;
        let normal = NormalUrl::parse(url, &UrlOptions::default())?;
        let kept = NormalUrl::parse(url, &UrlOptions { tracking: Vec::new() })?;
        let found = match state.url(normal.as_str())? {
            Some(row) => Some(row),
            None => state.url(kept.as_str())?,
        };
        let Some(url) = found else { return Ok(None) };
        let seeds: Vec<String> = self.value("seed_lists")?.unwrap_or_default();
        let referrer = url.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
        let aside = state.hosts_aside()?.into_iter().find(|aside| aside.host == url.host);
        let judged = url.state == UrlState::Judged;
        let document = if judged { state.document_named(&url.url)? } else { None };
        let of = document.as_ref().and_then(|document| document.judgement.verdict.matched());
        let matched = of.map(|of| state.document(of.of)).transpose()?.flatten();
        Ok(Some(Account {
            seed: url.seed.and_then(|seed| seeds.into_iter().nth(seed)),
            referrer: referrer.map(|row| row.url),
            aside: aside.map(|aside| aside.to_string()),
            url,
            document,
            matched,
        }))
    }

    /// The text of a near duplicate that is not stored, if the run keeps it.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn text(&self, document: &JudgedDocument) -> Result<Option<KeptText>, CrawlError> {
        Ok(self.state.text_of(document.judgement.id)?)
    }

    /// The pages nearest to a text, at most `limit`, and how the run would judge it by `options`: its [own](Self::options), or others to
    /// see what they would do: then what equals a near duplicate is judged anew. The document must be made by the run's
    /// [recipe](Self::recipe); its key and time do not matter: it counts as a document of nobody that comes next. Compares with every
    /// signature of the window, in memory that does not grow with it.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn nearest(
        &self,
        document: &Document,
        options: &Options,
        limit: usize,
    ) -> Result<Neighbourhood, CrawlError> {
        let document = &document.clone().with_key(Key::of("")).with_time(Timestamp(i64::MIN));
        let verdicts_hold = judge_alike(options, &self.options()?.filter());
        let mut cache = DigestCache::new(NonZeroUsize::MIN);
        let mut digests = Unchanged { table: cache.over(&self.state), verdicts_hold };
        let equal = equal(&mut digests, document)?;
        let mut engine = Engine::new(options, document.recipe, Scan::default());
        self.for_each_sample(document, |sample| engine.add_sample(sample))?;
        let signature = (document.sketch.features > 0).then_some(document.sketch.signature);
        let (mut nearest, mut compared) = (BinaryHeap::new(), 0);
        let position = self.state.position()?;
        engine.restore(|take| {
            self.for_each_in_window(options, position, |representative| {
                let distance =
                    representative.signature.zip(signature).map(|(a, b)| distances(&a, &b));
                if let Some((fingerprint, whole)) = distance {
                    compared += 1;
                    nearest.push((whole, representative.id, fingerprint));
                    if nearest.len() > limit {
                        nearest.pop();
                    }
                }
                // No other can be the match.
                let is_near = distance.is_some_and(|(distance, _)| distance <= options.radius());
                if is_near || equal.contains(&representative.id) {
                    take(representative);
                }
            })
        })?;
        if let Some(position) = position {
            engine.resume(position);
        }
        let nearest = nearest.into_sorted_vec().into_iter();
        let nearest = nearest.map(|(signature_distance, id, distance)| {
            Ok(Neighbour { page: self.page(id)?, distance, signature_distance })
        });
        let nearest = nearest.collect::<Result<_, StateError>>()?;
        let template = engine.template(document);
        let matched = match engine.judge(&mut digests, document)?.judgement.verdict {
            Verdict::Duplicate(found) => Some((found, self.page(found.of)?)),
            Verdict::Unique => None,
        };
        Ok(Neighbourhood { nearest, compared, matched, template })
    }

    /// Adds to a filter what the run knows of the template of the document's origin.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn teach(&self, filter: &mut Filter, document: &Document) -> Result<(), CrawlError> {
        self.for_each_sample(document, |sample| filter.add_sample(sample))
    }

    fn for_each_sample(
        &self,
        document: &Document,
        visit: impl FnMut(&TemplateSample),
    ) -> Result<(), CrawlError> {
        let Some(blocks) = &document.blocks else { return Ok(()) };
        Ok(self.state.for_each_sample(Some(blocks.origin), visit)?)
    }

    fn page(&self, id: DocId) -> Result<JudgedDocument, StateError> {
        self.state.document(id)?.ok_or(StateError::Damaged("a signature is of no document"))
    }

    /// Calls `visit` with the representatives that the run would still match, oldest first. The state may hold some more.
    fn for_each_in_window(
        &self,
        options: &Options,
        position: Option<Position>,
        mut visit: impl FnMut(Representative),
    ) -> Result<(), CrawlError> {
        let mut stored = 0_u64;
        let first = position.map_or(DocId(0), |position| position.oldest);
        SignatureLog::read(&self.state, |one| stored += u64::from(one.id >= first))?;
        let mut surplus = stored.saturating_sub(options.window.entries.get());
        let oldest = position.zip(options.window.age).map(|(position, age)| position.clock - age);
        SignatureLog::read(&self.state, |representative| {
            if representative.id < first {
                // It has left.
            } else if surplus > 0 {
                surplus -= 1;
            } else if oldest.is_none_or(|oldest| representative.at >= oldest) {
                visit(representative);
            }
        })?;
        Ok(())
    }

    /// A value that is kept as JSON.
    fn value<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let text: Option<String> = self.state.meta(name)?;
        let value = text.map(|text| serde_json::from_str(&text)).transpose();
        value.map_err(|_| StateError::Damaged("a value that should be JSON is none"))
    }
}

/// In how many bits fingerprints and signatures differ.
fn distances(a: &Signature, b: &Signature) -> (u32, u32) {
    (a.fingerprint().distance(b.fingerprint()), a.distance(b))
}

/// The representatives of documents that have this one's body or text.
fn equal(digests: &mut Unchanged<'_>, document: &Document) -> Result<Vec<DocId>, StateError> {
    let mut known = Vec::new();
    for digest in document.body.into_iter().chain(document.sketch.digest) {
        digests.find(digest, &mut known)?;
    }
    let of = |known: Known| known.verdict.matched().map_or(known.id, |matched| matched.of);
    Ok(known.into_iter().map(of).collect())
}

/// Whether by both of these options the same texts are near duplicates.
fn judge_alike(a: &Options, b: &Options) -> bool {
    Rule::new(a) == Rule::new(b) && a.templates == b.templates
}

/// A table of digests into which nothing is entered.
struct Unchanged<'a> {
    table: DigestTable<'a>,
    /// Whether what was found to be a near duplicate is one still. If it may not be, what equals it is judged anew.
    verdicts_hold: bool,
}

impl Digests for Unchanged<'_> {
    type Error = StateError;

    fn find(&mut self, digest: Digest, out: &mut Vec<Known>) -> Result<(), StateError> {
        self.table.find(digest, out)?;
        let is_near = |known: &Known| {
            known.verdict.matched().is_some_and(|matched| matched.kind == Kind::Near)
        };
        out.retain(|known| self.verdicts_hold || !is_near(known));
        Ok(())
    }

    fn insert(&mut self, _: &[Digest], _: &Known) -> Result<(), StateError> {
        Ok(())
    }

    fn expire(&mut self, _: Horizon) -> Result<(), StateError> {
        Ok(())
    }
}
