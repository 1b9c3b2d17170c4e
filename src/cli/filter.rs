//! `pagesieve filter`: which documents repeat earlier ones?

use std::{
    collections::{HashMap, VecDeque},
    io::Write,
    path::PathBuf,
};

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
    state::{DurableFilter, Restored, StateError},
};

/// Judge documents: unique, or a duplicate of which?
///
/// Reads documents and writes one decision for each as a line of JSON, in the order of the input. A document is a line
/// {"id", "text"} or {"id", "html", "url"?} of JSON, with an optional "time" (RFC 3339, or milliseconds since 1970; else now), or an
/// HTML file, whose id is its path. A decision has "truncated" as well, with the reason, if a guard against hostile markup cut the page.
/// Lines that cannot be read are reported on standard error; then the exit code is 1.
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

/// Names that are forgotten at a time: many more than arrive.
const FORGOTTEN_AT_ONCE: usize = 64;

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let draft = args.settings.draft(&Config::default())?;
    if draft.asks_for_a_secret_seed() {
        say(
            "dedup.seed: only `crawl` draws a secret one; here fingerprints have the public seed, unless a number is set",
        );
    }
    let (config, mut judge) = if let Some(path) = args.state {
        let config = draft.check_dedup()?;
        let judge = Judge::durable(path, &config)?;
        (config, judge)
    } else {
        let config = draft.check_dedup_in_memory()?;
        let judge = Judge::in_memory(&config)?;
        (config, judge)
    };
    let preparation = Preparation::new(&config, judge.documents());
    let exit = in_chunks(
        args.files,
        |input| preparation.prepare(input),
        |documents| {
            for document in &documents {
                judge.judge(document, out)?;
            }
            // A decision that nobody received is not remembered.
            out.flush().map_err(Failure::Output)?;
            judge.commit()
        },
    )?;
    report(judge.audit());
    Ok(exit)
}

/// Reports what the index counted, if anything.
fn report(audit: Audit) {
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

/// Who judges, and knows the names of matches.
enum Judge {
    InMemory { filter: Filter, names: Names },
    Durable { filter: Box<DurableFilter>, path: PathBuf },
}

/// The names of the window's representatives.
#[derive(Default)]
struct Names {
    by_id: HashMap<DocId, String>,
    /// Oldest first.
    queue: VecDeque<DocId>,
}

impl Names {
    fn insert(&mut self, id: DocId, name: String) {
        self.by_id.insert(id, name);
        self.queue.push_back(id);
    }

    /// Forgets what has left the window, some at a time.
    fn expire(&mut self, filter: &Filter) {
        let horizon = filter.oldest();
        for _ in 0..FORGOTTEN_AT_ONCE {
            let Some(id) = self.queue.pop_front_if(|id| *id < horizon) else { return };
            self.by_id.remove(&id);
        }
    }
}

impl Judge {
    fn in_memory(config: &Config) -> Result<Self, Failure> {
        let filter = Filter::of_recipe(&config.dedup.filter(), recipe(config))?;
        Ok(Self::InMemory { filter, names: Names::default() })
    }

    fn durable(path: PathBuf, config: &Config) -> Result<Self, Failure> {
        let report = |Restored { read, all }| {
            say(format_args!("window: {} of {} restored", thousands(read), thousands(all)));
        };
        let options = config.dedup.filter();
        match DurableFilter::open_reporting(&path, &options, || HashSeed::PUBLIC, report) {
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
            Self::InMemory { filter, names } => {
                let judgement = filter.judge(&document.document);
                names.expire(filter);
                if judgement.verdict.is_unique() {
                    names.insert(judgement.id, document.document.id().to_owned());
                }
                let of = judgement.verdict.matched().and_then(|found| names.by_id.get(&found.of));
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
