//! Why two documents are duplicates, or not.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    io::{BufRead, BufReader, IsTerminal, Write},
    path::Path,
};

use super::super::{
    Failure, Out,
    document::{Preparation, extracted},
};
use crate::{
    config::Config,
    crawl::fetch::is_html,
    extract::Document,
    filter::{Filter, Key, Kind, Options, Step, Subject, Verdict},
    fingerprint::{Digest, Feature, Recipe, Sketch, similarity},
    input::{Content, Input},
    page::{Lang, Timestamp},
    sink::{PAGES, record::PageLine},
};

/// So many features of each document are shown that the other has not, or not as often.
const SHOWN: usize = 12;

/// One of the two.
struct Side {
    path: String,
    body: Option<Digest>,
    document: Document,
    sketch: Sketch,
    features: Vec<Feature>,
}

/// Where a document is found.
pub(super) enum Place<'a> {
    /// A file, HTML or plain text.
    File(&'a Path),
    /// A page of a run, by its URL.
    Page(&'a Path, &'a str),
}

/// Compares two documents and writes what there is to say about them.
pub(super) fn compare(
    out: &mut Out,
    places: [Place<'_>; 2],
    config: &Config,
    recipe: Recipe,
) -> Result<(), Failure> {
    let preparation = Preparation::new(config, recipe);
    let [a, b] = places.map(|place| side(&place, &preparation));
    let paint = Paint { colours: io::stdout().is_terminal() };
    write_all(out, &[a?, b?], &config.dedup, paint).map_err(Failure::Output)
}

fn side(place: &Place<'_>, preparation: &Preparation) -> Result<Side, Failure> {
    let (name, content) = match *place {
        Place::File(path) => (path.display().to_string(), read(path)?),
        Place::Page(run, url) => (url.to_owned(), Content::Text(stored_text(run, url)?)),
    };
    let input = Input { id: name.clone(), url: None, at: None, content };
    let (document, body) = extracted(&preparation.extractor, input);
    let sketch = preparation.fingerprinter.sketch(&document.text);
    let features = preparation.fingerprinter.features(&document.text);
    Ok(Side { path: name, body, document, sketch, features })
}

fn read(path: &Path) -> Result<Content, Failure> {
    let bytes = fs::read(path).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    let named_html = path.extension().is_some_and(|ending| {
        ["html", "htm", "xhtml"].iter().any(|html| ending.eq_ignore_ascii_case(html))
    });
    if named_html || is_html(None, &bytes) {
        return Ok(Content::Html { body: bytes, charset: None });
    }
    Ok(Content::Text(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The text of a stored page, from `pages.jsonl`.
fn stored_text(run: &Path, url: &str) -> Result<String, Failure> {
    let path = run.join(PAGES);
    let failure = |source| Failure::Read { path: path.clone(), source };
    let lines = BufReader::new(File::open(&path).map_err(failure)?).lines();
    let id = serde_json::to_string(url).expect("a string is JSON");
    for line in lines {
        let line = line.map_err(failure)?;
        // The id is the first field: most lines need not be read as JSON.
        if !line.starts_with(&format!("{{\"id\":{id},")) {
            continue;
        }
        let page: PageLine<'_> =
            serde_json::from_str(&line).map_err(|error| failure(error.into()))?;
        if let Some(text) = page.text {
            return Ok(text.into_owned());
        }
    }
    Err(Failure::NoText { url: url.to_owned(), path })
}

fn write_all(out: &mut Out, sides: &[Side; 2], options: &Options, paint: Paint) -> io::Result<()> {
    let [a, b] = sides;
    write_verdict(out, sides, options, paint)?;
    writeln!(out)?;
    write_sizes(out, sides)?;
    writeln!(out)?;
    write_bits(out, &a.sketch, &b.sketch, options)?;
    let counts = |side: &Side| -> HashMap<String, u32> {
        side.features.iter().map(|feature| (feature.text.clone(), feature.weight)).collect()
    };
    let (in_a, in_b) = (counts(a), counts(b));
    write_features(out, "A", &a.features, &in_b, paint)?;
    write_features(out, "B", &b.features, &in_a, paint)
}

fn write_verdict(
    out: &mut Out,
    sides: &[Side; 2],
    options: &Options,
    paint: Paint,
) -> io::Result<()> {
    let [a, b] = sides;
    writeln!(out, "A  {}\nB  {}\n", a.path, b.path)?;
    let verdict = verdict(sides, options);
    let (word, why) = match verdict.matched() {
        None => ("unique", why_unique(sides, options)),
        Some(matched) => match (matched.kind, matched.step) {
            (_, Step::Body) => {
                ("an exact duplicate", "the bodies are equal, byte for byte (step body)".to_owned())
            }
            (Kind::Exact, _) => {
                ("an exact duplicate", "the texts have the same words (step text)".to_owned())
            }
            (Kind::Near, _) => (
                "a near duplicate",
                format!(
                    "the fingerprints differ in {} of 64 bits, at most {} are allowed (step near)",
                    matched.distance,
                    options.radius()
                ),
            ),
        },
    };
    let word = paint.strong(word, verdict.is_unique());
    writeln!(out, "After A, B is {word}: {why}")
}

/// What the filter says of the second after the first.
fn verdict(sides: &[Side; 2], options: &Options) -> Verdict {
    let mut filter = Filter::new(options);
    let [_, verdict] = [0, 1].map(|number: u64| {
        let side = &sides[usize::from(number == 1)];
        let subject = Subject {
            key: Key(number),
            body: side.body,
            sketch: side.sketch.clone(),
            chars: chars(side),
            lang: side.document.lang.and_then(Lang::new),
            at: Timestamp(0),
        };
        let Ok(judgement) = filter.judge(&subject);
        judgement.verdict
    });
    verdict
}

fn why_unique(sides: &[Side; 2], options: &Options) -> String {
    let least = options.min_features;
    if sides.iter().any(|side| side.sketch.features < least) {
        return format!("a text of fewer than {least} features has only equal ones for duplicates");
    }
    format!(
        "the texts are not equal, and the fingerprints differ in more than {} of 64 bits",
        options.radius()
    )
}

fn chars(side: &Side) -> u32 {
    u32::try_from(side.document.text.chars().count()).unwrap_or(u32::MAX)
}

fn write_sizes(out: &mut Out, sides: &[Side; 2]) -> io::Result<()> {
    let mut row = |name: &str, value: fn(&Side) -> String| {
        let [a, b] = sides.each_ref().map(value);
        writeln!(out, "{name:<12} {a:<20} {b:<20}")
    };
    row("", |side| if side.body.is_some() { "HTML" } else { "text" }.to_owned())?;
    row("characters", |side| chars(side).to_string())?;
    row("features", |side| side.sketch.features.to_string())?;
    row("language", |side| side.document.lang.unwrap_or("-").to_owned())?;
    row("charset", |side| side.document.charset.to_owned())?;
    row("fingerprint", |side| side.sketch.signature.fingerprint().to_string())
}

fn write_bits(out: &mut Out, a: &Sketch, b: &Sketch, options: &Options) -> io::Result<()> {
    let (first, second) = (a.signature.fingerprint(), b.signature.fingerprint());
    let signature_distance = a.signature.distance(&b.signature);
    let bits: Vec<_> = (0..u64::BITS)
        .rev()
        .filter(|bit| (first.0 ^ second.0) >> bit & 1 == 1)
        .map(|bit| bit.to_string())
        .collect();
    let bits = if bits.is_empty() { "none".to_owned() } else { bits.join(" ") };
    writeln!(out, "differing bits      {bits}")?;
    writeln!(
        out,
        "distance            {} of 64 (radius {})",
        first.distance(second),
        options.radius()
    )?;
    writeln!(out, "signature distance  {signature_distance} of 256")?;
    writeln!(
        out,
        "similarity          {:.4} (the cosine that the signatures estimate)",
        similarity(signature_distance)
    )
}

/// What weighs more in one document than in the other, the most telling first.
fn write_features(
    out: &mut Out,
    name: &str,
    features: &[Feature],
    other: &HashMap<String, u32>,
    paint: Paint,
) -> io::Result<()> {
    let excess = |feature: &Feature| {
        feature.weight.saturating_sub(other.get(&feature.text).copied().unwrap_or(0))
    };
    let mut more: Vec<_> = features.iter().filter(|feature| excess(feature) > 0).collect();
    more.sort_by_key(|feature| std::cmp::Reverse(excess(feature)));
    if more.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} of {} features weigh more in {name}", more.len(), features.len())?;
    for feature in more.iter().take(SHOWN) {
        let theirs = other.get(&feature.text).copied().unwrap_or(0);
        let text = paint.quoted(&feature.text);
        writeln!(
            out,
            "  {:>4} instead of {theirs:<4} {text}  ({}×)",
            feature.weight, feature.count
        )?;
    }
    if more.len() > SHOWN {
        writeln!(out, "  … and {} more", more.len() - SHOWN)?;
    }
    Ok(())
}

/// Colours, if they can be seen.
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
