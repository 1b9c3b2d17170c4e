//! The summary that a crawl prints at its end: plain text, at most 80 columns but for a URL that is longer.

use std::fmt;

use crate::{
    index::Audit,
    page::numbers::thousands,
    report::{
        End, HostAside, Report, Search, Warning, audited, counted, duration, minute, percent,
        shown, told_over,
    },
};

const COLUMNS: usize = 80;
/// Warnings and hosts set aside that are printed; the rest stands in the files.
const WARNINGS: usize = 5;
const ASIDE: usize = 10;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let judged = counts.judged();
        let share = |part| percent(part, judged);
        let exact = counts.exact.body + counts.exact.text;
        let steps = format!(
            "{} by body, {} by text",
            thousands(counts.exact.body),
            thousands(counts.exact.text)
        );
        writeln!(f, "{}: {} in {}", shown(&self.name, 40), self.end, duration(self.seconds))?;
        writeln!(f)?;
        line(f, "fetched", counts.fetched, "", "")?;
        line(f, "unique", counts.unique, &share(counts.unique), "")?;
        line(f, "exact duplicates", exact, &share(exact), &steps)?;
        line(f, "near duplicates", counts.near, &share(counts.near), "")?;
        line(f, "stored", counts.stored, "", "")?;
        line(f, "skipped", counts.all_skipped(), "", "")?;
        for (reason, count) in &counts.skipped {
            writeln!(
                f,
                "    {:<15}{:>9}  {}",
                reason.as_str(),
                thousands(*count),
                reason.meaning()
            )?;
        }
        index(f, &self.search)?;
        aside(f, &self.aside)?;
        warnings(f, &self.warnings)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Budget => "budget spent",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
        })
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    count: u64,
    share: &str,
    more: &str,
) -> fmt::Result {
    let line = format!("  {name:<17}{:>9}{share:>10}   {more}", thousands(count));
    writeln!(f, "{}", line.trim_end())
}

/// How near duplicates were looked for.
fn index(f: &mut fmt::Formatter<'_>, search: &Search) -> fmt::Result {
    if search.index.is_empty() {
        return Ok(());
    }
    writeln!(f)?;
    wrap(f, 2, &format!("index: {}", search.index))?;
    let Audit { checked, over, .. } = search.audit;
    if checked > 0 {
        wrap(f, 2, &format!("audit: {}", audited(&search.audit)))?;
    }
    if over > 0 {
        wrap(f, 2, &format!("not indexed: {}", told_over(over)))?;
    }
    Ok(())
}

/// The hosts that are set aside, by name, with the reason.
fn aside(f: &mut fmt::Formatter<'_>, hosts: &[HostAside]) -> fmt::Result {
    if !hosts.is_empty() {
        writeln!(f)?;
        line(f, "hosts set aside", hosts.len() as u64, "", "")?;
    }
    for host in hosts.iter().take(ASIDE) {
        let HostAside { host, why, urls, until } = host;
        let urls = counted(usize::try_from(*urls).unwrap_or(usize::MAX), "URL");
        let until = minute(*until);
        wrap(f, 4, &format!("{}: {why}; {urls}, asked again after {until}", shown(host, 200)))?;
    }
    match hosts.len().saturating_sub(ASIDE) {
        0 => Ok(()),
        more => writeln!(f, "    and {}, in the report", counted(more, "more host")),
    }
}

fn warnings(f: &mut fmt::Formatter<'_>, warnings: &[Warning]) -> fmt::Result {
    for warning in warnings.iter().take(WARNINGS) {
        writeln!(f)?;
        wrap(f, 0, &format!("warning: {warning}"))?;
    }
    match warnings.len().saturating_sub(WARNINGS) {
        0 => Ok(()),
        more => writeln!(f, "\nand {}, in the report", counted(more, "more warning")),
    }
}

/// Breaks a text between words, with more margin from the second line on; a word longer than a line keeps its own.
fn wrap(f: &mut fmt::Formatter<'_>, margin: usize, text: &str) -> fmt::Result {
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
