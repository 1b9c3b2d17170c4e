//! `pagesieve verify`: whether the files of a run are as they were written.

use std::{io::Write, path::PathBuf};

use super::{Exit, Failure, Out, Result, notify};
use crate::crawl;

/// Look for damage in the state and the outputs of a run
///
/// Compares every byte with the checksums that were written with it. Prints a line for each damaged part: the file, the bytes, and what is
/// affected. The exit code is 5 if there is damage. The reports have no checksums; `pagesieve report` writes them again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve verify runs/docs
    pagesieve verify seen.sqlite")]
pub(super) struct Args {
    /// The run directory, or the state of a filter
    run: PathBuf,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let found = crawl::verify(&args.run)?;
    for damage in &found.damage {
        writeln!(out, "{damage}").map_err(Failure::Output)?;
    }
    found.notes.iter().for_each(notify);
    let bytes = found.bytes;
    if found.damage.is_empty() {
        notify(format_args!("no damage in {bytes} bytes"));
        return Ok(Exit::Done);
    }
    let run = args.run.display();
    notify(format_args!(
        "damaged: `pagesieve repair {run}` restores what it can, and keeps the damaged files. If it has already been run, what is left cannot be repaired and needs a backup"
    ));
    Ok(Exit::Damaged)
}
