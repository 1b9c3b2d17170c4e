//! How far the index looks.

use serde::{Deserialize, Serialize};

use crate::index::MAX_RADIUS;

/// The radius of the index, in bits of the fingerprint: 0 to 11, and nothing else.
///
/// ```
/// use pagesieve::filter::Radius;
///
/// assert_eq!(Radius::try_from(9).map(Radius::get), Ok(9));
/// assert_eq!(Radius::try_from(12).unwrap_err().to_string(), "radius 12 is too large: write 0 to 11");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct Radius(u32);

/// A radius that the index does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("radius {0} is too large: write 0 to {MAX_RADIUS}")]
pub struct RadiusError(pub u32);

impl Radius {
    /// That of the classic rule.
    pub(super) const CLASSIC: Self = Self(3);
    /// That of the balanced rule. On the development data it is the least at which no seed of the hash, of 200, misses more than one in
    /// twenty near duplicates that are not equal.
    pub(super) const BALANCED: Self = Self(9);
    /// The largest.
    pub const MAX: Self = Self(MAX_RADIUS);

    /// In bits.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Radius {
    type Error = RadiusError;

    fn try_from(radius: u32) -> Result<Self, RadiusError> {
        if radius > MAX_RADIUS { Err(RadiusError(radius)) } else { Ok(Self(radius)) }
    }
}
