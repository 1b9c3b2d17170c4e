//! Records what became of a URL: judges a page, decides by policy whether it is stored and whether its links are followed (`action`), and
//! takes the URL out of the queue.

use std::sync::Arc;

use super::{
    Outcome, Parsed, Probe, Received, Record, Recorder, Skipped, Update, links::same_site,
};
use crate::{
    crawl::{
        against::FoundElsewhere,
        frontier::{Recorded, Task},
        plan::{CrawlError, Links, Policy, Store},
    },
    extract::{Extracted, Truncation},
    filter::{Document, Judgement, Kind, Match, Step, Verdict},
    fingerprint::Digest,
    page::Timestamp,
    sink::{
        Position,
        record::{Decision, DuplicateLine, PageLine},
        warc,
    },
    state::{Capture, Reason, SkipCause, UrlOutcome, UrlState},
};

/// What policy does with a judged page.
struct Action<'a> {
    judgement: &'a Judgement,
    /// The URL of the match.
    of: Option<String>,
    /// Its run, if it is of another one.
    run: Option<String>,
    stored: bool,
    links: FollowLinks,
}

/// How the links of a page are followed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FollowLinks {
    /// Why they are skipped, if they are.
    pub(super) skip: Option<SkipCause>,
    /// Whether they are followed after those of unique pages.
    pub(super) late: bool,
}

impl Recorder {
    /// Records a page by its body, if the body is known and neither the page nor its links are wanted.
    pub(super) fn probe(&mut self, probe: &Probe) -> Result<Option<Update>, CrawlError> {
        let Probe { task, received, body, exchange } = probe;
        let Some(judgement) = self.judge_body(task, *body, received.at)? else { return Ok(None) };
        self.record_judged(task, received, None, &judgement, exchange.as_ref())?;
        self.builder.found();
        self.filter.keep_text_of_body(judgement.id, *body)?;
        self.finish_url(Arc::clone(task), true, false).map(Some)
    }

    /// Records what became of a URL.
    pub(super) fn record(&mut self, record: Record) -> Result<Update, CrawlError> {
        if let Some(visit) = record.task.queued.visit.clone() {
            return self.record_visit(record, &visit);
        }
        let Record { task, outcome, exchange } = record;
        if !self.tried.is_empty() {
            self.tried.remove(task.queued.url.url.origin().as_str());
        }
        let fetched = outcome.is_page();
        let skipped = match outcome {
            Outcome::Page(received, parsed) if parsed.extracted.robots.noindex => {
                self.follow_links(&task.queued.url, &parsed, None, false, received.at)?;
                let detail = Some("the page says noindex".to_owned());
                Some(Skipped::new(Reason::Noindex, Some(received.status), detail))
            }
            Outcome::Page(received, parsed) => {
                let judgement = self.judge(&parsed.document)?;
                let links = self.record_judged(
                    &task,
                    &received,
                    Some(&parsed),
                    &judgement,
                    exchange.as_ref(),
                )?;
                self.builder.found();
                self.learn(&task.queued.url, Ok((&judgement, &parsed.extracted.text)), None)?;
                self.follow_links(&task.queued.url, &parsed, links.skip, links.late, received.at)?;
                None
            }
            Outcome::Redirect { status, target } => {
                self.learn_redirect(&task.queued.url, &target)?;
                Some(self.follow_redirect(&task, status, &target)?)
            }
            Outcome::Sitemap(received, sitemap) => {
                Some(self.follow_sitemap(&task, &received, &sitemap)?)
            }
            Outcome::Skipped(skipped) => Some(skipped),
            // Nothing was known, so nobody had asked for it.
            Outcome::Unchanged(_) => Some(Skipped::new(Reason::Status, Some(304), None)),
            Outcome::OverBudget => self.move_to_another_seed(&task)?,
        };
        if let Some(skipped) = &skipped {
            if let Some(exchange) = &exchange {
                self.sink.write_exchange(exchange, &warc::Kind::Response)?;
            }
            self.skip(&task, skipped)?;
        }
        let unanswered = skipped.is_some_and(|skipped| skipped.unanswered);
        self.finish_url(task, fetched, unanswered)
    }

    /// Judges a page: what it repeats in another run comes first, because it was seen earlier.
    pub(super) fn judge(&mut self, document: &Document) -> Result<Judgement, CrawlError> {
        let Some(found) = self.others.find(document)? else {
            return Ok(self.filter.judge(document)?);
        };
        let FoundElsewhere { judgement, url, run } = found;
        let Some(matched) = judgement.verdict.matched() else {
            return Ok(self.filter.judge(document)?);
        };
        let of = self.state().repeat_other(&run, matched.of, &url)?;
        Ok(self.filter.repeat(document, Match { of, ..*matched }, judgement.facts)?)
    }

    /// Takes the URL out of the queue and counts it.
    pub(super) fn finish_url(
        &mut self,
        task: Arc<Task>,
        fetched: bool,
        unanswered: bool,
    ) -> Result<Update, CrawlError> {
        let row = &task.queued.url;
        self.urls.dequeue(row.host, task.queued.seq);
        self.counts.queued = self.counts.queued.saturating_sub(1);
        if fetched {
            self.counts.fetched += 1;
            if let Some(spent) = row.seed.and_then(|seed| self.spent.get_mut(seed)) {
                *spent += 1;
            }
        }
        self.retry_failures()?;
        self.release_late(row.host)?;
        let rank = self.round_robin.then(|| self.move_to_back(row.host)).transpose()?;
        self.batch += 1;
        let queued = std::mem::take(&mut self.queued);
        let failed = self.failures.take_new();
        let recorded = Recorded { queued, fetched, failed, unanswered, rank };
        Ok(Update::Recorded(task, recorded, self.counts))
    }

    /// Judges a page by its body, if that is enough: the body is known, and neither the page nor its links are wanted.
    fn judge_body(
        &mut self,
        task: &Task,
        body: Digest,
        at: Timestamp,
    ) -> Result<Option<Judgement>, CrawlError> {
        let row = &task.queued.url;
        // The links of a seed are always followed.
        if self.urls.depth(row.id)? == 0 {
            return Ok(None);
        }
        let Some(matched) = self.filter.peek_body(row.url.as_str(), body, at)? else {
            return Ok(None);
        };
        let (policy, _) = self.policy(row.url.as_str(), &self.filter.id_of(matched.of)?);
        if !policy.skips_all() {
            return Ok(None);
        }
        Ok(self.filter.judge_body(row.url.as_str(), body, at)?)
    }

    /// Records a judged page. Returns how its links are followed. `parsed` is missing if the page was judged by its body.
    pub(super) fn record_judged(
        &mut self,
        task: &Task,
        received: &Received,
        parsed: Option<&Parsed>,
        judgement: &Judgement,
        exchange: Option<&warc::Exchange>,
    ) -> Result<FollowLinks, CrawlError> {
        let row = &task.queued.url;
        let depth = self.urls.depth(row.id)?;
        let action = self.action(row.url.as_str(), depth, judgement)?;
        let capture = exchange.map(|exchange| Capture {
            payload: warc::PayloadDigest::of(&exchange.body).0,
            at: exchange.at,
        });
        self.write_line(task, depth, received, parsed, &action, exchange)?;
        let title = parsed.and_then(|parsed| parsed.extracted.title.as_deref());
        let needs_scripts = parsed.is_some_and(|parsed| parsed.extracted.needs_scripts);
        let id = judgement.id;
        self.state().describe_document(id, title, action.stored, capture, needs_scripts)?;
        if !std::mem::replace(&mut self.has_judged, true) {
            self.record_method()?;
        }
        if let Some(parsed) = parsed.filter(|_| !action.stored && self.plan.store.text) {
            self.keep_text(parsed, judgement)?;
        }
        let (state, status, at) = (UrlState::Judged, Some(received.status), received.at);
        let outcome = UrlOutcome { state, cause: None, detail: None, status, at };
        self.urls.record_outcome(self.filter.state(), row.id, &outcome)?;
        self.note_visit(task, received, parsed, judgement)?;
        self.failures.judged(row.id);
        tracing::debug!(url = %row.url, number = judgement.id.0, verdict = ?judgement.verdict, "judged");
        match judgement.verdict {
            Verdict::Unique => self.counts.unique += 1,
            Verdict::Duplicate(found) if found.kind == Kind::Exact => self.counts.exact += 1,
            Verdict::Duplicate(_) => self.counts.near += 1,
        }
        Ok(action.links)
    }

    /// How the links of a page are followed that was judged so.
    pub(super) fn links_of(
        &self,
        url: &str,
        depth: u32,
        judgement: &Judgement,
    ) -> Result<FollowLinks, CrawlError> {
        Ok(self.action(url, depth, judgement)?.links)
    }

    /// What policy does with a page.
    fn action<'a>(
        &self,
        url: &str,
        depth: u32,
        judgement: &'a Judgement,
    ) -> Result<Action<'a>, CrawlError> {
        let Some(matched) = judgement.verdict.matched() else {
            let links = FollowLinks::default();
            return Ok(Action { judgement, of: None, run: None, stored: true, links });
        };
        let of = self.filter.id_of(matched.of)?;
        let run = self.state().other(matched.of)?.map(|(_, run, _)| run);
        let (policy, cause) = self.policy(url, &of);
        // The links of a seed are always followed: otherwise its crawl could not begin.
        Ok(Action {
            judgement,
            stored: policy.store == Store::Keep,
            links: FollowLinks {
                skip: (policy.links == Links::Skip && depth > 0).then_some(cause),
                late: policy.links == Links::Learn && depth > 0,
            },
            of: Some(of),
            run,
        })
    }

    /// The policy for a page that repeats `of`, and why its links are skipped if the policy skips them.
    fn policy(&self, url: &str, of: &str) -> (Policy, SkipCause) {
        let dedup = &self.plan.dedup;
        if same_site(url, of) {
            (dedup.same_site, SkipCause::SameSite)
        } else {
            (dedup.cross_site, SkipCause::CrossSite)
        }
    }

    /// Keeps the text of a near duplicate that is not stored: nothing else records how it differs from its match.
    fn keep_text(&self, parsed: &Parsed, judgement: &Judgement) -> Result<(), CrawlError> {
        let found = judgement.verdict.matched();
        let Some(found) = found.filter(|found| found.kind == Kind::Near) else { return Ok(()) };
        if let (Step::Body, Some(body)) = (found.step, parsed.document.body) {
            // Its text is that of the page with the same body.
            return Ok(self.filter.keep_text_of_body(judgement.id, body)?);
        }
        let Extracted { text, charset, truncated, .. } = &parsed.extracted;
        let truncated = truncated.map(Truncation::as_str);
        Ok(self.state().keep_text(judgement.id, text, charset, truncated)?)
    }

    /// Writes the line of a judged page, and its exchange.
    fn write_line(
        &mut self,
        task: &Task,
        depth: u32,
        received: &Received,
        parsed: Option<&Parsed>,
        action: &Action<'_>,
        exchange: Option<&warc::Exchange>,
    ) -> Result<(), CrawlError> {
        let row = &task.queued.url;
        let url = row.url.as_str();
        let decision = Decision::new(url, Some(url), action.judgement, action.of.as_deref());
        let warc = match exchange {
            Some(exchange) => self.archive_judged(exchange, &decision, action)?,
            None => None,
        };
        let referrer = row.referrer.map(|id| self.state().url_by_id(id)).transpose()?.flatten();
        let referrer = referrer.map(|row| row.url.to_string().into());
        let (status, fetched_at) = (received.status, received.at.into());
        let Some(parsed) = parsed.filter(|_| action.stored) else {
            let against = action.run.as_deref().map(Into::into);
            let line = DuplicateLine { decision, against, status, fetched_at, depth, referrer };
            return Ok(self.sink.write_duplicate(&line)?);
        };
        let extracted = &parsed.extracted;
        let seed = row.seed.and_then(|seed| self.plan.seeds.get(seed));
        let sketch = parsed.document.sketch();
        let line = PageLine {
            decision,
            against: action.run.as_deref().map(Into::into),
            title: extracted.title.as_deref().map(Into::into),
            text: self.plan.store.text.then(|| extracted.text.as_str().into()),
            status,
            content_type: received.content_type.as_deref().map(Into::into),
            charset: extracted.charset.into(),
            fetched_at,
            depth,
            referrer,
            seed: seed.map(|seed| seed.source.to_string().into()),
            tags: seed.map(|seed| seed.tags.iter().map(Into::into).collect()).unwrap_or_default(),
            signature: (sketch.features > 0).then_some(sketch.signature),
            canonical: parsed.canonical.as_ref().map(|url| url.as_str().into()),
            truncated: extracted.truncated.map(|why| why.as_str().into()),
            warc,
        };
        Ok(self.sink.write_page(&line)?)
    }

    fn skip(&mut self, task: &Task, skipped: &Skipped) -> Result<(), CrawlError> {
        let &Skipped { reason, cause, ref detail, status, .. } = skipped;
        if matches!(reason, Reason::Failure | Reason::Status) {
            self.counts.failed += 1;
        }
        let row = &task.queued.url;
        if cause.is_some_and(SkipCause::may_pass) && row.referrer.is_none() {
            tracing::warn!(url = %row.url, why = detail, status, "seed cannot be reached");
        }
        let (state, detail, at) = (UrlState::Skipped(reason), detail.as_deref(), Timestamp::now());
        let outcome = UrlOutcome { state, cause, detail, status, at };
        self.urls.record_outcome(self.filter.state(), row.id, &outcome)?;
        let url = (row.id, row.url.as_str());
        self.builder.skipped(self.filter.state(), url, reason, cause)?;
        self.failures.add(&task.queued.url, reason, cause);
        Ok(())
    }

    /// The budget of the URL's seed is spent: moves it to the next seed that admits it, or returns why it is skipped. For a seed
    /// that only its own list admits, the lists would give [`Reason::Scope`], but the spent budget is the cause.
    fn move_to_another_seed(&mut self, task: &Task) -> Result<Option<Skipped>, CrawlError> {
        let row = &task.queued.url;
        match self.admit(&row.url, row.kind, self.urls.depth(row.id)?, None) {
            Ok(seed) => {
                self.requeue(row, seed)?;
                Ok(None)
            }
            Err(Reason::Scope) => Ok(Some(Skipped::new(Reason::Budget, None, None))),
            Err(reason) => Ok(Some(Skipped::new(reason, None, None))),
        }
    }

    /// Archives the exchange of a judged page; of a duplicate, with a reference to its match.
    fn archive_judged(
        &mut self,
        exchange: &warc::Exchange,
        decision: &Decision<'_>,
        action: &Action<'_>,
    ) -> Result<Option<Position>, CrawlError> {
        let matched = action.judgement.verdict.matched();
        let document = matched.map(|matched| self.state().document(matched.of)).transpose()?;
        let Some(document) = document.flatten() else {
            return Ok(self.sink.write_exchange(exchange, &warc::Kind::Response)?);
        };
        let original = document.capture.map(|capture| warc::Original {
            target_uri: &document.name,
            at: capture.at,
            payload: warc::PayloadDigest(capture.payload),
        });
        let kind = warc::Kind::Duplicate { decision, original, keep: action.stored };
        Ok(self.sink.write_exchange(exchange, &kind)?)
    }
}
