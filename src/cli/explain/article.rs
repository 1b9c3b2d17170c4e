//! What the articles of two pages have in common and apart, in words.

use std::{
    io::{self, Write},
    iter,
};

use super::{super::Out, side::Side};
use crate::filter::{ComparedArticles, Figures, Names, Obstacle, Part, Shared, WORD};

/// At most this many passages of a kind are shown, each with at most so many characters.
const SHOWN: usize = 4;
const LONGEST: usize = 100;

/// Writes how the articles of A and B compare. `compared` has B first.
pub(super) fn write(
    out: &mut Out,
    sides: &[Side; 2],
    compared: &ComparedArticles,
) -> io::Result<()> {
    let figures = &compared.figures;
    let in_run = sides.iter().all(|side| side.blocks.is_empty());
    let compared_by =
        if in_run { "the run compares them by their articles" } else { "by their articles" };
    let found = match figures.repeats() {
        Some(_) => "B has the article of A",
        None => "B does not have the article of A, because",
    };
    writeln!(out, "{compared_by}: {found}")?;
    figures.obstacles().try_for_each(|obstacle| writeln!(out, "  - {}", why_not(obstacle)))?;
    relation(figures).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    if in_run {
        let why = "the run keeps no words of articles, so only these figures are known";
        return writeln!(out, "  {why}\n");
    }
    writeln!(out)?;
    let [of_b, of_a] = compared.parts.each_ref();
    let [a, b] = [passages(&sides[0], of_a), passages(&sides[1], of_b)];
    let both = if sides[0].blocks.is_empty() { &b } else { &a };
    write_passages(out, "both have", both, &[Part::Shared])?;
    write_passages(out, "only A has", &a, &[Part::Own, Part::Mixed])?;
    write_passages(out, "only B has", &b, &[Part::Own, Part::Mixed])?;
    write_passages(out, "furniture of the site in A, set aside", &a, &[Part::Furniture])?;
    write_passages(out, "furniture of the site in B, set aside", &b, &[Part::Furniture])
}

/// How the pages are related, and the figures by which the rule decides then.
fn relation(figures: &Figures) -> Vec<String> {
    match *figures {
        Figures::Strangers { shared, .. } => {
            let of = |Shared { percent, weight }, name| {
                format!("{percent} % of the article of {name} ({})", words(weight))
            };
            let shared = shared.map(|[b, a]| format!("common: {}, {}", of(a, "A"), of(b, "B")));
            let relation = "pages of two sites: what they share must be the article of both";
            iter::once(relation.to_owned()).chain(shared).collect()
        }
        Figures::OtherLinks => vec!["pages of one site".to_owned()],
        Figures::OneSite { is_warm, names, both, own: [b, a], body } => {
            let furniture =
                if is_warm { "furniture is known" } else { "no furniture is known yet" };
            let names = match names {
                Names::One { .. } => "one name",
                Names::Two { .. } => "two names",
            };
            vec![
                format!("pages of one site, of which {furniture}"),
                format!("they have {names}: title and first heading, digits left out"),
                format!(
                    "common: {}, {body} % of the body text, {} % of all prose",
                    words(both),
                    figures.percent()
                ),
                format!("of its own: A has {}, B has {}", words(a), words(b)),
            ]
        }
    }
}

/// Why a page does not repeat the other.
fn why_not(obstacle: Obstacle) -> String {
    match obstacle {
        Obstacle::NoArticle { run, least } => {
            format!("in passages of at least {} they share less than {}", words(run), words(least))
        }
        Obstacle::Beside => "most of what they share is outside the body text of both".to_owned(),
        Obstacle::ShortOfArticle { needed: [larger, smaller] } => {
            format!("{larger} % of one article and {smaller} % of the other are needed")
        }
        Obstacle::OtherLinks => {
            "the body text has blocks of links, and the links differ".to_owned()
        }
        Obstacle::Own { own: [b, a], most: [less, more] } => format!(
            "A has {} of its own and B {}; allowed are {} for the page with less and {} for the other",
            words(a),
            words(b),
            words(less),
            words(more)
        ),
        Obstacle::OwnOfNew { most } => format!(
            "pages of two names may have at most {} of their own while no furniture is known",
            words(most)
        ),
        Obstacle::Blocks => {
            "they differ in more than one block, though their names differ".to_owned()
        }
        Obstacle::Change { change, most } => format!(
            "they differ in a block by {}; pages of two names may differ by {}",
            words(change),
            words(most)
        ),
        Obstacle::Body { found, needed } => {
            format!("only {found} % of the body text is common; {needed} % is needed")
        }
        Obstacle::Prose { found, needed } => {
            format!("only {found} % of all prose is common; {needed} % is needed")
        }
        Obstacle::Little { least } => format!("they have less than {} in common", words(least)),
    }
}

/// A weight in words.
fn words(weight: usize) -> String {
    let (whole, tenths) = (weight / WORD, weight % WORD * 10 / WORD);
    match (whole, tenths) {
        (1, 0) => "1 word".to_owned(),
        (_, 0) => format!("{whole} words"),
        _ => format!("{whole}.{tenths} words"),
    }
}

/// The blocks of a page as text, with how they compare.
fn passages<'a>(side: &'a Side, parts: &[Part]) -> Vec<(Part, &'a str)> {
    parts.iter().copied().zip(side.blocks.iter().map(String::as_str)).collect()
}

fn write_passages(
    out: &mut Out,
    title: &str,
    passages: &[(Part, &str)],
    wanted: &[Part],
) -> io::Result<()> {
    let mut found: Vec<_> = passages.iter().filter(|(part, _)| wanted.contains(part)).collect();
    if found.is_empty() {
        return Ok(());
    }
    let hidden = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    writeln!(out, "{title}:")?;
    for (part, text) in found {
        let some = if *part == Part::Mixed { "(some of) " } else { "" };
        writeln!(out, "  {some}{}", shortened(text))?;
    }
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
