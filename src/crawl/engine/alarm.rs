//! Notices while a crawl runs that a host begins to lose its pages. Counts only; does no I/O.

use std::num::NonZeroUsize;

use lru::LruCache;

use crate::{
    filter::{Kind, Match},
    page::DocId,
    report::{MANY_DUPLICATES, is_mirror},
    state::HostId,
};

/// Hosts that are watched: those whose pages were judged last.
const HOSTS: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");
/// The last pages of a host are compared with those before them.
pub(super) const LAST: u64 = 64;
/// This many duplicates among them are four standard deviations more than the half that is expected if every second page is one.
const DROPPED: u64 = 48;

/// What has begun at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// This many of its last pages repeat others of it, and fewer than half of those before did.
    Dropped(u64),
    /// This many of its pages are near duplicates of one.
    Absorbed(DocId, u64),
    /// It repeats other hosts: pages, and those that do.
    Mirror(u64, u64),
}

/// The hosts that are watched. A start begins anew.
#[derive(Debug)]
pub(super) struct Alarms(LruCache<HostId, Watched>);

#[derive(Debug, Default)]
struct Watched {
    pages: u64,
    /// Those that repeat one of the same host, and of another.
    duplicates: u64,
    of_other_hosts: u64,
    /// For each of the last pages a bit: whether it repeats one of the same host.
    last: u64,
    /// The page that most of its near duplicates repeat, by majority vote (R. S. Boyer and J S. Moore, "MJRTY", 1991), and its votes: at most as many
    /// pages repeat it.
    most: Option<(DocId, u64)>,
    /// What was said already.
    has_dropped: bool,
    is_mirror: bool,
    absorbed_by: Option<DocId>,
}

impl Default for Alarms {
    fn default() -> Self {
        Self(LruCache::new(HOSTS))
    }
}

impl Alarms {
    /// A page of this host was judged; what it repeats, and whether that is of another host. Returns what begins with it.
    pub(super) fn judged(&mut self, host: HostId, found: Option<(&Match, bool)>) -> Option<Alarm> {
        let watched = self.0.get_or_insert_mut(host, Watched::default);
        watched.add(found);
        watched.dropped().or_else(|| watched.absorbed()).or_else(|| watched.mirror())
    }
}

impl Watched {
    fn add(&mut self, found: Option<(&Match, bool)>) {
        // An error page, a session and a login repeat pages of their host: other copies are of a mirror.
        let is_own = found.is_some_and(|(_, is_other)| !is_other);
        self.pages += 1;
        self.duplicates += u64::from(is_own);
        self.last = self.last << 1 | u64::from(is_own);
        let Some((found, is_other)) = found else { return };
        self.of_other_hosts += u64::from(is_other);
        if found.kind == Kind::Near {
            self.most = match self.most {
                Some((of, votes)) if of == found.of => Some((of, votes + 1)),
                Some((of, votes)) if votes > 1 => Some((of, votes - 1)),
                _ => Some((found.of, 1)),
            };
        }
    }

    fn dropped(&mut self) -> Option<Alarm> {
        let dropped = u64::from(self.last.count_ones());
        let (before, pages) = (self.duplicates - dropped, self.pages.saturating_sub(LAST));
        let begins = dropped >= DROPPED && pages >= LAST && 2 * before < pages;
        (begins && !std::mem::replace(&mut self.has_dropped, true))
            .then_some(Alarm::Dropped(dropped))
    }

    fn absorbed(&mut self) -> Option<Alarm> {
        let (of, votes) = self.most.filter(|(_, votes)| *votes > MANY_DUPLICATES)?;
        (self.absorbed_by.replace(of) != Some(of)).then_some(Alarm::Absorbed(of, votes))
    }

    fn mirror(&mut self) -> Option<Alarm> {
        let begins = !self.is_mirror && is_mirror(self.pages, self.of_other_hosts);
        self.is_mirror |= begins;
        begins.then_some(Alarm::Mirror(self.pages, self.of_other_hosts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Step;

    fn near(of: u64) -> Match {
        Match {
            of: DocId(of),
            kind: Kind::Near,
            step: Step::Near,
            distance: 1,
            signature_distance: 4,
            similarity: 0.9,
        }
    }

    /// The alarms of pages of one host, with the place at which they begin.
    fn alarms(pages: impl IntoIterator<Item = Option<(u64, bool)>>) -> Vec<(usize, Alarm)> {
        let mut alarms = Alarms::default();
        let pages = pages.into_iter().map(|page| page.map(|(of, is_other)| (near(of), is_other)));
        let mut judge = |page: Option<(Match, bool)>| {
            alarms.judged(HostId(1), page.as_ref().map(|(found, is_other)| (found, *is_other)))
        };
        pages.enumerate().filter_map(|(at, page)| Some((at, judge(page)?))).collect()
    }

    #[test]
    fn a_host_that_turns_into_duplicates_is_noticed_once() {
        let pages =
            |good, bad| std::iter::repeat_n(None, good).chain((0..bad).map(|of| Some((of, false))));
        assert_eq!(alarms(pages(200, 300)), [(247, Alarm::Dropped(48))]);
        assert_eq!(alarms(pages(31, 300)), [], "most of the first 64 were duplicates, too");
        let half = (0..100_000).map(|page| (page % 2 == 0).then_some((page, false)));
        assert_eq!(alarms(half), [], "it was always so");
        let mirrored = (0..300).map(|page| (page >= 200).then_some((page, true)));
        assert_eq!(alarms(mirrored), [], "fewer than half of its pages are those of another host");
    }

    #[test]
    fn a_page_that_many_others_nearly_repeat_is_noticed() {
        // Others come between them.
        let pages =
            (0..160).map(|page| Some(if page % 8 == 7 { (page, false) } else { (1_000, false) }));
        assert_eq!(alarms(pages), [(132, Alarm::Absorbed(DocId(1_000), 101))]);
        let pages = (0..10_000).map(|page| Some((page % 10, false)));
        assert_eq!(alarms(pages), [], "no page has most");
    }

    #[test]
    fn a_host_that_repeats_others_is_noticed_at_twenty_pages() {
        let pages = (0..100).map(|page| (page % 4 > 0).then_some((page, true)));
        assert_eq!(alarms(pages), [(19, Alarm::Mirror(20, 15))]);
    }
}
