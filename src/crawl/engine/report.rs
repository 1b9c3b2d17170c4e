//! The end of a run, and its report.

use std::path::Path;

use super::{Engine, record::MOVED};
use crate::{
    crawl::{
        cluster::member_report,
        control::Tally,
        directory::{check_report, open_run},
        plan::{CrawlError, STATE},
    },
    filter::Options,
    page::Timestamp,
    report::{
        Builder, Differences, End, FingerprintMethod, Report, ReportError, SEEDS, Search,
        UnreachableSeed, Warning,
    },
    state::{KnownUrl, Reason, State, StateError, SuspendCause, SuspendedRow, UrlState, WriteLock},
};

impl Engine {
    /// Records how the run ends, and writes the report.
    pub(in crate::crawl) fn finish(&mut self, end: End) -> Result<Report, CrawlError> {
        self.filter.state().begin()?;
        self.leave_work(end)?;
        let state = self.filter.state();
        state.set_json("worked", &self.worked())?;
        state.set_meta("finished", Timestamp::now().0)?;
        let end =
            if end == End::Done && self.has_work_at_stopped_hosts()? { End::Open } else { end };
        state.set_json("end", &end)?;
        self.end_pass(end)?;
        let learnt = self.summarise_learning()?;
        self.note_unasked(end)?;
        let state = self.filter.state();
        state.set_json("learnt", &learnt)?;
        self.builder.save(state)?;
        self.add_point()?;
        let state = self.filter.state();
        state.commit()?;
        tracing::info!(name = self.plan.name, ?end, "the run ends");
        let report = summarise(state, &self.builder, run(state)?, &self.plan.directory)?;
        report.write(&self.plan.directory)?;
        if let Some(cluster) = &mut self.cluster {
            cluster.report(&member_report(self.counts, self.filter.claimed()))?;
        }
        Ok(report)
    }

    /// Puts URLs that wait for another attempt back into their queues. If the run ends by itself, hosts that do not answer are left with theirs,
    /// and the report names them.
    fn leave_work(&mut self, end: End) -> Result<(), CrawlError> {
        for (host, url) in self.schedule.take_later() {
            self.urls.put_back(self.filter.state(), (host, url), true)?;
        }
        if !matches!(end, End::Done | End::Open) {
            return Ok(());
        }
        let failing: Vec<_> = self.schedule.failing().map(|(id, health)| (id, *health)).collect();
        for (host, health) in failing {
            if self.urls.queue.waiting(host) > 0 {
                let is_new = !health.had_answered;
                let cause = if is_new { SuspendCause::Unanswered } else { SuspendCause::Stopped };
                self.suspend(host, cause(health.failures))?;
            }
        }
        Ok(())
    }

    /// Notes the seeds that were not fetched because a budget was spent.
    fn note_unasked(&mut self, end: End) -> Result<(), CrawlError> {
        let (mut count, mut seeds) = (0, Vec::new());
        let is_skipped = UrlState::Skipped(Reason::Budget);
        let has_skipped = self.state().first_url(is_skipped)?.is_some();
        // A list that cannot be read any more does not keep the run from its end.
        let lists = (end == End::Budget || has_skipped).then(|| self.plan.roots().ok()).flatten();
        let urls = lists.iter().flat_map(|(_, lists)| lists).flat_map(|(_, urls)| urls);
        for url in urls {
            let known = self.urls.find(url.as_str());
            let is_waiting = |known: &KnownUrl| {
                matches!(known.state, UrlState::Queued | UrlState::Skipped(Reason::Budget))
            };
            let Some(known) = known.filter(is_waiting) else { continue };
            if seeds.len() < SEEDS {
                let row = self.state().url(known.id)?;
                if self.state().visit(row.id)?.is_some() || self.urls.queue.is_suspended(row.host) {
                    continue;
                }
                let why = self.retries.of(row.id).map(|it| it.why.clone()).unwrap_or_default();
                seeds.push(UnreachableSeed {
                    url: url.to_string(),
                    why,
                    ..UnreachableSeed::default()
                });
            }
            count += 1;
        }
        self.builder.note_unasked(count, seeds);
        Ok(())
    }

    /// Whether URLs wait at hosts that had answered and do not any more.
    fn has_work_at_stopped_hosts(&self) -> Result<bool, CrawlError> {
        let stopped = |host: &SuspendedRow| matches!(host.cause, SuspendCause::Stopped(_));
        let hosts = self.state().suspended_hosts()?;
        let stopped: Vec<_> = hosts.into_iter().filter(stopped).map(|host| host.host).collect();
        let mut suspended = self.urls.queue.suspended();
        Ok(suspended.any(|(host, urls)| urls > 0 && stopped.contains(&host)))
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
    let state = open_run(directory)?;
    let mut facts = run(&state)?;
    if lock.as_ref().is_err_and(StateError::is_busy) {
        (facts.end, facts.finished) = (End::Running, Timestamp::now().into());
    }
    let report = summarise(&state, &Builder::load(&state)?, facts, directory)?;
    if lock.is_err() {
        return Ok((report, false));
    }
    check_report(directory, &report)?;
    match report.write(directory) {
        Err(ReportError::Write(error)) if error.is_read_only() => Ok((report, false)),
        written => Ok(written.map(|()| (report, true))?),
    }
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// When it was started first.
    pub started: Timestamp,
    /// What it has found.
    pub counts: Tally,
    /// The seed lists of its last start: URLs or files.
    pub seeds: Vec<String>,
}

/// How far the run in this directory is, as of its last commit.
///
/// # Errors
/// If there is none, or its state cannot be read.
pub fn standing(directory: &Path) -> Result<Standing, CrawlError> {
    let state = open_run(directory)?;
    Ok(Standing {
        name: state.meta("name")?.unwrap_or_default(),
        started: Timestamp(state.meta("started")?.unwrap_or_default()),
        counts: state.json("counts")?.unwrap_or_default(),
        seeds: state.json("seed_lists")?.unwrap_or_default(),
    })
}

/// Summarises a run.
fn summarise(
    state: &State,
    builder: &Builder,
    run: Report,
    directory: &Path,
) -> Result<Report, CrawlError> {
    let mut report = builder.finish(state, run, state.json("keeps")?.unwrap_or_default())?;
    match Differences::read(&report, state, directory)? {
        Ok(differences) => differences.add_to(&mut report),
        Err(error) => tracing::warn!(%error, "the report shows no differences of texts"),
    }
    Ok(report)
}

/// The facts about the run as a whole.
fn run(state: &State) -> Result<Report, CrawlError> {
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
        warnings: state.json(MOVED)?.map(Warning::of_moved).into_iter().collect(),
        ..Report::default()
    })
}

pub(super) fn judged_by(options: &Options, state: &State) -> Result<FingerprintMethod, CrawlError> {
    let seed = crate::fingerprint::HashSeed(
        state.meta::<i64>("seed")?.unwrap_or_default().cast_unsigned(),
    );
    Ok(FingerprintMethod {
        scheme: state.meta("scheme")?.unwrap_or_default(),
        seed_id: seed.id(),
        mode: options.mode.as_str().to_owned(),
        radius: options.radius(),
        similarity: options.compares_content().then_some(options.rule.similarity),
    })
}
