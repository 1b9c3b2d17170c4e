//! What the articles of two pages have in common and apart, in words.

use std::io::{self, Write};

use super::{super::Out, side::Side};
use crate::filter::{ComparedArticles, Figures, Part, Shared, WORD};

/// At most this many passages of a kind are shown, each with at most so many characters.
const SHOWN: usize = 4;
const LONGEST: usize = 100;

/// Writes how the articles of A and B compare. `compared` has B first.
pub(super) fn write(
    out: &mut Out,
    sides: &[Side; 2],
    compared: &ComparedArticles,
) -> io::Result<()> {
    let found = match compared.figures.repeats() {
        Some(shared) => format!("B has the article of A: {shared} % of it is shared"),
        None => "B does not have the article of A".to_owned(),
    };
    let in_run = sides.iter().all(|side| side.blocks.is_empty());
    let compared_by =
        if in_run { "the run compares them by their articles" } else { "by their articles" };
    writeln!(out, "{compared_by}: {found}")?;
    figures(&compared.figures).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
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

/// The figures by which the rule decides, and what it makes of them.
fn figures(figures: &Figures) -> Vec<String> {
    match *figures {
        Figures::Strangers { shared: [b, a], needed: [larger, smaller], is_article } => {
            let mut lines = vec![
                "two sites: what they share in long runs must be the article of both".to_owned(),
            ];
            let (Some(a), Some(b)) = (a, b) else {
                lines.push("they share less than an article in long runs".to_owned());
                return lines;
            };
            let of = |Shared { percent, weight }, name| {
                format!("{percent} % of the article of {name} ({})", words(weight))
            };
            lines.push(format!("shared: {}, {}", of(a, "A"), of(b, "B")));
            lines.push(format!("needed: {larger} % of one and {smaller} % of the other"));
            let place = if is_article { "is in" } else { "is not in" };
            lines.push(format!("what is shared {place} the body text"));
            lines
        }
        Figures::OneSite { is_warm, both, own: [b, a], most: [least, most] } => {
            let site = if is_warm {
                "one site, of which furniture is known: little may be of their own beside it"
            } else {
                "one site, of which no furniture is known yet: little may be of their own"
            };
            let mut lines = vec![
                site.to_owned(),
                format!("both have {}; A has {} of its own, B {}", words(both), words(a), words(b)),
                format!(
                    "allowed of their own: {} for the one with less, {} for the other",
                    words(least),
                    words(most)
                ),
            ];
            if figures.repeats().is_none() && a.min(b) <= least && a.max(b) <= most {
                lines.push("what both have is too little".to_owned());
            }
            lines
        }
    }
}

/// A weight in words.
fn words(weight: usize) -> String {
    let number = weight.div_ceil(WORD);
    format!("{number} word{}", if number == 1 { "" } else { "s" })
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
