//! Judges each group with a filter of its own.

use std::collections::{BTreeMap, HashMap};

use pagesieve::{
    Filter,
    filter::{Kind, Rule},
};

use super::group::{Group, OnePage, jaccard, options, read};

/// How many there are, how many are right, and examples of others.
#[derive(Default)]
struct Row {
    all: usize,
    right: usize,
}

pub(crate) fn judge(rule: Rule, files: &[String], show: bool) {
    let groups = read(files);
    let mut table: BTreeMap<(String, String), Row> = BTreeMap::new();
    for group in &groups {
        let found = verdicts(rule, group);
        let mut count = |kind: &str, right: bool, at: usize| {
            let row = table.entry((group.set.clone(), kind.to_owned())).or_default();
            row.all += 1;
            row.right += usize::from(right);
            if show && !right {
                let of = found[at]
                    .map(|(of, similarity, _)| format!("{} {similarity:.3}", group.pages[of].url));
                println!(
                    "{}\t{kind}\t{}\t{}",
                    group.name,
                    group.pages[at].url,
                    of.unwrap_or_default()
                );
            }
        };
        for (at, kind, want) in &group.checks {
            let of = found[*at].map(|(of, ..)| group.pages[of].url.as_str());
            let is_exact = found[*at].is_some_and(|(.., kind)| kind == Kind::Exact);
            let right = match want.as_str() {
                "new" => of.is_none(),
                "dup" | "near" => of.is_some(),
                "exact" => is_exact,
                "not_exact" => !is_exact,
                "either" => continue,
                url => of == Some(url),
            };
            count(kind, right, *at);
        }
        for (a, b) in &group.pairs {
            let [of_a, of_b] = [a, b].map(|at| found[*at].map(|(of, ..)| of));
            let right = of_a == Some(*b) || of_b == Some(*a) || of_a.is_some() && of_a == of_b;
            count("pairs found", right, *a.max(b));
        }
        if group.checks.is_empty() {
            for (at, found) in found.iter().enumerate() {
                let Some((of, ..)) = found else { continue };
                let (a, b) = (&group.pages[at], &group.pages[*of]);
                let (similarity, titles) = (jaccard(a, b), a.title != b.title);
                count("dropped: J >= 0.5, or one title", similarity >= 0.5 || !titles, at);
                if titles {
                    count("dropped under another title: J >= 0.9", similarity >= 0.9, at);
                }
            }
            for (at, earlier) in copies(group) {
                let is_found = found[at].is_some() || earlier.iter().any(|it| found[*it].is_some());
                count("J >= 0.9, 100 words, one title: found", is_found, at);
            }
        }
    }
    for ((set, kind), Row { all, right }) in table {
        println!("{set:<18} {kind:<42} {right:>5} of {all:>5}  {:.4}", right as f64 / all as f64);
    }
}

/// The page that each page repeats, if any.
fn verdicts(rule: Rule, group: &Group) -> Vec<Option<(usize, f32, Kind)>> {
    let mut options = options();
    options.rule = rule;
    let mut filter = Filter::new(&options).expect("the options are valid");
    let mut ids = HashMap::new();
    let judged = group.pages.iter().enumerate().map(|(at, page)| {
        let judgement = filter.judge(&page.document).expect("the filter made it");
        ids.insert(judgement.id, at);
        judgement.verdict.matched().map(|found| (ids[&found.of], found.similarity, found.kind))
    });
    judged.collect()
}

/// The pages of 100 words and more that have the body text and the title of earlier ones. Not those of a paged list (`/page/2`), of which extraction may take a box
/// that all of them have.
pub(crate) fn copies(group: &Group) -> Vec<(usize, Vec<usize>)> {
    let mut by_title: HashMap<&str, Vec<(usize, &OnePage)>> = HashMap::new();
    let mut copies = Vec::new();
    for (at, page) in group
        .pages
        .iter()
        .enumerate()
        .filter(|(_, page)| page.words >= 100 && !page.url.contains("/page/"))
    {
        let known = by_title.entry(&page.title).or_default();
        let same =
            known.iter().filter(|(_, other)| other.url != page.url && jaccard(page, other) >= 0.9);
        let same: Vec<usize> = same.map(|(at, _)| *at).collect();
        if !same.is_empty() {
            copies.push((at, same));
        }
        known.push((at, page));
    }
    copies
}
