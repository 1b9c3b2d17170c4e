//! `pagesieve report`: writes the report of a run again.

use std::{io::Write, path::PathBuf};

use super::{Exit, Failure, Out, crawl::tell, progress::say};
use crate::{crawl, report::End};

/// Write the report of a run again, and print its summary
///
/// While a crawl is running in the directory, only the summary as of its last commit is printed: the files are the crawl's to write.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run directory
    directory: PathBuf,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let report = crawl::report(&args.directory)?;
    if report.end == End::Running {
        write!(out, "{report}").map_err(Failure::Output)?;
        say(format_args!("a crawl is running there: it writes its report when it ends"));
        return Ok(Exit::Done);
    }
    tell(&report, &args.directory, out)?;
    Ok(Exit::Done)
}
