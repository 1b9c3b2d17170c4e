//! Weighted sums of signs, one for each bit of a hash (step 6 of the recipe in [`super`]).
//!
//! The sums are kept as bit planes: plane `p` holds bit `p` of every sum, so that one logical operation works on 64 sums (a positional
//! population count by carry-save adders; no SIMD instruction is needed). Addends of a plane are collected and added eight at a time,
//! because the tree of adders for eight has no branch (Harley and Seal; Warren, *Hacker's Delight*, 5-1).

/// Enough for a total weight of 2^48 (a text of some terabytes) and the three planes into which eight addends carry.
const PLANES: usize = 51;
/// Number of addends that are added at once.
const GROUP: usize = 8;

/// Adds up weighted hashes: a bit that is 1 counts `+weight`, a bit that is 0 counts `-weight`.
///
/// ```
/// use pagesieve::fingerprint::Accumulator;
///
/// let mut accumulator = Accumulator::new();
/// accumulator.add([0b100101], 4);
/// accumulator.add([0b101011], 5);
/// let sums = accumulator.finish();
/// assert_eq!([5, 4, 3, 2, 1, 0].map(|bit| sums.sum(bit)), [9, -9, 1, -1, 1, 9]);
/// assert_eq!(sums.signs(), [0b101011]);
/// ```
#[derive(Clone, Debug)]
pub struct Accumulator<const WORDS: usize> {
    /// Only the weights of the one bits of each sum; those of the zero bits are the rest of the total.
    planes: [[u64; WORDS]; PLANES],
    /// Addends of each plane that are not yet added, and their number.
    waiting: [[[u64; WORDS]; GROUP]; PLANES],
    lengths: [u8; PLANES],
    total: u64,
}

/// The finished sums of an [`Accumulator`].
#[derive(Clone, Debug)]
pub struct Sums<const WORDS: usize> {
    planes: [[u64; WORDS]; PLANES],
    total: u64,
}

impl<const WORDS: usize> Accumulator<WORDS> {
    /// Starts with all sums 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            planes: [[0; WORDS]; PLANES],
            waiting: [[[0; WORDS]; GROUP]; PLANES],
            lengths: [0; PLANES],
            total: 0,
        }
    }

    /// Adds a hash with a weight.
    #[inline]
    pub fn add(&mut self, hash: [u64; WORDS], weight: u32) {
        self.total += u64::from(weight);
        let mut left = weight;
        while left != 0 {
            self.add_plane(left.trailing_zeros() as usize, hash);
            left &= left - 1;
        }
    }

    /// Adds to the sums `addend` times the value of a plane, as soon as eight such addends are collected.
    #[inline]
    fn add_plane(&mut self, plane: usize, addend: [u64; WORDS]) {
        let length = usize::from(self.lengths[plane]) % GROUP;
        self.waiting[plane][length] = addend;
        self.lengths[plane] += 1;
        if length + 1 == GROUP {
            self.add_waiting(plane);
        }
    }

    /// Adds the collected addends of a plane to it and the two above, and passes the carry on.
    fn add_waiting(&mut self, plane: usize) {
        let group = &self.waiting[plane];
        let [mut ones, mut twos, mut fours] =
            [0, 1, 2].map(|above: usize| self.planes[plane + above]);
        let mut carry = [0; WORDS];
        for word in 0..WORDS {
            let add = |sum: &mut u64, a: u64, b: u64| {
                let carry = *sum & a | b & (*sum ^ a);
                *sum ^= a ^ b;
                carry
            };
            let [ones, twos, fours] = [&mut ones[word], &mut twos[word], &mut fours[word]];
            let mut pair = |at: usize| add(ones, group[at][word], group[at + 1][word]);
            let (first, second) = (pair(0), pair(2));
            let (third, fourth) = (pair(4), pair(6));
            let (lower, upper) = (add(twos, first, second), add(twos, third, fourth));
            carry[word] = add(fours, lower, upper);
        }
        for (above, sum) in [ones, twos, fours].into_iter().enumerate() {
            self.planes[plane + above] = sum;
        }
        self.lengths[plane] = 0;
        if carry != [0; WORDS] {
            self.add_plane(plane + 3, carry);
        }
    }

    /// Adds the remaining addends and returns the sums. All sums are then 0 again.
    pub fn finish(&mut self) -> Sums<WORDS> {
        // From the lowest plane up, because each carries into those above.
        for plane in 0..PLANES {
            let length = usize::from(self.lengths[plane]);
            if length > 0 {
                self.waiting[plane][length..].fill([0; WORDS]);
                self.add_waiting(plane);
            }
        }
        let planes = std::mem::replace(&mut self.planes, [[0; WORDS]; PLANES]);
        Sums { planes, total: std::mem::take(&mut self.total) }
    }
}

impl<const WORDS: usize> Default for Accumulator<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> Sums<WORDS> {
    /// Bit i is 1 if sum i is above 0; a tie is 0.
    #[must_use]
    pub fn signs(&self) -> [u64; WORDS] {
        // A sum is twice the weight of its ones minus the total: positive if the ones exceed half of the total, rounded down.
        let half = self.total / 2;
        let mut above = [0; WORDS];
        let mut equal = [u64::MAX; WORDS];
        for (value, plane) in self.planes.iter().enumerate().rev() {
            let half = if half >> value & 1 == 1 { u64::MAX } else { 0 };
            for word in 0..WORDS {
                above[word] |= equal[word] & plane[word] & !half;
                equal[word] &= !(plane[word] ^ half);
            }
        }
        above
    }

    /// The sum of one bit: 0 is the lowest bit of the first word.
    ///
    /// # Panics
    ///
    /// If there is no such bit.
    #[must_use]
    pub fn sum(&self, bit: usize) -> i64 {
        let ones: u64 = (0..)
            .zip(&self.planes)
            .map(|(value, plane)| (plane[bit / 64] >> (bit % 64) & 1) << value)
            .sum();
        2 * ones.cast_signed() - self.total.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn planes_add_like_a_plain_loop(
            terms in prop::collection::vec((any::<[u64; 4]>(), prop_oneof![Just(4u32), 0..100u32, any::<u32>()]), 0..200),
        ) {
            let mut accumulator = Accumulator::new();
            let mut plain = [0i64; 256];
            for &(hash, weight) in &terms {
                accumulator.add(hash, weight);
                for (bit, sum) in plain.iter_mut().enumerate() {
                    let one = hash[bit / 64] >> (bit % 64) & 1 == 1;
                    *sum += if one { i64::from(weight) } else { -i64::from(weight) };
                }
            }
            let sums = accumulator.finish();
            let signs = sums.signs();
            for (bit, &sum) in plain.iter().enumerate() {
                prop_assert_eq!(sums.sum(bit), sum);
                prop_assert_eq!(signs[bit / 64] >> (bit % 64) & 1 == 1, sum > 0);
            }
        }
    }

    #[test]
    fn a_tie_is_zero() {
        let mut accumulator = Accumulator::new();
        accumulator.add([0b01], 3);
        accumulator.add([0b10], 3);
        assert_eq!(accumulator.finish().signs(), [0]);
    }
}
