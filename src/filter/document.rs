//! What the filter judges, and how it is made from a text or a page.

use std::sync::Arc;

use super::{
    keys::Keys,
    reader,
    sketch::{Key, OriginKey, Sketch},
    verdict::Facts,
};
#[cfg(feature = "html")]
use crate::{
    extract::{Extracted, Extractor},
    page::{Origin, Page},
};
use crate::{
    fingerprint::{Digest, Fingerprinter, Recipe, Sketch as TextSketch},
    page::{Lang, Outline, Timestamp, language},
};

/// A document to be judged. [`Documents`] makes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub(crate) id: String,
    pub(crate) key: Key,
    pub(crate) sketch: Sketch,
    /// The keys by which pages with common passages are searched.
    pub(crate) searched: Vec<u64>,
    /// A sample of the passages of its body text, in page order.
    pub(crate) read: Vec<u32>,
    pub(crate) chars: u32,
    pub(crate) lang: Option<Lang>,
    pub(crate) at: Timestamp,
    pub(crate) recipe: Recipe,
}

impl Document {
    /// The id that the caller gave it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All that is kept of it to judge later ones.
    #[must_use]
    pub fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    /// The keys by which earlier pages are searched: those that have one of them among their [`Sketch::keys`] may have the same content.
    #[must_use]
    pub fn searched_keys(&self) -> &[u64] {
        &self.searched
    }

    /// One in four passages of the body text of a page, as hashes in page order: five words in a row of one line, or a shorter line. Lines in blocks of links have
    /// none: they name other pages. Two pages sample the same ones of what they share, so they say how much of a page was on others before, however it is arranged.
    /// None for a text.
    #[must_use]
    pub fn passages(&self) -> &[u32] {
        &self.read
    }

    /// Fingerprint, length and language of its text.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let TextSketch { signature, features, .. } = self.sketch.text;
        Facts {
            fingerprint: (features > 0).then(|| signature.fingerprint()),
            chars: self.chars,
            features,
            lang: self.lang,
            thin: false,
        }
    }

    /// The same document with the digest of its body: the bytes from which its text was taken.
    #[must_use]
    pub fn with_body(self, body: Digest) -> Self {
        Self { sketch: Sketch { body: Some(body), ..self.sketch }, ..self }
    }

    /// The same document with this key. By default the key is the hash of the id. A document never repeats an earlier one with the same key.
    #[must_use]
    pub fn with_key(self, key: Key) -> Self {
        Self { key, ..self }
    }

    /// The same document with this time of arrival. By default it is the time at which the document was made. A time before that of an
    /// earlier document counts as that document's.
    #[must_use]
    pub fn with_time(self, at: Timestamp) -> Self {
        Self { at, ..self }
    }
}

/// Makes documents for a filter, fingerprinted as its options say. A clone is cheap, and many threads can work with one.
///
/// ```
/// use pagesieve::{Filter, filter::Options};
///
/// let mut filter = Filter::new(&Options::default())?;
/// let documents = filter.documents();
/// assert!(filter.judge(&documents.text("a", "The tide is high."))?.verdict.is_unique());
/// assert!(!filter.judge(&documents.text("b", "the TIDE is high"))?.verdict.is_unique());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Documents {
    fingerprinter: Arc<Fingerprinter>,
    /// Whether pages are compared by their content.
    pub(super) reads_content: bool,
    /// Whether a text has keys too, by which others find it that share the window.
    are_shared: bool,
}

impl Documents {
    pub(crate) fn new(recipe: Recipe, reads_content: bool) -> Self {
        Self {
            fingerprinter: Arc::new(Fingerprinter::new(recipe)),
            reads_content,
            are_shared: false,
        }
    }

    /// The same for a window that is shared, or a corpus: texts have [keys](Sketch::keys) too.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { are_shared: true, ..self }
    }

    /// The fingerprinter that it uses.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// A plain text, arriving now.
    #[must_use]
    pub fn text(&self, id: &str, text: &str) -> Document {
        self.document(id, None, with_language(text), None)
    }

    /// The body text of a page, arriving now, together with what the extractor found in the page. The id is the page's URL.
    ///
    /// ```
    /// use pagesieve::{Filter, extract::Extractor, filter::Options, page::Page};
    ///
    /// let filter = Filter::new(&Options::default())?;
    /// let page = Page {
    ///     url: "http://example.org/".parse().ok(),
    ///     body: b"<title>Tea</title><p>Green tea.".to_vec(),
    ///     ..Page::default()
    /// };
    /// let (document, extracted) = filter.documents().page(&Extractor::default(), &page);
    /// assert_eq!((document.id(), &*extracted.text), ("http://example.org/", "Green tea."));
    /// # Ok::<(), pagesieve::filter::OptionsError>(())
    /// ```
    #[cfg(feature = "html")]
    #[must_use]
    pub fn page(&self, extractor: &Extractor, page: &Page) -> (Document, Extracted) {
        let extracted = extractor.extract(page);
        let id = page.url.as_ref().map_or("", url::Url::as_str);
        let origin = page.url.as_ref().and_then(Origin::of);
        let body = Some(Digest::of(&page.body));
        (self.extracted(id, origin.as_ref(), &extracted, body), extracted)
    }

    /// A page with this body text and outline, arriving now. It is compared by what it shows, not by its text alone, unless the options switch that off.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::Options, page::Outline};
    ///
    /// let mut filter = Filter::new(&Options::default())?;
    /// let mut outline = Outline::new("Tides - example.org");
    /// let text = "The tide is high when the moon is near, and low when it is not.";
    /// outline.line(Outline::PAGE, text, 0, true);
    /// let page = filter.documents().outlined("a", Some("example.org:443"), text, &outline);
    /// assert!(filter.judge(&page)?.verdict.is_unique());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn outlined(
        &self,
        id: &str,
        origin: Option<&str>,
        text: &str,
        outline: &Outline,
    ) -> Document {
        self.document(id, origin, with_language(text), Some(outline))
    }

    /// The text that an extractor found, arriving now. Its origin is the host and port of its URL. `body` is the digest of the bytes from
    /// which the text was taken, if there were any.
    #[cfg(feature = "html")]
    #[must_use]
    pub fn extracted(
        &self,
        id: &str,
        origin: Option<&Origin>,
        extracted: &Extracted,
        body: Option<Digest>,
    ) -> Document {
        let lang = extracted.lang.and_then(Lang::new);
        let origin = origin.map(Origin::as_str);
        let text = (&*extracted.text, lang);
        let document = self.document(id, origin, text, Some(&extracted.outline));
        Document { sketch: Sketch { body, ..document.sketch }, ..document }
    }

    /// A document of which only the sketch is known. For measurements and tests.
    #[doc(hidden)]
    #[must_use]
    pub fn sketched(&self, id: &str, sketch: TextSketch, chars: u32) -> Document {
        Document {
            id: id.to_owned(),
            key: Key::of(id),
            sketch: Sketch::of_text(sketch, None),
            searched: Vec::new(),
            read: Vec::new(),
            chars,
            lang: None,
            at: Timestamp(0),
            recipe: self.fingerprinter.recipe(),
        }
    }

    fn document(
        &self,
        id: &str,
        origin: Option<&str>,
        (text, lang): (&str, Option<Lang>),
        outline: Option<&Outline>,
    ) -> Document {
        let page = outline.filter(|it| !it.parents().is_empty());
        let (text_sketch, content, keys) = match page {
            Some(page) => reader::read(page, text, &self.fingerprinter, self.reads_content),
            None if outline.is_some() || self.are_shared => {
                let (sketch, keys) = reader::read_text(text, &self.fingerprinter);
                (sketch, None, keys)
            }
            None => (self.fingerprinter.sketch(text), None, Keys::default()),
        };
        let digest = text_sketch.digest.or_else(|| digest_without_words(text));
        let text_sketch = TextSketch { digest, ..text_sketch };
        let (has_content, origin) = (content.is_some(), origin.map(OriginKey::of));
        let if_used = |keys, is_used| if is_used { keys } else { Vec::new() };
        let keys_stored = if_used(keys.stored, has_content || self.are_shared);
        Document {
            lang,
            at: Timestamp::now(),
            sketch: Sketch { content, keys: keys_stored, ..Sketch::of_text(text_sketch, origin) },
            searched: if_used(keys.searched, has_content),
            read: if outline.is_some() { keys.read } else { Vec::new() },
            ..self.sketched(id, TextSketch::default(), chars(text))
        }
    }
}

fn with_language(text: &str) -> (&str, Option<Lang>) {
    (text, language(text).and_then(Lang::new))
}

/// The digest of a text without words: of its characters that are not white space, if it has any. No text with words has the same.
fn digest_without_words(text: &str) -> Option<Digest> {
    let mut marked = "\u{0}\u{0}".to_owned();
    let unmarked = marked.len();
    marked.extend(text.chars().filter(|character| !character.is_whitespace()));
    (marked.len() > unmarked).then(|| Digest::of(marked.as_bytes()))
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
