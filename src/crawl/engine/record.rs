//! Records what became of a URL, and where its links lead.
//!
//! [`Engine::record`] judges a page and takes the URL out of the queue; `action` decides by policy whether the page is stored and whether its
//! links are followed. [`Engine::discover`] enters each URL that was found: it is new or known, and a seed list admits it or not.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use tracing::{Span, trace_span};
use url::Url;

use super::{
    Engine,
    alarm::{Alarm, LAST, Place},
    now,
};
use crate::{
    crawl::{
        against::FoundElsewhere,
        cluster::SentLink,
        plan::{CrawlError, Links, Policy, Root, Store},
        read_run::{MOVED, Moved},
        robots,
        schedule::RobotsTask,
        scope::Seed,
        sitemap::Sitemap,
        worker::{Fetched, Outcome, Parsed, Received, Retry, RobotsOutcome, Skipped},
    },
    extract::{Extracted, Truncation},
    filter::{Document, Judgement, Kind, Match, Step, Verdict},
    learn::Yielded,
    page::{NormalUrl, Origin, Timestamp, Validators, site_of},
    report::{MIRROR, MovedSeed, SEEDS, UNREPRESENTED, Warning, counted, host_name},
    sink::{Decision, DuplicateLine, PageLine, RecordPosition, VerdictName, warc},
    state::{
        Capture, HostId, KnownUrl, Late, NewUrl, Queued, Reason, RobotsRow, SkipCause,
        SuspendCause, UrlId, UrlKind, UrlOutcome, UrlRow, UrlState, Visit,
    },
};

/// Redirects in a row that are followed.
const MAX_REDIRECTS: u32 = 10;

/// Sitemaps of one host that are queued by one start of a run; further ones are a trap for crawlers.
const MAX_SITEMAPS: usize = 1_000;

/// A text of a line.
type Text = Cow<'static, str>;

/// What policy does with a judged page.
pub(super) struct Action<'a> {
    judgement: &'a Judgement,
    /// The URL of the match.
    of: Option<String>,
    /// Its run, if it is of another one.
    run: Option<String>,
    stored: bool,
    pub(super) links: FollowLinks,
}

/// How the links of a page are followed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FollowLinks {
    /// Why they are skipped, if they are.
    pub(super) skip: Option<SkipCause>,
    /// Whether they are followed after those of unique pages.
    pub(super) late: bool,
}

/// Which sitemaps are followed.
#[derive(Debug, Default)]
pub(super) struct Sitemaps {
    /// The root URLs (scheme, name and port) whose robots.txt names sitemaps for a seed list.
    seeds: BTreeMap<String, usize>,
    /// How many sitemaps of each host were found.
    found: HashMap<Origin, usize>,
}

impl Sitemaps {
    pub(super) fn new(seeds: &[Seed], roots: &[Root]) -> Self {
        let lists = seeds.iter().zip(roots).enumerate().filter(|(_, (seed, _))| seed.sitemaps);
        let seeds = lists
            .rev()
            .flat_map(|(seed, (_, (_, urls)))| urls.iter().map(move |url| (url.root_url(), seed)));
        Self { seeds: seeds.collect(), found: HashMap::new() }
    }

    /// Whether one more sitemap of this host may be queued.
    fn admit(&mut self, url: &NormalUrl) -> bool {
        let count = self.found.entry(url.origin()).or_default();
        *count += 1;
        *count <= MAX_SITEMAPS
    }
}

/// Where a URL was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) kind: UrlKind,
    pub(super) depth: u32,
    /// Redirects in a row that led to it: the `hops` of the row.
    pub(super) hops: u32,
    pub(super) referrer: Option<UrlId>,
    /// The seed list that names it as a seed.
    pub(super) seed: Option<usize>,
    /// Why it is not followed from there, if it is not.
    pub(super) skip: Option<SkipCause>,
    /// Whether it is fetched after others.
    pub(super) late: bool,
    pub(super) at: Timestamp,
}

impl Found {
    /// A page found at this time and depth, without anything special about it.
    pub(super) fn page(referrer: Option<UrlId>, depth: u32, at: Timestamp) -> Self {
        let (kind, hops) = (UrlKind::Page, 0);
        Self { kind, depth, hops, referrer, seed: None, skip: None, late: false, at }
    }
}

impl Engine {
    /// Records what became of the request of a URL, unless another one follows.
    pub(super) fn record_fetched(&mut self, fetched: Fetched) -> Result<(), CrawlError> {
        let again = again(&fetched);
        let Fetched { task, outcome, exchange, .. } = fetched;
        let (queued, at) = (&task.queued, now());
        if let Some(again) = again {
            self.archive(exchange.as_ref())?;
            self.ask_again(queued, again)?;
            self.schedule.useful_answer(at);
            self.schedule.finished(&task, false, at);
            return self.finish_url(&queued.url, false);
        }
        let is_useful = match &outcome {
            Outcome::Skipped(skipped) => {
                if self.try_again(queued, skipped, at)?.is_some() {
                    self.archive(exchange.as_ref())?;
                    self.schedule.finished(&task, false, at);
                    return self.end_turn(&queued.url);
                }
                skipped.status.is_some() && skipped.retry.is_none()
            }
            _ => true,
        };
        if is_useful {
            self.schedule.useful_answer(at);
        }
        if let Outcome::Page(received, _) = &outcome {
            self.counts.bytes += received.size;
        }
        let is_page = self.record(queued, outcome, exchange.as_ref())?;
        self.schedule.finished(&task, is_page, at);
        self.finish_url(&queued.url, is_page)
    }

    fn ask_again(&mut self, queued: &Queued, again: Again) -> Result<(), CrawlError> {
        match again {
            Again::Redirected(row, seed) => self.requeue(&row, seed, None),
            Again::WithoutValidators(visit) => {
                self.state().set_visit(queued.url.id, &visit)?;
                self.put_back(queued.key(), true)
            }
        }
    }

    /// Records what became of the request of a robots.txt. If it was not received, that is an attempt of the URL that needs it.
    pub(super) fn record_robots(
        &mut self,
        task: &RobotsTask,
        outcome: RobotsOutcome,
        exchange: Option<&warc::Exchange>,
    ) -> Result<(), CrawlError> {
        self.archive(exchange)?;
        let (queued, host, at) = (&task.queued, task.queued.url.host, now());
        match outcome {
            RobotsOutcome::Rules(robots, age, received) => {
                let too_slow = self.schedule.set_robots(task, robots, age, at);
                self.put_back(queued.key(), true)?;
                if let Some(cause) = too_slow {
                    self.suspend(host, cause)?;
                }
                if let Some(received) = received {
                    self.state().set_robots(&task.root_url(), &received)?;
                    self.follow_robots(&task.root_url(), &received)?;
                }
            }
            RobotsOutcome::Redirect(request) => {
                self.schedule.request_robots_again(task, Some(request), at);
                self.put_back(queued.key(), true)?;
            }
            RobotsOutcome::Failed(skipped, robots) => {
                let again = self.try_again(queued, &skipped, at)?;
                if let Some(due) = again.filter(|_| skipped.retry != Some(Retry::Unanswered)) {
                    self.schedule.pause_until(host, due);
                }
                if again.is_some() || skipped.retry == Some(Retry::Unanswered) {
                    self.schedule.request_robots_again(task, None, at);
                } else {
                    // It holds for the other URLs of the host too.
                    self.schedule.set_robots(task, robots, Duration::ZERO, at);
                }
                if again.is_some() {
                    return self.end_turn(&queued.url);
                }
                self.record(queued, Outcome::Skipped(skipped), None)?;
                self.finish_url(&queued.url, false)?;
            }
        }
        Ok(())
    }

    /// Records what became of a URL. Returns whether a page was received.
    fn record(
        &mut self,
        queued: &Queued,
        outcome: Outcome,
        exchange: Option<&warc::Exchange>,
    ) -> Result<bool, CrawlError> {
        if let Some(visit) = &queued.visit {
            return self.record_visit(queued, outcome, exchange, visit);
        }
        let (row, is_page) = (&queued.url, outcome.is_page());
        let skipped = match outcome {
            Outcome::Page(received, parsed) if parsed.extracted.robots.noindex => {
                self.learn(row, Err(Yielded::Nothing))?;
                self.follow_unindexed(row, &received, &parsed)?
            }
            Outcome::Page(received, parsed) => {
                let judgement = self.judge(&parsed.document)?;
                let (links, of) =
                    self.record_judged(queued, &received, &parsed, &judgement, exchange)?;
                let took = u64::try_from(received.took.as_millis()).ok();
                self.builder.found(took, received.size, self.urls.depth(row.id)?);
                self.learn(row, Ok((&judgement, &parsed)))?;
                self.follow_links(row, &parsed, links, received.at)?;
                self.watch(row, &judgement, of.as_deref())?;
                return Ok(true);
            }
            Outcome::Sitemap(received, sitemap) => self.follow_sitemap(row, &received, &sitemap)?,
            Outcome::Redirect { status, target, .. } => {
                self.learn_redirect(row, &target)?;
                self.follow_redirect(row, status, &target)?
            }
            Outcome::Skipped(skipped) => {
                if skipped.is_no_page() {
                    self.learn(row, Err(Yielded::Nothing))?;
                } else if skipped.is_dead() {
                    self.learn_dead(row)?;
                }
                skipped
            }
            // Only what is known can be unchanged.
            Outcome::Unchanged(..) => Skipped::new(Reason::Status, Some(304), None),
        };
        self.archive(exchange)?;
        self.skip(row, &skipped)?;
        Ok(is_page)
    }

    /// Judges a page: what it repeats in another run comes first, because it was seen earlier.
    pub(super) fn judge(&mut self, document: &Document) -> Result<Judgement, CrawlError> {
        let _judging = trace_span!("judge").entered();
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

    /// A URL has an outcome: counts it, and goes on with what waited for that.
    pub(super) fn finish_url(&mut self, row: &UrlRow, is_page: bool) -> Result<(), CrawlError> {
        self.end_attempts(row.id)?;
        if is_page {
            self.counts.fetched += 1;
            if let Some(spent) = row.seed.and_then(|seed| self.spent.get_mut(seed)) {
                *spent += 1;
            }
        }
        self.retry_failures()?;
        self.end_flight(row.id);
        self.end_turn(row)
    }

    /// The turn of a URL is over: releases the late URLs for which there is room now.
    pub(super) fn end_turn(&mut self, row: &UrlRow) -> Result<(), CrawlError> {
        self.release_late(row.host)?;
        if self.schedule.takes_turns() {
            self.move_to_back(row.host)?;
            self.schedule.end_turn();
        }
        self.batch.urls += 1;
        Ok(())
    }

    /// Records a judged page. Returns how its links are followed, and the URL of its match.
    pub(super) fn record_judged(
        &mut self,
        queued: &Queued,
        received: &Received,
        parsed: &Parsed,
        judgement: &Judgement,
        exchange: Option<&warc::Exchange>,
    ) -> Result<(FollowLinks, Option<String>), CrawlError> {
        let row = &queued.url;
        let depth = self.urls.depth(row.id)?;
        let action = self.action(row.url.as_str(), depth, judgement)?;
        let capture = exchange.map(|exchange| Capture {
            payload: warc::PayloadDigest::of(&exchange.body).0,
            at: exchange.at,
        });
        self.write_line(queued, depth, received, parsed, &action, exchange)?;
        let (id, extracted) = (judgement.id, &parsed.extracted);
        let (title, needs_scripts) = (extracted.title.as_deref(), extracted.needs_scripts);
        self.state().describe_document(id, title, action.stored, capture, needs_scripts)?;
        if !std::mem::replace(&mut self.has_judged, true) {
            self.record_method()?;
        }
        if !action.stored && self.plan.store.text {
            self.keep_text(parsed, judgement)?;
        }
        let (state, status, at) = (UrlState::Judged, Some(received.status), received.at);
        let outcome = UrlOutcome { state, cause: None, detail: None, status, at };
        self.urls.record_outcome(self.filter.state(), row.id, &outcome)?;
        self.note_visit(queued, received, parsed, judgement)?;
        Span::current().record("verdict", VerdictName::from(judgement).as_str());
        tracing::debug!(url = %row.url, number = judgement.id.0, verdict = ?judgement.verdict, "judged");
        match judgement.verdict {
            Verdict::Unique => self.counts.unique += 1,
            Verdict::Duplicate(found) if found.kind == Kind::Exact => self.counts.exact += 1,
            Verdict::Duplicate(_) => self.counts.near += 1,
        }
        Ok((action.links, action.of))
    }

    /// Warns if a host begins to lose its pages, or its site has none. Its links are followed by then.
    pub(super) fn watch(
        &mut self,
        row: &UrlRow,
        judgement: &Judgement,
        of: Option<&str>,
    ) -> Result<(), CrawlError> {
        let matched = judgement.verdict.matched();
        let of = of.and_then(|of| Url::parse(of).ok());
        let host = host_name(Some(row.url.as_url()));
        let of_host = host_name(of.as_ref());
        let of_site = of.as_ref().and_then(Url::host_str).map_or("", site_of);
        let found = matched.map(|found| (found, Place { host: &of_host, site: of_site }));
        let is_last = self.urls.queue.waiting(row.host) == 0
            && self.urls.queue.late_groups(row.host).next().is_none()
            && self.schedule.tasks_of(row.host) <= 1;
        let place = Place { host: &host, site: row.url.site() };
        for alarm in self.alarms.judged(place, found, is_last) {
            let (host, url) = (host.clone(), row.url.to_string());
            let warning = match alarm {
                Alarm::Dropped(duplicates) => {
                    Warning::Dropped { host, url, pages: LAST, duplicates }
                }
                Alarm::Absorbed(of, duplicates) => {
                    Warning::ManyDuplicates { url: self.filter.id_of(of)?, duplicates }
                }
                Alarm::Mirror { host, pages, common, of, again } => {
                    let warning = Warning::Mirror { host, pages, duplicates: common, of };
                    if again {
                        self.builder.note_alarm(warning);
                        continue;
                    }
                    warning
                }
                Alarm::Unrepresented { sites, site, pages } => {
                    Warning::Unrepresented { sites, site, pages }
                }
                Alarm::NoMirror(host) => {
                    self.builder.end_alarm(MIRROR, &host);
                    continue;
                }
                Alarm::Represented => {
                    self.builder.end_alarm(UNREPRESENTED, "");
                    continue;
                }
            };
            self.raise(row.host, warning)?;
        }
        Ok(())
    }

    /// Warns of something that was noticed with a page of this host.
    fn raise(&mut self, host: HostId, warning: Warning) -> Result<(), CrawlError> {
        // What it says of more sites than before is no other warning.
        let (message, is_of_host) =
            (warning.to_string(), !matches!(warning, Warning::Unrepresented { .. }));
        if self.builder.note_alarm(warning) {
            tracing::warn!("{message}");
            if is_of_host && self.plan.politeness.pause_on_alarm {
                self.suspend(host, SuspendCause::Alarm)?;
            }
        }
        Ok(())
    }

    /// What policy does with a page.
    pub(super) fn action<'a>(
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
        if let (Step::Body, Some(body)) = (found.step, parsed.document.sketch.body) {
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
        queued: &Queued,
        depth: u32,
        received: &Received,
        parsed: &Parsed,
        action: &Action<'_>,
        exchange: Option<&warc::Exchange>,
    ) -> Result<(), CrawlError> {
        let (row, url) = (&queued.url, queued.url.url.as_str());
        let decision = Decision::new(url, Some(url), action.judgement, action.of.as_deref());
        let archived = exchange.map(|it| self.archive_judged(it, &decision, action)).transpose()?;
        let (referrer, redirects) = self.way_to(row)?;
        let (status, fetched_at) = (received.status, received.at.into());
        let (size, time) = (received.size, u64::try_from(received.took.as_millis()).ok());
        let against = action.run.as_deref().map(Into::into);
        let list = row.seed.and_then(|seed| self.plan.seeds.get(seed));
        let seed = list.map(|list| list.source.to_string().into());
        if !action.stored {
            let line = DuplicateLine {
                decision,
                against,
                status,
                fetched_at,
                size,
                time,
                depth,
                referrer,
                redirects,
                seed,
            };
            return Ok(self.sink.write_duplicate(&line)?);
        }
        let (extracted, sketch) = (&parsed.extracted, parsed.document.sketch());
        let line = PageLine {
            decision,
            against,
            title: extracted.title.as_deref().map(Into::into),
            heading: extracted.heading.as_deref().map(Into::into),
            description: extracted.description.as_deref().map(Into::into),
            text: self.plan.store.text.then(|| extracted.text.as_str().into()),
            status,
            content_type: received.content_type.as_deref().map(Into::into),
            charset: extracted.charset.into(),
            fetched_at,
            size,
            time,
            depth,
            referrer,
            redirects,
            seed,
            tags: list.map(|list| list.tags.iter().map(Into::into).collect()).unwrap_or_default(),
            signature: (sketch.text.features > 0).then_some(sketch.text.signature),
            canonical: parsed.canonical.as_ref().map(|url| url.as_str().into()),
            truncated: extracted.truncated.map(|why| why.as_str().into()),
            warc: archived.flatten(),
        };
        Ok(self.sink.write_page(&line)?)
    }

    /// The URL on which this one was found first, and those whose redirects led to it, the first one first.
    fn way_to(&self, row: &UrlRow) -> Result<(Option<Text>, Vec<Text>), CrawlError> {
        let (mut referrer, mut redirects, mut next) = (None, Vec::new(), row.referrer);
        for _ in 0..=row.hops.min(MAX_REDIRECTS) {
            let Some(id) = next else { break };
            let before = self.state().url(id)?;
            let url = Text::from(before.url.to_string());
            if before.state == UrlState::Skipped(Reason::Redirect) {
                redirects.push(url.clone());
            }
            referrer.get_or_insert(url);
            next = before.referrer;
        }
        redirects.reverse();
        Ok((referrer, redirects))
    }

    fn skip(&mut self, row: &UrlRow, skipped: &Skipped) -> Result<(), CrawlError> {
        let &Skipped { reason, cause, ref detail, status, .. } = skipped;
        if matches!(reason, Reason::Failure | Reason::Status) {
            self.counts.failed += 1;
        }
        if cause.is_some_and(SkipCause::may_pass) {
            self.note_failure();
            if row.referrer.is_none() {
                tracing::info!(url = %row.url, why = detail, status, "seed cannot be reached");
            }
        }
        self.record_skipped(row, skipped)
    }

    /// Records that a URL is skipped.
    pub(super) fn record_skipped(
        &mut self,
        row: &UrlRow,
        skipped: &Skipped,
    ) -> Result<(), CrawlError> {
        let &Skipped { reason, cause, ref detail, status, .. } = skipped;
        let (state, detail, at) = (UrlState::Skipped(reason), detail.as_deref(), Timestamp::now());
        let outcome = UrlOutcome { state, cause, detail, status, at };
        Ok(self.urls.record_outcome(self.filter.state(), row.id, &outcome)?)
    }

    /// Archives what was sent and received, if it is archived.
    pub(super) fn archive(&mut self, exchange: Option<&warc::Exchange>) -> Result<(), CrawlError> {
        if let Some(exchange) = exchange {
            self.sink.write_exchange(exchange, &warc::ExchangeKind::Response)?;
        }
        Ok(())
    }

    /// Follows the links of a page that asks not to be indexed. Returns why it is skipped.
    pub(super) fn follow_unindexed(
        &mut self,
        row: &UrlRow,
        received: &Received,
        parsed: &Parsed,
    ) -> Result<Skipped, CrawlError> {
        self.follow_links(row, parsed, FollowLinks::default(), received.at)?;
        let detail = Some("the page says noindex".to_owned());
        Ok(Skipped::new(Reason::Noindex, Some(received.status), detail))
    }

    /// The budget of the URL's seed is spent: moves it to the next seed that admits it, or skips it; a known page stays known. For a seed
    /// that only its own list admits, the lists would give [`Reason::Scope`], but the spent budget is the cause.
    pub(super) fn move_to_another_seed(&mut self, queued: &Queued) -> Result<(), CrawlError> {
        let row = &queued.url;
        if queued.visit.is_some() {
            self.record_known(row)?;
            return self.finish_url(row, false);
        }
        let reason = match self.admit(&row.url, row.kind, row.depth, None) {
            Ok(seed) => {
                self.requeue(row, seed, None)?;
                self.end_flight(row.id);
                return self.end_turn(row);
            }
            Err(Reason::Scope) => Reason::Budget,
            Err(reason) => reason,
        };
        self.skip(row, &Skipped::new(reason, None, None))?;
        self.finish_url(row, false)
    }

    /// Archives the exchange of a judged page; of a duplicate, with a reference to its match.
    fn archive_judged(
        &mut self,
        exchange: &warc::Exchange,
        decision: &Decision<'_>,
        action: &Action<'_>,
    ) -> Result<Option<RecordPosition>, CrawlError> {
        let matched = action.judgement.verdict.matched();
        let document = matched.map(|matched| self.state().document(matched.of)).transpose()?;
        let Some(document) = document.flatten() else {
            return Ok(self.sink.write_exchange(exchange, &warc::ExchangeKind::Response)?);
        };
        let original = document.capture.map(|capture| warc::Original {
            target_uri: &document.name,
            at: capture.at,
            payload: warc::PayloadDigest(capture.payload),
        });
        let kind = warc::ExchangeKind::Duplicate { decision, original, keep: action.stored };
        Ok(self.sink.write_exchange(exchange, &kind)?)
    }

    /// Enters the links of a page, unless they are skipped. Its canonical link within the same site is followed in any case, but late, because
    /// it probably leads to the same text.
    pub(super) fn follow_links(
        &mut self,
        from: &UrlRow,
        parsed: &Parsed,
        FollowLinks { skip, late }: FollowLinks,
        at: Timestamp,
    ) -> Result<(), CrawlError> {
        let found = Found::page(Some(from.id), self.urls.depth(from.id)? + 1, at);
        let mut to = Vec::with_capacity(parsed.links.len() + 1);
        if let Some(canonical) = &parsed.canonical
            && same_site(from.url.as_str(), canonical.as_str())
            && *canonical != from.url
        {
            to.push(self.discover(canonical, &Found { late: self.plan.dedup.learns(), ..found })?);
        }
        for link in &parsed.links {
            to.push(self.discover(link, &Found { skip, late, ..found })?);
        }
        Ok(self.state().set_links(from.id, &to)?)
    }

    /// Enters the target of a redirect.
    pub(super) fn follow_redirect(
        &mut self,
        row: &UrlRow,
        status: u16,
        target: &Result<NormalUrl, String>,
    ) -> Result<Skipped, CrawlError> {
        let hops = row.hops + 1;
        let detail = match target {
            Ok(target) if *target == row.url => {
                "to itself, as some servers do until a cookie comes back; nothing else to follow"
                    .to_owned()
            }
            Ok(target) if hops <= MAX_REDIRECTS => {
                let depth = self.urls.depth(row.id)?;
                let found = Found::page(Some(row.id), depth, Timestamp::now());
                if depth == 0 {
                    self.follow_move(row, target)?;
                }
                let to = self.discover(target, &Found { kind: row.kind, hops, ..found })?;
                self.state().set_links(row.id, &[to])?;
                target.as_str().to_owned()
            }
            Ok(target) => format!(
                "{} (not followed: more than {MAX_REDIRECTS} redirects in a row)",
                target.as_str()
            ),
            Err(why) => why.clone(),
        };
        Ok(Skipped::new(Reason::Redirect, Some(status), Some(detail)))
    }

    /// If a seed is redirected to https, to `www.` or from there, its scope comes along.
    fn follow_move(&mut self, row: &UrlRow, target: &NormalUrl) -> Result<(), CrawlError> {
        let mut first = row.clone();
        while first.hops > 0
            && let Some(before) = first.referrer.map(|id| self.state().url_by_id(id)).transpose()?
        {
            let Some(before) = before else { break };
            first = before;
        }
        let is_of_seed = first.referrer.is_none() && first.kind == UrlKind::Page;
        if is_of_seed && self.move_scope(&row.url, target) {
            let (mut count, mut seeds): Moved = self.state().json(MOVED)?.unwrap_or_default();
            count += 1;
            if seeds.len() < SEEDS {
                seeds.push(MovedSeed { url: row.url.to_string(), to: target.to_string() });
            }
            self.state().set_json(MOVED, &(count, seeds))?;
        }
        Ok(())
    }

    /// The same for the redirects of seeds that earlier starts have found.
    pub(super) fn follow_known_moves(&mut self, roots: &[Root]) -> Result<(), CrawlError> {
        for mut url in roots.iter().flat_map(|(_, urls)| urls).cloned() {
            for _ in 0..MAX_REDIRECTS {
                let known = self.urls.find(url.as_str());
                let is_redirect = |it: &KnownUrl| it.state == UrlState::Skipped(Reason::Redirect);
                let Some(known) = known.filter(is_redirect) else { break };
                let target = self.state().url(known.id)?.detail;
                let Some(target) = target.and_then(|it| NormalUrl::stored(&it)) else { break };
                self.move_scope(&url, &target);
                url = target;
            }
        }
        Ok(())
    }

    /// Whether the scope grows by what lies there in the same place.
    fn move_scope(&mut self, from: &NormalUrl, to: &NormalUrl) -> bool {
        let is_moved = self.scope.follow_move(from, to);
        if let Some(&seed) = self.sitemaps.seeds.get(&from.root_url()).filter(|_| is_moved) {
            self.sitemaps.seeds.insert(to.root_url(), seed);
        }
        is_moved
    }

    /// Enters the pages and sitemaps that a sitemap lists.
    pub(super) fn follow_sitemap(
        &mut self,
        row: &UrlRow,
        received: &Received,
        sitemap: &Sitemap,
    ) -> Result<Skipped, CrawlError> {
        let found = Found::page(Some(row.id), 0, received.at);
        let mut problems = sitemap.problems.len() + sitemap.more_problems;
        let mut to = Vec::with_capacity(sitemap.urls.len());
        for url in &sitemap.urls {
            if let Ok(url) = NormalUrl::new(url, &self.url_options) {
                to.push(self.discover(&url, &found)?);
            }
        }
        for url in &sitemap.nested {
            match NormalUrl::new(url, &self.url_options) {
                Ok(url) if self.sitemaps.admit(&url) => {
                    to.push(self.discover(&url, &Found { kind: UrlKind::Sitemap, ..found })?);
                }
                _ => problems += 1,
            }
        }
        self.state().set_links(row.id, &to)?;
        for problem in &sitemap.problems {
            tracing::warn!(url = %row.url, %problem, "sitemap");
        }
        let mut detail = sitemap.counts();
        if problems > 0 {
            detail = format!("{detail}, {}", counted(problems, "problem"));
        }
        Ok(Skipped::new(Reason::Sitemap, Some(received.status), Some(detail)))
    }

    /// Enters the sitemaps that a robots.txt names, if a seed list asks for them.
    pub(super) fn follow_robots(
        &mut self,
        root_url: &str,
        robots: &RobotsRow,
    ) -> Result<(), CrawlError> {
        let Some(&seed) = self.sitemaps.seeds.get(root_url) else { return Ok(()) };
        let found = Found { seed: Some(seed), ..Found::page(None, 0, robots.at) };
        for named in robots::sitemaps(&robots.body) {
            let url = named.and_then(|url| {
                NormalUrl::new(&url, &self.url_options).map_err(|_| url.to_string())
            });
            match url {
                Ok(url) if self.sitemaps.admit(&url) => {
                    self.discover(&url, &Found { kind: UrlKind::Sitemap, ..found })?;
                }
                Ok(_) => {}
                Err(named) => {
                    tracing::warn!(%root_url, named, "robots.txt names a sitemap without an absolute URL");
                }
            }
        }
        Ok(())
    }

    /// The same for the robots.txt files that earlier starts have received.
    pub(super) fn follow_known_robots(&mut self) -> Result<(), CrawlError> {
        let root_urls: Vec<String> = self.sitemaps.seeds.keys().cloned().collect();
        for root_url in root_urls {
            if let Some(robots) = self.state().robots(&root_url)? {
                self.follow_robots(&root_url, &robots)?;
            }
        }
        Ok(())
    }

    /// Enters a URL that was found, and queues it if it is new and a seed admits it. Returns its number.
    pub(super) fn discover(&mut self, url: &NormalUrl, found: &Found) -> Result<UrlId, CrawlError> {
        match self.urls.find(url.as_str()) {
            Some(known) => self.rediscover(url, known, found).map(|()| known.id),
            None => self.add(url, found),
        }
    }

    /// A new URL was found.
    fn add(&mut self, url: &NormalUrl, found: &Found) -> Result<UrlId, CrawlError> {
        let host = self.urls.host(self.filter.state(), url.origin().as_str())?;
        let admitted = self.admit(url, found.kind, found.depth, found.seed);
        let owner = self.owner(url);
        let (state, cause) = match (&admitted, found.skip) {
            (Ok(_), None) if owner.is_some() => (UrlState::Skipped(Reason::Member), None),
            (Err(reason), _) => (UrlState::Skipped(*reason), None),
            (Ok(_), Some(cause)) => (UrlState::Skipped(Reason::DuplicateLinks), Some(cause)),
            (Ok(_), None) => (UrlState::Queued, None),
        };
        let &Found { kind, depth, hops, referrer, at, .. } = found;
        let is_late = found.late && kind == UrlKind::Page && state == UrlState::Queued;
        let late = is_late.then(|| self.group(url)).transpose()?.map(Late::Pattern);
        let url_of = url;
        let (given, url, seed) = (url.other_spelling(), url.as_str(), admitted.ok());
        let new = NewUrl { url, given, host, kind, state, cause, seed, depth, hops, referrer, at };
        let id = self.urls.add(self.filter.state(), &new, late)?;
        if state == UrlState::Skipped(Reason::Member) {
            self.send(owner, url_of, found);
        } else if is_late {
            self.selection.late_hosts.insert(host);
        } else if state == UrlState::Queued {
            self.note_queued(host)?;
        }
        Ok(id)
    }

    /// A known URL was found again. A shorter path lowers its depth, and queues it if it was too deep. A page whose links are followed
    /// queues it if it was found on duplicates only; a seed does if no scope or budget had admitted it. Paths of skipped links do not count.
    fn rediscover(
        &mut self,
        url: &NormalUrl,
        known: KnownUrl,
        found: &Found,
    ) -> Result<(), CrawlError> {
        let (followed, is_nearer) = (found.skip.is_none(), found.depth < known.depth);
        let may_requeue = match known.state {
            UrlState::Queued => false,
            UrlState::Skipped(Reason::DuplicateLinks) => followed,
            UrlState::Skipped(Reason::Member) => followed && is_nearer,
            UrlState::Skipped(Reason::Depth) => followed && (is_nearer || found.seed.is_some()),
            UrlState::Skipped(Reason::Scope | Reason::Budget) => found.seed.is_some(),
            // Another link changes nothing about them.
            UrlState::Skipped(_) | UrlState::Judged => return Ok(()),
        };
        if may_requeue {
            let row = self.state().url(known.id)?;
            if let Ok(seed) = self.admit(url, row.kind, found.depth, found.seed) {
                if let owner @ Some(_) = self.owner(url) {
                    self.urls.set_depth(known.id, found.depth)?;
                    let skipped = Skipped::new(Reason::Member, None, None);
                    self.record_skipped(&row, &skipped)?;
                    self.send(owner, url, &Found { kind: row.kind, ..*found });
                    return Ok(());
                }
                return self.requeue(&UrlRow { depth: found.depth, ..row }, seed, None);
            }
        }
        let skipped = known.state == UrlState::Skipped(Reason::DuplicateLinks);
        if is_nearer && (followed || skipped) {
            self.urls.set_depth(known.id, found.depth)?;
        }
        Ok(())
    }

    /// The member that owns a URL, if it is another one.
    pub(super) fn owner(&self, url: &NormalUrl) -> Option<u32> {
        self.cluster.as_ref().and_then(|cluster| cluster.owner(url))
    }

    /// Sends a URL to the member that owns it.
    fn send(&mut self, owner: Option<u32>, url: &NormalUrl, found: &Found) {
        let Some((cluster, owner)) = self.cluster.as_mut().zip(owner) else { return };
        let mut link = SentLink::new(url, (found.depth, found.hops), found.at);
        (link.is_sitemap, link.late) = (found.kind == UrlKind::Sitemap, found.late);
        cluster.send(owner, link);
    }

    /// Enters the links that other members have found.
    pub(super) fn receive_links(&mut self) -> Result<(), CrawlError> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let links = cluster.receive(now())?;
        if links.is_empty() {
            return Ok(());
        }
        self.begin_batch()?;
        for link in links {
            let Some(url) = link.url() else { continue };
            let kind = if link.is_sitemap { UrlKind::Sitemap } else { UrlKind::Page };
            let found = Found::page(None, link.depth, Timestamp(link.at));
            let late = link.late && self.plan.dedup.learns();
            self.discover(&url, &Found { kind, hops: link.hops, late, ..found })?;
        }
        Ok(())
    }

    /// Queues a URL that had been skipped; with a group, among its late URLs.
    pub(super) fn requeue(
        &mut self,
        row: &UrlRow,
        seed: usize,
        late: Option<Late>,
    ) -> Result<(), CrawlError> {
        self.urls.requeue(self.filter.state(), row, seed, late)?;
        if late.is_none() { self.note_queued(row.host) } else { Ok(()) }
    }

    /// The seed list that admits a known URL: a seed's own list, or any.
    pub(super) fn admit_known(&self, row: &UrlRow) -> Result<usize, Reason> {
        let list = row.seed.filter(|_| row.referrer.is_none());
        self.admit(&row.url, row.kind, row.depth, list)
    }

    /// The seed list that admits a URL. `seed` is the list that names it as a seed.
    pub(super) fn admit(
        &self,
        url: &NormalUrl,
        kind: UrlKind,
        depth: u32,
        seed: Option<usize>,
    ) -> Result<usize, Reason> {
        let seeds = &self.plan.seeds;
        // Its owner counts the pages of another member.
        let is_own = self.owner(url).is_none();
        let spent = |seed: usize| {
            is_own && seeds.get(seed).is_none_or(|options| self.spent[seed] >= options.max_pages)
        };
        if let Some(seed) = seed {
            return self.scope.admit_seed(seed, url, spent);
        }
        if kind == UrlKind::Sitemap {
            return self.scope.admit_sitemap(url, spent);
        }
        let admitted = self.scope.admit(url, depth, spent)?;
        if depth > self.plan.crawl.max_depth { Err(Reason::Depth) } else { Ok(admitted) }
    }
}

/// Another request for a URL, whose answer asks for one that is made in another way.
enum Again {
    /// In the spelling to which it was redirected, or with the cookie that it got; for this seed list.
    Redirected(UrlRow, usize),
    /// Without asking for changes: the server cannot say.
    WithoutValidators(Visit),
}

/// Whether another request follows an answer, through the queue as any: politeness holds for it too.
fn again(fetched: &Fetched) -> Option<Again> {
    let Queued { url: row, visit } = &fetched.task.queued;
    match &fetched.outcome {
        Outcome::Redirect { target: Ok(target), sets_cookie, .. } => {
            let is_respelt = row.url.requested() != target.requested();
            let is_other = row.url == *target && (is_respelt || *sets_cookie);
            let row = UrlRow { url: target.clone(), hops: row.hops + 1, ..row.clone() };
            let seed = row.seed.filter(|_| is_other && row.hops <= MAX_REDIRECTS)?;
            Some(Again::Redirected(row, seed))
        }
        Outcome::Skipped(Skipped { status: Some(400 | 412 | 501), .. }) => {
            let visit = visit.as_deref().filter(|visit| !visit.validators.is_empty())?;
            let validators = Validators::default();
            Some(Again::WithoutValidators(Visit { validators, ..visit.clone() }))
        }
        _ => None,
    }
}

/// Whether two URLs are of one site.
pub(super) fn same_site(a: &str, b: &str) -> bool {
    let site = |url: &str| Some(site_of(url::Url::parse(url).ok()?.host_str()?).to_owned());
    site(a) == site(b)
}
