//! Renders the figures of an evaluation: as tables for the terminal, and as one HTML file without scripts, whose curves are SVG.

use std::{
    fmt::{self, Display, Formatter, Write},
    iter,
    ops::RangeInclusive,
};

use askama::Template;

use super::{
    quality::{BANDS, MAX_RADIUS},
    quality::{Doubtful, Figures, GroupQuality, Quality, StreamQuality},
};

/// Radii of the table: those that a configuration can have.
const RADII: RangeInclusive<usize> = 0..=11;
const _: () = assert!(*RADII.end() <= MAX_RADIUS as usize);
/// Doubtful pairs of each kind in the table.
const DOUBTFUL: usize = 5;

impl Display for Quality {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { mode, radius, scheme, pairs, texts, listed, seeds, .. } = self;
        let s = if *pairs == 1 { "" } else { "s" };
        let means =
            if *seeds == 1 { "" } else { "s: means, worst seed in brackets, counts summed" };
        writeln!(
            f,
            "mode {mode}, radius {radius}, recipe {scheme}: {pairs} pair{s} of {texts} texts ({listed} listed), {seeds} seed{means}"
        )?;
        groups(self, f)?;
        bands(self, f)?;
        radii(self, f)?;
        streams(self, f)?;
        doubtful("missed near pairs", &self.missed, f)?;
        doubtful("reported pairs below 0.5", &self.mistaken, f)
    }
}

fn groups(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    let header = [&["", "near pairs found", "not equal found"][..], &OF_REPORTED].concat();
    let row = |GroupQuality { name, figures, .. }: &GroupQuality| {
        let found = with_least(figures.recall, figures.least_recall);
        let not_equal = with_least(figures.recall_not_equal, figures.least_recall_not_equal);
        [vec![name.clone(), found, not_equal], of_reported(figures).to_vec()].concat()
    };
    writeln!(f)?;
    table(f, &header, quality.groups.iter().map(row))?;
    writeln!(
        f,
        "(≥ 0.9, ≥ 0.5, ≥ 0.3: share of reported pairs with this similarity; wrong: reported pairs below 0.3)"
    )
}

fn bands(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    let counts = &quality.all().counts;
    let row = |(band, from): (usize, f32)| {
        let name =
            if from.is_infinite() { "equal texts".to_owned() } else { format!("from {from:.2}") };
        let [pairs, reported] = [counts.pairs, counts.reported].map(|of| of[band].to_string());
        vec![name, pairs, reported, share(counts.share(band))]
    };
    writeln!(f)?;
    let header = ["similarity", "pairs", "reported", "share"];
    table(f, &header, BANDS.into_iter().enumerate().map(row))
}

fn radii(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    let all = &quality.groups[0];
    let row = |radius: usize| {
        let cells =
            |at: &Figures| vec![share(at.recall), share(at.recall_not_equal), at.wrong.to_string()];
        let (confirmed, all) = (&all.radii[radius], &all.unconfirmed[radius]);
        [vec![radius.to_string()], cells(confirmed), cells(all)].concat()
    };
    let header = ["radius", "near", "not equal", "wrong", "near*", "not equal*", "wrong*"];
    writeln!(f)?;
    table(f, &header, RADII.map(row))?;
    writeln!(f, "(* without the confirmation of mode {})", quality.mode)
}

fn streams(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    let row = |stream: &StreamQuality| {
        vec![
            stream.name.clone(),
            stream.counts.texts.to_string(),
            stream.counts.dropped.to_string(),
            with_least(stream.share_caught, stream.least_share_caught),
            stream.counts.wrong.to_string(),
        ]
    };
    writeln!(f)?;
    let header = ["as a stream", "texts", "dropped", "caught", "wrongly dropped"];
    table(f, &header, quality.stream.iter().map(row))
}

fn doubtful(what: &str, pairs: &[Doubtful], f: &mut Formatter<'_>) -> fmt::Result {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{what} with the first seed: similarity, differing bits of 64 and of 256")?;
    for pair in pairs.iter().take(DOUBTFUL) {
        let Doubtful { a, b, similarity, distance, signature_distance } = pair;
        writeln!(f, "  {similarity:.2} {distance:>3} {signature_distance:>4}  {a}  {b}")?;
    }
    Ok(())
}

/// Prints a table: a column of names, then columns that are aligned to the right.
pub(super) fn table(
    f: &mut Formatter<'_>,
    header: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> fmt::Result {
    let header = header.iter().copied().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..rows[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        write!(f, "{:width$}", row[0], width = widths[0])?;
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(f, "  {cell:>width$}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// The headers of [`of_reported`].
pub(super) const OF_REPORTED: [&str; 4] = ["≥ 0.9", "≥ 0.5", "≥ 0.3", "wrong"];

/// The share of reported pairs with a similarity of 0.9, 0.5 and 0.3 or more, and the pairs below.
pub(super) fn of_reported(figures: &Figures) -> [String; 4] {
    let Figures { precision_90, precision_50, precision_30, wrong, .. } = *figures;
    [share(precision_90), share(precision_50), share(precision_30), wrong.to_string()]
}

pub(super) fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.4}"))
}

/// A mean, and in brackets the least value if it differs.
fn with_least(mean: Option<f64>, least: Option<f64>) -> String {
    match (mean, least) {
        (Some(mean), Some(least)) if (mean - least).abs() > 5e-5 => {
            format!("{mean:.4} ({least:.4})")
        }
        _ => share(mean),
    }
}

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
type Measure = fn(&Figures) -> Option<f64>;

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
    let curves: [(_, _, _, Measure); 4] = [
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
