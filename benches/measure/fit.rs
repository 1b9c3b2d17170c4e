//! Fits the numbers on streams in which what is a copy by its label is not kept.

use std::{
    collections::{BTreeMap, HashMap},
    thread,
};

use pagesieve::filter::{Comparison, Rule, Template, compare};

use super::{
    group::{Group, jaccard, read},
    judge::copies,
    numbers_of, with,
};

/// So many candidates of a page are compared.
const COMPARED: usize = 6;
/// Keys of more pages find nothing.
const COMMON: usize = 8;

/// What is right of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    New,
    Copy,
    Unknown,
}

/// A page of a stream.
struct Step {
    label: Label,
    kind: String,
    /// Earlier pages, and of each whether the page is a copy of it.
    candidates: Vec<(usize, Label)>,
}

struct Stream<'a> {
    group: &'a Group,
    steps: Vec<Step>,
}

fn streams(groups: &[Group]) -> Vec<Stream<'_>> {
    groups.iter().map(stream).collect()
}

fn stream(group: &Group) -> Stream<'_> {
    let checks: HashMap<usize, (&str, &str)> =
        group.checks.iter().map(|(at, kind, want)| (*at, (kind.as_str(), want.as_str()))).collect();
    let mut copies: HashMap<usize, Vec<usize>> = HashMap::new();
    if group.checks.is_empty() {
        copies = self::copies(group).into_iter().collect();
        for (a, b) in &group.pairs {
            copies.entry(*a.max(b)).or_default().push(*a.min(b));
        }
    }
    let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut steps = Vec::new();
    for (at, page) in group.pages.iter().enumerate() {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for key in page.document.searched_keys() {
            let holders = index.get(key).filter(|holders| holders.len() < COMMON);
            holders.into_iter().flatten().for_each(|it| *found.entry(*it).or_default() += 1);
        }
        let mut found: Vec<(usize, usize)> = found.into_iter().collect();
        found.sort_by_key(|(at, keys)| (usize::MAX - keys, *at));
        found.retain(|(it, _)| group.pages[*it].url != page.url);
        found.truncate(COMPARED);
        let check = checks.get(&at);
        let mut is_copy = false;
        let candidates: Vec<(usize, Label)> = found
            .into_iter()
            .map(|(it, _)| {
                let other = &group.pages[it];
                let label = match check {
                    Some((_, "new")) => Label::New,
                    Some((_, "dup" | "near" | "exact")) => Label::Copy,
                    Some((_, "not_exact" | "either")) => Label::Unknown,
                    Some((_, url)) => {
                        if other.url == *url {
                            Label::Copy
                        } else {
                            Label::Unknown
                        }
                    }
                    None if !group.checks.is_empty() => Label::Unknown,
                    None if copies.get(&at).is_some_and(|of| of.contains(&it)) => Label::Copy,
                    None if other.title != page.title && jaccard(page, other) < 0.5 => Label::New,
                    None => Label::Unknown,
                };
                (it, label)
            })
            .collect();
        let label = match check {
            // A page that comes after copies that a filter may have kept.
            Some((kind, _)) if kind.starts_with("late again") => Label::Unknown,
            Some((_, "new")) => Label::New,
            Some((_, "not_exact" | "either")) => Label::Unknown,
            Some(_) => Label::Copy,
            None if !group.checks.is_empty() => Label::Unknown,
            None if copies.contains_key(&at) => Label::Copy,
            None => Label::New,
        };
        is_copy |= label == Label::Copy;
        let kind = check.map_or("-", |(kind, _)| kind).to_owned();
        if !is_copy {
            for key in page.document.sketch().keys() {
                index.entry(*key).or_default().push(at);
            }
        }
        steps.push(Step { label, kind, candidates });
    }
    Stream { group, steps }
}

/// How many pages of a set and kind there are, are right, are wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    new: usize,
    wrong: usize,
    copies: usize,
    found: usize,
    /// Dropped for a page that is neither a copy nor another one by its label.
    unknown: usize,
}

type Table = BTreeMap<(String, String), Row>;

fn run<'a>(rule: &Rule, streams: impl Iterator<Item = &'a Stream<'a>>, show: bool) -> Table {
    let mut table = Table::new();
    for Stream { group, steps } in streams {
        let mut templates: HashMap<&str, Template> = HashMap::new();
        let none = Template::default();
        for (at, step) in steps.iter().enumerate() {
            let page = &group.pages[at];
            let template = |host: &str| templates.get(host).unwrap_or(&none);
            let mut near: Vec<(Comparison, Label, usize)> = Vec::new();
            if step.label != Label::Unknown {
                let mine = (page.document.sketch(), template(&page.host));
                for (it, label) in &step.candidates {
                    let other = &group.pages[*it];
                    let found =
                        compare(rule, mine, (other.document.sketch(), template(&other.host)));
                    if found.repeats(rule) || show {
                        near.push((found, *label, *it));
                    }
                }
            }
            let has = |wanted| {
                near.iter().any(|(found, label, _)| *label == wanted && found.repeats(rule))
            };
            let row = table.entry((group.set.clone(), step.kind.clone())).or_default();
            let (is_new, is_copy) = (step.label == Label::New, step.label == Label::Copy);
            row.new += usize::from(is_new);
            row.copies += usize::from(is_copy);
            let is_found = is_copy && has(Label::Copy);
            let is_wrong = is_new && has(Label::New);
            row.found += usize::from(is_found);
            row.wrong += usize::from(is_wrong);
            row.unknown += usize::from(is_new && !is_wrong && has(Label::Unknown));
            if show && (is_copy && !is_found || is_wrong) {
                println!("{} {} {:?} {}", group.name, step.kind, step.label, page.url);
                for (found, label, it) in near {
                    println!("    {label:?} {} {}", group.pages[it].url, shown(&found));
                }
            }
            if step.label != Label::Copy {
                templates.entry(&page.host).or_default().learn(page.document.sketch());
            }
        }
    }
    table
}

fn shown(found: &Comparison) -> String {
    let Comparison {
        similarity,
        shared,
        unshared: [a, b],
        factor,
        title,
        other_title,
        targets,
        ..
    } = found;
    format!(
        "{similarity:.3}: shared {shared:.1} unshared {a:.1} {b:.1} factor {factor:.2} title {title:.1} other {other_title:.2} targets {:.1} {:.1}",
        targets[0], targets[1]
    )
}

/// The streams on two threads.
fn run_all(rule: &Rule, streams: &[Stream<'_>]) -> Table {
    let mut table = Table::new();
    let parts: Vec<Table> = thread::scope(|scope| {
        let one = scope.spawn(|| run(rule, streams.iter().step_by(2), false));
        let other = run(rule, streams.iter().skip(1).step_by(2), false);
        vec![one.join().expect("no panic"), other]
    });
    for (key, row) in parts.into_iter().flatten() {
        let sum: &mut Row = table.entry(key).or_default();
        sum.new += row.new;
        sum.wrong += row.wrong;
        sum.copies += row.copies;
        sum.found += row.found;
        sum.unknown += row.unknown;
    }
    table
}

/// What the errors cost. A page that is dropped wrongly costs four times as much as a copy that is kept, one that is dropped for a page of half its text twice as
/// much. A kind of many pages counts as one of 500.
fn loss(table: &Table) -> f64 {
    let cost = |part: usize, all: usize| {
        if all == 0 { 0.0 } else { part as f64 * (500.0 / all as f64).min(1.0) }
    };
    let of = |row: &Row| {
        cost(row.copies - row.found, row.copies)
            + 4.0 * cost(row.wrong, row.new)
            + 2.0 * cost(row.unknown, row.new)
    };
    table.values().map(of).sum()
}

fn print(table: &Table) {
    for ((set, kind), Row { new, wrong, copies, found, unknown }) in table {
        if new + copies > 0 {
            println!(
                "{set:<18} {kind:<34} new {new:>5} wrong {wrong:>4} unknown {unknown:>4}   copies {copies:>5} found {found:>5}"
            );
        }
    }
}

pub(crate) fn score(rule: Rule, files: &[String], show: bool) {
    let groups = read(files);
    let streams = streams(&groups);
    let table = if show { run(&rule, streams.iter(), true) } else { run_all(&rule, &streams) };
    print(&table);
    println!("loss {:.1}", loss(&table));
}

/// The values that are tried of a number: its multiples by these.
const GRID: [f64; 6] = [0.5, 0.7, 0.85, 1.15, 1.4, 2.0];

pub(crate) fn fit(mut rule: Rule, given: &[&str], files: &[String]) {
    let groups = read(files);
    let streams = streams(&groups);
    let mut best = loss(&run_all(&rule, &streams));
    println!("before: loss {best:.1}");
    for round in 1..=3 {
        let before = best;
        let numbers = numbers_of(rule).into_iter();
        for (name, number) in numbers.filter(|(name, _)| !given.contains(&name.as_str())) {
            for factor in GRID {
                let tried = with(
                    rule,
                    &name,
                    if name == "similarity" {
                        1.0 - (1.0 - number) * factor
                    } else {
                        number * factor
                    },
                );
                let found = loss(&run_all(&tried, &streams));
                if found < best - 0.05 {
                    (best, rule) = (found, tried);
                    println!(
                        "{round} {name} {:?}: loss {best:.1}",
                        numbers_of(rule).iter().find(|it| it.0 == name).map(|it| it.1)
                    );
                }
            }
        }
        if before - best < 0.5 {
            break;
        }
    }
    print(&run_all(&rule, &streams));
    numbers_of(rule).iter().for_each(|(name, number)| println!("{name:<16} {number:.4}"));
    println!("loss {best:.1}");
}

pub(crate) fn sensitivity(rule: Rule, files: &[String]) {
    let groups = read(files);
    let streams = streams(&groups);
    let line = |rule: Rule| {
        let table = run_all(&rule, &streams);
        let wrong: usize = table.values().map(|row| row.wrong).sum();
        let missed: usize = table.values().map(|row| row.copies - row.found).sum();
        format!("{:.1} ({wrong} wrong, {missed} missed)", loss(&table))
    };
    println!("loss {}", line(rule));
    for (name, number) in numbers_of(rule) {
        let of = |factor: f64| line(with(rule, &name, number * factor));
        println!(
            "{name:<16} {number:<8.4} -10 %: {}   +10 %: {}   half: {}   double: {}",
            of(0.9),
            of(1.1),
            of(0.5),
            of(2.0)
        );
    }
}
