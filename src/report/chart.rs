//! The charts of the page: SVG that needs no script. A chart is a box of [`WIDTH`] by [`HEIGHT`], and is stretched to its place.

use std::mem;

use bytesize::ByteSize;

use super::{Distributions, Point, Similarities};
use crate::page::counted;

/// The box of a chart.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// The part of its place that a bar fills.
const FILLED: f64 = 0.9;

/// The heights up to which the parts of a bar reach, with their classes.
type Tops = Vec<(&'static str, f64)>;

/// How many pages of a kind there were at a point.
type PagesOf = fn(&Point) -> u64;

/// A chart of bars.
pub(super) struct BarChart {
    pub(super) bars: Vec<Bar>,
    /// Where a line is drawn.
    pub(super) line: Option<f64>,
    /// What is written below: at the left, in the middle as HTML, and at the right.
    pub(super) from: String,
    pub(super) caption: String,
    pub(super) to: String,
}

/// A bar of one or more parts.
pub(super) struct Bar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) label: String,
    pub(super) parts: Vec<Part>,
}

/// A part of a bar, in the colour of a class.
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) y: f64,
    pub(super) height: f64,
}

impl BarChart {
    /// Similarities, with a line at the threshold. Heights are logarithmic, because most near duplicates are equal but for a few words.
    pub(super) fn of_similarities(similarities: &Similarities, threshold: Option<f64>) -> Self {
        let parts: Vec<_> = similarities.parts().collect();
        let most = parts.iter().map(|(_, near, unique)| near + unique).max().unwrap_or(0);
        let height = |count: u64| scaled(log(count), log(most));
        let bar = |&(from, near, unique): &(f64, u64, u64)| {
            let to = from + 1.0 / number(parts.len() as u64);
            let label = format!(
                "{from:.2} to {to:.2}: {}, {}",
                counted(near, "near duplicate"),
                counted(unique, "unique page")
            );
            (label, vec![("unique", height(unique)), ("near", height(near + unique))])
        };
        let bars = if most == 0 { Vec::new() } else { stacked(parts.iter().map(bar).collect()) };
        let caption = "<span class=\"dot unique\"></span> unique <span class=\"dot near\"></span> near: pages by similarity; the line is the threshold";
        Self {
            bars,
            line: threshold.map(|threshold| threshold * WIDTH),
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
        let bar = |(at, &count): (usize, &u64)| {
            let height = scaled(number(count), number(most));
            (format!("up to {}: {}", up_to(at), counted(count, "page")), vec![("bar-of", height)])
        };
        let bars = stacked(counts.iter().enumerate().skip(first).map(bar).collect());
        let half = counts.iter().sum::<u64>().div_ceil(2);
        let mut sum = 0;
        let median = counts.iter().position(|count| {
            sum += count;
            sum >= half
        });
        Self {
            bars,
            line: None,
            from: up_to(first),
            caption: format!("{what}: half of the pages up to {}", up_to(median.unwrap_or(0))),
            to: up_to(counts.len().saturating_sub(1)),
        }
    }
}

/// Bars side by side, from their labels and the heights up to which their parts reach.
fn stacked(bars: Vec<(String, Tops)>) -> Vec<Bar> {
    let width = WIDTH / number(bars.len() as u64).max(1.0);
    let bar = |(at, (label, tops)): (usize, (String, Tops))| {
        let mut below = 0.0;
        let part = |(class, top): (&'static str, f64)| {
            let height = top - mem::replace(&mut below, top);
            Part { class, y: HEIGHT - top, height }
        };
        let parts = tops.into_iter().map(part).filter(|part| part.height > 0.0).collect();
        Bar { x: number(at as u64) * width, width: width * FILLED, label, parts }
    };
    bars.into_iter().enumerate().map(bar).collect()
}

/// The areas of the chart of pages over time, the lowest first: class and SVG path. None of a run that was too short.
pub(super) fn areas(points: &[Point]) -> Vec<(&'static str, String)> {
    let [.., last] = points else { return Vec::new() };
    let judged = |point: &Point| point.unique + point.exact + point.near;
    if points.len() < 3 || judged(last) == 0 {
        return Vec::new();
    }
    let place = |point: &Point, pages: u64| {
        let x = WIDTH * point.at / last.at.max(f64::MIN_POSITIVE);
        let y = HEIGHT - scaled(number(pages), number(judged(last)));
        format!("{x:.1},{y:.1}")
    };
    let parts: [(&str, PagesOf); 3] = [
        ("unique", |point| point.unique),
        ("exact", |point| point.unique + point.exact),
        ("near", |point| point.unique + point.exact + point.near),
    ];
    let mut below: PagesOf = |_| 0;
    let area = |(name, above): (&'static str, PagesOf)| {
        let below = mem::replace(&mut below, above);
        let up = points.iter().map(|point| place(point, above(point)));
        let back = points.iter().rev().map(|point| place(point, below(point)));
        (name, format!("M{}Z", up.chain(back).collect::<Vec<_>>().join("L")))
    };
    parts.into_iter().map(area).collect()
}

fn scaled(value: f64, most: f64) -> f64 {
    if most > 0.0 { HEIGHT * value / most } else { 0.0 }
}

fn log(count: u64) -> f64 {
    number(count).ln_1p()
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn number(count: u64) -> f64 {
    count as f64
}
