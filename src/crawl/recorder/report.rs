//! The end of a run, and its report.

use std::{collections::HashMap, path::Path};

use super::{Recorder, json};
use crate::{
    crawl::{
        directory::{STATE, check_report, open_run, stored},
        plan::CrawlError,
    },
    filter::Options,
    page::Timestamp,
    report::{Builder, DeferredHost, End, Method, Report, ReportError, Search},
    state::{DeferCause, DeferredRow, Reason, State, StateError, UrlLog, UrlState},
};

impl Recorder {
    /// Records how the run ends, and writes the report.
    pub(in crate::crawl) fn finish(&mut self, end: End) -> Result<Report, CrawlError> {
        self.state().set_meta("worked", json(&self.worked().as_secs_f64()))?;
        self.state().set_meta("finished", Timestamp::now().0)?;
        let end =
            if end == End::Done && self.has_work_at_stopped_hosts()? { End::Open } else { end };
        self.state().set_meta("end", json(&end))?;
        tracing::info!(name = self.plan.name, ?end, "the run ends");
        let (directory, state) = (&self.plan.directory, self.state());
        let report = summarise(directory, state, &self.urls, run(state)?)?;
        report.write(directory)?;
        Ok(report)
    }

    /// Whether URLs wait at hosts that had answered and do not any more.
    fn has_work_at_stopped_hosts(&self) -> Result<bool, CrawlError> {
        let stopped = |host: &DeferredRow| matches!(host.cause, DeferCause::Stopped(_));
        let hosts = self.state().deferred_hosts()?;
        let stopped: Vec<_> = hosts.into_iter().filter(stopped).map(|host| host.host).collect();
        let mut deferred = self.urls.deferred_hosts();
        Ok(deferred.any(|(host, urls)| urls > 0 && stopped.contains(&host)))
    }
}

/// Writes the report of a run directory again, from its state. Returns it, and whether it was written. It is not while a crawl is running
/// there, because the crawl does: then it is of the last commit, and its end is [`End::Running`]. Nor is it if the directory cannot be
/// written.
///
/// # Errors
/// If there is no run, its state cannot be read, its report is that of another run, or the files cannot be written.
pub fn report(directory: &Path) -> Result<(Report, bool), CrawlError> {
    let state = open_run(directory)?;
    if state.is_read_only()? {
        return Ok((read(directory, &state, run(&state)?)?, false));
    }
    let writable = match State::open(&directory.join(STATE)) {
        Ok(writable) => writable,
        Err(StateError::Busy { .. }) => {
            let run =
                Report { end: End::Running, finished: Timestamp::now().into(), ..run(&state)? };
            return Ok((read(directory, &state, run)?, false));
        }
        Err(error) if error.is_read_only() => {
            return Ok((read(directory, &state, run(&state)?)?, false));
        }
        Err(error) => return Err(error.into()),
    };
    drop(state);
    if Builder::load(&writable)?.is_none() {
        writable.begin()?;
        recount(&writable)?.save(&writable)?;
        writable.commit()?;
    }
    let report = read(directory, &writable, run(&writable)?)?;
    check_report(directory, &report)?;
    match report.write(directory) {
        Err(ReportError::Write(error)) if error.is_read_only() => Ok((report, false)),
        written => Ok(written.map(|()| (report, true))?),
    }
}

/// Summarises a run by its state alone.
fn read(directory: &Path, state: &State, run: Report) -> Result<Report, CrawlError> {
    summarise(directory, state, &UrlLog::load(state)?, run)
}

/// Summarises a run by what was counted while it went on.
fn summarise(
    directory: &Path,
    state: &State,
    urls: &UrlLog,
    mut run: Report,
) -> Result<Report, CrawlError> {
    let uncounted = || CrawlError::Uncounted(directory.to_owned());
    let builder = Builder::load(state)?.ok_or_else(uncounted)?;
    let queued: HashMap<_, _> = urls.deferred_hosts().collect();
    for DeferredRow { host, name, cause, until } in state.deferred_hosts()? {
        let (why, until) = (cause.to_string(), until.into());
        let urls = queued.get(&host).map_or(0, |urls| *urls as u64);
        run.deferred.push(DeferredHost { host: name, why, urls, until });
    }
    let deferred: u64 = run.deferred.iter().map(|host| host.urls).sum();
    let waiting = [(Reason::Host, deferred), (Reason::Pending, urls.queue_len() - deferred)];
    run.counts.skipped.extend(waiting.into_iter().filter(|(_, urls)| *urls > 0));
    Ok(builder.finish(state, run, stored(state, "keeps")?.unwrap_or_default())?)
}

/// Counts a run from its beginning, for a state of an earlier version.
pub(super) fn recount(state: &State) -> Result<Builder, CrawlError> {
    let mut builder = Builder::default();
    state.for_each_document(|document| {
        let found = document.judgement.verdict.matched();
        let of = found.map(|found| state.name_of(found.of)).transpose()?;
        builder.page(state, &document.name, &document.judgement, of.as_deref(), document.stored)
    })?;
    state.for_each_url(
        |state| matches!(state, UrlState::Skipped(_)),
        |row| match row.state {
            UrlState::Skipped(reason) => {
                builder.skipped(state, (row.id, row.url.as_str()), reason, row.cause)
            }
            UrlState::Queued | UrlState::Judged => Ok(()),
        },
    )?;
    Ok(builder)
}

/// The facts about the run as a whole.
fn run(state: &State) -> Result<Report, CrawlError> {
    let text = |name| state.meta::<String>(name).map(Option::unwrap_or_default);
    let number = |name| state.meta::<i64>(name).map(Option::unwrap_or_default);
    let finished = state.meta("finished")?.map_or_else(Timestamp::now, Timestamp);
    Ok(Report {
        name: text("name")?,
        end: stored(state, "end")?.unwrap_or_default(),
        started: Timestamp(number("started")?).into(),
        finished: finished.into(),
        seconds: stored(state, "worked")?.unwrap_or_default(),
        fingerprint: stored(state, "judged_by")?.unwrap_or_default(),
        search: Search {
            index: text("index")?,
            audit: stored(state, "audit")?.unwrap_or_default(),
        },
        warc: number("warc")? != 0,
        ..Report::default()
    })
}

pub(super) fn judged_by(options: &Options, state: &State) -> Result<Method, CrawlError> {
    let seed = crate::fingerprint::HashSeed(
        state.meta::<i64>("seed")?.unwrap_or_default().cast_unsigned(),
    );
    Ok(Method {
        scheme: state.meta("scheme")?.unwrap_or_default(),
        seed_id: seed.id(),
        mode: options.mode.as_str().to_owned(),
        radius: options.radius(),
    })
}
