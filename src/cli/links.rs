//! `pagesieve links`: the broken links of a run.

use std::path::PathBuf;

use super::{Exit, Out, Result, write_line};
use crate::crawl::PastRun;

/// Print the broken links of a run, and the pages that have them
///
/// Prints one JSON object per line: the URL that got an error or no answer, its status or why it failed, and the page on which it was found
/// first. A run keeps no other pages that link to it. While a crawl is running in the directory, they are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
    pagesieve links runs/docs --broken | jq -r '[.status // .why, .url, .referrers[]] | @tsv'")]
pub(super) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// Print links that got an error or no answer
    #[arg(long, required = true)]
    broken: bool,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    debug_assert!(args.broken, "it is required");
    PastRun::open(&args.directory)?.for_each_broken(|link| write_line(out, link))?;
    Ok(Exit::Done)
}
