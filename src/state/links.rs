//! Which URLs a page links to: a row for each page, sitemap and redirect, with the numbers of the URLs in order.
//!
//! The numbers are written as differences from one to the next (zigzag, LEB128): most links of a page lead to URLs that were found on it, or on
//! a page of the same site. So a link takes one to three bytes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    iter,
};

use super::{State, StateError, UrlId};

/// Redirects in a row that are followed.
const MAX_REDIRECTS: usize = 10;

const DAMAGED: StateError = StateError::Damaged("the links of a page make no sense");

/// The pages that link to a URL, and the URLs by whose redirects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inlinks {
    /// The first pages and sitemaps, in the order in which they were found.
    pub(crate) pages: Vec<UrlId>,
    /// How many there are.
    pub(crate) count: u64,
    /// URLs that redirect there, also through other ones.
    pub(crate) redirects: Vec<UrlId>,
}

impl State {
    /// Keeps what a page links to, in place of what it linked to before.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_links(&self, from: UrlId, to: &[UrlId]) -> Result<(), StateError> {
        let mut last = from.0;
        let steps = to.iter().map(|id| id.0 - std::mem::replace(&mut last, id.0));
        let steps: Vec<i64> = steps.collect();
        let packed = postcard::to_allocvec(&steps).expect("memory takes all bytes");
        self.execute("REPLACE INTO links VALUES (?, ?)", (from.0, packed))
    }

    /// What a page links to.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn links_of(&self, from: UrlId) -> Result<Vec<UrlId>, StateError> {
        let sql = "SELECT packed FROM links WHERE url = ?";
        let packed: Option<Vec<u8>> = self.find(sql, [from.0], |row| row.get(0))?;
        packed.map_or(Ok(Vec::new()), |packed| unpack(from, &packed))
    }

    /// Calls `visit` with each page that has links, and what it links to, in the order in which the pages were found.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_links<E: From<StateError>>(
        &self,
        mut visit: impl FnMut(UrlId, Vec<UrlId>) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT url, packed FROM links ORDER BY url";
        let read = |row: &rusqlite::Row<'_>| Ok((UrlId(row.get(0)?), row.get::<_, Vec<u8>>(1)?));
        self.each(sql, [], read, |(from, packed)| visit(from, unpack(from, &packed)?))
    }

    /// Which pages link to these URLs, directly or by redirects; of each URL at most `most` are named. Reads all links once.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn inlinks(
        &self,
        of: &HashSet<UrlId>,
        redirects: &Redirects,
        most: usize,
    ) -> Result<HashMap<UrlId, Inlinks>, StateError> {
        let mut found: HashMap<UrlId, Inlinks> = HashMap::new();
        // Which of the URLs each one leads to.
        let mut leads: HashMap<UrlId, Vec<UrlId>> = of.iter().map(|id| (*id, vec![*id])).collect();
        for first in redirects.targets.keys() {
            for target in
                redirects.way_of(*first).filter(|target| target != first && of.contains(target))
            {
                let known = leads.entry(*first).or_default();
                if !known.contains(&target) {
                    known.push(target);
                    found.entry(target).or_default().redirects.push(*first);
                }
            }
        }
        if leads.is_empty() {
            return Ok(found);
        }
        self.for_each_links(|from, to| {
            if redirects.targets.contains_key(&from) {
                return Ok(());
            }
            let mut targets: Vec<_> =
                to.iter().filter_map(|id| leads.get(id)).flatten().copied().collect();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                let inlinks = found.entry(target).or_default();
                inlinks.count += 1;
                inlinks.pages.extend((inlinks.pages.len() < most).then_some(from));
            }
            Ok::<_, StateError>(())
        })?;
        Ok(found)
    }
}

/// URLs that redirect, and where to.
#[derive(Debug)]
pub(crate) struct Redirects {
    targets: BTreeMap<UrlId, Option<UrlId>>,
}

impl Redirects {
    /// Of these URLs, which redirect.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn load(state: &State, urls: Vec<UrlId>) -> Result<Self, StateError> {
        let target = |id| Ok((id, state.links_of(id)?.first().copied()));
        let targets = urls.into_iter().map(target).collect::<Result<_, StateError>>()?;
        Ok(Self { targets })
    }

    /// The URLs to which one redirects, one after the other.
    fn way_of(&self, first: UrlId) -> impl Iterator<Item = UrlId> {
        let next = |at: &UrlId| self.targets.get(at).copied().flatten();
        iter::successors(next(&first), next).take(MAX_REDIRECTS)
    }

    /// Those that have no target, or lead to no end.
    pub(crate) fn dead(&self) -> impl Iterator<Item = UrlId> {
        let ends = |first| self.way_of(first).any(|at| !self.targets.contains_key(&at));
        self.targets.keys().copied().filter(move |first| !ends(*first))
    }
}

fn unpack(from: UrlId, packed: &[u8]) -> Result<Vec<UrlId>, StateError> {
    let steps: Vec<i64> = postcard::from_bytes(packed).map_err(|_| DAMAGED)?;
    let mut last = from.0;
    let mut to = |step: i64| {
        last = last.checked_add(step).filter(|id| *id > 0).ok_or(DAMAGED)?;
        Ok(UrlId(last))
    };
    steps.into_iter().map(&mut to).collect()
}
