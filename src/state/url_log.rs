//! The known URLs and the queue, kept in memory, and the log from which they come back.
//!
//! A page has a hundred links, to anywhere. An index in the file would change a page of the file for each of them; the log only grows at
//! its end, by what the batch of a commit has changed. The rows of `urls` are added in the order of their numbers, and one is changed
//! only when its URL was fetched. So what is written does not depend on how many URLs are known.

use std::{collections::HashSet, iter, mem};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    State, StateError,
    hosts::{HostId, SuspendCause},
    known_urls::{KnownUrl, KnownUrls, saturated},
    queue::{Late, Queue},
    reason::Reason,
    unsigned,
    urls::Visit,
    urls::{NewUrl, QUEUED, UrlId, UrlOutcome, UrlRow, UrlState, state_code},
};
use crate::page::Timestamp;

/// The group of late URLs in the log that have waited for another one of the same page; others are numbers of patterns.
const WAITED: u32 = 0;

/// One change. Each is a number of one byte, and its fields in this order, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// 1: a URL was found, and does not wait.
    Found { hash: u64, depth: u16, state: u8 },
    /// 2: a URL was found, and waits.
    FoundAndQueued { hash: u64, depth: u16, host: u32 },
    /// 3: a known URL waits, or waits again.
    Queued { id: u32, depth: u16, host: u32 },
    /// 4: this has become of a URL.
    Settled { id: u32, state: u8 },
    /// 5: a URL is fewer links from its seed than was known.
    Nearer { id: u32, depth: u16 },
    /// 6: a known URL waits, or waits again, until the URLs of its host that are not late are done.
    Late { id: u32, depth: u16, host: u32, group: u32 },
}

impl Event {
    fn write(self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, fields: [&[u8]; 4]| {
            out.push(kind);
            for field in fields {
                out.extend_from_slice(field);
            }
        };
        match self {
            Self::Found { hash, depth, state } => {
                put(1, [&hash.to_le_bytes(), &depth.to_le_bytes(), &[state], &[]]);
            }
            Self::FoundAndQueued { hash, depth, host } => {
                put(2, [&hash.to_le_bytes(), &depth.to_le_bytes(), &host.to_le_bytes(), &[]]);
            }
            Self::Queued { id, depth, host } => {
                put(3, [&id.to_le_bytes(), &depth.to_le_bytes(), &host.to_le_bytes(), &[]]);
            }
            Self::Settled { id, state } => put(4, [&id.to_le_bytes(), &[state], &[], &[]]),
            Self::Nearer { id, depth } => {
                put(5, [&id.to_le_bytes(), &depth.to_le_bytes(), &[], &[]]);
            }
            Self::Late { id, depth, host, group } => {
                let [id, host, group] = [id, host, group].map(u32::to_le_bytes);
                put(6, [&id, &depth.to_le_bytes(), &host, &group]);
            }
        }
    }

    /// The first event of these bytes, which are cut to the rest.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
            let (taken, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(*taken)
        }
        let byte = |bytes: &mut &[u8]| take(bytes).map(u8::from_le_bytes);
        let short = |bytes: &mut &[u8]| take(bytes).map(u16::from_le_bytes);
        let word = |bytes: &mut &[u8]| take(bytes).map(u32::from_le_bytes);
        let long = |bytes: &mut &[u8]| take(bytes).map(u64::from_le_bytes);
        Some(match byte(bytes)? {
            1 => Self::Found { hash: long(bytes)?, depth: short(bytes)?, state: byte(bytes)? },
            2 => {
                let (hash, depth, host) = (long(bytes)?, short(bytes)?, word(bytes)?);
                Self::FoundAndQueued { hash, depth, host }
            }
            3 => Self::Queued { id: word(bytes)?, depth: short(bytes)?, host: word(bytes)? },
            4 => Self::Settled { id: word(bytes)?, state: byte(bytes)? },
            5 => Self::Nearer { id: word(bytes)?, depth: short(bytes)? },
            6 => {
                let (id, depth, host) = (word(bytes)?, short(bytes)?, word(bytes)?);
                Self::Late { id, depth, host, group: word(bytes)? }
            }
            _ => return None,
        })
    }
}

/// Applies an event of the log; `None` if it makes no sense.
fn apply(event: Event, known: &mut KnownUrls, arrivals: &mut Arrivals) -> Option<()> {
    let is_known = match event {
        Event::Found { hash, depth, state } => {
            arrivals.found.push(NO_HOST);
            known.append(hash, depth.into(), state_of(state)?).is_some()
        }
        Event::FoundAndQueued { hash, depth, host } => {
            arrivals.found.push(host);
            known.append(hash, depth.into(), UrlState::Queued).is_some()
        }
        Event::Queued { id, depth, host } | Event::Late { id, depth, host, .. } => {
            let late = if let Event::Late { group, .. } = event { Some(group) } else { None };
            arrivals.again.push(Again { id, host, known: known.len(), late });
            let id = UrlId(id.into());
            known.set_state(id, UrlState::Queued) && known.set_depth(id, depth.into())
        }
        Event::Settled { id, state } => known.set_state(UrlId(id.into()), state_of(state)?),
        Event::Nearer { id, depth } => known.set_depth(UrlId(id.into()), depth.into()),
    };
    is_known.then_some(())
}

/// In which order URLs were queued, by the log.
#[derive(Debug, Default)]
struct Arrivals {
    /// The host of each known URL, if it was queued when it was found.
    found: Vec<u32>,
    /// Those that were queued later, or again.
    again: Vec<Again>,
}

#[derive(Clone, Copy, Debug)]
struct Again {
    id: u32,
    host: u32,
    /// How many URLs were known.
    known: u32,
    /// The group in which it waits, if it is late.
    late: Option<u32>,
}

/// Instead of a host: the URL was not queued when it was found.
const NO_HOST: u32 = u32::MAX;
/// Instead of a host: the URL was queued again.
const AGAIN: u32 = NO_HOST - 1;

impl Arrivals {
    /// Of a URL that was queued several times, the last time counts.
    fn keep_last(&mut self) {
        let Self { found, again } = self;
        again.reverse();
        again.retain(|it| mem::replace(&mut found[it.id as usize - 1], AGAIN) != AGAIN);
        again.reverse();
    }

    /// The host and the number of each URL, in the order in which they wait.
    fn in_order(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        let mut found = self.found.iter().copied().zip(1..).peekable();
        let mut again = self.again.iter().filter(|it| it.late.is_none()).peekable();
        let all = iter::from_fn(move || {
            let is_next = |it: &&Again| found.peek().is_none_or(|(_, id)| it.known < *id);
            let next = again.next_if(is_next).map(|it| (it.host, it.id));
            next.or_else(|| found.next())
        });
        all.filter(|(host, _)| *host < AGAIN)
    }
}

/// A URL that was taken out of its host's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The URL.
    pub(crate) url: UrlRow,
    /// What is known of its page, if it was judged: then it is asked whether it has changed.
    pub(crate) visit: Option<Box<Visit>>,
}

/// The known URLs and the queue. What changes here is written by [`commit`](Self::commit), with the rows that it belongs to.
#[derive(Debug)]
pub(crate) struct UrlLog {
    hash_seed: u64,
    known: KnownUrls,
    /// Those that wait. What changes here only, the state says in another way.
    pub(crate) queue: Queue,
    /// How many URLs have no outcome yet: they are in the queue, in flight, or to be asked again.
    open: u64,
    /// What has changed since the last commit.
    pending: Vec<u8>,
}

impl UrlLog {
    /// Loads what the state knows.
    ///
    /// # Errors
    /// If SQLite fails or the log is damaged.
    pub(crate) fn load(state: &State) -> Result<Self, StateError> {
        let (mut known, mut arrivals) = (KnownUrls::default(), Arrivals::default());
        let damaged = || StateError::Damaged("the log of URLs cannot be read");
        let sql = "SELECT packed FROM url_log ORDER BY seq";
        state.each(
            sql,
            [],
            |row| row.get::<_, Vec<u8>>(0),
            |packed| {
                let mut packed = packed.as_slice();
                while !packed.is_empty() {
                    let event = Event::read(&mut packed).ok_or_else(damaged)?;
                    apply(event, &mut known, &mut arrivals).ok_or_else(damaged)?;
                }
                Ok::<_, StateError>(())
            },
        )?;
        if i64::from(known.len()) != state.last_url()? {
            return Err(StateError::Damaged("the log of URLs does not have all of them"));
        }
        arrivals.keep_last();
        let waits = |id: u32| {
            known.get(UrlId(id.into())).is_some_and(|(_, state)| state == UrlState::Queued)
        };
        let suspended = state.suspended_hosts()?.into_iter().map(|host| host.host);
        let mut queue = Queue::new(state.last_rank()?, suspended);
        // Those that got no answer come first.
        let tried: HashSet<u32> =
            state.attempts()?.iter().map(|(url, ..)| number_of(*url)).collect();
        let waiting = arrivals.in_order().filter(|(_, id)| waits(*id));
        let first = waiting.clone().filter(|(_, id)| tried.contains(id));
        let waiting = first.chain(waiting.filter(|(_, id)| !tried.contains(id)));
        queue.fill(&state.ranks()?, waiting).ok_or_else(damaged)?;
        for Again { id, host, late, .. } in &arrivals.again {
            if let Some(group) = late.filter(|_| waits(*id)) {
                let group = if group == WAITED { Late::Waited } else { Late::Pattern(group) };
                queue.push_late(HostId((*host).into()), group, UrlId((*id).into()));
            }
        }
        let open = (1..=known.len()).filter(|id| waits(*id)).count() as u64;
        drop(arrivals);
        known.index();
        Ok(Self { hash_seed: hash_seed(state)?, known, queue, open, pending: Vec::new() })
    }

    /// Writes what has changed since the last call, as part of the open transaction.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn commit(&mut self, state: &State) -> Result<(), StateError> {
        if !self.pending.is_empty() {
            state.execute("INSERT INTO url_log VALUES (NULL, ?)", [&self.pending])?;
            self.pending.clear();
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
        state.add_url(id, new)?;
        self.open += u64::from(new.state == UrlState::Queued);
        let (depth, code) = (saturated(new.depth), event_code(new.state));
        if new.state == UrlState::Queued && late.is_none() {
            let host = self.push(state, new.host, id)?;
            Event::FoundAndQueued { hash, depth, host }.write(&mut self.pending);
            return Ok(id);
        }
        Event::Found { hash, depth, state: code }.write(&mut self.pending);
        if new.state == UrlState::Queued {
            self.put(state, new.host, id, late)?;
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
        self.known.set_depth(row.id, row.depth);
        self.put(state, row.host, row.id, late)
    }

    fn set_state(&mut self, id: UrlId, now: UrlState) -> Result<(), StateError> {
        let (_, before) = self.known.get(id).ok_or(NO_URL)?;
        self.known.set_state(id, now);
        self.open += u64::from(now == UrlState::Queued);
        self.open -= u64::from(before == UrlState::Queued);
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
        let (id, depth) = (number(url)?, saturated(self.depth(url)?));
        let event = if let Some(group) = late {
            self.queue.push_late(host, group, url);
            let group = match group {
                Late::Pattern(number) => number,
                // After a start nothing is in flight.
                Late::Waited | Late::Page(_) => WAITED,
            };
            Event::Late { id, depth, host: host_number(host)?, group }
        } else {
            Event::Queued { id, depth, host: self.push(state, host, url)? }
        };
        event.write(&mut self.pending);
        Ok(())
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
        let row = state.url_by_id(id)?.ok_or(NO_URL)?;
        let visit = state.visit(id)?.map(Box::new);
        Ok(Some(Queued { url: UrlRow { depth: self.depth(id)?, ..row }, visit }))
    }

    /// Puts a URL back that was taken out, at the beginning of its host's queue or at its end.
    ///
    /// # Errors
    /// If SQLite fails or there is no such host.
    pub(crate) fn put_back(
        &mut self,
        state: &State,
        (host, url): (HostId, UrlId),
        is_first: bool,
    ) -> Result<(), StateError> {
        let rank = if self.queue.has(host) { 0 } else { state.rank(host)? };
        if is_first {
            self.queue.push_front(host, rank, url);
        } else {
            self.queue.push(host, rank, url);
        }
        Ok(())
    }

    /// Adds a URL to the queue of its host. Returns the number of the host in the log.
    fn push(&mut self, state: &State, host: HostId, url: UrlId) -> Result<u32, StateError> {
        let rank = if self.queue.has(host) { 0 } else { state.rank(host)? };
        self.queue.push(host, rank, url);
        host_number(host)
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
        self.set_state(id, outcome.state)?;
        let state = event_code(outcome.state);
        Event::Settled { id: number(id)?, state }.write(&mut self.pending);
        Ok(())
    }

    /// Says that a URL is fewer links from its seed than was known. Its row says so when its outcome is recorded.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn set_depth(&mut self, id: UrlId, depth: u32) -> Result<(), StateError> {
        if !self.known.set_depth(id, depth) {
            return Err(NO_URL);
        }
        Event::Nearer { id: number(id)?, depth: saturated(depth) }.write(&mut self.pending);
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

    /// The row of a known URL.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn row(state: &State, known: KnownUrl) -> Result<UrlRow, StateError> {
        let row = state.url_by_id(known.id)?.ok_or(NO_URL)?;
        Ok(UrlRow { depth: known.depth, ..row })
    }

    /// Calls `visit` with every URL that was not judged and whose state is selected, and what was selected of it, in the order in which
    /// they were found.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each<T, E: From<StateError>>(
        &self,
        state: &State,
        select: impl Fn(UrlState) -> Option<T>,
        mut visit: impl FnMut(UrlRow, T) -> Result<(), E>,
    ) -> Result<(), E> {
        state.for_each_url(select, |row, selected| {
            visit(UrlRow { depth: self.depth(row.id)?, ..row }, selected)
        })
    }

    /// The number of the host of this name; a new one comes last in the rotation.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn host(&mut self, state: &State, name: &str) -> Result<HostId, StateError> {
        match state.host_named(name)? {
            Some(host) => Ok(host),
            None => state.add_host(name, self.queue.next_rank()),
        }
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

const NO_URL: StateError = StateError::Damaged("a number is of no URL");

/// The number of a URL in the log.
fn number(id: UrlId) -> Result<u32, StateError> {
    u32::try_from(id.0).map_err(|_| NO_URL)
}

fn number_of(id: UrlId) -> u32 {
    number(id).unwrap_or_default()
}

/// The number of a host in the log.
fn host_number(host: HostId) -> Result<u32, StateError> {
    u32::try_from(host.0).map_err(|_| StateError::TooManyUrls)
}

/// The secret seed of a state's hashes, which every state has from its beginning.
fn hash_seed(state: &State) -> Result<u64, StateError> {
    let seed = state.meta::<i64>("url_hash_seed")?;
    seed.map(unsigned).ok_or(StateError::Damaged("it has no seed for the hashes of URLs"))
}

fn hash(seed: u64, url: &str) -> u64 {
    xxh3_64_with_seed(url.as_bytes(), seed)
}

/// The number of a state in the log.
fn event_code(state: UrlState) -> u8 {
    u8::try_from(state_code(state)).unwrap_or(u8::MAX)
}

fn state_of(code: u8) -> Option<UrlState> {
    match i64::from(code) {
        QUEUED => Some(UrlState::Queued),
        255 => Some(UrlState::Judged),
        _ => Reason::from_code(code).map(UrlState::Skipped),
    }
}

#[cfg(test)]
impl UrlLog {
    /// The same after a start: from what was written.
    pub(super) fn reloaded(mut self, state: &State) -> Self {
        self.commit(state).unwrap();
        Self::load(state).unwrap()
    }
}
