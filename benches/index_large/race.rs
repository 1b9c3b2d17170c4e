//! Queries of the index and of a scan, taking turns.

use std::hint::black_box;

use pagesieve::{
    DocId,
    index::{BlockIndex, Index},
};

use crate::{
    measure::turns::{Spread, cpu, ratio},
    window::{Question, Window},
};

/// The fewest rounds, and the fewest seconds: longer than most of what disturbs a shared machine.
const ROUNDS: usize = 40;
const RACE: f64 = 8.0;
/// Seconds for which each answers before.
const WARM: f64 = 2.0;
/// The length of a turn in seconds, and the most and the fewest questions of one.
const TURN: f64 = 0.01;
const MOST: u64 = 8192;
const LEAST: u64 = 8;

/// Answers questions, and returns how many of the planted documents it missed.
type Racer<'a> = Box<dyn FnMut(&[Question]) -> u64 + 'a>;

/// Prints how long queries take and how many times as long a scan takes.
pub(crate) fn race(index: &BlockIndex, window: &Window, radius: u32, with_scan: bool) {
    let mut found = Vec::new();
    let mut racers: Vec<Racer> = vec![Box::new(move |questions| {
        let ask = |&(query, id): &Question| {
            index.candidates(query, radius, &mut found);
            id.map_or(0, |id| u64::from(!found.iter().any(|found| found.id == DocId(id))))
        };
        questions.iter().map(ask).sum()
    })];
    if with_scan {
        let ids = window.first..window.first + window.entries;
        let all: Vec<u64> = ids.map(|id| window.source.fingerprint(id)).collect();
        racers.push(Box::new(move |questions| {
            for (query, _) in questions {
                black_box(scan(&all, query.0, radius));
            }
            0
        }));
    }
    let (mut asked, mut times) = (Asked::default(), vec![Vec::new(); racers.len()]);
    let counts: Vec<u64> =
        racers.iter_mut().map(|racer| asked.warm_up(racer, window, radius)).collect();
    let begin = cpu();
    for round in (0..).take_while(|&round| round < ROUNDS || cpu() - begin < RACE) {
        // Who comes first changes. A quarter more is asked before each turn: the other left other things in the caches.
        for turn in 0..racers.len() {
            let turn = (turn + round) % racers.len();
            asked.ask(&mut racers[turn], counts[turn] / 4, window, radius);
            times[turn].push(asked.ask(&mut racers[turn], counts[turn], window, radius) * 1e9);
        }
    }
    let median = |racer: usize| Spread::of(times[racer].iter().copied()).median;
    println!("  query {:.0} ns; {} missed of {}", median(0), asked.missed, asked.planted);
    if with_scan {
        let times_as_long = ratio(&times[1], &times[0]).median;
        println!("  scan {:.0} ns, {times_as_long:.1} times as long", median(1));
    }
}

/// Counts the fingerprints within the radius, with the instructions that the processor has.
fn scan(all: &[u64], query: u64, radius: u32) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,popcnt,bmi1")]
        fn with_avx2(all: &[u64], query: u64, radius: u32) -> usize {
            count(all, query, radius)
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            #[expect(unsafe_code, reason = "the instructions were detected")]
            // SAFETY: as said.
            return unsafe { with_avx2(all, query, radius) };
        }
    }
    count(all, query, radius)
}

#[expect(clippy::inline_always, reason = "part of what is compiled for an instruction set")]
#[inline(always)]
fn count(all: &[u64], query: u64, radius: u32) -> usize {
    all.iter().filter(|&word| (word ^ query).count_ones() <= radius).count()
}

/// What has been asked, and what the index missed of it.
#[derive(Default)]
struct Asked {
    next: u64,
    missed: u64,
    planted: u64,
}

impl Asked {
    /// Asks `count` questions. Returns the seconds that each took.
    fn ask(&mut self, racer: &mut Racer, count: u64, window: &Window, radius: u32) -> f64 {
        let numbers = self.next..self.next + count;
        let questions: Vec<Question> = numbers.map(|i| window.question(i, radius)).collect();
        self.next += count;
        let before = cpu();
        self.missed += racer(&questions);
        let taken = cpu() - before;
        self.planted += questions.iter().filter(|(_, id)| id.is_some()).count() as u64;
        taken / count as f64
    }

    /// Asks for a while, and returns how many questions make a turn.
    fn warm_up(&mut self, racer: &mut Racer, window: &Window, radius: u32) -> u64 {
        let (begin, mut count) = (cpu(), LEAST);
        while cpu() - begin < WARM {
            let each = self.ask(racer, count, window, radius);
            count = ((TURN / each) as u64).clamp(LEAST, MOST).next_multiple_of(LEAST);
        }
        count
    }
}
