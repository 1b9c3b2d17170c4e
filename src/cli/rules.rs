//! `pagesieve rules`: the rules that a run has learnt, for a configuration or for Scrapy.

use std::{io::Write, path::PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use super::{Exit, Failure, Out, Result, notify};
use crate::{
    crawl::PastRun,
    learn::{LearntRule, Rule, to_json},
    report::counted,
};

/// Print the rules that a run has learnt about URLs, with their evidence
///
/// The output is TOML for the configuration of another run: below its last table, or in the file of `learn.rules_file`. Rules that failures
/// have ended are comments. While a crawl is running in the directory, the rules are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve rules runs/docs >> docs.toml
    pagesieve rules runs/docs --format json > rules.json    for Scrapy, with duplicate-url-discarder")]
pub(super) struct Args {
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

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
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
