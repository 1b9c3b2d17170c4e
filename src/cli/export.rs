//! `pagesieve export`: the URLs of a run that are neither stored nor duplicates.

use std::path::PathBuf;

use super::{Exit, Out, Result, write_line};
use crate::{
    crawl::{CrawlError, PastRun},
    sink::Replacement,
};

/// Print the URLs that a run skipped, or those that are still queued
///
/// Prints one JSON object per line: the URL, the reason, and where the URL was found. Together with the lines of pages.jsonl and
/// duplicates.jsonl, these are all URLs that the run knows; a changed page has a further line for each new text. While a crawl is running in the
/// directory, they are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve export runs/docs | grep '\"reason\":\"failure\"'
    pagesieve export runs/docs --pending --output queued.jsonl")]
pub(super) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// The URLs that are still queued, also those of deferred hosts, instead of those that were skipped
    #[arg(long)]
    pending: bool,
    /// Write to this file instead of standard output; an older file is replaced when the new one is complete
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let run = PastRun::open(&args.directory)?;
    let Some(path) = &args.output else {
        run.for_each_skipped(args.pending, |line| write_line(out, line))?;
        return Ok(Exit::Done);
    };
    let mut file = Replacement::create(path.clone()).map_err(CrawlError::from)?;
    run.for_each_skipped(args.pending, |line| file.write(line).map_err(CrawlError::from))?;
    file.commit().map_err(CrawlError::from)?;
    Ok(Exit::Done)
}
