//! How many pages may still be fetched, in total and for each seed.
//!
//! Pages in flight are reserved, so that no budget is ever exceeded.

/// The budgets of a run and of its seeds.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Budget {
    total: Limit,
    seeds: Vec<Limit>,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    pages: u64,
    spent: u64,
    reserved: u64,
}

impl Limit {
    fn is_spent(&self) -> bool {
        self.spent >= self.pages
    }

    fn has_room(&self) -> bool {
        self.spent + self.reserved < self.pages
    }

    fn release(&mut self, received: bool) {
        self.reserved = self.reserved.saturating_sub(1);
        self.spent += u64::from(received);
    }
}

impl Budget {
    /// The limit of the run and the pages it has fetched, and the same for each seed.
    pub(in crate::crawl) fn new(
        pages: u64,
        spent: u64,
        seeds: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let limit = |(pages, spent)| Limit { pages, spent, reserved: 0 };
        Self { total: limit((pages, spent)), seeds: seeds.into_iter().map(limit).collect() }
    }

    /// Whether the run's budget is spent.
    pub(super) fn is_spent(&self) -> bool {
        self.total.is_spent()
    }

    /// Whether a seed's budget is spent.
    pub(super) fn is_seed_spent(&self, seed: usize) -> bool {
        self.seeds.get(seed).is_some_and(Limit::is_spent)
    }

    /// Reserves a page. If it cannot, a budget is spent, or the rest of it is in flight and may come back.
    pub(super) fn reserve(&mut self, seed: Option<usize>) -> bool {
        let seed = seed.and_then(|seed| self.seeds.get_mut(seed));
        let has_room = self.total.has_room() && seed.as_ref().is_none_or(|seed| seed.has_room());
        if has_room {
            self.total.reserved += 1;
            if let Some(seed) = seed {
                seed.reserved += 1;
            }
        }
        has_room
    }

    /// Releases a reserved page, or spends it if a page was received.
    pub(super) fn release(&mut self, seed: Option<usize>, received: bool) {
        self.total.release(received);
        if let Some(seed) = seed.and_then(|seed| self.seeds.get_mut(seed)) {
            seed.release(received);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_flight_are_not_spent_twice() {
        let mut budget = Budget::new(2, 0, [(1, 0)]);
        assert!(budget.reserve(Some(0)));
        assert!(!budget.reserve(Some(0)));
        assert!(budget.reserve(None));
        assert!(!budget.reserve(None));
        budget.release(Some(0), true);
        assert!(budget.is_seed_spent(0));
        budget.release(None, false);
        assert!(budget.reserve(None));
        assert!(!budget.is_spent());
        budget.release(None, true);
        assert!(budget.is_spent());
    }
}
