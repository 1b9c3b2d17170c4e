//! `pagesieve report`: writes the report of a run again.

use std::path::PathBuf;

use super::{Exit, Failure, Out, crawl::tell};
use crate::crawl;

/// Write the report of a run again, and print its summary
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run directory
    directory: PathBuf,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let report = crawl::report(&args.directory)?;
    tell(&report, &args.directory, out)?;
    Ok(Exit::Done)
}
