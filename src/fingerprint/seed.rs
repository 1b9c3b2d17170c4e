//! The seed of the hashes, and how a configuration names it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What all hashes of a run depend on. Who knows it can forge texts that meet; so it is never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashSeed(pub u64);

impl HashSeed {
    /// The seed of `dedup.seed = "public"`: everybody gets the same fingerprints. (The letters `pagesiev`.)
    pub const PUBLIC: Self = Self(0x7061_6765_7369_6576);

    /// Eight hexadecimal digits that tell seeds apart and do not give them away.
    #[must_use]
    pub fn id(self) -> String {
        let hash = blake3::derive_key("pagesieve 2025 seed id", &self.0.to_le_bytes());
        format!("{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3])
    }
}

/// Names the seed, never its value.
impl fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashSeed(id {})", self.id())
    }
}

/// The key `dedup.seed`: `"secret"`, `"public"` or a number of 0 or more.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum HashSeedChoice {
    /// Drawn at random when a run begins, and kept in its state.
    #[default]
    Secret,
    /// [`HashSeed::PUBLIC`].
    Public,
    /// This one.
    Fixed(HashSeed),
}

impl HashSeedChoice {
    /// The seed, unless it is one that the caller draws.
    #[must_use]
    pub fn seed(self) -> Option<HashSeed> {
        match self {
            Self::Secret => None,
            Self::Public => Some(HashSeed::PUBLIC),
            Self::Fixed(seed) => Some(seed),
        }
    }
}

impl fmt::Debug for HashSeedChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret => f.write_str("Secret"),
            Self::Public => f.write_str("Public"),
            Self::Fixed(seed) => f.debug_tuple("Fixed").field(seed).finish(),
        }
    }
}

/// Writes what a configuration would have to say, the number of a fixed seed included.
impl Serialize for HashSeedChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Secret => serializer.serialize_str("secret"),
            Self::Public => serializer.serialize_str("public"),
            Self::Fixed(seed) => serializer.serialize_u64(seed.0),
        }
    }
}

impl<'de> Deserialize<'de> for HashSeedChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl de::Visitor<'_> for ChoiceVisitor {
    type Value = HashSeedChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""secret", "public" or a number of 0 or more"#)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HashSeedChoice, E> {
        match text {
            "secret" => Ok(HashSeedChoice::Secret),
            "public" => Ok(HashSeedChoice::Public),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<HashSeedChoice, E> {
        Ok(HashSeedChoice::Fixed(HashSeed(number)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<HashSeedChoice, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }
}
