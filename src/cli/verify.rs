//! `pagesieve verify`, `repair` and `backup`: whether the files of a run are as they were written, and what is done against damage.

use std::{io::Write, path::PathBuf};

use super::{Exit, Failure, Out, Result, notify};
use crate::crawl::{self, CrawlError};

/// Look for damage in the state and the outputs of a run
///
/// Has SQLite check the structure of the state, and compares every line and record with its checksum. Prints a line for each damaged part: the
/// file, the bytes, and the URLs that are affected. The exit code is 5 if there is damage. The reports have no checksums; `pagesieve report`
/// writes them again. What another process writes to is verified as a copy, which `pagesieve backup` makes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve verify runs/docs
    pagesieve verify seen.sqlite")]
pub(super) struct VerifyArgs {
    /// The run directory, or the state of a filter
    run: PathBuf,
}

pub(super) fn verify(args: &VerifyArgs, out: &mut Out) -> Result<Exit> {
    let run = args.run.display();
    let found = crawl::verify(&args.run).map_err(|error| match error {
        CrawlError::State(state) if state.is_busy() => {
            let message = format!("another process writes to {run}, so it cannot be verified now");
            let help = format!(
                "verify a copy: `pagesieve backup {run} COPY`, then `pagesieve verify COPY`"
            );
            Failure::refused(Exit::Failed, message, help)
        }
        error => error.into(),
    })?;
    for damage in &found.damage {
        writeln!(out, "{damage}").map_err(Failure::Output)?;
    }
    found.notes.iter().for_each(notify);
    let bytes = found.bytes;
    if found.damage.is_empty() {
        notify(format_args!("no damage in {bytes} bytes"));
        return Ok(Exit::Done);
    }
    notify(format_args!(
        "damaged: `pagesieve repair {run}` cuts damaged lines and records out, and has their pages fetched again; a damaged state needs a backup"
    ));
    Ok(Exit::Damaged)
}

/// Repair a damaged run
///
/// Cuts damaged lines and records out, and queues their pages: the next `pagesieve crawl` fetches them again. Lines of `changes.jsonl` do not come
/// again. A damaged file stays beside the new one, as `NAME.damaged`. A damaged state cannot be repaired, and needs a backup. The exit code is 5
/// if something was cut out, or damage is left.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve repair runs/docs")]
pub(super) struct RepairArgs {
    /// The run directory, or the state of a filter
    run: PathBuf,
}

pub(super) fn repair(args: &RepairArgs, out: &mut Out) -> Result<Exit> {
    let done = crawl::repair(&args.run)?;
    write!(out, "{done}").map_err(Failure::Output)?;
    let is_whole = done.cut.is_empty() && done.left.is_empty();
    Ok(if is_whole { Exit::Done } else { Exit::Damaged })
}

/// Copy a run, also while a crawl writes to it
///
/// The copy is the run as of its last commit: state and outputs belong together. It is a run directory that `pagesieve crawl --out` continues.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve backup runs/docs /backup/docs-monday")]
pub(super) struct BackupArgs {
    /// The run directory, or the state of a filter
    run: PathBuf,
    /// The directory of the copy: a new or empty one
    directory: PathBuf,
}

pub(super) fn backup(args: &BackupArgs, _: &mut Out) -> Result<Exit> {
    let bytes = crawl::backup(&args.run, &args.directory)?;
    notify(format_args!("copied {bytes} bytes to {}", args.directory.display()));
    Ok(Exit::Done)
}
