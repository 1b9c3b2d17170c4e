//! `pagesieve repair`: restores a damaged run.

use std::{io::Write, path::PathBuf};

use super::{Exit, Failure, Out, Result};
use crate::crawl;

/// Repair a damaged run
///
/// Restores every block of 4 KiB in which one byte was changed. Lines in other damaged blocks of `pages.jsonl`, `duplicates.jsonl` and `changes.jsonl` are
/// dropped and listed; the state names those of which nothing is left. A WARC file whose end is missing is cut after its last whole record. A damaged file stays beside the new one, as `NAME.damaged`. The exit code is 5 if lines are
/// lost or damage is left.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve repair runs/docs")]
pub(super) struct Args {
    /// The run directory, or the state of a filter
    run: PathBuf,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let done = crawl::repair(&args.run)?;
    write!(out, "{done}").map_err(Failure::Output)?;
    let lost = [&done.left, &done.dropped, &done.unnamed, &done.cut];
    Ok(if lost.iter().all(|lost| lost.is_empty()) { Exit::Done } else { Exit::Damaged })
}
