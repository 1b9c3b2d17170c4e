//! The summary of a run: for programs (`report.json`), for people (`report.html`), for a terminal ([`Display`](std::fmt::Display)).
//!
//! `builder` counts a run, `cluster` chooses what it shows of its duplicates, `warning` finds what needs attention, `render` writes for people.

mod broken;
mod builder;
mod chart;
mod cluster;
mod difference;
mod distribution;
mod render;
mod series;
mod text;
mod warning;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs, io, path::Path};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    filter::Step,
    index::Audit,
    sink::{SinkError, VerdictName, replace},
    state::Reason,
};

pub(crate) use crate::page::counted;
pub(crate) use broken::Broken;
pub use broken::{BROKEN, BrokenLink};
pub(crate) use builder::{Builder, Pages, host_name};
pub(crate) use difference::Differences;
pub use difference::{DIFFERENCES, Piece};
pub use distribution::{Distributions, Similarities};
pub(crate) use render::audited;
pub(crate) use series::Series;
pub use series::{POINTS, Point};
pub(crate) use text::minute;
pub use warning::{ALARMS, MovedSeed, Unfetched, UnreachableSeed, Warning};
pub(crate) use warning::{MANY_DUPLICATES, MIRROR, SEEDS, UNREPRESENTED, mirrored};

/// The report for programs.
pub const JSON: &str = "report.json";
/// The report for people.
pub const HTML: &str = "report.html";

/// The summary of a run. What another version did not write is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The run's name.
    pub name: String,
    /// Why it ended.
    pub end: End,
    /// How many pages had which outcome; equal to the lines of the files.
    pub counts: Counts,
    /// What the last pass over known pages has found, if the last start made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
    /// When the run began, at its first start.
    pub started: Timestamp,
    /// When it last ended.
    pub finished: Timestamp,
    /// Seconds that it ran, without the time between an interruption and the next start.
    pub seconds: f64,
    /// What needs attention.
    pub warnings: Vec<Warning>,
    /// How many unique pages have duplicates.
    pub cluster_count: u64,
    /// At most [`CLUSTERS`] of these clusters, the most doubtful first: half of them are the most doubtful of all, half the largest of the others.
    pub clusters: Vec<Cluster>,
    /// The clusters that are left out.
    pub omitted: Omitted,
    /// The first URLs that got an error or no answer, in the order in which they were found; at most [`BROKEN`].
    pub broken: Vec<BrokenLink>,
    /// How many there are.
    pub broken_count: u64,
    /// The first URLs that were skipped for each reason, in the order in which they were found; at most [`EXAMPLES`] of each.
    pub examples: Vec<Example>,
    /// Known pages that had changed or were gone, the one that was asked for last first; at most [`CHANGED`].
    pub changed: Vec<ChangedPage>,
    /// How many there are.
    pub changed_count: u64,
    /// The unique pages that are most similar to another page, the most similar first; at most [`NEAR_MISSES`].
    pub near_misses: Vec<NearMiss>,
    /// How similar pages were to those that they were compared with.
    pub similarities: Similarities,
    /// Response times, sizes and depths of pages.
    pub distributions: Distributions,
    /// What the filter saved.
    pub saved: Saved,
    /// The hosts with fetched pages or failures, the one with the most pages first.
    pub hosts: Vec<Host>,
    /// The suspended hosts, the one with the most URLs first.
    #[serde(rename = "aside")]
    pub suspended: Vec<SuspendedHost>,
    /// What the run did over time; at most [`POINTS`] points.
    pub series: Vec<Point>,
    /// What was learnt of the sites, and the URLs that are deferred by it.
    pub learnt: Learnt,
    /// How many pages repeat pages of other runs (`dedup.against`), by run.
    pub against: BTreeMap<String, u64>,
    /// How pages were judged.
    pub fingerprint: FingerprintMethod,
    /// How near duplicates were searched.
    pub search: Search,
    /// Whether the run writes WARC files.
    pub warc: bool,
    /// The version of pagesieve that wrote the report.
    pub version: String,
    /// Query parameters that the run removes, so that the page finds URLs without them.
    pub tracking: Vec<String>,
}

/// What was learnt of the sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learnt {
    /// The rules in force, and those that were revoked, by site.
    pub rules: Vec<RuleReport>,
    /// The deferred URLs by pattern, those with the most URLs first; after 1,000 patterns, the others together.
    pub deferred: Vec<DeferredUrls>,
    /// The same of the URLs that were still queued when the run stopped, by a sample if they are many.
    pub queued: Vec<DeferredUrls>,
}

/// A part of URLs that makes no difference to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    /// The site.
    pub site: String,
    /// The part.
    pub part: String,
    /// How many pages were compared with one that differs in this part only.
    pub trials: u32,
    /// How many of them had another text.
    pub failures: u32,
    /// Failures have ended it: it is not in force.
    pub revoked: bool,
    /// It comes from the configuration.
    pub imported: bool,
    /// It is about dead links: these were compared, and failures are pages.
    #[serde(default)]
    pub dead: bool,
}

/// URLs of one pattern that are deferred or queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeferredUrls {
    /// The pattern.
    pub pattern: String,
    /// By a rule, by yield, or still queued (`pending`).
    pub by: Reason,
    /// The rule, or the pattern that gives little; empty if they are queued.
    pub why: String,
    /// What speaks for that; empty if they are queued.
    #[serde(default)]
    pub evidence: String,
    /// Their number.
    pub urls: u64,
    /// How many of them are estimated to have a new text.
    pub new: f64,
    /// At most this many, 95 % sure.
    pub new_at_most: f64,
    /// How many more are estimated to have a text that is new as a whole, but has only passages of known pages, as teasers in another order.
    pub rearranged: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Nothing was left to fetch.
    Done,
    /// Nothing was left to fetch, and no page has been judged.
    Nothing,
    /// Nothing was left that could be fetched for now, but hosts that had answered did not any more.
    Open,
    /// A budget of pages was spent.
    Budget,
    /// A signal or the embedding program stopped it.
    #[default]
    Interrupted,
    /// It has not ended: the crawl is running while the report is made. `report.json` never says this.
    Running,
}

/// How many pages had which outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
    /// How often a known page was asked for again and had not changed.
    pub unchanged: u64,
    /// How often it had: the lines of `changes.jsonl`.
    pub changed: u64,
    /// How often there was no page any more, among these.
    pub gone: u64,
    /// Other known URLs by reason: what `export` and `export --pending` print.
    pub skipped: BTreeMap<Reason, u64>,
}

/// What a pass over known pages has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Known pages that had not changed, or were still gone.
    pub unchanged: u64,
    /// Known pages with another text.
    pub changed: u64,
    /// Known pages that are gone.
    pub gone: u64,
    /// Known pages that had been gone and are back.
    pub back: u64,
    /// Pages that were found for the first time.
    pub new: u64,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FingerprintMethod {
    /// The version of the fingerprint's recipe.
    pub scheme: String,
    /// The id of the hash seed: a digest, never the seed itself.
    pub seed_id: String,
    /// `dedup.mode`.
    pub mode: String,
    /// Bits of 64 in which a near duplicate may differ.
    pub radius: u32,
    /// From which similarity on one page repeats another; `None` if pages are not compared by their content.
    pub similarity: Option<f64>,
}

/// What the filter saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// URLs that were not requested: deferred by what was learnt, or found only on duplicates whose links are not followed.
    pub requests: u64,
    /// Characters of text of duplicates that are not stored.
    pub characters: u64,
    /// Bytes that the requests would have brought, if their pages were as large as those of the run on average.
    #[serde(default)]
    pub transfer: u64,
    /// Bytes that the characters would take, if they took as many as those that are stored.
    #[serde(default)]
    pub storage: u64,
}

/// A URL that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The reason.
    pub reason: Reason,
    /// The URL.
    pub url: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// Why, or where it leads to.
    pub detail: Option<String>,
    /// The page that it was found on first; none of a seed.
    pub referrer: Option<String>,
}

/// A known page that had changed or was gone when it was asked for again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPage {
    /// Its URL.
    pub url: String,
    /// How often it had changed.
    pub changes: u32,
    /// Why there is no page any more; none if there is one.
    pub gone: Option<Reason>,
    /// When it was asked for last.
    pub checked: Timestamp,
}

/// How near duplicates were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The layout of the index at the last start: tables, radius, window and largest size in memory.
    pub index: String,
    /// What the index counted, over all starts.
    #[serde(flatten)]
    pub audit: Audit,
}

/// A report has at most this many clusters.
pub const CLUSTERS: usize = 10_000;
/// A report names at most this many members of clusters, of large ones equally many.
pub const MEMBERS: usize = 12_000;
/// A report names at most this many URLs of a reason.
pub const EXAMPLES: usize = 2_000;
/// A report names at most this many unique pages that are nearly near duplicates.
pub const NEAR_MISSES: usize = 20;
/// A report names at most this many pages that had changed.
pub const CHANGED: usize = 2_000;

/// A unique page and the pages that repeat it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// The unique page's URL.
    pub url: String,
    /// The unique page's title, if known.
    pub title: Option<String>,
    /// The language of the pages, if detected.
    pub lang: Option<String>,
    /// How many pages repeat it.
    pub count: u64,
    /// How many of them are near duplicates.
    pub near: u64,
    /// The least similarity of its near duplicates.
    pub least: Option<f32>,
    /// The least similar of them first, of equal ones the first that arrived; of all clusters at most [`MEMBERS`].
    pub members: Vec<Member>,
}

/// A unique page, and the page that it is most similar to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearMiss {
    /// Its URL.
    pub url: String,
    /// The other page's.
    pub of: String,
    /// Their similarity, which is below the threshold.
    pub similarity: f32,
}

/// The clusters that a report leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// How many there are.
    pub clusters: u64,
    /// How many duplicates they have.
    pub pages: u64,
}

/// A host that gets no requests for the time being, because it is too slow or gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedHost {
    /// Its name and port.
    pub host: String,
    /// Why.
    pub why: String,
    /// Its queued URLs.
    pub urls: u64,
    /// The first start after this time retries it; earlier starts only if the reason no longer applies.
    pub until: Timestamp,
}

/// A duplicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its URL.
    pub url: String,
    /// Its title, if known.
    pub title: Option<String>,
    /// Exact or near.
    pub verdict: VerdictName,
    /// The step that found it.
    pub step: Option<Step>,
    /// Bits of 64 in which the fingerprints differ.
    pub distance: u32,
    /// Bits of 256 in which the signatures differ.
    pub signature_distance: u32,
    /// The similarity, from 0 to 1, by the measure that decided.
    pub similarity: f32,
    /// Whether it is on the unique page's site (registrable domain).
    pub same_site: bool,
    /// In what its text differs from the unique page's, of the [`DIFFERENCES`] least similar near duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<Piece>,
}

/// How many pages of a host had which outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, with the port unless it is the scheme's default.
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
    /// The host of most of these.
    pub repeats: Option<String>,
    /// How many they are.
    pub repeats_pages: u64,
    /// Pages of that host that repeat pages of this one.
    #[serde(default)]
    pub repeated: u64,
    /// URLs that got an error or no answer.
    pub failed: u64,
}

impl Exact {
    /// All exact duplicates.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.body + self.text
    }
}

impl Pass {
    /// Known pages that were asked for again.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.unchanged + self.changed + self.gone + self.back
    }
}

impl Counts {
    /// Pages that repeat another one.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.exact.sum() + self.near
    }

    /// Pages that were judged.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.unique + self.duplicates()
    }

    /// Known URLs that were not judged.
    #[must_use]
    pub fn all_skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

impl Cluster {
    /// How many members are not named.
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

/// How much each one may have of what there is room for, if those that want less get all of it (max-min fairness).
fn fair(room: usize, mut wanted: Vec<usize>) -> usize {
    wanted.sort_unstable();
    let (mut left, count) = (room, wanted.len());
    let mut share = |(at, wanted): (usize, usize)| {
        let share = left / (count - at);
        left -= share.min(wanted);
        (wanted > share).then_some(share)
    };
    wanted.into_iter().enumerate().find_map(&mut share).unwrap_or(usize::MAX)
}

/// A report that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// `report.json` is missing or cannot be read.
    #[error("cannot read {JSON}")]
    Read(#[source] io::Error),
    /// `report.json` is not a report of this version. It can be written again from the state.
    #[error("{JSON} is not a report of this version: `pagesieve report` writes it again")]
    Parse(#[source] serde_json::Error),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] SinkError),
}

impl Report {
    /// Writes `report.json` and `report.html` into the run directory, and replaces older ones.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    ///
    /// # Panics
    ///
    /// Never: every report can be written as JSON.
    pub fn write(&self, directory: &Path) -> Result<(), ReportError> {
        let mut json = serde_json::to_vec_pretty(self).expect("a report can be written as JSON");
        json.push(b'\n');
        replace(&directory.join(JSON), &json)?;
        Ok(replace(&directory.join(HTML), self.html().as_bytes())?)
    }

    /// Reads `report.json` of a run directory.
    ///
    /// # Errors
    ///
    /// If it is missing or is not a report.
    pub fn read(directory: &Path) -> Result<Self, ReportError> {
        let json = fs::read(directory.join(JSON)).map_err(ReportError::Read)?;
        serde_json::from_slice(&json).map_err(ReportError::Parse)
    }
}
