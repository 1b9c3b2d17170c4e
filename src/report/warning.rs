//! Finds what needs attention in a run, and says what to do about it.

use std::{cmp::Reverse, collections::HashMap, fmt};

use askama::{PrimitiveType, Template};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    index::Audit,
    page::{site_of, thousands},
    report::{Counts, DeferredUrls, End, Host, Learnt, counted, render::shown},
    state::{Reason, SkipCause, StateError, UrlRow, UrlState},
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
    /// The run has ended, but hosts that had answered do not any more, and have queued URLs.
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
    /// More than half of a host's pages (at least 20) are duplicates of other hosts.
    Mirror {
        /// The host.
        host: String,
        /// Its pages that were judged.
        pages: u64,
        /// Those of them that repeat other hosts' pages.
        duplicates: u64,
        /// Such a host; in a report, that of most of these pages.
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

/// Whether a host with this many pages, of which so many repeat other hosts, is reported as a mirror.
pub(crate) fn is_mirror(pages: u64, of_other_hosts: u64) -> bool {
    pages >= MIRROR_PAGES && 2 * of_other_hosts > pages
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
    /// The part of the page with its evidence, if it has one.
    pub(super) fn evidence(&self) -> Option<&'static str> {
        match self {
            Self::ManyDuplicates { .. } => Some("duplicates"),
            Self::Mirror { .. } | Self::Dropped { .. } | Self::Unrepresented { .. } => {
                Some("hosts")
            }
            Self::Deferred(_) | Self::Queued(_) => Some("learnt"),
            _ => None,
        }
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
    /// other reason, because they lead to other URLs. `example` finds a URL that was skipped for a reason.
    pub(super) fn of_nothing(
        counts: &Counts,
        end: End,
        example: impl FnOnce(Reason) -> Result<Option<UrlRow>, StateError>,
    ) -> Result<Option<Self>, StateError> {
        if end != End::Nothing {
            return Ok(None);
        }
        let leads_on = |reason| matches!(reason, Reason::Redirect | Reason::Sitemap);
        let skipped = counts.skipped.iter();
        let most =
            skipped.max_by_key(|&(&reason, &count)| (!leads_on(reason), count, Reverse(reason)));
        let example = most.map(|(&reason, _)| example(reason)).transpose()?.flatten();
        Ok(Some(Self::Nothing {
            reason: most.map(|(&reason, _)| reason),
            skipped: most.map_or(0, |(_, &count)| count),
            known: counts.all_skipped(),
            example: example.as_ref().map_or_else(String::new, |example| example.url.to_string()),
            cause: example.as_ref().and_then(|example| example.cause),
            detail: example.and_then(|example| example.detail),
        }))
    }

    /// Warns of a run that has ended with work left.
    pub(super) fn of_open(end: End, counts: &Counts, hosts: usize) -> Option<Self> {
        let left = [Reason::Host, Reason::Pending].iter().filter_map(|it| counts.skipped.get(it));
        let hosts = u64::try_from(hosts).unwrap_or(u64::MAX);
        (end == End::Open).then(|| Self::Open { urls: left.sum(), hosts })
    }

    /// Warns of seeds that could not be reached.
    pub(super) fn of_seeds(
        (unreachable, seeds): (u64, Vec<UrlRow>),
        (pageless, answered): (u64, Vec<UrlRow>),
    ) -> Option<Self> {
        let is_server_error = |row: &UrlRow| match row.cause {
            Some(SkipCause::Incomplete) => row.status.is_some(),
            cause => cause == Some(SkipCause::RobotsNotReceived),
        };
        let seed = |row: UrlRow, answered| UnreachableSeed {
            server_error: is_server_error(&row),
            url: row.url.to_string(),
            why: match (row.status, row.state) {
                (Some(status), _) if row.detail.is_none() => format!("status {status}"),
                (_, UrlState::Skipped(reason)) if answered => {
                    [Some(reason.to_string()), row.detail]
                        .into_iter()
                        .flatten()
                        .collect::<Vec<_>>()
                        .join(": ")
                }
                _ => row.detail.unwrap_or_default(),
            },
            answered,
        };
        let seeds = seeds.into_iter().map(|row| seed(row, false));
        let seeds = seeds.chain(answered.into_iter().map(|row| seed(row, true))).take(SEEDS);
        let count = unreachable + pageless;
        (count > 0).then(|| Self::Unreachable { count, seeds: seeds.collect() })
    }

    /// Says which seeds have taken their scope along.
    pub(crate) fn of_moved((count, seeds): (u64, Vec<MovedSeed>)) -> Self {
        Self::Moved { count, seeds }
    }

    /// Says how many URLs are fetched again some hours after their failure, of which this one failed first.
    pub(super) fn of_failures((urls, first): (u64, UrlRow)) -> Self {
        let due = first.due_at().into();
        Self::Retry { urls, example: first.url.to_string(), status: first.status, due }
    }

    /// Warns of duplicates that are not stored although the policy now stores them: of the same site, of other sites.
    pub(super) fn of_unstored(keeps: [bool; 2], unstored: [u64; 2]) -> impl Iterator<Item = Self> {
        let keys = ["dedup.same_site.store", "dedup.cross_site.store"];
        let all = keeps.into_iter().zip(unstored).zip(keys);
        all.filter(|((keeps, unstored), _)| *keeps && *unstored > 0)
            .map(|((_, duplicates), key)| Self::NotKept { duplicates, key: key.to_owned() })
    }

    pub(super) fn of_audit(audit: &Audit) -> Option<Self> {
        let Audit { checked, missed, .. } = *audit;
        (missed > 0).then_some(Self::Missed { missed, checked })
    }

    /// Warns of URLs that are deferred by what was learnt.
    pub(super) fn of_deferred(learnt: &Learnt) -> Option<Self> {
        let all = Unfetched::of(&learnt.deferred);
        (all.urls > 0).then_some(Self::Deferred(all))
    }

    /// Warns of URLs that are queued when the budget is spent.
    pub(super) fn of_queued(end: End, learnt: &Learnt) -> Option<Self> {
        let all = Unfetched::of(&learnt.queued);
        (end == End::Budget && all.urls > 0).then_some(Self::Queued(all))
    }

    pub(super) fn of_host(host: &Host) -> Option<Self> {
        let pages = host.judged();
        is_mirror(pages, host.other_host).then(|| Self::Mirror {
            host: host.host.clone(),
            pages,
            duplicates: host.other_host,
            of: host.repeats.clone().unwrap_or_default(),
        })
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

    /// Warns of a page with this many duplicates. `url` finds its URL.
    pub(super) fn of_cluster(
        duplicates: u64,
        url: impl FnOnce() -> Result<String, StateError>,
    ) -> Result<Option<Self>, StateError> {
        (duplicates > MANY_DUPLICATES)
            .then(|| Ok(Self::ManyDuplicates { url: url()?, duplicates }))
            .transpose()
    }
}

/// The text of a warning.
#[derive(Template)]
#[template(path = "warning.txt", config = "src/report/askama.toml", escape = "none")]
struct Text<'a> {
    warning: &'a Warning,
}

impl Text<'_> {
    fn grouped(number: impl PrimitiveType<Value = u64>) -> String {
        thousands(number.get())
    }

    fn counted(number: impl PrimitiveType<Value = u64>, thing: &str) -> String {
        counted(number.get(), thing)
    }

    fn are(number: impl PrimitiveType<Value = u64>, thing: &str) -> String {
        let (number, one) = (number.get(), number.get() == 1);
        format!("{} {}", counted(number, thing), if one { "is" } else { "are" })
    }

    fn shown(text: &str) -> String {
        shown(text, SHOWN)
    }

    fn named(count: impl PrimitiveType<Value = u64>, seeds: &[UnreachableSeed]) -> String {
        named(count.get(), seeds, |why| shown(why, SHOWN))
    }

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

    /// Those that were asked and gave no answer come first.
    fn unasked(count: impl PrimitiveType<Value = u64>, seeds: &[UnreachableSeed]) -> String {
        let mut seeds = seeds.to_vec();
        seeds.sort_by_key(|seed| seed.why.is_empty());
        named(count.get(), &seeds, |why| match why {
            "" => "not asked".to_owned(),
            why => format!("not reached so far: {}", shown(why, SHOWN)),
        })
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
    fn of(groups: &[DeferredUrls]) -> Self {
        let sum = |of: fn(&DeferredUrls) -> f64| groups.iter().map(of).sum::<f64>();
        Self {
            urls: groups.iter().map(|it| it.urls).sum(),
            new: sum(|it| it.new).round() as u64,
            new_at_most: sum(|it| it.new_at_most).ceil() as u64,
            rearranged: sum(|it| it.rearranged).round() as u64,
        }
    }
}

/// The first seeds, with what is known of each, and how many more there are.
fn named(count: u64, seeds: &[UnreachableSeed], about: impl Fn(&str) -> String) -> String {
    let named = seeds.iter().take(NAMED_SEEDS);
    let mut all: Vec<String> = named
        .map(|UnreachableSeed { url, why, .. }| format!("{} ({})", shown(url, SHOWN), about(why)))
        .collect();
    let more = count.saturating_sub(NAMED_SEEDS as u64);
    all.extend((more > 0).then(|| format!("and {}", counted(more, "more seed"))));
    all.join("; ")
}
