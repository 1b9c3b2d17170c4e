//! Counts a run from its state.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    mem,
};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    filter::{Kind, Step},
    index::Audit,
    page::DocId,
    report::{
        ALARMS, BROKEN, CHANGED, ChangedPage, Counts, Distributions, EXAMPLES, End, Example, Host,
        MANY_DUPLICATES, NEAR_MISSES, NearMiss, POINTS, Pass, Point, Report, SEEDS, Saved,
        Similarities, SuspendedHost, Unfetched, UnreachableSeed, Warning,
        broken::Broken,
        cluster::{Group, choose, clusters, site},
    },
    sink::ChangeName,
    state::{
        HostId, JudgedDocument, Reason, SkipCause, State, StateError, SuspendCause, SuspendedRow,
        UrlId, UrlRow, UrlState, Visit,
    },
};

/// The name in the state under which the builder is kept.
const NAME: &str = "report";
/// A report warns of at most this many unique pages with many duplicates.
const WARNINGS: usize = 50;

/// Builds the report of a run. Here is what nothing else in the state says; it is [saved](Self::save) with each commit.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Builder {
    /// How often a known page was gone.
    gone: u64,
    /// What the pass over known pages has found, if the last start made one.
    pass: Option<Pass>,
    /// How many seeds were not fetched because a budget was spent, and the first of them.
    unasked: (u64, Vec<UnreachableSeed>),
    #[serde(default)]
    distributions: Distributions,
    /// What was noticed while pages were judged and holds, by kind and subject; at most [`WARNINGS`] of each kind.
    #[serde(default)]
    noticed: BTreeMap<String, Warning>,
    /// How often something was noticed, by kind, in the order of [`ALARMS`].
    #[serde(default)]
    alarms: [u64; ALARMS.len()],
}

/// The judged pages of a run, counted.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    counts: Counts,
    /// Duplicates that were not stored: of the same site, of other sites.
    unstored: [u64; 2],
    /// Pages that need scripts, and the first of them.
    needs_scripts: (u64, DocId),
    /// The hosts, and their places by name.
    hosts: Vec<Host>,
    places: HashMap<String, usize>,
    /// How many pages of a host repeat pages of another one, by their places.
    repeats: HashMap<(usize, usize), u64>,
    groups: HashMap<DocId, Group>,
    similarities: Similarities,
    /// The unique pages that are most similar to another one, and that one: similarity, URL, document.
    near_misses: Vec<(f32, String, DocId)>,
    /// Characters of duplicates that were not stored, and of pages that were.
    characters: u64,
    stored: u64,
}

/// The URLs that were skipped or wait, counted.
#[derive(Debug, Default)]
struct Urls {
    /// How many seeds could not be reached, and the first of them.
    unreachable: (u64, Vec<UnreachableSeed>),
    /// The same of those with an answer that is no page.
    pageless: (u64, Vec<UnreachableSeed>),
    broken: Broken,
    suspended: Vec<SuspendedHost>,
    /// Whether hosts with queued URLs ask for a longer pause than is allowed.
    is_postponed: bool,
    /// The first of each reason.
    examples: BTreeMap<Reason, Vec<UrlRow>>,
}

impl Urls {
    /// Adds a URL that was skipped or is queued, perhaps because its host is suspended, if it is a seed without a page.
    fn add_seed(&mut self, row: &UrlRow, reason: Reason, of_host: Option<&SuspendedRow>) {
        // Redirects of a seed have its depth. What was one has no list any more.
        let is_seed =
            row.depth == 0 && row.seed.is_some() && (row.referrer.is_none() || row.hops > 0);
        // A host that does not answer keeps its seeds queued.
        let is_silent = |host: &&SuspendedRow| {
            matches!(host.cause, SuspendCause::Unanswered(_) | SuspendCause::Stopped(_))
        };
        let silent = of_host.filter(is_silent);
        // The links of one that is not to be indexed were followed: it did what seeds are for.
        let is_lost = is_no_page(reason) && reason != Reason::Noindex || silent.is_some();
        if !is_seed || !is_lost {
            return;
        }
        let answered = !row.cause.is_some_and(SkipCause::may_pass) && silent.is_none();
        let (count, first) = if answered { &mut self.pageless } else { &mut self.unreachable };
        *count += 1;
        if first.len() < SEEDS {
            let silent = silent.map(|host| host.cause.to_string());
            let why = match (silent.or_else(|| row.detail.clone()), row.status) {
                (None, Some(status)) => format!("status {status}"),
                (None, None) => reason.to_string(),
                (Some(why), _) if answered => format!("{reason}: {why}"),
                (Some(why), _) => why,
            };
            let server_error = match row.cause {
                Some(SkipCause::Incomplete) => row.status.is_some(),
                cause => cause == Some(SkipCause::RobotsNotReceived),
            };
            first.push(UnreachableSeed { url: row.url.to_string(), why, server_error, answered });
        }
    }

    /// Warns of seeds that could not be reached, and perhaps of those with an answer that is no page.
    fn warning(&self, is_pageless_named: bool) -> Option<Warning> {
        let kinds = [Some(&self.unreachable), Some(&self.pageless).filter(|_| is_pageless_named)];
        let count = kinds.iter().flatten().map(|(count, _)| count).sum();
        let seeds = kinds.into_iter().flatten().flat_map(|(_, first)| first);
        let seeds = seeds.take(SEEDS).cloned().collect();
        (count > 0).then_some(Warning::Unreachable { count, seeds })
    }
}

impl Builder {
    /// What was saved last.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn load(state: &State) -> Result<Self, StateError> {
        Ok(state.json(NAME)?.unwrap_or_default())
    }

    /// Keeps it in the open transaction.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn save(&self, state: &State) -> Result<(), StateError> {
        state.set_json(NAME, self)
    }

    /// A start makes no pass over known pages, goes on with one, or begins one. It watches hosts anew; what has happened stays.
    pub(crate) fn start_pass(&mut self, is_made: bool, is_new: bool) {
        self.noticed.retain(|_, alarm| matches!(alarm, Warning::Dropped { .. }));
        let known = self.pass.filter(|_| !is_new).unwrap_or_default();
        self.pass = is_made.then_some(known);
    }

    /// Counts a known page that was asked for again, and how it had changed, if it had.
    pub(crate) fn revisited(&mut self, change: Option<ChangeName>) {
        self.gone += u64::from(change == Some(ChangeName::Gone));
        let Some(pass) = &mut self.pass else { return };
        let count = match change {
            None => &mut pass.unchanged,
            Some(ChangeName::Text) => &mut pass.changed,
            Some(ChangeName::Gone) => &mut pass.gone,
            Some(ChangeName::Back) => &mut pass.back,
        };
        *count += 1;
    }

    /// Counts a page that was found for the first time: its response time in milliseconds, its size in bytes, its depth.
    pub(crate) fn found(&mut self, time: Option<u64>, size: u64, depth: u32) {
        self.distributions.add(time, size, depth);
        if let Some(pass) = &mut self.pass {
            pass.new += 1;
        }
    }

    /// Notes the seeds that were not fetched because a budget was spent, and why those were not that were asked. What was known of the latter
    /// stays known.
    pub(crate) fn note_unasked(&mut self, count: u64, mut seeds: Vec<UnreachableSeed>) {
        let (_, before) = mem::take(&mut self.unasked);
        for seed in seeds.iter_mut().filter(|seed| seed.why.is_empty()) {
            let known = before.iter().find(|known| known.url == seed.url);
            seed.why = known.map_or_else(String::new, |known| known.why.clone());
        }
        self.unasked = (count, seeds);
    }

    /// Notes what was noticed while pages were judged. Returns whether that is new.
    pub(crate) fn note_alarm(&mut self, alarm: Warning) -> bool {
        let Some((kind, of)) = alarm.alarm() else { return false };
        let (name, known) = (alarm_name(kind, of), self.noticed.keys());
        let is_new = !self.noticed.contains_key(&name);
        self.alarms[kind] += u64::from(is_new);
        if !is_new || known.filter(|it| it.starts_with(ALARMS[kind])).count() < WARNINGS {
            self.noticed.insert(name, alarm);
        }
        is_new
    }

    /// What was noticed of this kind and subject does not hold any more.
    pub(crate) fn end_alarm(&mut self, kind: usize, of: &str) {
        self.noticed.remove(&alarm_name(kind, of));
    }

    /// How often something was noticed while pages were judged, by kind, and what of it holds.
    pub(crate) fn alarms(&self) -> ([u64; ALARMS.len()], impl Iterator<Item = &Warning>) {
        (self.alarms, self.noticed.values())
    }

    /// Counts the pages and URLs of the state, and adds them to the report of a run. `keeps`: whether duplicates are stored, according to the current policy: of the same site, of other sites.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn finish(
        &self,
        state: &State,
        mut run: Report,
        keeps: [bool; 2],
    ) -> Result<Report, StateError> {
        let mut found = Pages::count(state)?;
        let mut urls = found.add_urls(state)?;
        run.counts = mem::take(&mut found.counts);
        (run.counts.unchanged, run.counts.changed) = state.visit_counts()?;
        run.counts.gone = self.gone;
        if run.end == End::Done && run.counts.judged() == 0 {
            run.end = End::Nothing;
        }
        run.seconds = (run.seconds * 1000.0).round() / 1000.0;
        env!("CARGO_PKG_VERSION").clone_into(&mut run.version);
        run.pass = self.pass;
        run.suspended = mem::take(&mut urls.suspended);
        run.series = state.series(POINTS)?;
        run.saved = found.saved(&run, &state.files()?);
        run.distributions = self.distributions.clone();
        run.hosts = found.take_hosts();
        run.broken_count = mem::take(&mut urls.broken).for_each(state, BROKEN, |link| {
            run.broken.push(link);
            Ok::<_, StateError>(())
        })?;
        let groups: Vec<Group> = mem::take(&mut found.groups).into_values().collect();
        run.warnings = self.warnings(state, &run, keeps, &found, &groups, &urls)?;
        let pages = |groups: &[Group]| groups.iter().map(|group| group.count).sum::<u64>();
        (run.cluster_count, run.omitted.pages) = (groups.len() as u64, pages(&groups));
        let shown = choose(groups);
        run.omitted.pages -= pages(&shown);
        run.omitted.clusters = run.cluster_count - shown.len() as u64;
        run.clusters = clusters(state, &shown)?;
        run.similarities = found.similarities;
        for (similarity, url, of) in found.near_misses {
            run.near_misses.push(NearMiss { url, of: state.name_of(of)?, similarity });
        }
        for (reason, rows) in urls.examples {
            for row in rows {
                run.examples.push(example(state, reason, row)?);
            }
        }
        run.changed_count = state.count_changed_pages()?;
        let changed = |(url, visit): (String, Visit)| {
            let Visit { changes, lost: gone, checked, .. } = visit;
            ChangedPage { url, changes, gone, checked: checked.into() }
        };
        run.changed = state.changed_pages(CHANGED)?.into_iter().map(changed).collect();
        Ok(run)
    }

    fn warnings(
        &self,
        state: &State,
        run: &Report,
        keeps: [bool; 2],
        found: &Pages,
        groups: &[Group],
        urls: &Urls,
    ) -> Result<Vec<Warning>, StateError> {
        let ((unreachable, _), (pageless, _)) = (&urls.unreachable, &urls.pageless);
        let is_all = *unreachable == run.counts.all_skipped();
        let seeds = if *unreachable == 0 { *pageless } else { 0 };
        let is_open = run.end == End::Open || run.end == End::Done && urls.is_postponed;
        let open = is_open.then(|| Warning::of_open(&run.counts, run.suspended.len()));
        let nothing = (run.end == End::Nothing).then(|| {
            Warning::of_nothing(&run.counts, |reason| urls.examples.get(&reason)?.first())
        });
        // If there is no page at all, `nothing` has advice for its reason; of a status, it says no more than the seeds.
        let is_by_status = matches!(&nothing, Some(Warning::Nothing { reason: Some(Reason::Status), skipped, .. }) if *skipped <= seeds);
        let is_left_out = run.end == End::Nothing && !is_by_status;
        let unreachable = urls.warning(!is_left_out);
        let is_failure =
            |it: &Warning| matches!(it, Warning::Nothing { reason: Some(Reason::Failure), .. });
        let is_said = |it: &Warning| is_all || is_by_status || is_failure(it);
        let nothing = nothing.filter(|it| unreachable.is_none() || !is_said(it));
        let retry = state.failures_to_retry()?.map(|(urls, first)| Warning::Retry {
            urls,
            example: first.url.to_string(),
            status: first.status,
            due: first.due_at().into(),
        });
        let Audit { checked, missed, .. } = run.search.audit;
        let missed = (missed > 0).then_some(Warning::Missed { missed, checked });
        let (count, seeds) = self.unasked.clone();
        let unasked = (count > 0).then_some(Warning::Unasked { count, seeds });
        let first = unreachable.into_iter().chain(unasked).chain(open).chain(nothing);
        let mut warnings: Vec<_> = first.chain(retry).chain(missed).collect();
        warnings.extend(run.warnings.iter().cloned());
        // The others are counted to the end.
        let dropped = self.noticed.values().filter(|it| matches!(it, Warning::Dropped { .. }));
        warnings.extend(dropped.cloned());
        warnings.extend(run.hosts.iter().filter_map(Warning::of_host));
        warnings.extend(Warning::of_sites(&run.hosts));
        let mut large: Vec<_> = groups.iter().filter(|it| it.count > MANY_DUPLICATES).collect();
        large.sort_by_key(|it| (Reverse(it.count), it.document));
        for Group { document, count, .. } in large.into_iter().take(WARNINGS) {
            let url = state.name_of(*document)?;
            warnings.push(Warning::ManyDuplicates { url, duplicates: *count });
        }
        // What is less urgent comes last.
        let queued = Unfetched::of(&run.learnt.queued).filter(|_| run.end == End::Budget);
        warnings.extend(queued.map(Warning::Queued));
        warnings.extend(Unfetched::of(&run.learnt.deferred).map(Warning::Deferred));
        warnings.extend(Warning::of_unstored(keeps, found.unstored));
        let (pages, first) = found.needs_scripts;
        if pages > 0 {
            warnings.push(Warning::Scripts { pages, example: state.name_of(first)? });
        }
        Ok(warnings)
    }
}

impl Pages {
    /// Counts the pages of a run.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn count(state: &State) -> Result<Self, StateError> {
        let mut pages = Self::default();
        state.for_each_document(|document| {
            let found = document.judgement.verdict.matched();
            let of = found.map(|found| state.name_of(found.of)).transpose()?;
            pages.add(&document, of.as_deref());
            Ok(())
        })?;
        Ok(pages)
    }

    /// Duplicates that were not stored although their policy, of the same site or of other sites, is to keep them.
    pub(crate) fn unstored(&self, keeps: [bool; 2]) -> u64 {
        keeps.into_iter().zip(self.unstored).map(|(keeps, n)| if keeps { n } else { 0 }).sum()
    }

    /// Counts a document, whose match has the URL `of`.
    fn add(&mut self, document: &JudgedDocument, of: Option<&str>) {
        let JudgedDocument { name: url, stored, judgement, .. } = document;
        self.counts.fetched += 1;
        self.counts.stored += u64::from(*stored);
        let characters = if *stored { &mut self.stored } else { &mut self.characters };
        *characters += u64::from(judgement.facts.chars);
        if document.needs_scripts {
            let (pages, first) = self.needs_scripts;
            self.needs_scripts = (pages + 1, if pages == 0 { judgement.id } else { first });
        }
        let (url, kept) = (Url::parse(url).ok(), of.and_then(|of| Url::parse(of).ok()));
        let [name, kept_name] = [url.as_ref(), kept.as_ref()].map(host_name);
        let place = self.host(&name);
        let host = &mut self.hosts[place];
        host.fetched += 1;
        let Some(found) = judgement.verdict.matched() else {
            self.counts.unique += 1;
            host.unique += 1;
            if let Some((of, similarity)) = judgement.nearest {
                self.similarities.add(true, similarity);
                let before = |other: &(f32, String, DocId)| other.0 >= similarity;
                let at = self.near_misses.partition_point(before);
                if at < NEAR_MISSES {
                    self.near_misses.truncate(NEAR_MISSES - 1);
                    self.near_misses.insert(at, (similarity, document.name.clone(), of));
                }
            }
            return;
        };
        let (document, lang) = (found.of, judgement.facts.lang);
        let group = Group { document, count: 0, near: 0, least: None, lang };
        let group = self.groups.entry(document).or_insert(group);
        group.count += 1;
        match (found.kind, found.step) {
            (Kind::Exact, Step::Body) => self.counts.exact.body += 1,
            (Kind::Exact, _) => self.counts.exact.text += 1,
            (Kind::Near, _) => {
                self.counts.near += 1;
                group.near += 1;
                group.least = Some(group.least.unwrap_or(1.0).min(found.similarity));
                self.similarities.add(false, found.similarity);
            }
        }
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        *(if same_site { &mut host.same_site } else { &mut host.cross_site }) += 1;
        if name != kept_name {
            host.other_host += 1;
            let pair = (place, self.host(&kept_name));
            *self.repeats.entry(pair).or_default() += 1;
        }
        if !stored {
            self.unstored[usize::from(!same_site)] += 1;
        }
    }

    /// What the filter saved in a run with these files: what was not requested or not stored, and estimates of its bytes.
    fn saved(&self, run: &Report, files: &[(String, u64)]) -> Saved {
        let reasons = [Reason::Rule, Reason::LowYield, Reason::DuplicateLinks];
        let requests = reasons.iter().filter_map(|reason| run.counts.skipped.get(reason)).sum();
        // As much as `of` has of `whole`.
        let part = |of: u64, whole: u64, parts: u64| {
            let bytes = u128::from(of) * u128::from(whole) / u128::from(parts.max(1));
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let Point { bytes, fetched, .. } = run.series.last().copied().unwrap_or_default();
        let pages = files.iter().filter(|(name, _)| name.starts_with("pages"));
        let written = pages.map(|(_, size)| size).sum();
        Saved {
            requests,
            characters: self.characters,
            transfer: part(requests, bytes, fetched),
            storage: part(self.characters, written, self.stored),
        }
    }

    /// The place of a host.
    fn host(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.hosts.push(Host { host: name.to_owned(), ..Host::default() });
        self.places.insert(name.to_owned(), self.hosts.len() - 1);
        self.hosts.len() - 1
    }

    /// The hosts, each with that whose pages it repeats most, the one with the most pages first.
    fn take_hosts(&mut self) -> Vec<Host> {
        let mut hosts = mem::take(&mut self.hosts);
        for (&(host, of), &pages) in &self.repeats {
            let back = self.repeats.get(&(of, host)).copied().unwrap_or(0);
            let (of, host) = (hosts[of].host.clone(), &mut hosts[host]);
            if (pages, Some(&of)) > (host.repeats_pages, host.repeats.as_ref()) {
                (host.repeats_pages, host.repeats, host.repeated) = (pages, Some(of), back);
            }
        }
        // Of others, only another run has pages.
        hosts.retain(|host| host.fetched + host.failed > 0);
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        hosts
    }

    /// Counts the URLs that were skipped or wait.
    fn add_urls(&mut self, state: &State) -> Result<Urls, StateError> {
        let rows = state.suspended_hosts()?;
        let mut waiting: HashMap<_, u64> = rows.iter().map(|row| (row.host, 0)).collect();
        let hosts: HashMap<_, _> = rows.iter().map(|row| (row.host, row)).collect();
        let (mut urls, mut broken) = (Urls::default(), Broken::default());
        // Of most, the state is all that counts.
        let mut counts = BTreeMap::<Reason, u64>::new();
        let select = |id: UrlId, state: UrlState, host: HostId| {
            broken.add(id, state);
            let of_host = waiting.get_mut(&host).filter(|_| state == UrlState::Queued);
            let reason = match (state, of_host) {
                (UrlState::Judged, _) => return None,
                (UrlState::Skipped(reason), _) => reason,
                (UrlState::Queued, None) => Reason::Pending,
                (UrlState::Queued, Some(urls)) => {
                    *urls += 1;
                    Reason::Host
                }
            };
            let count = counts.entry(reason).or_default();
            *count += 1;
            let has_more =
                *count <= EXAMPLES as u64 || is_no_page(reason) || reason == Reason::Host;
            has_more.then_some(reason)
        };
        state.for_each_url(select, |row, reason| {
            // Received with status 2xx, so `max_pages` counts it.
            let fetched = matches!(reason, Reason::Noindex | Reason::ContentType);
            self.counts.fetched += u64::from(fetched);
            if fetched || is_failure(reason) {
                let host = host_name(Url::parse(row.url.as_str()).ok().as_ref());
                let host = self.host(&host);
                let host = &mut self.hosts[host];
                host.fetched += u64::from(fetched);
                host.failed += u64::from(is_failure(reason));
            }
            let of_host = hosts.get(&row.host).copied().filter(|_| reason == Reason::Host);
            urls.add_seed(&row, reason, of_host);
            let examples = urls.examples.entry(reason).or_default();
            if examples.len() < EXAMPLES {
                let detail = of_host.map(ToString::to_string).or(row.detail);
                examples.push(UrlRow { detail, ..row });
            }
            Ok::<_, StateError>(())
        })?;
        (self.counts.skipped, urls.broken) = (counts, broken);
        urls.is_postponed = rows.iter().any(|row| row.cause.is_request() && waiting[&row.host] > 0);
        let suspended = rows.into_iter().map(|row| SuspendedHost {
            host: row.name,
            why: row.cause.to_string(),
            urls: waiting[&row.host],
            until: row.until.into(),
        });
        urls.suspended = suspended.collect();
        urls.suspended.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        Ok(urls)
    }
}

/// Whether a URL that was skipped for this reason is no page.
fn is_no_page(reason: Reason) -> bool {
    is_failure(reason) || matches!(reason, Reason::Noindex | Reason::ContentType | Reason::Robots)
}

/// The name under which something is kept that was noticed.
fn alarm_name(kind: usize, of: &str) -> String {
    format!("{} {of}", ALARMS[kind])
}

fn is_failure(reason: Reason) -> bool {
    matches!(reason, Reason::Status | Reason::Failure)
}

fn example(state: &State, reason: Reason, row: UrlRow) -> Result<Example, StateError> {
    let referrer = row.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
    let referrer = referrer.map(|row| row.url.to_string());
    let UrlRow { url, status, detail, .. } = row;
    Ok(Example { reason, url: url.to_string(), status, detail, referrer })
}

/// A host's name, with the port unless it is the scheme's default.
pub(crate) fn host_name(url: Option<&Url>) -> String {
    let Some((url, host)) = url.and_then(|url| Some((url, url.host_str()?))) else {
        return String::new();
    };
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
