//! `pagesieve filter`: which documents repeat earlier ones?

use std::{collections::VecDeque, io::Write, path::PathBuf};

use serde::Serialize;

use super::{
    Exit, Failure, Out,
    document::{Files, Preparation, Prepared, Settings, in_chunks, recipe},
    write_line,
};
use crate::{
    config::Config,
    extract::Truncation,
    filter::{Filter, Judgement},
    fingerprint::Recipe,
    page::DocId,
    sink::record::Decision,
    state::{KeptFilter, State, StateError},
};

/// Judge documents: unique, or a duplicate of which?
///
/// Reads documents and writes one decision for each as a line of JSON, in the order of the input. A document is a line
/// {"id", "text"} or {"id", "html", "url"?} of JSON, with an optional "time" (RFC 3339, or milliseconds since 1970; else now), or an
/// HTML file, whose id is its path. A decision has "truncated" as well, with the reason, if a guard against hostile markup cut the page.
/// Lines that cannot be read are told on standard error; then the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve filter pages/                     all HTML files in a directory
    pagesieve filter --state seen.db new.jsonl  duplicates also of what earlier runs have seen
    crawler | pagesieve filter | jq -r 'select(.verdict == \"unique\").id'")]
pub(super) struct Args {
    #[command(flatten)]
    files: Files,
    /// Keep the window in this file between runs
    ///
    /// It is created with the public seed, or the number that is configured, and goes on with it: fingerprints of another seed or of
    /// another way to cut texts are refused.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let config = args.settings.config()?;
    let (mut judge, recipe) = match args.state {
        Some(path) => Judge::kept(path, &config)?,
        None => (Judge::in_memory(&config)?, recipe(&config)),
    };
    let preparation = Preparation::new(&config, recipe);
    in_chunks(
        args.files,
        |input| preparation.prepare(input),
        |documents| {
            for document in documents {
                judge.judge(&document, out)?;
            }
            // A decision that nobody received is not remembered.
            out.flush().map_err(Failure::Output)?;
            judge.commit()
        },
    )
}

/// Who judges, and knows the names of matches.
enum Judge {
    InMemory { filter: Filter, names: Names },
    Kept { filter: KeptFilter, path: PathBuf },
}

/// The names of the window's representatives, oldest first.
type Names = VecDeque<(DocId, String)>;

impl Judge {
    fn in_memory(config: &Config) -> Result<Self, Failure> {
        Ok(Self::InMemory { filter: Filter::new(&config.dedup)?, names: Names::new() })
    }

    fn kept(path: PathBuf, config: &Config) -> Result<(Self, Recipe), Failure> {
        let opened = State::open(&path).and_then(|state| KeptFilter::open(state, &config.dedup));
        match opened {
            Ok((filter, recipe)) => Ok((Self::Kept { filter, path }, recipe)),
            Err(source) => Err(Failure::State { path, source }),
        }
    }

    /// Judges a document and writes the decision.
    fn judge(&mut self, document: &Prepared, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::InMemory { filter, names } => {
                let Ok(judgement) = filter.judge(&document.subject);
                let horizon = filter.horizon().representative;
                while names.front().is_some_and(|(id, _)| *id < horizon) {
                    names.pop_front();
                }
                if judgement.verdict.is_unique() {
                    names.push_back((judgement.id, document.id.clone()));
                }
                let of = judgement.verdict.matched().and_then(|matched| name_of(names, matched.of));
                write(out, document, &judgement, of)
            }
            Self::Kept { filter, path } => {
                let told = |source| Failure::State { path: path.clone(), source };
                let (judgement, of) = judge_kept(filter, document).map_err(told)?;
                write(out, document, &judgement, of.as_deref())
            }
        }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::InMemory { .. } => Ok(()),
            Self::Kept { filter, path } => {
                filter.commit().map_err(|source| Failure::State { path: path.clone(), source })
            }
        }
    }
}

fn judge_kept(
    filter: &mut KeptFilter,
    document: &Prepared,
) -> Result<(Judgement, Option<String>), StateError> {
    let judgement = filter.judge(&document.id, &document.subject)?;
    let of = judgement.verdict.matched().map(|matched| filter.name_of(matched.of)).transpose()?;
    Ok((judgement, of))
}

fn name_of(names: &Names, id: DocId) -> Option<&str> {
    let place = names.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    names.get(place).map(|(_, name)| name.as_str())
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
    let decision = Decision::new(&document.id, document.url.as_deref(), judgement, of);
    write_line(out, &Line { decision, truncated: document.truncated })
}
