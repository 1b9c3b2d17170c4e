//! The summary that a crawl prints at its end: plain text, at most 80 columns but for a URL that is longer.

use std::fmt;

use crate::report::{End, Report, Warning, duration, percent, shown, thousands};

const COLUMNS: usize = 80;
/// Warnings that are printed; the rest stands in the files.
const WARNINGS: usize = 5;

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
        warnings(f, &self.warnings)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Budget => "budget spent",
            Self::Interrupted => "interrupted",
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

fn warnings(f: &mut fmt::Formatter<'_>, warnings: &[Warning]) -> fmt::Result {
    for warning in warnings.iter().take(WARNINGS) {
        writeln!(f)?;
        wrap(f, &format!("warning: {warning}"))?;
    }
    match warnings.len().saturating_sub(WARNINGS) {
        0 => Ok(()),
        more => writeln!(f, "\n{} more warnings stand in the report", thousands(more as u64)),
    }
}

/// Breaks a text between words; a word longer than a line keeps its own.
fn wrap(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS {
            write!(f, "\n  ")?;
            column = 2;
        } else if column > 0 {
            write!(f, " ")?;
            column += 1;
        }
        write!(f, "{word}")?;
        column += width;
    }
    writeln!(f)
}
