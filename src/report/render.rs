//! Renders a report for people: `report.html`, and the summary that a crawl prints at its end.
//!
//! The page is one file; it can be read without its script. Text from strangers is escaped in both. The summary has at most 80 columns, unless a URL is
//! longer.

use std::{
    cmp::Reverse,
    collections::HashMap,
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
        NearMiss, Piece, Report, RuleReport, SuspendedHost, Warning,
        chart::{BarChart, areas},
        fair,
        text::{duration, grouped, minute, percent, shown, size},
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
/// Pages with a broken link that are shown at once.
const BROKEN_SHOWN: usize = 10;
/// Characters of a title or URL in the page, and of a part of a text.
const NAME: usize = 300;
const TEXT: usize = 4_000;
/// Thresholds that the page compares with that of the run.
const THRESHOLDS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.96];
/// The script of the page. Only a script with this hash may run in it.
const SCRIPT: &str = include_str!("report.js");
const SCRIPT_HASH: &str = "sha256-g7YEPygMhGE6+TCfHAYjpCdCz2nJyabEpCg4tEdB59U=";

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

/// An entry of a list of the page.
#[derive(Template)]
#[template(path = "row.html", config = "src/report/askama.toml")]
enum Row<'a> {
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

/// The first entries of a list as HTML, and how many there are.
struct List {
    rows: Vec<String>,
    all: u64,
}

impl List {
    fn new<'a, T: 'a>(
        all: u64,
        entries: impl IntoIterator<Item = &'a T>,
        row: fn(&'a T) -> Row<'a>,
    ) -> Self {
        let html = |it| row(it).render().expect("the template writes into memory");
        let rows: Vec<_> = entries.into_iter().take(CLUSTERS).map(html).collect();
        Self { all: all.max(rows.len() as u64), rows }
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(String::len).sum()
    }

    /// Leaves as many entries as this many bytes have room for.
    fn cut(&mut self, mut room: usize) {
        let fits = |row: &&String| room.checked_sub(row.len()).map(|left| room = left).is_some();
        let fitting = self.rows.iter().take_while(fits).count();
        self.rows.truncate(fitting);
    }

    fn is_cut(&self) -> bool {
        (self.rows.len() as u64) < self.all
    }
}

/// Renders the page.
pub(super) fn html(report: &Report) -> String {
    let mut reasons: Vec<_> = report.counts.skipped.iter().map(|(r, n)| (*r, *n)).collect();
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let similarities =
        BarChart::of_similarities(&report.similarities, report.fingerprint.similarity);
    let (mut groups, mut lists) =
        (List::new(report.cluster_count, &report.clusters, Row::Cluster), lists(report));
    // The groups may take what the others leave, at least half of the room; of the others, the short ones are whole.
    let room = ROOM - groups.bytes().min(ROOM / 2);
    let share = fair(room, lists.values().map(List::bytes).collect());
    for list in lists.values_mut() {
        list.cut(share);
    }
    groups.cut(ROOM - lists.values().map(List::bytes).sum::<usize>());
    let distributions = BarChart::of_distributions(&report.distributions);
    let page = Page { report, reasons, groups, lists, similarities, distributions };
    page.render().expect("the template writes into memory")
}

/// The lists of the page but that of the groups.
fn lists(report: &Report) -> HashMap<String, List> {
    let of_reason = |(&reason, &all): (&Reason, &u64)| {
        let examples = report.examples.iter().filter(|it| it.reason == reason);
        (reason.to_string(), List::new(all, examples, Row::Skipped))
    };
    let learnt = &report.learnt;
    let others = [
        ("warnings", List::new(report.warnings.len() as u64, &report.warnings, Row::Warning)),
        ("near_misses", List::new(0, &report.near_misses, Row::NearMiss)),
        ("hosts", List::new(report.hosts.len() as u64, &report.hosts, Row::Host)),
        ("suspended", List::new(report.suspended.len() as u64, &report.suspended, Row::Suspended)),
        ("changed", List::new(report.changed_count, &report.changed, Row::Changed)),
        ("queued", List::new(0, &learnt.queued, Row::Queued)),
        ("deferred", List::new(0, &learnt.deferred, Row::Deferred)),
        ("rules", List::new(learnt.rules.len() as u64, &learnt.rules, Row::Rule)),
        ("broken", List::new(report.broken_count, &report.broken, Row::Broken)),
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
