//! Counts a run in one pass over its decisions, and chooses the clusters that the report shows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use url::Url;

use crate::{
    filter::Step,
    page::site_of,
    report::{
        CLUSTERS, Cluster, Counts, DeferredHost, End, Host, MEMBERS, Member, Method, Omitted,
        Report, Search, Warning, warning::Example,
    },
    sink::record::{Decision, MatchFields, VerdictName},
    state::{Reason, SkipCause},
};

/// Members to hold in memory, over all clusters.
const HELD: usize = 50_000;
/// Clusters that keep their members when there are too many.
const KEPT_CLUSTERS: usize = 1_000;

/// A page that was judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    /// The decision; ids are URLs.
    pub(crate) decision: &'a Decision<'a>,
    /// The page's title.
    pub(crate) title: Option<&'a str>,
    /// The title of its match, if known.
    pub(crate) kept_title: Option<&'a str>,
    /// Whether it has a line in `pages.jsonl`.
    pub(crate) stored: bool,
}

/// A URL that has a line in `skipped.jsonl`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skip<'a> {
    /// The URL.
    pub(crate) url: &'a str,
    /// Why it was skipped.
    pub(crate) reason: Reason,
    /// Details of the reason.
    pub(crate) detail: Option<&'a str>,
    /// The cause, if the report depends on it.
    pub(crate) cause: Option<SkipCause>,
    /// Whether it was received with status 2xx, so that `max_pages` counts it.
    pub(crate) fetched: bool,
}

/// The facts about a run as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The run's name.
    pub(crate) name: String,
    /// Why it ended.
    pub(crate) end: End,
    /// When it began, at its first start.
    pub(crate) started: Timestamp,
    /// When it ended.
    pub(crate) finished: Timestamp,
    /// How long it ran, over all its starts.
    pub(crate) worked: Duration,
    /// How pages were judged.
    pub(crate) fingerprint: Method,
    /// How near duplicates were searched.
    pub(crate) search: Search,
    /// Whether duplicates are stored, according to the current policy: of the same site, of other sites.
    pub(crate) keeps: [bool; 2],
    /// Whether it writes WARC files.
    pub(crate) warc: bool,
}

/// Counts a run, row by row in order of arrival. Its memory grows with the number of hosts and clusters, not of pages.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    counts: Counts,
    hosts: HashMap<String, Host>,
    clusters: HashMap<String, Cluster>,
    held: usize,
    /// The first URL that was skipped for each reason.
    examples: BTreeMap<Reason, Example>,
    deferred: Vec<DeferredHost>,
    /// Duplicates that were not stored: of the same site, of other sites.
    unstored: [u64; 2],
}

impl Builder {
    /// Counts a page that was judged.
    pub(crate) fn page(&mut self, row: &Row<'_>) {
        let counts = &mut self.counts;
        counts.fetched += 1;
        counts.stored += u64::from(row.stored);
        match (row.decision.verdict, row.decision.step) {
            (VerdictName::Unique, _) => counts.unique += 1,
            (VerdictName::Exact, Some(Step::Body)) => counts.exact.body += 1,
            (VerdictName::Exact, _) => counts.exact.text += 1,
            (VerdictName::Near, _) => counts.near += 1,
        }
        let url = Url::parse(&row.decision.id).ok();
        let kept = row.decision.matched.as_ref().map(|matched| (matched, Url::parse(&matched.id)));
        let host = self.host(url.as_ref());
        host.fetched += 1;
        let Some((matched, kept)) = kept else {
            host.unique += 1;
            return;
        };
        let kept = kept.ok();
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        host.same_site += u64::from(same_site);
        host.cross_site += u64::from(!same_site);
        host.other_host += u64::from(name(url.as_ref()) != name(kept.as_ref()));
        self.unstored[usize::from(!same_site)] += u64::from(!row.stored);
        self.member(row, matched, same_site);
    }

    /// Counts a URL that has a line in `skipped.jsonl`.
    pub(crate) fn skipped(&mut self, skip: &Skip<'_>) {
        *self.counts.skipped.entry(skip.reason).or_default() += 1;
        self.examples.entry(skip.reason).or_insert_with(|| Example {
            url: skip.url.to_owned(),
            cause: skip.cause,
            detail: skip.detail.map(ToOwned::to_owned),
        });
        self.counts.fetched += u64::from(skip.fetched);
        let failed = matches!(skip.reason, Reason::Status | Reason::Failure);
        if failed || skip.fetched {
            let host = self.host(Url::parse(skip.url).ok().as_ref());
            host.fetched += u64::from(skip.fetched);
            host.failed += u64::from(failed);
        }
    }

    /// Adds a deferred host.
    pub(crate) fn deferred(&mut self, host: DeferredHost) {
        self.deferred.push(host);
    }

    /// The report of what was counted.
    #[must_use]
    pub(crate) fn finish(mut self, run: Run) -> Report {
        let nothing = Warning::of_nothing(&self.counts, run.end, &self.examples);
        let unstored = Warning::of_unstored(run.keeps, self.unstored);
        self.deferred.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        let mut hosts: Vec<Host> = self.hosts.into_values().collect();
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        let cluster_count = self.clusters.len() as u64;
        let clusters = largest_first(self.clusters.into_values().collect());
        let missed = Warning::of_audit(&run.search.audit);
        let warnings = nothing.into_iter().chain(missed).chain(unstored);
        let warnings = warnings.chain(hosts.iter().filter_map(Warning::of_host));
        let warnings = warnings.chain(clusters.iter().filter_map(Warning::of_cluster)).collect();
        let (clusters, omitted) = choose(clusters, CLUSTERS);
        Report {
            name: run.name,
            end: run.end,
            counts: self.counts,
            started: run.started,
            finished: run.finished,
            seconds: (run.worked.as_secs_f64() * 1000.0).round() / 1000.0,
            warnings,
            cluster_count,
            clusters,
            omitted,
            hosts,
            deferred: self.deferred,
            fingerprint: run.fingerprint,
            search: run.search,
            warc: run.warc,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn host(&mut self, url: Option<&Url>) -> &mut Host {
        let name = name(url);
        self.hosts
            .entry(name)
            .or_insert_with_key(|name| Host { host: name.clone(), ..Host::default() })
    }

    fn member(&mut self, row: &Row<'_>, matched: &MatchFields<'_>, same_site: bool) {
        if self.held >= HELD {
            self.drop_members();
        }
        let owned = |text: &str| text.to_owned();
        let cluster =
            self.clusters.entry(matched.id.to_string()).or_insert_with_key(|url| Cluster {
                url: url.clone(),
                title: row.kept_title.map(owned),
                lang: row.decision.lang.as_deref().map(owned),
                ..Cluster::default()
            });
        cluster.count += 1;
        cluster.near += u64::from(row.decision.verdict == VerdictName::Near);
        if cluster.members.len() < MEMBERS {
            self.held += 1;
            cluster.members.push(Member {
                url: row.decision.id.to_string(),
                title: row.title.map(owned),
                verdict: row.decision.verdict,
                step: row.decision.step,
                distance: matched.distance,
                signature_distance: matched.signature_distance,
                similarity: matched.similarity,
                same_site,
            });
        }
    }

    /// Drops the members of all but the largest clusters, but not their number: the report names only members of the largest.
    fn drop_members(&mut self) {
        let mut clusters: Vec<&mut Cluster> = self.clusters.values_mut().collect();
        clusters.sort_by_key(|cluster| Reverse(cluster.count));
        for cluster in clusters.iter_mut().skip(KEPT_CLUSTERS) {
            cluster.members = Vec::new();
        }
        self.held = clusters.iter().map(|cluster| cluster.members.len()).sum();
    }
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

/// The kind of a cluster: its language, and whether it has near duplicates.
type Kind = (Option<String>, bool);

/// Sorts clusters: the largest first, those of one size by URL.
fn largest_first(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    clusters.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.url.cmp(&b.url)));
    clusters
}

/// Takes `room` of the clusters, which come the largest first. Also returns what is left out.
///
/// In a crawl of several languages or with a mirror, the largest clusters are often all of one kind. So half of the room goes to the
/// largest of each kind in turn.
fn choose(mut clusters: Vec<Cluster>, room: usize) -> (Vec<Cluster>, Omitted) {
    let rest = clusters.split_off(clusters.len().min(room / 2));
    let mut rest = mixed(rest);
    let omitted = rest.split_off(rest.len().min(room - clusters.len()));
    clusters.append(&mut rest);
    let omitted = Omitted {
        clusters: omitted.len() as u64,
        near: omitted.iter().filter(|cluster| cluster.near > 0).count() as u64,
        pages: omitted.iter().map(|cluster| cluster.count).sum(),
        largest: omitted.iter().map(|cluster| cluster.count).max().unwrap_or_default(),
    };
    (in_order(largest_first(clusters)), omitted)
}

/// The largest first, those of one size with their kinds mixed.
fn in_order(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut sizes = BTreeMap::<_, Vec<Cluster>>::new();
    for cluster in clusters {
        sizes.entry(Reverse(cluster.count)).or_default().push(cluster);
    }
    sizes.into_values().flat_map(mixed).collect()
}

/// One of each kind in turn, near ones first; within a kind the order stays.
fn mixed(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut kinds = BTreeMap::<Reverse<bool>, BTreeMap<Kind, VecDeque<Cluster>>>::new();
    let whole = clusters.len();
    for cluster in clusters {
        let kind = (cluster.lang.clone(), cluster.near > 0);
        kinds.entry(Reverse(kind.1)).or_default().entry(kind).or_default().push_back(cluster);
    }
    let mut queues: Vec<_> = kinds.into_values().flat_map(BTreeMap::into_values).collect();
    let mut mixed = Vec::with_capacity(whole);
    while mixed.len() < whole {
        mixed.extend(queues.iter_mut().filter_map(VecDeque::pop_front));
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(lang: &str, near: u64, count: u64, name: usize) -> Cluster {
        let (url, lang) = (format!("http://{lang}.test/{name:03}"), Some(lang.to_owned()));
        Cluster { url, lang, count, near, ..Cluster::default() }
    }

    #[test]
    fn every_kind_is_shown_even_if_the_largest_are_all_of_one() {
        let english = (0..100).map(|name| cluster("en", 0, 9, name));
        let others = [cluster("zh", 1, 3, 0), cluster("zh", 0, 2, 1), cluster("en", 2, 4, 2)];
        let (chosen, omitted) = choose(largest_first(english.chain(others.clone()).collect()), 50);
        assert_eq!(chosen.len(), 50);
        for other in &others {
            assert!(chosen.contains(other), "{}", other.url);
        }
        assert!(chosen.is_sorted_by_key(|cluster| Reverse(cluster.count)));
        assert_eq!(omitted, Omitted { clusters: 53, near: 0, pages: 53 * 9, largest: 9 });
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
        assert_eq!(omitted, Omitted::default());
    }
}
