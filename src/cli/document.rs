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
    config::{Config, Draft},
    crawl::{PastRun, fetch, robots::product_token},
    extract::{self, Extractor},
    filter,
    fingerprint::{HashSeed, Recipe},
    input::{Chunks, Content, Documents, Input, InputError, Preparation, is_html},
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

/// The input and the configuration.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// JSON lines, HTML files or directories of HTML files; JSON lines from standard input if none is given
    ///
    /// Files that end in .html, .htm or .xhtml are pages; directories are searched for them recursively. Any other file has JSON lines.
    /// Lines and pages of more than 64 MiB are reported and skipped.
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) settings: Settings,
}

impl Source {
    /// Writes one JSON line per document.
    pub(super) fn write_lines<T: Serialize + Send>(
        self,
        out: &mut Out,
        line: impl Fn(Input) -> T + Sync,
    ) -> Result<Exit> {
        in_chunks(Documents::new(self.files), line, |lines| {
            lines.iter().try_for_each(|line| write_line(out, line))?;
            out.flush().map_err(Failure::Output)
        })
    }
}

/// Reads all documents, prepares them on all cores, and passes them to `take` in the order of the input, some at a time. Reports what
/// cannot be read on standard error.
pub(super) fn in_chunks<T: Send>(
    documents: impl Iterator<Item = Result<Input, InputError>> + Send + 'static,
    prepare: impl Fn(Input) -> T + Sync,
    mut take: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<Exit> {
    let (mut exit, mut found) = (Exit::Done, false);
    for chunk in Chunks::new(documents) {
        found = true;
        let prepared: Vec<_> = chunk.into_par_iter().map(|item| item.map(&prepare)).collect();
        let readable = prepared.into_iter().filter_map(|item| {
            let failed = |error: &InputError| {
                print_error(error);
                exit = Exit::Failed;
            };
            item.inspect_err(failed).ok()
        });
        take(readable.collect())?;
    }
    if !found {
        notify(
            "no documents were found; in directories, only files that end in .html, .htm or .xhtml are read",
        );
    }
    Ok(exit)
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
pub(super) fn read(path: &Path) -> Result<Content> {
    let bytes = fs::read(path).map_err(Failure::read(path))?;
    if is_html(path) || fetch::is_html(None, &bytes) {
        return Ok(Content::Html { body: bytes, charset: None });
    }
    Ok(Content::Text(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What turns inputs into documents by this configuration.
pub(super) fn preparation(config: &Config, documents: filter::Documents) -> Preparation {
    Preparation::new(extractor(config), config.crawl.url_options(), documents)
}
