//! How often values lie where: the similarity of pages to those that they were compared with, and what was measured of their responses.

use serde::{Deserialize, Serialize};

/// How many parts the range of similarities has.
const PARTS: u8 = 50;
/// Depths from here on are counted together.
const DEPTHS: usize = 20;

/// How similar pages were to those that they were compared with, in 50 parts of equal width from 0 to 1; a similarity of 1 is in the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similarities {
    /// Near duplicates, by their similarity to the page that they repeat.
    pub near: Vec<u64>,
    /// Unique pages, by their similarity to the nearest page that has enough in common with them. Most have none.
    pub unique: Vec<u64>,
}

impl Similarities {
    pub(super) fn add(&mut self, is_unique: bool, similarity: f32) {
        let counts = if is_unique { &mut self.unique } else { &mut self.near };
        counts.resize(PARTS.into(), 0);
        let begins = (1..PARTS).map(begin);
        counts[begins.take_while(|begin| *begin <= similarity.into()).count()] += 1;
    }

    /// The counts of near duplicates and unique pages, part by part, with the similarity at which the part begins.
    pub(super) fn parts(&self) -> impl Iterator<Item = (f64, u64, u64)> {
        let count = |counts: &[u64], part: u8| counts.get(usize::from(part)).map_or(0, |it| *it);
        (0..PARTS)
            .map(move |part| (begin(part), count(&self.near, part), count(&self.unique, part)))
    }

    /// How many pages would be near duplicates if the threshold lay at the beginning of this part or after it.
    pub(super) fn near_from(&self, threshold: f64) -> u64 {
        let above = self.parts().filter(|(from, ..)| *from >= threshold - 1e-9);
        above.map(|(_, near, unique)| near + unique).sum()
    }
}

/// The similarity at which a part begins.
fn begin(part: u8) -> f64 {
    f64::from(part) / f64::from(PARTS)
}

/// How many judged pages had which response time, size and depth. Times and sizes are counted by powers of two: the first count is of 0, the second of 1,
/// the third of 2 and 3, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distributions {
    /// Milliseconds from the request to the end of the response.
    pub time: Vec<u64>,
    /// Bytes of the body, without its content coding.
    pub size: Vec<u64>,
    /// Links from a seed. The last count is of all larger depths too.
    pub depth: Vec<u64>,
}

impl Distributions {
    /// Adds a page.
    pub(crate) fn add(&mut self, time: Option<u64>, size: u64, depth: u32) {
        let count = |counts: &mut Vec<u64>, at: usize| {
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] += 1;
        };
        let power = |value: u64| (u64::BITS - value.leading_zeros()) as usize;
        if let Some(time) = time {
            count(&mut self.time, power(time));
        }
        count(&mut self.size, power(size));
        count(&mut self.depth, usize::try_from(depth).unwrap_or(DEPTHS).min(DEPTHS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_threshold_counts_what_lies_above_it() {
        let mut similarities = Similarities::default();
        for similarity in [0.69, 0.81, 0.99, 1.0] {
            similarities.add(false, similarity);
        }
        similarities.add(true, 0.5);
        let near = |threshold| similarities.near_from(threshold);
        assert_eq!([near(0.0), near(0.5), near(0.68), near(0.8), near(0.98)], [5, 5, 4, 3, 2]);
    }

    #[test]
    fn values_are_counted_by_powers_of_two() {
        let mut distributions = Distributions::default();
        for time in [0, 1, 2, 3, 4] {
            distributions.add(Some(time), 1_000, 3);
        }
        distributions.add(None, 0, 1_000);
        assert_eq!(distributions.time, [1, 1, 2, 1]);
        assert_eq!((distributions.size[0], distributions.size[10]), (1, 5));
        assert_eq!((distributions.depth[3], distributions.depth[DEPTHS]), (5, 1));
    }
}
