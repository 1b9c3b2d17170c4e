//! The reference: compares with everything.

use std::collections::VecDeque;

use super::{Candidate, Index};
use crate::{fingerprint::Fingerprint, page::DocId};

/// A linear scan: right beyond doubt, for any radius, and slow beyond some thousand documents. The oracle of every other index.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    entries: VecDeque<(DocId, Fingerprint)>,
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

    fn insert(&mut self, id: DocId, fingerprint: Fingerprint) {
        assert!(self.entries.back().is_none_or(|&(last, _)| last < id), "ids grow");
        self.entries.push_back((id, fingerprint));
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
