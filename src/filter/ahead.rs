//! Looking ahead: the index is asked for the candidates of many documents together, before they are judged one after the other.
//!
//! What is near a document when it is its turn was near it when the index was asked, or has entered since. What has left meanwhile
//! the filter passes over: it looks up every candidate in its window. So a look ahead changes no verdict, whatever is judged after it.

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    panic,
    thread::{self, ScopedJoinHandle},
};

use super::{Digests, Filter};
use crate::{
    fingerprint::{Fingerprint, Sketch},
    index::{Candidate, Index},
    page::DocId,
};

/// So many queries are worth a thread, unless they are for this radius or less and take a microsecond or two.
const PER_THREAD: usize = 16;
const QUICK: u32 = 3;
/// So many are asked together.
const TOGETHER: usize = 64;
/// Of a query that finds more, nothing is kept: it is asked again in its turn.
const MOST_CANDIDATES: usize = 1024;
/// After so many that entered, what was found is forgotten: it takes as long to compare with them as to ask again.
const MOST_SINCE: usize = 4096;

/// What was near some fingerprints when the index was asked, and what has entered it since.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    found: HashMap<(Fingerprint, u32), Vec<Candidate>>,
    since: Vec<(DocId, Fingerprint)>,
}

impl Ahead {
    /// Replaces `out` by what the index holds within `radius` of a fingerprint, perhaps with what has left it, as
    /// [`Index::candidates`] gives it; `false` if it must be asked.
    pub(super) fn candidates(
        &self,
        fingerprint: Fingerprint,
        radius: u32,
        out: &mut Vec<Candidate>,
    ) -> bool {
        let Some(found) = self.found.get(&(fingerprint, radius)) else { return false };
        out.clone_from(found);
        let since = self.since.iter();
        let since =
            since.map(|&(id, other)| Candidate { id, distance: fingerprint.distance(other) });
        out.extend(since.filter(|candidate| candidate.distance <= radius));
        out.sort_unstable_by_key(|candidate| (candidate.distance, candidate.id));
        true
    }

    /// Of how many fingerprints it knows what is near.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Notes what has entered the index.
    pub(super) fn enter(&mut self, turn: DocId, fingerprint: Fingerprint) {
        if self.since.len() == MOST_SINCE {
            *self = Self::default();
        }
        if !self.found.is_empty() {
            self.since.push((turn, fingerprint));
        }
    }
}

impl<I: Index + Sync, D: Digests> Filter<I, D> {
    /// Asks the index for what is near these documents, all at once and on so many threads, so that to [judge](Self::judge) them
    /// takes less. No verdict is another for it, whether they are judged next, in another order, or never.
    ///
    /// Worth it with several threads where most of a verdict's time goes into the index, as in windows of a million at the default radius, and
    /// with one within small radii, where several queries together wait less for memory. Some dozens of documents for each thread do: each verdict
    /// compares with all that have entered since.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use pagesieve::{Filter, Fingerprinter, Subject, filter, fingerprint::Recipe};
    ///
    /// let fingerprinter = Fingerprinter::new(Recipe::default());
    /// let mut filter = Filter::new(&filter::Options::default())?;
    /// let pages = [("a", "One text."), ("b", "Another text."), ("c", "one text")];
    /// let subjects = pages.map(|(id, text)| Subject::of_text(&fingerprinter, id, text));
    /// let Ok(()) = filter.look_ahead(subjects.iter().map(|subject| &subject.sketch), NonZeroUsize::MIN);
    /// let judged = subjects.each_ref().map(|subject| filter.judge(subject).unwrap().verdict.is_unique());
    /// assert_eq!(judged, [true, true, false]);
    /// # Ok::<(), filter::WindowError>(())
    /// ```
    ///
    /// # Errors
    /// If the table of digests fails; in memory it cannot.
    pub fn look_ahead<'a>(
        &mut self,
        sketches: impl IntoIterator<Item = &'a Sketch>,
        threads: NonZeroUsize,
    ) -> Result<(), D::Error> {
        self.ahead = Ahead::default();
        let sketches: Vec<_> = sketches.into_iter().collect();
        // Nothing is gained by asking for one before its turn.
        if sketches.len() < 2 {
            return Ok(());
        }
        let mut queries: BTreeMap<u32, Vec<Fingerprint>> = BTreeMap::new();
        for sketch in sketches {
            if let Some(signature) = self.rule.comparable(sketch)
                && !self.is_known(sketch)?
            {
                let radius = self.rule.search_radius(sketch.features);
                queries.entry(radius).or_default().push(signature.fingerprint());
            }
        }
        for (radius, fingerprints) in queries {
            let found = candidates(&self.index, radius, &fingerprints, threads);
            self.ahead.found.extend(found.map(|(query, found)| ((query, radius), found)));
        }
        Ok(())
    }

    /// Whether the text was seen before, so that it is most likely judged by that.
    fn is_known(&mut self, sketch: &Sketch) -> Result<bool, D::Error> {
        self.known.clear();
        if let Some(text) = sketch.digest {
            self.digests.find(text, &mut self.known)?;
        }
        Ok(!self.known.is_empty())
    }
}

/// The candidates of each fingerprint that has not too many.
fn candidates<I: Index + Sync>(
    index: &I,
    radius: u32,
    fingerprints: &[Fingerprint],
    threads: NonZeroUsize,
) -> impl Iterator<Item = (Fingerprint, Vec<Candidate>)> {
    let ask = |fingerprints: &[Fingerprint]| {
        let (mut out, mut all) = (Vec::new(), Vec::with_capacity(fingerprints.len()));
        for some in fingerprints.chunks(TOGETHER) {
            index.candidates_of_all(some, radius, &mut out);
            let found = some.iter().copied().zip(out.drain(..));
            all.extend(found.filter(|(_, found)| found.len() <= MOST_CANDIDATES));
        }
        all
    };
    let each = fingerprints.len().div_ceil(threads.get()).max(PER_THREAD);
    let found: Vec<Vec<_>> = if fingerprints.len() <= each || radius <= QUICK {
        vec![ask(fingerprints)]
    } else {
        thread::scope(|scope| {
            let parts = fingerprints.chunks(each);
            let asked: Vec<_> = parts.map(|part| scope.spawn(move || ask(part))).collect();
            asked.into_iter().map(joined).collect()
        })
    };
    found.into_iter().flatten()
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}
