//! `pagesieve export`, `links` and `rules`: the URLs of a run that are neither stored nor duplicates, its broken links, and the rules that it
//! has learnt, for a configuration or for Scrapy.

use std::{io::Write, path::PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use super::{Exit, Failure, Out, Result, notify, write_line};
use crate::{
    crawl::{CrawlError, PastRun},
    learn::{LearntRule, Rule, to_json},
    report::counted,
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
pub(super) struct ExportArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// The URLs that are still queued, also those of suspended hosts, instead of those that were skipped
    #[arg(long)]
    pending: bool,
    /// Write to this file instead of standard output; an older file is replaced when the new one is complete
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn export(args: &ExportArgs, out: &mut Out) -> Result<Exit> {
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

/// Print the broken links of a run, and the pages that have them
///
/// Prints one JSON object per line: the URL that got an error or no answer, its status or why it failed, and the page on which it was found
/// first. A run keeps no other pages that link to it. While a crawl is running in the directory, they are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
    pagesieve links runs/docs --broken | jq -r '[.status // .why, .url, .referrers[]] | @tsv'")]
pub(super) struct LinksArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// Print links that got an error or no answer
    #[arg(long, required = true)]
    broken: bool,
}

pub(super) fn links(args: &LinksArgs, out: &mut Out) -> Result<Exit> {
    debug_assert!(args.broken, "it is required");
    PastRun::open(&args.directory)?.for_each_broken(|link| write_line(out, link))?;
    Ok(Exit::Done)
}

/// Print the rules that a run has learnt about URLs, with their evidence
///
/// The output is TOML for the configuration of another run: below its last table, or in the file of `learn.rules_file`. Rules that failures
/// have ended are comments. While a crawl is running in the directory, the rules are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve rules runs/docs >> docs.toml
    pagesieve rules runs/docs --format json > rules.json    for Scrapy, with duplicate-url-discarder")]
pub(super) struct RulesArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// `json` is the format of duplicate-url-discarder; what it cannot express is reported
    #[arg(long, value_name = "FORMAT", default_value = "toml")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Toml,
    Json,
}

/// A rule as a configuration has it.
#[derive(Serialize)]
struct Table<'a> {
    learn: Rules<'a>,
}

#[derive(Serialize)]
struct Rules<'a> {
    rules: [&'a Rule; 1],
}

pub(super) fn rules(args: &RulesArgs, out: &mut Out) -> Result<Exit> {
    let rules = PastRun::open(&args.directory)?.rules()?;
    let text = match args.format {
        Format::Toml => rules.iter().map(toml).collect(),
        Format::Json => json(rules),
    };
    out.write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

fn toml(learnt: &LearntRule) -> String {
    let LearntRule { rule, is_revoked, is_imported } = learnt;
    let Rule { site, part, trials, failures } = rule;
    let origin = if *is_imported { "imported" } else { "learnt" };
    if *is_revoked {
        let failures = counted(*failures, "failure");
        let comment = format!("{site}: {part} is revoked after {failures} in {trials} trials");
        return format!("# {}\n\n", in_one_line(&comment));
    }
    let table = Table { learn: Rules { rules: [rule] } };
    let table = toml::to_string(&table).expect("a rule can be written");
    let comment = format!("{part} makes no difference ({origin})");
    format!("# {}\n{table}\n", in_one_line(&comment))
}

/// The text without what would end a comment.
fn in_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn json(rules: Vec<LearntRule>) -> String {
    let rules = rules.into_iter().filter(|it| !it.is_revoked);
    let rules: Vec<Rule> = rules.map(|it| it.rule).collect();
    let (json, others) = to_json(&rules);
    if !others.is_empty() {
        let count = counted(others.len(), "rule");
        notify(format_args!("{count} cannot be expressed in this format:"));
    }
    for Rule { site, part, .. } in others {
        notify(format_args!("  {site}: {part}"));
    }
    json + "\n"
}
