//! The start of a run: opens its directory, continues where an earlier start stopped, and queues the seeds.
//!
//! It also queues again what was skipped for reasons that no longer hold: URLs that the seeds, budgets, policies or limits admit now, hosts whose
//! suspension has expired, and URLs that failed for a reason that may have passed.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    Batch, Engine, FIRST_BATCH_TIME,
    alarm::Alarms,
    learn::UrlSelection,
    now,
    record::{Found, Sitemaps},
    retry::Retries,
};
use crate::{
    crawl::{
        against::{Others, adopt},
        cluster::Cluster,
        directory::{check_owner, check_unclaimed, keep_marks},
        plan::{CrawlError, Dedup, Links, Plan, Root, STATE, Store},
        read_run::judged_by,
        robots::product_token,
        schedule::{Budget, Clock, Limits, Order, Patience, Schedule},
        worker::Skipped,
    },
    filter::Options,
    fingerprint::HashSeedChoice,
    page::{NormalUrl, Timestamp},
    report::{Builder, End, Pages, Series},
    sink::{Mark, Outputs, create_directory, warc},
    state::{
        DurableFilter, Reason, Restored, SkipCause, State, SuspendCause, UrlIndex, UrlRow, UrlState,
    },
};

/// Hosts that the schedule holds, and URLs that one of them gets at a time while others wait.
const HOSTS: usize = 4096;
const URLS: usize = 32;

impl Engine {
    /// Opens the run directory and queues the seeds. `report` is called while a large window is restored.
    pub(super) fn start(
        plan: Arc<Plan>,
        stop: CancellationToken,
        report: impl FnMut(Restored),
    ) -> Result<Self, CrawlError> {
        let directory = &plan.directory;
        create_directory(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        check_unclaimed(directory)?;
        let mut options = adopt(&plan)?;
        let state = State::open(&directory.join(STATE))?;
        check_owner(&state, directory, &plan.name)?;
        let (scope, roots) = plan.roots()?;
        let cluster = Cluster::join(&plan, &roots, &state, stop)?;
        if let Some(cluster) = &cluster {
            options.hash_seed = HashSeedChoice::Fixed(cluster.run.hash_seed);
        }
        let mut filter = open_filter(state, &plan, &options, report)?;
        if let Some(cluster) = &cluster {
            filter.claim_with(&cluster.server, &cluster.run);
        }
        let others = Others::open(&plan, filter.documents().fingerprinter().recipe())?;
        let state = filter.state();
        let sink = open_outputs(&plan, state)?;
        let mut engine = Self {
            schedule: schedule(&plan),
            builder: Builder::load(state)?,
            alarms: Alarms::default(),
            has_judged: false,
            others,
            selection: UrlSelection::new(&plan),
            scope,
            url_options: plan.crawl.url_options(),
            counts: state.json("counts")?.unwrap_or_default(),
            spent: state.json("spent")?.unwrap_or_default(),
            sitemaps: Sitemaps::new(&plan.seeds, &roots),
            urls: UrlIndex::load(state)?,
            series: Series::load(state)?,
            retries: Retries::load(state)?,
            batch: Batch::default(),
            deadline: None,
            batch_time: FIRST_BATCH_TIME,
            started: std::time::Instant::now(),
            audited: state.json("audit")?.unwrap_or_default(),
            worked: state.json("worked")?.unwrap_or_default(),
            is_out: false,
            is_short: false,
            cluster,
            plan,
            filter,
            sink,
        };
        engine.follow_known_moves(&roots)?;
        engine.queue_what_is_due(&roots)?;
        let (name, counts) = (&engine.plan.name, engine.counts);
        tracing::info!(name, fetched = counts.fetched, queued = counts.queued, "the run starts");
        engine.set_budget();
        Ok(engine)
    }

    /// Queues the seeds, and what had been skipped for reasons that no longer hold.
    fn queue_what_is_due(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        self.filter.begin()?;
        self.deadline = Some(now());
        self.restore_learnt()?;
        self.record_start()?;
        self.warn_of_policy_change()?;
        self.resume_hosts()?;
        let seeds_moved = self.update_seed_lists()?;
        self.queue_seeds(roots)?;
        self.follow_known_robots()?;
        if seeds_moved {
            self.reassign_queued()?;
        }
        self.requeue_skipped(roots)?;
        self.queue_visits()?;
        self.review_all()?;
        self.commit()
    }

    /// Records what a report needs even if the run does not end.
    fn record_start(&self) -> Result<(), CrawlError> {
        let (plan, state) = (&self.plan, self.state());
        state.set_meta("name", plan.name.as_str())?;
        state.set_meta("warc", plan.store.warc)?;
        state.set_json("end", &End::Interrupted)?;
        state.set_json("rules", &plan.learn.rules)?;
        state.set_json("tracking", &plan.crawl.tracking)?;
        if state.meta::<i64>("started")?.is_none() {
            state.set_meta("started", Timestamp::now().0)?;
            self.record_method()?;
        }
        Ok(())
    }

    /// Records how pages are judged. A start that judges none leaves the record of those before it.
    pub(super) fn record_method(&self) -> Result<(), CrawlError> {
        let (dedup, state) = (&self.plan.dedup, self.state());
        state.set_json("judged_by", &judged_by(&dedup.filter(), state)?)?;
        state.set_json("dedup", dedup)?;
        Ok(state.set_meta("index", self.filter.index().layout().to_string())?)
    }

    /// Records whether duplicates are stored, for the report. Warns if earlier ones were not stored that would be now: an
    /// unchanged URL gets no second line, so they stay without their pages.
    fn warn_of_policy_change(&self) -> Result<(), CrawlError> {
        let dedup = &self.plan.dedup;
        let keeps = [dedup.same_site, dedup.cross_site].map(|policy| policy.store == Store::Keep);
        if !has_changed(self.state(), "keeps", &json(&keeps))? {
            return Ok(());
        }
        let not_stored = Pages::count(self.state())?.unstored(keeps);
        if not_stored > 0 {
            tracing::warn!(
                duplicates = not_stored,
                "duplicates found before `store = \"keep\"` stay recorded without their pages; to have these, start over with --fresh"
            );
        }
        Ok(())
    }

    /// Resumes suspended hosts that may get requests again.
    fn resume_hosts(&mut self) -> Result<(), CrawlError> {
        let (now, limits) = (Timestamp::now(), self.plan.politeness.clone());
        for suspended in self.state().suspended_hosts()? {
            let is_allowed = match suspended.cause {
                SuspendCause::CrawlDelay(delay) => {
                    !limits.obey_robots || delay <= limits.max_crawl_delay
                }
                SuspendCause::RetryAfter(pause) => pause <= limits.max_retry_after,
                SuspendCause::Unanswered(_) | SuspendCause::Stopped(_) | SuspendCause::Alarm => {
                    true
                }
            };
            if is_allowed || suspended.until <= now {
                tracing::info!(host = suspended.name, cause = %suspended.cause, "host resumed");
                self.state().resume_host(&suspended)?;
                self.urls.queue.set_suspended(suspended.host, false);
            }
        }
        Ok(())
    }

    /// Seed lists are identified by their position. If they were added, removed or moved since the last start, their URLs and budgets
    /// move with them. Returns whether they did.
    fn update_seed_lists(&mut self) -> Result<bool, CrawlError> {
        let lists: Vec<_> = self.plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
        let known = self.state().json::<Vec<String>>("seed_lists")?.unwrap_or_default();
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
        self.state().set_json("seed_lists", &lists)?;
        Ok(moved)
    }

    fn queue_seeds(&mut self, lists: &[Root]) -> Result<(), CrawlError> {
        for (seed, (kind, urls)) in lists.iter().enumerate() {
            let found = Found::page(None, 0, Timestamp::now());
            for url in urls.iter().filter(|url| self.owner(url).is_none()).collect::<Vec<_>>() {
                self.discover(url, &Found { kind: *kind, seed: Some(seed), ..found })?;
            }
        }
        Ok(())
    }

    /// Queued URLs whose seed list is gone move to another that admits them, or are skipped.
    fn reassign_queued(&mut self) -> Result<(), CrawlError> {
        let mut without_seed = Vec::new();
        self.state().for_each_url(
            |_, state, _| (state == UrlState::Queued).then_some(()),
            |row, ()| {
                without_seed.extend(Some(row).filter(|row| row.seed.is_none()));
                Ok::<_, CrawlError>(())
            },
        )?;
        for row in without_seed {
            let row = UrlRow { depth: self.urls.depth(row.id)?, ..row };
            match self.admit(&row.url, row.kind, row.depth, None) {
                Ok(seed) => self.state().revive_url(&row, seed)?,
                Err(_) if self.state().visit(row.id)?.is_some() => self.record_known(&row)?,
                Err(reason) => self.record_skipped(&row, &Skipped::new(reason, None, None))?,
            }
        }
        self.urls.dequeue_settled();
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
        let all = self.plan.retry_failed;
        let mut failed = self.state().failed_urls(now)?;
        failed.retain(|row| all || row.is_retried(now));
        let has_ceased = |row: &UrlRow, reason: Reason| match (reason, row.cause) {
            (_, Some(SkipCause::SameSite)) => same_site.links != Links::Skip,
            (_, Some(SkipCause::CrossSite)) => cross_site.links != Links::Skip,
            (reason, None) if reason.is_learnt() => !learns || self.never_defers(row.seed),
            (Reason::Robots, None) => policy_changed,
            (Reason::Scope | Reason::Depth | Reason::Budget, None) => admission_changed,
            _ => false,
        };
        let (mut admitted, mut moved) = (Vec::new(), Vec::new());
        if admission_changed || policy_changed {
            let lists = roots.iter().enumerate();
            let seeds = lists.flat_map(|(list, (_, urls))| urls.iter().map(move |url| (url, list)));
            let seeds: HashMap<&NormalUrl, usize> = seeds.collect();
            self.state().for_each_url(
                |_, state, _| state.skipped(),
                |row, reason| {
                    let row = UrlRow { depth: self.urls.depth(row.id)?, ..row };
                    let list = seeds.get(&row.url).copied();
                    // A seed that came to nothing is one as long as a list has it.
                    let is_root = row.depth == 0 && row.referrer.is_none();
                    if is_root && list.is_some() != row.seed.is_some() {
                        moved.push((row.id, list));
                    }
                    if has_ceased(&row, reason)
                        && let Ok(seed) = self.admit(&row.url, row.kind, row.depth, None)
                    {
                        admitted.push((row, seed));
                    }
                    Ok::<_, CrawlError>(())
                },
            )?;
        }
        for (id, list) in moved {
            self.state().set_seed(id, list)?;
        }
        for (row, seed) in admitted {
            self.requeue(&row, seed, None)?;
        }
        self.retries.checked();
        failed.iter().try_for_each(|row| self.retry_failure(row))
    }
}

/// The schedule of a plan. Its budget follows.
fn schedule(plan: &Plan) -> Schedule {
    let concurrency = plan.crawl.concurrency.get();
    let order = if concurrency == 1 { Order::RoundRobin } else { Order::Earliest };
    let limits = Limits { hosts: HOSTS, urls: URLS, requests: concurrency };
    let patience =
        Patience { give_up_after: plan.fetch.give_up_after, max_outage: plan.crawl.max_outage };
    let clock = Clock { instant: now(), time: Timestamp::now() };
    let budget = Budget::new(u64::MAX, 0, []);
    Schedule::new(plan.politeness.clone(), order, limits, budget, patience, clock)
}

/// Opens the filter. A new one gets the hash seed that was adopted, which is as secret as one that is drawn.
fn open_filter(
    state: State,
    plan: &Plan,
    adopted: &Options,
    report: impl FnMut(Restored),
) -> Result<DurableFilter, CrawlError> {
    let recorded = crate::state::RecordedRecipe::read(&state)?;
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
    let marks = sink.sync()?;
    keep_marks(state, &marks, &sink.take_checksums())?;
    sink.set_rotation(plan.store);
    Ok(sink)
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

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and names are JSON")
}
