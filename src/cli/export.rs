//! Prints parts of a run. `pagesieve export`: the URLs that are neither stored nor duplicates; `links`: its broken links; `rules`: the rules that
//! it has learnt, for a configuration or for Scrapy; `clusters`: unique documents with their duplicates.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use serde::Serialize;

use super::{Exit, Failure, Out, Result, crawl::absolute, notify, rows::Rows};
use crate::{
    crawl::{PastRun, state_in},
    filter::Step,
    learn::{LearntRule, Rule, to_json},
    page::{DocId, GivenId, UrlOptions},
    report::{BrokenLink, counted},
    sink::{Decision, VerdictName, four_decimals},
    state::{JudgedDocument, Reason, State},
    submission::Identity,
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
    pagesieve export runs/docs --pending --csv > queued.csv")]
pub(super) struct ExportArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// The URLs that are still queued, also those of suspended hosts, instead of those that were skipped
    #[arg(long)]
    pending: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

const SKIPPED: [&str; 7] = ["url", "reason", "detail", "status", "referrer", "depth", "at"];

pub(super) fn export(args: &ExportArgs, out: &mut Out) -> Result<Exit> {
    let run = PastRun::open(&args.directory)?;
    let mut rows = Rows::new(out, args.csv, &SKIPPED)?;
    let others = run.for_each_skipped(args.pending, |line| rows.write(line))?;
    rows.finish()?;
    if others > 0 && !args.pending {
        notify(format_args!("not printed: {} still queued (--pending)", counted(others, "URL")));
    }
    Ok(Exit::Done)
}

/// Print the links of a run, or its broken ones with the pages that have them
///
/// Prints one JSON object per line. With a URL, the links to it and then those on it; without, all links: the page, the URL that it names, and
/// what became of that. With --broken, each URL that got an error or no answer, is gone, or redirects to nowhere, and all pages that link to it,
/// also by redirects; of a URL, those on it and itself. While a crawl is running in the directory, they are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve links runs/docs --broken | jq -r '[.status, .url] | @tsv'
    pagesieve links runs/docs --broken --fail   in a test: exit code 1 if any
    pagesieve links runs/docs https://docs.example.org/intro")]
pub(super) struct LinksArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// Only links to this URL, and on it
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Only broken links, each once with all pages that have it
    #[arg(long)]
    broken: bool,
    /// End with exit code 1 if there are broken links
    #[arg(long, requires = "broken")]
    fail: bool,
    /// Print CSV; of a broken link, a line for each page that has it
    #[arg(long)]
    csv: bool,
}

const BROKEN: [&str; 6] = ["url", "reason", "status", "why", "referrer", "redirects"];

/// A page with a broken link, as a line of CSV.
#[derive(Serialize)]
struct BrokenRow<'a> {
    url: &'a str,
    reason: Reason,
    status: Option<u16>,
    why: Option<&'a str>,
    referrer: Option<&'a str>,
    /// Separated by spaces.
    redirects: &'a str,
}

pub(super) fn links(args: &LinksArgs, out: &mut Out) -> Result<Exit> {
    let run = PastRun::open(&args.directory)?;
    let of = args.url.as_deref().map(|url| {
        let known = run.url(absolute(url)?.as_str())?;
        known.ok_or_else(|| unknown(&args.directory, url))
    });
    let of = of.transpose()?;
    if args.broken {
        let mut found = false;
        let mut rows = Rows::new(out, args.csv, &BROKEN)?;
        let concerns = |link: &BrokenLink, url: &str| {
            link.url == url || link.referrers.iter().any(|referrer| referrer == url)
        };
        run.for_each_broken(|link| {
            if of.as_ref().is_some_and(|of| !concerns(&link, of.url.as_str())) {
                return Ok(());
            }
            found = true;
            if !args.csv {
                return rows.write(&link);
            }
            let BrokenLink { url, reason, status, why, referrers, redirects, .. } = &link;
            let (reason, status, why) = (*reason, *status, why.as_deref());
            let redirects = &redirects.join(" ");
            let mut row =
                |referrer| rows.write(&BrokenRow { url, reason, status, why, referrer, redirects });
            if referrers.is_empty() {
                row(None)?;
            }
            referrers.iter().try_for_each(|referrer| row(Some(referrer)))
        })?;
        rows.finish()?;
        return Ok(if found && args.fail { Exit::Failed } else { Exit::Done });
    }
    let mut rows = Rows::new(out, args.csv, &["from", "to", "reason", "status"])?;
    run.for_each_link(of.map(|of| of.id), |link| rows.write(link))?;
    rows.finish()?;
    Ok(Exit::Done)
}

/// A URL that a run does not know.
pub(super) fn unknown(run: &Path, url: &str) -> Failure {
    let message = format!("the run in {} does not know {url}", run.display());
    let help = "pages.jsonl, duplicates.jsonl, `pagesieve export` and `pagesieve export --pending` list all known URLs, in their normal form";
    Failure::refused(Exit::Failed, message, help)
}

/// Print the rules that a run has learnt about URLs, with their evidence
///
/// The output is TOML for the configuration of another run: below its last table, or in the file of `learn.rules_file`. Rules that failures
/// have ended are comments. While a crawl is running in the directory, the rules are those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve rules runs/docs >> docs.toml
    pagesieve rules runs/docs --format json > rules.json   for Scrapy")]
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
    if rules.is_empty() {
        notify(format_args!("this run has learnt no rule"));
    }
    let text = match args.format {
        Format::Toml => rules.iter().map(toml).collect(),
        Format::Json => json(rules),
    };
    out.write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

fn toml(learnt: &LearntRule) -> String {
    let LearntRule { rule, is_revoked, is_imported, is_dead } = learnt;
    let Rule { site, part, trials, failures } = rule;
    let origin = if *is_imported { "imported" } else { "learnt" };
    if *is_revoked || *is_dead {
        let what = if *is_revoked { "is revoked" } else { "makes no difference" };
        // Where pages are, it may make one: a configuration cannot name it.
        let place = if *is_dead { " where nothing is" } else { "" };
        let failures = counted(*failures, "failure");
        let comment = format!("{site}: {part} {what}{place}, with {failures} in {trials} trials");
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
    let rules = rules.into_iter().filter(|it| !it.is_revoked && !it.is_dead);
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

/// Print the unique documents that have duplicates, with their duplicates
///
/// Prints one JSON object per unique document: its id and its duplicates in order of arrival. For a state of `filter` or `serve` it lists
/// the documents of the window; the id is null if the unique document has left it, or was removed. While another process writes, they are
/// those of its last commit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve clusters runs/docs | jq -r 'select(.count > 10).id'
    pagesieve clusters seen.db --csv > duplicates.csv
    pagesieve clusters runs/docs --of https://docs.example.org/intro")]
pub(super) struct ClustersArgs {
    /// The run directory, or the file of `filter --state` or `serve --state`
    #[arg(value_name = "RUN|STATE")]
    path: PathBuf,
    /// Print the cluster of this document, unique or not, by its id; in a run by its URL
    ///
    /// If several versions of it have duplicates, there is a line for each of them, the oldest first.
    #[arg(long, value_name = "ID")]
    of: Option<String>,
    /// Print CSV with a line per duplicate
    #[arg(long)]
    csv: bool,
}

/// A duplicate as a part of a JSON object, and after the id of its unique document a line of CSV.
#[derive(Serialize)]
struct Duplicate<'a> {
    id: GivenId<'a>,
    verdict: VerdictName,
    step: Option<Step>,
    distance: u32,
    signature_distance: u32,
    #[serde(serialize_with = "four_decimals")]
    similarity: f32,
}

const HEADER: [&str; 7] =
    ["id", "duplicate", "verdict", "step", "distance", "signature_distance", "similarity"];

pub(super) fn clusters(args: &ClustersArgs, out: &mut Out) -> Result<Exit> {
    let path = state_in(&args.path);
    if !path.is_file() {
        let what =
            if args.path.exists() { "neither a run directory nor a state" } else { "not there" };
        let message = format!("{} is {what}", args.path.display());
        let help = "name the run directory, or the file of `filter --state` or `serve --state`";
        return Err(Failure::refused(Exit::Usage, message, help));
    }
    let failed = |source| Failure::State { path: path.clone(), source };
    let state = State::read(&path).map_err(failed)?;
    let of = args.of.as_deref().map(|id| versions(&state, id, args)).transpose()?;
    let rows = Rows::new(out, args.csv, &HEADER)?;
    let mut clusters = Clusters { rows, current: None, id: None, count: 0 };
    match of {
        None => state.for_each_duplicate(None, |document| clusters.add(&state, &document))?,
        Some(versions) => {
            for of in &versions {
                state.for_each_duplicate(Some(*of), |document| clusters.add(&state, &document))?;
            }
            if let (None, Some(last)) = (clusters.current, versions.last()) {
                clusters.begin(&state, *last)?;
            }
        }
    }
    clusters.end()?;
    clusters.rows.finish()?;
    Ok(Exit::Done)
}

/// The unique documents of the clusters of this one: one for each of its versions, the oldest first.
fn versions(state: &State, id: &str, args: &ClustersArgs) -> Result<Vec<DocId>> {
    let meant = Identity::printed_as(id, &UrlOptions::default());
    let mut unique = Vec::new();
    for id in state.first_of(&meant)? {
        let document = state.document(id)?.map(|document| document.judgement);
        let of = document.map(|it| it.verdict.matched().map_or(it.id, |found| found.of));
        unique.extend(of.filter(|of| !unique.contains(of)));
    }
    if unique.is_empty() { Err(not_held(&args.path, id)) } else { Ok(unique) }
}

/// A document that a state does not have.
pub(super) fn not_held(state: &Path, id: &str) -> Failure {
    let message = format!("{} has no document {id}", state.display());
    let help = "of a state, only the documents of the window are known; `pagesieve explain URL --run RUN` says what became of a URL";
    Failure::refused(Exit::Failed, message, help)
}

/// Writes clusters, one duplicate at a time.
struct Clusters<'a> {
    rows: Rows<'a>,
    current: Option<DocId>,
    /// The id of the current unique document, if it is known.
    id: Option<String>,
    count: u64,
}

impl Clusters<'_> {
    fn begin(&mut self, state: &State, id: DocId) -> Result<()> {
        self.end()?;
        self.current = Some(id);
        let document = state.document(id)?;
        self.id = document.map(|document| GivenId::of(&document.name).to_string());
        if let Rows::Json(out) = &mut self.rows {
            let id = serde_json::to_string(&self.id).expect("a string is JSON");
            write!(out, "{{\"id\":{id},\"duplicates\":[").map_err(Failure::Output)?;
        }
        Ok(())
    }

    fn add(&mut self, state: &State, document: &JudgedDocument) -> Result<()> {
        let Some(found) = document.judgement.verdict.matched() else { return Ok(()) };
        if self.current != Some(found.of) {
            self.begin(state, found.of)?;
        }
        let decision = Decision::new(&document.name, None, &document.judgement, None);
        let Some(matched) = &decision.matched else { return Ok(()) };
        let duplicate = Duplicate {
            id: GivenId::of(&document.name),
            verdict: decision.verdict,
            step: decision.step,
            distance: matched.distance,
            signature_distance: matched.signature_distance,
            similarity: matched.similarity,
        };
        let is_first = self.count == 0;
        self.count += 1;
        match &mut self.rows {
            rows @ Rows::Csv(_) => rows.write(&(&self.id, duplicate)),
            Rows::Json(out) => {
                let comma = if is_first { "" } else { "," };
                let json = serde_json::to_string(&duplicate).expect("it is JSON");
                write!(out, "{comma}{json}").map_err(Failure::Output)
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        match (self.current.take(), &mut self.rows) {
            (Some(_), Rows::Json(out)) => {
                writeln!(out, "],\"count\":{count}}}").map_err(Failure::Output)
            }
            _ => Ok(()),
        }
    }
}
