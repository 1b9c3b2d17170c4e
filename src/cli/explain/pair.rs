//! Why two documents are duplicates, or not.

use std::{
    io,
    io::{IsTerminal, Write},
};

use super::{
    super::{
        Failure, Out,
        document::Preparation,
        rule::{distances, kind, only_equal, rule},
    },
    features,
    side::{Place, Side, Text, side},
};
use crate::{
    config::Config,
    crawl::PastRun,
    filter::{Document, Filter, Key, Match, MemoryDigests, Options, Share, Verdict},
    fingerprint::{Recipe, similarity},
    index::Scan,
};

/// Compares two documents and writes what there is to say about them.
pub(super) fn compare(
    out: &mut Out,
    places: [Place<'_>; 2],
    config: &Config,
    recipe: Recipe,
    run: Option<&PastRun>,
) -> Result<(), Failure> {
    let preparation = Preparation::new(config, recipe);
    let [a, b] = places.map(|place| side(&place, &preparation));
    let sides = [a?, b?];
    let options = &config.dedup;
    let texts = sides.each_ref().map(|side| side.text.as_ref());
    let anew = match texts {
        [Some(a), Some(b)] => Some(judge([a, b], options, run)?),
        _ => None,
    };
    let paint = Paint { colours: io::stdout().is_terminal() };
    write_all(out, &sides, anew, options, paint).map_err(Failure::Output)
}

fn write_all(
    out: &mut Out,
    sides: &[Side; 2],
    anew: Option<(Verdict, Share)>,
    options: &Options,
    paint: Paint,
) -> io::Result<()> {
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        writeln!(out, "{letter}  {}", side.name)?;
        side.remarks.iter().try_for_each(|remark| writeln!(out, "   {remark}"))?;
    }
    let texts = sides.each_ref().map(|side| side.text.as_ref());
    if let ([Some(a), Some(b)], Some((verdict, _))) = (texts, anew) {
        write_verdict(out, [a, b], verdict, options, paint)?;
    } else {
        writeln!(
            out,
            "\nNothing is judged anew: that takes both texts. What the run found stands above."
        )?;
        for side in sides.iter().filter(|side| side.text.is_none()) {
            writeln!(
                out,
                "To see which features differ, save {} in a file, and name that instead.",
                side.name
            )?;
        }
    }
    let template = anew.map_or(Share::NONE, |(_, template)| template);
    writeln!(out, "{}\n", rule_of(sides, options, template))?;
    write_sizes(out, sides)?;
    writeln!(out)?;
    write_bits(out, sides)?;
    if let [Some(a), Some(b)] = texts {
        writeln!(out, "cosine of features  {:.4}", features::cosine(&a.features, &b.features))?;
        features::write(out, [("A", &a.features), ("B", &b.features)], paint)?;
    }
    Ok(())
}

/// The rule by which the second is judged after the first.
fn rule_of(sides: &[Side; 2], options: &Options, template: Share) -> String {
    let [a, b] = sides.each_ref().map(|side| side.facts.features);
    let least = options.min_features;
    if a.min(b) < least {
        return format!(
            "rule: only equal texts, where one has fewer than {least} features (dedup.min_features)"
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

/// What the filter says of the second after the first, and what share of it the template of its site is, if a run knows it.
fn judge(
    texts: [&Text; 2],
    options: &Options,
    run: Option<&PastRun>,
) -> Result<(Verdict, Share), Failure> {
    let mut filter = Filter::with(options, Scan::default(), MemoryDigests::default());
    let [a, b] = texts.map(|text| text.subject.clone());
    // By its own key the first document is known to have taught the run; the second must be another than the first.
    let b = Document { key: Key(!a.key.0), ..b };
    if let Some(run) = run {
        run.teach(&mut filter, &b)?;
    }
    let Ok(_) = filter.judge(&a);
    let template = filter.template(&b);
    let Ok(judgement) = filter.judge(&b);
    Ok((judgement.verdict, template))
}

fn why_unique(texts: [&Text; 2], options: &Options) -> String {
    let [a, b] = texts.map(|text| only_equal(&text.subject.sketch, options));
    match (a, b) {
        (Some(why), _) => format!("the text of A {why}"),
        (None, Some(why)) => format!("the text of B {why}"),
        (None, None) => {
            "the texts are not equal, and the rule of near duplicates does not hold".to_owned()
        }
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
            (distance, similarity(distance), "the cosine that the signatures estimate")
        }
        (_, Some(found)) => {
            (found.signature_distance, found.similarity(), "as the run recorded it")
        }
        _ => return writeln!(out, "signature distance  {}", why_unknown(sides)),
    };
    writeln!(out, "signature distance  {distance} of 256")?;
    writeln!(out, "similarity          {similarity:.4} ({source})")
}

fn why_unknown(sides: &[Side; 2]) -> &'static str {
    if sides.iter().any(|side| side.facts.features == 0) {
        "none: a text without words has no signature"
    } else {
        "not known: not both signatures are stored"
    }
}

/// What the run recorded of the two, if one of them repeats the other.
fn recorded(sides: &[Side; 2]) -> Option<Match> {
    let [(a, of_a), (b, of_b)] = [sides[0].judged?, sides[1].judged?];
    let repeats = |verdict: Verdict, id| verdict.matched().copied().filter(|found| found.of == id);
    repeats(of_b, a).or_else(|| repeats(of_a, b))
}

/// Colours, if they can be seen.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    colours: bool,
}

impl Paint {
    fn strong(self, word: &str, good: bool) -> String {
        let colour = if good { 32 } else { 33 };
        if self.colours { format!("\x1b[1;{colour}m{word}\x1b[0m") } else { word.to_owned() }
    }

    pub(super) fn quoted(self, text: &str) -> String {
        if self.colours { format!("\x1b[36m{text}\x1b[0m") } else { text.to_owned() }
    }
}
