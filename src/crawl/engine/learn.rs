//! Connects the learner to the engine: defers, postpones and releases URLs by what was learnt.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map, hash_map};

use super::Engine;
use crate::{
    crawl::{
        learnt::{self, Observation, Received},
        plan::{CrawlError, Plan},
        worker::{Parsed, Skipped},
    },
    filter::Judgement,
    learn::{DeferReason, Estimate, Learner, LearntRule, Placement, Reduced, Yielded},
    page::NormalUrl,
    report::{DeferredUrls, Learnt, RuleReport},
    state::{HostId, Late, Queued, Reason, UrlId, UrlKind, UrlRow, UrlState},
};

/// Deferred URLs are looked at again after this many pages, if more of their site is wanted.
const CHECK_INTERVAL: u32 = 100;
/// So many of them at a time: the cost of a page does not depend on how many there are.
const DEFERRED_AT_ONCE: u32 = 5_000;

/// Of so many queued URLs, about, it is estimated what all have.
const QUEUED_SAMPLE: usize = 5_000;
/// Patterns of deferred URLs that a report has, and what it calls the others.
const PATTERNS: usize = 1_000;
const OTHERS: &str = "others";

/// Redirects in a row that are as good as none.
const FEW_HOPS: u32 = 3;

/// The learner, and the late URLs that it has released.
#[derive(Debug)]
pub(super) struct UrlSelection {
    pub(super) learner: Learner,
    /// What it was told since the last commit.
    observed: Vec<Observation>,
    learns: bool,
    /// How many URLs of a host may wait when late ones follow: as many as are in flight.
    width: usize,
    /// Late URLs that were released and not requested yet.
    released: HashSet<UrlId>,
    in_flight: InFlight,
    /// Hosts to which a late URL was added.
    pub(super) late_hosts: BTreeSet<HostId>,
    /// Pages since deferred URLs were looked at.
    pages: u32,
    review: Option<Review>,
}

/// The pages that are requested, will be next, or are to be retried: other URLs of the same page wait until it is judged. They hold up URLs of their own host only, which answers or is given up with them.
#[derive(Debug, Default)]
struct InFlight {
    /// By the host and the number: whether a rule makes this the number of several URLs.
    pages: HashMap<(HostId, u32), bool>,
    urls: HashMap<UrlId, (HostId, u32)>,
}

impl InFlight {
    /// Enters a URL, unless another one of this number is in flight. Returns whether it may be requested: it may not if a rule makes both the same page.
    fn start(&mut self, host: HostId, url: UrlId, reduced: Reduced) -> bool {
        let place = (host, reduced.number);
        // Since it was released, a rule may have given it another number.
        self.end(url);
        match self.pages.entry(place) {
            hash_map::Entry::Vacant(page) => {
                page.insert(reduced.is_by_rule);
                self.urls.insert(url, place);
                true
            }
            hash_map::Entry::Occupied(page) => !(*page.get() || reduced.is_by_rule),
        }
    }

    /// A URL was judged, or given up. Returns the host and the number of its page, if it was the one in flight.
    fn end(&mut self, url: UrlId) -> Option<(HostId, u32)> {
        let place = self.urls.remove(&url)?;
        self.pages.remove(&place);
        Some(place)
    }
}

/// A pass over the deferred URLs, to queue again those that are wanted by now.
#[derive(Debug)]
struct Review {
    /// Of these sites; none means all.
    sites: Option<HashSet<Box<str>>>,
    /// The next one.
    next: UrlId,
}

impl Review {
    /// What is left after so many URLs, of which this was the last one. If they were not as many as may be, it was the end, and the next pass may begin.
    fn after(self, last: Option<UrlId>, count: usize) -> Option<Self> {
        let last = last.filter(|_| count >= DEFERRED_AT_ONCE as usize)?;
        Some(Self { next: UrlId(last.0 + 1), ..self })
    }
}

impl UrlSelection {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            learner: Learner::new(&plan.learn.rules),
            observed: Vec::new(),
            learns: plan.dedup.learns(),
            width: plan.politeness.per_host.get().min(plan.crawl.concurrency.get()),
            released: HashSet::new(),
            in_flight: InFlight::default(),
            late_hosts: BTreeSet::new(),
            pages: 0,
            review: None,
        }
    }
}

impl Engine {
    /// Learns from a page that was judged, or from a response without a text.
    pub(super) fn learn(
        &mut self,
        row: &UrlRow,
        judged: Result<(&Judgement, &Parsed), Yielded>,
    ) -> Result<(), CrawlError> {
        if !self.selection.learns || row.kind != UrlKind::Page {
            return Ok(());
        }
        let from = row.referrer.map(|id| self.state().url_by_id(id)).transpose()?.flatten();
        let yielded = judged.err().unwrap_or(Yielded::KnownText);
        let mut observation = Observation::new(row, from.as_ref(), Received::Answer(yielded));
        if let Ok((judgement, parsed)) = judged {
            let is_new = self.is_new_here(judgement)?;
            // Its passages are remembered in any case.
            let passages = self.selection.learner.add_passages(parsed.document.passages());
            observation.received = Received::Answer(match (is_new, passages.are_many) {
                (true, true) => Yielded::New,
                (true, false) => Yielded::KnownPassages,
                (false, _) => Yielded::KnownText,
            });
            let hash = hash_of(&parsed.extracted.text);
            observation.text = Some((text_of(judgement), hash, passages.all));
            observation.links_back =
                from.as_ref().is_some_and(|from| parsed.links.contains(&from.url));
        }
        self.observe(row, from.as_ref(), observation)?;
        log_changed_rules(&mut self.selection.learner);
        self.selection.pages += 1;
        Ok(())
    }

    /// Tells the learner what was received, and remembers it until the commit.
    fn observe(
        &mut self,
        row: &UrlRow,
        from: Option<&UrlRow>,
        observation: Observation,
    ) -> Result<(), CrawlError> {
        self.recall(row.url.site())?;
        let UrlSelection { learner, observed, .. } = &mut self.selection;
        learnt::teach(learner, &observation, &row.url, from.map(|it| &it.url));
        observed.push(observation);
        Ok(())
    }

    /// Whether a page has a text that this run sees for the first time. A page that only repeats one of another run leads on as it did there.
    fn is_new_here(&self, judgement: &Judgement) -> Result<bool, CrawlError> {
        let Some(found) = judgement.verdict.matched() else { return Ok(true) };
        Ok(self.state().other(found.of)?.is_some_and(|(.., pages)| pages == 1))
    }

    /// Brings back what is kept of a site, if it is not in memory.
    fn recall(&mut self, site: &str) -> Result<(), CrawlError> {
        let learner = &self.selection.learner;
        if learner.needs(site) && learner.has_evicted() {
            // What is kept is part of the batch.
            self.begin_batch()?;
        }
        Ok(learnt::recall(self.filter.state(), &mut self.selection.learner, site)?)
    }

    /// Keeps what was learnt, in the batch that is committed next: what was observed, or all.
    pub(super) fn keep_learnt(&mut self, all: bool) -> Result<(), CrawlError> {
        if self.selection.learns {
            let UrlSelection { learner, observed, .. } = &mut self.selection;
            learnt::keep(self.filter.state(), learner, observed, all)?;
        }
        Ok(())
    }

    /// The group of a URL that is fetched late because only a duplicate has the link.
    pub(super) fn group(&mut self, url: &NormalUrl) -> Result<u32, CrawlError> {
        self.recall(url.site())?;
        Ok(self.selection.learner.group(url.as_url(), url.site()))
    }

    /// Learns from a redirect: a few in a row may lead to a new text, if the crawl goes there.
    pub(super) fn learn_redirect(
        &mut self,
        row: &UrlRow,
        target: &Result<NormalUrl, String>,
    ) -> Result<(), CrawlError> {
        let leads_on = match target {
            Ok(target) => row.hops < FEW_HOPS && self.may_lead_on(target, row.depth)?,
            Err(_) => false,
        };
        let yielded = if leads_on { Yielded::RedirectUndecided } else { Yielded::RedirectToKnown };
        self.learn(row, Err(yielded))
    }

    /// Learns that nothing is at a URL.
    pub(super) fn learn_dead(&mut self, row: &UrlRow) -> Result<(), CrawlError> {
        if self.selection.learns && row.kind == UrlKind::Page {
            self.observe(row, None, Observation::new(row, None, Received::Nothing))?;
        }
        Ok(())
    }

    /// Whether the target of a redirect is new, and is to be requested.
    fn may_lead_on(&mut self, target: &NormalUrl, depth: u32) -> Result<bool, CrawlError> {
        let is_known = self.urls.find(target.as_str()).is_some();
        if is_known || self.admit(target, UrlKind::Page, depth, None).is_err() {
            return Ok(false);
        }
        Ok(!matches!(self.decide(target)?, Placement::Deferred(..)))
    }

    /// Brings back what earlier starts have learnt.
    pub(super) fn restore_learnt(&mut self) -> Result<(), CrawlError> {
        if self.selection.learns {
            learnt::restore(self.filter.state(), &mut self.selection.learner, None)?;
        }
        Ok(())
    }

    /// Looks at what is deferred, and releases the late URLs of hosts that have no others.
    pub(super) fn review_all(&mut self) -> Result<(), CrawlError> {
        if !self.selection.learns {
            return Ok(());
        }
        // A rule may have been revoked just before the last start ended, or taken out of the configuration.
        self.selection.review = Some(Review { sites: None, next: UrlId(0) });
        self.review_deferred()?;
        for host in self.urls.queue.late_hosts() {
            self.release_late(host)?;
        }
        Ok(())
    }

    fn decide(&mut self, url: &NormalUrl) -> Result<Placement, CrawlError> {
        self.recall(url.site())?;
        Ok(self.selection.learner.decide(url.as_url(), url.site()))
    }

    /// The same of a URL that is known, whose words are remembered.
    fn decide_row(&mut self, row: &UrlRow) -> Result<Placement, CrawlError> {
        self.recall(row.url.site())?;
        let UrlSelection { learner, observed, .. } = &mut self.selection;
        if learner.meet(row.url.as_url(), row.url.site()) {
            observed.push(Observation::new(row, None, Received::Question));
        }
        self.decide(&row.url)
    }

    /// Whether a URL is not worth a request now. If it is not, that is recorded.
    pub(super) fn is_put_off(&mut self, queued: &Queued) -> Result<bool, CrawlError> {
        let row = &queued.url;
        // Seeds are always fetched, and late URLs that were released are not late again.
        let is_exempt = row.kind != UrlKind::Page
            || row.depth == 0
            || queued.visit.is_some()
            || self.never_defers(row.seed);
        if !self.selection.learns || is_exempt || self.retries.of(row.id).is_some() {
            return Ok(false);
        }
        let is_released = self.selection.released.contains(&row.id);
        match self.decide_row(row)? {
            Placement::Deferred(by, why) => {
                self.record_deferred(row, by, why)?;
                self.finish_url(row, false)?;
                return Ok(true);
            }
            Placement::Late(group) if !is_released => {
                let late = Some(Late::Pattern(group));
                self.urls.put(self.filter.state(), row.host, row.id, late)?;
            }
            Placement::Late(_) | Placement::Now => {
                if !self.waits(row)? {
                    return Ok(false);
                }
            }
        }
        self.end_flight(row.id);
        self.end_turn(row)?;
        Ok(true)
    }

    /// Lets a URL wait if another one of the same page, by the rules, is in flight. Otherwise this one is from now on.
    fn waits(&mut self, row: &UrlRow) -> Result<bool, CrawlError> {
        let reduced = self.selection.learner.reduced(row.url.as_url(), row.url.site());
        let waits = !self.selection.in_flight.start(row.host, row.id, reduced);
        if waits {
            let late = Some(Late::Page(reduced.number));
            self.urls.put(self.filter.state(), row.host, row.id, late)?;
        }
        Ok(waits)
    }

    /// A URL is not in flight any more: those that waited for it may be requested.
    pub(super) fn end_flight(&mut self, url: UrlId) {
        self.selection.released.remove(&url);
        if let Some((host, number)) = self.selection.in_flight.end(url) {
            self.urls.queue.merge_late(host, Late::Page(number), Late::Waited);
        }
    }

    /// Whether a seed list wants all of its URLs, whatever was learnt.
    pub(super) fn never_defers(&self, seed: Option<usize>) -> bool {
        seed.and_then(|seed| self.plan.seeds.get(seed)).is_some_and(|seed| !seed.learn)
    }

    /// Records that a URL is deferred.
    fn record_deferred(
        &mut self,
        row: &UrlRow,
        by: DeferReason,
        why: String,
    ) -> Result<(), CrawlError> {
        let reason = match by {
            DeferReason::Rule => Reason::Rule,
            DeferReason::LowYield => Reason::LowYield,
        };
        self.record_skipped(row, &Skipped::new(reason, None, Some(why)))
    }

    /// Releases late URLs of hosts whose other URLs are done: of this host, and of hosts that got new late URLs. From time to time, and when
    /// nothing else is queued, also queues deferred URLs again of which something else is known by now.
    pub(super) fn release_late(&mut self, host: HostId) -> Result<(), CrawlError> {
        if !self.selection.learns {
            return Ok(());
        }
        self.release_late_of_host(host)?;
        while let Some(host) = self.selection.late_hosts.pop_first() {
            self.release_late_of_host(host)?;
        }
        if self.selection.pages >= CHECK_INTERVAL || self.urls.open() <= 1 {
            self.selection.pages = 0;
            self.review_deferred()?;
        }
        Ok(())
    }

    fn release_late_of_host(&mut self, host: HostId) -> Result<(), CrawlError> {
        let in_flight = self.schedule.tasks_of(host);
        while self.urls.queue.waiting(host) + in_flight < self.selection.width {
            let Some((id, group, estimate)) = self.next_late(host)? else { break };
            let Some(row) = self.state().url_by_id(id)? else { continue };
            let placement = self.decide_row(&row)?;
            match placement {
                Placement::Deferred(by, why) if !self.never_defers(row.seed) => {
                    self.record_deferred(&row, by, why)?;
                }
                // What is known of it has changed: others come first.
                Placement::Late(now)
                    if Late::Pattern(now) != group
                        && self.selection.learner.estimated_yield(row.url.site(), now)
                            < estimate * 0.9 =>
                {
                    let late = Some(Late::Pattern(now));
                    self.urls.put(self.filter.state(), host, id, late)?;
                }
                Placement::Late(_) | Placement::Now | Placement::Deferred(..) => {
                    if !self.waits(&row)? {
                        self.urls.put(self.filter.state(), host, id, None)?;
                        self.selection.released.insert(id);
                        self.note_queued(host)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes out the late URL that promises most.
    fn next_late(&mut self, host: HostId) -> Result<Option<(UrlId, Late, f32)>, CrawlError> {
        let Some((_, first)) = self.urls.queue.late_groups(host).next() else { return Ok(None) };
        let Some(row) = self.state().url_by_id(first)? else { return Ok(None) };
        let learner = &self.selection.learner;
        let estimate = |group| match group {
            Late::Pattern(number) => learner.estimated_yield(row.url.site(), number),
            Late::Waited | Late::Page(_) => learner.estimated_yield(row.url.site(), 0),
        };
        let is_open = |group| !matches!(group, Late::Page(_));
        let groups = self.urls.queue.late_groups(host).filter(|(group, _)| is_open(*group));
        let groups = groups.map(|(group, id)| (estimate(group), group, id));
        let best = groups.max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
        let Some((estimate, group, _)) = best else { return Ok(None) };
        Ok(self.urls.queue.pop_late(host, group).map(|id| (id, group, estimate)))
    }

    /// What was learnt, and which URLs are deferred by it, for the report.
    pub(super) fn summarise_learning(&mut self) -> Result<Learnt, CrawlError> {
        let rule = |LearntRule { rule, is_revoked, is_imported, is_dead }: LearntRule| RuleReport {
            site: rule.site,
            part: rule.part.to_string(),
            trials: rule.trials,
            failures: rule.failures,
            revoked: is_revoked,
            imported: is_imported,
            dead: is_dead,
        };
        let rules = learnt::rules(self.state(), &self.selection.learner)?;
        let rules = rules.into_iter().map(rule).collect();
        let (mut deferred, mut next) = (Groups::new(), UrlId(0));
        loop {
            let rows = self.state().deferred_urls(next, DEFERRED_AT_ONCE)?;
            let Some(last) = rows.last() else { break };
            next = UrlId(last.id.0 + 1);
            for row in rows {
                let UrlState::Skipped(by) = row.state else { continue };
                let site = row.url.site().to_owned();
                let mut urls = self.estimate(row, by)?;
                if !deferred.contains_key(&key(&urls)) {
                    let evidence = self.selection.learner.evidence(&site, &urls.why);
                    urls.evidence = evidence.unwrap_or_default();
                }
                add(&mut deferred, urls);
            }
        }
        Ok(Learnt { rules, deferred: by_number(deferred), queued: self.summarise_queued()? })
    }

    /// What the queued URLs are expected to have, by pattern.
    fn summarise_queued(&mut self) -> Result<Vec<DeferredUrls>, CrawlError> {
        if !self.selection.learns {
            return Ok(Vec::new());
        }
        let (count, sample) = self.urls.sample_queued(QUEUED_SAMPLE);
        let mut groups = Groups::new();
        for id in &sample {
            if let Some(row) = self.state().url_by_id(*id)? {
                add(&mut groups, self.estimate(row, Reason::Pending)?);
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        let each = count as f64 / sample.len() as f64;
        Ok(by_number(groups).into_iter().map(|group| times(group, each)).collect())
    }

    /// What a deferred or queued URL is expected to have.
    fn estimate(&mut self, row: UrlRow, by: Reason) -> Result<DeferredUrls, CrawlError> {
        self.recall(row.url.site())?;
        let Estimate { pattern, new, new_at_most, rearranged } = self.selection.learner.estimate(
            row.url.as_url(),
            row.url.site(),
            by != Reason::Pending,
        );
        let why = row.detail.unwrap_or_default();
        let evidence = String::new();
        Ok(DeferredUrls { pattern, by, why, evidence, urls: 1, new, new_at_most, rearranged })
    }

    /// Queues deferred URLs again that are wanted by now, of the sites of which more has been learnt: a part of them, or if nothing else is queued, until one
    /// is.
    fn review_deferred(&mut self) -> Result<(), CrawlError> {
        loop {
            let Some(review) = self.next_review() else { return Ok(()) };
            let rows = self.state().deferred_urls(review.next, DEFERRED_AT_ONCE)?;
            self.requeue_wanted(&rows, review.sites.as_ref())?;
            self.selection.review = review.after(rows.last().map(|row| row.id), rows.len());
            if self.urls.open() > 1 {
                return Ok(());
            }
        }
    }

    /// The pass that goes on, or the next one if there is a reason for it.
    fn next_review(&mut self) -> Option<Review> {
        self.selection.review.take().or_else(|| {
            let sites = self.selection.learner.take_sites_to_requeue();
            (!sites.is_empty()).then_some(Review { sites: Some(sites), next: UrlId(0) })
        })
    }

    /// Queues those of some deferred URLs again that are wanted by now.
    fn requeue_wanted(
        &mut self,
        rows: &[UrlRow],
        sites: Option<&HashSet<Box<str>>>,
    ) -> Result<(), CrawlError> {
        let mut hosts = BTreeSet::new();
        for row in rows {
            if sites.is_some_and(|sites| !sites.contains(row.url.site())) {
                continue;
            }
            let group = match self.decide_row(row)? {
                Placement::Deferred(..) => continue,
                Placement::Late(group) => group,
                Placement::Now => self.group(&row.url)?,
            };
            if let Ok(seed) = self.admit(&row.url, row.kind, row.depth, None) {
                self.requeue(row, seed, Some(Late::Pattern(group)))?;
                hosts.insert(row.host);
            }
        }
        hosts.into_iter().try_for_each(|host| self.release_late_of_host(host))
    }
}

/// Deferred URLs by pattern, reason and rule.
type Groups = BTreeMap<(String, Reason, String), DeferredUrls>;

fn key(urls: &DeferredUrls) -> (String, Reason, String) {
    (urls.pattern.clone(), urls.by, urls.why.clone())
}

fn add(groups: &mut Groups, urls: DeferredUrls) {
    match groups.entry(key(&urls)) {
        btree_map::Entry::Vacant(place) => _ = place.insert(urls),
        btree_map::Entry::Occupied(mut group) => {
            let group = group.get_mut();
            group.urls += urls.urls;
            group.new += urls.new;
            group.new_at_most += urls.new_at_most;
            group.rearranged += urls.rearranged;
        }
    }
}

/// As many times more, of which these are a sample.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn times(group: DeferredUrls, more: f64) -> DeferredUrls {
    DeferredUrls {
        urls: (group.urls as f64 * more).round() as u64,
        new: group.new * more,
        new_at_most: group.new_at_most * more,
        rearranged: group.rearranged * more,
        ..group
    }
}

/// The groups with the most URLs first; those after the first [`PATTERNS`] together, by reason.
fn by_number(groups: Groups) -> Vec<DeferredUrls> {
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.urls));
    let mut others = Groups::new();
    for group in groups.split_off(groups.len().min(PATTERNS)) {
        let (pattern, why, evidence) = (OTHERS.into(), OTHERS.into(), String::new());
        add(&mut others, DeferredUrls { pattern, why, evidence, ..group });
    }
    groups.extend(others.into_values());
    groups
}

/// The number of the text that a page has or repeats.
fn text_of(judgement: &Judgement) -> u32 {
    learnt::number_of(judgement.verdict.matched().map_or(judgement.id, |found| found.of))
}

/// A hash of a text, not 0.
fn hash_of(text: &str) -> u16 {
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    u16::try_from(hash >> 48).unwrap_or_default().max(1)
}

fn log_changed_rules(learner: &mut Learner) {
    for LearntRule { rule, is_revoked, is_imported, is_dead } in learner.take_changed_rules() {
        let (site, part) = (&rule.site, rule.part.to_string());
        let (trials, failures) = (rule.trials, rule.failures);
        let what = if is_revoked { "rule revoked" } else { "rule learnt" };
        tracing::info!(site, rule = part, trials, failures, is_imported, is_dead, "{what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_over_few_deferred_urls_is_done_at_once() {
        let review = || Review { sites: None, next: UrlId(0) };
        let most = DEFERRED_AT_ONCE as usize;
        assert!(review().after(None, 0).is_none());
        assert!(review().after(Some(UrlId(7)), most - 1).is_none());
        assert_eq!(review().after(Some(UrlId(7)), most).unwrap().next, UrlId(8));
    }

    const HOST: HostId = HostId(1);

    fn reduced(number: u32, is_by_rule: bool) -> Reduced {
        Reduced { number, is_by_rule }
    }

    #[test]
    fn urls_of_a_page_that_is_in_flight_wait() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(!pages.start(HOST, UrlId(2), reduced(7, true)));
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)), "it does not wait for itself");
        assert!(pages.start(HostId(2), UrlId(3), reduced(7, true)), "hosts do not wait for others");
        pages.end(UrlId(2));
        assert!(pages.pages.contains_key(&(HOST, 7)));
        pages.end(UrlId(1));
        assert!(!pages.pages.contains_key(&(HOST, 7)));
        assert!(pages.start(HOST, UrlId(2), reduced(7, true)));
    }

    #[test]
    fn a_url_that_a_rule_gives_another_number_holds_up_nothing_else() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(pages.start(HOST, UrlId(1), reduced(8, true)));
        assert!(!pages.pages.contains_key(&(HOST, 7)));
        pages.end(UrlId(1));
        assert!(!pages.pages.contains_key(&(HOST, 8)));
    }

    #[test]
    fn urls_that_no_rule_makes_the_same_do_not_wait() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(pages.start(HOST, UrlId(2), reduced(7, false)));
        pages.end(UrlId(2));
        assert!(pages.pages.contains_key(&(HOST, 7)), "it is the page of the first one");
    }
}
