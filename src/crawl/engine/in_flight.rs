//! The pages that are being requested: other URLs of the same page wait until it is judged.

use std::collections::{HashMap, hash_map::Entry};

use crate::{
    learn::Reduced,
    state::{HostId, UrlId},
};

/// The pages that are requested, will be next, or are to be retried. They hold up URLs of their own host only, which answers or is given up with them.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// By the host and the number: whether a rule makes this the number of several URLs.
    pages: HashMap<(HostId, u32), bool>,
    urls: HashMap<UrlId, (HostId, u32)>,
}

impl InFlight {
    /// Enters a URL, unless another one of this number is in flight. Returns whether it may be requested: it may not if a rule makes both the same page.
    pub(super) fn start(&mut self, host: HostId, url: UrlId, reduced: Reduced) -> bool {
        let place = (host, reduced.number);
        // Since it was released, a rule may have given it another number.
        self.end(url);
        match self.pages.entry(place) {
            Entry::Vacant(page) => {
                page.insert(reduced.is_by_rule);
                self.urls.insert(url, place);
                true
            }
            Entry::Occupied(page) => !(*page.get() || reduced.is_by_rule),
        }
    }

    /// A URL was judged, or given up. Returns the host and the number of its page, if it was the one in flight.
    pub(super) fn end(&mut self, url: UrlId) -> Option<(HostId, u32)> {
        let place = self.urls.remove(&url)?;
        self.pages.remove(&place);
        Some(place)
    }
}

#[cfg(test)]
impl InFlight {
    /// Whether a page of this host is in flight.
    pub(super) fn has(&self, host: HostId, number: u32) -> bool {
        self.pages.contains_key(&(host, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(1);

    fn reduced(number: u32, is_by_rule: bool) -> Reduced {
        Reduced { number, is_by_rule }
    }

    #[test]
    fn urls_of_a_page_that_is_in_flight_wait() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(!pages.start(HOST, UrlId(2), reduced(7, true)));
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)), "it does not wait for itself");
        assert!(pages.start(HostId(2), UrlId(3), reduced(7, true)), "hosts do not wait for others");
        pages.end(UrlId(2));
        assert!(pages.has(HOST, 7));
        pages.end(UrlId(1));
        assert!(!pages.has(HOST, 7));
        assert!(pages.start(HOST, UrlId(2), reduced(7, true)));
    }

    #[test]
    fn a_url_that_a_rule_gives_another_number_holds_up_nothing_else() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(pages.start(HOST, UrlId(1), reduced(8, true)));
        assert!(!pages.has(HOST, 7));
        pages.end(UrlId(1));
        assert!(!pages.has(HOST, 8));
    }

    #[test]
    fn urls_that_no_rule_makes_the_same_do_not_wait() {
        let mut pages = InFlight::default();
        assert!(pages.start(HOST, UrlId(1), reduced(7, false)));
        assert!(pages.start(HOST, UrlId(2), reduced(7, false)));
        pages.end(UrlId(2));
        assert!(pages.has(HOST, 7), "it is the page of the first one");
    }
}
