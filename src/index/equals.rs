//! Hot values: of documents with one fingerprint the index holds the oldest, up to a limit.

use std::{collections::HashMap, num::NonZeroU32};

use super::{block_index::BlockIndex, bulk::Bulk, search::Query};
use crate::{fingerprint::Fingerprint, page::DocId};

/// Queries that are asked together.
const QUERIES: usize = 1024;

impl BlockIndex {
    /// How many documents with one fingerprint are held unless [`with_equal_limit`](Self::with_equal_limit) says otherwise.
    pub const EQUAL_LIMIT: u32 = 256;

    /// Holds at most so many documents with one fingerprint, the oldest. A newer one does not enter: of a million equal error
    /// pages, all but these cost nothing.
    #[must_use]
    pub fn with_equal_limit(mut self, limit: NonZeroU32) -> Self {
        self.equal_limit = limit.get();
        self
    }

    /// Whether as many documents with this fingerprint are there as may be.
    pub(super) fn is_over(&self, fingerprint: Fingerprint) -> bool {
        let mut searched = u32::try_from(self.tables.queue().len()).unwrap_or(u32::MAX);
        if let Some(tables) = self.tables.serving() {
            searched = searched.min(tables.crowd_of_equals(fingerprint.0));
        }
        if searched < self.equal_limit {
            return false;
        }
        self.equals(&[fingerprint.0])[0] >= self.equal_limit
    }

    /// How many documents have each of these fingerprints.
    fn equals(&self, fingerprints: &[u64]) -> Vec<u32> {
        let mut equals = vec![0; fingerprints.len()];
        let queries: Vec<Query> =
            fingerprints.iter().map(|&fingerprint| Query { fingerprint, radius: 0 }).collect();
        for found in self.search(&queries) {
            equals[found.query as usize] += u32::from(self.candidate(found).is_some());
        }
        equals
    }

    /// Which of the documents that are to enter together do not, because there are too many with their fingerprint: their places, in order.
    pub(super) fn over_among(
        &self,
        documents: &[(DocId, Fingerprint)],
        bulk: &mut Bulk,
    ) -> Vec<u32> {
        let value = |&place: &u32| documents[place as usize].1.0;
        let fingerprints = documents.iter().map(|(_, fingerprint)| fingerprint.0);
        let tables = self.tables.serving().expect("there is room for many");
        let mut crowded = tables.crowded(fingerprints, self.equal_limit, bulk);
        let mut values: Vec<u64> = crowded.iter().map(value).collect();
        values.sort_unstable();
        values.dedup();
        let mut held = HashMap::with_capacity(values.len());
        for some in values.chunks(QUERIES) {
            held.extend(some.iter().copied().zip(self.equals(some)));
        }
        crowded.retain(|place| {
            let held = held.entry(value(place)).or_default();
            *held += 1;
            *held > self.equal_limit
        });
        crowded.sort_unstable();
        crowded
    }
}
