//! How unevenly fingerprints fill the buckets of a table: what the index's estimates are fitted to.

use std::{iter, ops::Range};

use crate::source::Source;

/// Prints, for keys of some bits, how many times as many entries as on average a query meets in its own bucket and in those two bits away,
/// and what share of all entries has no room where a bucket has room for twice the average. The bits are as they come, or ordered by how
/// much they tell, that which is set in half of the fingerprints first.
pub(crate) fn print_crowding(source: &Source, entries: u64) {
    let fingerprints: Vec<u64> = (1..=entries).map(|id| source.fingerprint(id)).collect();
    let as_they_come: Vec<u32> = (0..u64::BITS).collect();
    let telling = bits_by_what_they_tell(&fingerprints);
    println!("key bits   of bits        mean  own bucket  two bits away  beyond twice the mean");
    for first in (0..64).step_by(16) {
        print_key(&fingerprints, &as_they_come, 16, first..first + 16);
    }
    println!("ordered by what they tell");
    for first in (0..64).step_by(8) {
        print_key(&fingerprints, &telling, 8, first..first + 8);
    }
    for (bits, places) in [(16, 0..16), (17, 0..34), (15, 19..64), (16, 0..62), (19, 0..58)] {
        print_key(&fingerprints, &telling, bits, places);
    }
}

fn print_key(fingerprints: &[u64], order: &[u32], bits: usize, places: Range<usize>) {
    let chosen = (0..bits).map(|i| order[places.start + i * places.len() / bits]);
    let buckets = count(fingerprints, &chosen.collect::<Vec<_>>());
    let entries = fingerprints.len() as f64;
    let mean = entries / buckets.len() as f64;
    let own = buckets.iter().map(|&n| n * (n - 1.0)).sum::<f64>();
    let pairs = (bits * (bits - 1) / 2) as f64;
    let beside = two_bits_away(&buckets).map(|(n, other)| n * other).sum::<f64>() / pairs;
    let beyond = buckets.iter().map(|n| (n - 2.0 * mean).max(0.0)).sum::<f64>();
    println!(
        "{bits:8}  {:>8}  {mean:10.1}  {:10.2}  {:13.2}  {:21.2}",
        format!("{}-{}", places.start, places.end - 1),
        own / entries / mean,
        beside / entries / mean,
        beyond / entries
    );
}

/// The most telling bit first.
fn bits_by_what_they_tell(fingerprints: &[u64]) -> Vec<u32> {
    let set = |bit: u32| fingerprints.iter().filter(|&word| word >> bit & 1 == 1).count();
    let mut bits: Vec<u32> = (0..u64::BITS).collect();
    bits.sort_by_cached_key(|&bit| (2 * set(bit)).abs_diff(fingerprints.len()));
    bits
}

/// How many fingerprints have each key.
fn count(fingerprints: &[u64], bits: &[u32]) -> Vec<f64> {
    let mut buckets = vec![0.0; 1 << bits.len()];
    for fingerprint in fingerprints {
        let bit = |(to, &from): (usize, &u32)| ((fingerprint >> from & 1) as usize) << to;
        buckets[bits.iter().enumerate().map(bit).sum::<usize>()] += 1.0;
    }
    buckets
}

fn two_bits_away(buckets: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let bits = buckets.len().trailing_zeros();
    let pairs = (0..bits).flat_map(move |a| (0..a).map(move |b| 1_usize << a | 1 << b));
    let of_pair =
        move |flip: usize| iter::zip(buckets, 0..).map(move |(&n, key)| (n, buckets[key ^ flip]));
    pairs.flat_map(of_pair)
}
