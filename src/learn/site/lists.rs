//! Chains of links within a pattern, and lists of several pages that lead to new texts.

use super::{
    super::{
        Page,
        parts::{Parts, chooses_page},
        pattern_yield::Chain,
    },
    Site,
};

/// The mark of a page without a new text in its chain.
const KNOWN_PAGE: u16 = 1 << 15;

impl Site {
    /// Links in a row within its pattern that led to a page.
    pub(in crate::learn) fn chain(&self, parts: &Parts<'_>) -> Chain {
        let chain = self.classes.get(!parts.key).map_or(0, |class| class.chain);
        #[allow(clippy::cast_possible_truncation, reason = "a hash")]
        let from = parts.key as u32;
        Chain {
            links: chain & !KNOWN_PAGE,
            from,
            from_known: chain & KNOWN_PAGE != 0,
            is_mutual: false,
        }
    }

    /// Links in a row that led to this page, if they are all within its pattern, and whether a redirect from outside of it did. A redirect is
    /// no further link.
    pub(in crate::learn) fn chain_to(
        &self,
        page: &Page<'_>,
        from: Option<&Parts<'_>>,
    ) -> (Chain, bool) {
        let mut chain = from.map_or(Chain::default(), |from| self.chain(from));
        let is_outside = page.is_redirected && chain.links == 0;
        chain.is_mutual = page.links_back;
        chain.links = chain.links.saturating_add(u16::from(!page.is_redirected));
        (chain, is_outside)
    }

    /// Remembers the longest chain that led to a page, and whether it had no new text.
    pub(in crate::learn) fn set_chain(&mut self, parts: &Parts<'_>, links: u16, from_known: bool) {
        let mark = if from_known { KNOWN_PAGE } else { 0 };
        self.class(!parts.key).chain = links.min(!KNOWN_PAGE) | mark;
    }

    /// The key of the list of which this may be a page, and whether the URL says which page.
    pub(super) fn list(parts: &Parts<'_>) -> (u64, bool) {
        let page = parts.parameters().find(|part| chooses_page(part));
        let key = page.map_or(parts.key, |page| Parts::without(parts.key, page));
        (key.rotate_left(23), page.is_some())
    }

    /// A page led to a new text: if it is one of a list, the others may as well. Returns whether more of them are wanted than before.
    pub(in crate::learn) fn earn_pages(&mut self, from: &Parts<'_>) -> bool {
        let pages = &mut self.class(Self::list(from).0).pages;
        let had_none = *pages == 0;
        *pages = pages.saturating_add(1);
        had_none && from.url.query().is_some()
    }

    /// A page of a list had no new text.
    pub(in crate::learn) fn spend_page(&mut self, parts: &Parts<'_>) {
        if let (key, true) = Self::list(parts)
            && self.classes.contains_key(key)
        {
            let pages = &mut self.class(key).pages;
            *pages = pages.saturating_sub(1);
        }
    }

    /// Whether a URL is a further page of a list that has led to new texts.
    pub(in crate::learn) fn is_page_of_list(&self, parts: &Parts<'_>) -> bool {
        let (key, is_page) = Self::list(parts);
        is_page && self.classes.get(key).is_some_and(|class| class.pages > 0)
    }
}
