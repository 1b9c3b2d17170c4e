//! Reads the documents of a command, and prepares them for the filter.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;

use crate::{
    cluster::{Address, ClusterError},
    config::{Config, Draft},
    crawl::{PastRun, fetch, robots::product_token},
    extract::{self, Extractor},
    filter,
    fingerprint::{HashSeed, Recipe},
    input::{Chunks, Documents, Input, InputError, Names, Reading, Skipped, is_html},
    submission::{Payload, Preparation, Times},
};

use super::{Exit, Failure, Out, Result, exit::print_error, notify, write_line};

/// The configuration.
#[derive(Debug, Args)]
pub(super) struct Settings {
    /// Use the options of this configuration; its [[seeds]] are ignored
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one key of the configuration, as in `dedup.segment=ngrams`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Where a window is kept, as `--state` names it. The Python package has the same rule.
#[derive(Clone, Debug)]
pub(super) enum Window {
    Memory,
    File(PathBuf),
    Shared(
        #[cfg_attr(
            not(feature = "serve"),
            expect(dead_code, reason = "the service alone opens it")
        )]
        Box<Address>,
    ),
}

/// For clap: what the name of a window means.
pub(super) fn window(name: &str) -> Result<Window, String> {
    match name {
        "" => Err("the name is empty: name a file, or `:memory:`".to_owned()),
        ":memory:" => Ok(Window::Memory),
        _ if Address::is_meant(name) => {
            let address = name.parse().map_err(|error: ClusterError| error.to_string())?;
            Ok(Window::Shared(Box::new(address)))
        }
        _ => Ok(Window::File(name.into())),
    }
}

/// The input and the configuration.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// JSON lines, HTML, WARC and WET files or directories of HTML files; standard input if none is given
    ///
    /// The first bytes of a file determine its format: a page, WARC records or else JSON lines, also compressed by gzip or zstd. Files that end in
    /// .html, .htm or .xhtml are pages; directories are searched for them recursively. In WARC files, HTML responses with status 2xx,
    /// and texts (WET) are documents; their ids are their URLs. Lines, pages and records of more than 64 MiB are reported and skipped.
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    pub(super) settings: Settings,
}

impl Source {
    /// Writes one JSON line per document.
    pub(super) fn write_lines<T: Serialize + Send>(
        self,
        config: &Config,
        out: &mut Out,
        line: impl Fn(Input) -> T + Sync,
    ) -> Result<Exit> {
        in_chunks(self.documents(config, &Reading::default()), line, |lines| {
            for line in lines {
                match line {
                    Ok(line) => write_line(out, &line)?,
                    Err(error) => write_line(out, &error.answer())?,
                }
            }
            out.flush().map_err(Failure::Output)
        })
    }

    /// The documents of the input, read so as far as the options do not say it.
    pub(super) fn documents(self, config: &Config, reading: &Reading) -> Documents {
        let max_body = usize::try_from(config.fetch.max_body.as_u64()).unwrap_or(usize::MAX);
        let times = Times::of(&config.dedup.window);
        Documents::new(
            self.files,
            Reading { names: self.names, times, max_body, ..reading.clone() },
        )
    }
}

/// Reads all documents, prepares them on all cores, and passes them to `take` in the order of the input, some at a time. Reports what
/// cannot be read on standard error, and passes it too.
pub(super) fn in_chunks<T: Send>(
    documents: Documents,
    prepare: impl Fn(Input) -> T + Sync,
    mut take: impl FnMut(Vec<Result<T, InputError>>) -> Result<()>,
) -> Result<Exit> {
    let (mut exit, mut found) = (Exit::Done, false);
    let skipped = documents.skipped();
    for chunk in Chunks::new(documents) {
        found = true;
        let prepared: Vec<_> = chunk.into_par_iter().map(|item| item.map(&prepare)).collect();
        for error in prepared.iter().filter_map(|item| item.as_ref().err()) {
            print_error(error);
            exit = Exit::Failed;
        }
        take(prepared)?;
    }
    let has_records = report_skipped(&skipped);
    if !found && !has_records {
        notify(
            "no documents were found; in directories, only files that end in .html, .htm or .xhtml are read",
        );
    }
    Ok(exit)
}

/// Reports how many records were no documents. Returns whether there were any.
fn report_skipped(skipped: &Skipped) -> bool {
    let skipped = skipped.lock().expect("no thread panics while it holds the lock");
    let counts: Vec<_> = skipped.iter().map(|(what, count)| format!("{count} {what}")).collect();
    if !counts.is_empty() {
        notify(format_args!("records that are no documents: {}", counts.join(", ")));
    }
    !counts.is_empty()
}

impl Settings {
    pub(super) fn config(&self) -> Result<Config> {
        Ok(self.draft(&Config::default())?.check_dedup()?)
    }

    /// The configuration as it was read.
    pub(super) fn draft(&self, defaults: &Config) -> Result<Draft> {
        Ok(match &self.config {
            Some(path) => Draft::read(path, &self.set)?,
            None => Draft::over(defaults, &self.set)?,
        })
    }

    /// The same with the rule of a run as the default. Also returns the run's recipe, which cannot be changed.
    pub(super) fn config_over_run(&self, run: &PastRun) -> Result<(Config, Recipe)> {
        let dedup = run.options()?;
        let config = self.draft(&Config { dedup, ..Config::default() })?.check_dedup()?;
        let recipe = run.recipe(&config.dedup.filter())?;
        Ok((config, recipe))
    }
}

/// The recipe for fingerprints that are not kept: with the public hash seed, unless a number is set.
pub(super) fn recipe(config: &Config) -> Recipe {
    config.dedup.filter().recipe(config.dedup.seed.seed().unwrap_or(HashSeed::PUBLIC))
}

/// An extractor for the configured user agent.
pub(super) fn extractor(config: &Config) -> Extractor {
    let token = product_token(&config.crawl.user_agent);
    let agent = (!token.is_empty()).then(|| token.to_owned());
    Extractor::new(extract::Options { agent, rules: config.extract.clone() })
}

/// Reads a file as one document: a page if its name or its beginning says so, else text.
pub(super) fn read(path: &Path) -> Result<Payload> {
    let bytes = fs::read(path).map_err(Failure::read(path))?;
    if is_html(path) || fetch::is_html(None, &bytes) {
        return Ok(Payload::Html { body: bytes, content_type: None });
    }
    Ok(Payload::Text(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What turns inputs into documents by this configuration.
pub(super) fn preparation(config: &Config, documents: filter::Documents) -> Preparation {
    Preparation::new(extractor(config), config.crawl.url_options(), documents)
}
