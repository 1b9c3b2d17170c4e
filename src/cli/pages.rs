//! `pagesieve pages`: the judged pages of a run, a row each.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::Serialize;

use super::{Exit, Failure, Out, Result, rows::Rows};
use crate::{
    crawl::PastRun,
    sink::{DUPLICATES, DuplicateLine, PAGES, PageLine, VerdictName, open_part, parts},
};

/// Print the pages of a run that were judged, stored or not
///
/// Prints a JSON object per line, or CSV, from pages.jsonl and duplicates.jsonl, without the texts: of a page that has changed, its latest
/// version. Pages that are not stored have no title, heading, description, type, charset and canonical link.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve pages runs/docs --csv > pages.csv
    pagesieve pages runs/docs | jq -r 'select(.time > 1000) | .url'")]
pub(super) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

const HEADER: [&str; 20] = [
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
}

/// A line of one of the files.
enum Line<'a> {
    Page(Box<PageLine<'a>>),
    Duplicate(Box<DuplicateLine<'a>>),
}

impl Line<'_> {
    fn row(&self) -> Row<'_> {
        let (decision, status, size, time, depth, fetched_at) = match self {
            Self::Page(it) => (&it.decision, it.status, it.size, it.time, it.depth, it.fetched_at),
            Self::Duplicate(it) => {
                (&it.decision, it.status, it.size, it.time, it.depth, it.fetched_at)
            }
        };
        let (redirects, referrer) = match self {
            Self::Page(it) => (&it.redirects, &it.referrer),
            Self::Duplicate(it) => (&it.redirects, &it.referrer),
        };
        let page = if let Self::Page(page) = self { Some(page) } else { None };
        Row {
            url: &decision.id,
            verdict: decision.verdict,
            matched: decision.matched.as_ref().map(|matched| &*matched.id),
            similarity: decision.matched.as_ref().map(|matched| matched.similarity),
            status,
            title: page.and_then(|it| it.title.as_deref()),
            heading: page.and_then(|it| it.heading.as_deref()),
            description: page.and_then(|it| it.description.as_deref()),
            lang: decision.lang.as_deref(),
            chars: decision.chars,
            size,
            time,
            depth,
            content_type: page.and_then(|it| it.content_type.as_deref()),
            charset: page.map(|it| &*it.charset),
            canonical: page.and_then(|it| it.canonical.as_deref()),
            redirects: redirects.join(" "),
            referrer: referrer.as_deref(),
            seed: page.and_then(|it| it.seed.as_deref()),
            fetched_at,
        }
    }
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    // Says whether there is a run.
    PastRun::open(&args.directory)?;
    let hasher = RandomState::new();
    let mut latest: HashMap<u64, Timestamp> = HashMap::new();
    for_each(&args.directory, |line| {
        let Row { url, fetched_at, .. } = line.row();
        let last = latest.entry(hasher.hash_one(url)).or_insert(fetched_at);
        *last = fetched_at.max(*last);
        Ok(())
    })?;
    let mut rows = Rows::new(out, args.csv, &HEADER)?;
    for_each(&args.directory, |line| {
        let row = line.row();
        let is_latest = latest.get(&hasher.hash_one(row.url)) == Some(&row.fetched_at);
        if is_latest { rows.write(&row) } else { Ok(()) }
    })?;
    rows.finish()?;
    Ok(Exit::Done)
}

/// Calls `visit` with each line of the files of a run.
fn for_each(run: &Path, mut visit: impl FnMut(&Line<'_>) -> Result<()>) -> Result<()> {
    let mut text = Vec::new();
    for name in [PAGES, DUPLICATES] {
        for path in parts(run, name).map_err(Failure::read(run))? {
            let failure = |source| Failure::Read { path: path.clone(), source };
            let mut lines = open_part(&path).map_err(failure)?;
            while lines.read_until(b'\n', &mut text).map_err(failure)? > 0 {
                // The last line of a run that goes on may not be complete.
                if text.ends_with(b"\n") {
                    let bad = |error: serde_json::Error| failure(error.into());
                    let line = if name == PAGES {
                        Line::Page(serde_json::from_slice(&text).map_err(bad)?)
                    } else {
                        Line::Duplicate(serde_json::from_slice(&text).map_err(bad)?)
                    };
                    visit(&line)?;
                }
                text.clear();
            }
        }
    }
    Ok(())
}
