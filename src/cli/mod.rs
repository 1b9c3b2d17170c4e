//! The command line.
//!
//! One file for each command. Standard output carries data only; errors, progress and logs go to standard error.

mod check;
mod crawl;
#[cfg(feature = "demo")]
pub mod demo;
mod document;
mod eval;
mod exit;
mod explain;
mod extract;
mod filter;
mod fingerprint;
mod log;
mod lookup;
mod progress;
mod report;
mod robots;
mod rule;
mod signals;

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::{Parser, Subcommand};
use serde::Serialize;

pub use exit::Exit;
use exit::{Failure, complain};

/// Bytes of output that wait in memory before they are handed to the system.
const BUFFER: usize = 64 << 10;

/// Standard output.
type Out = BufWriter<StdoutLock<'static>>;

/// A web crawler that recognises near duplicates before it stores them, and its parts as filters of their own.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 done, 1 failed (in part), 2 wrong usage or configuration, 4 no room on the disk, 130 interrupted.
Standard output carries data only; errors and logs go to standard error."
)]
struct Cli {
    #[command(flatten)]
    log: log::Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "demo")]
    Demo(demo::command::Args),
    Crawl(crawl::Args),
    Report(report::Args),
    Check(check::Args),
    Filter(filter::Args),
    Fingerprint(fingerprint::Args),
    Extract(extract::Args),
    Robots(robots::Args),
    Explain(explain::Args),
    Lookup(lookup::Args),
    Eval(eval::Args),
}

/// Runs the command that the program's arguments name. Ends the process itself if they are wrong or ask for help.
#[must_use]
pub fn main() -> Exit {
    let cli = Cli::parse();
    cli.log.begin();
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let ended = run(cli.command, &mut out)
        .and_then(|exit| out.flush().map_err(Failure::Output).map(|()| exit));
    // What could not be written must not be tried again when `out` is dropped.
    drop(out.into_parts());
    ended.unwrap_or_else(|failure| {
        complain(&failure);
        failure.exit()
    })
}

fn run(command: Command, out: &mut Out) -> Result<Exit, Failure> {
    match command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::command::run(&args, out),
        Command::Crawl(args) => crawl::run(&args, out),
        Command::Report(args) => report::run(&args, out),
        Command::Check(args) => check::run(&args, out),
        Command::Filter(args) => filter::run(args, out),
        Command::Fingerprint(args) => fingerprint::run(args, out),
        Command::Extract(args) => extract::run(args, out),
        Command::Robots(args) => robots::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Lookup(args) => lookup::run(&args, out),
        Command::Eval(args) => eval::run(&args, out),
    }
}

/// Writes a value as a line of JSON.
fn write_line(out: &mut Out, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(Failure::Output)
}

/// `1 page`, `2 pages`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
