//! The start of a run: opens its directory, continues where an earlier start stopped, and queues the seeds.
//!
//! A later start queues again what was skipped for reasons that no longer hold: URLs that the seeds, budgets, policies or limits admit
//! now, hosts whose deferral has expired, and URLs that failed for a reason that may have passed.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use super::{
    FIRST_BATCH_TIME, Recorder, Tally, json,
    links::{Found, Sitemaps},
    report::judged_by,
    retry::Failures,
    select::UrlSelection,
};
use crate::{
    crawl::{
        against::{Others, adopt},
        directory::{STATE, check_owner, check_unclaimed, keep_marks, stored},
        frontier::Budget,
        plan::{CrawlError, Dedup, Links, Plan, Root, Store},
        robots::{self, product_token},
    },
    filter::{Documents, Options},
    page::{NormalUrl, Timestamp},
    report::{Builder, End},
    sink::{Checksums, Mark, Outputs, SinkError, checksums_name, create_directory, warc},
    state::{
        DeferCause, DurableFilter, Reason, Recorded, Restored, SkipCause, State, UrlLog,
        UrlOutcome, UrlRow, UrlState,
    },
};

/// How long a host that did not respond is left alone after its run is finished.
const DEAD_FOR: Duration = Duration::from_hours(24);

/// What the loop must know of a run that starts.
#[derive(Debug)]
pub(in crate::crawl) struct Start {
    /// Makes the documents to be judged.
    pub(in crate::crawl) documents: Documents,
    pub(in crate::crawl) budget: Budget,
    pub(in crate::crawl) counts: Tally,
}

/// The time up to which a host that is deferred now gets no request, unless the cause ceases earlier: the pause that it asked for, the
/// validity of its robots.txt, or a day.
pub(super) fn deferred_until(cause: DeferCause) -> Timestamp {
    let pause = match cause {
        DeferCause::CrawlDelay(_) => robots::VALID,
        DeferCause::RetryAfter(pause) => pause,
        DeferCause::Unanswered(_) => DEAD_FOR,
        // Every start asks it again.
        DeferCause::Stopped(_) => Duration::ZERO,
    };
    Timestamp::now() + pause
}

impl Recorder {
    /// Opens the run directory and queues the seeds. `report` is called while a large window is restored.
    pub(in crate::crawl) fn start(
        plan: Arc<Plan>,
        report: impl FnMut(Restored),
    ) -> Result<(Self, Start), CrawlError> {
        let directory = &plan.directory;
        create_directory(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        check_unclaimed(directory)?;
        let options = adopt(&plan)?;
        let state = State::open(&directory.join(STATE))?;
        check_owner(&state, directory, &plan.name)?;
        let filter = open_filter(state, &plan, &options, report)?;
        let others = Others::open(&plan, filter.documents().fingerprinter().recipe())?;
        let state = filter.state();
        let sink = open_outputs(&plan, state)?;
        let (scope, roots) = plan.roots()?;
        let mut recorder = Self {
            builder: Builder::load(state)?,
            has_judged: false,
            others,
            tried: HashMap::new(),
            selection: UrlSelection::new(&plan),
            scope,
            url_options: plan.crawl.url_options(),
            counts: stored(state, "counts")?.unwrap_or_default(),
            spent: stored(state, "spent")?.unwrap_or_default(),
            sitemaps: Sitemaps::new(&plan.seeds, &roots),
            round_robin: plan.crawl.concurrency.get() == 1,
            urls: UrlLog::load(state)?,
            queued: Vec::new(),
            failures: Failures::default(),
            batch: 0,
            deadline: None,
            batch_time: FIRST_BATCH_TIME,
            started: std::time::Instant::now(),
            audited: stored(state, "audit")?.unwrap_or_default(),
            worked: stored(state, "worked")?.unwrap_or_default(),
            plan,
            filter,
            sink,
        };
        recorder.queue_what_is_due(&roots)?;
        let (name, counts) = (&recorder.plan.name, recorder.counts);
        tracing::info!(name, fetched = counts.fetched, queued = counts.queued, "the run starts");
        let limits = recorder.plan.seeds.iter().map(|seed| seed.max_pages);
        let seeds = limits.zip(recorder.spent.iter().copied());
        let budget = Budget::new(recorder.plan.crawl.max_pages, counts.fetched, seeds);
        let documents = recorder.filter.documents();
        Ok((recorder, Start { documents, budget, counts }))
    }

    /// Queues the seeds, and what had been skipped for reasons that no longer hold.
    fn queue_what_is_due(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        self.filter.begin()?;
        self.deadline = Some(tokio::time::Instant::now());
        let ended = stored::<End>(self.state(), "end")?;
        self.record_start()?;
        self.warn_of_policy_change()?;
        self.resume_hosts(ended)?;
        let seeds_moved = self.update_seed_lists()?;
        self.queue_seeds(roots)?;
        self.follow_known_robots()?;
        if seeds_moved {
            self.reassign_queued()?;
        }
        self.requeue_skipped(roots)?;
        self.queue_visits()?;
        self.learn_again()?;
        self.queued.clear();
        self.commit()
    }

    /// Records what a report needs even if the run does not end.
    fn record_start(&self) -> Result<(), CrawlError> {
        let (plan, state) = (&self.plan, self.state());
        state.set_meta("name", plan.name.as_str())?;
        state.set_meta("warc", plan.store.warc)?;
        state.set_meta("end", json(&End::Interrupted))?;
        state.set_meta("rules", json(&plan.learn.rules))?;
        if state.meta::<i64>("started")?.is_none() {
            state.set_meta("started", Timestamp::now().0)?;
            self.record_method()?;
        }
        Ok(())
    }

    /// Records how pages are judged. A start that judges none leaves the record of those before it.
    pub(super) fn record_method(&self) -> Result<(), CrawlError> {
        let (dedup, state) = (&self.plan.dedup, self.state());
        state.set_meta("judged_by", json(&judged_by(&dedup.filter(), state)?))?;
        state.set_meta("dedup", json(dedup))?;
        Ok(state.set_meta("index", self.filter.plan().to_string())?)
    }

    /// Records whether duplicates are stored, for the report. Warns if earlier ones were not stored that would be now: a URL has only one
    /// line, so they stay without their pages.
    fn warn_of_policy_change(&self) -> Result<(), CrawlError> {
        let dedup = &self.plan.dedup;
        let keeps = [dedup.same_site, dedup.cross_site].map(|policy| policy.store == Store::Keep);
        if !has_changed(self.state(), "keeps", &json(&keeps))? {
            return Ok(());
        }
        let not_stored = self.builder.unstored(keeps);
        if not_stored > 0 {
            tracing::warn!(
                duplicates = not_stored,
                "duplicates found before `store = \"keep\"` stay recorded without their pages; to have these, start over with --fresh"
            );
        }
        Ok(())
    }

    /// Resumes deferred hosts that may get requests again, after a run that `ended` so.
    fn resume_hosts(&mut self, ended: Option<End>) -> Result<(), CrawlError> {
        let (now, limits) = (Timestamp::now(), self.plan.politeness.clone());
        for deferred in self.state().deferred_hosts()? {
            let is_allowed = match deferred.cause {
                DeferCause::CrawlDelay(delay) => {
                    !limits.obey_robots || delay <= limits.max_crawl_delay
                }
                DeferCause::RetryAfter(pause) => pause <= limits.max_retry_after,
                DeferCause::Unanswered(_) => ended != Some(End::Done),
                DeferCause::Stopped(_) => true,
            };
            if is_allowed || deferred.until <= now {
                tracing::info!(host = deferred.name, cause = %deferred.cause, "host resumed");
                self.state().resume_host(&deferred)?;
                self.urls.resume_host(deferred.host);
            }
        }
        Ok(())
    }

    /// Seed lists are identified by their position. If they were added, removed or moved since the last start, their URLs and budgets
    /// move with them. Returns whether they did.
    fn update_seed_lists(&mut self) -> Result<bool, CrawlError> {
        let lists: Vec<_> = self.plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
        let known = stored::<Vec<String>>(self.state(), "seed_lists")?.unwrap_or_default();
        let moved = !lists.starts_with(&known);
        if moved {
            let position = |list| lists.iter().position(|other| other == list);
            let positions: Vec<_> = known.iter().map(position).collect();
            self.state().move_seeds(&positions)?;
            let spent = std::mem::replace(&mut self.spent, vec![0; lists.len()]);
            for (position, spent) in positions.into_iter().zip(spent) {
                if let Some(position) = position {
                    self.spent[position] += spent;
                }
            }
        }
        self.spent.resize(lists.len(), 0);
        self.state().set_meta("seed_lists", json(&lists))?;
        Ok(moved)
    }

    fn queue_seeds(&mut self, lists: &[Root]) -> Result<(), CrawlError> {
        for (seed, (kind, urls)) in lists.iter().enumerate() {
            let found = Found::page(None, 0, Timestamp::now());
            for url in urls {
                self.discover(url, &Found { kind: *kind, seed: Some(seed), ..found })?;
            }
        }
        Ok(())
    }

    /// Queued URLs whose seed list is gone move to another that admits them, or are skipped.
    fn reassign_queued(&mut self) -> Result<(), CrawlError> {
        let mut without_seed = Vec::new();
        self.urls.for_each(
            self.state(),
            |state| state == UrlState::Queued,
            |row| {
                without_seed.extend(Some(row).filter(|row| row.seed.is_none()));
                Ok::<_, CrawlError>(())
            },
        )?;
        for row in without_seed {
            match self.admit(&row.url, row.kind, row.depth, None) {
                Ok(seed) => UrlLog::set_seed(self.state(), &row, seed)?,
                Err(_) if self.state().visit(row.id)?.is_some() => self.record_known(&row)?,
                Err(reason) => {
                    let (state, at) = (UrlState::Skipped(reason), Timestamp::now());
                    let outcome = UrlOutcome { state, cause: None, detail: None, status: None, at };
                    self.urls.record_outcome(self.filter.state(), row.id, &outcome)?;
                    let url = (row.id, row.url.as_str());
                    self.builder.skipped(self.filter.state(), url, reason, None)?;
                }
            }
        }
        self.urls.dequeue_settled();
        self.counts.queued = self.urls.queue_len();
        Ok(())
    }

    /// Queues URLs again whose host could not be reached or whose robots.txt was not received, other failures after some hours, and those that
    /// are admitted now because the configuration has changed.
    fn requeue_skipped(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        let admission_changed = has_changed(self.state(), "policy", &admission(&self.plan, roots))?;
        let policy_changed = has_changed(self.state(), "robots", &robots_policy(&self.plan))?;
        let Dedup { same_site, cross_site, .. } = &self.plan.dedup;
        let learns = self.plan.dedup.learns();
        let mut failed = self.state().failed_urls(now)?;
        failed.retain(|row| row.is_retried(now));
        let has_ceased = |row: &UrlRow| match (row.state, row.cause) {
            (_, Some(SkipCause::SameSite)) => same_site.links != Links::Skip,
            (_, Some(SkipCause::CrossSite)) => cross_site.links != Links::Skip,
            (UrlState::Skipped(reason), None) if reason.is_learnt() => {
                !learns || self.never_defers(row.seed)
            }
            (UrlState::Skipped(Reason::Robots), None) => policy_changed,
            (UrlState::Skipped(Reason::Scope | Reason::Depth | Reason::Budget), None) => {
                admission_changed
            }
            _ => false,
        };
        let mut admitted = Vec::new();
        if admission_changed || policy_changed {
            self.urls.for_each(
                self.state(),
                |state| matches!(state, UrlState::Skipped(_)),
                |row| {
                    if has_ceased(&row)
                        && let Ok(seed) = self.admit(&row.url, row.kind, row.depth, None)
                    {
                        admitted.push((row, seed));
                    }
                    Ok::<_, CrawlError>(())
                },
            )?;
        }
        for (row, seed) in admitted {
            self.requeue(&row, seed)?;
        }
        self.failures.checked();
        failed.iter().try_for_each(|row| self.retry_failure(row))
    }
}

/// Opens the filter. A new one gets the hash seed that was adopted, which is as secret as one that is drawn.
fn open_filter(
    state: State,
    plan: &Plan,
    adopted: &Options,
    report: impl FnMut(Restored),
) -> Result<DurableFilter, CrawlError> {
    let recorded = Recorded::read(&state)?;
    if recorded.drawn.is_none() {
        state.begin()?;
        state.set_meta("seed_drawn", plan.dedup.seed.seed().is_none())?;
        return Ok(DurableFilter::of_crawl(state, adopted, report)?);
    }
    Ok(DurableFilter::of_crawl(state, &plan.dedup.filter(), report)?)
}

fn open_outputs(plan: &Plan, state: &State) -> Result<Outputs, CrawlError> {
    let run = plan.store.warc.then(|| warc::RunFields {
        name: plan.name.clone(),
        user_agent: plan.crawl.user_agent.clone(),
        obey_robots: plan.politeness.obey_robots,
    });
    let files = state.files()?;
    let marks: Vec<Mark> = files.into_iter().map(|(file, offset)| Mark { file, offset }).collect();
    let mut sink = Outputs::open(&plan.directory, run, &marks)?;
    add_checksums(&plan.directory, state, &marks)?;
    let marks = sink.sync()?;
    keep_marks(state, &marks, &sink.take_checksums())?;
    sink.rotate(plan.store);
    Ok(sink)
}

/// Adds the checksums of what earlier versions have written.
fn add_checksums(directory: &Path, state: &State, marks: &[Mark]) -> Result<(), CrawlError> {
    for Mark { file, offset } in marks {
        let name = checksums_name(file, marks.iter().map(|mark| mark.file.as_str()));
        let known = state.checksummed(&name)?;
        let path = directory.join(file);
        // Full files may have been moved away.
        if known < *offset && path.exists() {
            let failed = |source| SinkError::Open { path: path.clone(), source };
            let checksums = Checksums::of_file(&path, known..*offset).map_err(failed)?;
            let checksums: Vec<_> =
                checksums.into_iter().map(|part| (name.clone(), part)).collect();
            keep_marks(state, &[], &checksums)?;
        }
    }
    Ok(())
}

/// Whether this value differs from that of the last start, if there was one. Keeps it for the next start.
fn has_changed(state: &State, name: &str, value: &str) -> Result<bool, CrawlError> {
    let known = state.meta::<String>(name)?;
    state.set_meta(name, value)?;
    Ok(known.is_some_and(|known| known != value))
}

/// Changes if what seeds, budgets and policies admit may have changed.
fn admission(plan: &Plan, roots: &[Root]) -> String {
    let Plan { crawl, dedup, seeds, .. } = plan;
    let policies = (dedup.same_site, dedup.cross_site);
    let rules = (crawl.max_pages, crawl.max_depth, &crawl.tracking, policies, seeds);
    let roots: Vec<_> = roots.iter().flat_map(|(_, urls)| urls).map(NormalUrl::as_str).collect();
    let digest = xxhash_rust::xxh3::xxh3_128(json(&(rules, roots)).as_bytes());
    format!("{digest:032x}")
}

/// Changes if what robots.txt forbids may have changed although robots.txt has not.
fn robots_policy(plan: &Plan) -> String {
    json(&(plan.politeness.obey_robots, product_token(&plan.crawl.user_agent)))
}
