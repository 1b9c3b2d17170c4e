//! The filter whose window is kept in a file: decisions are printed when they are durable.

use std::{
    collections::VecDeque,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Failure, Job, Out, Result, open_others};
use crate::{
    cli::{
        Exit,
        document::{in_chunks, preparation},
        notify, write_line,
    },
    config::Config,
    fingerprint::HashSeed,
    index::{Audit, Index},
    input::{Documents, InputError, Prepared, prepare},
    page::thousands,
    state::{DurableFilter, Restored, State, StateError},
};

/// The value of the state's `meta` table that has the decisions of the last commit, until they are all printed.
const UNPRINTED: &str = "unprinted";
/// Digits of the input's hash before a decision in that value.
const HASH: usize = 16;
/// What stands there before a line about a document that cannot be read, which is not kept.
const NO_HASH: &[u8; HASH] = b"----------------";
/// So many bytes of decisions are committed before there are more.
const MOST_BYTES: usize = 1 << 20;

pub(super) fn run(
    path: &Path,
    config: &Config,
    input: Documents,
    (job, against): (Job, Vec<PathBuf>),
    out: &mut Out,
) -> Result<(Exit, Audit)> {
    let mut session = Session::open(path, config, job, &against)?;
    let preparation = preparation(config, session.filter.documents());
    let ended =
        in_chunks(input, |input| prepare(&preparation, input), |items| session.answer(items, out));
    let ended = ended.and_then(|exit| session.close().map(|audit| (exit, audit)));
    ended.inspect_err(|failure| session.batch.say_where_to_continue(failure))
}

/// A filter and what is on the way to its state and to the output.
struct Session<'a> {
    path: &'a Path,
    filter: DurableFilter,
    unprinted: Unprinted,
    batch: Batch,
    job: Job,
}

impl<'a> Session<'a> {
    fn open(path: &'a Path, config: &Config, mut job: Job, against: &[PathBuf]) -> Result<Self> {
        let report = |Restored { read, all }| {
            notify(format_args!("window: {} of {} restored", thousands(read), thousands(all)));
        };
        let options = config.dedup.filter();
        let open = || {
            let state = State::open(path)?;
            let filter = DurableFilter::of_filter(state, &options, || HashSeed::PUBLIC, report)?;
            let unprinted = Unprinted::read(filter.state())?;
            Ok((filter, unprinted))
        };
        let batch = Batch::default();
        let failed = |source| Failure::State { path: path.to_owned(), source };
        let (mut filter, unprinted) = open().map_err(failed).inspect_err(|failure| {
            if matches!(failure, Failure::State { source, .. } if source.is_io()) {
                batch.say_where_to_continue(failure);
            }
        })?;
        filter.index_keys();
        let recipe = filter.documents().fingerprinter().recipe();
        job.against = open_others(against, &options, recipe, job.has_seed)?;
        filter.begin().map_err(failed)?;
        job.open_kept(Some(filter.state()))?;
        filter.commit().map_err(failed)?;
        Ok(Self { path, filter, unprinted, batch, job })
    }

    fn failed(&self) -> impl Fn(StateError) -> Failure + use<> {
        let path = self.path.to_owned();
        move |source| Failure::State { path: path.clone(), source }
    }

    /// Judges documents, commits, and prints the decisions.
    fn answer(&mut self, items: Vec<Result<Prepared, InputError>>, out: &mut Out) -> Result<()> {
        let documents: Vec<_> = items.iter().flatten().collect();
        let mut again = self.unprinted.answer(&documents).into_iter();
        let mut items = items.into_iter();
        let mut through = None;
        while again.len() > 0 {
            let item = items.next().expect("there is a document for each decision");
            through = line_of(&item).or(through);
            match item {
                Ok(document) => {
                    let line = again.next().expect("there is one");
                    out.write_all(line.as_bytes()).map_err(Failure::Output)?;
                    self.batch.committed = Some(document.place);
                }
                Err(error) => write_line(out, &error.answer())?,
            }
        }
        self.acknowledge(through, out)?;
        for item in items {
            self.judge(item)?;
            if self.batch.lines.len() >= MOST_BYTES {
                self.commit(out)?;
            }
        }
        self.commit(out)
    }

    fn judge(&mut self, item: Result<Prepared, InputError>) -> Result<()> {
        self.batch.through = line_of(&item).or(self.batch.through);
        let document = match item {
            Ok(document) => document,
            Err(error) => {
                self.batch.lines.extend_from_slice(NO_HASH);
                return write_line(&mut self.batch.lines, &error.answer());
            }
        };
        write!(self.batch.lines, "{:0HASH$x}", document.hash).map_err(Failure::Output)?;
        self.batch.last.clone_from(&document.place);
        let failed = self.failed();
        self.job.judge(&mut self.filter, &document, &mut self.batch.lines, failed)
    }

    /// Commits and prints. If the process ends in between, the next one finds the decisions in the state.
    fn commit(&mut self, out: &mut Out) -> Result<()> {
        if self.batch.lines.is_empty() {
            return Ok(());
        }
        let failed = self.failed();
        self.filter.begin().map_err(&failed)?;
        if let Some(kept) = &mut self.job.kept {
            kept.commit(self.filter.state())?;
        }
        let lines = std::mem::take(&mut self.batch.lines);
        let lines = str::from_utf8(&lines).expect("JSON is UTF-8");
        self.filter.state().set_meta(UNPRINTED, lines).map_err(&failed)?;
        self.filter.commit().map_err(&failed)?;
        if !self.batch.last.is_empty() {
            self.batch.committed = Some(std::mem::take(&mut self.batch.last));
        }
        for line in lines.split_inclusive('\n') {
            out.write_all(&line.as_bytes()[HASH..]).map_err(Failure::Output)?;
        }
        let through = self.batch.through.take();
        self.acknowledge(through, out)
    }

    /// Prints up to which line decisions are durable, if that is asked for.
    fn acknowledge(&self, through: Option<u64>, out: &mut Out) -> Result<()> {
        if let Some(line) = through.filter(|_| self.job.acks) {
            write_line(out, &json!({ "durable_through": line }))?;
        }
        out.flush().map_err(Failure::Output)
    }

    fn close(&mut self) -> Result<Audit> {
        let failed = self.failed();
        let begun = self.filter.begin();
        begun.and_then(|()| self.filter.state().set_meta(UNPRINTED, "")).map_err(&failed)?;
        self.filter.commit().map_err(failed)?;
        Ok(self.filter.index().audit())
    }
}

/// The number of the line of a document, if it has one.
fn line_of(item: &Result<Prepared, InputError>) -> Option<u64> {
    match item {
        Ok(document) => Some(document.line).filter(|line| *line > 0),
        Err(error) => error.line(),
    }
}

/// The decisions since the last commit: they are printed when they are committed.
#[derive(Default)]
struct Batch {
    /// As they are kept in the state.
    lines: Vec<u8>,
    /// Where the last of these documents was read.
    last: String,
    /// The number of its line.
    through: Option<u64>,
    /// Where the last one was read whose decision is committed.
    committed: Option<String>,
}

impl Batch {
    fn say_where_to_continue(&self, failure: &Failure) {
        if failure.exit() == Exit::Done {
            return;
        }
        match (failure, &self.committed) {
            (Failure::Output(_), _) => notify(
                "every printed decision is kept: cut off an incomplete last line of the output, and continue with the input after the last decision",
            ),
            (_, Some(place)) => notify(format_args!(
                "the last decision printed is that of {place}, and all up to it are kept: continue with the input after it"
            )),
            (_, None) => notify(
                "no decision was printed: mend what the error says, and start again with the same input",
            ),
        }
    }
}

/// Decisions of an earlier process that are committed and may not have been printed, with the hashes of their inputs.
struct Unprinted(VecDeque<(u64, String)>);

impl Unprinted {
    fn read(state: &State) -> Result<Self, StateError> {
        let lines: String = state.meta(UNPRINTED)?.unwrap_or_default();
        let decision = |line: &str| {
            let (hash, decision) = line.split_at_checked(HASH)?;
            Some((u64::from_str_radix(hash, 16).ok()?, decision.to_owned()))
        };
        Ok(Self(lines.split_inclusive('\n').filter_map(decision).collect()))
    }

    /// The decisions of the first of these documents, if the input continues somewhere among those that may not have been printed.
    fn answer(&mut self, documents: &[&Prepared]) -> Vec<String> {
        let continues = |start: &usize| {
            let mut both = self.0.iter().skip(*start).zip(documents);
            both.all(|((hash, _), document)| *hash == document.hash)
        };
        let start = (0..self.0.len()).find(continues).unwrap_or(self.0.len());
        self.0.drain(..start);
        self.0.drain(..self.0.len().min(documents.len())).map(|(_, decision)| decision).collect()
    }
}
