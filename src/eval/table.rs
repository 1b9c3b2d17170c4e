//! The figures as a table for the terminal.

use std::fmt;

use super::{
    pairs::Axis,
    quality::{Doubtful, Figures, Quality, TemplateQuality},
    tally::{BANDS, MAX_RADIUS},
};

/// Radii that the table shows.
const RADII: [u32; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// Doubtful pairs that the table shows of each kind.
const DOUBTFUL: usize = 5;

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            if self.seeds == 1 { "" } else { "s: means, the least in brackets, counts of all" },
        )?;
        if let TemplateQuality { texts, mean_share: Some(mean) } = self.templates {
            writeln!(
                f,
                "templates of sites: a part of {texts} texts, on average {:.0} %",
                mean * 100.0
            )?;
        }
        groups(self, f)?;
        bands(self.all(), f)?;
        radii(self, f)?;
        streams(self, f)?;
        doubtful("near pairs that were missed", &self.missed, f)?;
        doubtful("reported pairs below 0.5", &self.mistaken, f)
    }
}

fn groups(quality: &Quality, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "\n{:18}{:>20}{:>20}   {:>7}{:>7}{:>7}{:>7}",
        "", "near pairs found", "of these not equal", "≥ 0.9", "≥ 0.5", "≥ 0.3", "wrong"
    )?;
    for group in &quality.groups {
        let figures = &group.figures;
        writeln!(
            f,
            "{:18}{:>20}{:>20}   {:>7}{:>7}{:>7}{:>7}",
            group.group.name,
            with_least(figures.recall, figures.least_recall),
            with_least(figures.recall_not_equal, figures.least_recall_not_equal),
            share(figures.precision_90),
            share(figures.precision_50),
            share(figures.precision_30),
            figures.wrong
        )?;
    }
    writeln!(
        f,
        "(of the pairs reported: the share at a similarity of 0.9, 0.5 and 0.3 or more; how many below 0.3)"
    )
}

fn bands(all: &Figures, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n{:18}{:>12}{:>12}{:>10}", "similarity", "pairs", "reported", "share")?;
    for (band, from) in BANDS.into_iter().enumerate() {
        let name =
            if from.is_infinite() { "equal texts".into() } else { format!("from {from:.2}") };
        writeln!(
            f,
            "{name:18}{:>12}{:>12}{:>10}",
            all.counts.pairs[band],
            all.counts.reported[band],
            share(all.counts.share(band))
        )?;
    }
    Ok(())
}

fn radii(quality: &Quality, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(all) = quality.groups.iter().find(|group| group.group.by == Axis::All) else {
        return Ok(());
    };
    writeln!(
        f,
        "\n{:18}{:>30}{:>30}",
        "",
        format!("mode {}", quality.mode),
        "all within the radius"
    )?;
    writeln!(
        f,
        "{:18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "radius", "near", "not equal", "wrong", "near", "not equal", "wrong"
    )?;
    for radius in RADII.into_iter().filter(|&radius| radius <= MAX_RADIUS) {
        write!(f, "{radius:<18}")?;
        for figures in [&all.radii[radius as usize], &all.unconfirmed[radius as usize]] {
            write!(
                f,
                "{:>10}{:>10}{:>10}",
                share(figures.recall),
                share(figures.recall_not_equal),
                figures.wrong
            )?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn streams(quality: &Quality, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "\n{:18}{:>12}{:>12}{:>20}{:>16}",
        "as a stream", "texts", "dropped", "caught", "wrongly dropped"
    )?;
    for stream in &quality.stream {
        writeln!(
            f,
            "{:18}{:>12}{:>12}{:>20}{:>16}",
            stream.name,
            stream.counts.texts,
            stream.counts.dropped,
            with_least(stream.share_caught, stream.least_share_caught),
            stream.counts.wrong
        )?;
    }
    Ok(())
}

fn doubtful(what: &str, pairs: &[Doubtful], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{what} under the first seed: similarity, differing bits of 64 and of 256")?;
    for pair in pairs.iter().take(DOUBTFUL) {
        writeln!(
            f,
            "  {:.2} {:>3} {:>4}  {}  {}",
            pair.similarity, pair.distance, pair.signature_distance, pair.a, pair.b
        )?;
    }
    Ok(())
}

pub(super) fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.4}"))
}

fn with_least(mean: Option<f64>, least: Option<f64>) -> String {
    match (mean, least) {
        (Some(mean), Some(least)) if (mean - least).abs() > 5e-5 => {
            format!("{mean:.4} ({least:.4})")
        }
        _ => share(mean),
    }
}
