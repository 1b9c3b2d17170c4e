//! The summary of a run: for programs (`report.json`), for people (`report.html`), for a terminal ([`Display`](std::fmt::Display)).
//!
//! Sits between the commands and [`crate::sink`]. Counts what it is told in one pass (`Builder`); knows nothing of the state.

mod builder;
mod chosen;
mod html;
mod table;
mod warning;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    filter::Step,
    index::{Audit, BlockIndex},
    page::{Timestamp, numbers::thousands},
    sink::{
        SinkError,
        json_lines::replace,
        record::{VerdictName, rfc3339, rfc3339_text},
    },
    state::Reason,
};

pub(crate) use builder::{Builder, Row, Run, Skip};
pub use warning::Warning;

/// The report for programs.
pub const JSON: &str = "report.json";
/// The report for people.
pub const HTML: &str = "report.html";

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The run's name.
    pub name: String,
    /// Why it ended.
    pub end: End,
    /// What was found, equal to the lines of the files.
    pub counts: Counts,
    /// When the run began, at its first start.
    #[serde(with = "rfc3339")]
    pub started: Timestamp,
    /// When it last ended.
    #[serde(with = "rfc3339")]
    pub finished: Timestamp,
    /// Seconds that it worked, without the time between an interruption and the next start.
    pub seconds: f64,
    /// What deserves a look.
    pub warnings: Vec<Warning>,
    /// How many kept pages have duplicates.
    pub cluster_count: u64,
    /// Some of these clusters, the largest first; at most [`CLUSTERS`]: the largest, and of the others the largest of each language and
    /// kind (near or exact) in turn.
    pub clusters: Vec<Cluster>,
    /// The clusters that are not among them.
    pub omitted: Omitted,
    /// Every host of which a page was fetched or a URL skipped, the one with most pages first.
    pub hosts: Vec<Host>,
    /// The hosts that are set aside, the one with most URLs first.
    pub aside: Vec<HostAside>,
    /// How pages were judged.
    pub fingerprint: Method,
    /// How near duplicates were looked for.
    #[serde(default)]
    pub search: Search,
    /// Whether the run writes WARC files.
    pub warc: bool,
    /// The version of pagesieve that wrote the report.
    pub version: String,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Nothing was left to fetch.
    Done,
    /// A budget of pages was spent.
    Budget,
    /// It was stopped.
    Interrupted,
    /// It has not ended: what a report says that is made while a crawl is running. It is never written to `report.json`.
    Running,
}

/// How many pages met which end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages received with status 2xx: what `max_pages` counts.
    pub fetched: u64,
    /// Pages judged unique.
    pub unique: u64,
    /// Pages equal to an earlier one.
    pub exact: Exact,
    /// Pages nearly equal to an earlier one.
    pub near: u64,
    /// Lines of `pages.jsonl`.
    pub stored: u64,
    /// Lines of `skipped.jsonl` by reason.
    pub skipped: BTreeMap<Reason, u64>,
}

/// Exact duplicates by the step that found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exact {
    /// By the digest of the body.
    pub body: u64,
    /// By the digest of the text.
    pub text: u64,
}

/// How pages were judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// The version of the fingerprint's recipe.
    pub scheme: String,
    /// The id of the seed (a digest, never the seed).
    pub seed_id: String,
    /// `dedup.mode`.
    pub mode: String,
    /// In how many of 64 bits a near duplicate may differ.
    pub radius: u32,
}

/// How near duplicates were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The layout of the index, the window and the radius for which it was chosen, and what it takes at most: at the last start.
    pub index: String,
    /// What the indexes of all starts counted of their work.
    #[serde(flatten)]
    pub audit: Audit,
}

/// The most clusters that a report holds.
pub const CLUSTERS: usize = 50;
/// The most members of a cluster that a report names.
pub const MEMBERS: usize = 20;

/// A kept page and what repeats it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The kept page's URL.
    pub url: String,
    /// The kept page's title, if it is known.
    pub title: Option<String>,
    /// The language of the pages, if it could be told.
    pub lang: Option<String>,
    /// How many pages repeat it.
    pub count: u64,
    /// How many of them nearly.
    pub near: u64,
    /// The first of them, in order of arrival; at most [`MEMBERS`].
    pub members: Vec<Member>,
}

/// Clusters that a report does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// How many they are.
    pub clusters: u64,
    /// How many of them have near duplicates.
    pub near: u64,
    /// How many pages repeat theirs.
    pub pages: u64,
    /// How many of these belong to the largest.
    pub largest: u64,
}

/// A host that is set aside: nothing more is asked of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAside {
    /// Its name and port.
    pub host: String,
    /// Why.
    pub why: String,
    /// Its URLs that wait.
    pub urls: u64,
    /// It is asked again by the first start after this, or before if the reason no longer holds.
    #[serde(with = "rfc3339")]
    pub until: Timestamp,
}

/// A duplicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its URL.
    pub url: String,
    /// Its title, if it is known.
    pub title: Option<String>,
    /// Exact or near.
    pub verdict: VerdictName,
    /// The step that found it.
    pub step: Option<Step>,
    /// In how many of the 64 bits of the fingerprint it differs.
    pub distance: u32,
    /// In how many of the 256 bits of the signature it differs.
    pub signature_distance: u32,
    /// From 0 to 1.
    pub similarity: f32,
    /// Whether it lies on the kept page's site (registrable domain).
    pub same_site: bool,
}

/// What came of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, with its port if that is not the scheme's own.
    pub host: String,
    /// Pages received with status 2xx.
    pub fetched: u64,
    /// Pages judged unique.
    pub unique: u64,
    /// Duplicates of pages of the same site.
    pub same_site: u64,
    /// Duplicates of pages of other sites.
    pub cross_site: u64,
    /// Duplicates of pages of other hosts, of the same site or not.
    pub other_host: u64,
    /// URLs that were answered with an error or not at all.
    pub failed: u64,
}

impl Counts {
    /// Pages that repeat another one.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.exact.body + self.exact.text + self.near
    }

    /// Pages that were judged.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.unique + self.duplicates()
    }

    /// Lines of `skipped.jsonl`.
    #[must_use]
    pub fn all_skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

impl Cluster {
    /// How many members it has beyond those that are named.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.count.saturating_sub(self.members.len() as u64)
    }
}

impl Host {
    /// Pages that were judged.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.unique + self.same_site + self.cross_site
    }
}

/// A report that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// `report.json` is missing or cannot be read.
    #[error("read {JSON}")]
    Read(#[source] io::Error),
    /// `report.json` is no report of this version: it can be made again from the state.
    #[error("{JSON} is not a report: write it again with `pagesieve report`")]
    Parse(#[source] serde_json::Error),
    /// A report cannot be put into words.
    #[error("write the report")]
    Render(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] SinkError),
}

impl Report {
    /// Writes `report.json` and `report.html` into the run directory, in place of older ones.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), ReportError> {
        let mut json =
            serde_json::to_vec_pretty(self).map_err(|source| ReportError::Render(source.into()))?;
        json.push(b'\n');
        replace(&directory.join(JSON), &json)?;
        replace(&directory.join(HTML), self.html()?.as_bytes())?;
        Ok(())
    }

    /// Reads `report.json` of a run directory.
    ///
    /// # Errors
    ///
    /// If it is missing, or no report.
    pub fn read(directory: &Path) -> Result<Self, ReportError> {
        let json = fs::read(directory.join(JSON)).map_err(ReportError::Read)?;
        serde_json::from_slice(&json).map_err(ReportError::Parse)
    }

    /// The report as one HTML file that needs no other and runs no script.
    ///
    /// # Errors
    ///
    /// None is known; the template engine reserves the right.
    pub fn html(&self) -> Result<String, ReportError> {
        html::render(self).map_err(|source| ReportError::Render(source.into()))
    }
}

/// Text of strangers made harmless to look at: control characters and marks that turn the direction of writing are spelled out,
/// white space becomes spaces, and what is longer than `limit` characters is cut.
fn shown(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(4 * limit));
    for (place, c) in text.chars().enumerate() {
        match c {
            _ if place == limit => {
                shown.push('…');
                break;
            }
            _ if c.is_whitespace() => shown.push(' '),
            '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' => {
                shown.extend(c.escape_unicode());
            }
            _ if c.is_control() => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// A time of day as people write it, to the minute.
fn minute(at: Timestamp) -> String {
    rfc3339_text(at).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// A number of things: `1 page`, `4,920 pages`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", thousands(number as u64), if number == 1 { "" } else { "s" })
}

/// What came of comparing queries with a scan.
pub(crate) fn audited(audit: &Audit) -> String {
    let Audit { checked, missed, .. } = audit;
    format!(
        "{} of the index compared with a scan, {} missed",
        many(*checked, "query", "queries"),
        thousands(*missed)
    )
}

/// What did not enter the index.
pub(crate) fn told_over(over: u64) -> String {
    let pages = many(over, "page", "pages");
    format!("{pages}: {} with an equal fingerprint were in the window", BlockIndex::EQUAL_LIMIT)
}

fn many(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { more })
}

/// A part of a whole as `81.3 %`.
fn percent(part: u64, whole: u64) -> String {
    let per_mille = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole.max(1));
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// Seconds as `3.2 s`, `1 min 3 s` or `2 h 5 min`.
fn duration(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, and a run is not negative"
    )]
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}
