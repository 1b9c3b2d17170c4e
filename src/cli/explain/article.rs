//! What the articles of two pages have in common and apart, in words.

use std::{
    io::{self, Write},
    iter,
    ops::Range,
};

use super::{
    super::Out,
    side::{Block, Side},
};
use crate::{
    filter::{
        ComparedArticles, Figures, Names, Part, Passage, Shared, TargetFigures, UnmetCondition,
        WORD,
    },
    fingerprint::Class,
};

/// At most this many passages of a kind are shown.
const SHOWN: usize = 6;
/// Of a passage, at most this many characters are shown.
const LONGEST: usize = 100;
/// This many words are shown before and after a part of a block.
const AROUND: usize = 3;

/// Writes how the articles of A and B compare. `compared` has B first.
pub(super) fn write(
    out: &mut Out,
    sides: &[Side; 2],
    compared: &ComparedArticles,
) -> io::Result<()> {
    let figures = &compared.figures;
    let found = match figures.repeats() {
        None => "not the same",
        Some(_) if compared.ends_differ => "the same as far as they are compared",
        Some(_) => "the same",
    };
    writeln!(out, "the articles are {found}:")?;
    relation(figures).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    figures
        .unmet_conditions()
        .try_for_each(|condition| writeln!(out, "  - {}", why_not(condition)))?;
    let [a, b] = sides;
    let in_run = sides.each_ref().map(|side| side.judged.is_some());
    let lists = *figures == Figures::OtherLinks;
    if in_run == [true; 2] || lists && in_run.contains(&true) {
        let what = if lists { "links" } else { "words" };
        return writeln!(out, "  the run does not keep the {what} of articles\n");
    }
    writeln!(out)?;
    if lists {
        return write_links(out, [a, b]);
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
    write_list(out, "boilerplate in A, not compared", find(a, of_a, Part::Boilerplate))?;
    write_list(out, "boilerplate in B, not compared", find(b, of_b, Part::Boilerplate))
}

/// Writes which blocks of links each page lists.
fn write_links(out: &mut Out, [a, b]: [&Side; 2]) -> io::Result<()> {
    let find = |one: &Side, other: &Side, is_wanted: bool| -> Vec<String> {
        let links = one.links.iter().filter(|link| other.links.contains(link) == is_wanted);
        links.map(|link| shortened(link)).collect()
    };
    let only = [find(a, b, false), find(b, a, false)];
    let are_one_set = only.iter().all(Vec::is_empty);
    let both = if are_one_set { "both list, in another order or number" } else { "both list" };
    write_list(out, both, find(a, b, true))?;
    let [only_a, only_b] = only;
    write_list(out, "only A lists", only_a)?;
    write_list(out, "only B lists", only_b)
}

/// How the pages are related, and the figures by which the rule decides then.
fn relation(figures: &Figures) -> Vec<String> {
    match *figures {
        Figures::TwoOrigins { shared, have_one_title, .. } => {
            let of = |Shared { percent, weight }, name| {
                format!("{percent} % of the article of {name} ({})", words(weight))
            };
            let shared = shared.map(|[b, a]| format!("in common: {}, {}", of(a, "A"), of(b, "B")));
            let relation = "compared as pages of two hosts: what they have in common must be the article of both";
            let titles = "their titles differ, so only the whole body text is the article";
            let titles = (!have_one_title).then(|| titles.to_owned());
            iter::once(relation.to_owned()).chain(shared).chain(titles).collect()
        }
        Figures::OtherLinks | Figures::OtherCode => {
            vec!["compared as pages of one host".to_owned()]
        }
        Figures::OneOrigin { is_learnt, names, both, own: [b, a], body, .. } => {
            let boilerplate = if is_learnt { "is known" } else { "is not known yet" };
            let names = match names {
                Names::Same { .. } => "the same name",
                Names::Different { .. } => "different names",
            };
            vec![
                format!("compared as pages of one host, whose boilerplate {boilerplate}"),
                format!("they have {names} (title and first heading, without digits)"),
                format!(
                    "in common: {}; {body} % of the body text, {} % of all prose",
                    words(both),
                    figures.percent()
                ),
                format!("prose of their own: A {}, B {}", words(a), words(b)),
            ]
        }
    }
}

/// Why a page does not repeat the other.
fn why_not(condition: UnmetCondition) -> String {
    match condition {
        UnmetCondition::SharedTooShort { run, least } => format!(
            "they have fewer than {} in common, in passages of at least {}",
            words(least),
            words(run)
        ),
        UnmetCondition::OutsideBody => "most of it is outside the body text of both".to_owned(),
        UnmetCondition::ShareTooSmall { needed: [larger, smaller] } => {
            format!("{larger} % of one article and {smaller} % of the other are needed")
        }
        UnmetCondition::OtherLinks => "the body text lists links, and these differ".to_owned(),
        UnmetCondition::OtherCode => "they are mostly source code, and it differs".to_owned(),
        UnmetCondition::TooMuchOwn { own: [b, a], most: [less, more] } => format!(
            "A has {} of its own and B {}; allowed are {} for the page with less and {} for the other",
            words(a),
            words(b),
            words(less),
            words(more)
        ),
        UnmetCondition::TooMuchOwnUnlearnt { most } => format!(
            "pages of two names may have at most {} of their own while no boilerplate is known",
            words(most)
        ),
        UnmetCondition::SeveralBlocks => {
            "their names differ, so only one block may differ, such as a heading; more do"
                .to_owned()
        }
        UnmetCondition::ChangeTooLarge { change, most } => format!(
            "they differ in a block by {}; pages of two names may differ by {}",
            words(change),
            words(most)
        ),
        UnmetCondition::BodyShareTooSmall { found, needed } => {
            format!("only {found} % of the body text is common; {needed} % is needed")
        }
        UnmetCondition::ProseShareTooSmall { found, needed } => {
            format!("only {found} % of all prose is common; {needed} % is needed")
        }
        UnmetCondition::SharedTooLittle { least } => {
            format!("they have fewer than {} in common", words(least))
        }
        UnmetCondition::OtherTargets(TargetFigures { both, own: [b, a], .. }) => format!(
            "their links lead elsewhere, apart from those of the host's template: {a} only of A, {b} only of B, {both} of both"
        ),
    }
}

/// A weight in words, with tenths if it is small: a Chinese character weighs three fifths of a word.
fn words(weight: usize) -> String {
    let (whole, tenths) = (weight / WORD, weight % WORD * 10 / WORD);
    match tenths {
        0 if whole == 1 => "1 word".to_owned(),
        1.. if whole < 100 => format!("{whole}.{tenths} words"),
        _ => format!("{whole} words"),
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
    let hidden = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    writeln!(out, "{title}:")?;
    found.iter().try_for_each(|text| writeln!(out, "  {text}"))?;
    if hidden > 0 {
        writeln!(out, "  … and {hidden} more")?;
    }
    writeln!(out)
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
