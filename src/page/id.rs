//! The id of a document: a string or an integer that its caller gave it, or a number that the filter made up.
//!
//! The three are spaces of their own: 5, "5" and the sixth document without an id are three documents. The filter keeps an id as text, and a
//! character that no given string begins with says which it is.

use std::fmt;

use serde::{Serialize, Serializer};

/// What an id that is an integer begins with.
const INTEGER: char = '\u{1}';
/// What an id begins with that the filter made up.
const UNNAMED: char = '\u{2}';

/// The id of a document, as the filter keeps it.
///
/// ```
/// use pagesieve::page::{GivenId, Id};
///
/// let ids = [Id::text("5")?, Id::integer(5), Id::unnamed(5)];
/// assert_eq!(ids.each_ref().map(|id| id.given().to_string()), ["5", "5", "#5"]);
/// assert_eq!(GivenId::of(ids[1].as_str()), GivenId::Integer(5));
/// assert!(ids[0] != ids[1] && ids[1] != ids[2]);
/// # Ok::<(), pagesieve::page::IdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(String);

/// A string that cannot be an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id must not begin with U+0001 or U+0002")]
#[non_exhaustive]
pub struct IdError;

/// An id as its caller gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers convert each kind")]
pub enum GivenId<'a> {
    /// A string.
    Text(&'a str),
    /// An integer.
    Integer(i128),
    /// None: the number of the document among all that were submitted to the filter, from 0. Printed as `#5`.
    Unnamed(u64),
}

impl Id {
    /// The id that is this string.
    ///
    /// # Errors
    /// If it begins with U+0001 or U+0002.
    pub fn text(id: impl Into<String>) -> Result<Self, IdError> {
        let id = id.into();
        if id.starts_with([INTEGER, UNNAMED]) { Err(IdError) } else { Ok(Self(id)) }
    }

    /// The id that is this integer.
    #[must_use]
    pub fn integer(id: i128) -> Self {
        Self(format!("{INTEGER}{id}"))
    }

    /// The id of a document that has none, by its number.
    #[must_use]
    pub fn unnamed(number: u64) -> Self {
        Self(format!("{UNNAMED}{number}"))
    }

    /// As the filter keeps it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As its caller gave it.
    #[must_use]
    pub fn given(&self) -> GivenId<'_> {
        GivenId::of(&self.0)
    }

    /// The ids that are printed like this text, the string itself first: what somebody may mean who has only read it.
    #[must_use]
    pub fn printed_as(text: &str) -> Vec<Self> {
        let integer = text.parse().ok().filter(|number: &i128| number.to_string() == text);
        let number = text.strip_prefix('#').and_then(|number| number.parse().ok());
        let others = [integer.map(Self::integer), number.map(Self::unnamed)];
        Self::text(text).into_iter().chain(others.into_iter().flatten()).collect()
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl<'a> GivenId<'a> {
    /// The id that the filter keeps as this text.
    #[must_use]
    pub fn of(kept: &'a str) -> Self {
        let integer = || kept.strip_prefix(INTEGER)?.parse().ok().map(GivenId::Integer);
        let number = || kept.strip_prefix(UNNAMED)?.parse().ok().map(GivenId::Unnamed);
        integer().or_else(number).unwrap_or(GivenId::Text(kept))
    }
}

impl fmt::Display for GivenId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Unnamed(number) => write!(f, "#{number}"),
        }
    }
}

impl Serialize for GivenId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            // In outputs an id is a string, whatever it is.
            Self::Integer(_) | Self::Unnamed(_) => serializer.collect_str(self),
        }
    }
}

/// Serialises an id that the filter keeps as its caller gave it.
///
/// # Errors
/// As the serializer.
#[cfg(feature = "crawl")]
pub(crate) fn serialize<S: Serializer>(
    kept: &(impl AsRef<str> + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    GivenId::of(kept.as_ref()).serialize(serializer)
}

/// The same of an id that may be missing.
///
/// # Errors
/// As the serializer.
#[cfg(feature = "crawl")]
#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
pub(crate) fn serialize_if_any<S: Serializer>(
    kept: &Option<impl AsRef<str>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    kept.as_ref().map(|kept| GivenId::of(kept.as_ref())).serialize(serializer)
}
