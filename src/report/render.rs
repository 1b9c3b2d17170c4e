//! Renders a report for people: `report.html`, and the summary that a crawl prints at its end.
//!
//! The page is one file; it can be read without its script. Text from strangers is escaped in both. The summary has at most 80 columns, unless a URL is
//! longer.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    fmt::{self, Formatter},
};

use askama::Template;
use url::Url;

use crate::{
    filter::Step,
    index::{Audit, BlockIndex},
    page::{counted, thousands},
    report::{
        BrokenLink, CLUSTERS, ChangedPage, Cluster, DIFFERENCES, DeferredUrls, End, Example, Host,
        Learnt, NearMiss, Piece, Report, RuleReport, SuspendedHost, Warning,
        chart::{BarChart, areas},
        fair,
        text::{duration, grouped, minute, percent, shown, size},
        warning::anchor,
    },
    sink::{CHANGES, DUPLICATES, PAGES, VerdictName},
    state::Reason,
};

/// Columns of the summary.
const COLUMNS: usize = 80;
/// Warnings and suspended hosts in the summary; the files have all.
const SUMMARY_WARNINGS: usize = 5;
const SUMMARY_HOSTS: usize = 10;
/// Bytes that the lists of the page take together, at most: with all else it has less than 10 MB.
const ROOM: usize = 9_500_000;
/// Groups in the page that are elements at once: with a script, the others stay text until they are needed.
const PAGE_CLUSTERS: usize = 500;
/// Warnings whose evidence is never left out.
const LINKED: usize = 1_000;
/// Groups and rows of a table that are printed.
const PRINTED: usize = 25;
/// Pages with a broken link that are shown at once.
const BROKEN_SHOWN: usize = 10;
/// Characters of a title or URL in the page, and of a part of a text.
const NAME: usize = 300;
const TEXT: usize = 4_000;
/// Thresholds that the page compares with that of the run.
const THRESHOLDS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.96];
/// The script of the page. Only a script with this hash may run in it.
const SCRIPT: &str = include_str!("report.js");
const SCRIPT_HASH: &str = "sha256-BoAGBgfxhBkXYG1pkzZNDbnSHwkCfsJ+AOyfxa9lSfk=";

#[derive(Template)]
#[template(path = "report.html", config = "src/report/askama.toml")]
struct Page<'a> {
    report: &'a Report,
    /// The most frequent first.
    reasons: Vec<(Reason, u64)>,
    groups: List,
    /// The other lists; those of skipped URLs have the names of their reasons.
    lists: HashMap<String, List>,
    similarities: BarChart,
    distributions: [BarChart; 3],
}

/// A row of a list of the page, with its name if a warning links to it.
#[derive(Template)]
#[template(path = "row.html", config = "src/report/askama.toml")]
struct Row<'a> {
    entry: Entry<'a>,
    id: Option<String>,
}

/// What a row shows.
enum Entry<'a> {
    Cluster(&'a Cluster),
    Warning(&'a Warning),
    NearMiss(&'a NearMiss),
    Host(&'a Host),
    Suspended(&'a SuspendedHost),
    Changed(&'a ChangedPage),
    Queued(&'a DeferredUrls),
    Deferred(&'a DeferredUrls),
    Rule(&'a RuleReport),
    Skipped(&'a Example),
    Broken(&'a BrokenLink),
}

/// The first entries of a list as HTML, and how many there are. What a warning links to is never left out.
#[derive(Default)]
struct List {
    rows: Vec<Html>,
    all: u64,
}

struct Html {
    html: String,
    is_linked: bool,
}

impl List {
    fn new<'a, T: 'a>(
        linked: &HashSet<String>,
        entries: impl IntoIterator<Item = &'a T>,
        entry: fn(&'a T) -> Entry<'a>,
    ) -> Self {
        let mut list = Self::default();
        for entry in entries.into_iter().map(entry) {
            list.all += 1;
            let id = match entry {
                Entry::Cluster(cluster) => Some(anchor("group", &cluster.url)),
                Entry::Host(host) => Some(anchor("host", &host.host)),
                _ => None,
            };
            let id = id.filter(|id| linked.contains(id));
            let is_linked = id.is_some();
            if is_linked || list.all <= CLUSTERS as u64 {
                let html = Row { entry, id }.render().expect("the template writes into memory");
                list.rows.push(Html { html, is_linked });
            }
        }
        list
    }

    /// Of a longer list.
    fn of(self, all: u64) -> Self {
        Self { all: all.max(self.all), ..self }
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.html.len()).sum()
    }

    /// Leaves as many entries as this many bytes have room for.
    fn cut(&mut self, mut room: usize) {
        let linked = self.rows.iter().filter(|row| row.is_linked);
        room = room.saturating_sub(linked.map(|row| row.html.len()).sum());
        self.rows.retain(|row| {
            let left = room.checked_sub(row.html.len());
            room = if row.is_linked { room } else { left.unwrap_or(0) };
            row.is_linked || left.is_some()
        });
    }

    fn is_cut(&self) -> bool {
        (self.rows.len() as u64) < self.all
    }
}

impl Report {
    /// The report as one HTML file without external resources.
    ///
    /// # Panics
    ///
    /// Never: the template writes into memory.
    #[must_use]
    pub fn html(&self) -> String {
        let mut reasons: Vec<_> = self.counts.skipped.iter().map(|(r, n)| (*r, *n)).collect();
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        let similarities =
            BarChart::of_similarities(&self.similarities, self.fingerprint.similarity);
        let linked = self.warnings.iter().take(LINKED).filter_map(Warning::evidence);
        let linked: HashSet<_> = linked.collect();
        let mut groups = List::new(&linked, &self.clusters, Entry::Cluster).of(self.cluster_count);
        let mut lists = lists(self, &linked);
        // The groups may take what the others leave, at least half of the room; of the others, the short ones are whole.
        let room = ROOM - groups.bytes().min(ROOM / 2);
        let share = fair(room, lists.values().map(List::bytes).collect());
        for list in lists.values_mut() {
            list.cut(share);
        }
        groups.cut(ROOM.saturating_sub(lists.values().map(List::bytes).sum()));
        let distributions = BarChart::of_distributions(&self.distributions);
        let page = Page { report: self, reasons, groups, lists, similarities, distributions };
        page.render().expect("the template writes into memory")
    }
}

/// The lists of the page but that of the groups.
fn lists(report: &Report, linked: &HashSet<String>) -> HashMap<String, List> {
    let of_reason = |(&reason, &all): (&Reason, &u64)| {
        let examples = report.examples.iter().filter(|it| it.reason == reason);
        (reason.to_string(), List::new(linked, examples, Entry::Skipped).of(all))
    };
    let Learnt { rules, deferred, queued } = &report.learnt;
    let changed = List::new(linked, &report.changed, Entry::Changed).of(report.changed_count);
    let broken = List::new(linked, &report.broken, Entry::Broken).of(report.broken_count);
    let others = [
        ("warnings", List::new(linked, &report.warnings, Entry::Warning)),
        ("near_misses", List::new(linked, &report.near_misses, Entry::NearMiss)),
        ("hosts", List::new(linked, &report.hosts, Entry::Host)),
        ("suspended", List::new(linked, &report.suspended, Entry::Suspended)),
        ("changed", changed),
        ("queued", List::new(linked, queued, Entry::Queued)),
        ("deferred", List::new(linked, deferred, Entry::Deferred)),
        ("rules", List::new(linked, rules, Entry::Rule)),
        ("broken", broken),
    ];
    let others = others.map(|(name, list)| (name.to_owned(), list));
    report.counts.skipped.iter().map(of_reason).chain(others).collect()
}

impl Page<'_> {
    fn list(&self, name: impl fmt::Display) -> &List {
        &self.lists[&name.to_string()]
    }
}

/// The address of a link, in ASCII: only `http` and `https` become links.
fn href(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

/// A language that is safe in an attribute.
fn lang(cluster: &Cluster) -> Option<&str> {
    let is_safe = |lang: &&str| lang.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    cluster.lang.as_deref().filter(is_safe)
}

/// The summary.
#[derive(Template)]
#[template(
    path = "summary.txt",
    config = "src/report/askama.toml",
    escape = "none",
    whitespace = "preserve"
)]
struct Summary<'a> {
    report: &'a Report,
    /// The warnings that come after the counts.
    others: Vec<&'a Warning>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let others = self.warnings.iter().filter(|warning| !warning.is_first()).collect();
        let summary = Summary { report: self, others }.render().map_err(|_| fmt::Error)?;
        summary.lines().try_for_each(|line| wrap(f, line))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Nothing => "ended without a page",
            Self::Open => "open: work is left",
            Self::Budget => "budget spent",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
        })
    }
}

/// Breaks a line that is too long between words, and indents what follows. A word that is longer than a line is not broken.
fn wrap(f: &mut Formatter<'_>, line: &str) -> fmt::Result {
    let text = line.trim();
    if line.trim_end().chars().count() <= COLUMNS {
        return writeln!(f, "{}", line.trim_end());
    }
    let margin = line.len() - line.trim_start().len();
    write!(f, "{:margin$}", "")?;
    let mut column = margin;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > margin && column + 1 + width > COLUMNS {
            column = margin + 2;
            write!(f, "\n{:column$}", "")?;
        } else if column > margin {
            write!(f, " ")?;
            column += 1;
        }
        write!(f, "{word}")?;
        column += width;
    }
    writeln!(f)
}

/// How the index compared with a scan.
pub(crate) fn audited(audit: &Audit) -> String {
    let Audit { checked, missed, .. } = audit;
    let checked = counted(*checked, "look-up");
    format!("{checked} compared with a scan, {} missed", thousands(*missed))
}
