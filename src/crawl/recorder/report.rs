//! The end of a run: the lines of skipped URLs, and the report.

use std::{collections::HashMap, num::NonZeroUsize, path::Path};

use lru::LruCache;

use super::{Recorder, json};
use crate::{
    crawl::{
        directory::{STATE, stored},
        plan::CrawlError,
    },
    filter::Options,
    page::Timestamp,
    report::{Builder, DeferredHost, End, Method, Report, Search},
    sink::{
        Replacement, SKIPPED,
        record::{Decision, SkippedLine},
    },
    state::{
        DeferCause, DeferredRow, Reason, SkipCause, State, StateError, UrlId, UrlLog, UrlRow,
        UrlState,
    },
};

/// Rows that are cached in front of the state.
const CACHED: NonZeroUsize = NonZeroUsize::new(1 << 12).expect("not zero");

impl Recorder {
    /// Writes `skipped.jsonl` and the report, and records how the run ends.
    pub(in crate::crawl) fn finish(&mut self, end: End) -> Result<Report, CrawlError> {
        self.state().set_meta("worked", json(&self.worked().as_secs_f64()))?;
        self.state().set_meta("finished", Timestamp::now().0)?;
        let end =
            if end == End::Done && self.has_work_at_stopped_hosts()? { End::Open } else { end };
        self.state().set_meta("end", json(&end))?;
        tracing::info!(name = self.plan.name, ?end, "the run ends");
        write(&self.plan.directory, self.state())
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

/// Writes `skipped.jsonl` and the report of a run directory again, from its state. While a crawl is running there, writes nothing,
/// because the crawl does: the report is of the last commit, and its end is [`End::Running`].
///
/// # Errors
/// If the state cannot be read or the files cannot be written.
pub fn report(directory: &Path) -> Result<Report, CrawlError> {
    let path = directory.join(STATE);
    if !path.is_file() {
        return Err(CrawlError::NoRun(directory.to_owned()));
    }
    match State::open(&path) {
        Err(StateError::Busy { .. }) => {
            let state = State::read(&path)?;
            let run =
                Report { end: End::Running, finished: Timestamp::now().into(), ..run(&state)? };
            summarise(&state, run, |_| Ok(()))
        }
        state => write(directory, &state?),
    }
}

fn write(directory: &Path, state: &State) -> Result<Report, CrawlError> {
    let mut file = Replacement::create(directory.join(SKIPPED))?;
    let report = summarise(state, run(state)?, |line| Ok(file.write(line)?))?;
    file.commit()?;
    report.write(directory)?;
    Ok(report)
}

/// Counts a run, and calls `write` with the line of each skipped URL.
fn summarise(
    state: &State,
    run: Report,
    write: impl FnMut(&SkippedLine<'_>) -> Result<(), CrawlError>,
) -> Result<Report, CrawlError> {
    let mut builder = Builder::default();
    add_documents(state, &mut builder)?;
    add_skipped(state, &mut builder, write)?;
    Ok(builder.finish(run, stored(state, "keeps")?.unwrap_or_default()))
}

fn add_documents(state: &State, builder: &mut Builder) -> Result<(), CrawlError> {
    // The same few matches come again and again.
    let mut cache = LruCache::new(CACHED);
    state.for_each_document(|document| {
        let matched = document.judgement.verdict.matched().map(|matched| matched.of);
        let kept = matched
            .map(|of| cache.try_get_or_insert(of, || state.document(of)).cloned())
            .transpose()?
            .flatten();
        let of = kept.as_ref().map(|kept| kept.name.as_str());
        let decision = Decision::new(&document.name, Some(&document.name), &document.judgement, of);
        let kept_title = kept.as_ref().and_then(|kept| kept.title.as_deref());
        builder.page(&decision, document.title.as_deref(), kept_title, document.stored);
        Ok(())
    })?;
    Ok(())
}

fn add_skipped(
    state: &State,
    builder: &mut Builder,
    mut write: impl FnMut(&SkippedLine<'_>) -> Result<(), CrawlError>,
) -> Result<(), CrawlError> {
    let hosts = state.deferred_hosts()?.into_iter();
    let mut deferred: HashMap<_, _> = hosts.map(|host| (host.host, (host, 0))).collect();
    let mut referrers = LruCache::new(CACHED);
    UrlLog::load(state)?.for_each(
        state,
        |state| state != UrlState::Judged,
        |mut row| {
            let reason = match row.state {
                UrlState::Skipped(reason) => reason,
                UrlState::Queued | UrlState::Judged => match deferred.get_mut(&row.host) {
                    Some((host, urls)) => {
                        *urls += 1;
                        row.detail = Some(host.to_string());
                        Reason::Host
                    }
                    None => Reason::Pending,
                },
            };
            let url_of = |id: UrlId| {
                state.url_by_id(id).map(|row: Option<UrlRow>| row.map(|row| row.url.to_string()))
            };
            let referrer = row
                .referrer
                .map(|id| referrers.try_get_or_insert(id, || url_of(id)).cloned())
                .transpose()?
                .flatten();
            let queued = row.state == UrlState::Queued;
            let line = SkippedLine {
                url: row.url.as_str().into(),
                reason,
                detail: row.detail.map(Into::into),
                status: row.status,
                referrer: referrer.map(Into::into),
                depth: row.depth,
                at: (!queued).then(|| row.at.into()),
            };
            write(&line)?;
            builder.skipped(&line, row.cause);
            // Redirects of a seed have its depth.
            let is_seed = row.referrer.is_none() || row.depth == 0 && row.hops > 0;
            if is_seed && reason == Reason::Failure && row.cause == Some(SkipCause::Unreachable) {
                builder.unreachable_seed(&line);
            }
            Ok::<_, CrawlError>(())
        },
    )?;
    for (DeferredRow { name, cause, until, .. }, urls) in deferred.into_values() {
        let (why, until) = (cause.to_string(), until.into());
        builder.deferred.push(DeferredHost { host: name, why, urls, until });
    }
    Ok(())
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
