//! The rolling window: which representatives may still be matched.

use std::{num::NonZeroU64, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    queue::Queue,
    representative::{Packed, Representative},
};
use crate::page::{DocId, Timestamp};

/// How far back the filter remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WindowOptions {
    /// How many representatives are remembered, short ones included.
    pub entries: NonZeroU64,
    /// For how long one is remembered; `"unlimited"` for as long as there is room.
    #[serde(with = "age")]
    pub age: Option<Duration>,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            entries: NonZeroU64::new(10_000_000).expect("not zero"),
            age: Some(Duration::from_hours(90 * 24)),
        }
    }
}

/// The representatives that may still be matched, oldest first, and the clock by which they age.
#[derive(Clone, Debug)]
pub(super) struct Window {
    options: WindowOptions,
    queue: Queue,
    clock: Timestamp,
}

impl Window {
    pub(super) fn new(options: WindowOptions) -> Self {
        Self { options, queue: Queue::default(), clock: Timestamp(i64::MIN) }
    }

    /// Moves the clock to `at`, never back.
    pub(super) fn advance(&mut self, at: Timestamp) {
        self.clock = self.clock.max(at);
    }

    /// Where the clock stands.
    pub(super) fn clock(&self) -> Timestamp {
        self.clock
    }

    /// Drops what is too old.
    pub(super) fn expire(&mut self) {
        let Some(age) = self.options.age else { return };
        let oldest = self.clock - age;
        while self.queue.front().is_some_and(|front| front.unpacked().at < oldest) {
            self.queue.pop();
        }
    }

    /// The number of the oldest representative that may still be matched.
    pub(super) fn oldest(&self) -> Option<DocId> {
        self.queue.front().map(Packed::id)
    }

    /// The same, or `next` if there is none.
    pub(super) fn horizon(&self, next: DocId) -> DocId {
        self.oldest().unwrap_or(next)
    }

    /// Takes in a representative; if there are too many now, the oldest leaves.
    pub(super) fn push(&mut self, representative: &Representative) {
        self.queue.push(Packed::of(representative));
        while self.len() as u64 > self.options.entries.get() {
            self.queue.pop();
        }
    }

    /// Removes a representative.
    pub(super) fn take(&mut self, id: DocId) -> Option<Representative> {
        self.queue.take(id).map(|packed| packed.unpacked())
    }

    /// The representative of this number, if it is in the window.
    pub(super) fn get(&self, id: DocId) -> Option<Representative> {
        self.queue.find(id).map(Packed::unpacked)
    }

    /// All representatives, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Representative> {
        self.queue.iter().map(Packed::unpacked)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// How many representatives it may hold.
    pub(super) fn capacity(&self) -> u64 {
        self.options.entries.get()
    }
}

/// `"90d"` or `"unlimited"`.
mod age {
    use std::{borrow::Cow, time::Duration};

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    const UNLIMITED: &str = "unlimited";
    const DAY: u64 = 24 * 60 * 60;

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        age: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match age {
            // Else 90 days would be two months of 30.44 days and the rest in hours.
            Some(age) if age.subsec_nanos() == 0 && age.as_secs() % DAY == 0 => {
                serializer.collect_str(&format_args!("{}d", age.as_secs() / DAY))
            }
            Some(age) => humantime_serde::serialize(age, serializer),
            None => serializer.serialize_str(UNLIMITED),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        if text == UNLIMITED {
            return Ok(None);
        }
        let wrong = |why: &dyn std::fmt::Display| {
            D::Error::custom(format_args!(
                "{text:?}: {why}; write for instance \"90d\", or \"{UNLIMITED}\""
            ))
        };
        match humantime_serde::re::humantime::parse_duration(&text) {
            Ok(Duration::ZERO) => Err(wrong(&"nothing would be remembered")),
            Ok(age) => Ok(Some(age)),
            Err(error) => Err(wrong(&error)),
        }
    }
}
