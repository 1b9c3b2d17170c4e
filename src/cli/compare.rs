//! `pagesieve report A B`: what two runs found, side by side.

use std::{cmp::Ordering, collections::BTreeMap, io, path::Path};

use super::{Exit, Failure, Out, Result, notify};
use crate::{
    crawl::{Outcome, PastRun, report},
    page::thousands,
    report::{Counts, counted},
};

/// One of the counts.
type CountOf = fn(&Counts) -> u64;

/// At most this many URLs of a kind are named, unless all are asked for.
const SHOWN: usize = 20;

/// Compares the counts of two runs, and what became of each URL.
pub(super) fn compare(out: &mut Out, runs: [&Path; 2], all: bool) -> Result<Exit> {
    let [a, b] = runs.map(|run| {
        let (report, _) = report(run)?;
        Ok::<_, Failure>((report, PastRun::open(run)?.outcomes()?))
    });
    let [(a, of_a), (b, of_b)] = [a?, b?];
    write_counts(out, runs, [&a.counts, &b.counts]).map_err(Failure::Output)?;
    let both = of_a.iter().filter_map(|(url, in_a)| Some((url, in_a, of_b.get(url)?)));
    let other = both.filter(|(_, in_a, in_b)| in_a != in_b);
    let other: Vec<_> = other.map(|(url, in_a, in_b)| format!("{url}  {in_a} -> {in_b}")).collect();
    let [(pages_a, skipped_a), (pages_b, skipped_b)] = [only(&of_a, &of_b), only(&of_b, &of_a)];
    let lists = [
        ("other outcome in B", &other),
        ("pages only in A", &pages_a),
        ("pages only in B", &pages_b),
        ("skipped, and only in A", &skipped_a),
        ("skipped, and only in B", &skipped_b),
    ];
    for (name, urls) in lists {
        write_urls(out, name, urls, if all { urls.len() } else { SHOWN })
            .map_err(Failure::Output)?;
    }
    if lists.iter().all(|(_, urls)| urls.is_empty()) {
        notify("both runs have the same URLs, with the same outcomes");
    }
    Ok(Exit::Done)
}

/// The pages that only the first of two runs knows, and the skipped URLs that only it knows.
fn only(
    of: &BTreeMap<String, Outcome>,
    other: &BTreeMap<String, Outcome>,
) -> (Vec<String>, Vec<String>) {
    let only = of.iter().filter(|(url, _)| !other.contains_key(*url));
    let (pages, skipped): (Vec<_>, Vec<_>) =
        only.partition(|(_, outcome)| !matches!(outcome, Outcome::Skipped(_)));
    let lines = |all: Vec<(&String, &Outcome)>| {
        all.into_iter().map(|(url, outcome)| format!("{url}  {outcome}")).collect()
    };
    (lines(pages), lines(skipped))
}

fn write_counts(
    out: &mut impl io::Write,
    runs: [&Path; 2],
    [a, b]: [&Counts; 2],
) -> io::Result<()> {
    for (letter, run) in ["A", "B"].iter().zip(runs) {
        writeln!(out, "{letter}  {}", run.display())?;
    }
    writeln!(out, "\n  {:<17}{:>11}{:>11}{:>11}", "", "A", "B", "B - A")?;
    let rows: [(&str, CountOf); 6] = [
        ("fetched", |it| it.fetched),
        ("unique", |it| it.unique),
        ("exact duplicates", |it| it.exact.sum()),
        ("near duplicates", |it| it.near),
        ("stored", |it| it.stored),
        ("skipped", Counts::all_skipped),
    ];
    for (name, of) in rows {
        let [a, b] = [of(a), of(b)];
        let sign = match b.cmp(&a) {
            Ordering::Less => "-",
            Ordering::Equal => "",
            Ordering::Greater => "+",
        };
        let change = format!("{sign}{}", thousands(a.abs_diff(b)));
        writeln!(out, "  {name:<17}{:>11}{:>11}{change:>11}", thousands(a), thousands(b))?;
    }
    Ok(())
}

fn write_urls(
    out: &mut impl io::Write,
    name: &str,
    urls: &[String],
    most: usize,
) -> io::Result<()> {
    if urls.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{name}: {}", counted(urls.len(), "URL"))?;
    urls.iter().take(most).try_for_each(|url| writeln!(out, "  {url}"))?;
    match urls.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "  and {}: --all names them", counted(more, "other")),
    }
}
