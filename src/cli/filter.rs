//! `pagesieve filter`: reports which documents repeat earlier ones.

use std::{collections::BTreeMap, io::Write, path::PathBuf};

use serde::Serialize;

use super::{
    Exit, Failure, Out,
    document::{Files, Preparation, Prepared, Settings, in_chunks, recipe},
    say, write_line,
};
use crate::{
    config::Config,
    extract::Truncation,
    filter::{Documents, Filter, Judgement},
    fingerprint::HashSeed,
    index::{Audit, BlockIndex},
    page::{DocId, numbers::thousands},
    report::audited,
    sink::record::Decision,
    state::{DurableFilter, Restored, State, StateError},
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
    files: Files,
    /// Keep the window in this file between runs
    ///
    /// The file is created with the public hash seed or the configured number. Later runs must use the same hash seed and the same way to
    /// split texts.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let draft = args.settings.draft(&Config::default())?;
    if draft.asks_for_a_secret_seed() {
        say(
            "dedup.seed: only `crawl` draws a secret seed; this command uses the public one, unless a number is set",
        );
    }
    let config = match args.state {
        Some(_) => draft.check_dedup()?,
        None => draft.check_dedup_in_memory()?,
    };
    let mut judge = match args.state {
        Some(path) => Judge::durable(path, &config)?,
        None => Judge::in_memory(&config)?,
    };
    let preparation = Preparation::new(&config, judge.documents());
    let exit = in_chunks(
        args.files,
        |input| preparation.prepare(input),
        |documents| {
            for document in &documents {
                judge.judge(document, out)?;
            }
            // A decision is remembered only if it was written.
            out.flush().map_err(Failure::Output)?;
            judge.commit()
        },
    )?;
    print_audit(judge.audit());
    Ok(exit)
}

/// Prints what the index counted, if anything.
fn print_audit(audit: Audit) {
    if audit.checked > 0 {
        say(format_args!("audit: {}", audited(&audit)));
    }
    if audit.over > 0 {
        tracing::warn!(
            documents = audit.over,
            held = BlockIndex::EQUAL_LIMIT,
            "the window holds as many equal fingerprints as it can: further documents with one of them are found by their text only"
        );
    }
}

/// The filter, and the ids of the documents that it can match.
enum Judge {
    InMemory { filter: Box<Filter>, ids: BTreeMap<DocId, String> },
    Durable { filter: Box<DurableFilter>, path: PathBuf },
}

impl Judge {
    fn in_memory(config: &Config) -> Result<Self, Failure> {
        let filter = Filter::of_recipe(&config.dedup.filter(), recipe(config))?;
        Ok(Self::InMemory { filter: Box::new(filter), ids: BTreeMap::new() })
    }

    fn durable(path: PathBuf, config: &Config) -> Result<Self, Failure> {
        let report = |Restored { read, all }| {
            say(format_args!("window: {} of {} restored", thousands(read), thousands(all)));
        };
        let options = config.dedup.filter();
        let opened = State::open(&path).and_then(|state| {
            DurableFilter::of_filter(state, &options, || HashSeed::PUBLIC, report)
        });
        match opened {
            Ok(filter) => Ok(Self::Durable { filter: Box::new(filter), path }),
            Err(source) => Err(Failure::State { path, source }),
        }
    }

    fn documents(&self) -> Documents {
        match self {
            Self::InMemory { filter, .. } => filter.documents(),
            Self::Durable { filter, .. } => filter.documents(),
        }
    }

    /// Judges a document and writes the decision.
    fn judge(&mut self, document: &Prepared, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::InMemory { filter, ids } => {
                let judgement = filter.judge(&document.document);
                let oldest = filter.oldest();
                while ids.first_key_value().is_some_and(|(id, _)| *id < oldest) {
                    ids.pop_first();
                }
                if judgement.verdict.is_unique() {
                    ids.insert(judgement.id, document.document.id().to_owned());
                }
                let of = judgement.verdict.matched().and_then(|found| ids.get(&found.of));
                write(out, document, &judgement, of.map(String::as_str))
            }
            Self::Durable { filter, path } => {
                let failed = |source| Failure::State { path: path.clone(), source };
                let (judgement, of) = judge_durably(filter, document).map_err(failed)?;
                write(out, document, &judgement, of.as_deref())
            }
        }
    }

    fn audit(&self) -> Audit {
        match self {
            Self::InMemory { filter, .. } => filter.audit(),
            Self::Durable { filter, .. } => filter.audit(),
        }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::InMemory { .. } => Ok(()),
            Self::Durable { filter, path } => {
                filter.commit().map_err(|source| Failure::State { path: path.clone(), source })
            }
        }
    }
}

fn judge_durably(
    filter: &mut DurableFilter,
    document: &Prepared,
) -> Result<(Judgement, Option<String>), StateError> {
    let judgement = filter.judge(&document.document)?;
    let of = judgement.verdict.matched().map(|matched| filter.id_of(matched.of)).transpose()?;
    Ok((judgement, of))
}

/// A decision, and whether it is about the whole document.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    decision: Decision<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

fn write(
    out: &mut Out,
    document: &Prepared,
    judgement: &Judgement,
    of: Option<&str>,
) -> Result<(), Failure> {
    let decision = Decision::new(document.document.id(), document.url.as_deref(), judgement, of);
    write_line(out, &Line { decision, truncated: document.truncated })
}
