//! How a run ends: the lines of what was skipped, and the report.

use std::{collections::HashMap, path::Path};

use super::Recorder;
use crate::{
    crawl::{directory::STATE, error::CrawlError},
    filter::Options,
    page::Timestamp,
    report::{Builder, End, Report, Row, Run, Scheme, Skip},
    sink::{
        SKIPPED,
        json_lines::Replacement,
        record::{Decision, SkippedLine},
    },
    state::{Reason, State, UrlId, UrlRow, UrlState},
};

impl Recorder {
    /// Writes `skipped.jsonl` and the report of a run that ends so.
    pub(in crate::crawl) fn finish(&mut self, end: End) -> Result<Report, CrawlError> {
        let worked = self.worked + self.began.elapsed();
        self.state.set_meta("worked", worked.as_secs_f64().to_string())?;
        self.state.set_meta("finished", Timestamp::now().0)?;
        self.state.set_meta("end", super::json(&end))?;
        self.state.set_meta("name", self.plan.name.as_str())?;
        self.state.set_meta("warc", self.plan.store.warc)?;
        self.state
            .set_meta("judged_by", super::json(&judged_by(&self.plan.dedup, &self.state)?))?;
        tracing::info!(name = self.plan.name, end = ?end, "the run ends");
        write(&self.plan.directory, &self.state)
    }
}

/// Writes `skipped.jsonl` and the report of a run directory again, from its state.
///
/// # Errors
/// If the state cannot be read or the files cannot be written.
pub fn report(directory: &Path) -> Result<Report, CrawlError> {
    let path = directory.join(STATE);
    if !path.is_file() {
        return Err(CrawlError::NoRun { path: directory.to_owned() });
    }
    write(directory, &State::open(&path)?)
}

fn write(directory: &Path, state: &State) -> Result<Report, CrawlError> {
    let mut builder = Builder::default();
    add_documents(state, &mut builder)?;
    write_skipped(directory, state, &mut builder)?;
    let report = builder.finish(run(state)?);
    report.write(directory)?;
    Ok(report)
}

fn add_documents(state: &State, builder: &mut Builder) -> Result<(), CrawlError> {
    // Matches are asked for again and again, and mostly the same ones.
    let mut names = lru::LruCache::new(std::num::NonZeroUsize::new(1 << 12).expect("not zero"));
    let mut failure = None;
    state.for_each_document(|document| {
        let matched = document.judgement.verdict.matched().map(|matched| matched.of);
        let kept = match matched
            .map(|of| names.try_get_or_insert(of, || state.document(of)).cloned())
            .transpose()
        {
            Ok(kept) => kept.flatten(),
            Err(error) => return failure = Some(error),
        };
        let of = kept.as_ref().map(|kept| kept.name.as_str());
        builder.page(&Row {
            decision: &Decision::new(&document.name, Some(&document.name), &document.judgement, of),
            title: document.title.as_deref(),
            kept_title: kept.as_ref().and_then(|kept| kept.title.as_deref()),
            stored: document.stored,
        });
    })?;
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn write_skipped(directory: &Path, state: &State, builder: &mut Builder) -> Result<(), CrawlError> {
    let mut file = Replacement::create(directory.join(SKIPPED))?;
    let aside: HashMap<_, _> = state.hosts_aside()?.into_iter().collect();
    let mut referrers = lru::LruCache::new(std::num::NonZeroUsize::new(1 << 12).expect("not zero"));
    let judged = |state| state == UrlState::Judged;
    state.for_each_url(
        |state| !judged(state),
        |mut row| {
            let reason = match row.state {
                UrlState::Skipped(reason) => reason,
                UrlState::Queued | UrlState::Judged => match aside.get(&row.host) {
                    Some(why) => {
                        row.detail = Some(why.clone());
                        Reason::Host
                    }
                    None => Reason::Pending,
                },
            };
            let url_of =
                |id: UrlId| state.url_by_id(id).map(|row: Option<UrlRow>| row.map(|row| row.url));
            let referrer = row
                .referrer
                .map(|id| referrers.try_get_or_insert(id, || url_of(id)).cloned())
                .transpose()?
                .flatten();
            let queued = row.state == UrlState::Queued;
            file.write(&SkippedLine {
                url: row.url.as_str().into(),
                reason,
                detail: row.detail.as_deref().map(Into::into),
                status: row.status,
                referrer: referrer.map(Into::into),
                depth: row.depth,
                at: (!queued).then_some(row.at),
            })?;
            let fetched = matches!(reason, Reason::Noindex | Reason::ContentType);
            builder.skipped(&Skip { url: &row.url, reason, fetched });
            Ok::<_, CrawlError>(())
        },
    )?;
    Ok(file.commit()?)
}

fn run(state: &State) -> Result<Run, CrawlError> {
    let text = |name| state.meta::<String>(name).map(Option::unwrap_or_default);
    let number = |name| state.meta::<i64>(name).map(Option::unwrap_or_default);
    Ok(Run {
        name: text("name")?,
        end: serde_json::from_str(&text("end")?).unwrap_or(End::Interrupted),
        started: Timestamp(number("started")?),
        finished: Timestamp(number("finished")?),
        worked: std::time::Duration::try_from_secs_f64(text("worked")?.parse().unwrap_or(0.0))
            .unwrap_or_default(),
        fingerprint: serde_json::from_str(&text("judged_by")?).unwrap_or_default(),
        warc: number("warc")? != 0,
    })
}

fn judged_by(options: &Options, state: &State) -> Result<Scheme, CrawlError> {
    let seed =
        crate::fingerprint::Seed(state.meta::<i64>("seed")?.unwrap_or_default().cast_unsigned());
    Ok(Scheme {
        scheme: state.meta("scheme")?.unwrap_or_default(),
        seed_id: seed.id(),
        mode: options.mode.as_str().to_owned(),
        radius: options.radius(),
    })
}
