//! Renders the figures of an evaluation as one HTML file without scripts; curves are SVG.

use std::fmt::Write;

use askama::Template;

use super::{
    pairs::{BANDS, MAX_RADIUS},
    quality::{Figures, GroupQuality, Quality},
};

/// The size of a chart, in its own units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;

#[derive(Template)]
#[template(path = "quality.html", config = "src/eval/askama.toml")]
struct Page<'a> {
    quality: &'a Quality,
    charts: Vec<Chart>,
}

/// A chart of shares over radii or bands.
struct Chart {
    title: String,
    note: &'static str,
    /// The least share that is shown.
    floor: f64,
    ticks: Vec<(f64, String)>,
    marks: Vec<(f64, String)>,
    /// Names, classes and points.
    curves: Vec<(&'static str, &'static str, String)>,
}

/// The name and class of a curve, and the share at each mark, if any.
type Series = (&'static str, &'static str, Vec<Option<f64>>);

/// How a curve gets its values.
type Share = fn(&Figures) -> Option<f64>;

/// Renders a page that needs no other file.
///
/// # Panics
/// Never: the template writes into memory.
#[must_use]
pub fn render(quality: &Quality) -> String {
    let mut charts: Vec<_> =
        quality.groups.iter().filter_map(|group| by_radius(quality, group)).collect();
    charts.insert(0, by_band(quality));
    Page { quality, charts }.render().expect("the template writes into memory")
}

/// The share of each band that is reported.
fn by_band(quality: &Quality) -> Chart {
    let counts = quality.all().counts;
    let name = |from: f32| if from.is_infinite() { "equal".into() } else { format!("{from:.2}") };
    let shares = (0..BANDS.len()).map(|band| counts.share(band)).collect();
    Chart::new(
        "Reported pairs by similarity".to_owned(),
        "Share of the pairs in each band of similarity",
        BANDS.map(name).to_vec(),
        vec![("reported", "near", shares)],
    )
}

/// Recall and precision at each radius; `None` if there are no near pairs.
fn by_radius(quality: &Quality, group: &GroupQuality) -> Option<Chart> {
    group.figures.recall?;
    let (radii, unconfirmed) = (&group.radii, &group.unconfirmed);
    let curves: [(_, _, _, Share); 4] = [
        ("recall of near pairs", "near", radii, |it| it.recall),
        ("of those with different texts", "not-equal", radii, |it| it.recall_not_equal),
        ("reported pairs of 0.5 or more", "precise", radii, |it| it.precision_50),
        ("the same without confirmation", "unconfirmed", unconfirmed, |it| it.precision_50),
    ];
    let curves =
        curves.map(|(name, class, radii, share)| (name, class, radii.iter().map(share).collect()));
    let mark =
        |radius: u32| if radius.is_multiple_of(2) { radius.to_string() } else { String::new() };
    let name = &group.name;
    Some(Chart::new(
        format!("Pairs by radius: {name} (configured: {})", quality.radius),
        "Shares of pairs",
        (0..=MAX_RADIUS).map(mark).collect(),
        curves.to_vec(),
    ))
}

impl Chart {
    fn new(title: String, note: &'static str, marks: Vec<String>, series: Vec<Series>) -> Self {
        let values = series.iter().flat_map(|(_, _, values)| values).flatten();
        let lowest = values.copied().fold(1.0, f64::min);
        let floor = ((lowest * 10.0).floor() / 10.0).min(0.9);
        let last = (marks.len() - 1) as f64;
        let x = |place: usize| WIDTH * place as f64 / last;
        let y = |value: f64| HEIGHT * (1.0 - value) / (1.0 - floor);
        let curve = |(name, class, values): Series| {
            let mut points = String::new();
            for (place, value) in values.into_iter().enumerate() {
                if let Some(value) = value {
                    let _ = write!(points, "{:.1},{:.1} ", x(place), y(value));
                }
            }
            (name, class, points)
        };
        let ticks = (0..=4).map(|step| floor + (1.0 - floor) * f64::from(step) / 4.0);
        Self {
            title,
            note,
            floor,
            ticks: ticks.map(|value| (y(value), format!("{value:.3}"))).collect(),
            marks: marks.into_iter().enumerate().map(|(place, mark)| (x(place), mark)).collect(),
            curves: series.into_iter().map(curve).collect(),
        }
    }
}
