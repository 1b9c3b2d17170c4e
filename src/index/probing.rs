//! Where several queries look, one bucket after the other, and what is asked of memory before they do.

#![expect(
    clippy::inline_always,
    reason = "it becomes part of a search that is compiled for each instruction set"
)]
#![expect(clippy::cast_possible_truncation, reason = "few buckets are read at a time")]

use super::{
    blocks::{Blocks, Place},
    format::Format,
    search::Query,
    view::View,
};

/// What is looked for in a bucket. (Whole words, so that copies are read as they were written.)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sought {
    pub(super) query: u32,
    /// The part of the fingerprint with which entries are compared.
    pub(super) rest: u32,
    /// The place of the step in the list.
    pub(super) step: u32,
    /// How many of the first bits may differ, and how many of all.
    pub(super) near: u32,
    pub(super) allowed: u32,
    /// Whether all are compared.
    pub(super) both: u32,
}

/// The buckets of a step of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) sought: Sought,
    pub(super) table: Place,
    /// Lines that are asked for of each bucket.
    lines: u32,
    /// Where its buckets are in the list of all.
    from: usize,
    until: usize,
}

/// Buckets that are planned at a time.
const AT_ONCE: usize = 2048;
/// Lines that are under way, and how many are read at a time.
const LINES_AHEAD: u32 = 32;
const LINES_AT_ONCE: u32 = 16;
/// In how many of the lines to come the first of each bucket is under way. It is asked for before the others: to find where a page of
/// memory lies takes the processor longer than a line, and it finds several at a time, but not for several lines of the same page.
const FIRST_AHEAD: u32 = 64;
/// At least so many lines are asked for right behind each other, where steps look into few buckets: with work between them the processor
/// would find one page of memory at a time.
const ASKED_AT_ONCE: u32 = 8;

/// All the buckets in which some queries look, in order. (To work them out while memory is asked for what is there takes longer: the
/// processor finds pages of memory side by side only if it is asked for them right behind each other.)
#[derive(Debug, Default)]
pub(super) struct Route {
    tasks: Vec<Task>,
    keys: Vec<u32>,
}

impl Route {
    /// For how many queries within a radius it is worth to plan at a time.
    pub(super) fn queries_at_once(buckets: usize) -> usize {
        (AT_ONCE / buckets.max(1)).max(1)
    }

    /// The way of these queries, the first of which has this number.
    #[inline(always)]
    pub(super) fn plan<F: Format>(&mut self, blocks: &Blocks<F>, queries: &[Query], first: u32) {
        self.tasks.clear();
        self.keys.clear();
        let radii = || queries.iter().map(|query| query.radius as usize);
        self.tasks.reserve(radii().map(|radius| blocks.steps[radius].len()).sum());
        self.keys.reserve(radii().map(|radius| blocks.probes[radius]).sum());
        for (query, number) in queries.iter().zip(first..) {
            let fingerprint = blocks.shuffle.of(query.fingerprint);
            let keys = blocks.keys_at_once.of(fingerprint);
            if queries.len() == 1 {
                // Who waits for one answer alone waits from here on: its own buckets are asked for right behind each other.
                for (table, key) in blocks.tables.iter().zip(keys) {
                    blocks.pages.prefetch_keys(table.start(key));
                }
            }
            let rests = blocks.rests_at_once.of(fingerprint);
            for (step, place) in blocks.steps[query.radius as usize].iter().zip(0..) {
                let (key, rest) = (keys[step.table], rests[step.table]);
                let table = blocks.tables[step.table];
                let from = self.keys.len();
                let patterns = blocks.keys[step.table].patterns(step.distance).iter();
                self.keys.extend(patterns.map(|pattern| key ^ pattern));
                let (near, allowed, both) = (step.near, step.allowed, u32::from(step.both));
                let compared = table.home.compared;
                self.tasks.push(Task {
                    sought: Sought { query: number, rest, step: place, near, allowed, both },
                    table,
                    lines: compared * (1 + both),
                    from,
                    until: self.keys.len(),
                });
            }
        }
    }

    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The buckets of a task, some at a time.
    #[inline(always)]
    pub(super) fn keys(&self, task: &Task) -> std::slice::Chunks<'_, u32> {
        // A shift: to divide would be a part of a query's time.
        let at_once = LINES_AT_ONCE >> task.lines.next_power_of_two().trailing_zeros();
        self.keys[task.from..task.until].chunks(at_once.max(1) as usize)
    }
}

/// How far along a route memory has been asked for what lies there.
pub(super) struct Ahead<'a, F> {
    route: &'a Route,
    view: View<'a, F>,
    first: Position,
    others: Position,
    /// Whether any bucket has others than a first.
    has_others: bool,
    /// Lines read for which no others have been asked for.
    due: u32,
}

/// A place on a route.
#[derive(Clone, Copy, Default)]
struct Position {
    task: usize,
    key: usize,
}

impl<'a, F: Format> Ahead<'a, F> {
    #[inline(always)]
    pub(super) fn new(route: &'a Route, blocks: &Blocks<F>, view: View<'a, F>) -> Self {
        let has_others = blocks.tables.iter().any(|table| table.home.compared > 1);
        let (first, others) = (Position::default(), Position::default());
        let mut ahead = Self { route, view, first, others, has_others, due: 0 };
        ahead.ask_first(FIRST_AHEAD);
        ahead.ask_others(LINES_AHEAD);
        ahead
    }

    /// So many buckets of a task are about to be read: asks for as much of what comes.
    #[inline(always)]
    pub(super) fn read(&mut self, task: &Task, buckets: usize) {
        self.due += buckets as u32 * task.lines;
        if self.due >= ASKED_AT_ONCE {
            let due = std::mem::take(&mut self.due);
            self.ask_first(due);
            self.ask_others(due);
        }
    }

    #[inline(always)]
    fn ask_first(&mut self, lines: u32) {
        let view = self.view;
        self.first.each(self.route, lines, |task, key| {
            view.prefetch(task.table.start(key), task.sought.both != 0);
        });
    }

    #[inline(always)]
    fn ask_others(&mut self, lines: u32) {
        if !self.has_others {
            return;
        }
        let view = self.view;
        self.others.each(self.route, lines, |task, key| {
            let start = task.table.start(key);
            let others = 1..task.table.home.compared;
            others.for_each(|line| view.prefetch(start + line, task.sought.both != 0));
        });
    }
}

impl Position {
    /// Goes over buckets of so many lines.
    #[inline(always)]
    fn each(&mut self, route: &Route, mut lines: u32, ask: impl Fn(&Task, u32)) {
        while lines > 0 {
            let Some(task) = route.tasks.get(self.task) else { return };
            for &key in &route.keys[self.key..task.until] {
                ask(task, key);
                self.key += 1;
                lines = lines.saturating_sub(task.lines);
                if lines == 0 {
                    break;
                }
            }
            self.task += usize::from(self.key == task.until);
        }
    }
}
