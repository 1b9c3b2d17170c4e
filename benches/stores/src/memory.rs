//! The known URLs and the queue in memory, and a log from which they come back: what pagesieve does.

use std::collections::{HashMap, VecDeque};

use crate::{
    Link, Result, Rows, Store,
    kv::{Kv, Table},
};

/// Parts of the hash table, each of which grows by itself.
const PARTS: u64 = 64;

pub struct Memory<K> {
    rows: Rows<K>,
    hashes: Vec<u64>,
    /// What pagesieve's links need to know too: depth and state.
    depths: Vec<u16>,
    states: Vec<u8>,
    /// Numbers at the first free place from where the hash points; 0 is free.
    parts: Vec<(usize, Vec<u32>)>,
    queue: HashMap<u32, VecDeque<u32>>,
    /// Of a found URL its hash, depth and host, of a settled one its host and number.
    log: Vec<u8>,
    logs: u64,
}

const FOUND: u8 = 0;
const SETTLED: u8 = 1;

impl<K: Kv> Memory<K> {
    pub fn open(kv: K) -> Result<Self> {
        let mut logs = Vec::new();
        kv.each(Table::Log, 0, &mut |_, packed| {
            logs.push(packed.to_vec());
            true
        })?;
        let mut memory = Self {
            rows: Rows { kv, last: 0, changed: Default::default() },
            hashes: Vec::new(),
            depths: Vec::new(),
            states: Vec::new(),
            parts: vec![(0, vec![0; 8]); PARTS as usize],
            queue: HashMap::new(),
            log: Vec::new(),
            logs: logs.len() as u64,
        };
        for mut log in logs.iter().map(|log| &log[..]) {
            while let Some((kind, rest)) = log.split_first() {
                let (host, rest) = rest.split_first_chunk().ok_or("the log is cut")?;
                let host = u32::from_le_bytes(*host);
                if *kind == FOUND {
                    let (hash, rest) = rest.split_first_chunk().ok_or("the log is cut")?;
                    memory.push(u64::from_le_bytes(*hash), host);
                    memory.rows.last += 1;
                    log = &rest[2..];
                } else {
                    let id = memory
                        .queue
                        .get_mut(&host)
                        .and_then(VecDeque::pop_front)
                        .ok_or("nothing waits")?;
                    memory.states[id as usize - 1] = crate::JUDGED;
                    log = rest;
                }
            }
        }
        Ok(memory)
    }

    fn push(&mut self, hash: u64, host: u32) {
        self.hashes.push(hash);
        self.depths.push(1);
        self.states.push(crate::QUEUED);
        let id = self.hashes.len() as u32;
        self.queue.entry(host).or_default().push_back(id);
        let (used, ids) = &mut self.parts[(hash % PARTS) as usize];
        *used += 1;
        if *used * 20 > ids.len() * 17 {
            let old = std::mem::take(ids);
            *ids = vec![0; old.len() / 2 * 3];
            for id in old.into_iter().filter(|id| *id != 0) {
                put(ids, self.hashes[id as usize - 1], id);
            }
        }
        put(ids, hash, id);
    }

    fn is_known(&self, hash: u64) -> bool {
        let (_, ids) = &self.parts[(hash % PARTS) as usize];
        let mut place = home(hash, ids.len());
        while ids[place] != 0 && self.hashes[ids[place] as usize - 1] != hash {
            place = (place + 1) % ids.len();
        }
        ids[place] != 0
    }
}

fn home(hash: u64, len: usize) -> usize {
    ((u128::from(hash) * len as u128) >> 64) as usize
}

fn put(ids: &mut [u32], hash: u64, id: u32) {
    let mut place = home(hash, ids.len());
    while ids[place] != 0 {
        place = (place + 1) % ids.len();
    }
    ids[place] = id;
}

impl<K: Kv> Store for Memory<K> {
    fn link(&mut self, link: &Link) -> Result<bool> {
        if self.is_known(link.hash) {
            return Ok(false);
        }
        self.rows.push(link);
        self.push(link.hash, link.host);
        self.log.push(FOUND);
        self.log.extend(link.host.to_le_bytes());
        self.log.extend(link.hash.to_le_bytes());
        self.log.extend(1_u16.to_le_bytes());
        Ok(true)
    }

    fn take(&mut self, host: u32) -> Result<bool> {
        let Some(id) = self.queue.get_mut(&host).and_then(VecDeque::pop_front) else {
            return Ok(false);
        };
        self.rows.settle(id)?;
        self.states[id as usize - 1] = crate::JUDGED;
        self.log.push(SETTLED);
        self.log.extend(host.to_le_bytes());
        Ok(true)
    }

    fn commit(&mut self) -> Result<()> {
        self.logs += 1;
        let log = (Table::Log, self.logs, Some(std::mem::take(&mut self.log)));
        self.rows.commit([log])
    }
}
