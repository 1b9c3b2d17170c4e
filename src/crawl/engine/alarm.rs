//! Notices while a crawl runs that a host begins to lose its pages. Counts only; does no I/O.

use std::num::NonZeroUsize;

use lru::LruCache;

use crate::{
    filter::Match,
    page::DocId,
    report::{MANY_DUPLICATES, mirrored},
};

/// Hosts and sites that are watched: those whose pages were judged last.
const WATCHED: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");
/// The last pages of a host are compared with those before them.
pub(super) const LAST: u64 = 64;
/// This many duplicates among them are four standard deviations more than the half that is expected if every second page is one.
const DROPPED: u64 = 48;

/// What has begun or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// This many of the host's last pages repeat others of it, and fewer than half of those before did.
    Dropped(u64),
    /// This many of its pages repeat one.
    Absorbed(DocId, u64),
    /// This host has the pages of another one.
    Mirror { host: String, pages: u64, common: u64, of: String, again: bool },
    /// This one does not any more.
    NoMirror(String),
    /// So many sites have no page of their own, and no URL is left; such as this one, and its pages.
    Unrepresented { sites: u64, site: String, pages: u64 },
    /// All sites have a page of their own, as far as is known.
    Represented,
}

/// Where a page is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) host: &'a str,
    pub(super) site: &'a str,
}

/// The hosts and sites that are watched. A start begins anew.
#[derive(Debug)]
pub(super) struct Alarms {
    hosts: LruCache<String, Host>,
    sites: LruCache<String, Site>,
}

#[derive(Debug, Default)]
struct Host {
    pages: u64,
    /// Those that repeat one of the same host, and of another.
    duplicates: u64,
    of_other_hosts: u64,
    /// For each of the last pages a bit: whether it repeats one of the same host.
    last: u64,
    /// The page that most of its duplicates repeat.
    page: Majority<DocId>,
    /// The host whose pages it repeats most.
    other: Majority<String>,
    /// What was said already.
    has_dropped: bool,
    is_mirror: bool,
    was_mirror: bool,
    absorbed_by: Option<DocId>,
}

#[derive(Debug, Default)]
struct Site {
    /// Those that repeat other sites.
    pages: u64,
    is_kept: bool,
    is_missing: bool,
}

/// What most are, by majority vote (R. S. Boyer and J S. Moore, "MJRTY", 1991), and its votes: at most as many are it.
#[derive(Debug)]
struct Majority<T>(Option<(T, u64)>);

impl<T> Default for Majority<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> Majority<T> {
    fn add(&mut self, vote: T) {
        match &mut self.0 {
            Some((of, votes)) if *of == vote => *votes += 1,
            Some((_, votes)) if *votes > 1 => *votes -= 1,
            other => *other = Some((vote, 1)),
        }
    }
}

impl Default for Alarms {
    fn default() -> Self {
        Self { hosts: LruCache::new(WATCHED), sites: LruCache::new(WATCHED) }
    }
}

impl Alarms {
    /// A page was judged; what it repeats, and where that is. `is_last`: no other URL of its host is known that could be fetched. Returns what
    /// begins or ends with it.
    pub(super) fn judged(
        &mut self,
        place: Place<'_>,
        found: Option<(&Match, Place<'_>)>,
        is_last: bool,
    ) -> Vec<Alarm> {
        let host = self.hosts.get_or_insert_mut_ref(place.host, Host::default);
        host.add(place.host, found);
        let mut alarms: Vec<_> = host.dropped().or_else(|| host.absorbed()).into_iter().collect();
        alarms.extend(self.mirror(place.host));
        if let Some((_, other)) = found.filter(|(_, other)| other.host != place.host) {
            // It may cease to be the one that repeats more.
            alarms.extend(self.mirror(other.host));
        }
        let is_other = found.is_some_and(|(_, other)| other.site != place.site);
        alarms.extend(self.represented(place, is_other, is_last));
        alarms
    }

    fn mirror(&mut self, name: &str) -> Option<Alarm> {
        let host = self.hosts.peek(name)?;
        let (of, votes) = host.other.0.clone()?;
        let other = self.hosts.peek(&of).and_then(|other| other.other.0.as_ref());
        let repeated = other.filter(|(of, _)| **of == *name).map_or(0, |(_, votes)| *votes);
        let (pages, sides) = (host.pages, [(votes, name), (repeated, &*of)]);
        let common = mirrored(pages, host.of_other_hosts, sides);
        let host = self.hosts.peek_mut(name)?;
        match (std::mem::replace(&mut host.is_mirror, common.is_some()), common) {
            (false, Some(common)) => {
                let again = std::mem::replace(&mut host.was_mirror, true);
                Some(Alarm::Mirror { host: name.into(), pages, common, of, again })
            }
            (true, None) => Some(Alarm::NoMirror(name.into())),
            _ => None,
        }
    }

    /// A page of a site was judged, and repeats another site or not. Mirrors are not counted.
    fn represented(&mut self, place: Place<'_>, is_other: bool, is_last: bool) -> Option<Alarm> {
        let is_mirror = self.hosts.peek(place.host).is_some_and(|host| host.is_mirror);
        let site = self.sites.get_or_insert_mut_ref(place.site, Site::default);
        site.pages += u64::from(is_other);
        site.is_kept |= !is_other;
        let is_missing = !site.is_kept && !is_mirror && (is_last || site.is_missing);
        if std::mem::replace(&mut site.is_missing, is_missing) == is_missing {
            return None;
        }
        // The site of this page comes first.
        let mut missing = self.sites.iter().filter(|(_, site)| site.is_missing);
        let Some((site, &Site { pages, .. })) = missing.next() else {
            return Some(Alarm::Represented);
        };
        let sites = 1 + missing.count() as u64;
        Some(Alarm::Unrepresented { sites, site: site.clone(), pages })
    }
}

impl Host {
    fn add(&mut self, name: &str, found: Option<(&Match, Place<'_>)>) {
        // An error page, a session and a login repeat pages of their host: other copies are of a mirror.
        let is_own = found.is_some_and(|(_, other)| other.host == name);
        self.pages += 1;
        self.duplicates += u64::from(is_own);
        self.last = self.last << 1 | u64::from(is_own);
        let Some((found, other)) = found else { return };
        if !is_own {
            self.of_other_hosts += 1;
            self.other.add(other.host.to_owned());
        }
        self.page.add(found.of);
    }

    fn dropped(&mut self) -> Option<Alarm> {
        let dropped = u64::from(self.last.count_ones());
        let (before, pages) = (self.duplicates - dropped, self.pages.saturating_sub(LAST));
        let begins = dropped >= DROPPED && pages >= LAST && 2 * before < pages;
        (begins && !std::mem::replace(&mut self.has_dropped, true))
            .then_some(Alarm::Dropped(dropped))
    }

    fn absorbed(&mut self) -> Option<Alarm> {
        let (of, votes) = self.page.0.filter(|(_, votes)| *votes > MANY_DUPLICATES)?;
        (self.absorbed_by.replace(of) != Some(of)).then_some(Alarm::Absorbed(of, votes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Kind, Step};

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

    const fn place(name: &str) -> Place<'_> {
        Place { host: name, site: name }
    }

    /// The alarms of pages of `a.test`, each with its number.
    fn alarms(pages: impl IntoIterator<Item = Option<(u64, bool)>>) -> Vec<(usize, Alarm)> {
        let mut alarms = Alarms::default();
        let of = |is_other| place(if is_other { "b.test" } else { "a.test" });
        let mut judge = |page: Option<(u64, bool)>| {
            let found = page.map(|(of_page, is_other)| (near(of_page), of(is_other)));
            let found = found.as_ref().map(|(found, of)| (found, *of));
            alarms.judged(place("a.test"), found, false)
        };
        let judged = |(at, page)| judge(page).into_iter().map(move |alarm| (at, alarm));
        pages.into_iter().enumerate().flat_map(judged).collect()
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

    fn mirror(pages: u64, common: u64) -> Alarm {
        Alarm::Mirror { host: "a.test".into(), pages, common, of: "b.test".into(), again: false }
    }

    #[test]
    fn a_host_that_repeats_others_is_noticed_at_twenty_pages() {
        let pages = (0..100).map(|page| (page % 4 > 0).then_some((page, true)));
        assert_eq!(alarms(pages), [(19, mirror(20, 15))]);
    }

    #[test]
    fn a_host_that_repeats_others_no_more_is_no_mirror() {
        let pages = (0..100).map(|page| (page < 20).then_some((page, true)));
        assert_eq!(alarms(pages), [(19, mirror(20, 20)), (39, Alarm::NoMirror("a.test".into()))]);
    }

    #[test]
    fn equal_pages_are_absorbed_too() {
        let mut alarms = Alarms::default();
        let found = Match { kind: Kind::Exact, step: Step::Text, ..near(7) };
        let here = place("a.test");
        let mut judge = |_| alarms.judged(here, Some((&found, here)), false);
        let said: Vec<_> = (0..150).flat_map(&mut judge).collect();
        let absorbed = Alarm::Absorbed(DocId(7), MANY_DUPLICATES + 1);
        assert_eq!(said.iter().filter(|it| **it == absorbed).count(), 1, "{said:?}");
    }

    #[test]
    fn of_two_hosts_with_the_same_pages_one_is_the_mirror() {
        let mut alarms = Alarms::default();
        let mut holding = Vec::new();
        // Who comes first with a page changes: at first `b.test`, then mostly `a.test`.
        for page in 0..400_u64 {
            let is_first = page < 30 || page % 3 == 0;
            let hosts = if is_first { ["b.test", "a.test"] } else { ["a.test", "b.test"] };
            let [first, then] = hosts.map(place);
            let found = near(page);
            let mut said = alarms.judged(first, None, false);
            said.extend(alarms.judged(then, Some((&found, first)), false));
            for alarm in said {
                match alarm {
                    Alarm::Mirror { host, .. } => holding.push(host),
                    Alarm::NoMirror(host) => holding.retain(|it| *it != host),
                    other => panic!("{other:?}"),
                }
            }
            assert!(holding.len() <= 1, "{holding:?} at {page}");
        }
        assert_eq!(holding, ["b.test".to_owned()], "it repeats the other more often");
    }

    #[test]
    fn a_site_that_ends_without_a_page_of_its_own_is_noticed_until_it_has_one() {
        let mut alarms = Alarms::default();
        let found = near(1);
        let other = Some((&found, place("b.test")));
        let lost =
            |sites, site: &str, pages| Alarm::Unrepresented { sites, site: site.into(), pages };
        assert_eq!(alarms.judged(place("a.test"), other, false), []);
        assert_eq!(alarms.judged(place("a.test"), other, true), [lost(1, "a.test", 2)]);
        assert_eq!(alarms.judged(place("c.test"), other, true), [lost(2, "c.test", 1)]);
        let www = Place { host: "www.a.test", site: "a.test" };
        assert_eq!(alarms.judged(www, None, true), [lost(1, "c.test", 1)]);
        let own = Some((&found, place("c.test")));
        assert_eq!(alarms.judged(place("c.test"), own, true), [Alarm::Represented]);
    }
}
