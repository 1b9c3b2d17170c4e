//! In which features two texts differ.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io::{self, Write},
};

use super::{super::Out, pair::Paint};
use crate::fingerprint::Feature;

/// So many features of each document are shown that the other has not, or not as often.
const SHOWN: usize = 12;

/// The weights of features by their texts.
type Weights<'a> = HashMap<&'a str, u32>;

/// The cosine of the two weighted sets: what the similarity of the signatures estimates. 0 if one is empty.
pub(super) fn cosine(a: &[Feature], b: &[Feature]) -> f64 {
    let in_b = weights(b);
    let product =
        |feature: &Feature| f64::from(feature.weight) * f64::from(weight_in(&in_b, feature));
    let square = |features: &[Feature]| -> f64 {
        features.iter().map(|feature| f64::from(feature.weight).powi(2)).sum()
    };
    let length = (square(a) * square(b)).sqrt();
    if length > 0.0 { a.iter().map(product).sum::<f64>() / length } else { 0.0 }
}

/// Writes for each document what weighs more in it than in the other, the most telling first.
pub(super) fn write(
    out: &mut Out,
    [a, b]: [(&str, &[Feature]); 2],
    paint: Paint,
) -> io::Result<()> {
    write_excess(out, a, &weights(b.1), paint)?;
    write_excess(out, b, &weights(a.1), paint)
}

fn write_excess(
    out: &mut Out,
    (name, features): (&str, &[Feature]),
    other: &Weights<'_>,
    paint: Paint,
) -> io::Result<()> {
    let excess = |feature: &&Feature| feature.weight.saturating_sub(weight_in(other, feature));
    let mut more: Vec<_> = features.iter().filter(|feature| excess(feature) > 0).collect();
    more.sort_by_key(|feature| Reverse(excess(feature)));
    if more.is_empty() {
        return Ok(());
    }
    let weigh = if more.len() == 1 { "weighs" } else { "weigh" };
    writeln!(
        out,
        "\n{} of {} features {weigh} more in {name} (16 if it occurs once)",
        more.len(),
        features.len()
    )?;
    for feature in more.iter().take(SHOWN) {
        let (weight, theirs) = (feature.weight, weight_in(other, feature));
        let text = paint.quoted(&feature.text);
        writeln!(out, "  {weight:>4} instead of {theirs:<4} {text}  ({}×)", feature.count)?;
    }
    if more.len() > SHOWN {
        writeln!(out, "  … and {} more", more.len() - SHOWN)?;
    }
    Ok(())
}

fn weights(features: &[Feature]) -> Weights<'_> {
    features.iter().map(|feature| (feature.text.as_str(), feature.weight)).collect()
}

fn weight_in(weights: &Weights<'_>, feature: &Feature) -> u32 {
    weights.get(feature.text.as_str()).copied().unwrap_or(0)
}
