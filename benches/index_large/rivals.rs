//! What the index is compared with in the same minutes.

use pagesieve::{
    DocId, Fingerprint,
    index::{BlockIndex, Index, Layout, Plan},
};
use std::num::NonZeroU32;

use crate::{
    baseline::Baseline,
    measure::turns::cpu,
    race::{Answers, BATCH, OneByOne, Plain},
    source::Source,
    window::{Window, replaced, resident},
};

/// With more entries a scan takes so long that the memory of the others is no longer at hand when it is their turn.
const MOST_SCANNED: u64 = 200_000_000;
/// With more entries the plain scheme takes more memory than there is.
const MOST: u64 = 200_000_000;
/// The plain scheme finds what is no farther.
const PLAIN_RADIUS: u32 = 3;

/// So many answers are compared.
const CHECKED: u64 = 1_000;

/// Rivals that have been filled with the same documents, which have rolled as far.
#[derive(Default)]
pub(crate) struct Rivals {
    plain: Option<Baseline>,
    scan: Option<BlockIndex>,
}

impl Rivals {
    pub(crate) fn new(source: &Source, entries: u64, radii: &[u32]) -> Self {
        if entries > MOST {
            return Self::default();
        }
        // The buckets of the plain scheme have room for random fingerprints only.
        let is_random = matches!(source, Source::Random);
        Self {
            plain: (is_random && radii.contains(&PLAIN_RADIUS)).then(|| plain(source, entries)),
            scan: (entries <= MOST_SCANNED).then(|| scan(source, entries)),
        }
    }

    /// The plain scheme finds as much as the index, to which it is compared.
    pub(crate) fn check(&self, index: &BlockIndex, window: &Window, radius: u32) {
        let Some(plain) = self.plain.as_ref().filter(|_| radius == PLAIN_RADIUS) else { return };
        let mut found = Vec::new();
        for i in 0..CHECKED {
            let (query, _) = window.question(i, radius);
            index.candidates(query, radius, &mut found);
            assert_eq!(plain.count_all(&[query.0], radius), found.len() as u64, "{query:?}");
        }
    }

    /// Those that answer queries within a radius: what they are called, one at a time and in batches.
    pub(crate) fn for_radius(
        &self,
        radius: u32,
    ) -> Vec<(&'static str, [Box<dyn Answers + '_>; 2])> {
        let mut all: Vec<(&str, [Box<dyn Answers + '_>; 2])> = Vec::new();
        if let Some(plain) = self.plain.as_ref().filter(|_| radius == PLAIN_RADIUS) {
            all.push((
                "4x16",
                [1, BATCH].map(|n| Box::new(Plain(plain, n, Vec::new())) as Box<dyn Answers + '_>),
            ));
        }
        if let Some(scan) = &self.scan {
            // It gains nothing from many at a time.
            let one = || Box::new(OneByOne(scan, Vec::new()));
            all.push(("scan", [one(), one()]));
        }
        all
    }
}

fn plain(source: &Source, entries: u64) -> Baseline {
    let before = resident();
    let mut plain = Baseline::new(entries);
    for id in 1..=entries {
        plain.insert(source.fingerprint(id));
    }
    let (replaced, begin) = (replaced(entries), cpu());
    for id in entries + 1..=entries + replaced {
        plain.expire(source.fingerprint(id - entries));
        plain.insert(source.fingerprint(id));
    }
    let roll = (cpu() - begin) * 1e9 / replaced as f64;
    let bytes = (resident() - before) / entries as f64;
    println!("4x16: insert + expire {roll:.0} ns, {bytes:.1} bytes an entry");
    plain
}

fn scan(source: &Source, entries: u64) -> BlockIndex {
    // Without tables, to count what is equal would take a scan for every insertion.
    let plan = Plan::new(Layout::scan(64), entries);
    let index = BlockIndex::with_plan(plan).expect("there is memory");
    let mut index = index.with_equal_limit(NonZeroU32::MAX);
    let document = |id| (DocId(id), Fingerprint(source.fingerprint(id)));
    index.insert_all((1..=entries).map(document));
    for id in entries + 1..=entries + replaced(entries) {
        index.expire(DocId(id - entries + 1));
        index.insert(DocId(id), Fingerprint(source.fingerprint(id)));
    }
    index
}
