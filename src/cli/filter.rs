//! `pagesieve filter`: reports which documents repeat earlier ones.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
};

use bytesize::ByteSize;
use serde::Serialize;

use super::{
    Exit, Failure, Out, Result,
    document::{Preparation, Prepared, Source, in_chunks, recipe},
    notify, write_line,
};
use crate::{
    config::Config,
    extract::Truncation,
    filter::{Filter, Judgement},
    fingerprint::HashSeed,
    index::{Audit, BlockIndex},
    input::Documents,
    page::numbers::thousands,
    report::audited,
    sink::record::Decision,
    state::{DurableFilter, Restored, State},
};

/// Report which documents are unique, and which repeat an earlier one
///
/// Prints one decision per document as a JSON line, in the order of the input. A document is a JSON line {"id", "text"} or
/// {"id", "html", "url"?} with an optional "time" (RFC 3339, or milliseconds since 1970; default: now), or an HTML file, whose id is
/// its path. If a limit against hostile markup cut the page, the decision also has "truncated" with the reason. Lines that cannot be
/// read are reported on standard error, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve filter pages/                     all HTML files in a directory
    pagesieve filter --state seen.db new.jsonl  also finds duplicates of documents of earlier runs
    crawler | pagesieve filter | jq -r 'select(.verdict == \"unique\").id'")]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
    /// Keep the window in this file between runs
    ///
    /// The file is created with the public hash seed or the configured number. Later runs must use the same hash seed, `dedup.segment`
    /// and `dedup.fold_chinese`.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

/// What is kept of the pages is reported from this size on: some 50,000 pages.
const MUCH: usize = 64 << 20;

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit> {
    let Args { source, state } = args;
    let draft = source.settings.draft(&Config::default())?;
    if draft.asks_for_a_secret_seed() {
        notify(
            "dedup.seed: only `crawl` draws a secret seed; this command uses the public one, unless a number is set",
        );
    }
    let documents = Documents::new(source.files);
    let (exit, audit) = match state {
        Some(path) => durable(&path, &draft.check_dedup()?, documents, out)?,
        None => in_memory(&draft.check_dedup_in_memory()?, documents, out)?,
    };
    if audit.checked > 0 {
        notify(format_args!("audit: {}", audited(&audit)));
    }
    if audit.over > 0 {
        tracing::warn!(
            documents = audit.over,
            held = BlockIndex::EQUAL_LIMIT,
            "the window holds as many equal fingerprints as it can: further documents with one of them are found by their text only"
        );
    }
    Ok(exit)
}

fn in_memory(config: &Config, input: Documents, out: &mut Out) -> Result<(Exit, Audit)> {
    let mut filter = Filter::of_recipe(&config.dedup.filter(), recipe(config))?;
    let preparation = Preparation::new(config, filter.documents());
    // The ids of the documents in the window.
    let mut ids = BTreeMap::new();
    let exit = in_chunks(
        input,
        |input| preparation.prepare(input),
        |documents| {
            for document in &documents {
                let judgement = filter.judge(&document.document);
                let oldest = filter.oldest();
                while ids.first_key_value().is_some_and(|(id, _)| *id < oldest) {
                    ids.pop_first();
                }
                if judgement.verdict.is_unique() {
                    ids.insert(judgement.id, document.document.id().to_owned());
                }
                let of = judgement.verdict.matched().and_then(|found| ids.get(&found.of));
                write(out, document, &judgement, of.map(String::as_str))?;
            }
            out.flush().map_err(Failure::Output)
        },
    )?;
    if filter.articles_size() >= MUCH {
        let size = ByteSize(filter.articles_size() as u64).display().iec();
        notify(format_args!(
            "{size} of memory were used to compare the articles of pages; --state keeps them in a file"
        ));
    }
    Ok((exit, filter.audit()))
}

fn durable(path: &Path, config: &Config, input: Documents, out: &mut Out) -> Result<(Exit, Audit)> {
    let failed = |source| Failure::State { path: path.to_owned(), source };
    let report = |Restored { read, all }| {
        notify(format_args!("window: {} of {} restored", thousands(read), thousands(all)));
    };
    let options = config.dedup.filter();
    let state = State::open(path).map_err(failed)?;
    let mut filter =
        DurableFilter::of_filter(state, &options, || HashSeed::PUBLIC, report).map_err(failed)?;
    let preparation = Preparation::new(config, filter.documents());
    let exit = in_chunks(
        input,
        |input| preparation.prepare(input),
        |documents| {
            for document in &documents {
                let judgement = filter.judge(&document.document).map_err(failed)?;
                let matched = judgement.verdict.matched();
                let of = matched.map(|found| filter.id_of(found.of)).transpose();
                write(out, document, &judgement, of.map_err(failed)?.as_deref())?;
            }
            // A decision is remembered only if it was written.
            out.flush().map_err(Failure::Output)?;
            filter.commit().map_err(failed)
        },
    )?;
    Ok((exit, filter.audit()))
}

/// A decision, and whether it is about the whole document.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    decision: Decision<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

fn write(out: &mut Out, prepared: &Prepared, judged: &Judgement, of: Option<&str>) -> Result<()> {
    let decision = Decision::new(prepared.document.id(), prepared.url.as_deref(), judged, of);
    write_line(out, &Line { decision, truncated: prepared.truncated })
}
