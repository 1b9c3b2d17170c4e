//! The index beside that of an earlier revision. Arguments: a file of texts (English and Chinese), entries, radius, and bytes per entry (120).
#![allow(clippy::print_stdout, reason = "it is a program that prints figures")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded"
)]

#[path = "../../measure/mod.rs"]
mod measure;
#[allow(dead_code, reason = "random fingerprints are not compared")]
#[path = "../../index_large/source.rs"]
mod source;
#[path = "../../index_large/window.rs"]
mod window;

use std::{env, path::Path};

use measure::turns::{Spread, cpu, ratio};
use source::Source;
use window::{Window, replaced, resident};

/// Rounds of queries, and the queries of a turn.
const ROUNDS: usize = 60;
const QUERIES: u64 = 2_000;
/// Steps (look-up, expiry, insertion) of each, and how many make a turn.
const STEPS: usize = 200_000;
const STEPS_OF_TURN: usize = 5_000;

/// Ids as a filter gives them: every fifth document is a duplicate and does not enter.
fn id(place: u64) -> u64 {
    place + place / 4
}

/// What is asked of both revisions.
trait Revision {
    fn insert(&mut self, place: u64, fingerprint: u64);
    fn expire(&mut self, place: u64);
    /// Returns how many it finds.
    fn query(&mut self, fingerprint: u64, radius: u32) -> usize;
}

macro_rules! revision {
    ($name:ident, $library:ident, $layout:ident, $with:ident, $choose:expr) => {
        mod $name {
            use $library::index::{BlockIndex, Candidate, Index as _, $layout};

            pub(crate) struct Revision(BlockIndex, Vec<Candidate>);

            pub(crate) fn new(radius: u32, entries: u64, budget: u64) -> Revision {
                let choose: fn(u32, u64, u64) -> $layout = $choose;
                let index = BlockIndex::$with(choose(radius, entries, budget));
                Revision(index.expect("there is memory"), Vec::new())
            }

            impl super::Revision for Revision {
                fn insert(&mut self, place: u64, fingerprint: u64) {
                    let id = $library::DocId(super::id(place));
                    self.0.insert(id, $library::Fingerprint(fingerprint));
                }

                fn expire(&mut self, place: u64) {
                    self.0.expire($library::DocId(super::id(place)));
                }

                fn query(&mut self, fingerprint: u64, radius: u32) -> usize {
                    self.0.candidates($library::Fingerprint(fingerprint), radius, &mut self.1);
                    self.1.len()
                }
            }
        }
    };
}

revision!(now, pagesieve, TableLayout, with_layout, |radius, entries, budget| {
    TableLayout::choose(radius, entries, budget).expect("the budget is enough")
});
revision!(before, earlier, Plan, with_plan, |radius, entries, budget| {
    use earlier::index::Spread;
    Plan::choose_for(Spread::Texts, radius, entries, budget).expect("the budget is enough")
});

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |place: usize, default: u64| {
        arguments.get(place).map_or(default, |text| text.parse().expect("a number"))
    };
    let file = arguments.first().expect("the first argument is a file of texts");
    let source = Source::of_texts(Path::new(file), &["en", "zh"]);
    let (entries, radius) = (number(1, 1_000_000), number(2, 9) as u32);
    let budget = number(3, 120) * entries;
    let mut revisions: [(&str, Box<dyn Revision>); 2] = [
        ("now", Box::new(now::new(radius, entries, budget))),
        ("before", Box::new(before::new(radius, entries, budget))),
    ];
    for (name, index) in &mut revisions {
        fill(name, index.as_mut(), &source, entries);
    }
    race(&mut revisions, &Window::rolled(&source, entries), radius);
    steps(&mut revisions, &Window::rolled(&source, entries), radius);
}

/// Fills a window, one document at a time, and replaces a part of it.
fn fill(name: &str, index: &mut dyn Revision, source: &Source, entries: u64) {
    let (before, mut longest) = (resident(), 0_f64);
    let begin = cpu();
    for place in 1..=entries {
        let fingerprint = source.fingerprint(place);
        let start = cpu();
        index.insert(place, fingerprint);
        longest = longest.max(cpu() - start);
    }
    let insert = (cpu() - begin) * 1e9 / entries as f64;
    let (replaced, begin) = (replaced(entries), cpu());
    for place in entries + 1..=entries + replaced {
        index.expire(place - entries + 1);
        index.insert(place, source.fingerprint(place));
    }
    let roll = (cpu() - begin) * 1e9 / replaced as f64;
    let (bytes, longest) = ((resident() - before) / entries as f64, longest * 1e3);
    println!(
        "{name:6}  insert {insert:.0} ns (longest {longest:.1} ms), insert + expire {roll:.0} ns, {bytes:.1} bytes an entry"
    );
}

/// Queries, taking turns.
fn race(revisions: &mut [(&str, Box<dyn Revision>); 2], window: &Window, radius: u32) {
    let (mut times, mut found) = ([const { Vec::new() }; 2], [0; 2]);
    for round in 0..ROUNDS {
        let numbers = (round as u64 * QUERIES)..(round as u64 + 1) * QUERIES;
        let questions: Vec<_> = numbers.map(|i| window.question(i, radius).0.0).collect();
        for turn in 0..2 {
            let turn = (turn + round) % 2;
            let begin = cpu();
            let results = questions.iter().map(|&query| revisions[turn].1.query(query, radius));
            found[turn] += results.sum::<usize>();
            times[turn].push((cpu() - begin) * 1e9 / QUERIES as f64);
        }
    }
    let median = |times: &[f64]| Spread::of(times.iter().copied()).median;
    println!(
        "query   now {:.0} ns, before {:.0} ns, ratio {}; they find {} and {}",
        median(&times[0]),
        median(&times[1]),
        ratio(&times[0], &times[1]).show(2),
        found[0],
        found[1]
    );
}

/// Steps of a rolling window, taking turns.
fn steps(revisions: &mut [(&str, Box<dyn Revision>); 2], window: &Window, radius: u32) {
    let mut taken = [const { Vec::new() }; 2];
    for round in 0..STEPS / STEPS_OF_TURN {
        for turn in 0..2 {
            let turn = (turn + round) % 2;
            for i in round * STEPS_OF_TURN..(round + 1) * STEPS_OF_TURN {
                let next = window.first + window.entries + i as u64;
                let rolled = Window { first: next - window.entries, ..*window };
                let query = rolled.question(i as u64, radius).0.0;
                let (index, fingerprint) = (&mut revisions[turn].1, window.source.fingerprint(next));
                let begin = cpu();
                index.query(query, radius);
                index.expire(next - window.entries + 1);
                index.insert(next, fingerprint);
                taken[turn].push((cpu() - begin) * 1e6);
            }
        }
    }
    for ((name, _), mut taken) in revisions.iter().zip(taken) {
        taken.sort_by(f64::total_cmp);
        let at = |share: f64| taken[(taken.len() as f64 * share) as usize];
        println!(
            "{name:6}  step: p50 {:.1} µs, p99 {:.1} µs, p99.9 {:.1} µs, longest {:.0} µs",
            at(0.5),
            at(0.99),
            at(0.999),
            taken[taken.len() - 1]
        );
    }
}
