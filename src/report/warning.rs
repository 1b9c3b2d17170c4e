//! What in a run deserves a look, and what to do about it.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    index::Audit,
    page::numbers::thousands,
    report::{Cluster, Counts, End, Host, builder::Skip, counted, many, shown},
    state::{Reason, SkipCause},
};

/// The least number of pages of which a host is suspected to be a mirror.
const MIRROR_PAGES: u64 = 20;
/// A kept page with more duplicates than this is suspected to be no content.
const ABSORBED: u64 = 100;

/// Something that looks as if pages were lost or wasted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The run is done, and no page was judged.
    Nothing {
        /// Why most URLs were skipped; none if there was no URL.
        reason: Option<Reason>,
        /// How many were skipped for that reason.
        skipped: u64,
        /// How many URLs are known.
        known: u64,
        /// The first that was skipped for that reason.
        example: String,
        /// More of why that was.
        detail: Option<String>,
        /// More about the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<SkipCause>,
    },
    /// The pages of duplicates are kept now, and were not when these were found.
    NotKept {
        /// Their number.
        duplicates: u64,
        /// The key that was changed, such as `dedup.same_site.store`.
        key: String,
    },
    /// The index did not find what a scan found: it is broken.
    Missed {
        /// Documents that it missed.
        missed: u64,
        /// Queries that were compared with a scan.
        checked: u64,
    },
    /// More than half of a host's pages (at least 20) are duplicates of other hosts.
    Mirror {
        /// The host.
        host: String,
        /// Its pages that were judged.
        pages: u64,
        /// Those of them that repeat other hosts' pages.
        duplicates: u64,
    },
    /// One kept page has more than 100 duplicates.
    Absorbing {
        /// The kept page.
        url: String,
        /// How many pages repeat it.
        duplicates: u64,
    },
}

/// A URL that was skipped.
#[derive(Debug)]
pub(super) struct Example {
    url: String,
    detail: Option<String>,
    cause: Option<SkipCause>,
}

impl Example {
    pub(super) fn of(skip: &Skip<'_>) -> Self {
        Self {
            url: skip.url.to_owned(),
            detail: skip.detail.map(ToOwned::to_owned),
            cause: skip.cause,
        }
    }
}

impl Warning {
    /// If nothing came of the run: the reason that explains most of it. Redirects and sitemaps are on the way to something else.
    pub(super) fn of_nothing(
        counts: &Counts,
        end: End,
        examples: &BTreeMap<Reason, Example>,
    ) -> Option<Self> {
        if end != End::Done || counts.judged() > 0 {
            return None;
        }
        let is_on_the_way = |reason| matches!(reason, Reason::Redirect | Reason::Sitemap);
        let skipped = counts.skipped.iter();
        let most = skipped
            .max_by_key(|&(&reason, &count)| (!is_on_the_way(reason), count, Reverse(reason)));
        let example = most.and_then(|(reason, _)| examples.get(reason));
        Some(Self::Nothing {
            reason: most.map(|(&reason, _)| reason),
            skipped: most.map_or(0, |(_, &count)| count),
            known: counts.all_skipped(),
            example: example.map_or_else(String::new, |example| example.url.clone()),
            detail: example.and_then(|example| example.detail.clone()),
            cause: example.and_then(|example| example.cause),
        })
    }

    /// Duplicates that are not kept although the policy says so: of the same site, of other sites.
    pub(super) fn of_unkept(keeps: [bool; 2], unkept: [u64; 2]) -> impl Iterator<Item = Self> {
        let keys = ["dedup.same_site.store", "dedup.cross_site.store"];
        let all = keeps.into_iter().zip(unkept).zip(keys);
        all.filter(|((keeps, unkept), _)| *keeps && *unkept > 0)
            .map(|((_, duplicates), key)| Self::NotKept { duplicates, key: key.to_owned() })
    }

    pub(super) fn of_audit(audit: &Audit) -> Option<Self> {
        let Audit { checked, missed, .. } = *audit;
        (missed > 0).then_some(Self::Missed { missed, checked })
    }

    pub(super) fn of_host(host: &Host) -> Option<Self> {
        let pages = host.judged();
        (pages >= MIRROR_PAGES && 2 * host.other_host > pages).then(|| Self::Mirror {
            host: host.host.clone(),
            pages,
            duplicates: host.other_host,
        })
    }

    pub(super) fn of_cluster(cluster: &Cluster) -> Option<Self> {
        (cluster.count > ABSORBED)
            .then(|| Self::Absorbing { url: cluster.url.clone(), duplicates: cluster.count })
    }
}

/// What was seen, and what to do next.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing { reason: None, .. } => f.write_str(
                "There was nothing to fetch: no seed names a URL. Look at [[seeds]] in the configuration and at its files.",
            ),
            Self::Nothing { reason: Some(reason), skipped, known, example, detail, cause } => write!(
                f,
                "No page was judged. {} of {} known URLs were skipped as {reason}, such as {}{}. {}",
                thousands(*skipped),
                thousands(*known),
                shown(example, 500),
                detail.as_deref().map_or_else(String::new, |detail| format!(" ({})", shown(detail, 300))),
                next_step(*reason, *cause),
            ),
            Self::NotKept { duplicates, key } => write!(
                f,
                "Recorded without their pages: {}, found before {key} = \"keep\". A URL has one line, so they stay so; to have \
                 their pages, start over with --fresh.",
                counted(usize::try_from(*duplicates).unwrap_or(usize::MAX), "duplicate"),
            ),
            Self::Missed { missed, checked } => write!(
                f,
                "The index missed {} in {}: this is a defect, and duplicates may have been kept. Please report it, with the line \
                 that says how the index is laid out.",
                counted(usize::try_from(*missed).unwrap_or(usize::MAX), "document"),
                many(*checked, "query", "queries"),
            ),
            Self::Mirror { host, pages, duplicates } => write!(
                f,
                "{} of {} pages of {} repeat pages of other hosts. If it is a mirror, exclude it from the seeds; \
                 if its pages are wanted, set dedup.cross_site.store = \"keep\" (dedup.same_site for hosts of one domain).",
                thousands(*duplicates),
                thousands(*pages),
                shown(host, 200),
            ),
            Self::Absorbing { url, duplicates } => write!(
                f,
                "{} pages repeat one kept page. If it is an error, login or empty page served at many addresses, exclude \
                 those addresses; if the pages differ in substance, set a smaller dedup.radius or a larger dedup.min_features. \
                 The page: {}",
                thousands(*duplicates),
                shown(url, 2000),
            ),
        }
    }
}

/// What to look at if nearly everything was skipped for this reason.
fn next_step(reason: Reason, cause: Option<SkipCause>) -> &'static str {
    match reason {
        Reason::Robots if cause == Some(SkipCause::RobotsNotReceived) => {
            next_step(Reason::Failure, None)
        }
        Reason::Robots => {
            "`pagesieve crawl CONFIG --dry-run` shows what robots.txt says of each seed; of a site that is yours, set politeness.obey_robots = false."
        }
        Reason::Scope => {
            "Look at scope, include and exclude of the [[seeds]]; `pagesieve crawl CONFIG --dry-run` shows what they admit."
        }
        Reason::Depth => "Raise max_depth of the [[seeds]], and crawl.max_depth.",
        Reason::Budget => "Raise max_pages of the [[seeds]].",
        Reason::Redirect => {
            "Name the URL to which it leads in [[seeds]], if that is what you want."
        }
        Reason::Status => {
            "Look whether the URLs in [[seeds]] are right, and whether the site answers our user_agent."
        }
        Reason::Failure => {
            "Look at the name, the network and fetch.timeout; private addresses need fetch.allow_private or fetch.resolve."
        }
        Reason::ContentType => {
            "Only HTML pages are judged: name pages in [[seeds]], or a sitemap by `sitemap`."
        }
        Reason::Noindex => {
            "The pages ask not to be indexed, so only their links are followed: raise max_depth if there are any."
        }
        Reason::DuplicateLinks => "Set links = \"follow\" in dedup.same_site and dedup.cross_site.",
        Reason::Host => {
            "Raise politeness.max_crawl_delay or politeness.max_retry_after, or run it again when the host can be asked."
        }
        Reason::Pending => "Run the same command again.",
        Reason::Sitemap => {
            "The sitemaps name no page that can be fetched: open one, and look what it holds."
        }
    }
}
