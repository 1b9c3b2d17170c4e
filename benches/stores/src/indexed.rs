//! The known URLs and the queue in tables of a store. What is new is collected in memory, by a commit or by many, and merged in the order of the
//! keys.

use std::collections::{HashMap, VecDeque};

use crate::{
    Link, QUEUED, Result, Rows, Store, URL, hash,
    kv::{Kv, Table},
};

pub struct Indexed<K> {
    rows: Rows<K>,
    /// New URLs are merged when there are so many.
    least: usize,
    known: HashMap<u64, u32>,
    queue: HashMap<u32, VecDeque<u32>>,
    /// The last URL of a host that was taken since the last merge.
    taken: HashMap<u32, u32>,
    /// What was taken out of the table.
    removed: Vec<u64>,
    /// How many of those are in the log, and its rows.
    logged: usize,
    logs: u64,
}

impl<K: Kv> Indexed<K> {
    pub fn open(kv: K, least: usize) -> Result<Self> {
        let merged =
            kv.get(Table::Log, 0)?.map_or(Ok(0), |id| id[..].try_into().map(u32::from_le_bytes))?;
        let (mut known, mut queue) = (HashMap::new(), HashMap::<_, VecDeque<_>>::new());
        let (mut taken, mut removed) = (HashMap::new(), Vec::new());
        let mut last = merged;
        kv.each(Table::Urls, u64::from(merged) + 1, &mut |id, row| {
            last = id as u32;
            known.insert(hash(&row[URL..]), last);
            if row[0] == QUEUED {
                queue
                    .entry(u32::from_le_bytes([row[1], row[2], row[3], row[4]]))
                    .or_default()
                    .push_back(last);
            }
            true
        })?;
        let mut logs = 0;
        kv.each(Table::Log, 1, &mut |log, packed| {
            logs = log;
            removed.extend(
                packed
                    .chunks_exact(8)
                    .filter_map(|key| key.try_into().ok())
                    .map(u64::from_le_bytes),
            );
            true
        })?;
        taken.extend(removed.iter().map(|key| ((key >> 32) as u32, *key as u32)));
        let (logged, rows) = (removed.len(), Rows { kv, last, changed: Default::default() });
        Ok(Self { rows, least, known, queue, taken, removed, logged, logs })
    }
}

fn key(host: u32, id: u32) -> u64 {
    (u64::from(host) << 32) | u64::from(id)
}

impl<K: Kv> Store for Indexed<K> {
    fn link(&mut self, link: &Link) -> Result<bool> {
        if self.known.contains_key(&link.hash)
            || self.rows.kv.get(Table::Known, link.hash)?.is_some()
        {
            return Ok(false);
        }
        let id = self.rows.push(link);
        self.known.insert(link.hash, id);
        self.queue.entry(link.host).or_default().push_back(id);
        Ok(true)
    }

    fn take(&mut self, host: u32) -> Result<bool> {
        let after = self.taken.get(&host).map_or(0, |id| id + 1);
        let mut first = None;
        self.rows.kv.each(Table::Queue, key(host, after), &mut |key, _| {
            first = Some(key).filter(|key| (key >> 32) as u32 == host);
            false
        })?;
        self.removed.extend(first);
        let waiting = || self.queue.get_mut(&host)?.pop_front();
        let Some(id) = first.map(|key| key as u32).or_else(waiting) else { return Ok(false) };
        self.taken.insert(host, id);
        self.rows.settle(id)?;
        Ok(true)
    }

    fn commit(&mut self) -> Result<()> {
        let mut ops = Vec::new();
        if self.known.len() > self.least {
            let known = self.known.drain();
            ops.extend(
                known.map(|(hash, id)| (Table::Known, hash, Some(id.to_le_bytes().to_vec()))),
            );
            let queue = self
                .queue
                .drain()
                .flat_map(|(host, ids)| ids.into_iter().map(move |id| key(host, id)));
            ops.extend(queue.map(|key| (Table::Queue, key, Some(Vec::new()))));
            ops.extend(self.removed.drain(..).map(|key| (Table::Queue, key, None)));
            ops.extend((1..=self.logs).map(|log| (Table::Log, log, None)));
            ops.push((Table::Log, 0, Some(self.rows.last.to_le_bytes().to_vec())));
            self.taken.clear();
            (self.logged, self.logs) = (0, 0);
            ops.sort_unstable_by_key(|(table, key, _)| (*table, *key));
        } else if self.least == 0 {
            ops.extend(self.removed.drain(..).map(|key| (Table::Queue, key, None)));
            self.taken.clear();
        } else if self.logged < self.removed.len() {
            self.logs += 1;
            let packed = self.removed[self.logged..].iter().flat_map(|key| key.to_le_bytes());
            ops.push((Table::Log, self.logs, Some(packed.collect())));
            self.logged = self.removed.len();
        }
        self.rows.commit(ops)
    }
}
