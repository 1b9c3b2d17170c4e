//! All that is kept of a document to judge later ones.

use serde::{Deserialize, Serialize};

use super::{content::Content, document::OriginKey};
use crate::fingerprint::{Digest, Sketch as TextSketch};

/// All that is kept of a document to judge later ones, as one value: the digests of its body and its text, the signature of the text, its
/// origin, and of a page what it shows and the keys by which it is found.
///
/// A sketch depends on the document and on the recipe alone, not on what was judged before. Sketches of one recipe can be kept, sent elsewhere and
/// [compared](super::compare()).
///
/// ```
/// use pagesieve::{Filter, filter::{Options, Sketch}};
///
/// let documents = Filter::new(&Options::default())?.documents();
/// let sketch = documents.text("a", "The tide is high.").sketch().clone();
/// assert_eq!(Sketch::from_bytes(&sketch.to_bytes()), Some(sketch));
/// # Ok::<(), pagesieve::OptionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sketch {
    /// The digest of its bytes, if it has any.
    pub body: Option<Digest>,
    /// The signature, the number of features and the digest of its text.
    pub text: TextSketch,
    pub(crate) origin: Option<OriginKey>,
    /// What a page shows; `None` for a text.
    pub(crate) content: Option<Content>,
    pub(crate) keys: Vec<u64>,
}

/// The first byte of a sketch.
const VERSION: u8 = 3;

impl Sketch {
    /// The sketch of a text.
    pub(crate) fn of_text(text: TextSketch, origin: Option<OriginKey>) -> Self {
        Self { body: None, text, origin, content: None, keys: Vec::new() }
    }

    /// The keys under which later pages find it: some passages of its body text, and some of the prose around it. None for a text, which is found
    /// by its fingerprint.
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Whether it is of a page, and not of a text.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.content.is_some()
    }

    /// As bytes, at most some 2.5 KB.
    ///
    /// # Panics
    /// Never: memory takes all bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = vec![VERSION];
        postcard::to_extend(self, bytes).expect("memory takes all bytes")
    }

    /// The sketch that these bytes hold; `None` if they are damaged or of another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&version, bytes) = bytes.split_first()?;
        let (sketch, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        let is_sound = sketch.content.as_ref().is_none_or(Content::is_sound);
        (version == VERSION && rest.is_empty() && is_sound).then_some(sketch)
    }
}
