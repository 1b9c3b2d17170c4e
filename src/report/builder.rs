//! Counts a run from its state.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    filter::{Kind, Step},
    index::Audit,
    page::DocId,
    report::{
        ALARMS, BROKEN, CHANGED, ChangedPage, Counts, Distributions, EXAMPLES, End, Example, Host,
        MANY_DUPLICATES, NEAR_MISSES, NearMiss, Omitted, POINTS, Pass, Point, Report, SEEDS, Saved,
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
    hosts: HashMap<String, Host>,
    /// How many pages of a host repeat pages of another one, by the numbers of their names.
    repeats: HashMap<(u32, u32), u64>,
    names: HashMap<String, u32>,
    groups: HashMap<DocId, Group>,
    similarities: Similarities,
    /// The unique pages that are most similar to another one, and that one: similarity, URL, document.
    near_misses: Vec<(f32, String, DocId)>,
    /// Characters of duplicates that were not stored, and of pages that were.
    characters: u64,
    stored: u64,
}

/// The URLs that failed, counted.
#[derive(Debug, Default)]
struct Urls {
    seeds: Seeds,
    broken: Broken,
    suspended: Vec<SuspendedHost>,
    /// Whether hosts with queued URLs ask for a longer pause than is allowed.
    is_postponed: bool,
    examples: BTreeMap<Reason, Vec<Example>>,
}

/// Seeds without a page: how many, and the first of them.
#[derive(Debug, Default)]
struct Seeds {
    /// Those that could not be reached.
    unreachable: (u64, Vec<UrlRow>),
    /// Those with an answer that is no page.
    pageless: (u64, Vec<UrlRow>),
    /// Hosts that do not answer, and how that was noticed. Their seeds are queued.
    silent: HashMap<HostId, String>,
}

impl Seeds {
    fn new(suspended: &[SuspendedRow]) -> Self {
        let is_silent = |row: &&SuspendedRow| {
            matches!(row.cause, SuspendCause::Unanswered(_) | SuspendCause::Stopped(_))
        };
        let silent =
            suspended.iter().filter(is_silent).map(|row| (row.host, row.cause.to_string()));
        Self { silent: silent.collect(), ..Self::default() }
    }

    /// Adds a URL that was skipped or is queued, if it is a seed without a page.
    fn add(&mut self, row: &UrlRow, reason: Reason) {
        // Redirects of a seed have its depth. What was one has no list any more.
        let is_seed =
            row.depth == 0 && row.seed.is_some() && (row.referrer.is_none() || row.hops > 0);
        let silent = self.silent.get(&row.host).filter(|_| reason == Reason::Host);
        let (count, first) = if row.cause.is_some_and(SkipCause::may_pass) || silent.is_some() {
            &mut self.unreachable
        } else {
            &mut self.pageless
        };
        // The links of one that is not to be indexed were followed: it did what seeds are for.
        let is_lost = is_no_page(reason) && reason != Reason::Noindex || silent.is_some();
        if is_seed && is_lost {
            *count += 1;
            let detail = silent.or(row.detail.as_ref()).cloned();
            first.extend((first.len() < SEEDS).then(|| UrlRow { detail, ..row.clone() }));
        }
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
        let (_, before) = std::mem::take(&mut self.unasked);
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
        let mut counts = std::mem::take(&mut found.counts);
        (counts.unchanged, counts.changed) = state.visit_counts()?;
        counts.gone = self.gone;
        run.counts = counts;
        if run.end == End::Done && run.counts.judged() == 0 {
            run.end = End::Nothing;
        }
        run.suspended = std::mem::take(&mut urls.suspended);
        run.suspended.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        run.series = state.series(POINTS)?;
        run.saved = found.saved(&run, &state.files()?);
        let hosts = found.take_hosts();
        let all: Vec<Group> = std::mem::take(&mut found.groups).into_values().collect();
        let examples = std::mem::take(&mut urls.examples);
        let mut broken = Vec::new();
        let broken_count = std::mem::take(&mut urls.broken).for_each(state, BROKEN, |link| {
            broken.push(link);
            Ok::<_, StateError>(())
        })?;
        let warnings = self.warnings(state, &run, keeps, &found, (&hosts, &all, urls))?;
        let pages = |groups: &[Group]| groups.iter().map(|group| group.count).sum::<u64>();
        let (cluster_count, all_pages) = (all.len() as u64, pages(&all));
        let shown = choose(all);
        let near_misses = found
            .near_misses
            .into_iter()
            .map(|(similarity, url, of)| Ok(NearMiss { url, of: state.name_of(of)?, similarity }));
        Ok(Report {
            seconds: (run.seconds * 1000.0).round() / 1000.0,
            warnings,
            cluster_count,
            omitted: Omitted {
                clusters: cluster_count - shown.len() as u64,
                pages: all_pages - pages(&shown),
            },
            clusters: clusters(state, &shown)?,
            pass: self.pass,
            examples: examples.into_values().flatten().collect(),
            changed: changed(state)?,
            near_misses: near_misses.collect::<Result<_, StateError>>()?,
            similarities: found.similarities,
            distributions: self.distributions.clone(),
            broken,
            broken_count,
            changed_count: state.count_changed_pages()?,
            hosts,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..run
        })
    }

    fn warnings(
        &self,
        state: &State,
        run: &Report,
        keeps: [bool; 2],
        found: &Pages,
        (hosts, groups, urls): (&[Host], &[Group], Urls),
    ) -> Result<Vec<Warning>, StateError> {
        let Seeds { unreachable, pageless, .. } = urls.seeds;
        let is_all = unreachable.0 == run.counts.all_skipped();
        let seeds = if unreachable.0 == 0 { pageless.0 } else { 0 };
        let is_open = run.end == End::Open || run.end == End::Done && urls.is_postponed;
        let open = is_open.then(|| Warning::of_open(&run.counts, run.suspended.len()));
        let nothing = Warning::of_nothing(&run.counts, run.end, |reason| example(state, reason))?;
        // If there is no page at all, `nothing` has advice for its reason; of a status, it says no more than the seeds.
        let is_by_status = matches!(&nothing, Some(Warning::Nothing { reason: Some(Reason::Status), skipped, .. }) if *skipped <= seeds);
        let is_left_out = run.end == End::Nothing && !is_by_status;
        let pageless = if is_left_out { Default::default() } else { pageless };
        let unreachable = Warning::of_seeds(unreachable, pageless);
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
        warnings.extend(hosts.iter().filter_map(Warning::of_host));
        warnings.extend(Warning::of_sites(hosts));
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
        let host = self.hosts.entry(name.clone()).or_default();
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
        if found.kind == Kind::Near {
            self.similarities.add(false, found.similarity);
        }
        match (found.kind, found.step) {
            (Kind::Exact, Step::Body) => self.counts.exact.body += 1,
            (Kind::Exact, _) => self.counts.exact.text += 1,
            (Kind::Near, _) => self.counts.near += 1,
        }
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        *(if same_site { &mut host.same_site } else { &mut host.cross_site }) += 1;
        if name != kept_name {
            host.other_host += 1;
            let pair = (self.number_of(name), self.number_of(kept_name));
            *self.repeats.entry(pair).or_default() += 1;
        }
        if !stored {
            self.unstored[usize::from(!same_site)] += 1;
        }
        let new = || Group::new(found.of, judgement.facts.lang);
        self.groups.entry(found.of).or_insert_with(new).add(found);
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

    fn number_of(&mut self, name: String) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.names.entry(name).or_insert(next)
    }

    /// The hosts, each with that whose pages it repeats most, the one with the most pages first.
    fn take_hosts(&mut self) -> Vec<Host> {
        let mut hosts = std::mem::take(&mut self.hosts);
        let names: HashMap<_, _> = self.names.iter().map(|(name, at)| (*at, name)).collect();
        for ((host, of), &pages) in &self.repeats {
            let back = self.repeats.get(&(*of, *host)).copied().unwrap_or(0);
            let (host, of) = (hosts.entry(names[host].clone()).or_default(), names[of]);
            if (pages, Some(of)) > (host.repeats_pages, host.repeats.as_ref()) {
                (host.repeats_pages, host.repeats) = (pages, Some(of.clone()));
                host.repeated = back;
            }
        }
        let with_name = |(name, host)| Host { host: name, ..host };
        let mut hosts: Vec<_> = hosts.into_iter().map(with_name).collect();
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        hosts
    }

    /// Counts the URLs that were skipped or wait.
    fn add_urls(&mut self, state: &State) -> Result<Urls, StateError> {
        let rows = state.suspended_hosts()?;
        let mut waiting: HashMap<_, u64> = rows.iter().map(|row| (row.host, 0)).collect();
        let mut urls = Urls { seeds: Seeds::new(&rows), ..Urls::default() };
        // Of most, the state is all that counts.
        let (mut counts, broken) = (BTreeMap::<Reason, u64>::new(), &mut urls.broken);
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
                let host = self.hosts.entry(host).or_default();
                host.fetched += u64::from(fetched);
                host.failed += u64::from(is_failure(reason));
            }
            urls.seeds.add(&row, reason);
            let examples = urls.examples.entry(reason).or_default();
            if examples.len() < EXAMPLES {
                let of_host = rows.iter().find(|it| reason == Reason::Host && it.host == row.host);
                let detail = of_host.map(ToString::to_string).or(row.detail);
                examples.push(example_of(state, reason, UrlRow { detail, ..row })?);
            }
            Ok::<_, StateError>(())
        })?;
        self.counts.skipped = counts;
        urls.is_postponed = rows.iter().any(|row| row.cause.is_request() && waiting[&row.host] > 0);
        let suspended = rows.into_iter().map(|row| SuspendedHost {
            host: row.name,
            why: row.cause.to_string(),
            urls: waiting[&row.host],
            until: row.until.into(),
        });
        urls.suspended = suspended.collect();
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

fn changed(state: &State) -> Result<Vec<ChangedPage>, StateError> {
    let pages = state.changed_pages(CHANGED)?.into_iter();
    let page = |(url, visit): (String, Visit)| ChangedPage {
        url,
        changes: visit.changes,
        gone: visit.lost,
        checked: visit.checked.into(),
    };
    Ok(pages.map(page).collect())
}

fn example_of(state: &State, reason: Reason, row: UrlRow) -> Result<Example, StateError> {
    let referrer = row.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
    Ok(Example {
        reason,
        url: row.url.to_string(),
        status: row.status,
        detail: row.detail,
        referrer: referrer.map(|row| row.url.to_string()),
    })
}

/// A URL that is not judged for this reason.
fn example(state: &State, reason: Reason) -> Result<Option<UrlRow>, StateError> {
    if !matches!(reason, Reason::Host | Reason::Pending) {
        return state.first_url(UrlState::Skipped(reason));
    }
    let Some(row) = state.first_url(UrlState::Queued)? else { return Ok(None) };
    let suspended = state.suspended_hosts()?.into_iter().find(|host| host.host == row.host);
    Ok(Some(UrlRow { detail: suspended.map(|host| host.to_string()), ..row }))
}

/// A host's name, with the port unless it is the scheme's default.
pub(crate) fn host_name(url: Option<&Url>) -> String {
    let Some((url, host)) = url.and_then(|url| Some((url, url.host_str()?))) else {
        return String::new();
    };
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
