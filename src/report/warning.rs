//! Finds what needs attention in a run, and says what to do about it.

use std::{cmp::Reverse, collections::HashMap, fmt};

use askama::Template;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    page::site_of,
    report::{
        Counts, DeferredUrls, Host, counted,
        text::{grouped, minute, shown},
    },
    state::{Reason, SkipCause, UrlRow},
};

/// A host with fewer judged pages is not reported as a mirror.
const MIRROR_PAGES: u64 = 20;
/// A unique page with more duplicates than this is reported: it may be an error page.
pub(crate) const MANY_DUPLICATES: u64 = 100;

/// A sign that pages were lost or wasted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The run has ended, but hosts that had answered do not any more or ask for a longer pause than is allowed, and have queued URLs.
    Open {
        /// Queued URLs.
        urls: u64,
        /// Their hosts, if they are suspended.
        hosts: u64,
    },
    /// Seeds could not be reached, or gave no page although others did.
    Unreachable {
        /// Their number.
        count: u64,
        /// The first of them, at most 50.
        seeds: Vec<UnreachableSeed>,
    },
    /// Seeds were not fetched, because a budget was spent before.
    Unasked {
        /// Their number.
        count: u64,
        /// The first of them, at most 50, and why they had no answer, if they were asked.
        seeds: Vec<UnreachableSeed>,
    },
    /// Seeds redirect to https, to `www.` or from there, and their scope was taken along.
    Moved {
        /// Their number.
        count: u64,
        /// The first of them, at most 50.
        seeds: Vec<MovedSeed>,
    },
    /// The run is done, and no page was judged.
    Nothing {
        /// The most frequent reason to skip a URL; `None` if there was no URL.
        reason: Option<Reason>,
        /// How many URLs were skipped for that reason.
        skipped: u64,
        /// How many URLs are known.
        known: u64,
        /// The first URL that was skipped for that reason.
        example: String,
        /// Details of that reason.
        detail: Option<String>,
        /// More about the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<SkipCause>,
    },
    /// URLs failed for a reason that may pass: they are fetched again some hours later.
    Retry {
        /// Their number.
        urls: u64,
        /// The one that failed first.
        example: String,
        /// The status of its response, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// When a start fetches it again.
        due: Timestamp,
    },
    /// Duplicates are stored now, but were not when these were found.
    NotKept {
        /// Their number.
        duplicates: u64,
        /// The changed key, such as `dedup.same_site.store`.
        key: String,
    },
    /// The index missed what a scan found: it has a bug.
    Missed {
        /// Documents that the index missed.
        missed: u64,
        /// Look-ups that were compared with a scan.
        checked: u64,
    },
    /// URLs are deferred by what was learnt.
    Deferred(Unfetched),
    /// The budget is spent, and URLs are still queued.
    Queued(Unfetched),
    /// Pages show hardly anything until their scripts run.
    Scripts {
        /// Their number.
        pages: u64,
        /// The first.
        example: String,
    },
    /// More than half of a host's pages (at least 20) are pages of other hosts too. Of two hosts with the same pages it is the one that repeats the other
    /// more often.
    Mirror {
        /// The host.
        host: String,
        /// Its pages that were judged.
        pages: u64,
        /// Those of them that repeat other hosts' pages, or that `of` repeats.
        duplicates: u64,
        /// The host whose pages it repeats most.
        #[serde(default)]
        of: String,
    },
    /// One unique page has more than 100 duplicates.
    #[serde(rename = "absorbing")]
    ManyDuplicates {
        /// The unique page.
        url: String,
        /// How many pages repeat it.
        duplicates: u64,
    },
    /// While the run went on, most pages of a host began to repeat others of it.
    Dropped {
        /// The host.
        host: String,
        /// The page with which it was noticed.
        url: String,
        /// How many of the last pages of the host until then are considered.
        pages: u64,
        /// How many of these repeat others of the host; of those before, fewer than half did.
        duplicates: u64,
    },
    /// All pages of sites repeat pages of other sites.
    Unrepresented {
        /// How many sites these are.
        sites: u64,
        /// The one with the most pages.
        site: String,
        /// How many pages it has.
        pages: u64,
    },
}

/// URLs that were not fetched, and what is expected of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfetched {
    /// Their number.
    pub urls: u64,
    /// How many of them are estimated to have a new text.
    pub new: u64,
    /// At most this many, 95 % sure.
    pub new_at_most: u64,
    /// How many more are estimated to have known passages in another order.
    #[serde(default)]
    pub rearranged: u64,
}

/// What is noticed while pages are judged: the kinds of these warnings.
pub const ALARMS: [&str; 4] = ["dropped", "absorbing", "mirror", "unrepresented"];
/// The places of those that may end.
pub(crate) const MIRROR: usize = 2;
pub(crate) const UNREPRESENTED: usize = 3;

/// How many pages of a host with this many are those of other hosts too, if it is a mirror: `repeating` repeat them, most of them those of a host of which
/// `repeated` pages repeat this one's. Which of the two came first with a page is chance; so they count together, and against the one that repeats more.
pub(crate) fn mirrored(
    pages: u64,
    repeating: u64,
    [(of_other, host), (repeated, other)]: [(u64, &str); 2],
) -> Option<u64> {
    let common = pages.min(repeating + repeated);
    let is_mirror = pages >= MIRROR_PAGES && 2 * common > pages;
    (is_mirror && (of_other, host) > (repeated, other)).then_some(common)
}

/// A report names at most this many unreachable seeds.
pub(crate) const SEEDS: usize = 50;
/// Seeds that the text of a warning names.
const NAMED_SEEDS: usize = 5;
/// Characters of a URL or an error in the text of a warning.
const SHOWN: usize = 500;

/// A seed that could not be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachableSeed {
    /// The seed, or the URL to which it redirects.
    pub url: String,
    /// The error, its kind first.
    pub why: String,
    /// Whether its server answered with an error that may pass, for it or for its robots.txt.
    #[serde(default)]
    pub server_error: bool,
    /// Whether there was an answer, and it is no page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

/// A seed whose scope was taken along to where it redirects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedSeed {
    /// The seed.
    pub url: String,
    /// To which it redirects.
    pub to: String,
}

impl Warning {
    /// Its place in [`ALARMS`] and what it is about, if it is noticed while pages are judged.
    pub(crate) fn alarm(&self) -> Option<(usize, &str)> {
        match self {
            Self::Dropped { host, .. } => Some((0, host)),
            Self::ManyDuplicates { url, .. } => Some((1, url)),
            Self::Mirror { host, .. } => Some((MIRROR, host)),
            // It is about all of them.
            Self::Unrepresented { .. } => Some((UNREPRESENTED, "")),
            _ => None,
        }
    }

    /// The part of the report with what speaks for it, as the fragment of an address. If the page has no such part, it searches for what is named after
    /// the first hyphen.
    #[must_use]
    pub fn evidence(&self) -> Option<String> {
        let part = Evidence { warning: self }.render().unwrap_or_default();
        (!part.is_empty()).then_some(part)
    }

    /// Whether it comes before everything else.
    pub(super) fn is_first(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Nothing { .. } => true,
            Self::Unasked { seeds, .. } => seeds.iter().any(|seed| !seed.why.is_empty()),
            _ => false,
        }
    }

    /// Warns of a run that is done without a judged page, with the most frequent reason. Redirects and sitemaps count only if there is no
    /// other reason, because they lead to other URLs. `first` is the first URL that was skipped for a reason.
    pub(super) fn of_nothing<'a>(
        counts: &Counts,
        first: impl FnOnce(Reason) -> Option<&'a UrlRow>,
    ) -> Self {
        let leads_on = |reason| matches!(reason, Reason::Redirect | Reason::Sitemap);
        let skipped = counts.skipped.iter().map(|(&reason, &count)| (reason, count));
        let most = skipped.max_by_key(|&(it, count)| (!leads_on(it), count, Reverse(it)));
        let (reason, skipped) = most.unzip();
        let example = reason.and_then(first);
        Self::Nothing {
            reason,
            skipped: skipped.unwrap_or(0),
            known: counts.all_skipped(),
            example: example.map_or_else(String::new, |row| row.url.to_string()),
            cause: example.and_then(|row| row.cause),
            detail: example.and_then(|row| row.detail.clone()),
        }
    }

    /// Warns of a run that has ended with work left.
    pub(super) fn of_open(counts: &Counts, hosts: usize) -> Self {
        let left = [Reason::Host, Reason::Pending].iter().filter_map(|it| counts.skipped.get(it));
        Self::Open { urls: left.sum(), hosts: hosts as u64 }
    }

    /// Warns of duplicates that are not stored although the policy now stores them: of the same site, of other sites.
    pub(super) fn of_unstored(keeps: [bool; 2], unstored: [u64; 2]) -> impl Iterator<Item = Self> {
        let keys = ["dedup.same_site.store", "dedup.cross_site.store"];
        let all = keeps.into_iter().zip(unstored).zip(keys);
        all.filter(|((keeps, unstored), _)| *keeps && *unstored > 0)
            .map(|((_, duplicates), key)| Self::NotKept { duplicates, key: key.to_owned() })
    }

    pub(super) fn of_host(host: &Host) -> Option<Self> {
        let (pages, of) = (host.judged(), host.repeats.clone().unwrap_or_default());
        let sides = [(host.repeats_pages, &*host.host), (host.repeated, &*of)];
        let duplicates = mirrored(pages, host.other_host, sides)?;
        Some(Self::Mirror { host: host.host.clone(), pages, duplicates, of })
    }

    /// Warns of sites without a page of their own, unless they are reported as mirrors.
    pub(super) fn of_sites(hosts: &[Host]) -> Option<Self> {
        let mut sites = HashMap::<_, (u64, bool)>::new();
        for host in hosts.iter().filter(|host| Self::of_host(host).is_none()) {
            let name = host.host.rsplit_once(':').map_or(&*host.host, |(name, _)| name);
            let (pages, is_kept) = sites.entry(site_of(name)).or_default();
            *pages += host.cross_site;
            *is_kept |= host.unique + host.same_site > 0;
        }
        sites.retain(|_, (pages, is_kept)| *pages > 0 && !*is_kept);
        let (site, (pages, _)) = sites.iter().max_by_key(|(site, it)| (it.0, Reverse(*site)))?;
        let (site, pages) = ((*site).to_owned(), *pages);
        Some(Self::Unrepresented { sites: sites.len() as u64, site, pages })
    }
}

/// The name of a part of the report, such as the row of a host.
pub(super) fn anchor(kind: &str, of: &str) -> String {
    shown(&format!("{kind}-{of}"), SHOWN)
}

/// Where the report has what speaks for a warning.
#[derive(Template)]
#[template(path = "evidence.txt", config = "src/report/askama.toml", escape = "none")]
struct Evidence<'a> {
    warning: &'a Warning,
}

/// The text of a warning.
#[derive(Template)]
#[template(path = "warning.txt", config = "src/report/askama.toml", escape = "none")]
struct Text<'a> {
    warning: &'a Warning,
}

impl Text<'_> {
    fn is_answered(seeds: &[UnreachableSeed]) -> bool {
        seeds.iter().any(|seed| seed.answered)
    }

    fn may_pass(seeds: &[UnreachableSeed]) -> bool {
        !seeds.is_empty() && seeds.iter().all(|seed| seed.server_error)
    }

    /// robots.txt forbids nothing if it was not received: then the host has failed.
    fn cause(reason: Reason, cause: Option<SkipCause>) -> Reason {
        if cause == Some(SkipCause::RobotsNotReceived) { Reason::Failure } else { reason }
    }

    /// The seeds that a warning names: those that were asked and gave no answer come first.
    fn named(seeds: &[UnreachableSeed]) -> Vec<&UnreachableSeed> {
        let mut seeds: Vec<_> = seeds.iter().collect();
        seeds.sort_by_key(|seed| seed.why.is_empty());
        seeds.truncate(NAMED_SEEDS);
        seeds
    }
}

/// What was found, and what to do next.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text { warning: self }.render_into(f).map_err(|_| fmt::Error)
    }
}

impl Unfetched {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    pub(super) fn of(groups: &[DeferredUrls]) -> Option<Self> {
        let sum = |of: fn(&DeferredUrls) -> f64| groups.iter().map(of).sum::<f64>();
        let all = Self {
            urls: groups.iter().map(|it| it.urls).sum(),
            new: sum(|it| it.new).round() as u64,
            new_at_most: sum(|it| it.new_at_most).ceil() as u64,
            rearranged: sum(|it| it.rearranged).round() as u64,
        };
        (all.urls > 0).then_some(all)
    }
}
