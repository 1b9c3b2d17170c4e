//! Vectors of terms (Salton): frequencies, or frequencies times the logarithm of the inverse share of texts that have the term.

use std::collections::{BTreeMap, HashMap};

use super::Prepared;
use crate::fingerprint::Fingerprinter;

const LEAST_COSINE: f64 = 0.95;
/// For vectors of one length as strict as the cosine: the root of 2 - 2·0.95.
const MOST_DISTANCE: f64 = 0.32;

/// The weights of each text's terms, by the number of the term, and the length of the vector.
pub(super) struct Vectors(Vec<(Vec<(u32, f64)>, f64)>);

/// Texts whose vectors point the same way are alike.
pub(super) struct Cosine(pub(super) Vectors);

/// Texts whose vectors end near each other are alike.
pub(super) struct Euclidean(pub(super) Vectors);

impl Prepared for Cosine {
    fn alike(&self, a: usize, b: usize) -> bool {
        let lengths = self.0.0[a].1 * self.0.0[b].1;
        lengths > 0.0 && self.0.product(a, b) >= LEAST_COSINE * lengths
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Prepared for Euclidean {
    fn alike(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.0.0[a].1, self.0.0[b].1);
        let most = MOST_DISTANCE * x.max(y);
        let squared = x * x + y * y - 2.0 * self.0.product(a, b);
        most > 0.0 && squared <= most * most
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Vectors {
    pub(super) fn new<'a>(
        texts: impl Iterator<Item = &'a str>,
        fingerprinter: &Fingerprinter,
        idf: bool,
    ) -> Self {
        let mut terms = HashMap::new();
        let frequencies: Vec<_> =
            texts.map(|text| frequencies(text, fingerprinter, &mut terms)).collect();
        let mut holders = vec![0_u32; terms.len()];
        for term in frequencies.iter().flat_map(BTreeMap::keys) {
            holders[*term as usize] += 1;
        }
        let texts = frequencies.len() as f64;
        let weight = |(term, frequency): (u32, u32)| {
            let rare = if idf { (texts / f64::from(holders[term as usize])).ln() } else { 1.0 };
            (term, f64::from(frequency) * rare)
        };
        let vector = |frequencies: BTreeMap<u32, u32>| {
            let weights: Vec<_> = frequencies.into_iter().map(weight).collect();
            let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
            (weights, length)
        };
        Self(frequencies.into_iter().map(vector).collect())
    }

    /// The scalar product.
    fn product(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.0[a].0, &self.0[b].0);
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while let (Some((x, v)), Some((y, w))) = (a.get(i), b.get(j)) {
            if x == y {
                sum += v * w;
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        sum
    }

    /// A term's number and its weight as four bytes each.
    fn bytes(&self) -> usize {
        self.0.iter().map(|(weights, _)| 8 * weights.len()).sum()
    }
}

fn frequencies(
    text: &str,
    fingerprinter: &Fingerprinter,
    terms: &mut HashMap<String, u32>,
) -> BTreeMap<u32, u32> {
    let mut frequencies = BTreeMap::new();
    fingerprinter.tokens(text, |token| {
        let next = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        let term = *terms.entry(token.to_owned()).or_insert(next);
        *frequencies.entry(term).or_insert(0) += 1;
    });
    frequencies
}
