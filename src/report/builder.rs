//! Counts a run while it goes on, and chooses the clusters that the report shows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    filter::{Kind, Step},
    page::{DocId, Lang, site_of},
    report::{
        BROKEN, BrokenLink, CLUSTERS, Cluster, Counts, Host, MEMBERS, Member, Omitted, Pass,
        Report, SEEDS, UnreachableSeed, Warning,
    },
    sink::ChangeName,
    state::{
        ClusterKind, ClusterRow, HostCounts, JudgedDocument, Reason, SkipCause, State, StateError,
        UrlId, UrlRow, UrlState,
    },
};

/// The name in the state under which the builder is kept.
const NAME: &str = "report";
/// The same of what is only noted.
const NOTED: &str = "report_notes";
/// A report warns of at most this many unique pages with many duplicates.
const WARNINGS: usize = 50;

/// Documents are counted when there are this many new ones: few enough for a quick stop, and enough for the row of a host to change once
/// for many pages.
const INTERVAL: u64 = 10_000;

/// Counts a run. The numbers of hosts and clusters are in the state; what is here does not grow with the run, and is [saved](Self::save) with
/// each commit. URLs are counted at once. Documents are counted some thousand at a time: the state has them all, in order of arrival.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Builder {
    /// The last document that was counted.
    last: DocId,
    counts: Counts,
    /// Duplicates that were not stored: of the same site, of other sites.
    unstored: [u64; 2],
    /// The URLs that failed and were found first.
    #[serde(default)]
    broken: BTreeSet<i64>,
    /// Whether there were more.
    #[serde(default)]
    more_broken: bool,
    /// Pages that need scripts, and the first of them.
    #[serde(default)]
    needs_scripts: (u64, DocId),
    #[serde(skip)]
    noted: Noted,
}

/// What cannot be counted again: nothing else in the state says it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// How often a known page was gone.
    gone: u64,
    /// What the pass over known pages has found, if the last start made one.
    pass: Option<Pass>,
    /// How many seeds were not fetched because a budget was spent, and the first of them.
    unasked: (u64, Vec<UnreachableSeed>),
}

impl Builder {
    /// What was saved last, or all URLs counted again if the state has no counts; and all documents.
    ///
    /// # Errors
    /// If the state cannot be read or written.
    pub(crate) fn load(state: &State) -> Result<Self, StateError> {
        let mut builder = match state.json(NAME)? {
            Some(counted) => counted,
            None => Self::of_urls(state)?,
        };
        builder.noted = state.json(NOTED)?.unwrap_or_default();
        builder.catch_up(state)?;
        Ok(builder)
    }

    fn of_urls(state: &State) -> Result<Self, StateError> {
        let mut builder = Self::default();
        (builder.counts.unchanged, builder.counts.changed) = state.visit_counts()?;
        state.for_each_url(UrlState::skipped, |row, reason| {
            builder.skipped(state, (row.id, row.url.as_str()), reason, row.cause)
        })?;
        Ok(builder)
    }

    /// Whether enough documents were judged before this one that they are to be counted.
    pub(crate) fn is_due(&self, next: DocId) -> bool {
        next.0 > self.last.0 + INTERVAL
    }

    /// Counts the documents that were judged since the last call.
    ///
    /// # Errors
    /// If the state cannot be read or written.
    pub(crate) fn catch_up(&mut self, state: &State) -> Result<(), StateError> {
        let mut hosts = HashMap::new();
        state.for_each_document(self.last, |document| {
            let found = document.judgement.verdict.matched();
            let of = found.map(|found| state.name_of(found.of)).transpose()?;
            self.page(state, &mut hosts, &document, of.as_deref())?;
            self.last = document.judgement.id;
            if hosts.len() as u64 >= INTERVAL { save_hosts(state, &mut hosts) } else { Ok(()) }
        })?;
        save_hosts(state, &mut hosts)
    }

    /// Keeps the counts in the open transaction.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn save(&self, state: &State) -> Result<(), StateError> {
        state.set_json(NOTED, &self.noted)?;
        state.set_json(NAME, self)
    }

    /// Counts a document, whose match has the URL `of`.
    fn page(
        &mut self,
        state: &State,
        hosts: &mut HashMap<String, HostCounts>,
        document: &JudgedDocument,
        of: Option<&str>,
    ) -> Result<(), StateError> {
        let JudgedDocument { name: url, stored, judgement, .. } = document;
        self.counts.fetched += 1;
        self.counts.stored += u64::from(*stored);
        if document.needs_scripts {
            let (pages, first) = self.needs_scripts;
            self.needs_scripts = (pages + 1, if pages == 0 { judgement.id } else { first });
        }
        let (url, kept) = (Url::parse(url).ok(), of.and_then(|of| Url::parse(of).ok()));
        let host = hosts.entry(name(url.as_ref())).or_default();
        host.fetched += 1;
        let Some(found) = judgement.verdict.matched() else {
            self.counts.unique += 1;
            host.unique += 1;
            return Ok(());
        };
        match (found.kind, found.step) {
            (Kind::Exact, Step::Body) => self.counts.exact.body += 1,
            (Kind::Exact, _) => self.counts.exact.text += 1,
            (Kind::Near, _) => self.counts.near += 1,
        }
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        host.same_site += i64::from(same_site);
        host.cross_site += i64::from(!same_site);
        host.other_host += i64::from(name(url.as_ref()) != name(kept.as_ref()));
        self.unstored[usize::from(!same_site)] += u64::from(!stored);
        let is_near = found.kind == Kind::Near;
        let lang = judgement.facts.lang.as_ref().map(Lang::as_str);
        state.add_to_cluster(found.of, judgement.id, is_near, lang, MEMBERS)
    }

    /// Counts a URL that was skipped.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn skipped(
        &mut self,
        state: &State,
        (id, url): (UrlId, &str),
        reason: Reason,
        cause: Option<SkipCause>,
    ) -> Result<(), StateError> {
        *self.counts.skipped.entry(reason).or_default() += 1;
        // Received with status 2xx, so `max_pages` counts it.
        let fetched = matches!(reason, Reason::Noindex | Reason::ContentType);
        if is_failure(reason) && self.broken.insert(id.0) && self.broken.len() > BROKEN {
            self.broken.pop_last();
            self.more_broken = true;
        }
        self.counts.fetched += u64::from(fetched);
        if fetched || is_failure(reason) {
            let (fetched, failed) = (fetched.into(), is_failure(reason).into());
            let change = HostCounts { fetched, failed, ..HostCounts::default() };
            state.count_host(&name(Url::parse(url).ok().as_ref()), &change)?;
        }
        if cause.is_some_and(SkipCause::may_pass) {
            state.add_unreachable_seed(id)?;
        }
        Ok(())
    }

    /// Takes back that a URL was skipped for this reason: it is queued again.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn requeued(
        &mut self,
        state: &State,
        (id, url): (UrlId, &str),
        reason: Reason,
    ) -> Result<(), StateError> {
        if let Some(count) = self.counts.skipped.get_mut(&reason) {
            *count = count.saturating_sub(1);
        }
        self.counts.skipped.retain(|_, count| *count > 0);
        if is_failure(reason) {
            self.broken.remove(&id.0);
            let change = HostCounts { failed: -1, ..HostCounts::default() };
            state.count_host(&name(Url::parse(url).ok().as_ref()), &change)?;
        }
        if is_failure(reason) || reason == Reason::Robots {
            state.drop_unreachable_seed(id)?;
        }
        Ok(())
    }

    /// A start makes no pass over known pages, goes on with one, or begins one.
    pub(crate) fn start_pass(&mut self, is_made: bool, is_new: bool) {
        let known = self.noted.pass.filter(|_| !is_new).unwrap_or_default();
        self.noted.pass = is_made.then_some(known);
    }

    /// Whether URLs were skipped for this reason.
    pub(crate) fn has_skipped(&self, reason: Reason) -> bool {
        self.counts.skipped.contains_key(&reason)
    }

    /// Counts a known page that was asked for again, and how it had changed, if it had.
    pub(crate) fn revisited(&mut self, change: Option<ChangeName>) {
        self.counts.unchanged += u64::from(change.is_none());
        self.counts.changed += u64::from(change.is_some());
        self.noted.gone += u64::from(change == Some(ChangeName::Gone));
        let Some(pass) = &mut self.noted.pass else { return };
        let count = match change {
            None => &mut pass.unchanged,
            Some(ChangeName::Text) => &mut pass.changed,
            Some(ChangeName::Gone) => &mut pass.gone,
            Some(ChangeName::Back) => &mut pass.back,
        };
        *count += 1;
    }

    /// Counts a page that was found for the first time.
    pub(crate) fn found(&mut self) {
        if let Some(pass) = &mut self.noted.pass {
            pass.new += 1;
        }
    }

    /// Notes the seeds that were not fetched because a budget was spent, and why those were not that were asked. What was known of the latter
    /// stays known.
    pub(crate) fn note_unasked(&mut self, count: u64, mut seeds: Vec<UnreachableSeed>) {
        let (_, before) = std::mem::take(&mut self.noted.unasked);
        for seed in seeds.iter_mut().filter(|seed| seed.why.is_empty()) {
            let known = before.iter().find(|known| known.url == seed.url);
            seed.why = known.map_or_else(String::new, |known| known.why.clone());
        }
        self.noted.unasked = (count, seeds);
    }

    /// Duplicates that were not stored although their policy, of the same site or of other sites, is to keep them.
    pub(crate) fn unstored(&self, keeps: [bool; 2]) -> u64 {
        keeps.into_iter().zip(self.unstored).map(|(keeps, n)| if keeps { n } else { 0 }).sum()
    }

    /// Adds what was counted to the report of a run, which has its suspended hosts and the numbers of queued URLs already. `keeps`: whether
    /// duplicates are stored, according to the current policy: of the same site, of other sites.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn finish(
        &self,
        state: &State,
        mut run: Report,
        keeps: [bool; 2],
    ) -> Result<Report, StateError> {
        let mut counts = self.counts.clone();
        counts.gone = self.noted.gone;
        counts.skipped.append(&mut run.counts.skipped);
        run.counts = counts;
        run.suspended.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        let hosts: Vec<_> = state.host_counts()?.into_iter().map(host).collect();
        let kinds = state.cluster_kinds()?;
        let largest = largest_clusters(state, &kinds)?;
        let warnings = self.warnings(state, &run, keeps, &hosts, &largest)?;
        let cluster_count = kinds.iter().map(|kind| kind.clusters).sum();
        let (clusters, largest_omitted) = choose(largest, CLUSTERS);
        let shown_pages: u64 = clusters.iter().map(|cluster| cluster.count).sum();
        let near = |kind: &&ClusterKind| kind.has_near;
        let all_near: u64 = kinds.iter().filter(near).map(|kind| kind.clusters).sum();
        let all_pages: u64 = kinds.iter().map(|kind| kind.pages).sum();
        let shown_near = clusters.iter().filter(|cluster| cluster.near > 0).count() as u64;
        let omitted = Omitted {
            clusters: cluster_count - clusters.len() as u64,
            near: all_near - shown_near,
            pages: all_pages - shown_pages,
            largest: largest_omitted,
        };
        Ok(Report {
            seconds: (run.seconds * 1000.0).round() / 1000.0,
            warnings,
            cluster_count,
            clusters: clusters.iter().map(|row| cluster(state, row)).collect::<Result<_, _>>()?,
            omitted,
            pass: self.noted.pass,
            broken: self.broken(state)?,
            hosts,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..run
        })
    }

    /// The URLs that failed and were found first.
    fn broken(&self, state: &State) -> Result<Vec<BrokenLink>, StateError> {
        if self.more_broken && self.broken.len() < BROKEN {
            // Some were queued again, and others take their places.
            let mut broken = Vec::new();
            state.for_each_url(BrokenLink::select, |row, reason| {
                if broken.len() < BROKEN {
                    broken.push(BrokenLink::of(state, row, reason)?);
                }
                Ok::<_, StateError>(())
            })?;
            return Ok(broken);
        }
        let mut broken = Vec::new();
        for id in &self.broken {
            if let Some(row) = state.url_by_id(UrlId(*id))?
                && let Some(reason) = BrokenLink::select(row.state)
            {
                broken.push(BrokenLink::of(state, row, reason)?);
            }
        }
        Ok(broken)
    }

    fn warnings(
        &self,
        state: &State,
        run: &Report,
        keeps: [bool; 2],
        hosts: &[Host],
        largest: &[ClusterRow],
    ) -> Result<Vec<Warning>, StateError> {
        let (unreachable_count, seeds) = state.unreachable_seeds(SEEDS)?;
        let unreachable = Warning::of_seeds(unreachable_count, seeds);
        let open = Warning::of_open(run.end, &run.counts, run.suspended.len());
        let mut nothing =
            Warning::of_nothing(&run.counts, run.end, |reason| example(state, reason))?;
        if unreachable.is_some() {
            // The seeds are named already.
            let is_said = |warning: &Warning| {
                matches!(warning, Warning::Nothing { reason: Some(Reason::Failure), .. })
            };
            nothing = nothing.filter(|nothing| !is_said(nothing));
        }
        let retry = state.failures_to_retry()?.map(Warning::of_failures);
        let missed = Warning::of_audit(&run.search.audit);
        let (count, seeds) = self.noted.unasked.clone();
        let unasked = (count > 0).then_some(Warning::Unasked { count, seeds });
        let first = unreachable.into_iter().chain(unasked).chain(open).chain(nothing);
        let mut warnings: Vec<_> = first.chain(retry).chain(missed).collect();
        warnings.extend(run.warnings.iter().cloned());
        let lost =
            state.meta::<i64>("lost")?.and_then(|it| u64::try_from(it).ok()).unwrap_or_default();
        warnings.extend((lost > 0).then_some(Warning::Lost { lines: lost }));
        warnings.extend(Warning::of_queued(run.end, &run.learnt));
        warnings.extend(Warning::of_deferred(&run.learnt));
        warnings.extend(Warning::of_unstored(keeps, self.unstored));
        let (pages, first) = self.needs_scripts;
        if pages > 0 {
            warnings.push(Warning::Scripts { pages, example: state.name_of(first)? });
        }
        warnings.extend(hosts.iter().filter_map(Warning::of_host));
        for row in largest.iter().take(WARNINGS) {
            warnings.extend(Warning::of_cluster(row.count, || state.name_of(row.document))?);
        }
        Ok(warnings)
    }
}

/// The largest clusters of each kind, more than a report shows, the largest first.
fn largest_clusters(state: &State, kinds: &[ClusterKind]) -> Result<Vec<ClusterRow>, StateError> {
    let mut largest = Vec::new();
    for ClusterKind { has_near, lang, .. } in kinds {
        largest.append(&mut state.largest_clusters(*has_near, lang.as_deref(), CLUSTERS + 1)?);
    }
    Ok(largest_first(largest))
}

fn save_hosts(state: &State, hosts: &mut HashMap<String, HostCounts>) -> Result<(), StateError> {
    hosts.drain().try_for_each(|(name, change)| state.count_host(&name, &change))
}

fn is_failure(reason: Reason) -> bool {
    matches!(reason, Reason::Status | Reason::Failure)
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

fn host((host, counts): (String, HostCounts)) -> Host {
    let HostCounts { fetched, unique, same_site, cross_site, other_host, failed } = counts;
    let [fetched, unique, same_site, cross_site, other_host, failed] =
        [fetched, unique, same_site, cross_site, other_host, failed]
            .map(|number| u64::try_from(number).unwrap_or_default());
    Host { host, fetched, unique, same_site, cross_site, other_host, failed }
}

/// A cluster with its pages.
fn cluster(state: &State, row: &ClusterRow) -> Result<Cluster, StateError> {
    let document =
        |id| state.document(id)?.ok_or(StateError::Damaged("a page of a cluster is no document"));
    let kept = document(row.document)?;
    let members = row.members.iter().map(|id| member(document(*id)?, &kept));
    Ok(Cluster {
        members: members.collect::<Result<_, _>>()?,
        url: kept.name,
        title: kept.title,
        lang: row.lang.clone(),
        count: row.count,
        near: row.near,
    })
}

fn member(document: JudgedDocument, kept: &JudgedDocument) -> Result<Member, StateError> {
    let found = document.judgement.verdict.matched();
    let found = found.ok_or(StateError::Damaged("a page of a cluster is unique"))?;
    let (url, of) = (Url::parse(&document.name).ok(), Url::parse(&kept.name).ok());
    Ok(Member {
        same_site: site(url.as_ref()) == site(of.as_ref()),
        url: document.name,
        title: document.title,
        verdict: document.judgement.verdict.into(),
        step: Some(found.step),
        distance: found.distance,
        signature_distance: found.signature_distance,
        similarity: found.similarity,
    })
}

/// A host's name, with the port unless it is the scheme's default.
fn name(url: Option<&Url>) -> String {
    let Some((url, host)) = url.and_then(|url| Some((url, url.host_str()?))) else {
        return String::new();
    };
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn site(url: Option<&Url>) -> Option<&str> {
    url.and_then(Url::host_str).map(site_of)
}

/// Sorts clusters: the largest first, of equally large ones the oldest.
fn largest_first(mut clusters: Vec<ClusterRow>) -> Vec<ClusterRow> {
    clusters.sort_by_key(|cluster| (Reverse(cluster.count), cluster.document));
    clusters
}

/// Takes `room` of the clusters, which come the largest first. Also returns how many duplicates the largest has that is left out.
///
/// In a crawl of several languages or with a mirror, the largest clusters are often all of one kind. So half of the room goes to the
/// largest of each kind in turn.
fn choose(mut clusters: Vec<ClusterRow>, room: usize) -> (Vec<ClusterRow>, u64) {
    let rest = clusters.split_off(clusters.len().min(room / 2));
    let mut rest = mixed(rest);
    let omitted = rest.split_off(rest.len().min(room - clusters.len()));
    clusters.append(&mut rest);
    let omitted = omitted.iter().map(|cluster| cluster.count).max().unwrap_or_default();
    let clusters = largest_first(clusters);
    let of_one_size = clusters.chunk_by(|a, b| a.count == b.count);
    (of_one_size.flat_map(|clusters| mixed(clusters.to_vec())).collect(), omitted)
}

/// One of each kind in turn, near ones first; within a kind the order stays.
fn mixed(clusters: Vec<ClusterRow>) -> Vec<ClusterRow> {
    let mut kinds = BTreeMap::<_, VecDeque<ClusterRow>>::new();
    let whole = clusters.len();
    for cluster in clusters {
        let kind = (Reverse(cluster.near > 0), cluster.lang.clone());
        kinds.entry(kind).or_default().push_back(cluster);
    }
    let mut queues: Vec<_> = kinds.into_values().collect();
    let mut mixed = Vec::with_capacity(whole);
    while mixed.len() < whole {
        mixed.extend(queues.iter_mut().filter_map(VecDeque::pop_front));
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(lang: &str, near: u64, count: u64, number: usize) -> ClusterRow {
        let lang = Some(lang.to_owned());
        ClusterRow { document: DocId(number as u64), lang, count, near, members: Vec::new() }
    }

    #[test]
    fn every_kind_is_shown_even_if_the_largest_are_all_of_one() {
        let english = (0..100).map(|name| cluster("en", 0, 9, name));
        let others = [cluster("zh", 1, 3, 0), cluster("zh", 0, 2, 1), cluster("en", 2, 4, 2)];
        let (chosen, omitted) = choose(largest_first(english.chain(others.clone()).collect()), 50);
        assert_eq!(chosen.len(), 50);
        for other in &others {
            assert!(chosen.contains(other), "{other:?}");
        }
        assert!(chosen.is_sorted_by_key(|cluster| Reverse(cluster.count)));
        assert_eq!(omitted, 9);
    }

    #[test]
    fn the_largest_are_shown_whatever_their_kind() {
        let large = (0..25).map(|name| cluster("en", 0, 100, name));
        let small = (0..99).map(|name| cluster(["zh", "ja", "ko"][name % 3], 1, 1, name));
        let (chosen, _) = choose(largest_first(small.chain(large).collect()), 50);
        assert_eq!(chosen.iter().filter(|cluster| cluster.count == 100).count(), 25);
    }

    #[test]
    fn clusters_of_one_size_are_mixed() {
        let all =
            (0..6).map(|name| cluster(["en", "zh"][name / 3], u64::from(name % 3 == 2), 1, name));
        let (chosen, omitted) = choose(largest_first(all.collect()), 50);
        let kinds: Vec<_> =
            chosen.iter().map(|it| (it.lang.as_deref().unwrap(), it.near)).collect();
        let first = [("en", 1), ("zh", 1), ("en", 0), ("zh", 0)];
        assert_eq!(kinds[..4], first);
        assert_eq!(omitted, 0);
    }
}
