//! How full buckets are, by estimate.
//!
//! Fingerprints of real texts are crowded: those of one language share words, and so bits. How many there are of a key is spread about
//! as a lognormal distribution, which is wider the more bits the key has; a query comes from the crowd, and meets more of them than
//! there are on average. Both were counted for texts that are as far from each other as pages in English and Chinese are
//! (`cargo bench --bench index_large -- 10000000 --crowding --texts ../shared/data/main_text.jsonl --lang en,zh`, and each language alone).

use std::ops::Range;

/// The variance of the logarithm, for each bit of a key, where keys are made of bits as they come: about what they have on average.
const EACH_BIT: f64 = 0.13;
/// And where all bits are ordered by what they tell, the most telling first, for each of eight after the other.
const EACH_OF_EIGHT: [f64; 8] = [0.005, 0.011, 0.023, 0.040, 0.066, 0.107, 0.203, 0.353];
/// What a query finds less of at each distance from its key: it leads away from the crowd.
const EACH_DISTANCE: f64 = 0.15;

/// How the fingerprints lie for which a [`Plan`](super::Plan) is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spread {
    /// Crowded, as `SimHash`es of texts in one or two languages are.
    #[default]
    Texts,
    /// Evenly, as hashes without structure do: everything takes less memory and less time.
    Random,
}

impl Spread {
    /// Pages that chains take for each that is needed: those of texts are long, and have long runs.
    pub(super) fn runs(self) -> f64 {
        match self {
            Self::Texts => 1.15,
            Self::Random => 1.0,
        }
    }
}

/// How unevenly the buckets of a table are filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowding {
    /// Entries of a bucket on average.
    mean: f64,
    /// The variance of the logarithm of how many there would be but for chance.
    variance: f64,
}

impl Crowding {
    /// Of keys with so many bits as they come.
    pub(super) fn new(spread: Spread, mean: f64, bits: u32) -> Self {
        let variance = match spread {
            Spread::Texts => f64::from(bits) * EACH_BIT,
            Spread::Random => 0.0,
        };
        Self { mean, variance }
    }

    /// Of keys with so many bits out of those that have these places, the most telling bit the first.
    pub(super) fn of_places(spread: Spread, mean: f64, bits: u32, places: Range<u32>) -> Self {
        if spread == Spread::Random {
            return Self::new(spread, mean, bits);
        }
        let all = f64::from(places.end - places.start).max(1.0);
        let variance: f64 = places.map(|place| EACH_OF_EIGHT[place as usize / 8]).sum();
        Self { mean, variance: f64::from(bits) * variance / all }
    }

    /// How many entries a query meets in a bucket at a distance from its own.
    pub(super) fn met(&self, distance: u32) -> f64 {
        self.mean * self.times(distance)
    }

    /// How many times as many entries as on average a query meets.
    pub(super) fn times(&self, distance: u32) -> f64 {
        (self.variance * (1.0 - EACH_DISTANCE * f64::from(distance)).max(0.0)).exp()
    }

    /// By how many entries buckets exceed a home on average, and what share of them do.
    pub(super) fn excess(&self, home: f64) -> (f64, f64) {
        self.excess_of(self.mean, home)
    }

    /// The same of those that a query meets at a distance from its own.
    pub(super) fn excess_met(&self, distance: u32, home: f64) -> (f64, f64) {
        // What is drawn by its size is spread as before, around a larger mean.
        self.excess_of(self.met(distance), home)
    }

    fn excess_of(&self, mean: f64, home: f64) -> (f64, f64) {
        let mean = mean.max(1e-9);
        let variance = (self.variance.exp() + 1.0 / mean).ln();
        let deviation = variance.sqrt();
        let z = (mean.ln() - variance / 2.0 - home.ln()) / deviation;
        let share = below(z);
        ((mean * below(z + deviation) - home * share).max(0.0), share)
    }
}

/// The share of a normal distribution below so many deviations, nearly: the logistic curve.
fn below(z: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * z).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_fingerprints_are_spread_by_chance_alone() {
        let crowding = Crowding::new(Spread::Random, 100.0, 16);
        assert!((crowding.times(2) - 1.0).abs() < 1e-9);
        // A normal distribution around 100, ten wide: beyond 100 there are four tenths of that on average, in half of the buckets.
        let (over, share) = crowding.excess(100.0);
        assert!((over - 4.0).abs() < 0.5 && (share - 0.5).abs() < 0.05, "{over} {share}");
    }

    /// What was counted in ten million texts, of English, of Chinese and of both: bits of a key, the places they are taken from, how many
    /// times as many as on average a query met in its own bucket at the least and at the most, and so two bits away.
    #[test]
    fn real_texts_are_as_crowded() {
        for (bits, places, own, beside) in [
            (16, 0..16, 1.17..1.41, 1.09..1.19),
            (17, 0..34, 1.46..1.84, 1.27..1.44),
            (15, 19..64, 5.98..8.95, 3.44..4.64),
            (16, 0..62, 3.23..4.16, 2.29..2.85),
            (19, 0..58, 3.42..4.34, 2.43..2.89),
        ] {
            let crowding = Crowding::of_places(Spread::Texts, 100.0, bits, places.clone());
            for (distance, counted) in [(0, own), (2, beside)] {
                let times = crowding.times(distance);
                let near = counted.start * 0.9..counted.end * 1.1;
                assert!(
                    near.contains(&times),
                    "{bits} bits of {places:?}, {distance} away: {times}"
                );
            }
        }
    }

    /// What was counted there of the first, second, third and fourth 16 bits as they come: the share of all that exceeds twice the average.
    #[test]
    fn room_is_planned_for_what_texts_take_on_average() {
        let crowding = Crowding::new(Spread::Texts, 152.6, 16);
        let beyond = crowding.excess(2.0 * 152.6).0 / 152.6;
        let of_tables = [0.35, 0.38, 0.34, 0.19, 0.46, 0.45, 0.39, 0.25, 0.28, 0.40, 0.46, 0.38];
        let on_average = of_tables.iter().sum::<f64>() / 12.0;
        assert!((on_average..on_average + 0.1).contains(&beyond), "{beyond} {on_average}");
    }
}
