//! The command line: parses the arguments, sets up the log, runs a command.
//!
//! Each command has a file of its own, except these: `report` is in `crawl.rs`; `links`, `rules` and `clusters` in `export.rs`; `robots` in
//! `check.rs`; `fingerprint` in `extract.rs`; `repair` and `backup` in `verify.rs`; `completions`, `man` and `schema` in `about.rs`. Standard
//! output has only data; errors, progress and logs go to standard error.

mod about;
mod check;
mod cluster;
mod compare;
mod crawl;
#[cfg(feature = "demo")]
pub mod demo;
mod document;
mod eval;
mod exit;
mod explain;
mod export;
mod extract;
mod filter;
mod lookup;
#[cfg(feature = "otlp")]
mod otlp;
mod pages;
mod progress;
mod review;
mod rows;
mod rule;
#[cfg(feature = "serve")]
mod serve;
mod terminal;
mod verify;

use std::{
    env, fmt,
    io::{self, BufWriter, IsTerminal, Write},
    panic, process,
    sync::atomic::{AtomicBool, Ordering},
};

use clap::{Parser, Subcommand, ValueEnum};
use jiff::Timestamp;
use miette::{JSONReportHandler, Report};
use serde::Serialize;
use serde_json::{Value, json};
use tracing_subscriber::{
    EnvFilter, Layer, filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt,
};

pub use exit::Exit;
use exit::{Failure, Result};
use terminal::Terminal;

/// The size of the buffer of standard output, in bytes.
const BUFFER: usize = 64 << 10;

/// Standard output.
type Out = BufWriter<Terminal>;

/// A web crawler with a streaming filter for near duplicates; the filter also works alone.
#[derive(Debug, Parser)]
#[command(
    version = about::VERSION.as_str(),
    max_term_width = 100,
    after_help = "\
Exit codes:
    0          done
    1          failed, at least in part
    2          wrong usage or configuration
    3          a crawl left work at hosts that do not answer any more
    4          the disk is full
    5          damaged
    130, 143   interrupted

Standard output has only data; errors and logs go to standard error."
)]
struct Cli {
    #[command(flatten)]
    log: LogOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "demo")]
    Demo(demo::Args),
    Crawl(crawl::Args),
    Report(crawl::ReportArgs),
    Review(review::Args),
    Cluster(cluster::Args),
    Pages(pages::Args),
    #[command(visible_alias = "skipped")]
    Export(export::ExportArgs),
    Links(export::LinksArgs),
    Rules(export::RulesArgs),
    Check(check::CheckArgs),
    Filter(filter::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    Fingerprint(extract::FingerprintArgs),
    Extract(extract::Args),
    Robots(check::RobotsArgs),
    Explain(explain::Args),
    Lookup(lookup::Args),
    Clusters(export::ClustersArgs),
    Verify(verify::VerifyArgs),
    Repair(verify::RepairArgs),
    Backup(verify::BackupArgs),
    Eval(eval::Args),
    Schema(about::SchemaArgs),
    Completions(about::CompletionsArgs),
    Man(about::ManArgs),
}

/// Runs the command of the program's arguments. Ends the process itself if they are wrong or ask for help.
#[must_use]
pub fn main() -> Exit {
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let mut out = BufWriter::with_capacity(BUFFER, Terminal::stdout());
    let ended = cli
        .log
        .init()
        .and_then(|()| {
            exit::survive_file_limit();
            run(cli.command, &mut out)
        })
        .and_then(|exit| out.flush().map_err(Failure::Output).map(|()| exit));
    // Dropping `out` would try again to write what could not be written.
    drop(out.into_parts());
    #[cfg(feature = "otlp")]
    otlp::finish();
    ended.unwrap_or_else(|failure| {
        let exit = failure.exit();
        if exit != Exit::Done {
            print_failure(failure);
        }
        exit
    })
}

/// Ends the process after a call that is wrong, or that asks for help.
fn refuse(error: &clap::Error) -> ! {
    let is_json = |format: &str| format.eq_ignore_ascii_case("json");
    let mut args = env::args().skip_while(|arg| !arg.starts_with("--log-format"));
    let format = args.next().and_then(|arg| match arg.split_once('=') {
        Some((_, format)) => Some(format.to_owned()),
        None => args.next(),
    });
    if !error.use_stderr() || !format.is_some_and(|format| is_json(&format)) {
        error.exit();
    }
    print_json("ERROR", &json!({ "message": error.to_string().trim_end() }));
    process::exit(error.exit_code())
}

fn run(command: Command, out: &mut Out) -> Result<Exit> {
    match command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::run(&args, out),
        Command::Crawl(args) => crawl::run(&args, out),
        Command::Report(args) => crawl::report(&args, out),
        Command::Review(args) => review::review(&args, out),
        Command::Cluster(args) => cluster::run(&args, out),
        Command::Pages(args) => pages::run(&args, out),
        Command::Export(args) => export::export(&args, out),
        Command::Links(args) => export::links(&args, out),
        Command::Rules(args) => export::rules(&args, out),
        Command::Check(args) => check::check(&args, out),
        Command::Filter(args) => filter::run(args, out),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args),
        Command::Fingerprint(args) => extract::fingerprint(args, out),
        Command::Extract(args) => extract::run(args, out),
        Command::Robots(args) => check::robots(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Lookup(args) => lookup::run(&args, out),
        Command::Clusters(args) => export::clusters(&args, out),
        Command::Verify(args) => verify::verify(&args, out),
        Command::Repair(args) => verify::repair(&args, out),
        Command::Backup(args) => verify::backup(&args, out),
        Command::Eval(args) => eval::run(&args, out),
        Command::Schema(args) => about::schema(&args, out),
        Command::Completions(args) => about::completions(&args, out),
        Command::Man(args) => about::man(&args, out),
    }
}

/// Writes a value as a line of JSON.
fn write_line(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, value)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(Failure::Output)
}

/// Whether standard error gets only JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Prints a line to standard error. Ignores errors, because there is no other place to report them.
fn notify(line: impl fmt::Display) {
    if is_json() {
        return print_json("INFO", &json!({ "message": line.to_string() }));
    }
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Prints the error that ends the program, with its causes and the next step.
fn print_failure(failure: Failure) {
    if !is_json() {
        return notify(format_args!("{:?}", Report::new(failure)));
    }
    let mut text = String::new();
    let fields = match JSONReportHandler::new().render_report(&mut text, &failure) {
        Ok(()) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => json!({ "message": failure.to_string() }),
    };
    print_json("ERROR", &fields);
}

/// Prints a line of JSON to standard error, in the form of the log's.
fn print_json(level: &str, fields: &Value) {
    let timestamp = Timestamp::now();
    let line = json!({ "timestamp": timestamp, "level": level, "fields": fields, "target": "pagesieve::cli" });
    drop(writeln!(io::stderr().lock(), "{line}"));
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logging")]
struct LogOptions {
    /// What to log: error, warn, info, debug, trace or off; also for parts of the program, as in `warn,pagesieve::crawl=debug`
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", value_parser = directives)]
    log: String,
    /// The format of the log: lines for people, or one JSON object per line, also for progress and errors
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl LogOptions {
    /// Starts to log to standard error, and to send spans.
    #[cfg_attr(
        not(feature = "otlp"),
        expect(clippy::unnecessary_wraps, reason = "spans may be refused")
    )]
    fn init(&self) -> Result<()> {
        // The HTML parser warns about each table that a browser would repair: about pages, not about the run.
        let filter = EnvFilter::new(format!("html5ever=error,{}", self.log));
        let log = tracing_subscriber::fmt::layer()
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr);
        let log = match self.log_format {
            LogFormat::Text => log.boxed(),
            LogFormat::Json => {
                IS_JSON.store(true, Ordering::Relaxed);
                panic::set_hook(Box::new(|panic| {
                    print_json("ERROR", &json!({ "message": panic.to_string() }));
                }));
                log.json().boxed()
            }
        };
        let log = tracing_subscriber::registry().with(log.with_filter(filter));
        #[cfg(feature = "otlp")]
        let log = log.with(otlp::layer()?);
        // Fails only if a program that embeds this one logs already.
        drop(log.try_init());
        Ok(())
    }
}

/// Checks log directives. The filter would take a single word that is not a level for a part of the program.
fn directives(text: &str) -> Result<String, String> {
    let is_word = |part: &&str| !part.contains(['=', '[']);
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    if let Some(word) = text.split(',').map(str::trim).filter(is_word).find(|part| !is_level(part))
    {
        return Err(format!(
            "{word:?} is not a level: use error, warn, info, debug, trace or off, or PART=LEVEL for a part of the program, such as pagesieve::crawl=debug"
        ));
    }
    EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn examples_fit_80_columns() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }
}
