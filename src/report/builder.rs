//! Counts a run in one pass over its decisions.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use url::Url;

use crate::{
    filter::Step,
    page::{Timestamp, site_of},
    report::{
        CLUSTERS, Cluster, Counts, End, Host, HostAside, MEMBERS, Member, Method, Report, Search,
        Warning,
        chosen::{choose, largest_first},
        warning::Example,
    },
    sink::record::{Decision, MatchFields, VerdictName},
    state::{Reason, SkipCause},
};

/// Members that may be held at one time over all clusters.
const HELD: usize = 50_000;
/// Clusters whose members survive when there are too many.
const SURVIVORS: usize = 1_000;

/// A page that was judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    /// The judgement; ids are URLs.
    pub(crate) decision: &'a Decision<'a>,
    /// The page's title.
    pub(crate) title: Option<&'a str>,
    /// The title of its match, if it has one and the caller knows it.
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
    /// More of why.
    pub(crate) detail: Option<&'a str>,
    pub(crate) cause: Option<SkipCause>,
    /// Whether it was received with status 2xx all the same, and so counted by `max_pages`.
    pub(crate) fetched: bool,
}

/// What a report says of the run as a whole.
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
    /// How long it worked, over all its starts.
    pub(crate) worked: Duration,
    /// How pages were judged.
    pub(crate) fingerprint: Method,
    /// How near duplicates were looked for.
    pub(crate) search: Search,
    /// Whether the pages of duplicates are kept now: of the same site, of other sites.
    pub(crate) keeps: [bool; 2],
    /// Whether it writes WARC files.
    pub(crate) warc: bool,
}

/// Counts a run, row by row in order of arrival. Its memory grows with hosts and clusters, not with pages.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    counts: Counts,
    hosts: HashMap<String, Host>,
    clusters: HashMap<String, Cluster>,
    held: usize,
    /// The first URL that was skipped for each reason.
    examples: BTreeMap<Reason, Example>,
    aside: Vec<HostAside>,
    /// Duplicates whose pages were not kept: of the same site, of other sites.
    unkept: [u64; 2],
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
        self.unkept[usize::from(!same_site)] += u64::from(!row.stored);
        self.member(row, matched, same_site);
    }

    /// Counts a URL that has a line in `skipped.jsonl`.
    pub(crate) fn skipped(&mut self, skip: &Skip<'_>) {
        *self.counts.skipped.entry(skip.reason).or_default() += 1;
        self.examples.entry(skip.reason).or_insert_with(|| Example::of(skip));
        self.counts.fetched += u64::from(skip.fetched);
        let failed = matches!(skip.reason, Reason::Status | Reason::Failure);
        if failed || skip.fetched {
            let host = self.host(Url::parse(skip.url).ok().as_ref());
            host.fetched += u64::from(skip.fetched);
            host.failed += u64::from(failed);
        }
    }

    /// Notes a host that is set aside.
    pub(crate) fn aside(&mut self, host: HostAside) {
        self.aside.push(host);
    }

    /// The report of what was counted.
    #[must_use]
    pub(crate) fn finish(mut self, run: Run) -> Report {
        let nothing = Warning::of_nothing(&self.counts, run.end, &self.examples);
        let unkept = Warning::of_unkept(run.keeps, self.unkept);
        self.aside.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.host.cmp(&b.host)));
        let mut hosts: Vec<Host> = self.hosts.into_values().collect();
        hosts.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.host.cmp(&b.host)));
        let cluster_count = self.clusters.len() as u64;
        let clusters = largest_first(self.clusters.into_values().collect());
        let missed = Warning::of_audit(&run.search.audit);
        let warnings = nothing.into_iter().chain(missed).chain(unkept);
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
            aside: self.aside,
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
            self.forget();
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

    /// Forgets the members, not the number, of all but the largest clusters: a report names only those of the largest.
    fn forget(&mut self) {
        let mut clusters: Vec<&mut Cluster> = self.clusters.values_mut().collect();
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.count));
        for cluster in clusters.iter_mut().skip(SURVIVORS) {
            cluster.members = Vec::new();
        }
        self.held = clusters.iter().map(|cluster| cluster.members.len()).sum();
    }
}

/// A host's name, with its port if that is not the scheme's own.
fn name(url: Option<&Url>) -> String {
    let Some((url, host)) = url.and_then(|url| Some((url, url.host_str()?))) else {
        return String::new();
    };
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn site(url: Option<&Url>) -> Option<&str> {
    url.and_then(Url::host_str).map(site_of)
}
