//! What a document nearly repeats.

use super::{Digests, Document, Filter, Key, Kind, Match, Representative, Share, Step};
use crate::{
    fingerprint::Signature,
    index::{Candidate, Index},
};

impl<I: Index, D: Digests> Filter<I, D> {
    /// The nearest that the rule accepts: by signature, of equally near ones the oldest; or where the rule goes by the fingerprint alone,
    /// by that, of equally near ones the oldest.
    pub(super) fn near(&mut self, subject: &Document) -> Option<Match> {
        let signature = self.rule.comparable(&subject.sketch)?;
        let radius = self.rule.search_radius(subject.sketch.features);
        if self.rule.confirms_by_signature() {
            self.nearest_confirmed(subject, &signature, radius)
        } else {
            self.nearest_candidate(subject.key, &signature, radius)
        }
    }

    fn nearest_confirmed(
        &mut self,
        subject: &Document,
        signature: &Signature,
        radius: u32,
    ) -> Option<Match> {
        let fingerprint = signature.fingerprint();
        self.index.candidates(fingerprint, radius, &mut self.candidates);
        if self.candidates.is_empty() {
            return None;
        }
        let (site, template) = (subject.site(), self.template(subject));
        let accepted = self.candidates.iter().filter_map(|&candidate| {
            let (representative, other) = self.other(subject.key, candidate)?;
            let is_beside = site.is_some() && representative.site == site;
            let template = if is_beside { template } else { Share::NONE };
            let accepted = self.rule.confirms_within(&other, &subject.sketch, template);
            accepted.then(|| matched(candidate, &representative, other.distance(signature)))
        });
        accepted.min_by_key(|found| (found.signature_distance, found.of))
    }

    fn nearest_candidate(&mut self, key: Key, signature: &Signature, radius: u32) -> Option<Match> {
        let fingerprint = signature.fingerprint();
        let accept = |filter: &Self, candidate| {
            let (representative, other) = filter.other(key, candidate)?;
            Some(matched(candidate, &representative, other.distance(signature)))
        };
        let nearest = self.index.nearest(fingerprint, radius)?;
        if let Some(found) = accept(self, nearest) {
            return Some(found);
        }
        // The nearest is an earlier version of the same document: what lies behind it?
        self.index.candidates(fingerprint, radius, &mut self.candidates);
        self.candidates.iter().find_map(|&candidate| accept(self, candidate))
    }

    /// The representative that is a candidate, unless it is an earlier version of the same document.
    fn other(&self, key: Key, candidate: Candidate) -> Option<(Representative, Signature)> {
        let representative = self.window.get(candidate.id)?;
        let signature = representative.signature?;
        (representative.key != key).then_some((representative, signature))
    }
}

fn matched(
    candidate: Candidate,
    representative: &Representative,
    signature_distance: u32,
) -> Match {
    Match {
        of: representative.id,
        kind: Kind::Near,
        step: Step::Near,
        distance: candidate.distance,
        signature_distance,
    }
}
