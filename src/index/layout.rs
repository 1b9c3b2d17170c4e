//! Which tables there are, and where a query looks in them.

#![expect(clippy::cast_possible_truncation, reason = "a fingerprint has 64 bits")]

use std::{cmp::Reverse, fmt, ops::Range};

use super::{
    format::{Format, Narrow, Wide},
    homes::{Homes, Size},
    key::{HALF, Key, lowest},
    shuffle::deal,
};

/// How an entry of a table is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// 16 bits of the fingerprint and its place, in which some more bits of the fingerprint have room: 6.4 bytes. Where memory is short, and for small
    /// radii.
    Narrow,
    /// 32 bits of the fingerprint, in two halves of which often one alone is read, and its place apart: 9.1 bytes. Larger radii need them to
    /// tell candidates apart.
    Wide,
}

/// The tables of an index: each files every fingerprint under some of its bits, its *key*, and a query looks under all keys
/// within a radius of its own.
///
/// The 64 bits are cut into segments, and the key of a table consists of bits of some segments. A layout is exact for radius
/// k if, however k errors are spread over the segments, some table has no more of them in its segments than the radius
/// within which it is probed. Bits of a segment that are not in the key cost nothing: errors there are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) entry: Entry,
    pub(super) max_radius: u32,
    pub(super) homes: Homes,
    pub(super) family: Family,
}

/// How the keys are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// No tables: every query compares with everything.
    Scan,
    /// Disjoint keys of so many bits.
    Disjoint(Vec<u32>),
    /// Keys of so many bits at most, each made of some of so many segments (bit sets), probed within radius 0.
    Covering { segments: u32, keys: &'static [u32], bits: u32 },
}

/// Coverings for three errors: whichever three segments they hit, one of the keys has none of them.
pub(super) const COVERINGS: [(u32, &[u32]); 2] = [
    (7, &[0b100_0010, 0b010_0100, 0b011_0000, 0b001_0100, 0b000_1001]),
    (6, &[0b01_1000, 0b10_0100, 0b10_0010, 0b00_0110, 0b01_0001, 0b00_1001]),
];

/// Where a query looks: the table, and the radius around its key.
pub(super) type Probes = Vec<(usize, u32)>;

impl Layout {
    /// No tables: a scan of all fingerprints, for any radius. The least memory, and the fastest up to some thousand entries.
    #[must_use]
    pub fn scan(max_radius: u32) -> Self {
        Self { entry: Entry::Narrow, max_radius, homes: Homes::Roomy, family: Family::Scan }
    }

    /// A table for each of `bits`, its key that many bits which no other key has: at most 32 each and 64 in all.
    /// Around each key a query looks within a radius; the radii plus one each add up to more than the radius of the query (the general
    /// pigeonhole principle: Qin, Xiao, Wang et al., *GPH: Similarity Search in Hamming Space*, ICDE 2018).
    ///
    /// # Panics
    /// If the keys need more bits, or if there are too few: one table serves radius 0 to 3, two 0 to 7, three 0 to 11.
    #[must_use]
    pub fn disjoint(bits: &[u32], entry: Entry, max_radius: u32) -> Self {
        assert!(bits.iter().sum::<u32>() <= u64::BITS, "keys share no bits");
        assert!(max_radius < serves(bits.len()), "radius {max_radius} needs more tables");
        assert!(bits.iter().all(|bits| (1..=32).contains(bits)), "keys have 1 to 32 bits");
        Self { entry, max_radius, homes: Homes::Roomy, family: Family::Disjoint(bits.to_vec()) }
    }

    /// Five or six tables for radius 0 to 3, each with a key of at most `bits` bits, probed at one place only. Keys are made of
    /// two of seven or six segments, so that whichever three segments the errors hit, one key has none of them
    /// (the complements are a covering design; Manku, Jain, Das Sarma take all choices of segments, which are more tables).
    ///
    /// # Panics
    /// If there is no such covering.
    #[must_use]
    pub fn covering(tables: usize, bits: u32, entry: Entry) -> Self {
        let family = COVERINGS.iter().find(|(_, keys)| keys.len() == tables);
        let &(segments, keys) = family.expect("there are coverings of 5 and of 6 tables");
        Self {
            entry,
            max_radius: 3,
            homes: Homes::Roomy,
            family: Family::Covering { segments, keys, bits },
        }
    }

    /// The tables' keys. Entries keep 16 bits of the next table's, or of those that no key has, and others.
    pub(super) fn keys(&self) -> Vec<Key> {
        let max = self.max_radius;
        match &self.family {
            Family::Scan => Vec::new(),
            Family::Disjoint(bits) => {
                let mut start = 0;
                let mask = |&bits: &u32| {
                    start += bits;
                    (u64::MAX >> (u64::BITS - bits)) << (start - bits)
                };
                let masks: Vec<u64> = bits.iter().map(mask).collect();
                let of_no_key = !masks.iter().fold(0, |all, mask| all | mask);
                let next = masks.iter().cycle().skip(1);
                masks
                    .iter()
                    .zip(next)
                    .map(|(&mask, next)| Key::new(mask, next | of_no_key, max.min(MAX_PROBE)))
                    .collect()
            }
            Family::Covering { segments, keys, bits } => keys
                .iter()
                .map(|&key| Key::new(lowest(segment_mask(*segments, key), *bits), u64::MAX, 0))
                .collect(),
        }
    }

    /// The places of the 64 bits, those first where a bit should tell much: in the keys that are probed farthest. `within` says how far each is.
    pub(super) fn places(&self, within: &[u32]) -> Vec<u32> {
        let mut places = match &self.family {
            Family::Scan => Vec::new(),
            Family::Disjoint(bits) => {
                let ends = bits.iter().scan(0, |end, bits| {
                    *end += bits;
                    Some(*end)
                });
                let keys = ends.zip(bits).map(|(end, bits)| end - bits..end);
                let mut keys: Vec<_> = keys.zip(within).collect();
                keys.sort_by_key(|&(_, within)| Reverse(within));
                let alike = keys.chunk_by(|(_, a), (_, b)| a == b);
                let deal = |keys: &[(Range<u32>, _)]| {
                    deal(&keys.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>())
                };
                alike.flat_map(deal).collect()
            }
            Family::Covering { segments, .. } => {
                deal(&(0..*segments).map(|i| segment(*segments, i)).collect::<Vec<_>>())
            }
        };
        places.extend((0..u64::BITS).filter(|place| !places.contains(place)).collect::<Vec<_>>());
        places
    }

    /// Whether no two keys share bits.
    pub(super) fn is_disjoint(&self) -> bool {
        matches!(self.family, Family::Disjoint(_))
    }

    /// The same tables with homes of another size. They are roomy unless this says otherwise.
    #[must_use]
    pub fn with_homes(self, homes: Homes) -> Self {
        Self { homes, ..self }
    }

    /// The largest radius of a query.
    #[must_use]
    pub fn max_radius(&self) -> u32 {
        self.max_radius
    }

    /// How entries are stored.
    pub(super) fn entry(&self) -> Entry {
        self.entry
    }

    /// How many bits the key of each table has.
    pub(super) fn bits(&self) -> Vec<u32> {
        match &self.family {
            Family::Scan => Vec::new(),
            Family::Disjoint(bits) => bits.clone(),
            Family::Covering { segments, keys, bits } => keys
                .iter()
                .map(|&key| segment_mask(*segments, key).count_ones().min(*bits))
                .collect(),
        }
    }

    /// Where a query of this radius looks, at the least cost. `cost` is that of looking within a radius in a table.
    pub(super) fn probes(&self, radius: u32, cost: impl Fn(usize, u32) -> f64) -> Probes {
        match &self.family {
            Family::Scan => Vec::new(),
            Family::Disjoint(bits) => cheapest_spread(bits.len(), radius + 1, &cost)
                .expect("the layout serves its largest radius"),
            Family::Covering { segments, keys, .. } => {
                let covers = |choice: &u32| {
                    let chosen = |key: usize| choice >> key & 1 == 1;
                    errors(*segments, radius).all(|errors| {
                        keys.iter().enumerate().any(|(i, key)| chosen(i) && key & errors == 0)
                    })
                };
                let best = (0..1_u32 << keys.len())
                    .filter(covers)
                    .min_by_key(|choice| choice.count_ones());
                let best = best.expect("all keys together cover the largest radius");
                (0..keys.len()).filter(|key| best >> key & 1 == 1).map(|key| (key, 0)).collect()
            }
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.family {
            Family::Scan => return write!(f, "a scan of all fingerprints"),
            Family::Disjoint(bits) => {
                let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
                write!(f, "{} tables of {} bits that no two share", bits.len(), bits.join(", "))?;
            }
            Family::Covering { keys, .. } => {
                let most = self.bits().into_iter().max().unwrap_or(0);
                write!(f, "{} tables of a covering, at most {most} bits", keys.len())?;
            }
        }
        let homes = match self.homes {
            Homes::Tight => "tight",
            Homes::Roomy => "roomy",
        };
        write!(
            f,
            ", {} bits an entry, {homes} homes, radius 0 to {}",
            self.entry.bits(),
            self.max_radius
        )
    }
}

impl Entry {
    /// Bytes and entries of a page.
    pub(super) fn page(self) -> (f64, f64) {
        match self {
            Self::Narrow => (64.0, f64::from(Narrow::LEN)),
            Self::Wide => (256.0, f64::from(Wide::LEN)),
        }
    }

    /// The home for so many entries on average.
    pub(super) fn home(self, homes: Homes, mean: f64) -> Size {
        match self {
            Self::Narrow => homes.size::<Narrow>(mean),
            Self::Wide => homes.size::<Wide>(mean),
        }
    }

    /// The bits of the fingerprint that an entry has at least.
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Narrow => HALF,
            Self::Wide => 2 * HALF,
        }
    }
}

/// A key is probed within this radius at most: beyond, another table costs less.
pub(super) const MAX_PROBE: u32 = 3;

/// So many tables serve all radii below.
pub(super) fn serves(tables: usize) -> u32 {
    u32::try_from(tables).unwrap_or(u32::MAX).saturating_mul(MAX_PROBE + 1)
}

/// Radii such that radius + 1 of the tables probed add up to `sum`, at the least cost.
fn cheapest_spread(tables: usize, sum: u32, cost: &impl Fn(usize, u32) -> f64) -> Option<Probes> {
    // The cheapest for each sum, by the tables so far.
    let mut cheapest: Vec<Option<(f64, Probes)>> = vec![None; sum as usize + 1];
    cheapest[0] = Some((0.0, Vec::new()));
    for table in 0..tables {
        // The largest first: what a table adds is not added to again.
        for total in (1..=sum).rev() {
            for share in 1..=total.min(MAX_PROBE + 1) {
                let Some((before, probes)) = &cheapest[(total - share) as usize] else { continue };
                let all = before + cost(table, share - 1);
                let total = total as usize;
                if cheapest[total].as_ref().is_none_or(|(least, _)| all < *least) {
                    let mut probes = probes.clone();
                    probes.push((table, share - 1));
                    cheapest[total] = Some((all, probes));
                }
            }
        }
    }
    cheapest.pop().flatten().map(|(_, probes)| probes)
}

/// The sets of at most `radius` segments, of those that are largest.
fn errors(segments: u32, radius: u32) -> impl Iterator<Item = u32> {
    let n = radius.min(segments);
    (0..1_u32 << segments).filter(move |set| set.count_ones() == n)
}

/// One of so many segments of nearly equal width.
fn segment(segments: u32, i: u32) -> Range<u32> {
    i * u64::BITS / segments..(i + 1) * u64::BITS / segments
}

/// The bits of some of so many segments.
fn segment_mask(segments: u32, chosen: u32) -> u64 {
    let bits = |range: Range<u32>| (u64::MAX >> (u64::BITS - range.len() as u32)) << range.start;
    (0..segments)
        .filter(|i| chosen >> i & 1 == 1)
        .fold(0, |mask, i| mask | bits(segment(segments, i)))
}
