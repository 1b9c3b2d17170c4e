//! Shows the progress of a crawl on standard error: on a terminal one line that changes, elsewhere a line every few seconds.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use bytesize::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use super::{is_json, notify};
use crate::{
    crawl::{Progress, Tally},
    page::thousands,
    report::counted,
    state::Restored,
};

/// How often the line on a terminal changes, and how often a line is printed elsewhere.
const TERMINAL_EVERY: Duration = Duration::from_millis(200);
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// How often the time goes on if nothing else changes.
const IDLE_EVERY: Duration = Duration::from_secs(1);

/// What fits beside the spinner on a terminal of 80 columns.
const COLUMNS: usize = 78;

/// How to show progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Show {
    /// One line on a terminal, plain lines elsewhere
    #[default]
    Auto,
    /// Plain lines
    Plain,
    /// Nothing
    None,
}

/// Shows progress until the crawl has ended.
pub(super) async fn show(show: Show, mut watch: watch::Receiver<Progress>) {
    let bar = match show {
        Show::None => return,
        Show::Auto if io::stderr().is_terminal() && !is_json() => Some(bar()),
        Show::Auto | Show::Plain => None,
    };
    let every = if bar.is_some() { TERMINAL_EVERY } else { PLAIN_EVERY };
    let began = Instant::now();
    let mut next = began + every;
    let mut first: Option<Tally> = None;
    let mut is_shown = true;
    loop {
        // What came too early is shown when its time has come, even if nothing follows.
        let at = if is_shown { next.max(Instant::now() + IDLE_EVERY) } else { next };
        let changed = timeout_at(at, watch.changed()).await.unwrap_or(Ok(()));
        if changed.is_err() {
            break;
        }
        let progress = *watch.borrow_and_update();
        let before = match progress.restored {
            Some(_) => 0,
            None => received(first.get_or_insert(progress.counts)),
        };
        is_shown = Instant::now() >= next;
        if is_shown {
            let line = line(progress, before, began.elapsed());
            match &bar {
                Some(bar) => bar.set_message(line),
                None => notify(line),
            }
            next = Instant::now() + every;
        }
        sleep(Duration::from_millis(50)).await;
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is right");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(TERMINAL_EVERY);
    bar
}

/// Pages that were received, or asked for again.
fn received(counts: &Tally) -> u64 {
    counts.fetched + counts.asked_again
}

/// The progress of a run, in 80 columns. `before`: the pages received by earlier starts, which do not count for the rate.
fn line(progress: Progress, before: u64, elapsed: Duration) -> String {
    let Progress { counts, max_pages, waits, restored, .. } = progress;
    if let Some(Restored { read, all }) = restored {
        return format!("restoring the window: {} of {}", thousands(read), thousands(all));
    }
    // A budget that the queue will exhaust.
    let pages = if counts.fetched + counts.queued > max_pages {
        format!("{} of {}", thousands(counts.fetched), counted(max_pages, "page"))
    } else {
        counted(counts.fetched, "page")
    };
    let queued = thousands(counts.queued);
    if let Some(waits) = waits {
        return format!("{}  {pages}, {queued} queued; {waits}", clock(elapsed));
    }
    let fetched = received(&counts).saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one decimal")]
    let rate = fetched as f64 / elapsed.as_secs_f64().max(1e-3);
    let size = ByteSize(counts.bytes).display().iec_short();
    let repeated = counts.exact + counts.near;
    let mut line = format!(
        "{}  {pages} ({} repeated), {size}, {rate:.1}/s; {queued} queued",
        clock(elapsed),
        thousands(repeated),
    );
    for (count, what) in [
        (counts.suspended, "at suspended hosts"),
        (counts.asked_again, "asked again"),
        (counts.failed, "failed"),
    ] {
        if count > 0 {
            line.extend([", ", &thousands(count), " ", what]);
        }
    }
    let rest = counts.queued.min(max_pages.saturating_sub(counts.fetched));
    let left = (rest > 0).then(|| estimate(rest, rate)).flatten();
    let left = left.map(|left| format!(", about {} left", clock(left)));
    line += &left.filter(|left| line.len() + left.len() <= COLUMNS).unwrap_or_default();
    line
}

/// How long these pages take at this rate, if that is less than a year.
fn estimate(pages: u64, rate: f64) -> Option<Duration> {
    #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
    let seconds = pages as f64 / rate;
    (seconds < 365.0 * 86_400.0).then(|| Duration::from_secs_f64(seconds))
}

/// A time as hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::Waits;

    fn progress() -> Progress {
        let counts = Tally {
            fetched: 120,
            unique: 100,
            exact: 15,
            near: 5,
            failed: 2,
            queued: 40,
            suspended: 0,
            asked_again: 0,
            bytes: 3 << 20,
        };
        Progress { counts, max_pages: 1_000, active_hosts: 1, in_flight: 7, ..Progress::default() }
    }

    #[test]
    fn a_budget_is_named_that_the_queue_will_exhaust() {
        let line = line(Progress { max_pages: 159, ..progress() }, 0, Duration::from_mins(1));
        assert!(line.starts_with("1:00  120 of 159 pages (20 repeated), "), "{line}");
    }

    #[test]
    fn a_line_says_what_is_waited_for_and_how_long() {
        let left = Duration::from_secs;
        for (waits, what) in [
            (Waits::Retries { urls: 2 }, "waiting to ask again for 2 URLs"),
            (Waits::Pace { left: left(44) }, "waiting 44 s for the pause of the next host"),
            (
                Waits::Hosts { hosts: 1, left: left(41) },
                "waiting up to 41 s for 1 host that does not answer",
            ),
            (Waits::Outage { left: left(86_000) }, "no host answers: asking again, for up to 23 h"),
        ] {
            let progress = Progress { waits: Some(waits), ..progress() };
            let line = line(progress, 20, left(10));
            assert_eq!(line, format!("0:10  120 pages, 40 queued; {what}"));
        }
    }

    #[test]
    fn a_line_has_the_rate_of_this_start_and_the_counts_of_all() {
        assert_eq!(
            line(progress(), 20, Duration::from_secs(10)),
            "0:10  120 pages (20 repeated), 3.0M, 10.0/s; 40 queued, 2 failed"
        );
        let counts = Tally {
            fetched: 1_000_000,
            unique: 600_000,
            exact: 200_000,
            near: 200_000,
            queued: 2_000_000,
            failed: 0,
            bytes: 123 << 30,
            ..progress().counts
        };
        let progress = Progress { counts, max_pages: u64::MAX, ..progress() };
        let line = line(progress, 0, Duration::from_secs(100_000));
        assert!(
            line.starts_with("27:46:40  1,000,000 pages (400,000 repeated), 123.0G, 10.0/s; 2,0")
                && line.len() <= 80,
            "{line}"
        );
    }

    #[test]
    fn a_line_says_how_long_the_queue_takes_if_there_is_room() {
        let of = |queued, max_pages| {
            let mut progress = Progress { max_pages, ..progress() };
            (progress.counts.failed, progress.counts.queued) = (0, queued);
            line(progress, 20, Duration::from_secs(10))
        };
        assert!(of(40, 1_000).ends_with("10.0/s; 40 queued, about 0:04 left"), "{}", of(40, 1_000));
        assert!(of(40, 130).ends_with(", about 0:01 left"), "the budget ends it: {}", of(40, 130));
        assert!(of(0, 1_000).ends_with("; 0 queued"), "{}", of(0, 1_000));
    }

    #[test]
    fn pages_that_are_asked_for_again_count_for_the_rate() {
        let mut progress = progress();
        progress.counts.asked_again = 50;
        let line = line(
            progress,
            received(&Tally { asked_again: 0, ..progress.counts }),
            Duration::from_secs(10),
        );
        assert!(line.contains(" 5.0/s; ") && line.contains("40 queued, 50 asked again"), "{line}");
    }

    #[test]
    fn urls_of_suspended_hosts_are_shown_apart() {
        let mut progress = progress();
        progress.counts.suspended = 1_500;
        let line = line(progress, 20, Duration::from_secs(10));
        assert!(line.contains("; 40 queued, 1,500 at suspended hosts, 2 failed"), "{line}");
    }

    #[test]
    fn a_line_shows_the_restoring_of_the_window() {
        let restored = Some(Restored { read: 1_000, all: 100_000_000 });
        let line = line(Progress { restored, ..progress() }, 20, Duration::from_secs(10));
        assert_eq!(line, "restoring the window: 1,000 of 100,000,000");
    }
}
