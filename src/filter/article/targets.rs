//! Where the links of a page lead: what pages with little text of their own differ in, such as lists, embedded posts and references.
//! [`Targets::compare`] has the rule.
//!
//! Of many targets those with the smallest hashes are kept (a bottom-k sketch: Broder, "On the resemblance and containment of documents",
//! 1997). So of each page all targets up to a bound are known, and two pages are compared up to the smaller bound.

/// So many targets of a page are kept.
const MOST: usize = 48;
/// At least this many targets of one page that the other one lacks make two pages, if they have fewer in common than apart: fewer may be
/// teasers around one article. Pages without prose in common are two if one of them leads to more targets that the other lacks than both do.
const OTHER_TARGETS: usize = 5;
/// At least this many of them must be known.
const SEEN: usize = 3;

/// Hashes of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Targets {
    /// In order, none twice.
    hashes: Vec<u32>,
    /// Targets with larger hashes are not known.
    bound: u32,
}

/// Where the links of two pages of one origin lead, apart from those of its template. Estimates, if not all are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetFigures {
    /// What both lead to.
    pub(crate) both: usize,
    /// What only one of them leads to, the later page first.
    pub(crate) own: [usize; 2],
    /// Whether the pages lead elsewhere, and so are two.
    pub(crate) differ: bool,
}

impl Default for Targets {
    fn default() -> Self {
        Self { hashes: Vec::new(), bound: u32::MAX }
    }
}

impl Targets {
    /// Those of all these that are kept.
    pub(super) fn of(hashes: &[u32]) -> Self {
        let mut hashes = hashes.to_vec();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(MOST + 1);
        // One more than is kept shows that there are more.
        let bound = hashes.get(MOST).map_or(u32::MAX, |next| next - 1);
        hashes.truncate(MOST);
        Self { hashes, bound }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The keys by which the template of an origin is learnt.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        // Hashes of blocks differ in the upper half, but for accidents.
        self.hashes.iter().map(|&hash| u64::from(hash) | 0x7461_7267 << 32)
    }

    /// Those that are not boilerplate.
    pub(crate) fn own(&self, boilerplate: &[bool]) -> Self {
        let all = self.hashes.iter().zip(boilerplate);
        let own = all.filter(|(_, is_boilerplate)| !**is_boilerplate).map(|(hash, _)| *hash);
        Self { hashes: own.collect(), bound: self.bound }
    }

    /// Compares the own targets of a page and of an earlier one, given whether they have prose in common.
    pub(super) fn compare(&self, earlier: &Self, share_prose: bool) -> TargetFigures {
        let bound = self.bound.min(earlier.bound);
        let known = |targets: &Self| targets.hashes.partition_point(|hash| *hash <= bound);
        let (mine, theirs) = (&self.hashes[..known(self)], &earlier.hashes[..known(earlier)]);
        let both = mine.iter().filter(|hash| theirs.binary_search(hash).is_ok()).count();
        let own = [mine.len() - both, theirs.len() - both];
        let is_known = own[0].max(own[1]) >= SEEN;
        let estimate = |count: usize| (count << 32) / (bound as usize + 1);
        let (both, [one, other]) = (estimate(both), own.map(estimate));
        let are_many = is_known && one.max(other) >= OTHER_TARGETS && both < one + other;
        let differ = are_many || !share_prose && one.max(other) > both;
        TargetFigures { both, own: [one, other], differ }
    }

    /// As bytes, for a file.
    pub(super) fn pack(&self, out: &mut Vec<u8>) {
        out.extend(self.bound.to_le_bytes());
        out.push(u8::try_from(self.hashes.len()).unwrap_or(u8::MAX));
        out.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
    }

    /// Takes what was packed so from the beginning of these bytes; `None` if they are damaged.
    pub(super) fn unpack(rest: &mut &[u8]) -> Option<Self> {
        let (&bound, after) = rest.split_first_chunk()?;
        let (&count, after) = after.split_first()?;
        let (packed, after) = after.split_at_checked(4 * usize::from(count))?;
        *rest = after;
        let hashes = packed.as_chunks().0.iter().map(|hash| u32::from_le_bytes(*hash));
        let (hashes, bound): (Vec<u32>, _) = (hashes.collect(), u32::from_le_bytes(bound));
        let is_sound =
            hashes.is_sorted_by(|a, b| a < b) && hashes.last().is_none_or(|last| *last <= bound);
        is_sound.then_some(Self { hashes, bound })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn targets() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0..80_u32, any::<u32>()], 0..200)
    }

    proptest! {
        #[test]
        fn what_is_compared_is_right_up_to_the_bound(a in targets(), b in targets()) {
            let [mine, theirs] = [&a, &b].map(|hashes| Targets::of(hashes));
            let [figures, others] = [true, false].map(|share_prose| {
                let figures = mine.compare(&theirs, share_prose);
                assert_eq!(figures.differ, theirs.compare(&mine, share_prose).differ);
                figures
            });
            prop_assert!(others.differ || !figures.differ, "without prose in common there are no fewer pages");
            let bound = mine.bound.min(theirs.bound);
            let [a, b] = [a, b].map(|all| -> BTreeSet<u32> { all.into_iter().filter(|it| *it <= bound).collect() });
            let estimate = |count: usize| (count << 32) / (bound as usize + 1);
            prop_assert_eq!(figures.both, estimate(a.intersection(&b).count()));
            prop_assert_eq!(figures.own, [&a - &b, &b - &a].map(|own| estimate(own.len())));
        }

        #[test]
        fn boilerplate_does_not_count(all in targets()) {
            let targets = Targets::of(&all);
            prop_assert!(!targets.compare(&targets, false).differ);
            let boilerplate: Vec<bool> = targets.hashes.iter().map(|hash| hash % 3 == 0).collect();
            let own = targets.own(&boilerplate);
            prop_assert_eq!(own.bound, targets.bound);
            prop_assert!(targets.hashes.iter().all(|hash| own.hashes.contains(hash) == (hash % 3 != 0)));
        }
    }

    /// Whether pages that lead to targets of these numbers are two.
    fn differ(one: std::ops::Range<u32>, other: std::ops::Range<u32>, share_prose: bool) -> bool {
        let hashes = |numbers: std::ops::Range<u32>| -> Vec<u32> {
            numbers.map(|number| number.wrapping_mul(0x9e37_79b9)).collect()
        };
        Targets::of(&hashes(one)).compare(&Targets::of(&hashes(other)), share_prose).differ
    }

    #[test]
    fn pages_that_lead_to_five_others_and_to_fewer_in_common_are_two() {
        let differ = |one, other| differ(one, other, true);
        assert!(!differ(0..4, 10..14), "four others may be teasers");
        assert!(differ(0..5, 10..15));
        assert!(differ(0..5, 0..0), "the other one may lead nowhere");
        assert!(!differ(0..20, 5..20), "most is common");
        assert!(differ(0..300, 200..500) && !differ(0..300, 50..300), "a sample shows it");
    }

    #[test]
    fn pages_without_prose_in_common_are_two_if_one_leads_to_more_others_than_both_lead_to() {
        let differ = |one, other| differ(one, other, false);
        assert!(differ(0..1, 1..2) && differ(0..1, 0..0) && differ(0..1, 0..3));
        assert!(!differ(0..2, 1..3), "lists of one post, each with a link to the other list");
        assert!(!differ(0..0, 0..0));
    }
}
