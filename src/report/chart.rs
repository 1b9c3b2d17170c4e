//! The charts of the page: SVG that needs no script, and is stretched to its place. What is taller is drawn first, so that the others cover its lower part.

use bytesize::ByteSize;

use super::{Distributions, Point, Similarities};
use crate::page::counted;

/// How many pages of a kind there were at a point.
type PagesOf = fn(&Point) -> u64;

/// A chart of bars: each is 1 wide and at most 1 high.
pub(super) struct BarChart {
    pub(super) bars: Vec<Bar>,
    /// Where a line is drawn, in bars from the left.
    pub(super) line: Option<f64>,
    /// What is written below: at the left, in the middle as HTML, and at the right.
    pub(super) from: String,
    pub(super) caption: String,
    pub(super) to: String,
}

/// A bar: what it means, and the heights up to which its parts reach, with their classes, the tallest first.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) tops: Vec<(&'static str, f64)>,
}

impl BarChart {
    /// Similarities, with a line at the threshold. Heights are logarithmic, because most near duplicates are equal but for a few words.
    pub(super) fn of_similarities(similarities: &Similarities, threshold: Option<f64>) -> Self {
        let parts: Vec<_> = similarities.parts().collect();
        let most = parts.iter().map(|(_, near, unique)| near + unique).max().unwrap_or(0);
        let width = 1.0 / number(parts.len() as u64);
        let height = |count: u64| number(count).ln_1p() / number(most).ln_1p();
        let bar = |&(from, near, unique): &(f64, u64, u64)| {
            let counts = [counted(near, "near duplicate"), counted(unique, "unique page")];
            Bar {
                label: format!("{from:.2} to {:.2}: {}", from + width, counts.join(", ")),
                tops: vec![("near", height(near + unique)), ("unique", height(unique))],
            }
        };
        let caption = "<span class=\"dot unique\"></span> unique <span class=\"dot near\"></span> near: pages by similarity; the line is the threshold";
        Self {
            bars: parts.iter().filter(|_| most > 0).map(bar).collect(),
            line: threshold.map(|threshold| threshold / width),
            from: "0".to_owned(),
            caption: caption.to_owned(),
            to: "1".to_owned(),
        }
    }

    /// Response times, sizes and depths.
    pub(super) fn of_distributions(distributions: &Distributions) -> [Self; 3] {
        let Distributions { time, size, depth } = distributions;
        let last = |power: usize| (1_u64 << power.min(63)) - 1;
        let milliseconds = |power| match last(power) {
            time @ ..10_000 => format!("{time} ms"),
            time => format!("{} s", time / 1_000),
        };
        let bytes = |power| ByteSize(last(power)).display().si().to_string();
        [
            Self::of_counts(time, "response time", milliseconds),
            Self::of_counts(size, "size", bytes),
            Self::of_counts(depth, "links from a seed", |depth| depth.to_string()),
        ]
    }

    fn of_counts(counts: &[u64], what: &str, up_to: impl Fn(usize) -> String) -> Self {
        let most = counts.iter().copied().max().unwrap_or(0);
        let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
        let bar = |(at, &count): (usize, &u64)| Bar {
            label: format!("up to {}: {}", up_to(at), counted(count, "page")),
            tops: vec![("bar-of", number(count) / number(most))],
        };
        let half = counts.iter().sum::<u64>().div_ceil(2);
        let mut sum = 0;
        let median = counts.iter().position(|count| {
            sum += count;
            sum >= half
        });
        Self {
            bars: counts.iter().enumerate().skip(first).map(bar).collect(),
            line: None,
            from: up_to(first),
            caption: format!("{what}: half of the pages up to {}", up_to(median.unwrap_or(0))),
            to: up_to(counts.len().saturating_sub(1)),
        }
    }
}

/// The areas of the chart of pages over time, the tallest first, in a box of 1 by 1: class and SVG path. None of a run that was too short.
pub(super) fn areas(points: &[Point]) -> Vec<(&'static str, String)> {
    let parts: [(&str, PagesOf); 3] = [
        ("near", |point| point.unique + point.exact + point.near),
        ("exact", |point| point.unique + point.exact),
        ("unique", |point| point.unique),
    ];
    let [_, _, .., last] = points else { return Vec::new() };
    let (all, end) = (number(parts[0].1(last)), last.at.max(f64::MIN_POSITIVE));
    let area = |(class, pages): (&'static str, PagesOf)| {
        let place =
            |it: &Point| format!("L{:.4},{:.4}", it.at / end, 1.0 - number(pages(it)) / all);
        (class, format!("M0,1{}L1,1Z", points.iter().map(place).collect::<String>()))
    };
    parts.into_iter().filter(|_| all > 0.0).map(area).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn number(count: u64) -> f64 {
    count as f64
}
