//! What becomes of a URL that has been dealt with.

use super::{Answered, Outcome, Parsed, Recorder, Reply, Settle, Settled, Skipped};
use crate::{
    crawl::{
        error::CrawlError,
        frontier::Task,
        options::{Links, Policy, Store},
        scope::Refusal,
    },
    extract::Truncation,
    filter::{Judgement, Kind, Step, Verdict},
    fingerprint::Digest,
    page::{NormalUrl, Timestamp, site_of},
    sink::{
        Position,
        record::{Decision, DuplicateLine, PageLine},
        warc,
    },
    state::{Capture, Reason, SkipCause, UrlState},
};

/// What policy makes of a page.
struct Action<'a> {
    judgement: &'a Judgement,
    /// The name of the match.
    of: Option<&'a str>,
    stored: bool,
    /// Why its links are not followed, if they are not.
    cause: Option<SkipCause>,
}

impl Recorder {
    /// Records an outcome. A page whose body is not known comes back to be parsed.
    pub(super) fn settle(&mut self, settle: Settle) -> Result<Reply, CrawlError> {
        let Settle { task, outcome, exchange } = settle;
        let mut settled = Settled::default();
        match outcome {
            Outcome::Body(answered, digest) => {
                let Some(judgement) = self.judge_body(&task, digest, answered.at)? else {
                    return Ok(Reply::Parse(exchange));
                };
                settled.counted = true;
                self.settle_document(&task, &answered, None, &judgement, exchange)?;
                self.state().keep_text_of_body(judgement.id, digest)?;
            }
            Outcome::Page(answered, parsed) => {
                settled.counted = true;
                self.settle_page(&task, &answered, &parsed, exchange)?;
            }
            Outcome::Redirect { status, target } => {
                self.settle_redirect(&task, status, &target, exchange)?;
            }
            Outcome::Sitemap(answered, sitemap) => {
                self.archive_plain(exchange)?;
                self.settle_sitemap(&task, &answered, &sitemap)?;
            }
            Outcome::Skipped(skipped) => {
                self.archive_plain(exchange)?;
                (settled.counted, settled.unanswered) = (skipped.counted, skipped.unanswered);
                self.skip(&task, &skipped)?;
            }
            Outcome::OverBudget => self.move_to_another_seed(&task)?,
        }
        self.close(&task, &mut settled)?;
        Ok(Reply::Settled(settled))
    }

    /// Takes the URL out of the queue and counts.
    fn close(&mut self, task: &Task, settled: &mut Settled) -> Result<(), CrawlError> {
        let row = &task.queued.url;
        self.state().dequeue(row.host, task.queued.seq)?;
        self.counts.queued = self.counts.queued.saturating_sub(1);
        if settled.counted {
            self.counts.fetched += 1;
            if let Some(spent) = row.seed.and_then(|seed| self.spent.get_mut(seed)) {
                *spent += 1;
            }
        }
        if self.in_turn {
            let turn = self.state().end_turn(row.host)?;
            self.known.set_turn(&task.host, turn);
            settled.turn = Some(turn);
        }
        settled.tick = self.tick;
        settled.queued = std::mem::take(&mut self.queued);
        settled.counts = self.counts;
        Ok(())
    }

    /// The judgement of a page by its body, if that suffices: it is known, and neither is the page to be stored nor are its
    /// links to be followed.
    fn judge_body(
        &mut self,
        task: &Task,
        body: Digest,
        at: Timestamp,
    ) -> Result<Option<Judgement>, CrawlError> {
        let row = &task.queued.url;
        if self.state().depth(row.id)? == 0 {
            return Ok(None);
        }
        let Some(matched) = self.filter.peek_body(&row.url, body, at)? else { return Ok(None) };
        let policy = self.policy(&row.url, &self.state().name_of(matched.of)?);
        if policy.store == Store::Keep || policy.links == Links::Follow {
            return Ok(None);
        }
        Ok(self.filter.judge_body(&row.url, body, at)?)
    }

    fn settle_page(
        &mut self,
        task: &Task,
        answered: &Answered,
        parsed: &Parsed,
        exchange: Option<warc::Exchange>,
    ) -> Result<(), CrawlError> {
        let row = &task.queued.url;
        if parsed.noindex {
            self.archive_plain(exchange)?;
            let detail = Some("the page says noindex".to_owned());
            let (reason, status) = (Reason::Noindex, Some(answered.status));
            self.skip(
                task,
                &Skipped { reason, detail, cause: None, status, counted: true, unanswered: false },
            )?;
            return self.follow(row, parsed, None, answered.at);
        }
        let judgement = self.filter.judge(&parsed.document)?;
        let cause = self.settle_document(task, answered, Some(parsed), &judgement, exchange)?;
        self.follow(row, parsed, cause, answered.at)
    }

    /// Records a judged page; returns why its links are not followed, if they are not.
    fn settle_document(
        &mut self,
        task: &Task,
        answered: &Answered,
        parsed: Option<&Parsed>,
        judgement: &Judgement,
        exchange: Option<warc::Exchange>,
    ) -> Result<Option<SkipCause>, CrawlError> {
        let row = &task.queued.url;
        let depth = self.state().depth(row.id)?;
        let of = judgement
            .verdict
            .matched()
            .map(|matched| self.state().name_of(matched.of))
            .transpose()?;
        let policy = of.as_deref().map(|of| self.policy(&row.url, of));
        let action = Action {
            judgement,
            of: of.as_deref(),
            stored: policy.is_none_or(|policy| policy.store == Store::Keep),
            cause: policy
                .filter(|policy| policy.links == Links::Skip && depth > 0)
                .and_then(|_| of.as_deref().map(|of| kind_of_duplicate(&row.url, of))),
        };
        let capture = exchange.as_ref().map(capture);
        self.write_lines(task, depth, answered, parsed, &action, exchange)?;
        let title = parsed.and_then(|parsed| parsed.title.as_deref());
        self.state().describe_document(judgement.id, title, action.stored, capture)?;
        if let Some(parsed) = parsed {
            self.keep_text(parsed, &action)?;
        }
        self.state().settle_url(
            row.id,
            UrlState::Judged,
            None,
            Some(answered.status),
            answered.at,
        )?;
        tracing::debug!(url = row.url, number = judgement.id.0, verdict = ?judgement.verdict, "judged");
        match judgement.verdict {
            Verdict::Unique => self.counts.unique += 1,
            Verdict::Duplicate(found) if found.kind == Kind::Exact => self.counts.exact += 1,
            Verdict::Duplicate(_) => self.counts.near += 1,
        }
        Ok(action.cause)
    }

    /// Keeps the text of a near duplicate that is not stored: in what it differs from its match is told nowhere else.
    fn keep_text(&self, parsed: &Parsed, action: &Action<'_>) -> Result<(), CrawlError> {
        let (id, found) = (action.judgement.id, action.judgement.verdict.matched());
        let is_kept = self.plan.store.text && !action.stored;
        match found.filter(|found| is_kept && found.kind == Kind::Near) {
            None => {}
            // What is told of its text is told of the text that is known by its body.
            Some(found) if found.step == Step::Body => {
                let body = parsed.document.body.expect("a page has a body");
                self.state().keep_text_of_body(id, body)?;
            }
            Some(_) => {
                let truncated = parsed.truncated.map(Truncation::as_str);
                self.state().keep_text(id, &parsed.text, parsed.charset, truncated)?;
            }
        }
        Ok(())
    }

    fn write_lines(
        &mut self,
        task: &Task,
        depth: u32,
        answered: &Answered,
        parsed: Option<&Parsed>,
        action: &Action<'_>,
        exchange: Option<warc::Exchange>,
    ) -> Result<(), CrawlError> {
        let row = &task.queued.url;
        let decision = Decision::new(&row.url, Some(&row.url), action.judgement, action.of);
        let position = exchange
            .map(|exchange| self.archive_page(exchange, &decision, action))
            .transpose()?
            .flatten();
        let referrer = row.referrer.map(|id| self.state().url_by_id(id)).transpose()?.flatten();
        let referrer = referrer.map(|row| row.url.into());
        let status = answered.status;
        let fetched_at = answered.at;
        let (Some(parsed), true) = (parsed, action.stored) else {
            let line = DuplicateLine { decision, status, fetched_at, depth, referrer };
            self.sink.write_duplicate(&line)?;
            return Ok(());
        };
        let seed = row.seed.and_then(|seed| self.plan.seeds.get(seed));
        let sketch = parsed.document.sketch();
        let line = PageLine {
            decision,
            title: parsed.title.as_deref().map(Into::into),
            text: self.plan.store.text.then(|| parsed.text.as_str().into()),
            status,
            content_type: answered.content_type.as_deref().map(Into::into),
            charset: parsed.charset.into(),
            fetched_at,
            depth,
            referrer,
            seed: seed.map(|seed| seed.source.to_string().into()),
            tags: seed.map(|seed| seed.tags.iter().map(Into::into).collect()).unwrap_or_default(),
            signature: (sketch.features > 0).then_some(sketch.signature),
            canonical: parsed.canonical.as_ref().map(|url| url.as_str().into()),
            truncated: parsed.truncated.map(|why| why.as_str().into()),
            warc: position,
        };
        self.sink.write_page(&line)?;
        Ok(())
    }

    fn skip(&mut self, task: &Task, skipped: &Skipped) -> Result<(), CrawlError> {
        if matches!(skipped.reason, Reason::Failure | Reason::Status) {
            self.counts.failed += 1;
        }
        let state = UrlState::Skipped(skipped.reason);
        let detail = skipped.detail.as_deref();
        let id = task.queued.url.id;
        self.state().settle_url(id, state, detail, skipped.status, Timestamp::now())?;
        if let Some(cause) = skipped.cause {
            self.state().set_cause(id, cause)?;
        }
        Ok(())
    }

    /// The budget of the URL's seed is spent: it goes to the next seed that admits it, or is skipped.
    fn move_to_another_seed(&mut self, task: &Task) -> Result<(), CrawlError> {
        let row = task.queued.url.clone();
        let url = NormalUrl::parse(&row.url, &self.url_options)?;
        match self.admit(&url, row.kind, self.state().depth(row.id)?, None) {
            Ok(seed) => self.revive(&row, seed),
            Err(refusal) => {
                let reason = match refusal {
                    Refusal::Depth => Reason::Depth,
                    Refusal::Scope | Refusal::Budget => Reason::Budget,
                };
                let state = UrlState::Skipped(reason);
                Ok(self.state().settle_url(row.id, state, None, None, Timestamp::now())?)
            }
        }
    }

    pub(super) fn archive_plain(
        &mut self,
        exchange: Option<warc::Exchange>,
    ) -> Result<(), CrawlError> {
        exchange.map_or(Ok(()), |exchange| self.archive(exchange, &warc::Kind::Response).map(drop))
    }

    fn archive_page(
        &mut self,
        exchange: warc::Exchange,
        decision: &Decision<'_>,
        action: &Action<'_>,
    ) -> Result<Option<Position>, CrawlError> {
        let matched = action
            .judgement
            .verdict
            .matched()
            .map(|matched| self.state().document(matched.of))
            .transpose()?;
        let Some(document) = matched.flatten() else {
            return self.archive(exchange, &warc::Kind::Response);
        };
        let original = document.capture.map(|capture| warc::Original {
            target_uri: &document.name,
            at: capture.at,
            payload: warc::PayloadDigest(capture.payload),
        });
        self.archive(exchange, &warc::Kind::Duplicate { decision, original, keep: action.stored })
    }

    pub(super) fn archive(
        &mut self,
        exchange: warc::Exchange,
        kind: &warc::Kind<'_>,
    ) -> Result<Option<Position>, CrawlError> {
        Ok(self.sink.write_exchange(&exchange, kind)?)
    }

    /// What is done with a page that repeats `of`.
    fn policy(&self, url: &str, of: &str) -> Policy {
        if same_site(url, of) { self.plan.dedup.same_site } else { self.plan.dedup.cross_site }
    }
}

/// How a response is found in WARC files.
fn capture(exchange: &warc::Exchange) -> Capture {
    Capture { payload: warc::PayloadDigest::of(&exchange.body).0, at: exchange.at }
}

/// Why the links of a page that repeats `of` are not followed.
fn kind_of_duplicate(url: &str, of: &str) -> SkipCause {
    if same_site(url, of) { SkipCause::SameSite } else { SkipCause::CrossSite }
}

pub(super) fn same_site(a: &str, b: &str) -> bool {
    let site = |url: &str| Some(site_of(url::Url::parse(url).ok()?.host_str()?).to_owned());
    site(a) == site(b)
}
