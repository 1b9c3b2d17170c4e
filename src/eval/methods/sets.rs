//! Sets of shingles: their Jaccard coefficient (Broder, *On the Resemblance and Containment of Documents*, 1997), and its estimate by
//! `MinHash` with locality-sensitive hashing.

use xxhash_rust::xxh3::xxh3_64;

use super::Prepared;
use crate::fingerprint::Fingerprinter;

/// Tokens of a shingle.
const WIDTH: usize = 5;
const THRESHOLD: f64 = 0.8;
const PERMUTATIONS: usize = 128;
/// Minima of a band: two texts are compared if they agree in one band.
const ROWS: usize = 4;

/// The hashes of the shingles of each text, sorted.
pub(super) struct Shingles(Vec<Vec<u64>>);

/// The minima of each text's shingles under each permutation.
pub(super) struct MinHashes(Vec<[u32; PERMUTATIONS]>);

impl Shingles {
    pub(super) fn new<'a>(
        texts: impl Iterator<Item = &'a str>,
        fingerprinter: &Fingerprinter,
    ) -> Self {
        Self(texts.map(|text| shingles(text, fingerprinter)).collect())
    }
}

impl Prepared for Shingles {
    fn alike(&self, a: usize, b: usize) -> bool {
        jaccard(&self.0[a], &self.0[b]) >= THRESHOLD
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|set| size_of_val(set.as_slice())).sum()
    }
}

impl MinHashes {
    pub(super) fn new<'a>(
        texts: impl Iterator<Item = &'a str>,
        fingerprinter: &Fingerprinter,
    ) -> Self {
        Self(texts.map(|text| minima(&shingles(text, fingerprinter))).collect())
    }
}

impl Prepared for MinHashes {
    fn alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.0[a], &self.0[b]);
        let candidate = a.chunks(ROWS).zip(b.chunks(ROWS)).any(|(a, b)| a == b);
        let equal = || a.iter().zip(b).filter(|(a, b)| a == b).count();
        candidate && equal() as f64 >= THRESHOLD * PERMUTATIONS as f64
    }

    fn bytes(&self) -> usize {
        size_of::<[u32; PERMUTATIONS]>() * self.0.len()
    }
}

/// The distinct shingles of a text; a shorter text is one shingle.
fn shingles(text: &str, fingerprinter: &Fingerprinter) -> Vec<u64> {
    let mut tokens = Vec::new();
    fingerprinter.tokens(text, |token| tokens.push(xxh3_64(token.as_bytes())));
    let hash = |tokens: &[u64]| tokens.iter().fold(0, |hash, token| mix(hash ^ token));
    let mut set: Vec<_> = tokens.windows(WIDTH).map(hash).collect();
    if set.is_empty() {
        set.push(hash(&tokens));
    }
    set.sort_unstable();
    set.dedup();
    set
}

fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (smaller, larger) = (a.len().min(b.len()), a.len().max(b.len()));
    // The sets have no more in common than the smaller one.
    if (smaller as f64) < THRESHOLD * larger as f64 {
        return 0.0;
    }
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    common as f64 / (a.len() + b.len() - common) as f64
}

fn minima(shingles: &[u64]) -> [u32; PERMUTATIONS] {
    let mut minima = [u32::MAX; PERMUTATIONS];
    for shingle in shingles {
        for (permutation, least) in (1..).zip(&mut minima) {
            let key = mix(permutation);
            *least = (*least).min((mix(shingle ^ key) >> 32) as u32);
        }
    }
    minima
}

/// The finaliser of `SplitMix64`.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
