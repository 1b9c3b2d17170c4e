//! A fetched page, and the values that identify it in every stage: normal URL, origin, document number, language, time.
//!
//! The lowest module: it imports no other one and does no I/O.

#[cfg(feature = "html")]
pub(crate) mod id;
pub(crate) mod language;
#[cfg(feature = "html")]
mod normal_url;
pub(crate) mod outline;
#[cfg(feature = "crawl")]
mod validators;

use std::{
    fmt,
    ops::{Add, Sub},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytesize::{ByteSize, GIB, KIB, MIB};
use serde::{Deserialize, Serialize, Serializer};

#[cfg(feature = "html")]
pub use id::{GivenId, Id, IdError};
pub use language::{Lang, language};
#[cfg(feature = "crawl")]
pub(crate) use normal_url::normalise;
#[cfg(feature = "html")]
pub use normal_url::{NormalUrl, Origin, UrlError, UrlOptions, site_of};
pub use outline::Outline;
#[cfg(feature = "crawl")]
pub use validators::Validators;

/// A response as received from the network or read from a file: content coding removed, not yet decoded or parsed.
#[cfg(feature = "html")]
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The URL of the body; relative links are resolved against it. `None` if it is unknown.
    pub url: Option<url::Url>,
    /// The `Content-Type` header as received.
    pub content_type: Option<String>,
    /// The `X-Robots-Tag` headers as received.
    pub x_robots_tag: Vec<String>,
    /// The `Link` headers as received.
    pub link: Vec<String>,
    /// The `Refresh` header as received.
    pub refresh: Option<String>,
    /// The body without its content coding, possibly cut at a limit.
    pub body: Vec<u8>,
}

/// The number of a document in order of arrival, from 1. It is never reused, even after the document has left the window.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DocId(pub u64);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since the Unix epoch, the clock by which documents expire. Delays between requests use the monotonic clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The system's clock, read now. A clock set before 1970 reads as the epoch.
    #[must_use]
    pub fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// The instant `time` later, or the latest representable one.
    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(millis(time)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    /// The instant `age` earlier, or the earliest representable one.
    fn sub(self, age: Duration) -> Self {
        Self(self.0.saturating_sub(millis(age)))
    }
}

/// RFC 3339 in UTC, or the number if it is outside the years that RFC 3339 can express.
#[cfg(feature = "html")]
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => at.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

/// The same instant, written as RFC 3339 in UTC; the epoch if it is outside the years that RFC 3339 can express.
#[cfg(feature = "crawl")]
impl From<Timestamp> for jiff::Timestamp {
    fn from(at: Timestamp) -> Self {
        Self::from_millisecond(at.0).unwrap_or_default()
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Writes 4920 as `4,920`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with this many decimal places, rounded down: one below a threshold is not shown as the threshold.
#[cfg(feature = "crawl")]
pub(crate) fn floored(number: impl fmt::Display, places: usize) -> String {
    let number = number.to_string();
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    format!("{whole}.{fraction:0<places$.places$}")
}

/// The similarity of a near duplicate, rounded down. Without a difference in what is compared it is no `1.00`: the pages are not equal.
#[cfg(feature = "crawl")]
pub(crate) fn nearness(similarity: f32) -> String {
    if similarity < 1.0 { floored(similarity, 2) } else { "≈1".to_owned() }
}

/// A number of things: `1 page`, `4,920 pages`.
#[cfg(feature = "crawl")]
pub(crate) fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {thing}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A time, rounded down: `90 s`, `5 min`, `3 h`.
#[cfg(feature = "crawl")]
pub(crate) fn about(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// Serialises a size in the largest unit that divides it, so that a configuration reads back the same value.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
pub(crate) fn serialize_size<S: Serializer>(
    size: &ByteSize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes = size.as_u64();
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)).unwrap_or((1, "B"));
    serializer.collect_str(&format_args!("{} {name}", bytes / unit))
}

#[cfg(all(test, feature = "crawl"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_threshold_is_not_shown_as_the_threshold() {
        assert_eq!(floored(0.679_999_f32, 3), "0.679");
        // 100 times this is less than 29 in binary.
        assert_eq!([floored(0.29, 2), floored(0.68_f32, 4)], ["0.29", "0.6800"]);
        assert_eq!([floored(1.0_f32, 2), floored(0.0, 4)], ["1.00", "0.0000"]);
        assert_eq!([nearness(0.999_9), nearness(1.0)], ["0.99", "≈1"]);
    }
}
