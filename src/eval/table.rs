//! Prints the figures of an evaluation as tables for the terminal.

use std::fmt::{self, Display, Formatter};

use super::{
    pairs::{Axis, BANDS, MAX_RADIUS},
    quality::{Doubtful, Quality, TemplateQuality},
};

/// Radii of the table: those that a configuration can have.
const RADII: std::ops::RangeInclusive<u32> = 0..=11;
const _: () = assert!(*RADII.end() <= MAX_RADIUS);
/// Doubtful pairs of each kind in the table.
const DOUBTFUL: usize = 5;

impl Display for Quality {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "mode {}, radius {}, recipe {}: {} pair{} of {} texts ({} listed), {} seed{}",
            self.mode,
            self.radius,
            self.scheme,
            self.pairs,
            if self.pairs == 1 { "" } else { "s" },
            self.texts,
            self.listed,
            self.seeds,
            if self.seeds == 1 { "" } else { "s: means, worst seed in brackets, counts summed" },
        )?;
        if let TemplateQuality { texts, mean_share: Some(mean) } = self.templates {
            writeln!(f, "templates: part of {texts} texts, {:.0} % on average", mean * 100.0)?;
        }
        groups(self, f)?;
        bands(self, f)?;
        radii(self, f)?;
        streams(self, f)?;
        doubtful("missed near pairs", &self.missed, f)?;
        doubtful("reported pairs below 0.5", &self.mistaken, f)
    }
}

fn groups(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    const WIDTHS: [usize; 6] = [20, 20, 10, 8, 8, 7];
    let header = ["near pairs found", "not equal found", "≥ 0.9", "≥ 0.5", "≥ 0.3", "wrong"];
    writeln!(f)?;
    row(f, "", WIDTHS, header)?;
    for group in &quality.groups {
        let figures = &group.figures;
        let cells = [
            with_least(figures.recall, figures.least_recall),
            with_least(figures.recall_not_equal, figures.least_recall_not_equal),
            share(figures.precision_90),
            share(figures.precision_50),
            share(figures.precision_30),
            figures.wrong.to_string(),
        ];
        row(f, &group.group.name, WIDTHS, cells)?;
    }
    writeln!(
        f,
        "(≥ 0.9, ≥ 0.5, ≥ 0.3: share of reported pairs with this similarity; wrong: reported pairs below 0.3)"
    )
}

fn bands(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    const WIDTHS: [usize; 3] = [12, 12, 10];
    writeln!(f)?;
    row(f, "similarity", WIDTHS, ["pairs", "reported", "share"])?;
    let counts = &quality.all().counts;
    for (band, from) in BANDS.into_iter().enumerate() {
        let name =
            if from.is_infinite() { "equal texts".to_owned() } else { format!("from {from:.2}") };
        let [pairs, reported] = [counts.pairs, counts.reported].map(|of| of[band].to_string());
        row(f, &name, WIDTHS, [pairs, reported, share(counts.share(band))])?;
    }
    Ok(())
}

fn radii(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    const WIDTHS: [usize; 6] = [10; 6];
    let Some(all) = quality.groups.iter().find(|group| group.group.by == Axis::All) else {
        return Ok(());
    };
    writeln!(f)?;
    row(f, "", [30, 30], [&*format!("mode {}", quality.mode), "without confirmation"])?;
    let header = ["near", "not equal", "wrong", "near", "not equal", "wrong"];
    row(f, "radius", WIDTHS, header)?;
    for radius in RADII {
        let [mode, all] = [&all.radii, &all.unconfirmed].map(|radii| &radii[radius as usize]);
        let cells = [
            share(mode.recall),
            share(mode.recall_not_equal),
            mode.wrong.to_string(),
            share(all.recall),
            share(all.recall_not_equal),
            all.wrong.to_string(),
        ];
        row(f, &radius.to_string(), WIDTHS, cells)?;
    }
    Ok(())
}

fn streams(quality: &Quality, f: &mut Formatter<'_>) -> fmt::Result {
    const WIDTHS: [usize; 4] = [12, 12, 20, 16];
    writeln!(f)?;
    row(f, "as a stream", WIDTHS, ["texts", "dropped", "caught", "wrongly dropped"])?;
    for stream in &quality.stream {
        let cells = [
            stream.counts.texts.to_string(),
            stream.counts.dropped.to_string(),
            with_least(stream.share_caught, stream.least_share_caught),
            stream.counts.wrong.to_string(),
        ];
        row(f, &stream.name, WIDTHS, cells)?;
    }
    Ok(())
}

fn doubtful(what: &str, pairs: &[Doubtful], f: &mut Formatter<'_>) -> fmt::Result {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{what} with the first seed: similarity, differing bits of 64 and of 256")?;
    for pair in pairs.iter().take(DOUBTFUL) {
        writeln!(
            f,
            "  {:.2} {:>3} {:>4}  {}  {}",
            pair.similarity, pair.distance, pair.signature_distance, pair.a, pair.b
        )?;
    }
    Ok(())
}

/// Prints a row: a name, then cells that are aligned to the right.
pub(super) fn row<const N: usize>(
    f: &mut Formatter<'_>,
    name: &str,
    widths: [usize; N],
    cells: [impl Display; N],
) -> fmt::Result {
    write!(f, "{name:18}")?;
    for (width, cell) in widths.into_iter().zip(cells) {
        write!(f, "{cell:>width$}")?;
    }
    writeln!(f)
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
