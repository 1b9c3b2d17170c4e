//! `pagesieve backup`: copies a run.

use std::path::PathBuf;

use super::{Exit, Out, Result, notify};
use crate::crawl;

/// Copy a run, also while a crawl writes to it
///
/// The copy is the run as of its last commit: state and outputs belong together. It is a run directory that `pagesieve crawl --out` continues.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve backup runs/docs /backup/docs-monday")]
pub(super) struct Args {
    /// The run directory, or the state of a filter
    run: PathBuf,
    /// The directory of the copy: a new or empty one
    directory: PathBuf,
}

pub(super) fn run(args: &Args, _: &mut Out) -> Result<Exit> {
    let bytes = crawl::backup(&args.run, &args.directory)?;
    notify(format_args!("copied {bytes} bytes to {}", args.directory.display()));
    Ok(Exit::Done)
}
