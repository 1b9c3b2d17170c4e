//! `pagesieve filter`: reports which documents repeat earlier ones.

use std::{
    collections::VecDeque,
    io::Write,
    path::{Path, PathBuf},
};

use super::{
    Exit, Failure, Out, Result,
    document::{Source, in_chunks, preparation, recipe},
    notify, write_line,
};
use crate::{
    config::Config,
    filter::{Filter, Judgement},
    fingerprint::HashSeed,
    index::{Audit, BlockIndex},
    input::{Documents, Prepared},
    page::{DocId, numbers::thousands},
    report::audited,
    state::{DurableFilter, Restored, State, StateError},
};
use bytesize::ByteSize;

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
    /// A decision is printed when it is durable. After a kill or a full disk, continue with the input after the last complete line of the
    /// output.
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
    let preparation = preparation(config, filter.documents());
    // The ids of the documents in the window.
    let mut ids = Ids::default();
    let exit = in_chunks(
        input,
        |input| preparation.prepare(input),
        |documents| {
            for document in &documents {
                let judgement = filter.judge(&document.document);
                ids.expire(filter.oldest());
                if judgement.verdict.is_unique() {
                    ids.push(judgement.id, document.document.id());
                }
                let of = judgement.verdict.matched().and_then(|found| ids.get(found.of));
                write(out, document, &judgement, of)?;
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

/// The ids of unique documents, oldest first, in blocks: a block is one allocation for many.
#[derive(Default)]
struct Ids(VecDeque<IdBlock>);

#[derive(Default)]
struct IdBlock {
    numbers: Vec<DocId>,
    /// Where each id ends in the text.
    ends: Vec<usize>,
    text: String,
}

impl Ids {
    const BLOCK: usize = 1024;

    /// Numbers grow from call to call.
    fn push(&mut self, number: DocId, id: &str) {
        if let Some(last) = self.0.back_mut().filter(|last| last.numbers.len() == Self::BLOCK) {
            last.text.shrink_to_fit();
        }
        if self.0.back().is_none_or(|last| last.numbers.len() == Self::BLOCK) {
            self.0.push_back(IdBlock::default());
        }
        let block = self.0.back_mut().expect("there is one");
        block.text.push_str(id);
        block.numbers.push(number);
        block.ends.push(block.text.len());
    }

    fn get(&self, number: DocId) -> Option<&str> {
        let after = self.0.partition_point(|block| block.numbers[0] <= number);
        let block = &self.0[after.checked_sub(1)?];
        let place = block.numbers.binary_search(&number).ok()?;
        let start = place.checked_sub(1).map_or(0, |before| block.ends[before]);
        Some(&block.text[start..block.ends[place]])
    }

    /// Drops blocks in which all are older.
    fn expire(&mut self, oldest: DocId) {
        let is_past = |block: &mut IdBlock| block.numbers.last().is_some_and(|last| *last < oldest);
        while self.0.pop_front_if(is_past).is_some() {}
    }
}

fn durable(path: &Path, config: &Config, input: Documents, out: &mut Out) -> Result<(Exit, Audit)> {
    let failed = |source| Failure::State { path: path.to_owned(), source };
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
    let mut batch = Batch::default();
    let (mut filter, mut unprinted) = open().map_err(failed).inspect_err(|failure| {
        if matches!(failure, Failure::State { source, .. } if source.is_io()) {
            batch.say_where_to_continue(failure);
        }
    })?;
    let preparation = preparation(config, filter.documents());
    let mut judge_all = |documents: Vec<Prepared>| {
        let again = unprinted.answer(&documents);
        for line in &again {
            out.write_all(line.as_bytes()).map_err(Failure::Output)?;
        }
        out.flush().map_err(Failure::Output)?;
        let (answered, documents) = documents.split_at(again.len());
        batch.committed = answered.last().map(|last| last.place.clone()).or(batch.committed.take());
        for document in documents {
            let judgement = filter.judge(&document.document).map_err(failed)?;
            let matched = judgement.verdict.matched();
            let of = matched.map(|found| filter.id_of(found.of)).transpose();
            batch.add(document, &judgement, of.map_err(failed)?.as_deref())?;
            if batch.lines.len() >= MOST_BYTES {
                batch.print(&mut filter, failed, out)?;
            }
        }
        batch.print(&mut filter, failed, out)
    };
    let ended = in_chunks(input, |input| preparation.prepare(input), &mut judge_all);
    let ended = ended.and_then(|exit| {
        filter.begin().and_then(|()| filter.state().set_meta(UNPRINTED, "")).map_err(failed)?;
        filter.commit().map_err(failed)?;
        Ok((exit, filter.audit()))
    });
    ended.inspect_err(|failure| batch.say_where_to_continue(failure))
}

/// The value of the state's `meta` table that has the decisions of the last commit, until they are all printed.
const UNPRINTED: &str = "unprinted";
/// Digits of the input's hash before a decision in that value.
const HASH: usize = 16;
/// So many bytes of decisions are committed before there are more.
const MOST_BYTES: usize = 1 << 20;

/// The decisions since the last commit: they are printed when they are committed.
#[derive(Default)]
struct Batch {
    /// As they are kept in the state.
    lines: Vec<u8>,
    /// Where the last of these documents was read.
    last: String,
    /// Where the last one was read whose decision is committed.
    committed: Option<String>,
}

impl Batch {
    fn add(&mut self, prepared: &Prepared, judged: &Judgement, of: Option<&str>) -> Result<()> {
        write!(self.lines, "{:0HASH$x}", prepared.hash).map_err(Failure::Output)?;
        self.last.clone_from(&prepared.place);
        write(&mut self.lines, prepared, judged, of)
    }

    /// Commits and prints. If the process ends in between, the next one finds the decisions in the state.
    fn print(
        &mut self,
        filter: &mut DurableFilter,
        failed: impl Fn(StateError) -> Failure,
        out: &mut Out,
    ) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let lines = str::from_utf8(&self.lines).expect("JSON is UTF-8");
        filter.state().set_meta(UNPRINTED, lines).map_err(&failed)?;
        filter.commit().map_err(&failed)?;
        self.committed = Some(std::mem::take(&mut self.last));
        for line in lines.split_inclusive('\n') {
            out.write_all(&line.as_bytes()[HASH..]).map_err(Failure::Output)?;
        }
        self.lines.clear();
        out.flush().map_err(Failure::Output)
    }

    fn say_where_to_continue(&self, failure: &Failure) {
        if failure.exit() == Exit::Done {
            return;
        }
        match (failure, &self.committed) {
            (Failure::Output(_), _) => notify(
                "every decision that was printed is kept; cut off a last line of the output that is incomplete, and continue with the input after the last decision",
            ),
            (_, Some(place)) => notify(format_args!(
                "the last decision printed is that of {place}, and all up to it are kept: continue with the input after it"
            )),
            (_, None) => notify("no decision was printed: start again with the same input"),
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
    fn answer(&mut self, documents: &[Prepared]) -> Vec<String> {
        let continues = |start: &usize| {
            let mut both = self.0.iter().skip(*start).zip(documents);
            both.all(|((hash, _), document)| *hash == document.hash)
        };
        let start = (0..self.0.len()).find(continues).unwrap_or(self.0.len());
        self.0.drain(..start);
        self.0.drain(..self.0.len().min(documents.len())).map(|(_, decision)| decision).collect()
    }
}

fn write(
    out: &mut impl Write,
    prepared: &Prepared,
    judged: &Judgement,
    of: Option<&str>,
) -> Result<()> {
    write_line(out, &prepared.line(judged, of))
}
