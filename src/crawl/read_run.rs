//! Reads a run without continuing it: the outcome of one URL or of all, the pages nearest to a text, and its report.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use lru::LruCache;
use serde::Serialize;

use super::{
    control::Tally,
    directory::{check_report, open_run},
    learnt,
    plan::{CrawlError, Dedup, STATE},
};
#[cfg(feature = "cli")]
use crate::submission::Identity;
use crate::{
    filter::{Content, Document, Engine, Key, Match, Options, Thresholds},
    fingerprint::{HashSeed, Recipe},
    learn::LearntRule,
    page::{DocId, GivenId, NormalUrl, Timestamp, UrlOptions},
    report::{
        Broken, BrokenLink, Builder, Differences, End, FingerprintMethod, MovedSeed, Point, Report,
        ReportError, Search, Warning,
    },
    sink::{SkippedLine, VerdictName, parts},
    state::{
        JudgedDocument, KeptText, Nearest, PastWindow, Reason, RecordedRecipe, State, StateError,
        UrlId, UrlRow, UrlState, WriteLock,
    },
};

/// Pages whose URLs are cached while their links are listed.
const REFERRERS: NonZeroUsize = NonZeroUsize::new(1 << 12).expect("not zero");

/// The name in the state under which seeds are kept that were redirected within their place.
pub(super) const MOVED: &str = "moved_seeds";

/// Their number, and the first of them.
pub(super) type Moved = (u64, Vec<MovedSeed>);

/// A run as of its last commit. A crawl may continue it meanwhile.
#[derive(Debug)]
pub struct PastRun {
    path: PathBuf,
    state: State,
    recorded: RecordedRecipe,
    hash_seed: HashSeed,
}

/// What became of a URL, and why.
#[derive(Clone, Debug)]
pub struct UrlExplanation {
    /// Its row: state, reason, depth.
    pub url: UrlRow,
    /// The seed list to which it belongs: its URL or file.
    pub seed: Option<String>,
    /// The URL on which it was found first.
    pub referrer: Option<String>,
    /// What speaks for deferring it, in words, if it is deferred by what was learnt: as of the last time that this was kept.
    pub evidence: Option<String>,
    /// Why its host is suspended, if it is.
    pub suspended: Option<String>,
    /// The judged document, if it was judged.
    pub document: Option<JudgedDocument>,
    /// What it repeats, if it is a duplicate; of a unique page the nearest one, if it was compared with others.
    pub matched: Option<JudgedDocument>,
    /// The run of what it repeats, if it is another one.
    pub against: Option<String>,
    /// What was found when it was asked for again, if it was.
    pub revisits: Option<Revisits>,
}

/// What was found when a known page was asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisits {
    /// How often it was asked for again.
    pub visits: u32,
    /// How often it had changed then.
    pub changes: u32,
    /// When it was asked for last.
    pub last: Timestamp,
    /// Why there was no page the last time, if there was none.
    pub gone: Option<Reason>,
}

/// A link on a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The page, sitemap or redirect.
    pub from: String,
    /// The URL that it names.
    pub to: String,
    /// Why that was not judged: `pending` if it is queued. `None` if it was.
    pub reason: Option<Reason>,
    /// The status of its last answer, if there was any.
    pub status: Option<u16>,
}

/// A unique page of a run's window, and the distance between its text and another.
#[derive(Clone, Debug)]
pub struct NearPage {
    /// The page.
    pub page: JudgedDocument,
    /// The number of different bits of the fingerprints, of 64.
    pub distance: u32,
    /// The number of different bits of the signatures, of 256.
    pub signature_distance: u32,
}

/// What a run says about a text.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The nearest pages by signature; of equally near ones, the oldest first. A page with the same text comes first.
    pub nearest: Vec<NearPage>,
    /// How many pages the text was compared with: those of the window whose texts have enough features.
    pub compared: u64,
    /// The page that it would repeat if it came next, and how; `None` if the run would judge it unique.
    pub matched: Option<(Match, JudgedDocument)>,
}

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was judged.
    Judged(VerdictName),
    /// It was judged, and is gone since.
    Gone(Reason),
    /// It was skipped.
    Skipped(Reason),
}

/// The documents that were judged last, at most this many, the last one first.
pub(crate) fn judged_last(state: &State, most: u64) -> Result<Vec<JudgedPage>, StateError> {
    let page = |document: JudgedDocument| {
        let found = document.judgement.verdict.matched();
        let shown = |name: &str| GivenId::of(name).to_string();
        JudgedPage {
            url: shown(&document.name),
            verdict: (&document.judgement).into(),
            // It may have left the window.
            matched: found.and_then(|found| state.name_of(found.of).ok()).map(|of| shown(&of)),
            similarity: found.map(|found| found.similarity),
        }
    };
    Ok(state.last_documents(most)?.into_iter().map(page).collect())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Judged(verdict @ (VerdictName::Exact | VerdictName::Near)) => {
                write!(f, "{} duplicate", verdict.as_str())
            }
            Self::Judged(verdict) => f.write_str(verdict.as_str()),
            Self::Gone(reason) => write!(f, "gone: {reason}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// What a run did last.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Recent {
    /// The pages that were judged last, the last one first.
    pub judged: Vec<JudgedPage>,
    /// The hosts that get no requests for the time being, and why.
    pub suspended: Vec<String>,
    /// What was noticed while pages were judged, and what to do about it.
    pub alarms: Vec<Warning>,
}

/// A near duplicate and what it repeats.
#[cfg(feature = "cli")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearDuplicate {
    pub(crate) id: DocId,
    pub(crate) of: DocId,
    pub(crate) similarity: f32,
}

/// A page and its verdict.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct JudgedPage {
    /// Its URL.
    pub url: String,
    /// The verdict.
    pub verdict: VerdictName,
    /// The page that it repeats, if it does.
    #[serde(rename = "match")]
    pub matched: Option<String>,
    /// The similarity to that.
    pub similarity: Option<f32>,
}

impl UrlExplanation {
    /// Why it was skipped, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        let is_suspended = self.url.state == UrlState::Queued && self.suspended.is_some();
        if is_suspended { Some(Reason::Host) } else { self.url.reason() }
    }
}

impl PastRun {
    /// Opens the run in this directory.
    ///
    /// # Errors
    /// If there is none, or its state cannot be read.
    pub fn open(directory: &Path) -> Result<Self, CrawlError> {
        Self::of(open_run(directory)?, directory.join(STATE))
    }

    /// Opens the run in this directory, or the state of a filter in this file. That has documents, but knows nothing of URLs.
    ///
    /// # Errors
    /// If there is neither, or the state cannot be read.
    pub fn open_window(path: &Path) -> Result<Self, CrawlError> {
        if !path.is_file() {
            return Self::open(path);
        }
        let this = Self::of(State::read(path)?, path.to_owned())?;
        if this.is_of_filter()? { Ok(this) } else { Err(CrawlError::NoRun(path.to_owned())) }
    }

    fn of(state: State, path: PathBuf) -> Result<Self, CrawlError> {
        let recorded = RecordedRecipe::read(&state)?;
        let hash_seed = recorded.hash_seed.ok_or(StateError::Damaged("it has no hash seed"))?;
        Ok(Self { path, state, recorded, hash_seed })
    }

    /// Whether it is the state of a filter, and no run.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn is_of_filter(&self) -> Result<bool, CrawlError> {
        Ok(self.state.meta::<String>("kind")?.is_some())
    }

    /// How the run judges: its `[dedup]` table as of the last page that was judged. A filter records only how it makes fingerprints; the rest are
    /// the defaults.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn options(&self) -> Result<Dedup, CrawlError> {
        let options = self.state.json("dedup")?;
        match self.recorded.segment_and_folding() {
            Some((segment, fold_chinese)) if options.is_none() && self.is_of_filter()? => {
                Ok(Dedup { segment, fold_chinese, ..Dedup::default() })
            }
            _ => Ok(options.ok_or(StateError::Damaged("it does not say how pages are judged"))?),
        }
    }

    /// The documents of the window, or of the run, that somebody may mean who has read this id in an output: versions of one, the oldest first; each
    /// with what it repeats, if that is known.
    ///
    /// # Errors
    /// If the state cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn versions(
        &self,
        printed: &str,
    ) -> Result<Vec<(JudgedDocument, Option<JudgedDocument>)>, CrawlError> {
        let meant = Identity::printed_as(printed, &UrlOptions::default());
        let mut versions = Vec::new();
        for id in self.state.first_of(&meant)? {
            let found = self.state.document(id)?;
            let document = found.ok_or(StateError::Damaged("a document is gone"))?;
            let of = document.judgement.verdict.matched().map(|found| found.of);
            let matched = of.map(|of| self.state.document(of)).transpose()?.flatten();
            versions.push((document, matched));
        }
        Ok(versions)
    }

    /// How the run's texts were fingerprinted. Texts to be compared with them must be fingerprinted so too.
    ///
    /// # Errors
    /// If these options ask for something else.
    pub fn recipe(&self, options: &Options) -> Result<Recipe, CrawlError> {
        match self.recorded.difference(options) {
            Some(difference) => Err(CrawlError::Unlike(difference)),
            None => Ok(options.recipe(self.hash_seed)),
        }
    }

    /// What became of a URL; `None` if the run does not know it. Does not follow redirects; the explanation of a URL that redirects has its
    /// target.
    ///
    /// # Errors
    /// If the state cannot be read, or `url` is not a URL.
    pub fn explain(&self, url: &str) -> Result<Option<UrlExplanation>, CrawlError> {
        let state = &self.state;
        let Some(url) = self.url(url)? else { return Ok(None) };
        let seeds: Vec<String> = self.state.json("seed_lists")?.unwrap_or_default();
        let referrer = url.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
        let suspended = state.suspended_hosts()?.into_iter().find(|host| host.host == url.host);
        let judged = url.state == UrlState::Judged;
        let document = if judged { state.document_named(url.url.as_str())? } else { None };
        let judgement = document.as_ref().map(|document| document.judgement);
        let of = judgement.and_then(|it| it.verdict.matched().map(|found| found.of));
        let nearest = judgement.and_then(|it| it.nearest.map(|(of, _)| of));
        let matched = of.or(nearest).map(|of| state.document(of)).transpose()?.flatten();
        let other = of.map(|of| state.other(of)).transpose()?.flatten();
        let visit = if judged { state.visit(url.id)? } else { None };
        let revisits = visit.filter(|visit| visit.visits > 0).map(|visit| Revisits {
            visits: visit.visits,
            changes: visit.changes,
            last: visit.checked,
            gone: visit.lost,
        });
        Ok(Some(UrlExplanation {
            revisits,
            evidence: learnt::evidence(state, &url)?,
            seed: url.seed.and_then(|seed| seeds.into_iter().nth(seed)),
            referrer: referrer.map(|row| row.url.to_string()),
            suspended: suspended.map(|host| host.to_string()),
            url,
            document,
            matched,
            against: other.map(|(_, run, _)| run),
        }))
    }

    /// What became of each URL that is not queued: the verdict on its latest version, or why it was skipped.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn outcomes(&self) -> Result<BTreeMap<String, Outcome>, CrawlError> {
        let mut outcomes = BTreeMap::new();
        let select = |_, state, _| match state {
            UrlState::Skipped(reason) => Some(reason),
            UrlState::Judged | UrlState::Queued => None,
        };
        self.state.for_each_url(select, |row, reason| {
            outcomes.insert(row.url.to_string(), Outcome::Skipped(reason));
            Ok::<_, StateError>(())
        })?;
        self.state.for_each_document(|document| {
            let verdict = (&document.judgement).into();
            outcomes.insert(document.name, Outcome::Judged(verdict));
            Ok(())
        })?;
        outcomes.extend(self.gone()?.into_iter().map(|(url, why)| (url, Outcome::Gone(why))));
        Ok(outcomes)
    }

    /// The known pages that are gone since, and why.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn gone(&self) -> Result<HashMap<String, Reason>, CrawlError> {
        let changed = self.state.changed_pages(usize::MAX)?.into_iter();
        Ok(changed.filter_map(|(url, visit)| Some((url, visit.lost?))).collect())
    }

    /// The first of these output files, or of their full ones, that has fewer bytes than the run has written there. Full ones may have been moved
    /// away. None while a crawl writes, which may rename one.
    ///
    /// # Errors
    /// If the state or the directory cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn cut_off(&self, names: &[&str]) -> Result<Option<PathBuf>, CrawlError> {
        let directory = self.path.parent().unwrap_or(&self.path);
        let there = names.iter().map(|name| parts(directory, name));
        let there = there.collect::<Result<Vec<_>, _>>().map_err(CrawlError::file(directory))?;
        let is_cut = |(file, size): (String, u64)| {
            let path = directory.join(&file);
            let is_there = there.iter().flatten().any(|part| *part == path);
            let length = path.metadata().map_or(0, |found| found.len());
            ((is_there || names.contains(&&*file)) && length < size).then_some(path)
        };
        if matches!(WriteLock::take(&self.path), Err(StateError::Busy { .. })) {
            return Ok(None);
        }
        Ok(self.state.files()?.into_iter().find_map(is_cut))
    }

    /// What the run did over time: the last points, at most this many.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn series(&self, most: usize) -> Result<Vec<Point>, CrawlError> {
        Ok(self.state.series(most)?)
    }

    /// The pages that were judged last, at most this many, and the hosts that get no requests for the time being.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn recent(&self, most: u64) -> Result<Recent, CrawlError> {
        let suspended = self.state.suspended_hosts()?;
        Ok(Recent {
            judged: judged_last(&self.state, most)?,
            suspended: suspended.iter().map(|host| format!("{}: {host}", host.name)).collect(),
            alarms: Builder::load(&self.state)?.alarms().1.cloned().collect(),
        })
    }

    /// Calls `visit` with each URL that was skipped, or with each one that is still `pending`, in the order in which they were found. The reason
    /// of those that are pending is [`Reason::Host`] if their host is suspended, or [`Reason::Pending`].
    ///
    /// # Errors
    /// If the state cannot be read, or `visit` fails.
    pub fn for_each_skipped<E: From<StateError>>(
        &self,
        pending: bool,
        mut visit: impl FnMut(&SkippedLine<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut others = 0;
        let select = |_, state, _| match state {
            UrlState::Queued if pending => Some(None),
            UrlState::Skipped(reason) if !pending => Some(Some(reason)),
            UrlState::Queued | UrlState::Skipped(_) => {
                others += 1;
                None
            }
            UrlState::Judged => None,
        };
        let suspended = self.state.suspended_hosts()?.into_iter();
        let suspended: HashMap<_, _> = suspended.map(|row| (row.host, row.to_string())).collect();
        // The same few pages come again and again.
        let mut referrers = LruCache::new(REFERRERS);
        let url_of = |id| {
            let row = self.state.url_by_id(id)?;
            Ok::<_, StateError>(row.map(|row| row.url.to_string()))
        };
        let depths = self.state.depths()?;
        self.state.for_each_url(select, |row, skipped| {
            let host = suspended.get(&row.host).filter(|_| skipped.is_none());
            let referrer = row.referrer.map(|id| referrers.try_get_or_insert(id, || url_of(id)));
            let referrer = referrer.transpose()?.and_then(Option::as_deref);
            visit(&SkippedLine {
                url: row.url.as_str().into(),
                reason: match (skipped, host) {
                    (Some(reason), _) => reason,
                    (None, Some(_)) => Reason::Host,
                    (None, None) => Reason::Pending,
                },
                detail: host.or(row.detail.as_ref()).map(Into::into),
                status: row.status,
                referrer: referrer.map(Into::into),
                depth: depths.get(&row.id).copied().unwrap_or(row.depth),
                at: skipped.map(|_| row.at.into()),
            })
        })?;
        Ok(others)
    }

    /// Calls `visit` with each URL that got an error or no answer, in the order in which they were found, and all pages that link to it.
    ///
    /// # Errors
    /// If the state cannot be read, or `visit` fails.
    pub fn for_each_broken<E: From<StateError>>(
        &self,
        visit: impl FnMut(BrokenLink) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut broken = Broken::default();
        self.state.for_each_url(
            |id, state, _| {
                broken.add(id, state);
                None::<()>
            },
            |_, ()| Ok::<_, StateError>(()),
        )?;
        broken.for_each(&self.state, usize::MAX, visit).map(drop)
    }

    /// The row of a URL, in any spelling; `None` if the run does not know it.
    ///
    /// # Errors
    /// If the state cannot be read, or `url` is not a URL.
    pub fn url(&self, url: &str) -> Result<Option<UrlRow>, CrawlError> {
        let normal = NormalUrl::parse(url, &UrlOptions::default())?;
        let kept = NormalUrl::parse(url, &UrlOptions { tracking: Vec::new() })?;
        Ok(self.state.url_named(normal.as_str(), kept.as_str())?)
    }

    /// Calls `visit` with each link of the run, in the order in which the pages were found; or with those to a URL, and then those on it. A redirect
    /// is a link too, and so is a line of a sitemap. Links are those of the page's latest version.
    ///
    /// # Errors
    /// If the state cannot be read, or `visit` fails.
    pub fn for_each_link<E: From<StateError>>(
        &self,
        of: Option<UrlId>,
        mut visit: impl FnMut(&Link) -> Result<(), E>,
    ) -> Result<(), E> {
        let state = &self.state;
        // The same few pages come again and again.
        let mut rows = LruCache::new(REFERRERS);
        let mut each = |from: UrlId, to: Vec<UrlId>| {
            for to in to {
                let mut row = |id| rows.try_get_or_insert(id, || state.url(id)).cloned();
                let (from, to): (UrlRow, UrlRow) = (row(from)?, row(to)?);
                visit(&Link {
                    from: from.url.to_string(),
                    to: to.url.to_string(),
                    reason: to.reason(),
                    status: to.status,
                })?;
            }
            Ok::<_, E>(())
        };
        state.for_each_links(|from, mut to| {
            to.retain(|to| of.is_none_or(|url| url == *to));
            each(from, to)
        })?;
        of.map_or(Ok(()), |url| each(url, state.links_of(url)?))
    }

    /// The rules that the run has learnt or imported, also those that were revoked, with their evidence as of the last commit.
    ///
    /// # Errors
    /// If the state cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn rules(&self) -> Result<Vec<LearntRule>, CrawlError> {
        Ok(learnt::rules_of(&self.state)?)
    }

    /// The near duplicates, in the order in which they were judged.
    ///
    /// # Errors
    /// If the state cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn near_duplicates(&self) -> Result<Vec<NearDuplicate>, CrawlError> {
        let mut all = Vec::new();
        self.state.for_each_document(|document| {
            let id = document.judgement.id;
            let found = document.judgement.verdict.matched();
            let found = found.filter(|found| found.kind == crate::filter::Kind::Near);
            all.extend(found.map(|it| NearDuplicate { id, of: it.of, similarity: it.similarity }));
            Ok(())
        })?;
        Ok(all)
    }

    /// The URL of a document.
    ///
    /// # Errors
    /// If the state cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn name_of(&self, id: DocId) -> Result<String, CrawlError> {
        Ok(self.state.name_of(id)?)
    }

    /// The texts of these near duplicates, each after the page that it repeats, as far as they are known.
    ///
    /// # Errors
    /// If they cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn texts(
        &self,
        directory: &Path,
        pairs: &[(&str, &str)],
    ) -> Result<std::io::Result<Differences>, CrawlError> {
        Ok(Differences::read(pairs, &self.state, directory)?)
    }

    /// The text of a near duplicate that is not stored, if the run keeps it.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn text(&self, document: &JudgedDocument) -> Result<Option<KeptText>, CrawlError> {
        Ok(self.state.text_of(document.judgement.id)?)
    }

    /// What the run keeps of the content of a page, if it does.
    pub(crate) fn content(&self, id: DocId) -> Result<Option<Content>, CrawlError> {
        Ok(self.state.content(id)?)
    }

    /// The window of the run, to look documents up that are made by this recipe, the run's [own](Self::recipe). `options` are the run's
    /// [own](Self::options) too, or others to see their effect: then copies of near duplicates are judged again.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn window(&self, options: &Options, recipe: Recipe) -> Result<RunWindow, CrawlError> {
        let own = self.options()?.filter();
        let hold = Thresholds::new(options) == Thresholds::new(&own)
            && options.compares_content() == own.compares_content();
        Ok(RunWindow(PastWindow::open(&self.path, options, recipe, hold)?))
    }

    /// Adds what the run knows of the template of the document's origin to an engine that knows none.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn restore_template(
        &self,
        engine: &mut Engine,
        document: &Document,
    ) -> Result<(), CrawlError> {
        let Some(origin) = document.sketch.origin else { return Ok(()) };
        Ok(self.state.restore_templates(engine, Some(origin))?)
    }
}

/// The window of a run, in memory.
#[derive(Debug)]
pub struct RunWindow(PastWindow);

impl RunWindow {
    /// The pages nearest to a text, at most `limit`, and how the run would judge the text if it came next; its key and time do not matter.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn lookup(&mut self, document: &Document, limit: usize) -> Result<Lookup, CrawlError> {
        let document = &document.clone().with_key(Key::of("")).with_time(Timestamp(i64::MIN));
        let Nearest { judgement, documents, compared } = self.0.nearest(document, limit)?;
        let near = |(id, distance, signature_distance)| {
            Ok(NearPage { page: self.0.document(id)?, distance, signature_distance })
        };
        let nearest = documents.into_iter().map(near).collect::<Result<_, StateError>>()?;
        let page = |found: &Match| Ok::<_, StateError>((*found, self.0.document(found.of)?));
        let matched = judgement.verdict.matched().map(page).transpose()?;
        Ok(Lookup { nearest, compared, matched })
    }
}

/// Writes the report of a run directory again, from its state. Returns it, and whether it was written. It is not while a crawl is running
/// there, because the crawl does: then it is of the last commit, and its end is [`End::Running`]. Nor is it if the directory cannot be
/// written.
///
/// # Errors
/// If there is no run, its state cannot be read, its report is that of another run, or the files cannot be written.
pub fn report(directory: &Path) -> Result<(Report, bool), CrawlError> {
    // Without a run, there is nothing to lock.
    open_run(directory)?;
    let lock = match WriteLock::take(&directory.join(STATE)) {
        Err(error) if !error.is_busy() && !error.is_read_only() => return Err(error.into()),
        lock => lock,
    };
    if lock.as_ref().is_err_and(StateError::is_busy) {
        return Ok((running_report(directory)?, false));
    }
    let state = open_run(directory)?;
    let report = summarise(&state, &Builder::load(&state)?, facts(&state)?, directory)?;
    if lock.is_err() {
        return Ok((report, false));
    }
    check_report(directory, &report)?;
    match report.write(directory) {
        Err(ReportError::Write(error)) if error.is_read_only() => Ok((report, false)),
        written => Ok(written.map(|()| (report, true))?),
    }
}

/// The report of a run as of its last commit, while its crawl is running: its end is [`End::Running`].
///
/// # Errors
/// If there is no run, or its state cannot be read.
pub(crate) fn running_report(directory: &Path) -> Result<Report, CrawlError> {
    let state = open_run(directory)?;
    let facts = facts(&state)?;
    let facts = Report { end: End::Running, finished: Timestamp::now().into(), ..facts };
    summarise(&state, &Builder::load(&state)?, facts, directory)
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub end: End,
    /// When it was started first.
    pub started: Timestamp,
    /// What it has found.
    pub counts: Tally,
    /// The seed lists of its last start: URLs or files.
    pub seeds: Vec<String>,
}

/// How far the run in this directory is, which no process goes on with.
///
/// # Errors
/// If there is none, another process uses it, or its state cannot be read.
pub fn standing(directory: &Path) -> Result<Standing, CrawlError> {
    open_run(directory)?;
    let _lock = WriteLock::take(&directory.join(STATE))?;
    let state = open_run(directory)?;
    Ok(Standing {
        name: state.meta("name")?.unwrap_or_default(),
        end: state.json("end")?.unwrap_or_default(),
        started: Timestamp(state.meta("started")?.unwrap_or_default()),
        counts: state.json("counts")?.unwrap_or_default(),
        seeds: state.json("seed_lists")?.unwrap_or_default(),
    })
}

/// Summarises a run.
pub(super) fn summarise(
    state: &State,
    builder: &Builder,
    facts: Report,
    directory: &Path,
) -> Result<Report, CrawlError> {
    let mut report = builder.finish(state, facts, state.json("keeps")?.unwrap_or_default())?;
    if let Err(error) = Differences::add_to(&mut report, state, directory)? {
        tracing::warn!(%error, "the report shows no differences of texts");
    }
    Ok(report)
}

/// The facts about the run as a whole.
pub(super) fn facts(state: &State) -> Result<Report, CrawlError> {
    let text = |name| state.meta::<String>(name).map(Option::unwrap_or_default);
    let number = |name| state.meta::<i64>(name).map(Option::unwrap_or_default);
    let finished = state.meta("finished")?.map_or_else(Timestamp::now, Timestamp);
    Ok(Report {
        name: text("name")?,
        end: state.json("end")?.unwrap_or_default(),
        started: Timestamp(number("started")?).into(),
        finished: finished.into(),
        seconds: state.json("worked")?.unwrap_or_default(),
        fingerprint: state.json("judged_by")?.unwrap_or_default(),
        search: Search { index: text("index")?, audit: state.json("audit")?.unwrap_or_default() },
        against: state.repeated_others()?.into_iter().collect(),
        learnt: state.json("learnt")?.unwrap_or_default(),
        warc: number("warc")? != 0,
        tracking: state.json("tracking")?.unwrap_or_else(|| UrlOptions::default().tracking),
        warnings: state.json::<Moved>(MOVED)?.map(moved).into_iter().collect(),
        ..Report::default()
    })
}

fn moved((count, seeds): Moved) -> Warning {
    Warning::Moved { count, seeds }
}

pub(super) fn judged_by(options: &Options, state: &State) -> Result<FingerprintMethod, CrawlError> {
    let seed = HashSeed(state.meta::<i64>("seed")?.unwrap_or_default().cast_unsigned());
    Ok(FingerprintMethod {
        scheme: state.meta("scheme")?.unwrap_or_default(),
        seed_id: seed.id(),
        mode: options.mode.as_str().to_owned(),
        radius: options.radius(),
        similarity: options.compares_content().then_some(options.rule.similarity),
    })
}
