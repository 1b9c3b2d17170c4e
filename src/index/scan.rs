//! The reference: compares with everything.

use std::{collections::VecDeque, num::NonZeroU32};

use super::{Candidate, Index};
use crate::{fingerprint::Fingerprint, page::DocId};

/// A linear scan: obviously right, for any radius, and slow for more than some thousand documents. The oracle of every other index.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    entries: VecDeque<(DocId, Fingerprint)>,
    /// The newest id.
    last: Option<DocId>,
    equal_limit: Option<NonZeroU32>,
}

impl Scan {
    /// Holds at most `limit` documents with one fingerprint, the oldest. A newer one does not enter.
    #[must_use]
    pub fn with_equal_limit(self, limit: NonZeroU32) -> Self {
        Self { equal_limit: Some(limit), ..self }
    }

    fn is_over(&self, fingerprint: Fingerprint) -> bool {
        self.equal_limit.is_some_and(|limit| {
            let equal = self.entries.iter().filter(|&&(_, other)| other == fingerprint);
            equal.count() >= limit.get() as usize
        })
    }
}

impl Index for Scan {
    fn max_radius(&self) -> u32 {
        u64::BITS
    }

    fn candidates(&self, fingerprint: Fingerprint, radius: u32, out: &mut Vec<Candidate>) {
        out.clear();
        let all = self
            .entries
            .iter()
            .map(|&(id, other)| Candidate { id, distance: fingerprint.distance(other) });
        out.extend(all.filter(|candidate| candidate.distance <= radius));
        out.sort_by_key(|candidate| candidate.distance);
    }

    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) -> bool {
        assert!(self.last.is_none_or(|last| last < id), "ids grow");
        self.last = Some(id);
        let enters = !self.is_over(fingerprint);
        if enters {
            self.entries.push_back((id, fingerprint));
        }
        enters
    }

    fn remove(&mut self, id: DocId) -> Option<Fingerprint> {
        let place = self.entries.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        self.entries.remove(place).map(|(_, fingerprint)| fingerprint)
    }

    fn expire(&mut self, horizon: DocId) {
        while self.entries.front().is_some_and(|&(id, _)| id < horizon) {
            self.entries.pop_front();
        }
    }

    fn len(&self) -> usize {
        self.entries.len()
    }
}
