//! The window's clock.

use std::{
    ops::Sub,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch: the window's clock. Delays between requests use the monotonic clock instead.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The system's clock, read now. A clock set before 1970 reads as the epoch.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(Self(0), |since| Self(millis(since)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    /// The instant `age` earlier, or the earliest that can be written.
    fn sub(self, age: Duration) -> Self {
        Self(self.0.saturating_sub(millis(age)))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
