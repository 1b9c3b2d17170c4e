//! Which URLs a page links to: a row for each page, sitemap and redirect, with the numbers of the URLs in order.
//!
//! The numbers are written as differences from one to the next (zigzag, LEB128): most links of a page lead to URLs that were found on it, or on
//! a page of the same site. So a link takes one to three bytes.

use std::collections::{HashMap, HashSet};

use super::{State, StateError, UrlId, UrlState, reason::Reason, urls::state_code};

/// Redirects in a row that are followed.
const MAX_REDIRECTS: usize = 10;

const DAMAGED: StateError = StateError::Damaged("the links of a page make no sense");

/// The pages that link to a URL, and the URLs by whose redirects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inlinks {
    /// Pages and sitemaps, in the order in which they were found.
    pub(crate) pages: Vec<UrlId>,
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

    /// Which pages link to these URLs, directly or by redirects. Reads all links once.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn inlinks(
        &self,
        of: &HashSet<UrlId>,
    ) -> Result<HashMap<UrlId, Inlinks>, StateError> {
        let mut found: HashMap<UrlId, Inlinks> = HashMap::new();
        // Which of the URLs each one leads to.
        let mut leads: HashMap<UrlId, Vec<UrlId>> = of.iter().map(|id| (*id, vec![*id])).collect();
        let redirects = self.redirects()?;
        for _ in 0..MAX_REDIRECTS {
            let before: usize = leads.values().map(Vec::len).sum();
            for (from, to) in &redirects {
                for target in leads.get(to).cloned().unwrap_or_default() {
                    let known = leads.entry(*from).or_default();
                    if !known.contains(&target) {
                        known.push(target);
                        found.entry(target).or_default().redirects.push(*from);
                    }
                }
            }
            if leads.values().map(Vec::len).sum::<usize>() == before {
                break;
            }
        }
        let redirects: HashSet<UrlId> = redirects.into_iter().map(|(from, _)| from).collect();
        self.for_each_links(|from, to| {
            let targets = to.iter().filter_map(|id| leads.get(id)).flatten();
            for target in targets.filter(|_| !redirects.contains(&from)) {
                let pages = &mut found.entry(*target).or_default().pages;
                if pages.last() != Some(&from) {
                    pages.push(from);
                }
            }
            Ok::<_, StateError>(())
        })?;
        Ok(found)
    }

    /// The URLs whose redirects have no target, or lead to no end.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn dead_redirects(&self) -> Result<Vec<UrlId>, StateError> {
        let sql = "SELECT id FROM urls WHERE state = ? ORDER BY id";
        let code = state_code(UrlState::Skipped(Reason::Redirect));
        let all: Vec<UrlId> = self.all(sql, [code], |row| Ok(UrlId(row.get(0)?)))?;
        let targets: HashMap<UrlId, UrlId> = self.redirects()?.into_iter().collect();
        let redirects: HashSet<UrlId> = all.iter().copied().collect();
        let ends = |first: &UrlId| {
            let mut at = *first;
            (0..=MAX_REDIRECTS).any(|_| match targets.get(&at) {
                Some(to) => {
                    at = *to;
                    !redirects.contains(to)
                }
                None => false,
            })
        };
        Ok(all.into_iter().filter(|id| !ends(id)).collect())
    }

    /// The redirects, with their targets.
    fn redirects(&self) -> Result<Vec<(UrlId, UrlId)>, StateError> {
        let sql = "SELECT l.url, l.packed FROM urls u JOIN links l ON l.url = u.id WHERE u.state = ? ORDER BY u.id";
        let code = state_code(UrlState::Skipped(Reason::Redirect));
        let mut found = Vec::new();
        let read = |row: &rusqlite::Row<'_>| Ok((UrlId(row.get(0)?), row.get::<_, Vec<u8>>(1)?));
        self.each(sql, [code], read, |(from, packed)| {
            found.extend(unpack(from, &packed)?.into_iter().map(|to| (from, to)));
            Ok::<_, StateError>(())
        })?;
        Ok(found)
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
