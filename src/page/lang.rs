//! A language code in three bytes.

use std::{fmt, str};

use serde::{Serialize, Serializer};

/// The primary subtag of a language tag (RFC 5646), in lower case: `zh`, `ja`, `en`, `haw`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lang([u8; 3]);

impl Lang {
    /// Takes the primary subtag of a tag such as `zh-Hant-TW`; `None` unless it has two or three letters.
    ///
    /// ```
    /// use pagesieve::page::Lang;
    ///
    /// assert_eq!(Lang::new("zh-Hant-TW").unwrap().as_str(), "zh");
    /// assert_eq!(Lang::new(""), None);
    /// ```
    #[must_use]
    pub fn new(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next()?.as_bytes();
        let valid = (2..=3).contains(&primary.len()) && primary.iter().all(u8::is_ascii_alphabetic);
        valid.then(|| {
            let mut code = [0; 3];
            code[..primary.len()].copy_from_slice(primary);
            code.make_ascii_lowercase();
            Self(code)
        })
    }

    /// The code as a string.
    ///
    /// # Panics
    /// Never: the code consists of ASCII letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = if self.0[2] == 0 { 2 } else { 3 };
        str::from_utf8(&self.0[..len]).expect("ASCII letters are UTF-8")
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lang({self})")
    }
}

impl Serialize for Lang {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
