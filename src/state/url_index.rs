//! The known URLs and the queue, in memory, beside their rows.
//!
//! A page has a hundred links, to anywhere. An index in the file would change a page of the file for each of them. The rows of `urls` are added
//! in the order of their numbers, and one is changed only when its URL is fetched, put off or queued again. So what is written does not
//! depend on how many URLs are known. A start reads all rows once. Known URLs that turn out to be nearer to a seed are appended to a table
//! of their own: a page may have a hundred links to such URLs.

use std::collections::{HashMap, HashSet};

use rusqlite::Row;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    State, StateError,
    hosts::{HostId, SuspendCause},
    known_urls::{KnownUrl, KnownUrls, saturated},
    queue::{Late, Queue},
    reason::Reason,
    unsigned,
    urls::{NO_URL, NewUrl, UrlId, UrlOutcome, UrlRow, UrlState, Visit, read_state},
};
use crate::page::Timestamp;

/// The group of late URLs in the state that have waited for another one of the same page; others are numbers of patterns.
const WAITED: u32 = 0;

/// As many URLs can be queued again before another one is found, without a loss of their order.
const TURNS: i64 = 1 << 20;

/// A URL that was taken out of its host's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The URL.
    pub(crate) url: UrlRow,
    /// What is known of its page, if it was judged: then it is asked whether it has changed.
    pub(crate) visit: Option<Box<Visit>>,
}

impl Queued {
    /// Its host and its number.
    pub(crate) fn key(&self) -> (HostId, UrlId) {
        (self.url.host, self.url.id)
    }
}

/// URLs that wait, while the queue is loaded: the place of each among all, its host and its number.
#[derive(Debug, Default)]
struct Waiting {
    urls: Vec<(i64, u32, u32)>,
    late: Vec<(i64, HostId, UrlId, Late)>,
}

/// The known URLs and the queue.
#[derive(Debug)]
pub(crate) struct UrlIndex {
    hash_seed: u64,
    known: KnownUrls,
    /// Those that wait. What changes here only, the state says in another way.
    pub(crate) queue: Queue,
    /// How many URLs have no outcome yet: they are in the queue, in flight, or to be asked again.
    open: u64,
    /// How many are deferred by what was learnt.
    deferred: u64,
    /// The last turn that a URL was given which was queued again.
    last_turn: i64,
    /// The URLs whose depth has changed since the last commit, and is not in their rows: numbers and depths.
    nearer: Vec<u8>,
}

/// The place of a URL in the order of all that wait, if it waits since it was found.
fn turn_when_found(id: UrlId) -> i64 {
    id.0.saturating_mul(TURNS)
}

impl UrlIndex {
    /// Loads what the state knows.
    ///
    /// # Errors
    /// If SQLite fails or the rows make no sense.
    pub(crate) fn load(state: &State) -> Result<Self, StateError> {
        let suspended = state.suspended_hosts()?.into_iter().map(|host| host.host);
        let mut this = Self {
            hash_seed: hash_seed(state)?,
            known: KnownUrls::default(),
            queue: Queue::new(state.ranks()?, suspended),
            open: 0,
            deferred: 0,
            last_turn: 0,
            nearer: Vec::new(),
        };
        let waiting = this.load_rows(state)?;
        for (id, depth) in state.depths()? {
            if !this.known.set_depth(id, depth) {
                return Err(NO_URL);
            }
        }
        this.fill_queue(state, waiting)?;
        Ok(this)
    }

    /// Reads all rows, and returns those that wait.
    fn load_rows(&mut self, state: &State) -> Result<Waiting, StateError> {
        const NO_HOST: StateError = StateError::Damaged("the host of a URL is missing");
        let hash_seed = self.hash_seed;
        let read = |row: &Row<'_>| {
            let hash = hash(hash_seed, row.get_ref(1)?.as_str()?);
            let (late, turn) = (row.get::<_, Option<u32>>(5)?, row.get::<_, Option<i64>>(6)?);
            Ok((
                row.get::<_, u32>(0)?,
                HostId(row.get(2)?),
                (hash, row.get(3)?, read_state(row)?),
                late,
                turn,
            ))
        };
        let sql = "SELECT id, url, host, depth, state, late, turn FROM urls ORDER BY id";
        let mut waiting = Waiting::default();
        state.each(sql, [], read, |(number, host, (hash, depth, url_state), late, turn)| {
            let id = UrlId(i64::from(number));
            if self.known.push(hash, depth, url_state) != Some(id) {
                return Err(StateError::Damaged("the numbers of URLs have a gap"));
            }
            self.last_turn = self.last_turn.max(turn.unwrap_or_default());
            self.deferred += u64::from(is_deferred(url_state));
            if url_state != UrlState::Queued {
                return Ok(());
            }
            self.open += 1;
            self.queue.rank(host).ok_or(NO_HOST)?;
            let turn = turn.unwrap_or(turn_when_found(id));
            match late {
                None => {
                    waiting.urls.push((turn, u32::try_from(host.0).map_err(|_| NO_HOST)?, number));
                }
                Some(WAITED) => waiting.late.push((turn, host, id, Late::Waited)),
                Some(group) => waiting.late.push((turn, host, id, Late::Pattern(group))),
            }
            Ok(())
        })?;
        Ok(waiting)
    }

    /// Fills the queue in the order in which URLs wait; those that got no answer come first.
    fn fill_queue(&mut self, state: &State, mut waiting: Waiting) -> Result<(), StateError> {
        waiting.urls.sort_unstable();
        waiting.late.sort_unstable_by_key(|it| it.0);
        let tried: HashSet<UrlId> = state.attempts()?.iter().map(|(url, ..)| *url).collect();
        for is_first in [true, false] {
            for &(_, host, id) in &waiting.urls {
                let (host, id) = (HostId(host.into()), UrlId(id.into()));
                if tried.contains(&id) == is_first {
                    self.queue.push(host, id);
                }
            }
        }
        for (_, host, id, group) in waiting.late {
            self.queue.push_late(host, group, id);
        }
        Ok(())
    }

    /// Writes what has changed since the last call and is not in the rows, as part of the open transaction.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn commit(&mut self, state: &State) -> Result<(), StateError> {
        if !self.nearer.is_empty() {
            state.execute("INSERT INTO nearer VALUES (NULL, ?)", [&self.nearer])?;
            self.nearer.clear();
        }
        Ok(())
    }

    /// What is known of a URL in normal form.
    pub(crate) fn find(&self, url: &str) -> Option<KnownUrl> {
        self.known.find(hash(self.hash_seed, url))
    }

    /// How many URLs have no outcome yet.
    pub(crate) fn open(&self) -> u64 {
        self.open
    }

    /// How many of them wait at suspended hosts.
    pub(crate) fn suspended(&self) -> u64 {
        self.queue.suspended().map(|(_, urls)| urls as u64).sum()
    }

    /// How many URLs are deferred by what was learnt.
    pub(crate) fn deferred(&self) -> u64 {
        self.deferred
    }

    /// How many links the URL is from its seed.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn depth(&self, id: UrlId) -> Result<u32, StateError> {
        Ok(self.known.get(id).ok_or(NO_URL)?.0)
    }

    /// Enters a URL that is not known yet, and puts it in the queue if it waits.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn add(
        &mut self,
        state: &State,
        new: &NewUrl<'_>,
        late: Option<Late>,
    ) -> Result<UrlId, StateError> {
        let hash = hash(self.hash_seed, new.url);
        let id = self.known.push(hash, new.depth, new.state);
        let id = id.ok_or(StateError::TooManyUrls)?;
        state.add_url(id, new, late.map(group_number))?;
        if new.state == UrlState::Queued {
            self.open += 1;
            self.enter(new.host, id, late);
        }
        Ok(id)
    }

    /// Puts a URL in the queue that had been skipped, for a seed and at a depth.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn requeue(
        &mut self,
        state: &State,
        row: &UrlRow,
        seed: usize,
        late: Option<Late>,
    ) -> Result<(), StateError> {
        state.revive_url(row, seed)?;
        self.set_state(row.id, UrlState::Queued)?;
        self.set_depth(row.id, row.depth)?;
        self.put(state, row.host, row.id, late)
    }

    fn set_state(&mut self, id: UrlId, now: UrlState) -> Result<(), StateError> {
        let (_, before) = self.known.get(id).ok_or(NO_URL)?;
        self.known.set_state(id, now);
        self.open += u64::from(now == UrlState::Queued);
        self.open -= u64::from(before == UrlState::Queued);
        self.deferred += u64::from(is_deferred(now));
        self.deferred -= u64::from(is_deferred(before));
        Ok(())
    }

    /// Puts a URL that is in no queue at the end of its host's; with a group, among the late ones.
    ///
    /// # Errors
    /// If SQLite fails, or there is no such URL.
    pub(crate) fn put(
        &mut self,
        state: &State,
        host: HostId,
        url: UrlId,
        late: Option<Late>,
    ) -> Result<(), StateError> {
        self.last_turn =
            (self.last_turn + 1).max(turn_when_found(UrlId(self.known.len().into())) + 1);
        state.set_turn(url, late.map(group_number), self.last_turn)?;
        self.enter(host, url, late);
        Ok(())
    }

    /// Enters a URL at the end of its queue, as its row says.
    fn enter(&mut self, host: HostId, url: UrlId, late: Option<Late>) {
        match late {
            Some(group) => self.queue.push_late(host, group, url),
            None => self.queue.push(host, url),
        }
    }

    /// Takes the first URL of a host's queue out.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn take(
        &mut self,
        state: &State,
        host: HostId,
    ) -> Result<Option<Queued>, StateError> {
        let Some(id) = self.queue.pop(host) else { return Ok(None) };
        let url = UrlRow { depth: self.depth(id)?, ..state.url(id)? };
        let visit = state.visit(id)?.map(Box::new);
        Ok(Some(Queued { url, visit }))
    }

    /// Says what has become of a URL.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn record_outcome(
        &mut self,
        state: &State,
        id: UrlId,
        outcome: &UrlOutcome<'_>,
    ) -> Result<(), StateError> {
        state.set_url_state(id, self.depth(id)?, outcome)?;
        self.set_state(id, outcome.state)
    }

    /// Says how many links a URL is from its seed, by what is known now. Its row says so when its outcome is recorded.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn set_depth(&mut self, id: UrlId, depth: u32) -> Result<(), StateError> {
        let number = u32::try_from(id.0).map_err(|_| NO_URL)?;
        if !self.known.set_depth(id, depth) {
            return Err(NO_URL);
        }
        self.nearer.extend_from_slice(&number.to_le_bytes());
        self.nearer.extend_from_slice(&saturated(depth).to_le_bytes());
        Ok(())
    }

    /// Takes all URLs out of the queue that do not wait any more.
    pub(crate) fn dequeue_settled(&mut self) {
        let Self { known, queue, .. } = self;
        queue.retain(|id| known.get(id).is_some_and(|(_, state)| state == UrlState::Queued));
    }

    /// How many URLs are queued, and some of them, at most `most`, evenly distributed in the order in which they were found.
    pub(crate) fn sample_queued(&self, most: usize) -> (usize, Vec<UrlId>) {
        let is_queued =
            |id: &UrlId| self.known.get(*id).is_some_and(|(_, state)| state == UrlState::Queued);
        let queued = || (0..=self.known.len()).map(|id| UrlId(id.into())).filter(is_queued);
        let count = queued().count();
        (count, queued().step_by(count.div_ceil(most).max(1)).collect())
    }

    /// The number of the host of this name; a new one comes last in the rotation.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn host(&mut self, state: &State, name: &str) -> Result<HostId, StateError> {
        if let Some(host) = state.host_named(name)? {
            return Ok(host);
        }
        let rank = self.queue.next_rank();
        let host = state.add_host(name, rank)?;
        self.queue.set_rank(host, rank);
        Ok(host)
    }

    /// Moves the host to the end of the rotation. Unless it `lasts`, the host is where it was after the next start.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn move_to_back(
        &mut self,
        state: &State,
        host: HostId,
        lasts: bool,
    ) -> Result<(), StateError> {
        let rank = self.queue.next_rank();
        self.queue.set_rank(host, rank);
        if lasts { state.set_rank(host, rank) } else { Ok(()) }
    }

    /// Suspends a host: its URLs stay queued, but are not fetched.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn suspend_host(
        &mut self,
        state: &State,
        host: HostId,
        cause: SuspendCause,
        until: Timestamp,
    ) -> Result<(), StateError> {
        self.queue.set_suspended(host, true);
        state.suspend_host(host, cause, until)
    }
}

fn is_deferred(state: UrlState) -> bool {
    state.skipped().is_some_and(Reason::is_learnt)
}

/// The number of a group in the state.
fn group_number(late: Late) -> u32 {
    match late {
        Late::Pattern(number) => number,
        // After a start nothing is in flight.
        Late::Waited | Late::Page(_) => WAITED,
    }
}

/// The secret seed of a state's hashes, which every state has from its beginning.
fn hash_seed(state: &State) -> Result<u64, StateError> {
    let seed = state.meta::<i64>("url_hash_seed")?;
    seed.map(unsigned).ok_or(StateError::Damaged("it has no seed for the hashes of URLs"))
}

fn hash(seed: u64, url: &str) -> u64 {
    xxh3_64_with_seed(url.as_bytes(), seed)
}

/// Bytes of a URL and its depth.
const NEARER: usize = 6;

impl State {
    /// The depths that have changed since the rows of their URLs were written.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn depths(&self) -> Result<HashMap<UrlId, u32>, StateError> {
        let mut depths = HashMap::new();
        let sql = "SELECT packed FROM nearer ORDER BY seq";
        self.each(
            sql,
            [],
            |row| row.get::<_, Vec<u8>>(0),
            |packed| {
                let (each, []) = packed.as_chunks::<NEARER>() else { return Err(NO_URL) };
                depths.extend(each.iter().map(|[a, b, c, d, e, f]| {
                    let id = UrlId(u32::from_le_bytes([*a, *b, *c, *d]).into());
                    (id, u16::from_le_bytes([*e, *f]).into())
                }));
                Ok(())
            },
        )?;
        Ok(depths)
    }
}

#[cfg(test)]
impl UrlIndex {
    /// The same after a start: from what was written.
    pub(super) fn reloaded(mut self, state: &State) -> Self {
        self.commit(state).unwrap();
        Self::load(state).unwrap()
    }
}
