//! Finds what needs attention in a run, and says what to do about it.

use std::{cmp::Reverse, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    index::Audit,
    page::thousands,
    report::{
        Counts, DeferredUrls, End, Host, Learnt, counted,
        render::{minute, shown},
    },
    state::{Reason, SkipCause, StateError, UrlRow},
};

/// A host with fewer judged pages is not reported as a mirror.
const MIRROR_PAGES: u64 = 20;
/// A unique page with more duplicates than this is reported: it may be an error page.
const MANY_DUPLICATES: u64 = 100;

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
    /// Seeds could not be reached.
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
    Deferred {
        /// Their number.
        urls: u64,
        /// How many of them are estimated to have a new text.
        new: u64,
        /// At most this many, 95 % sure.
        new_at_most: u64,
        /// How many more are estimated to have known passages in another order.
        #[serde(default)]
        rearranged: u64,
    },
    /// The budget is spent, and URLs are still queued.
    Queued {
        /// Their number.
        urls: u64,
        /// How many of them are estimated to have a new text.
        new: u64,
        /// At most this many, 95 % sure.
        new_at_most: u64,
        /// How many more are estimated to have known passages in another order.
        rearranged: u64,
    },
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
    },
    /// One unique page has more than 100 duplicates.
    #[serde(rename = "absorbing")]
    ManyDuplicates {
        /// The unique page.
        url: String,
        /// How many pages repeat it.
        duplicates: u64,
    },
}

/// A report names at most this many unreachable seeds.
pub(crate) const SEEDS: usize = 50;
/// Seeds that the text of a warning names.
const NAMED_SEEDS: usize = 5;

/// A seed that could not be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachableSeed {
    /// The seed, or the URL to which it redirects.
    pub url: String,
    /// The error, its kind first.
    pub why: String,
    /// Whether its server answered with an error that may pass, for it or for its robots.txt.
    #[serde(default)]
    pub server_error: bool,
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
    pub(super) fn of_seeds(count: u64, seeds: Vec<UrlRow>) -> Option<Self> {
        let is_server_error = |row: &UrlRow| match row.cause {
            Some(SkipCause::Incomplete) => row.status.is_some(),
            cause => cause == Some(SkipCause::RobotsNotReceived),
        };
        let seeds = seeds.into_iter().map(|row| UnreachableSeed {
            server_error: is_server_error(&row),
            url: row.url.to_string(),
            why: row.detail.or_else(|| Some(format!("status {}", row.status?))).unwrap_or_default(),
        });
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
        let (urls, [new, new_at_most, rearranged]) = summed(&learnt.deferred);
        (urls > 0).then_some(Self::Deferred { urls, new, new_at_most, rearranged })
    }

    /// Warns of URLs that are queued when the budget is spent.
    pub(super) fn of_queued(end: End, learnt: &Learnt) -> Option<Self> {
        let (urls, [new, new_at_most, rearranged]) = summed(&learnt.queued);
        let queued = Self::Queued { urls, new, new_at_most, rearranged };
        (end == End::Budget && urls > 0).then_some(queued)
    }

    pub(super) fn of_host(host: &Host) -> Option<Self> {
        let pages = host.judged();
        (pages >= MIRROR_PAGES && 2 * host.other_host > pages).then(|| Self::Mirror {
            host: host.host.clone(),
            pages,
            duplicates: host.other_host,
        })
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

/// What was found, and what to do next.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { urls, hosts } => open(f, *urls, *hosts),
            Self::Unreachable { count, seeds } => unreachable(f, *count, seeds),
            Self::Unasked { count, seeds } => unasked(f, *count, seeds),
            Self::Moved { count, seeds } => moved(f, *count, seeds),
            Self::Nothing { reason: None, .. } => f.write_str(NO_SEED),
            Self::Nothing { reason: Some(reason), skipped, known, example, detail, cause } => {
                write!(
                    f,
                    "No page was judged. {} of {} known URLs were skipped as {reason}, such as {}{}. {}",
                    thousands(*skipped),
                    thousands(*known),
                    shown(example, 500),
                    detail
                        .as_deref()
                        .map_or_else(String::new, |detail| format!(" ({})", shown(detail, 300))),
                    next_step(*reason, *cause),
                )
            }
            Self::Retry { urls, example, status, due } => retry(f, *urls, example, *status, *due),
            Self::NotKept { duplicates, key } => write!(
                f,
                "{} found before {key} = \"keep\" was set: their pages are not stored. To store them, start over with --fresh.",
                counted(*duplicates, "duplicate"),
            ),
            Self::Missed { missed, checked } => write!(
                f,
                "The index missed {} in {}. This is a bug, and duplicates may have been stored. Please report it together with the \
                 layout of the index.",
                counted(*missed, "document"),
                counted(*checked, "look-up"),
            ),
            Self::Deferred { urls, new, new_at_most, rearranged } => {
                deferred(f, *urls, [*new, *new_at_most, *rearranged])
            }
            Self::Queued { urls, new, new_at_most, rearranged } => {
                queued(f, *urls, [*new, *new_at_most, *rearranged])
            }
            Self::Scripts { pages, example } => scripts(f, *pages, example),
            Self::Mirror { host, pages, duplicates } => mirror(f, host, *pages, *duplicates),
            Self::ManyDuplicates { url, duplicates } => write!(
                f,
                "{} pages repeat one page. If it is an error, login or empty page, exclude the addresses that serve it. If \
                 the pages differ in content, set a smaller dedup.radius or a larger dedup.min_features. The page: {}",
                thousands(*duplicates),
                shown(url, 2000),
            ),
        }
    }
}

/// How many URLs these are, and how many of them are estimated to have a new text, at most, and rearranged.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn summed(groups: &[DeferredUrls]) -> (u64, [u64; 3]) {
    let sum = |of: fn(&DeferredUrls) -> f64| groups.iter().map(of).sum::<f64>();
    let estimates = [
        sum(|it| it.new).round() as u64,
        sum(|it| it.new_at_most).ceil() as u64,
        sum(|it| it.rearranged).round() as u64,
    ];
    (groups.iter().map(|it| it.urls).sum(), estimates)
}

/// Says that pages need scripts.
fn scripts(f: &mut fmt::Formatter<'_>, pages: u64, example: &str) -> fmt::Result {
    write!(
        f,
        "{} without text of their own until scripts run, such as {}. pagesieve runs no JavaScript, so their texts and links are \
                 missing. Look for a sitemap, a feed or a version without scripts, and name it in [[seeds]].",
        counted(pages, "page"),
        shown(example, 500),
    )
}

/// Says that a host repeats others.
fn mirror(f: &mut fmt::Formatter<'_>, host: &str, pages: u64, duplicates: u64) -> fmt::Result {
    write!(
        f,
        "{} of {} pages of {} repeat pages of other hosts. If it is a mirror, exclude it from the seeds. If \
                 you want its pages, set dedup.cross_site.store = \"keep\" (dedup.same_site for hosts of one domain).",
        thousands(duplicates),
        thousands(pages),
        shown(host, 200),
    )
}

/// Says that there was nothing to fetch.
const NO_SEED: &str = "There was nothing to fetch: no seed names a URL. Check [[seeds]] in the configuration and the seed files.";

/// Says what is deferred by what was learnt.
fn deferred(f: &mut fmt::Formatter<'_>, urls: u64, estimates: [u64; 3]) -> fmt::Result {
    write!(f, "Deferred by what was learnt: {}. ", counted(urls, "URL"))?;
    expected(f, estimates)?;
    f.write_str(next_step(Reason::Rule, None))
}

/// Says what is queued when the budget is spent.
fn queued(f: &mut fmt::Formatter<'_>, urls: u64, estimates: [u64; 3]) -> fmt::Result {
    let are = if urls == 1 { "is" } else { "are" };
    write!(f, "The budget is spent, and {} {are} still queued. ", counted(urls, "URL"))?;
    expected(f, estimates)?;
    f.write_str(next_step(Reason::Budget, None))
}

/// Says how many of some URLs are expected to have a new text.
fn expected(f: &mut fmt::Formatter<'_>, [new, new_at_most, rearranged]: [u64; 3]) -> fmt::Result {
    let (new, most) = (thousands(new), thousands(new_at_most));
    write!(f, "About {new} of them have a new text, at most {most} (95 % confidence). ")?;
    if rearranged > 0 {
        let more = thousands(rearranged);
        write!(f, "About {more} more have passages of known pages in another arrangement. ")?;
    }
    Ok(())
}

/// Says that something failed that may pass.
fn retry(
    f: &mut fmt::Formatter<'_>,
    urls: u64,
    example: &str,
    status: Option<u16>,
    due: Timestamp,
) -> fmt::Result {
    write!(
        f,
        "{} failed for a reason that may pass, such as {}{}. Run the same command after {} to fetch what has failed six hours before.",
        counted(urls, "URL"),
        shown(example, 500),
        status.map_or_else(String::new, |status| format!(" (status {status})")),
        minute(due),
    )
}

/// Says what is left, and what to do.
fn open(f: &mut fmt::Formatter<'_>, urls: u64, hosts: u64) -> fmt::Result {
    let left = if urls == 1 { "is" } else { "are" };
    let left = format!("{} {left} still queued", counted(urls, "URL"));
    let hosts = match hosts {
        0 => ", and no host answers any more".to_owned(),
        hosts => format!(
            ", some of them at hosts that do not answer any more ({} suspended)",
            thousands(hosts)
        ),
    };
    write!(f, "The run is not done: {left}{hosts}. {}", next_step(Reason::Pending, None))
}

/// Names seeds that could not be reached.
fn unreachable(f: &mut fmt::Formatter<'_>, count: u64, seeds: &[UnreachableSeed]) -> fmt::Result {
    let named = named(count, seeds, |why| shown(why, 500));
    let next = if !seeds.is_empty() && seeds.iter().all(|seed| seed.server_error) {
        "The server answers with an error that may pass: run the same command later."
    } else {
        next_step(Reason::Failure, None)
    };
    write!(f, "{} could not be reached: {named}. {next}", counted(count, "seed"))
}

/// Names seeds that have moved.
fn moved(f: &mut fmt::Formatter<'_>, count: u64, seeds: &[MovedSeed]) -> fmt::Result {
    let named = seeds.iter().take(NAMED_SEEDS);
    let named = named.map(|it| format!("{} to {}", shown(&it.url, 500), shown(&it.to, 500)));
    write!(
        f,
        "{} redirected within the same place, and the scope was taken along: {}. Name the new URLs in [[seeds]].",
        counted(count, "seed"),
        named.collect::<Vec<_>>().join("; "),
    )
}

/// Names seeds that were not fetched because a budget was spent: first those that were asked and gave no answer.
fn unasked(f: &mut fmt::Formatter<'_>, count: u64, seeds: &[UnreachableSeed]) -> fmt::Result {
    let mut seeds = seeds.to_vec();
    seeds.sort_by_key(|seed| seed.why.is_empty());
    let named = named(count, &seeds, |why| match why {
        "" => "not asked".to_owned(),
        why => format!("not reached so far: {}", shown(why, 500)),
    });
    let were = if count == 1 { "was" } else { "were" };
    let next = next_step(Reason::Budget, None);
    write!(
        f,
        "{} {were} not fetched, because the budget was spent before: {named}. {next}",
        counted(count, "seed")
    )
}

/// The first seeds, with what is known of each, and how many more there are.
fn named(count: u64, seeds: &[UnreachableSeed], about: impl Fn(&str) -> String) -> String {
    let named = seeds.iter().take(NAMED_SEEDS);
    let mut all: Vec<String> = named
        .map(|UnreachableSeed { url, why, .. }| format!("{} ({})", shown(url, 2000), about(why)))
        .collect();
    let more = count.saturating_sub(NAMED_SEEDS as u64);
    all.extend((more > 0).then(|| format!("and {}", counted(more, "more seed"))));
    all.join("; ")
}

/// What to check if most URLs were skipped for this reason.
fn next_step(reason: Reason, cause: Option<SkipCause>) -> &'static str {
    match reason {
        Reason::Robots if cause == Some(SkipCause::RobotsNotReceived) => {
            next_step(Reason::Failure, None)
        }
        Reason::Robots => {
            "`pagesieve explain URL --run RUN` shows what robots.txt says about a URL of this run, and `pagesieve crawl CONFIG --dry-run` about the seeds of a run that has not begun. For your own site, set politeness.obey_robots = false."
        }
        Reason::Scope => {
            "Check scope, include and exclude of the [[seeds]]. `pagesieve crawl CONFIG --dry-run` shows what they admit before a run; after a change, the next start queues what they admit now."
        }
        Reason::Depth => "Raise max_depth of the [[seeds]] and crawl.max_depth.",
        Reason::Budget => "Raise crawl.max_pages, or max_pages of the [[seeds]].",
        Reason::Redirect => "If you want the page that it leads to, name that URL in [[seeds]].",
        Reason::Status => {
            "Check the URLs in [[seeds]], and whether the site answers this user_agent."
        }
        Reason::Failure => {
            "Check the host name, the network and fetch.timeout. Private addresses need fetch.allow_private or fetch.resolve."
        }
        Reason::ContentType => {
            "Only HTML pages are judged: name pages in [[seeds]], or a sitemap with `sitemap`."
        }
        Reason::Noindex => {
            "The pages ask not to be indexed, so only their links are followed. If they have links, raise max_depth."
        }
        Reason::DuplicateLinks => "Set links = \"follow\" in dedup.same_site and dedup.cross_site.",
        Reason::Host => {
            "Raise politeness.max_crawl_delay or politeness.max_retry_after, or run the crawl again later."
        }
        Reason::Member => "Start the other members: `pagesieve cluster status` lists them.",
        Reason::Pending => "Run the same command again.",
        Reason::Rule | Reason::LowYield => {
            "To fetch them anyway, set links = \"follow\" in dedup.same_site and dedup.cross_site."
        }
        Reason::Sitemap => {
            "The sitemaps name no page that can be fetched: open one and check its URLs."
        }
    }
}
