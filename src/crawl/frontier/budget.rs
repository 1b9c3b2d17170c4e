//! How many pages may still be fetched, in all and of each seed.
//!
//! What is in flight is reserved, so that no budget is ever overdrawn.

/// The budgets of a run and of its seeds.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Budget {
    all: Account,
    seeds: Vec<Account>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    limit: u64,
    spent: u64,
    reserved: u64,
}

impl Account {
    fn new(limit: u64, spent: u64) -> Self {
        Self { limit, spent, reserved: 0 }
    }

    fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    fn has_room(&self) -> bool {
        self.spent + self.reserved < self.limit
    }

    fn settle(&mut self, counted: bool) {
        self.reserved = self.reserved.saturating_sub(1);
        self.spent += u64::from(counted);
    }
}

impl Budget {
    /// The run's limit and what it has spent, and each seed's.
    pub(in crate::crawl) fn new(
        limit: u64,
        spent: u64,
        seeds: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let seeds = seeds.into_iter().map(|(limit, spent)| Account::new(limit, spent)).collect();
        Self { all: Account::new(limit, spent), seeds }
    }

    /// Whether the run's budget is spent.
    pub(in crate::crawl) fn is_spent(&self) -> bool {
        self.all.is_spent()
    }

    /// Whether a seed's budget is spent.
    pub(in crate::crawl) fn is_seed_spent(&self, seed: usize) -> bool {
        self.seeds.get(seed).is_some_and(Account::is_spent)
    }

    /// Reserves a page's worth. If it does not, either a budget is spent or all that is left of it is in flight and may come back.
    pub(super) fn reserve(&mut self, seed: Option<usize>) -> bool {
        let seed = seed.and_then(|seed| self.seeds.get_mut(seed));
        let has_room = self.all.has_room() && seed.as_ref().is_none_or(|seed| seed.has_room());
        if has_room {
            self.all.reserved += 1;
            if let Some(seed) = seed {
                seed.reserved += 1;
            }
        }
        has_room
    }

    /// A page's worth that was reserved comes back, or is spent if a page was received.
    pub(in crate::crawl) fn settle(&mut self, seed: Option<usize>, counted: bool) {
        self.all.settle(counted);
        if let Some(seed) = seed.and_then(|seed| self.seeds.get_mut(seed)) {
            seed.settle(counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_not_spent_twice() {
        let mut budget = Budget::new(2, 0, [(1, 0)]);
        assert!(budget.reserve(Some(0)));
        assert!(!budget.reserve(Some(0)));
        assert!(budget.reserve(None));
        assert!(!budget.reserve(None));
        budget.settle(Some(0), true);
        assert!(budget.is_seed_spent(0));
        budget.settle(None, false);
        assert!(budget.reserve(None));
        assert!(!budget.is_spent());
        budget.settle(None, true);
        assert!(budget.is_spent());
    }
}
