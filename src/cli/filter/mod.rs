//! `pagesieve filter`: reports which documents repeat earlier ones.
//!
//! `durable.rs` judges with a state, this file without one. The file of `--kept` has the lines or records of unique documents, as they are in
//! the input. With a state, its length is committed together with the decisions: what a killed process wrote beyond it is cut off by the
//! next one.

mod durable;

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use bytesize::ByteSize;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{
    Exit, Failure, Out, Result,
    document::{Source, Window, in_chunks, preparation, recipe, window},
    notify, write_line,
};
use crate::{
    config::Config,
    crawl::{CrawlError, hash_seed_of, state_in},
    filter::{Filter, Options, Store},
    fingerprint::{HashSeed, HashSeedChoice, Recipe},
    index::{Audit, BlockIndex, Index},
    input::{Documents, Format, InputError, Prepared, Raw, Reading, prepare},
    report::audited,
    sink::AppendFile,
    state::{Difference, PastWindow, State, StateError},
};

/// Report which documents are unique, and which repeat an earlier one
///
/// Prints one decision per document as a JSON line, in the order of the input. The same id is the same document: a version without change is
/// "unchanged", another one "changed", unless it repeats another document. A document is a JSON line {"id", "text"} or
/// {"id", "html", "url"?}, an HTML file or a record of a WARC or WET file. The id of a file is its path, and the id of a record is its
/// URL. Lines may have a "time" (RFC 3339, or seconds or milliseconds since 1970; default: now). If a limit against hostile markup cut the page, the decision also
/// has "truncated" with the reason. Unreadable input gets a line with "error" in its place, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve filter pages/                     all HTML files in a directory
    pagesieve filter --state seen.db new.jsonl  repeats earlier documents too
    pagesieve filter CC-MAIN-*.warc.gz --kept unique.warc.gz > decisions.jsonl
    crawler | pagesieve filter | jq -r 'select(.verdict == \"unique\").id'")]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
    /// Keep the window in this file between runs; `:memory:` keeps it in memory, as without this option
    ///
    /// A decision is printed when it is durable. After a kill or a full disk, continue with the input after the last complete line of the
    /// output.
    ///
    /// The file is created with the public hash seed or the configured number. Later runs must use the same hash seed, `dedup.segment`
    /// and `dedup.fold_chinese`.
    #[arg(long, value_name = "FILE", value_parser = window)]
    state: Option<Window>,
    /// Write the lines and records of unique and changed documents to this file, as they are in the input
    ///
    /// Lines of JSON have all their fields. Records of WARC files stay as they are, also compressed. All input must be of one kind, and
    /// HTML files are not written. The file must be new or empty. With --state it may also be the one of the last run: it is durable with
    /// the decisions, and a run after a kill goes on with it.
    #[arg(long, value_name = "FILE")]
    kept: Option<PathBuf>,
    /// Of which site pages of a directory are that name no host by a canonical link: of one for all below the directory, or none
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sites::Directory)]
    sites: Sites,
    /// Acknowledge lines of standard input: after each commit, print up to which line decisions are durable
    #[arg(long, requires = "state", conflicts_with = "files")]
    acks: bool,
    /// Also report what repeats a document in this state or run, which is only read; may be repeated
    ///
    /// A filter without hash seed, in memory or in a new file, takes over that of the first one. Otherwise its hash seed, `dedup.segment`
    /// and `dedup.fold_chinese` must be the same. Such a duplicate is not remembered.
    #[arg(long, value_name = "STATE")]
    against: Vec<PathBuf>,
}

/// What says of which site the pages of a directory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sites {
    Directory,
    Links,
}

impl Sites {
    fn reading(self, keeps: bool) -> Reading {
        Reading { keeps, directories_are_sites: self == Self::Directory, ..Reading::default() }
    }

    /// The directories whose pages are of one site.
    fn directories(self, files: &[PathBuf]) -> Vec<PathBuf> {
        let files = files.iter().filter(|file| self == Self::Directory && file.is_dir());
        files.cloned().collect()
    }
}

/// Says which pages are of one site.
fn announce(directories: &[PathBuf]) {
    for directory in directories {
        notify(format_args!(
            "{}: its pages count as one site unless their canonical links say otherwise; with `--sites links`, only these say it",
            directory.display()
        ));
    }
}

/// What is done beside judging.
#[derive(Default)]
struct Job {
    acks: bool,
    /// The file of `--kept`, and when it is open, its content.
    kept_path: Option<PathBuf>,
    kept: Option<Kept>,
    /// The states of `--against`.
    against: Vec<Other>,
    /// Whether the user has set the hash seed.
    has_seed: bool,
}

impl Job {
    /// Opens the file of `--kept`.
    fn open_kept(&mut self, state: Option<&State>) -> Result<()> {
        let kept = self.kept_path.as_deref().map(|path| Kept::open(path, state)).transpose()?;
        self.kept = kept;
        Ok(())
    }

    /// Keeps a document if it is new. All must be of one kind.
    fn keep(&mut self, document: &Prepared, is_new: bool) -> Result<()> {
        let (Some(kept), Some(raw)) = (&mut self.kept, &document.raw) else { return Ok(()) };
        kept.check(raw)?;
        if is_new { kept.add(raw) } else { Ok(()) }
    }

    /// Judges a document and writes the decision on it. One that repeats a document of another state is not remembered.
    fn judge<S: Store>(
        &mut self,
        filter: &mut Filter<S>,
        document: &Prepared,
        out: &mut impl Write,
        failed: impl Fn(S::Error) -> Failure,
    ) -> Result<()> {
        for Other { name, window } in &mut self.against {
            let failed = |source| Failure::State { path: (&**name).into(), source };
            if let Some((judgement, of)) = window.peek(&document.document).map_err(failed)? {
                return write_line(out, &document.line(&judgement, Some(&of), Some(name)));
            }
        }
        let judgement = filter.judge(&document.document).map_err(&failed)?;
        let of = filter.match_of(&judgement).map_err(failed)?;
        self.keep(document, judgement.is_new())?;
        write_line(out, &document.line(&judgement, of.as_deref(), None))
    }
}

/// A state that is only read.
struct Other {
    name: String,
    window: PastWindow,
}

/// Opens the states that are only read. Their fingerprints must be made by this recipe. `has_seed`: the user has set the hash seed.
fn open_others(
    paths: &[PathBuf],
    options: &Options,
    recipe: Recipe,
    has_seed: bool,
) -> Result<Vec<Other>> {
    let open = |path: &PathBuf| {
        let window = PastWindow::open(&state_in(path), options, recipe, true);
        let window = window.map_err(|source| match source {
            StateError::Recipe(difference) => unlike(path, &difference, has_seed),
            source => Failure::State { path: path.clone(), source },
        })?;
        Ok(Other { name: path.display().to_string(), window })
    };
    paths.iter().map(open).collect()
}

/// A state that cannot be compared with.
fn unlike(path: &Path, difference: &Difference, has_seed: bool) -> Failure {
    let Difference { key, stored, wanted } = difference;
    let message = format!(
        "cannot compare with {}: {key} would be {wanted}, but its fingerprints were made with {stored}",
        path.display()
    );
    let help = match *key {
        "dedup.seed" if has_seed => {
            "leave dedup.seed out: the hash seed of the first --against is then taken over"
        }
        "dedup.seed" => {
            "a new --state FILE takes over the hash seed of the first --against. What has another one is compared with in a call of its own, \
             which reads the --kept FILE of this one"
        }
        "dedup.segment" | "dedup.fold_chinese" => "set the key to that value with --set",
        _ => "judge its documents again with this version",
    };
    Failure::refused(Exit::Usage, message, help)
}

/// The hash seed of the first other state, if the filter has none of its own: with the seeds of crawls, which are secret, fingerprints can be
/// compared only so.
fn adopted_seed(
    config: &Config,
    state: Option<&Path>,
    against: &[PathBuf],
) -> Result<Option<HashSeed>> {
    // A state that exists has its seed.
    let is_begun = state.is_some_and(|path| path.metadata().is_ok_and(|file| file.len() > 0));
    let first = against.first().filter(|_| !is_begun && config.dedup.seed.seed().is_none());
    // What is no file, is refused when it is opened.
    let Some(path) = first.filter(|path| state_in(path).is_file()) else { return Ok(None) };
    hash_seed_of(path).map_err(|source| Failure::State { path: path.clone(), source })
}

/// What is kept of the pages is reported from this size on: some 50,000 pages.
const MUCH: usize = 64 << 20;

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit> {
    let Args { source, state, kept, sites, acks, against } = args;
    let draft = source.settings.draft(&Config::default())?;
    if draft.asks_for_a_secret_seed() {
        notify(
            "dedup.seed: only `crawl` draws a secret seed; this command uses the public one, unless a number is set",
        );
    }
    let state = match state {
        Some(Window::File(path)) => Some(path),
        Some(Window::Shared(_)) => {
            let help = "`serve` and the Python package judge in a window on a server";
            return Err(refused("`filter` keeps its window in a file".to_owned(), help));
        }
        Some(Window::Memory) if acks => {
            let help = "name a file with --state";
            return Err(refused("--acks says what is durable, and memory is not".to_owned(), help));
        }
        Some(Window::Memory) | None => None,
    };
    let mut job = Job { acks, kept_path: kept, ..Job::default() };
    let mut config = match state {
        Some(_) => draft.check_dedup()?,
        None => draft.check_dedup_in_memory()?,
    };
    job.has_seed = config.dedup.seed.seed().is_some();
    if let Some(seed) = adopted_seed(&config, state.as_deref(), &against)? {
        config.dedup.seed = HashSeedChoice::Fixed(seed);
    }
    let directories = sites.directories(&source.files);
    let documents = source.documents(&config, &sites.reading(job.kept_path.is_some()));
    let kept = job.kept_path.clone();
    let filtered = if let Some(path) = state {
        durable::run(&path, &config, documents, (job, against), out)
    } else {
        let options = config.dedup.filter();
        job.against = open_others(&against, &options, recipe(&config), job.has_seed)?;
        job.open_kept(None)?;
        run_in_memory(&config, documents, job, out)
    };
    let (exit, audit) = filtered.map_err(|failure| incomplete(failure, kept.as_deref()))?;
    announce(&directories);
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

/// A failure, or that the file of kept documents is not complete, because nobody reads the decisions.
fn incomplete(failure: Failure, kept: Option<&Path>) -> Failure {
    match (failure, kept) {
        (Failure::Output(source), Some(kept)) if source.kind() == ErrorKind::BrokenPipe => {
            let message =
                format!("standard output was closed, so {} is not complete", kept.display());
            let help = "if only that file is wanted, end the command with `> /dev/null`";
            Failure::refused(Exit::Failed, message, help)
        }
        (failure, _) => failure,
    }
}

/// The value of the state's `meta` table that says how far the file is committed.
const KEPT: &str = "kept";

pub(super) struct Kept {
    path: PathBuf,
    file: AppendFile,
    format: Option<Format>,
}

/// What the state says of a file.
#[derive(Default, Serialize, Deserialize)]
struct Committed {
    path: String,
    length: u64,
    format: Option<Format>,
}

impl Kept {
    /// Opens the file: a new one, or the one of this state, whose open transaction then has its length.
    pub(super) fn open(path: &Path, state: Option<&State>) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|source| Failure::Write { path: path.to_owned(), source })?;
        let committed: Committed =
            state.map(|state| state.json(KEPT)).transpose()?.flatten().unwrap_or_default();
        let committed =
            Some(committed).filter(|committed| committed.path == path.to_string_lossy());
        let length = fs::metadata(&path).map(|found| found.len()).ok();
        let (known, format) = match (committed, length) {
            (Some(committed), Some(length)) if length < committed.length => {
                let message = format!(
                    "{} has {length} bytes, but {} were written with this state",
                    path.display(),
                    committed.length
                );
                return Err(refused(message, "restore it, or name another file with --kept"));
            }
            (Some(committed), Some(_)) => (committed.length, committed.format),
            (None, Some(1..)) => {
                let message =
                    format!("{} is not empty, and not the file of this state", path.display());
                return Err(refused(message, "name another file with --kept, or move it away"));
            }
            (_, None | Some(0)) => (0, None),
        };
        let file = AppendFile::open(path.clone(), known).map_err(CrawlError::from)?;
        let mut this = Self { path, file, format };
        if let Some(state) = state {
            this.commit(state)?;
        }
        Ok(this)
    }

    fn check(&mut self, raw: &Raw) -> Result<()> {
        let format = *self.format.get_or_insert(raw.format);
        if format != raw.format {
            let message = format!(
                "{} has {}, but the input now has {}",
                self.path.display(),
                format.name(),
                raw.format.name()
            );
            let help = "filter them by themselves, with another --kept";
            return Err(refused(message, help));
        }
        Ok(())
    }

    fn add(&mut self, raw: &Raw) -> Result<()> {
        Ok(self.file.append_bytes(&raw.bytes).map_err(CrawlError::from)?)
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) -> Result<u64> {
        Ok(self.file.sync().map_err(CrawlError::from)?)
    }

    /// Makes everything durable, and adds the length to the open transaction.
    pub(super) fn commit(&mut self, state: &State) -> Result<()> {
        let (length, format) = (self.sync()?, self.format);
        let path = self.path.to_string_lossy().into();
        Ok(state.set_json(KEPT, &Committed { path, length, format })?)
    }
}

fn refused(message: String, help: &str) -> Failure {
    Failure::refused(Exit::Usage, message, help)
}

/// Judges with a window that ends with the process.
fn run_in_memory(
    config: &Config,
    input: Documents,
    mut job: Job,
    out: &mut Out,
) -> Result<(Exit, Audit)> {
    let mut filter = Filter::of_recipe(&config.dedup.filter(), recipe(config))?;
    filter.index_keys();
    let preparation = preparation(config, filter.documents());
    let mut answer = |item: Result<Prepared, InputError>, out: &mut Out| match item {
        Ok(document) => job.judge(&mut filter, &document, out, Failure::from),
        Err(error) => write_line(out, &error.answer()),
    };
    let exit = in_chunks(
        input,
        |input| prepare(&preparation, input),
        |items| {
            items.into_iter().try_for_each(|item| answer(item, out))?;
            out.flush().map_err(Failure::Output)
        },
    )?;
    if let Some(kept) = &mut job.kept {
        kept.sync()?;
    }
    let size = filter.store.contents_size;
    if size >= MUCH {
        let size = ByteSize(size as u64).display().iec();
        notify(format_args!(
            "{size} of memory were used to compare the articles of pages; --state keeps them in a file"
        ));
    }
    Ok((exit, filter.index().audit()))
}
