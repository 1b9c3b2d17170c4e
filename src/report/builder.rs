//! Counts a run in one pass over its decisions, and chooses the clusters that the report shows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
};

use url::Url;

use crate::{
    filter::Step,
    page::site_of,
    report::{
        CLUSTERS, Cluster, Counts, DeferredHost, Host, MEMBERS, Member, Omitted, Report, Warning,
        warning::{Example, SEEDS, UnreachableSeed},
    },
    sink::record::{Decision, SkippedLine, VerdictName},
    state::{Reason, SkipCause},
};

/// Members to hold in memory, over all clusters.
const HELD: usize = 50_000;
/// Clusters that keep their members when there are too many.
const KEPT_CLUSTERS: usize = 1_000;

/// Counts a run, page by page in order of arrival. Its memory grows with the number of hosts and clusters, not of pages.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    counts: Counts,
    /// By name; the name in the host itself is filled in at the end.
    hosts: HashMap<String, Host>,
    clusters: HashMap<String, Cluster>,
    held: usize,
    /// The first URL that was skipped for each reason.
    examples: BTreeMap<Reason, Example>,
    pub(crate) deferred: Vec<DeferredHost>,
    /// The first seeds that could not be reached, and the number of all.
    unreachable: Vec<UnreachableSeed>,
    unreachable_count: u64,
    /// Duplicates that were not stored: of the same site, of other sites.
    unstored: [u64; 2],
}

impl Builder {
    /// Counts a page that was judged: the decision, whose ids are URLs, the titles of the page and of its match, and whether the page has
    /// a line in `pages.jsonl`.
    pub(crate) fn page(
        &mut self,
        decision: &Decision<'_>,
        title: Option<&str>,
        kept_title: Option<&str>,
        stored: bool,
    ) {
        let counts = &mut self.counts;
        counts.fetched += 1;
        counts.stored += u64::from(stored);
        match (decision.verdict, decision.step) {
            (VerdictName::Unique, _) => counts.unique += 1,
            (VerdictName::Exact, Some(Step::Body)) => counts.exact.body += 1,
            (VerdictName::Exact, _) => counts.exact.text += 1,
            (VerdictName::Near, _) => counts.near += 1,
        }
        let url = Url::parse(&decision.id).ok();
        let host = self.hosts.entry(name(url.as_ref())).or_default();
        host.fetched += 1;
        let Some(matched) = &decision.matched else {
            host.unique += 1;
            return;
        };
        let kept = Url::parse(&matched.id).ok();
        let same_site = site(url.as_ref()) == site(kept.as_ref());
        host.same_site += u64::from(same_site);
        host.cross_site += u64::from(!same_site);
        host.other_host += u64::from(name(url.as_ref()) != name(kept.as_ref()));
        self.unstored[usize::from(!same_site)] += u64::from(!stored);
        if self.held >= HELD {
            self.drop_members();
        }
        let cluster =
            self.clusters.entry(matched.id.to_string()).or_insert_with_key(|url| Cluster {
                url: url.clone(),
                title: kept_title.map(ToOwned::to_owned),
                lang: decision.lang.as_deref().map(ToOwned::to_owned),
                ..Cluster::default()
            });
        cluster.count += 1;
        cluster.near += u64::from(decision.verdict == VerdictName::Near);
        if cluster.members.len() < MEMBERS {
            self.held += 1;
            cluster.members.push(Member {
                url: decision.id.to_string(),
                title: title.map(ToOwned::to_owned),
                verdict: decision.verdict,
                step: decision.step,
                distance: matched.distance,
                signature_distance: matched.signature_distance,
                similarity: matched.similarity,
                same_site,
            });
        }
    }

    /// Counts a URL that was not judged, with the cause if the report depends on it.
    pub(crate) fn skipped(&mut self, line: &SkippedLine<'_>, cause: Option<SkipCause>) {
        *self.counts.skipped.entry(line.reason).or_default() += 1;
        self.examples.entry(line.reason).or_insert_with(|| Example {
            url: line.url.to_string(),
            cause,
            detail: line.detail.as_deref().map(ToOwned::to_owned),
        });
        // Received with status 2xx, so `max_pages` counts it.
        let fetched = matches!(line.reason, Reason::Noindex | Reason::ContentType);
        let failed = matches!(line.reason, Reason::Status | Reason::Failure);
        self.counts.fetched += u64::from(fetched);
        if failed || fetched {
            let name = name(Url::parse(&line.url).ok().as_ref());
            let host = self.hosts.entry(name).or_default();
            host.fetched += u64::from(fetched);
            host.failed += u64::from(failed);
        }
    }

    /// Counts a seed that could not be reached.
    pub(crate) fn unreachable_seed(&mut self, line: &SkippedLine<'_>) {
        self.unreachable_count += 1;
        if self.unreachable.len() < SEEDS {
            let why = line.detail.as_deref().unwrap_or_default().to_owned();
            self.unreachable.push(UnreachableSeed { url: line.url.to_string(), why });
        }
    }

    /// Adds what was counted to the report of a run. `keeps`: whether duplicates are stored, according to the current policy: of the same
    /// site, of other sites.
    #[must_use]
    pub(crate) fn finish(mut self, run: Report, keeps: [bool; 2]) -> Report {
        let open = Warning::of_open(run.end, &self.counts, self.deferred.len());
        let unreachable = Warning::of_seeds(self.unreachable_count, self.unreachable);
        let nothing = Warning::of_nothing(&self.counts, run.end, &self.examples);
        // The seeds are named already.
        let is_said = |warning: &Warning| {
            let reason = Some(Reason::Failure);
            unreachable.is_some()
                && matches!(warning, Warning::Nothing { reason: most, .. } if *most == reason)
        };
        let nothing = nothing.filter(|nothing| !is_said(nothing));
        let unstored = Warning::of_unstored(keeps, self.unstored);
        self.deferred.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        let named = self.hosts.into_iter().map(|(host, counts)| Host { host, ..counts });
        let mut hosts: Vec<_> = named.collect();
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        let cluster_count = self.clusters.len() as u64;
        let clusters = largest_first(self.clusters.into_values().collect());
        let missed = Warning::of_audit(&run.search.audit);
        let warnings =
            unreachable.into_iter().chain(open).chain(nothing).chain(missed).chain(unstored);
        let warnings = warnings.chain(hosts.iter().filter_map(Warning::of_host));
        let warnings = warnings.chain(clusters.iter().filter_map(Warning::of_cluster)).collect();
        let (clusters, omitted) = choose(clusters, CLUSTERS);
        Report {
            counts: self.counts,
            seconds: (run.seconds * 1000.0).round() / 1000.0,
            warnings,
            cluster_count,
            clusters,
            omitted,
            hosts,
            deferred: self.deferred,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..run
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
    let clusters = largest_first(clusters);
    let of_one_size = clusters.chunk_by(|a, b| a.count == b.count);
    (of_one_size.flat_map(|clusters| mixed(clusters.to_vec())).collect(), omitted)
}

/// One of each kind in turn, near ones first; within a kind the order stays.
fn mixed(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut kinds = BTreeMap::<_, VecDeque<Cluster>>::new();
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
