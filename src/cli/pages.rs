//! `pagesieve pages`: the judged pages of a run, a row each.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    io,
    path::PathBuf,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Exit, Failure, Out, Result, crawl::absolute, export::unknown, rows::Rows};
use crate::{
    crawl::PastRun,
    sink::{DUPLICATES, Decision, PAGES, VerdictName, open_part, parts},
    state::{Reason, UrlState},
};

/// Print the pages of a run that were judged, stored or not
///
/// Prints a JSON object per line, or CSV, from pages.jsonl and duplicates.jsonl, without the texts: of a page that has changed, its latest
/// version. Pages that are not stored have no title, heading, description, type, charset and canonical link. `gone` says why there is no page any
/// more, if it was asked for again and there was none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve pages runs/docs --csv > pages.csv
    pagesieve pages runs/docs | jq -r 'select(.time > 1000) | .url'
    pagesieve pages runs/docs https://docs.example.org/intro")]
pub(super) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// Only this page
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

const HELP: &str = "`pagesieve verify RUN` names what is damaged";

const HEADER: [&str; 21] = [
    "url",
    "verdict",
    "match",
    "similarity",
    "status",
    "title",
    "heading",
    "description",
    "lang",
    "chars",
    "size",
    "time",
    "depth",
    "content_type",
    "charset",
    "canonical",
    "redirects",
    "referrer",
    "seed",
    "fetched_at",
    "gone",
];

/// A row; its fields are those of [`HEADER`].
#[derive(Serialize)]
struct Row<'a> {
    url: &'a str,
    verdict: VerdictName,
    #[serde(rename = "match")]
    matched: Option<&'a str>,
    similarity: Option<f32>,
    status: u16,
    title: Option<&'a str>,
    heading: Option<&'a str>,
    description: Option<&'a str>,
    lang: Option<&'a str>,
    chars: u64,
    size: u64,
    time: Option<u64>,
    depth: u32,
    content_type: Option<&'a str>,
    charset: Option<&'a str>,
    canonical: Option<&'a str>,
    /// Separated by spaces.
    redirects: String,
    referrer: Option<&'a str>,
    seed: Option<&'a str>,
    fetched_at: Timestamp,
    /// Why there is no page any more, if it was asked for again and there was none.
    gone: Option<Reason>,
}

/// A line of one of the files. Those of pages that are not stored have fewer fields.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(flatten, borrow)]
    decision: Decision<'a>,
    status: u16,
    title: Option<String>,
    heading: Option<String>,
    description: Option<String>,
    size: u64,
    time: Option<u64>,
    depth: u32,
    content_type: Option<String>,
    charset: Option<String>,
    canonical: Option<String>,
    redirects: Vec<String>,
    referrer: Option<String>,
    seed: Option<String>,
    fetched_at: Timestamp,
}

impl Line<'_> {
    fn row(&self, gone: Option<Reason>) -> Row<'_> {
        let decision = &self.decision;
        Row {
            url: &decision.id,
            verdict: decision.verdict,
            matched: decision.matched.as_ref().and_then(|matched| matched.id.as_deref()),
            similarity: decision.matched.as_ref().map(|matched| matched.similarity),
            status: self.status,
            title: self.title.as_deref(),
            heading: self.heading.as_deref(),
            description: self.description.as_deref(),
            lang: decision.lang.as_deref(),
            chars: decision.chars,
            size: self.size,
            time: self.time,
            depth: self.depth,
            content_type: self.content_type.as_deref(),
            charset: self.charset.as_deref(),
            canonical: self.canonical.as_deref(),
            redirects: self.redirects.join(" "),
            referrer: self.referrer.as_deref(),
            seed: self.seed.as_deref(),
            fetched_at: self.fetched_at,
            gone,
        }
    }
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let run = PastRun::open(&args.directory)?;
    let only = args.url.as_deref().map(|url| judged_page(&run, args, url)).transpose()?;
    let gone = run.gone()?;
    if let Some(path) = run.cut_off(&[PAGES, DUPLICATES])? {
        let lost = "it has fewer bytes than the run has written there";
        return Err(Failure::Read { path, source: io::Error::other(format!("{lost}; {HELP}")) });
    }
    let hasher = RandomState::new();
    let mut latest: HashMap<u64, Timestamp> = HashMap::new();
    for_each(args, only.as_deref(), |line| {
        let last = latest.entry(hasher.hash_one(&line.decision.id)).or_insert(line.fetched_at);
        *last = line.fetched_at.max(*last);
        Ok(())
    })?;
    if let Some(url) = only.as_deref().filter(|_| latest.is_empty()) {
        let message = format!("the files of the run have no line of {url}: were they moved away?");
        let help = format!(
            "`pagesieve explain {} {url}` prints what the state knows of it",
            args.directory.display()
        );
        return Err(Failure::refused(Exit::Failed, message, help));
    }
    let mut rows = Rows::new(out, args.csv, &HEADER)?;
    for_each(args, only.as_deref(), |line| {
        let is_latest = latest.get(&hasher.hash_one(&line.decision.id)) == Some(&line.fetched_at);
        let gone = gone.get(&*line.decision.id).copied();
        if is_latest { rows.write(&line.row(gone)) } else { Ok(()) }
    })?;
    rows.finish()?;
    Ok(Exit::Done)
}

/// The URL of a page, in the spelling of the files.
fn judged_page(run: &PastRun, args: &Args, url: &str) -> Result<String> {
    let known = run.url(absolute(url)?.as_str())?;
    let row = known.ok_or_else(|| unknown(&args.directory, url))?;
    if row.state == UrlState::Judged {
        return Ok(row.url.to_string());
    }
    let reason = row.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let message = format!("{} is no page that was judged{reason}", row.url);
    let help = format!("`pagesieve explain {} {}` says why", args.directory.display(), row.url);
    Err(Failure::refused(Exit::Failed, message, help))
}

/// Calls `visit` with each line of the files of a run, or with those of one page.
fn for_each(
    args: &Args,
    only: Option<&str>,
    mut visit: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<()> {
    let mut text = Vec::new();
    for name in [PAGES, DUPLICATES] {
        for path in parts(&args.directory, name).map_err(Failure::read(&args.directory))? {
            let failure = |source| Failure::Read { path: path.clone(), source };
            let mut lines = open_part(&path).map_err(failure)?;
            let mut number = 0;
            while lines.read_until(b'\n', &mut text).map_err(failure)? > 0 {
                // The last line of a run that goes on may not be complete.
                number += 1;
                if text.ends_with(b"\n") {
                    let damaged = |error| {
                        failure(io::Error::other(format!("line {number}: {error}; {HELP}")))
                    };
                    let line: Line<'_> = serde_json::from_slice(&text).map_err(damaged)?;
                    if only.is_none_or(|url| line.decision.id == url) {
                        visit(&line)?;
                    }
                }
                text.clear();
            }
        }
    }
    Ok(())
}
