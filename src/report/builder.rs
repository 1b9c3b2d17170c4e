//! Counts a run from its state, and chooses the clusters that the report shows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    filter::{Kind, Step},
    page::{DocId, Lang, site_of},
    report::{
        BROKEN, CLUSTERS, Cluster, Counts, End, Host, MEMBERS, Member, Omitted, Pass, Report,
        SEEDS, SuspendedHost, UnreachableSeed, Warning, broken::Broken,
    },
    sink::ChangeName,
    state::{
        HostId, JudgedDocument, Reason, SkipCause, State, StateError, UrlId, UrlRow, UrlState,
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
    groups: HashMap<DocId, Group>,
}

/// A unique page that others repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    document: DocId,
    /// How many pages repeat it, and how many of them are near duplicates.
    count: u64,
    near: u64,
    /// The language of the first of them.
    lang: Option<Lang>,
}

/// The URLs that failed, counted.
#[derive(Debug, Default)]
struct Urls {
    /// Seeds that could not be reached, and the first of them.
    unreachable: u64,
    seeds: Vec<UrlRow>,
    broken: Broken,
    suspended: Vec<SuspendedHost>,
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

    /// A start makes no pass over known pages, goes on with one, or begins one.
    pub(crate) fn start_pass(&mut self, is_made: bool, is_new: bool) {
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

    /// Counts a page that was found for the first time.
    pub(crate) fn found(&mut self) {
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
        let hosts = std::mem::take(&mut found.hosts);
        let named = |(name, host)| Host { host: name, ..host };
        let mut hosts: Vec<_> = hosts.into_iter().map(named).collect();
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        let all = largest_first(std::mem::take(&mut found.groups).into_values().collect());
        let mut broken = Vec::new();
        std::mem::take(&mut urls.broken).for_each(state, BROKEN, |link| {
            broken.push(link);
            Ok::<_, StateError>(())
        })?;
        let warnings = self.warnings(state, &run, keeps, &found, (&hosts, &all, urls))?;
        let near = |groups: &[Group]| groups.iter().filter(|group| group.near > 0).count() as u64;
        let pages = |groups: &[Group]| groups.iter().map(|group| group.count).sum::<u64>();
        let [cluster_count, all_near, all_pages] = [all.len() as u64, near(&all), pages(&all)];
        let (shown, largest) = choose(all, CLUSTERS);
        Ok(Report {
            seconds: (run.seconds * 1000.0).round() / 1000.0,
            warnings,
            cluster_count,
            omitted: Omitted {
                clusters: cluster_count - shown.len() as u64,
                near: all_near - near(&shown),
                pages: all_pages - pages(&shown),
                largest,
            },
            clusters: clusters(state, &shown)?,
            pass: self.pass,
            series: state.series()?,
            broken,
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
        (hosts, largest, urls): (&[Host], &[Group], Urls),
    ) -> Result<Vec<Warning>, StateError> {
        let unreachable = Warning::of_seeds(urls.unreachable, urls.seeds);
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
        let (count, seeds) = self.unasked.clone();
        let unasked = (count > 0).then_some(Warning::Unasked { count, seeds });
        let first = unreachable.into_iter().chain(unasked).chain(open).chain(nothing);
        let mut warnings: Vec<_> = first.chain(retry).chain(missed).collect();
        warnings.extend(run.warnings.iter().cloned());
        warnings.extend(Warning::of_queued(run.end, &run.learnt));
        warnings.extend(Warning::of_deferred(&run.learnt));
        warnings.extend(Warning::of_unstored(keeps, found.unstored));
        let (pages, first) = found.needs_scripts;
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
        if document.needs_scripts {
            let (pages, first) = self.needs_scripts;
            self.needs_scripts = (pages + 1, if pages == 0 { judgement.id } else { first });
        }
        let (url, kept) = (Url::parse(url).ok(), of.and_then(|of| Url::parse(of).ok()));
        let host = self.hosts.entry(name(url.as_ref())).or_default();
        host.fetched += 1;
        let Some(found) = judgement.verdict.matched() else {
            self.counts.unique += 1;
            host.unique += 1;
            return;
        };
        match (found.kind, found.step) {
            (Kind::Exact, Step::Body) => self.counts.exact.body += 1,
            (Kind::Exact, _) => self.counts.exact.text += 1,
            (Kind::Near, _) => self.counts.near += 1,
        }
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        *(if same_site { &mut host.same_site } else { &mut host.cross_site }) += 1;
        host.other_host += u64::from(name(url.as_ref()) != name(kept.as_ref()));
        self.unstored[usize::from(!same_site)] += u64::from(!stored);
        let lang = judgement.facts.lang;
        let new = Group { document: found.of, count: 0, near: 0, lang };
        let group = self.groups.entry(found.of).or_insert(new);
        group.count += 1;
        group.near += u64::from(found.kind == Kind::Near);
    }

    /// Counts the URLs that were skipped or wait.
    fn add_urls(&mut self, state: &State) -> Result<Urls, StateError> {
        let rows = state.suspended_hosts()?;
        let mut waiting: HashMap<_, u64> = rows.iter().map(|row| (row.host, 0)).collect();
        let mut urls = Urls::default();
        // Of most, the state is all that counts.
        let (mut counts, broken) = (BTreeMap::new(), &mut urls.broken);
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
            *counts.entry(reason).or_default() += 1;
            let has_more = is_failure(reason)
                || matches!(reason, Reason::Noindex | Reason::ContentType | Reason::Robots);
            has_more.then_some(reason)
        };
        state.for_each_url(select, |row, reason| {
            // Received with status 2xx, so `max_pages` counts it.
            let fetched = matches!(reason, Reason::Noindex | Reason::ContentType);
            self.counts.fetched += u64::from(fetched);
            if fetched || is_failure(reason) {
                let host = name(Url::parse(row.url.as_str()).ok().as_ref());
                let host = self.hosts.entry(host).or_default();
                host.fetched += u64::from(fetched);
                host.failed += u64::from(is_failure(reason));
            }
            // Redirects of a seed have its depth.
            let is_seed = row.referrer.is_none() || row.depth == 0 && row.hops > 0;
            if is_seed && row.cause.is_some_and(SkipCause::may_pass) {
                urls.unreachable += 1;
                urls.seeds.extend((urls.seeds.len() < SEEDS).then(|| row.clone()));
            }
            Ok::<_, StateError>(())
        })?;
        self.counts.skipped = counts;
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

/// Clusters with their first pages.
fn clusters(state: &State, groups: &[Group]) -> Result<Vec<Cluster>, StateError> {
    let mut members: HashMap<_, Vec<_>> =
        groups.iter().map(|group| (group.document, Vec::new())).collect();
    state.for_each_document(|document| {
        let of = document.judgement.verdict.matched().map(|found| found.of);
        let members = of.and_then(|of| members.get_mut(&of));
        if let Some(members) = members.filter(|members| members.len() < MEMBERS) {
            members.push(document);
        }
        Ok(())
    })?;
    let cluster = |group: &Group| {
        let missing = StateError::Damaged("a page of a cluster is no document");
        let kept = state.document(group.document)?.ok_or(missing)?;
        let members = members.remove(&group.document).unwrap_or_default();
        let members = members.into_iter().filter_map(|document| member(document, &kept));
        Ok(Cluster {
            members: members.collect(),
            url: kept.name,
            title: kept.title,
            lang: group.lang.map(|lang| lang.as_str().to_owned()),
            count: group.count,
            near: group.near,
        })
    };
    groups.iter().map(cluster).collect()
}

fn member(document: JudgedDocument, kept: &JudgedDocument) -> Option<Member> {
    let found = *document.judgement.verdict.matched()?;
    let (url, of) = (Url::parse(&document.name).ok(), Url::parse(&kept.name).ok());
    Some(Member {
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
fn largest_first(mut clusters: Vec<Group>) -> Vec<Group> {
    clusters.sort_by_key(|cluster| (Reverse(cluster.count), cluster.document));
    clusters
}

/// Takes `room` of the clusters, which come the largest first. Also returns how many duplicates the largest has that is left out.
///
/// In a crawl of several languages or with a mirror, the largest clusters are often all of one kind. So half of the room goes to the
/// largest of each kind in turn.
fn choose(mut clusters: Vec<Group>, room: usize) -> (Vec<Group>, u64) {
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
fn mixed(clusters: Vec<Group>) -> Vec<Group> {
    let mut kinds = BTreeMap::<_, VecDeque<Group>>::new();
    let whole = clusters.len();
    for cluster in clusters {
        let kind = (Reverse(cluster.near > 0), cluster.lang);
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

    fn cluster(lang: &str, near: u64, count: u64, number: usize) -> Group {
        Group { document: DocId(number as u64), lang: Lang::new(lang), count, near }
    }

    #[test]
    fn every_kind_is_shown_even_if_the_largest_are_all_of_one() {
        let english = (0..100).map(|name| cluster("en", 0, 9, name));
        let others = [cluster("zh", 1, 3, 0), cluster("zh", 0, 2, 1), cluster("en", 2, 4, 2)];
        let (chosen, omitted) = choose(largest_first(english.chain(others).collect()), 50);
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
            chosen.iter().map(|it| (it.lang.as_ref().unwrap().as_str(), it.near)).collect();
        let first = [("en", 1), ("zh", 1), ("en", 0), ("zh", 0)];
        assert_eq!(kinds[..4], first);
        assert_eq!(omitted, 0);
    }
}
