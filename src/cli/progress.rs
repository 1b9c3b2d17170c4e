//! How a crawl gets on, on standard error: one line that changes on a terminal, a line now and then elsewhere.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::crawl::{Progress, Tally};

/// How often the line on a terminal changes, and how often a line is written elsewhere.
const TERMINAL_EVERY: Duration = Duration::from_millis(200);
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Show {
    /// One line on a terminal, plain lines elsewhere
    #[default]
    Auto,
    /// Plain lines
    Plain,
    /// Not at all
    None,
}

/// How a run stands, and how fast it got there.
struct Line {
    progress: Progress,
    fetched_before: u64,
    elapsed: Duration,
}

/// Shows progress until the crawl has ended.
pub(super) async fn show(show: Show, mut watch: watch::Receiver<Progress>) {
    let bar = match show {
        Show::None => return,
        Show::Auto if io::stderr().is_terminal() => Some(bar()),
        Show::Auto | Show::Plain => None,
    };
    let every = if bar.is_some() { TERMINAL_EVERY } else { PLAIN_EVERY };
    let began = Instant::now();
    let mut next = began + every;
    let mut before: Option<Tally> = None;
    while watch.changed().await.is_ok() {
        let progress = *watch.borrow_and_update();
        let fetched_before = before.get_or_insert(progress.counts).fetched;
        if Instant::now() >= next {
            let line = Line { progress, fetched_before, elapsed: began.elapsed() };
            match &bar {
                Some(bar) => bar.set_message(line.to_string()),
                None => say(line),
            }
            next = Instant::now() + every;
        }
        sleep(Duration::from_millis(50)).await;
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

/// Writes a line to standard error; nobody can be told that it is closed.
pub(super) fn say(line: impl fmt::Display) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is right");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(TERMINAL_EVERY);
    bar
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { counts, active_hosts, in_flight } = self.progress;
        let fetched = counts.fetched.saturating_sub(self.fetched_before);
        #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one decimal")]
        let rate = fetched as f64 / self.elapsed.as_secs_f64().max(1e-3);
        write!(
            f,
            "{} pages, {rate:.1}/s: {} unique, {} exact, {} near, {} failed; {} queued on {active_hosts} hosts, {in_flight} in flight",
            counts.fetched, counts.unique, counts.exact, counts.near, counts.failed, counts.queued
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_rate_of_this_start_and_the_counts_of_all() {
        let counts = Tally { fetched: 120, unique: 100, exact: 15, near: 5, failed: 2, queued: 40 };
        let progress = Progress { counts, active_hosts: 3, in_flight: 7 };
        let line = Line { progress, fetched_before: 20, elapsed: Duration::from_secs(10) };
        assert_eq!(
            line.to_string(),
            "120 pages, 10.0/s: 100 unique, 15 exact, 5 near, 2 failed; 40 queued on 3 hosts, 7 in flight"
        );
    }
}
