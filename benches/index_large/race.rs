//! Who answers queries, taking turns.

use std::hint::black_box;

use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Candidate, Index},
};

use crate::{
    baseline::Baseline,
    measure::turns::{Spread, cpu, ratio},
    window::{Question, Window},
};

pub(crate) const BATCH: usize = 32;
/// At least so many rounds, and for so many seconds: longer than most of what disturbs a shared machine.
const ROUNDS: usize = 40;
const RACE: f64 = 8.0;
/// Seconds for which each is asked before.
const WARM: f64 = 3.0;
/// About as long, in seconds, each is asked at a time, and how many questions at the most and at the least.
const TURN: f64 = 0.01;
const MOST: u64 = 8192;
const LEAST: u64 = 8;

/// Answers queries one by one, or some together, and says how many of the planted it missed, if it tells what it found.
pub(crate) trait Answers {
    fn answer(&mut self, questions: &[Question], radius: u32) -> Option<u64>;
}

pub(crate) struct OneByOne<'a>(pub(crate) &'a BlockIndex, pub(crate) Vec<Candidate>);
pub(crate) struct Together<'a>(pub(crate) &'a BlockIndex, pub(crate) Vec<Vec<Candidate>>);

fn missed(id: Option<u64>, found: &[Candidate]) -> u64 {
    id.map_or(0, |id| u64::from(!found.iter().any(|candidate| candidate.id == DocId(id))))
}

impl Answers for OneByOne<'_> {
    fn answer(&mut self, questions: &[Question], radius: u32) -> Option<u64> {
        let Self(index, found) = self;
        let mut ask = |&(query, id): &Question| {
            index.candidates(query, radius, found);
            missed(id, found)
        };
        Some(questions.iter().map(&mut ask).sum())
    }
}

impl Answers for Together<'_> {
    fn answer(&mut self, questions: &[Question], radius: u32) -> Option<u64> {
        let Self(index, found) = self;
        let mut ask = |questions: &[Question]| {
            let queries: Vec<Fingerprint> = questions.iter().map(|&(query, _)| query).collect();
            index.candidates_of_all(&queries, radius, found);
            questions.iter().zip(&*found).map(|(&(_, id), found)| missed(id, found)).sum::<u64>()
        };
        Some(questions.chunks(BATCH).map(&mut ask).sum())
    }
}

/// The plain scheme, which counts what it finds and does not tell, with so many queries at a time.
pub(crate) struct Plain<'a>(pub(crate) &'a Baseline, pub(crate) usize, pub(crate) Vec<u64>);

impl Answers for Plain<'_> {
    fn answer(&mut self, questions: &[Question], radius: u32) -> Option<u64> {
        let Self(plain, together, queries) = self;
        for questions in questions.chunks(*together) {
            queries.clear();
            queries.extend(questions.iter().map(|(query, _)| query.0));
            black_box(plain.count_all(queries, radius));
        }
        None
    }
}

/// What came of a race: nanoseconds per query of each in each round, and what was missed of how much.
pub(crate) struct Outcome {
    times: Vec<Vec<f64>>,
    pub(crate) missed: u64,
    pub(crate) planted: u64,
}

impl Outcome {
    pub(crate) fn median(&self, racer: usize) -> f64 {
        Spread::of(self.times[racer].iter().copied()).median
    }

    /// How many times as long one takes as another.
    pub(crate) fn ratio(&self, one: usize, other: usize) -> f64 {
        ratio(&self.times[one], &self.times[other]).median
    }

    /// The same of the rounds in which each was quickest, when nobody disturbed it.
    pub(crate) fn undisturbed(&self, one: usize, other: usize) -> f64 {
        let least = |racer: usize| Spread::of(self.times[racer].iter().copied()).least;
        least(one) / least(other)
    }
}

/// Asks all of them in turn, each time something else. Before its first turn each is asked for a while, until its memory, which nobody may have
/// touched for a minute, is at hand again; and before each turn a quarter more, for the others left other things in the caches.
pub(crate) fn race(window: &Window, radius: u32, racers: &mut [Box<dyn Answers + '_>]) -> Outcome {
    let mut asked = Asked { window, radius, next: 0, missed: 0, planted: 0 };
    let mut times = vec![Vec::new(); racers.len()];
    let counts: Vec<u64> = racers.iter_mut().map(|racer| asked.warm_up(racer.as_mut())).collect();
    let begin = cpu();
    for round in (0..).take_while(|&round| round < ROUNDS || cpu() - begin < RACE) {
        // Who comes first changes.
        for turn in 0..racers.len() {
            let turn = (turn + round) % racers.len();
            asked.ask(racers[turn].as_mut(), counts[turn] / 4);
            times[turn].push(asked.ask(racers[turn].as_mut(), counts[turn]) * 1e9);
        }
    }
    Outcome { times, missed: asked.missed, planted: asked.planted }
}

/// What has been asked, and what was missed of it.
struct Asked<'a> {
    window: &'a Window<'a>,
    radius: u32,
    next: u64,
    /// Of those who tell what they find.
    missed: u64,
    planted: u64,
}

impl Asked<'_> {
    /// Asks so many questions. Seconds that each took.
    fn ask(&mut self, racer: &mut dyn Answers, count: u64) -> f64 {
        let numbers = self.next..self.next + count;
        let questions: Vec<Question> =
            numbers.map(|i| self.window.question(i, self.radius)).collect();
        self.next += count;
        let before = cpu();
        let missed = racer.answer(&questions, self.radius);
        let taken = cpu() - before;
        if let Some(missed) = missed {
            self.missed += missed;
            self.planted += questions.iter().filter(|(_, id)| id.is_some()).count() as u64;
        }
        taken / count as f64
    }

    /// Asks for so long. How many questions make a turn.
    fn warm_up(&mut self, racer: &mut dyn Answers) -> u64 {
        let (begin, mut count) = (cpu(), LEAST);
        while cpu() - begin < WARM {
            let each = self.ask(racer, count);
            count = ((TURN / each) as u64).clamp(LEAST, MOST).next_multiple_of(LEAST);
        }
        count
    }
}
