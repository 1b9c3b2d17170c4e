//! Renders the figures of an evaluation as one HTML file without scripts; curves are SVG.

use std::fmt::Write;

use askama::Template;

use super::{
    pairs::{BANDS, MAX_RADIUS},
    quality::{Figures, GroupQuality, Quality},
    table::share,
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
    curves: Vec<Curve>,
}

struct Curve {
    name: &'static str,
    class: &'static str,
    points: String,
}

/// The name and class of a curve, and the place and share (if any) of each point.
type Series = (&'static str, &'static str, Vec<(f64, Option<f64>)>);

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

impl Page<'_> {
    #[expect(clippy::ref_option, reason = "the template passes fields by reference")]
    fn share(value: &Option<f64>) -> String {
        share(*value)
    }
}

/// The share of each band that is reported.
fn by_band(quality: &Quality) -> Chart {
    let counts = quality.all().counts;
    let last = (BANDS.len() - 1) as f64;
    let names = BANDS
        .map(|from| if from.is_infinite() { "equal".to_owned() } else { format!("{from:.2}") });
    let marks =
        names.into_iter().enumerate().map(|(band, name)| (x(band as f64, last), name)).collect();
    let points = (0..BANDS.len()).map(|band| (x(band as f64, last), counts.share(band)));
    Chart::new(
        "Reported pairs by similarity",
        "Share of the pairs in each band of similarity",
        0.0,
        marks,
        vec![("reported", "near", points.collect())],
    )
}

/// Recall and precision at each radius; `None` if there are no near pairs.
fn by_radius(quality: &Quality, group: &GroupQuality) -> Option<Chart> {
    group.figures.recall?;
    let last = f64::from(MAX_RADIUS);
    let points = |rows: &[Figures], value: fn(&Figures) -> Option<f64>| {
        rows.iter()
            .enumerate()
            .map(|(radius, figures)| (x(radius as f64, last), value(figures)))
            .collect::<Vec<_>>()
    };
    let curves = vec![
        ("recall of near pairs", "near", points(&group.radii, |figures| figures.recall)),
        (
            "of those with different texts",
            "not-equal",
            points(&group.radii, |figures| figures.recall_not_equal),
        ),
        (
            "reported pairs of 0.5 or more",
            "precise",
            points(&group.radii, |figures| figures.precision_50),
        ),
        (
            "the same without confirmation",
            "unconfirmed",
            points(&group.unconfirmed, |figures| figures.precision_50),
        ),
    ];
    let marks = (0..=MAX_RADIUS)
        .step_by(2)
        .map(|radius| (x(f64::from(radius), last), radius.to_string()))
        .collect();
    let lowest = curves
        .iter()
        .flat_map(|(_, _, points)| points)
        .filter_map(|(_, value)| *value)
        .fold(1.0, f64::min);
    let title =
        format!("{} at each radius (configured: {})", capital(&group.group.name), quality.radius);
    Some(Chart::new(title, "Shares of pairs", (lowest * 10.0).floor() / 10.0, marks, curves))
}

impl Chart {
    fn new(
        title: impl Into<String>,
        note: &'static str,
        floor: f64,
        marks: Vec<(f64, String)>,
        curves: Vec<Series>,
    ) -> Self {
        let floor = floor.min(0.9);
        let y = |value: f64| HEIGHT * (1.0 - value) / (1.0 - floor);
        let curve = |(name, class, values): Series| {
            let mut points = String::new();
            for (x, value) in values {
                if let Some(value) = value {
                    let _ = write!(points, "{x:.1},{:.1} ", y(value));
                }
            }
            Curve { name, class, points }
        };
        let ticks = (0..=4).map(|step| floor + (1.0 - floor) * f64::from(step) / 4.0);
        Self {
            title: title.into(),
            note,
            floor,
            ticks: ticks.map(|value| (y(value), format!("{value:.3}"))).collect(),
            marks,
            curves: curves.into_iter().map(curve).collect(),
        }
    }
}

fn x(value: f64, last: f64) -> f64 {
    WIDTH * value / last
}

fn capital(name: &str) -> String {
    let mut characters = name.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
