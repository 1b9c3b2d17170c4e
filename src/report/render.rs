//! Renders a report for people: `report.html`, and the summary that a crawl prints at its end.
//!
//! The page is one file; it can be read without its script. Text from strangers is escaped in both. The summary has at most 80 columns, unless a URL is
//! longer.

use std::{
    cmp::{Ordering, Reverse},
    fmt::{self, Formatter},
};

use askama::{PrimitiveType, Template};
use url::Url;

use crate::{
    filter::Step,
    index::{Audit, BlockIndex},
    page::{counted, thousands},
    report::{
        Cluster, End, Exact, Example, Member, Piece, Report, SuspendedHost,
        chart::{BarChart, areas},
    },
    sink::{CHANGES, DUPLICATES, PAGES, VerdictName},
    state::Reason,
};

/// Columns of the summary.
const COLUMNS: usize = 80;
/// Warnings and suspended hosts in the summary; the files have all.
const SUMMARY_WARNINGS: usize = 5;
const SUMMARY_HOSTS: usize = 10;
/// Hosts in the page; `report.json` has all.
const PAGE_HOSTS: usize = 200;
/// Groups in the page that are elements at once: with a script, the others stay text until they are needed.
const PAGE_CLUSTERS: usize = 500;
/// Thresholds that the page compares with that of the run.
const THRESHOLDS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.96];
/// The script of the page. Only a script with this hash may run in it.
const SCRIPT: &str = include_str!("report.js");
const SCRIPT_HASH: &str = "sha256-+prjjg9kxBDF1EZVE7g4znRluUWGIpVApM59jUe8T6g=";
/// Characters of a title or URL in the page.
const PAGE_CHARS: usize = 300;

#[derive(Template)]
#[template(path = "report.html", config = "src/report/askama.toml")]
struct Page<'a> {
    report: &'a Report,
    /// The most frequent first.
    reasons: Vec<(Reason, u64)>,
    similarities: BarChart,
    distributions: [BarChart; 3],
}

/// Renders the page.
pub(super) fn html(report: &Report) -> String {
    let mut reasons: Vec<_> = report.counts.skipped.iter().map(|(r, n)| (*r, *n)).collect();
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let similarities =
        BarChart::of_similarities(&report.similarities, report.fingerprint.similarity);
    let distributions = BarChart::of_distributions(&report.distributions);
    let page = Page { report, reasons, similarities, distributions };
    page.render().expect("the template writes into memory")
}

impl Page<'_> {
    fn share(&self, part: impl PrimitiveType<Value = u64>) -> String {
        percent(part.get(), self.report.counts.judged())
    }

    /// The areas of the chart of pages over time.
    fn chart(&self) -> Vec<(&'static str, String)> {
        areas(&self.report.series)
    }

    /// How many near duplicates there would be with other thresholds, and how many more or fewer that is.
    fn thresholds(&self) -> Vec<(f64, u64, String)> {
        let similarities = &self.report.similarities;
        let now = similarities.near_from(self.report.fingerprint.similarity.unwrap_or(1.0));
        let row = |&threshold: &f64| {
            let near = similarities.near_from(threshold);
            let change = match near.cmp(&now) {
                Ordering::Equal => "as now".to_owned(),
                Ordering::Greater => format!("{} more", thousands(near - now)),
                Ordering::Less => format!("{} fewer", thousands(now - near)),
            };
            (threshold, near, change)
        };
        THRESHOLDS.iter().map(row).collect()
    }

    /// The first URLs that were skipped for a reason.
    fn examples(&self, reason: Reason) -> Vec<&Example> {
        self.report.examples.iter().filter(|example| example.reason == reason).collect()
    }

    /// Whether more URLs were skipped for a reason than are named.
    fn has_more(&self, reason: Reason) -> bool {
        let count = self.report.counts.skipped.get(&reason).copied().unwrap_or(0);
        count > self.examples(reason).len() as u64
    }

    /// Whether URLs are queued for this reason.
    fn is_waiting(reason: Reason) -> bool {
        matches!(reason, Reason::Pending | Reason::Host)
    }

    /// A part of a text.
    fn text(text: &str) -> String {
        shown(text, 4_000)
    }

    /// How long the run worked.
    fn worked(&self) -> String {
        duration(self.report.series.last().map_or(0.0, |point| point.at))
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

    fn shown(text: &str) -> String {
        shown(text, PAGE_CHARS)
    }

    fn grouped(number: impl PrimitiveType<Value = u64>) -> String {
        thousands(number.get())
    }

    fn found_by(member: &Member) -> &'static str {
        match (member.verdict, member.step) {
            (VerdictName::Near, _) => "near",
            (_, Some(Step::Body)) => "same body",
            _ => "same text",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let share = |part| percent(part, counts.judged());
        let Exact { body, text } = counts.exact;
        let steps = format!("{} byte for byte, {} by text", thousands(body), thousands(text));
        let exact = counts.exact.sum();
        for warning in self.warnings.iter().filter(|warning| warning.is_first()) {
            wrap(f, 0, &format!("warning: {warning}"))?;
            writeln!(f)?;
        }
        let is_past = matches!(self.end, End::Open | End::Interrupted | End::Nothing);
        let after = if is_past { "after" } else { "in" };
        let (name, time) = (shown(&self.name, 40), duration(self.seconds));
        writeln!(f, "{name}: {} {after} {time}", self.end)?;
        writeln!(f)?;
        line(f, "fetched", counts.fetched, "", "")?;
        line(f, "unique", counts.unique, &share(counts.unique), "")?;
        line(f, "exact duplicates", exact, &share(exact), &steps)?;
        line(f, "near duplicates", counts.near, &share(counts.near), "")?;
        for (run, pages) in &self.against {
            line(f, "  of another run", *pages, "", &shown(run, 40))?;
        }
        line(f, "stored", counts.stored, "", "")?;
        if let Some(pass) = &self.pass {
            line(f, "this pass", pass.asked(), "", "known pages asked for again:")?;
            for (name, count, more) in [
                ("  unchanged", pass.unchanged, ""),
                ("  changed", pass.changed, "another text"),
                ("  gone", pass.gone, ""),
                ("  back", pass.back, ""),
                ("  new", pass.new, "pages found for the first time"),
            ] {
                line(f, name, count, "", more)?;
            }
        }
        let asked = counts.unchanged + counts.changed;
        if asked > self.pass.map_or(0, |pass| pass.asked()) {
            line(f, "all passes", asked, "", "known pages asked for again:")?;
            line(f, "  unchanged", counts.unchanged, "", "")?;
            line(f, "  changed", counts.changed, "", "each has a line in changes.jsonl")?;
            line(f, "    gone", counts.gone, "", "")?;
        }
        if counts.all_skipped() > 0 {
            line(f, "skipped", counts.all_skipped(), "", "not fetched, or no pages:")?;
        }
        for (reason, count) in &counts.skipped {
            writeln!(f, "    {:<15}{:>9}  {}", reason, thousands(*count), reason.meaning())?;
        }
        audit(f, &self.search.audit)?;
        suspended(f, &self.suspended)?;
        warnings(f, self)
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

fn line(f: &mut Formatter<'_>, name: &str, count: u64, share: &str, more: &str) -> fmt::Result {
    let line = format!("  {name:<17}{:>9}{share:>10}   {more}", thousands(count));
    writeln!(f, "{}", line.trim_end())
}

/// How the search was checked, if it was, and what it left out.
fn audit(f: &mut Formatter<'_>, audit: &Audit) -> fmt::Result {
    if audit.checked > 0 || audit.over > 0 {
        writeln!(f)?;
    }
    if audit.checked > 0 {
        wrap(f, 2, &format!("audit: {}", audited(audit)))?;
    }
    if audit.over > 0 {
        wrap(f, 2, &format!("not indexed: {}", not_indexed(audit.over)))?;
    }
    Ok(())
}

/// The suspended hosts, with the reason.
fn suspended(f: &mut Formatter<'_>, hosts: &[SuspendedHost]) -> fmt::Result {
    if !hosts.is_empty() {
        writeln!(f)?;
        line(f, "suspended hosts", hosts.len() as u64, "", "")?;
    }
    for host in hosts.iter().take(SUMMARY_HOSTS) {
        let SuspendedHost { host, why, urls, until } = host;
        let urls = counted(*urls, "URL");
        let until = minute(*until);
        wrap(f, 4, &format!("{}: {why}; {urls}, retried after {until}", shown(host, 200)))?;
    }
    match hosts.len().saturating_sub(SUMMARY_HOSTS) {
        0 => Ok(()),
        more => writeln!(f, "    and {} in the report", counted(more, "more host")),
    }
}

fn warnings(f: &mut Formatter<'_>, Report { warnings, .. }: &Report) -> fmt::Result {
    let others = || warnings.iter().filter(|warning| !warning.is_first());
    for warning in others().take(SUMMARY_WARNINGS) {
        writeln!(f)?;
        wrap(f, 0, &format!("warning: {warning}"))?;
    }
    match others().count().saturating_sub(SUMMARY_WARNINGS) {
        0 => Ok(()),
        more => writeln!(f, "\nand {} in the report", counted(more, "more warning")),
    }
}

/// Breaks a text between words and indents the second and later lines. A word that is longer than a line is not broken.
fn wrap(f: &mut Formatter<'_>, margin: usize, text: &str) -> fmt::Result {
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

/// Makes text from strangers safe to print: escapes control characters and marks that change the direction of writing, turns white
/// space into spaces, and cuts what is longer than `limit` characters.
pub(super) fn shown(text: &str, limit: usize) -> String {
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

/// A time to the minute.
pub(crate) fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// How the index compared with a scan.
pub(crate) fn audited(audit: &Audit) -> String {
    let Audit { checked, missed, .. } = audit;
    let checked = counted(*checked, "look-up");
    format!("{checked} compared with a scan, {} missed", thousands(*missed))
}

/// Pages that did not enter the index.
fn not_indexed(pages: u64) -> String {
    let limit = BlockIndex::EQUAL_LIMIT;
    format!("{}, because {limit} in the window had the same fingerprint", counted(pages, "page"))
}

/// A share, such as `81.3 %`.
fn percent(part: u64, whole: u64) -> String {
    let per_mille = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole.max(1));
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// A duration: `3.2 s`, `1 min 3 s` or `2 h 5 min`.
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
