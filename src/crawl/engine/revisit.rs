//! Revisits known pages: which, when, and the outcome.
//!
//! A pass begins with a start of the run, which queues the pages that are due. It lasts until the run ends by itself, so a start after a kill
//! goes on with what is left. Each page is recorded once: as unchanged, as changed, or not at all if there was no answer; then it stays due.

use std::time::Duration;

use super::Engine;
use crate::{
    crawl::{
        plan::{CrawlError, Plan},
        worker::{Outcome, Parsed, Received, Skipped},
    },
    filter::{Judgement, Verdict},
    page::Timestamp,
    report::End,
    sink::{ChangeLine, ChangeName, warc},
    state::{JudgedDocument, Queued, Reason, StateError, UrlOutcome, UrlRow, UrlState, Visit},
};

/// The name in the state under which the beginning of a pass is kept.
const PASS: &str = "pass";

/// The bounds of the time between two visits: this part of `crawl.revisit_after`, and this many times it.
const MIN_INTERVAL_DIVISOR: u32 = 4;
const MAX_INTERVAL_FACTOR: u32 = 8;

/// After which time a page is asked for again.
///
/// The time in which it changes with a probability of one half, if changes are a Poisson process. Their rate is estimated without the bias of
/// X/n, by -ln((n - X + 0.5) / (n + 0.5)) for each visit, where X of n visits found a change (J. Cho, H. Garcia-Molina, Estimating frequency of
/// change, ACM Transactions on Internet Technology 3(3), 2003). A few visits without a change say little: each at most doubles the time.
fn revisit_interval(visit: &Visit, after: Duration) -> Duration {
    let (visits, changes) = (f64::from(visit.visits), f64::from(visit.changes));
    let longest = after.saturating_mul(2_u32.saturating_pow(visit.visits).min(MAX_INTERVAL_FACTOR));
    let rate = -((visits - changes + 0.5) / (visits + 0.5)).ln();
    let between = Duration::from_millis(visit.span).as_secs_f64() / visits.max(1.0);
    // Without a change the rate is zero, and the quotient infinite.
    let half = Duration::try_from_secs_f64(between * std::f64::consts::LN_2 / rate.max(0.0));
    half.unwrap_or(Duration::MAX).clamp(after / MIN_INTERVAL_DIVISOR, longest)
}

/// Whether the text of a page is the one that was known. Where its digest is not, texts with equal figures are taken for equal.
fn is_unchanged(visit: &Visit, former: &JudgedDocument, parsed: &Parsed) -> bool {
    let sketch = parsed.document.sketch();
    if visit.text.is_some() { visit.text == sketch.text.digest } else { is_alike(former, parsed) }
}

/// Whether the figures of a text are those that were known.
fn is_alike(former: &JudgedDocument, parsed: &Parsed) -> bool {
    let (known, now) = (&former.judgement.facts, parsed.document.facts());
    (known.fingerprint, known.chars, known.features) == (now.fingerprint, now.chars, now.features)
}

/// Why there is no page any more, if that is what a request has shown.
fn gone_reason(skipped: &Skipped) -> Option<Reason> {
    let is_lost = match skipped.reason {
        // Other statuses say that this request failed, not that there is no page.
        Reason::Status => matches!(skipped.status, Some(404 | 410)),
        Reason::Robots | Reason::Redirect | Reason::ContentType | Reason::Noindex => true,
        _ => false,
    };
    (is_lost && skipped.cause.is_none()).then_some(skipped.reason)
}

/// How a known page had changed.
enum Change<'a> {
    /// It has another text, which was judged so.
    Text(&'a Judgement),
    /// There is no page any more.
    Gone(&'a Skipped, Reason),
    /// It is back, with the text that was known.
    Back,
}

impl Engine {
    /// Begins a pass, or goes on with one, if pages are to be asked for again: queues those that are due.
    pub(super) fn queue_visits(&mut self) -> Result<(), CrawlError> {
        let Plan { crawl, .. } = &*self.plan;
        let began = self.state().json::<Option<Timestamp>>(PASS)?.flatten();
        self.builder.start_pass(crawl.revisit_after.is_some(), began.is_none());
        let Some(after) = crawl.revisit_after else { return Ok(()) };
        if self.counts.fetched >= crawl.max_pages {
            tracing::warn!("no known page is asked for again, because max_pages is spent");
            return Ok(());
        }
        let now = Timestamp::now();
        let began = began.unwrap_or(now);
        self.state().set_json(PASS, &Some(began))?;
        // A visit in the millisecond in which a pass begins is one before it.
        let before = Timestamp(began.0.saturating_add(1));
        let is_due = |visit: &Visit| visit.checked + revisit_interval(visit, after) <= now;
        let mut queued = 0_u64;
        for id in self.state().due_visits(before, is_due)? {
            let row = self.state().url(id)?;
            if !self.urls.queue.is_suspended(row.host)
                && let Ok(seed) = self.admit_known(&row)
            {
                self.requeue(&row, seed, None)?;
                queued += 1;
            }
        }
        tracing::info!(pages = queued, "known pages are asked for again");
        Ok(())
    }

    /// The pass has ended, if the run has ended so.
    pub(super) fn end_pass(&self, end: End) -> Result<(), CrawlError> {
        if matches!(end, End::Done | End::Open) {
            self.state().set_json(PASS, &None::<Timestamp>)?;
        }
        Ok(())
    }

    /// Notes what is needed to ask for a page again that was just judged.
    pub(super) fn note_visit(
        &self,
        queued: &Queued,
        received: &Received,
        parsed: &Parsed,
        judgement: &Judgement,
    ) -> Result<(), CrawlError> {
        let first = || Visit::first(judgement.id, received.at);
        let visit = Visit {
            document: judgement.id,
            validators: received.validators.clone(),
            text: parsed.document.sketch().text.digest,
            lost: None,
            ..queued.visit.as_ref().map_or_else(first, |known| known.again(received.at, true))
        };
        Ok(self.state().set_visit(queued.url.id, &visit)?)
    }

    /// Records what became of a known page that was asked for again. Returns whether it is another one now.
    pub(super) fn record_visit(
        &mut self,
        queued: &Queued,
        outcome: Outcome,
        exchange: Option<&warc::Exchange>,
        visit: &Visit,
    ) -> Result<bool, CrawlError> {
        let (row, former) = (&queued.url, self.former(visit)?);
        let skipped = match outcome {
            Outcome::Page(received, parsed) if parsed.extracted.robots.noindex => {
                self.follow_unindexed(row, &received, &parsed)?
            }
            Outcome::Page(received, parsed) if is_unchanged(visit, &former, &parsed) => {
                let known = visit.again(received.at, visit.lost.is_some());
                let (validators, text) =
                    (received.validators, parsed.document.sketch().text.digest);
                self.record_unchanged(queued, &former, Visit { validators, text, ..known })?;
                // As those of a page that was judged so.
                let links = self.action(row.url.as_str(), row.depth, &former.judgement)?.links;
                self.follow_links(row, &parsed, links, received.at)?;
                return self.end_visit(row, Some(received.status));
            }
            Outcome::Page(received, parsed) => {
                self.record_changed(queued, &former, (&received, &parsed), exchange)?;
                return Ok(true);
            }
            Outcome::Unchanged(visit, at) => {
                self.archive(exchange)?;
                self.record_unchanged(queued, &former, visit.again(at, visit.lost.is_some()))?;
                return self.end_visit(row, Some(304));
            }
            Outcome::Sitemap(received, sitemap) => self.follow_sitemap(row, &received, &sitemap)?,
            Outcome::Redirect { status, target, .. } => {
                self.follow_redirect(row, status, &target)?
            }
            Outcome::Skipped(skipped) => skipped,
        };
        self.archive(exchange)?;
        self.record_gone(queued, &former, visit, &skipped)?;
        self.end_visit(row, skipped.status)
    }

    /// The known page that is asked for again.
    fn former(&self, visit: &Visit) -> Result<JudgedDocument, CrawlError> {
        let former = self.state().document(visit.document)?;
        Ok(former.ok_or(StateError::Damaged("a page that was judged is no document"))?)
    }

    /// A known page was asked for again, and has no new text.
    fn end_visit(&mut self, row: &UrlRow, status: Option<u16>) -> Result<bool, CrawlError> {
        self.record_known(&UrlRow { status, ..row.clone() })?;
        self.counts.asked_again += 1;
        Ok(false)
    }

    /// The URL has the page again, or still, that is known of it.
    pub(super) fn record_known(&mut self, row: &UrlRow) -> Result<(), CrawlError> {
        let (state, status, at) = (UrlState::Judged, row.status, Timestamp::now());
        let outcome = UrlOutcome { state, cause: None, detail: None, status, at };
        Ok(self.urls.record_outcome(self.filter.state(), row.id, &outcome)?)
    }

    /// The page has the text that was known. If it had been lost, it is back.
    fn record_unchanged(
        &mut self,
        queued: &Queued,
        former: &JudgedDocument,
        visit: Visit,
    ) -> Result<(), CrawlError> {
        let is_back = visit.lost.is_some();
        let visit = Visit { lost: None, ..visit };
        if is_back {
            let seen = (visit.checked, queued.url.status);
            self.write_change(queued, former, &visit, seen, &Change::Back)?;
        }
        self.builder.revisited(is_back.then_some(ChangeName::Back));
        tracing::debug!(url = %queued.url.url, is_back, "unchanged");
        Ok(self.state().set_visit(queued.url.id, &visit)?)
    }

    /// The page has another text: it is judged and stored again, in place of its former version.
    fn record_changed(
        &mut self,
        queued: &Queued,
        former: &JudgedDocument,
        (received, parsed): (&Received, &Parsed),
        exchange: Option<&warc::Exchange>,
    ) -> Result<(), CrawlError> {
        let row = &queued.url;
        if former.judgement.verdict == Verdict::Unique {
            self.filter.release(former.judgement.id)?;
        }
        let judgement = self.judge(&parsed.document)?;
        let (links, of) = self.record_judged(queued, received, parsed, &judgement, exchange)?;
        let missing = StateError::Damaged("a page that was judged has no visit");
        let visit = self.state().visit(row.id)?.ok_or(missing)?;
        let had_line = !queued.visit.as_ref().is_some_and(|it| it.has_lost_line());
        if had_line || !is_alike(former, parsed) {
            let seen = (received.at, Some(received.status));
            self.write_change(queued, former, &visit, seen, &Change::Text(&judgement))?;
            self.builder.revisited(Some(ChangeName::Text));
        } else {
            // It is only stored again.
            let changes = visit.changes.saturating_sub(1);
            self.state().set_visit(row.id, &Visit { changes, ..visit })?;
            self.builder.revisited(None);
        }
        self.follow_links(row, parsed, links, received.at)?;
        self.watch(row, &judgement, of.as_deref())
    }

    /// There is no page any more, unless a failure may pass: then nothing is known, and the page stays due. What was stored stays.
    fn record_gone(
        &mut self,
        queued: &Queued,
        former: &JudgedDocument,
        visit: &Visit,
        skipped: &Skipped,
    ) -> Result<(), CrawlError> {
        let Some(reason) = gone_reason(skipped) else { return Ok(()) };
        let (at, is_new) = (Timestamp::now(), visit.lost.is_none());
        let visit = Visit { lost: Some(reason), ..visit.again(at, is_new) };
        if is_new {
            let change = Change::Gone(skipped, reason);
            self.write_change(queued, former, &visit, (at, skipped.status), &change)?;
        }
        self.builder.revisited(is_new.then_some(ChangeName::Gone));
        Ok(self.state().set_visit(queued.url.id, &visit)?)
    }

    /// Writes the line of a change that was seen at this time, with this status.
    fn write_change(
        &mut self,
        queued: &Queued,
        former: &JudgedDocument,
        visit: &Visit,
        (at, status): (Timestamp, Option<u16>),
        change: &Change<'_>,
    ) -> Result<(), CrawlError> {
        let known = queued.visit.as_ref();
        let url = queued.url.url.as_str();
        let before = former.judgement.facts.fingerprint;
        // As of a page that is back.
        let mut line = ChangeLine {
            url: url.into(),
            at: at.into(),
            change: ChangeName::Back,
            since: known.map_or(at, |known| known.checked).into(),
            before,
            after: before,
            distance: None,
            verdict: None,
            matched: None,
            reason: None,
            detail: None,
            status,
            visits: visit.visits,
            changes: visit.changes,
        };
        match *change {
            Change::Text(judgement) => {
                let found = judgement.verdict.matched();
                let of = found.map(|found| self.filter.id_of(found.of)).transpose()?;
                line.change = ChangeName::Text;
                line.after = judgement.facts.fingerprint;
                line.verdict = Some(judgement.into());
                line.matched = of.map(Into::into);
            }
            Change::Gone(skipped, reason) => {
                line.change = ChangeName::Gone;
                line.after = None;
                line.reason = Some(reason);
                line.detail = skipped.detail.as_deref().map(Into::into);
            }
            Change::Back => {}
        }
        line.distance = before.zip(line.after).map(|(before, after)| before.distance(after));
        Ok(self.sink.write_change(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::DocId;

    const DAY: Duration = Duration::from_hours(24);

    /// The time between the visits of a page that is asked for as it says, and of whose visits every `n`th finds a change.
    fn settled(n: u32) -> Duration {
        let mut visit = Visit::first(DocId(1), Timestamp(0));
        for number in 1..=200 {
            let at = visit.checked + revisit_interval(&visit, DAY);
            visit = visit.again(at, n > 0 && number % n == 0);
        }
        revisit_interval(&visit, DAY)
    }

    #[test]
    fn a_page_that_changes_often_is_asked_for_more_often() {
        assert_eq!(revisit_interval(&Visit::first(DocId(1), Timestamp(0)), DAY), DAY);
        assert_eq!(settled(0), DAY * MAX_INTERVAL_FACTOR);
        assert_eq!(settled(1), DAY / MIN_INTERVAL_DIVISOR);
        let times = [1, 2, 3, 5, 10, 0].map(settled);
        assert!(times.is_sorted(), "{times:?}");
    }

    #[test]
    fn a_few_visits_without_a_change_at_most_double_the_time() {
        let mut visit = Visit::first(DocId(1), Timestamp(0));
        for times in [2, 4, 8, 8, 8] {
            visit = visit.again(visit.checked + DAY, false);
            assert_eq!(revisit_interval(&visit, DAY), DAY * times);
        }
    }

    #[test]
    fn no_times_and_numbers_are_too_large() {
        let visit = Visit {
            visits: u32::MAX,
            changes: u32::MAX,
            span: u64::MAX,
            ..Visit::first(DocId(1), Timestamp(i64::MAX))
        };
        for after in [Duration::ZERO, DAY, Duration::MAX] {
            let found = revisit_interval(&visit, after);
            assert!(
                (after / MIN_INTERVAL_DIVISOR..=after.saturating_mul(MAX_INTERVAL_FACTOR))
                    .contains(&found)
            );
        }
        let again = visit.again(Timestamp(i64::MIN), true);
        assert_eq!((again.visits, again.checked, again.span), (u32::MAX, visit.checked, u64::MAX));
        // More changes than visits: only a damaged state has them.
        let odd = Visit { visits: 1, changes: 9, ..visit };
        revisit_interval(&odd, DAY);
    }
}
