//! `pagesieve explain A B`: why two documents are duplicates, or not, and what their articles have in common.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io::{self, Write},
    num::NonZeroU64,
    ops::Range,
};

use super::{
    super::{
        Failure, Out, Result,
        document::preparation,
        rule::{distances, kind, only_equal, rule},
    },
    side::{Block, Run, Side, Text, side},
};
use crate::{
    config::Config,
    filter::{
        ComparedPages, Comparison, Document, Documents, Filter, Key, Kind, Match, Options, Part,
        Passage, Verdict, WindowOptions,
    },
    fingerprint::{Class, Feature, Recipe, similarity},
    page::floored,
};

/// At most this many features per document are shown.
const SHOWN_FEATURES: usize = 12;

/// The entries of a window for two documents.
const TWO: NonZeroU64 = NonZeroU64::new(2).expect("not zero");

/// What is said of pages whose content is not known.
const UNKNOWN: &str = "The run compares pages by their content, and keeps the content of unique pages only. Its decisions are above.\n\
                       To see what the pages share, save both as files and name the files instead.";

/// Compares two documents and writes the comparison.
pub(super) fn compare(
    out: &mut Out,
    names: [&str; 2],
    config: &Config,
    recipe: Recipe,
    run: Option<&Run<'_>>,
) -> Result<()> {
    let preparation =
        preparation(config, Documents::new(recipe, config.dedup.filter().compares_content()));
    let [a, b] = names.map(|name| side(name, run, &preparation));
    let sides = [a?, b?];
    let options = &config.dedup.filter();
    let texts = match sides.each_ref().map(|side| side.text.as_ref()) {
        [Some(a), Some(b)] => Some([a, b]),
        _ => None,
    };
    let judged = texts.map(|texts| judge(&sides, texts, options, run)).transpose()?;
    write_all(out, &sides, texts.zip(judged.as_ref()), options).map_err(Failure::Output)
}

fn write_all(
    out: &mut Out,
    sides: &[Side; 2],
    judged: Option<([&Text; 2], &Judged)>,
    options: &Options,
) -> io::Result<()> {
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        writeln!(out, "{letter}  {}", side.name)?;
        side.remarks.iter().try_for_each(|remark| writeln!(out, "   {remark}"))?;
    }
    match judged {
        Some((texts, judged)) => write_verdict(out, texts, judged, options)?,
        None if options.compares_content() => writeln!(out, "\n{UNKNOWN}")?,
        None => write_without_texts(out, sides)?,
    }
    match judged.map(|(_, judged)| &judged.by) {
        Some(By::Content(compared)) => write_content(out, sides, compared)?,
        Some(By::Thin | By::Unknown) => writeln!(out)?,
        None if options.compares_content() => writeln!(out)?,
        Some(By::Text) | None => writeln!(out, "{}\n", rule_of(sides, options))?,
    }
    write_sizes(out, sides)?;
    writeln!(out)?;
    write_bits(out, sides)?;
    if let Some((texts, _)) = judged {
        let [a, b] = texts.map(|text| text.features.as_slice());
        write_excess(out, "A", a, b)?;
        write_excess(out, "B", b, a)?;
    }
    Ok(())
}

fn write_without_texts(out: &mut Out, sides: &[Side; 2]) -> io::Result<()> {
    writeln!(
        out,
        "\nWithout both texts, the filter cannot judge them again. The decisions of the run are above."
    )?;
    for Side { name, .. } in sides.iter().filter(|side| side.text.is_none()) {
        writeln!(
            out,
            "To see which features differ, save {name} as a file and name the file instead."
        )?;
    }
    Ok(())
}

/// The rule that applies if the second document comes after the first.
fn rule_of(sides: &[Side; 2], options: &Options) -> String {
    let [a, b] = sides.each_ref().map(|side| side.facts.features);
    let least = options.min_features;
    if a.min(b) < least {
        return format!(
            "rule: only equal texts are duplicates, because one has fewer than {least} features (dedup.min_features)"
        );
    }
    rule(options, b)
}

fn write_verdict(
    out: &mut Out,
    texts: [&Text; 2],
    judged: &Judged,
    options: &Options,
) -> io::Result<()> {
    let verdict = judged.verdict;
    if judged.by == By::Unknown {
        return writeln!(out, "\n{UNKNOWN}");
    }
    let [a, b] = texts.map(|text| only_equal(&text.document.sketch().text, options));
    let unique = |why: String| ("unique", why);
    let (word, why) = match (verdict.matched(), &judged.by) {
        (Some(found), By::Content(_)) => {
            let (word, why) = kind(found);
            (word, why.to_owned())
        }
        (Some(found), ..) => {
            let (word, why) = kind(found);
            (word, format!("{why}: {}", distances(found)))
        }
        (None, By::Content(compared)) => unique(why_unique(compared).to_owned()),
        (None, By::Thin) if a.is_none() => {
            unique("it has fewer than three words of its own, so only a page with the same body is its duplicate".to_owned())
        }
        (None, ..) => unique(match (a, b) {
            (Some(why), _) => format!("the text of A {why}"),
            (None, Some(why)) => format!("the text of B {why}"),
            (None, None) => "the texts are neither equal nor similar enough".to_owned(),
        }),
    };
    writeln!(out, "\nAfter A, B is {word}: {why}")
}

/// Why a page is unique whose content is compared.
fn why_unique(compared: &ComparedPages) -> &'static str {
    let ComparedPages { comparison, rule, .. } = compared;
    if comparison.repeats(rule) {
        "it repeats A, but the search for similar pages does not find A"
    } else if comparison.similarity >= rule.similarity {
        "it has too little in common with A"
    } else {
        "it is not similar enough to A"
    }
}

/// How the second document is judged after the first.
struct Judged {
    verdict: Verdict,
    by: By,
}

/// What a verdict is by.
#[derive(PartialEq)]
enum By {
    /// The texts, or the bodies.
    Text,
    /// The content of the pages.
    Content(Box<ComparedPages>),
    /// The second page has hardly any text of its own, and only its body counts.
    Thin,
    /// The content, which the run does not keep.
    Unknown,
}

/// Judges the second document after the first.
fn judge(
    sides: &[Side; 2],
    texts: [&Text; 2],
    options: &Options,
    run: Option<&Run<'_>>,
) -> Result<Judged> {
    let window = WindowOptions { entries: TWO, age: None, future: false };
    let two = Options { window, ..options.clone() };
    let [a, b] = documents(sides, texts);
    let mut filter = Filter::of_recipe(&two, a.recipe)?;
    // The key of the first document may be known to the run's templates; the second must differ from it, since no document repeats itself.
    let b = b.with_key(Key(!a.key.0));
    if let Some(run) = run {
        run.past.restore_template(&mut filter.engine, &b)?;
        if a.sketch.origin != b.sketch.origin {
            run.past.restore_template(&mut filter.engine, &a)?;
        }
    }
    filter.judge(&a)?;
    let compared = filter.engine.compare_pages([&b, &a]);
    let judgement = filter.judge(&b)?;
    let verdict = judgement.verdict;
    let is_exact = verdict.matched().is_some_and(|found| found.kind == Kind::Exact);
    let is_duplicate = |side: &Side| side.judged.is_some_and(|(_, found)| !found.is_unique());
    let lacks_content = |side: &Side| is_duplicate(side) && side.content.is_none();
    let by = match compared {
        _ if is_exact => By::Text,
        _ if judgement.facts.thin => By::Thin,
        Some(compared) => By::Content(Box::new(compared)),
        None if options.compares_content() && sides.iter().any(lacks_content) => By::Unknown,
        None => By::Text,
    };
    Ok(Judged { verdict, by })
}

/// The documents that are judged, with the content that the run keeps of them.
fn documents(sides: &[Side; 2], texts: [&Text; 2]) -> [Document; 2] {
    let mut documents = texts.map(|text| text.document.clone());
    let in_run = sides.iter().any(|side| side.judged.is_some() && side.content.is_some());
    if in_run && sides.iter().all(|side| side.content.is_some()) {
        for (document, side) in documents.iter_mut().zip(sides) {
            document.sketch.content.clone_from(&side.content);
        }
    }
    documents
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
        writeln!(out, "distance            {} of 64", a.distance(b))?;
    }
    let signatures = sides.each_ref().map(|side| side.signature);
    let (distance, similarity, source) = match (signatures, recorded(sides)) {
        ([Some(a), Some(b)], _) => {
            let distance = a.distance(&b);
            (distance, similarity(distance), "cosine, estimated from the signatures")
        }
        (_, Some(found)) => (found.signature_distance, found.similarity, "recorded by the run"),
        _ => {
            let why = if sides.iter().any(|side| side.facts.features == 0) {
                "none: a text without words has no signature"
            } else {
                "unknown: not both signatures are stored"
            };
            return writeln!(out, "signature distance  {why}");
        }
    };
    writeln!(out, "signature distance  {distance} of 256")?;
    writeln!(out, "similarity          {} ({source})", floored(similarity, 4))
}

/// The match that the run recorded, if one of the two repeats the other.
fn recorded(sides: &[Side; 2]) -> Option<Match> {
    let [(a, of_a), (b, of_b)] = [sides[0].judged?, sides[1].judged?];
    let repeats = |verdict: Verdict, id| verdict.matched().copied().filter(|found| found.of == id);
    repeats(of_b, a).or_else(|| repeats(of_a, b))
}

/// Writes which features weigh more in one document than in the other, the largest difference first.
fn write_excess(
    out: &mut Out,
    name: &str,
    features: &[Feature],
    others: &[Feature],
) -> io::Result<()> {
    let others: HashMap<_, _> = others.iter().map(|it| (it.text.as_str(), it.weight)).collect();
    let other = |feature: &Feature| others.get(feature.text.as_str()).copied().unwrap_or(0);
    let excess = |feature: &&Feature| feature.weight.saturating_sub(other(feature));
    let mut more: Vec<_> = features.iter().filter(|feature| excess(feature) > 0).collect();
    more.sort_by_key(|feature| Reverse(excess(feature)));
    if more.is_empty() {
        return Ok(());
    }
    let weigh = if more.len() == 1 { "weighs" } else { "weigh" };
    let (number, all) = (more.len(), features.len());
    writeln!(
        out,
        "\n{number} of {all} features {weigh} more in {name} (a single occurrence weighs 16)"
    )?;
    for feature in more.iter().take(SHOWN_FEATURES) {
        let Feature { text, weight, count, .. } = feature;
        let theirs = other(feature);
        writeln!(out, "  {weight:>4} instead of {theirs:<4} {text}  ({count}×)")?;
    }
    match number.saturating_sub(SHOWN_FEATURES) {
        0 => Ok(()),
        hidden => writeln!(out, "  … and {hidden} more"),
    }
}

/// At most this many passages of a kind are shown.
const SHOWN_PASSAGES: usize = 6;
/// Of a passage, at most this many characters are shown.
const LONGEST_PASSAGE: usize = 100;
/// This many words are shown before and after a part of a block.
const AROUND: usize = 3;

/// Writes what A and B have in common and apart. `compared` has B first.
fn write_content(out: &mut Out, sides: &[Side; 2], compared: &ComparedPages) -> io::Result<()> {
    summary(compared).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let [a, b] = sides;
    let in_run = sides.each_ref().map(|side| side.judged.is_some());
    writeln!(out)?;
    if in_run == [true; 2] {
        return writeln!(out, "the run does not keep the words of pages\n");
    }
    for (name, _) in ["A", "B"].iter().zip(in_run).filter(|(_, in_run)| *in_run) {
        writeln!(out, "the run does not keep the words of {name}\n")?;
    }
    let [of_b, of_a] = &compared.passages;
    let find = |side, passages, part| passages_of(side, passages, part);
    let shared = if in_run[0] { (b, of_b) } else { (a, of_a) };
    write_list(out, "both have", find(shared.0, shared.1, Part::Shared))?;
    write_list(out, "only A has", find(a, of_a, Part::Own))?;
    write_list(out, "only B has", find(b, of_b, Part::Own))?;
    write_list(out, "common on the site of A", find(a, of_a, Part::Common))?;
    write_list(out, "common on the site of B", find(b, of_b, Part::Common))
}

/// In a few lines what both have, what only one has, and whether that is enough.
fn summary(compared: &ComparedPages) -> Vec<String> {
    let ComparedPages { comparison, rule, .. } = compared;
    let Comparison {
        similarity, shared, unshared: [of_b, of_a], title, other_title, targets, ..
    } = comparison;
    let titles = match (*title > 0.0, *other_title >= 1.0) {
        (true, _) => ", under one title",
        (_, true) => ", under two titles, so what differs counts more",
        _ => "",
    };
    let [targets_of_b, targets_of_a] = targets.map(rounded);
    let links = if targets_of_a + targets_of_b > 0.0 {
        format!(" (links to other pages count: {targets_of_a} only in A, {targets_of_b} only in B)")
    } else {
        String::new()
    };
    let origins = if comparison.is_one_origin { "of one host" } else { "of two hosts" };
    let verdict = match () {
        () if comparison.repeats(rule) => "one repeats the other".to_owned(),
        () if comparison.similarity < rule.similarity => "two pages".to_owned(),
        () => format!("two pages: {} in common are needed", words(rule.shared)),
    };
    let needed = format!(
        "similarity {} of {} needed, as pages {origins}: {verdict}",
        floored(similarity, 2),
        floored(rule.similarity, 2),
    );
    if *shared <= 0.0 && *of_a <= 0.0 && *of_b <= 0.0 {
        // They have no passage in common, so that nothing was weighed.
        return vec!["no content in common".to_owned(), needed];
    }
    vec![
        format!("{} of content in common{titles}", words(*shared)),
        format!("{} only in B, {} only in A{links}", words(*of_b), words(*of_a)),
        needed,
    ]
}

/// A weight to the nearest whole number, without a negative zero.
fn rounded(weight: f64) -> f64 {
    weight.round() + 0.0
}

/// A weight in words.
fn words(weight: f64) -> String {
    match rounded(weight) {
        1.0 => "1 word".to_owned(),
        rounded => format!("{rounded} words"),
    }
}

/// The passages of a page that compare in this way.
fn passages_of(side: &Side, passages: &[Passage], part: Part) -> Vec<String> {
    let wanted = passages.iter().filter(|passage| passage.part == part);
    wanted.filter_map(|passage| Some(text(side.blocks.get(passage.block)?, passage))).collect()
}

/// A whole block as the page has it. Otherwise words as the filter compares them: those that only this page has in brackets.
fn text(block: &Block, passage: &Passage) -> String {
    if passage.is_whole {
        return shortened(&block.text);
    }
    let (words, Range { start, end }) = (&block.words, passage.words.clone());
    let around = if passage.part == Part::Own { AROUND } else { 0 };
    let (from, to) = (start.saturating_sub(around), (end + around).min(words.len()));
    let mark = |is_cut: bool, mark: &'static str| if is_cut { mark } else { "" };
    let parts = [&words[from..start], &words[start..end], &words[end..to]].map(joined);
    let [before, own, after] = parts;
    let own = shortened(&own);
    let own = if passage.part == Part::Own { format!("[{own}]") } else { own };
    let shown = [mark(from > 0, "…"), &before, &own, &after, mark(to < words.len(), "…")];
    let shown: Vec<&str> = shown.into_iter().filter(|part| !part.is_empty()).collect();
    shown.join(" ")
}

/// Words with spaces between them where their script has any.
fn joined(words: &[(Class, String)]) -> String {
    let mut text = String::new();
    let mut last = Class::Character;
    for (at, (class, word)) in words.iter().enumerate() {
        if at > 0 && (last, *class) != (Class::Character, Class::Character) {
            text.push(' ');
        }
        text.push_str(word);
        last = *class;
    }
    text
}

fn write_list(out: &mut Out, title: &str, mut found: Vec<String>) -> io::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let hidden = found.len().saturating_sub(SHOWN_PASSAGES);
    found.truncate(SHOWN_PASSAGES);
    writeln!(out, "{title}:")?;
    found.iter().try_for_each(|text| writeln!(out, "  {text}"))?;
    if hidden > 0 {
        writeln!(out, "  … and {hidden} more")?;
    }
    writeln!(out)
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_PASSAGE) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn no_words_are_not_less_than_none() {
        assert_eq!([-0.0, -0.2, 0.4].map(words), ["0 words"; 3]);
        assert_eq!([0.6, 1.6].map(words), ["1 word", "2 words"]);
    }
}
