//! Fingerprint, signature and digest: values of a fixed number of bits, written as hexadecimal digits.

use std::{f64::consts::PI, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The indexed 64 bits of a text. Similar texts differ in few of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

/// All 256 bits of a text: four words, the fingerprint first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Signature(pub [u64; 4]);

/// The first 128 bits of a BLAKE3 hash of a body or of a text's words.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 16]);

/// A string that does not consist of the expected number of hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} hexadecimal digits, found {found:?}")]
#[non_exhaustive]
pub struct ParseBitsError {
    digits: usize,
    found: String,
}

impl Fingerprint {
    /// The Hamming distance: the number of differing bits, 0 to 64.
    ///
    /// ```
    /// use pagesieve::Fingerprint;
    ///
    /// assert_eq!(Fingerprint(0b101_1101).distance(Fingerprint(0b100_1001)), 2);
    /// ```
    #[must_use]
    pub fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

impl Signature {
    /// The first 64 bits.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.0[0])
    }

    /// The Hamming distance: the number of differing bits, 0 to 256.
    #[must_use]
    pub fn distance(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

/// The cosine similarity that a signature distance estimates: `max(0, cos(π·d/256))`.
///
/// A bit differs with probability angle/π between two texts (Charikar 2002).
#[doc(hidden)]
#[must_use]
pub fn similarity(signature_distance: u32) -> f32 {
    let cosine = (PI * f64::from(signature_distance) / 256.0).cos();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "single precision suffices for an estimate"
    )]
    let cosine = cosine.max(0.0) as f32;
    cosine
}

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(&blake3::hash(bytes))
    }

    /// The first half of a BLAKE3 hash.
    pub(super) fn from_hash(hash: &blake3::Hash) -> Self {
        Self(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = ParseBitsError;

    fn from_str(text: &str) -> Result<Self, ParseBitsError> {
        parse_words::<1>(text).map(|[word]| Self(word))
    }
}

impl FromStr for Signature {
    type Err = ParseBitsError;

    fn from_str(text: &str) -> Result<Self, ParseBitsError> {
        parse_words(text).map(Self)
    }
}

impl FromStr for Digest {
    type Err = ParseBitsError;

    fn from_str(text: &str) -> Result<Self, ParseBitsError> {
        let [high, low] = parse_words(text)?;
        Ok(Self(((u128::from(high) << 64) | u128::from(low)).to_be_bytes()))
    }
}

fn parse_words<const N: usize>(text: &str) -> Result<[u64; N], ParseBitsError> {
    let error = || ParseBitsError { digits: 16 * N, found: text.to_owned() };
    if text.len() != 16 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(error());
    }
    let mut words = [0; N];
    for (i, word) in words.iter_mut().enumerate() {
        *word = u64::from_str_radix(&text[16 * i..16 * (i + 1)], 16).map_err(|_| error())?;
    }
    Ok(words)
}

macro_rules! written_as_hex {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        /// As digits in text formats, as they are in others.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return Deserialize::deserialize(deserializer).map(Self);
                }
                <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

written_as_hex!(Fingerprint, Signature, Digest);
