//! URLs that redirect, and the texts of the pages to which they lead.

use url::Url;

use super::{
    super::{
        Page, Yielded,
        parts::{Part, Parts},
        pattern_yield::{PatternKind, PatternYield},
        rule::last_id,
        trial::{EXPECTED, Repeats},
    },
    Site, Text,
    spellings::respelt,
    trials::RECENT_LENGTH,
};

/// The last redirects of a site that are remembered.
const REDIRECTS: usize = 512;
/// Redirects within a pattern that are followed to their ends before others are.
const MAX_UNDECIDED: u16 = 8;

/// A URL that redirects.
#[derive(Debug)]
pub(super) struct Redirect {
    url: Box<str>,
    /// The key of the target.
    target: u64,
    /// Nothing else has led to the target.
    leads_on: bool,
}

impl Site {
    /// Counts the redirects that stay within their pattern and are not followed to their ends yet. `own` is the pattern of this page or redirect, and `before` that of
    /// the page that has led to it.
    pub(in crate::learn) fn count_redirects(
        &mut self,
        page: &Page<'_>,
        own: u32,
        before: Option<u32>,
    ) {
        if page.is_redirected && before == Some(own) {
            self.yields.entry(own).or_default().settle_redirect();
        }
        let to = page.to.filter(|_| page.yielded == Yielded::RedirectUndecided);
        if to.is_some_and(|to| {
            self.patterns(&Parts::of(to)).first().is_some_and(|it| it.number == own)
        }) {
            self.yields.entry(own).or_default().record_undecided_redirect();
        }
    }

    /// Whether a URL comes after those of other patterns. Where the redirects of its pattern end says whether more of them are wanted: URLs to which they lead come
    /// first, and others wait for these.
    pub(in crate::learn) fn is_late(
        &self,
        parts: &Parts<'_>,
        of_pattern: &PatternYield,
        kind: PatternKind,
    ) -> bool {
        let is_target = || self.redirects.iter().any(|it| it.target == parts.key);
        let is_next = !kind.is_wide() && of_pattern.has_undecided_redirects(1) && is_target();
        !is_next && (of_pattern.has_undecided_redirects(MAX_UNDECIDED) || of_pattern.is_late(kind))
    }

    /// A URL redirects to one that differs in one parameter only, or is spelt otherwise: that makes no difference. Returns whether a rule was
    /// learnt by that. The text of the target says more if nothing else has led to it (`leads_on`).
    pub(super) fn redirects(&mut self, parts: &Parts<'_>, to: &Url, leads_on: bool) -> bool {
        let (url, target) = (parts.url, Parts::of(to));
        if url.as_str().len() <= RECENT_LENGTH {
            if self.redirects.len() >= REDIRECTS {
                self.take_redirect(0);
            }
            self.url_bytes += url.as_str().len();
            let url = url.as_str().into();
            self.redirects.push_back(Redirect { url, target: target.key, leads_on });
        }
        if let Some(part) = respelt(parts, &target) {
            return self.try_number(part.candidate_id(), EXPECTED, Repeats::Exactly, part);
        }
        let other = |part: &&Part<'_>| {
            let of_target = target.parameters().find(|it| it.name == part.name);
            of_target.is_some_and(|it| {
                !it.is_same(part)
                    && Parts::without(parts.key, part) == Parts::without(target.key, it)
            })
        };
        let Some(part) = parts.parameters().find(other) else { return false };
        let number = Self::candidate_of(part);
        self.try_candidate(number, self.test_of(number, part), part, Repeats::Exactly, parts)
    }

    pub(super) fn take_redirect(&mut self, place: usize) -> Option<Redirect> {
        let redirect = self.redirects.remove(place)?;
        self.url_bytes -= redirect.url.len();
        Some(redirect)
    }

    /// The URLs that redirect to a page with a new text have this text. If nothing else has led there, their last segments make a difference. Returns
    /// whether a rule was revoked by that.
    pub(super) fn remember_redirects(&mut self, target: u64, text: Text, is_new: bool) -> bool {
        let (mut key, mut changed) = (target, false);
        while let Some(place) = self.redirects.iter().rposition(|it| it.target == key) {
            let Some(Redirect { url, leads_on, .. }) = self.take_redirect(place) else { break };
            let Ok(url) = Url::parse(&url) else { break };
            let parts = self.spelt(Parts::of(&url));
            let reduced = self.reduced_key(&parts);
            if leads_on
                && is_new
                && let Some((word, Some(_))) = self.without_last_word(&parts, reduced)
                && self.candidates.contains_key(&last_id(word))
            {
                changed |= self.try_last(word, Repeats::Not);
            }
            // A known text may be that of a page to log in: it says nothing of the page that was asked for.
            if is_new {
                self.add(&parts, reduced, text);
                self.remember(&url, text);
            }
            key = parts.key;
        }
        changed
    }
}
