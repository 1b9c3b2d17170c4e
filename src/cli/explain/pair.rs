//! `pagesieve explain A B`: why two documents are duplicates, or not.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io::{self, IsTerminal, Write},
    num::NonZeroU64,
};

use super::{
    super::{
        Failure, Out,
        document::Preparation,
        rule::{distances, kind, only_equal, rule},
    },
    side::{Place, Side, Text, side},
};
use crate::{
    config::Config,
    crawl::PastRun,
    filter::{Documents, Filter, Key, Match, Options, Share, Verdict, WindowOptions},
    fingerprint::{Feature, Recipe, similarity},
};

/// At most this many features per document are shown.
const SHOWN: usize = 12;

/// The entries of a window for two documents.
const TWO: NonZeroU64 = NonZeroU64::new(2).expect("not zero");

/// Compares two documents and writes the comparison.
pub(super) fn compare(
    out: &mut Out,
    places: [Place<'_>; 2],
    config: &Config,
    recipe: Recipe,
    run: Option<&PastRun>,
) -> Result<(), Failure> {
    let preparation = Preparation::new(config, Documents::new(recipe));
    let [a, b] = places.map(|place| side(&place, &preparation));
    let sides = [a?, b?];
    let options = &config.dedup.filter();
    let texts = sides.each_ref().map(|side| side.text.as_ref());
    let judged = match texts {
        [Some(a), Some(b)] => Some(judge([a, b], options, run)?),
        _ => None,
    };
    let paint = Paint { colours: io::stdout().is_terminal() };
    write_all(out, &sides, judged, options, paint).map_err(Failure::Output)
}

fn write_all(
    out: &mut Out,
    sides: &[Side; 2],
    judged: Option<(Verdict, Share)>,
    options: &Options,
    paint: Paint,
) -> io::Result<()> {
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        writeln!(out, "{letter}  {}", side.name)?;
        side.remarks.iter().try_for_each(|remark| writeln!(out, "   {remark}"))?;
    }
    let texts = sides.each_ref().map(|side| side.text.as_ref());
    if let ([Some(a), Some(b)], Some((verdict, _))) = (texts, judged) {
        write_verdict(out, [a, b], verdict, options, paint)?;
    } else {
        writeln!(
            out,
            "\nWithout both texts, the filter cannot judge them again. The decisions of the run are above."
        )?;
        for side in sides.iter().filter(|side| side.text.is_none()) {
            writeln!(
                out,
                "To see which features differ, save {} as a file and name the file instead.",
                side.name
            )?;
        }
    }
    let template = judged.map_or(Share::NONE, |(_, template)| template);
    writeln!(out, "{}\n", rule_of(sides, options, template))?;
    write_sizes(out, sides)?;
    writeln!(out)?;
    write_bits(out, sides)?;
    if let [Some(a), Some(b)] = texts {
        writeln!(out, "cosine of features  {:.4}", cosine(&a.features, &b.features))?;
        write_excess(out, ("A", &a.features), &b.features, paint)?;
        write_excess(out, ("B", &b.features), &a.features, paint)?;
    }
    Ok(())
}

/// The rule that applies if the second document comes after the first.
fn rule_of(sides: &[Side; 2], options: &Options, template: Share) -> String {
    let [a, b] = sides.each_ref().map(|side| side.facts.features);
    let least = options.min_features;
    if a.min(b) < least {
        return format!(
            "rule: only equal texts are duplicates, because one has fewer than {least} features (dedup.min_features)"
        );
    }
    rule(options, b, template)
}

fn write_verdict(
    out: &mut Out,
    texts: [&Text; 2],
    verdict: Verdict,
    options: &Options,
    paint: Paint,
) -> io::Result<()> {
    let (word, why) = match verdict.matched() {
        None => ("unique", why_unique(texts, options)),
        Some(found) => {
            let (word, why) = kind(found);
            (word, format!("{why}: {}", distances(found)))
        }
    };
    writeln!(out, "\nAfter A, B is {}: {why}", paint.strong(word, verdict.is_unique()))
}

/// Judges the second document after the first. Also returns how much of it is template, as far as a run knows.
fn judge(
    texts: [&Text; 2],
    options: &Options,
    run: Option<&PastRun>,
) -> Result<(Verdict, Share), Failure> {
    let window = WindowOptions { entries: TWO, age: None };
    let two = Options { window, ..options.clone() };
    let [a, b] = texts.map(|text| text.document.clone());
    let mut filter = Filter::of_recipe(&two, a.recipe)?;
    // The key of the first document may be known to the run's templates; the second must differ from it, since no document repeats itself.
    let key = Key(!a.key.0);
    let b = b.with_key(key);
    if let Some(run) = run {
        run.for_each_sample(&b, |sample| filter.add_sample(sample))?;
    }
    filter.judge(&a);
    let template = filter.template(&b);
    let judgement = filter.judge(&b);
    Ok((judgement.verdict, template))
}

fn why_unique(texts: [&Text; 2], options: &Options) -> String {
    let [a, b] = texts.map(|text| only_equal(text.document.sketch(), options));
    match (a, b) {
        (Some(why), _) => format!("the text of A {why}"),
        (None, Some(why)) => format!("the text of B {why}"),
        (None, None) => "the texts are neither equal nor similar enough".to_owned(),
    }
}

fn write_sizes(out: &mut Out, sides: &[Side; 2]) -> io::Result<()> {
    writeln!(out, "{:<12} {:<20} B", "", "A")?;
    let mut row = |name: &str, value: fn(&Side) -> String| {
        let [a, b] = sides.each_ref().map(value);
        writeln!(out, "{}", format!("{name:<12} {a:<20} {b}").trim_end())
    };
    row("characters", |side| side.facts.chars.to_string())?;
    row("features", |side| side.facts.features.to_string())?;
    row("language", |side| side.facts.lang.as_ref().map_or("-", |lang| lang.as_str()).to_owned())?;
    row("charset", |side| side.charset.clone().unwrap_or_else(|| "-".to_owned()))?;
    row("fingerprint", |side| {
        side.facts.fingerprint.map_or_else(|| "none".to_owned(), |bits| bits.to_string())
    })
}

fn write_bits(out: &mut Out, sides: &[Side; 2]) -> io::Result<()> {
    if let [Some(a), Some(b)] = sides.each_ref().map(|side| side.facts.fingerprint) {
        let differing = (0..u64::BITS).rev().filter(|bit| (a.0 ^ b.0) >> bit & 1 == 1);
        let bits: Vec<_> = differing.map(|bit| bit.to_string()).collect();
        let listed = if bits.is_empty() { "none".to_owned() } else { bits.join(" ") };
        writeln!(out, "differing bits      {listed}")?;
        writeln!(out, "distance            {} of 64", bits.len())?;
    }
    let signatures = sides.each_ref().map(|side| side.signature);
    let (distance, similarity, source) = match (signatures, recorded(sides)) {
        ([Some(a), Some(b)], _) => {
            let distance = a.distance(&b);
            (distance, similarity(distance), "cosine, estimated from the signatures")
        }
        (_, Some(found)) => (found.signature_distance, found.similarity(), "recorded by the run"),
        _ => return writeln!(out, "signature distance  {}", why_unknown(sides)),
    };
    writeln!(out, "signature distance  {distance} of 256")?;
    writeln!(out, "similarity          {similarity:.4} ({source})")
}

fn why_unknown(sides: &[Side; 2]) -> &'static str {
    if sides.iter().any(|side| side.facts.features == 0) {
        "none: a text without words has no signature"
    } else {
        "unknown: not both signatures are stored"
    }
}

/// The match that the run recorded, if one of the two repeats the other.
fn recorded(sides: &[Side; 2]) -> Option<Match> {
    let [(a, of_a), (b, of_b)] = [sides[0].judged?, sides[1].judged?];
    let repeats = |verdict: Verdict, id| verdict.matched().copied().filter(|found| found.of == id);
    repeats(of_b, a).or_else(|| repeats(of_a, b))
}

/// The weights of features, by their texts.
type Weights<'a> = HashMap<&'a str, u32>;

/// The cosine of two weighted sets, which the similarity of their signatures estimates. 0 if one is empty.
fn cosine(a: &[Feature], b: &[Feature]) -> f64 {
    let in_b = weights(b);
    let product =
        |feature: &Feature| f64::from(feature.weight) * f64::from(weight_in(&in_b, feature));
    let square = |features: &[Feature]| -> f64 {
        features.iter().map(|feature| f64::from(feature.weight).powi(2)).sum()
    };
    let length = (square(a) * square(b)).sqrt();
    if length > 0.0 { a.iter().map(product).sum::<f64>() / length } else { 0.0 }
}

/// Writes which features weigh more in one document than in the other, the largest difference first.
fn write_excess(
    out: &mut Out,
    (name, features): (&str, &[Feature]),
    other: &[Feature],
    paint: Paint,
) -> io::Result<()> {
    let other = weights(other);
    let excess = |feature: &&Feature| feature.weight.saturating_sub(weight_in(&other, feature));
    let mut more: Vec<_> = features.iter().filter(|feature| excess(feature) > 0).collect();
    more.sort_by_key(|feature| Reverse(excess(feature)));
    if more.is_empty() {
        return Ok(());
    }
    let weigh = if more.len() == 1 { "weighs" } else { "weigh" };
    writeln!(
        out,
        "\n{} of {} features {weigh} more in {name} (a single occurrence weighs 16)",
        more.len(),
        features.len()
    )?;
    for feature in more.iter().take(SHOWN) {
        let (weight, theirs) = (feature.weight, weight_in(&other, feature));
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

/// Colours, if the output is a terminal.
#[derive(Clone, Copy)]
struct Paint {
    colours: bool,
}

impl Paint {
    fn strong(self, word: &str, good: bool) -> String {
        let colour = if good { 32 } else { 33 };
        if self.colours { format!("\x1b[1;{colour}m{word}\x1b[0m") } else { word.to_owned() }
    }

    fn quoted(self, text: &str) -> String {
        if self.colours { format!("\x1b[36m{text}\x1b[0m") } else { text.to_owned() }
    }
}
