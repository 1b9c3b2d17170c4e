//! What the filter judges, and how it is made from a text or a page.

use std::sync::Arc;

use super::{
    article::{Article, ArticleSketch},
    key::{Key, OriginKey},
    templates::Blocks,
    verdict::Facts,
};
#[cfg(feature = "html")]
use crate::{
    extract::{Extracted, Extractor},
    page::{Origin, Page},
};
use crate::{
    fingerprint::{Digest, Fingerprinter, Recipe, Sketch},
    page::{Lang, Outline, Timestamp, language},
};

/// A document to be judged. [`Documents`] makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub(crate) id: String,
    pub(crate) key: Key,
    pub(crate) body: Option<Digest>,
    pub(crate) sketch: Sketch,
    pub(crate) chars: u32,
    pub(crate) lang: Option<Lang>,
    pub(crate) at: Timestamp,
    pub(crate) blocks: Option<Blocks>,
    pub(crate) article: Option<Article>,
    pub(crate) recipe: Recipe,
}

impl Document {
    /// The id that the caller gave it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The signature of its text, and the digest of its words.
    #[must_use]
    pub fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    /// Fingerprint, length and language of its text.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let Sketch { signature, features, .. } = self.sketch;
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
        Self { body: Some(body), ..self }
    }

    /// The same document with this key. By default the key is the hash of the id. A document never repeats an earlier one with the same key.
    #[must_use]
    pub fn with_key(self, key: Key) -> Self {
        Self { key, ..self }
    }

    /// The same document with the blocks of this text.
    #[doc(hidden)]
    #[must_use]
    pub fn with_text_from(self, origin: &str, text: &str) -> Self {
        Self { blocks: Some(Blocks::of(origin, text)), ..self }
    }

    /// The same document with this sketch of its text, by another seed perhaps: documents that are judged together have one seed.
    #[cfg(feature = "cli")]
    pub(crate) fn with_text_sketch(self, sketch: Sketch) -> Self {
        Self { sketch, ..self }
    }

    /// The same document with the article of which a run keeps this sketch. It can be judged with others that are made in this way.
    pub(crate) fn with_sketch(self, sketch: ArticleSketch) -> Self {
        let article = Article::of_sketch(sketch);
        let blocks = self.blocks.map(|it| page_blocks(it.origin, &article));
        Self { blocks, article: Some(article), ..self }
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
/// assert!(filter.judge(&documents.text("a", "The tide is high.")).verdict.is_unique());
/// assert!(!filter.judge(&documents.text("b", "the TIDE is high")).verdict.is_unique());
/// # Ok::<(), pagesieve::filter::OptionsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Documents {
    fingerprinter: Arc<Fingerprinter>,
    /// Whether pages are judged by their articles.
    reads_articles: bool,
}

impl Documents {
    pub(crate) fn new(recipe: Recipe, reads_articles: bool) -> Self {
        Self { fingerprinter: Arc::new(Fingerprinter::new(recipe)), reads_articles }
    }

    /// The fingerprinter that it uses.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// A plain text, arriving now.
    #[must_use]
    pub fn text(&self, id: &str, text: &str) -> Document {
        self.document(id, None, text, language(text).and_then(Lang::new))
    }

    /// A plain text from an origin, arriving now. Documents from one origin may share a template: lines that many of them have. The filter
    /// learns it, and then these documents need a closer match to count as near duplicates. The name is arbitrary: a host, for instance.
    #[must_use]
    pub fn text_from(&self, origin: &str, id: &str, text: &str) -> Document {
        self.document(id, Some(origin), text, language(text).and_then(Lang::new))
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

    /// A page with this body text and outline, arriving now. Its article is compared, not all of its text, unless the options switch that off.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::Options, page::Outline};
    ///
    /// let mut filter = Filter::new(&Options::default())?;
    /// let mut outline = Outline::new("Tides - example.org");
    /// let text = "The tide is high when the moon is near, and low when it is not.";
    /// outline.line(Outline::PAGE, text, 0, true);
    /// let page = filter.documents().outlined("a", Some("example.org:443"), text, &outline);
    /// assert!(filter.judge(&page).verdict.is_unique());
    /// # Ok::<(), pagesieve::filter::OptionsError>(())
    /// ```
    #[must_use]
    pub fn outlined(
        &self,
        id: &str,
        origin: Option<&str>,
        text: &str,
        outline: &Outline,
    ) -> Document {
        self.with_outline(id, origin, (text, language(text).and_then(Lang::new)), outline)
    }

    fn with_outline(
        &self,
        id: &str,
        origin: Option<&str>,
        (text, lang): (&str, Option<Lang>),
        outline: &Outline,
    ) -> Document {
        if !self.reads_articles || outline.parents().is_empty() {
            return self.document(id, origin, text, lang);
        }
        let (article, sketch) = Article::with_text(outline, text, &self.fingerprinter);
        let blocks = origin.map(|origin| page_blocks(OriginKey::of(origin), &article));
        let at = Timestamp::now();
        let document = self.sketched(id, sketch, chars(text));
        Document { lang, at, blocks, article: Some(article), ..document }
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
        let document = self.with_outline(id, origin, (&extracted.text, lang), &extracted.outline);
        Document { body, ..document }
    }

    /// A document of which only the sketch is known. For measurements and tests.
    #[doc(hidden)]
    #[must_use]
    pub fn sketched(&self, id: &str, sketch: Sketch, chars: u32) -> Document {
        Document {
            id: id.to_owned(),
            key: Key::of(id),
            body: None,
            sketch,
            chars,
            lang: None,
            at: Timestamp(0),
            blocks: None,
            article: None,
            recipe: self.fingerprinter.recipe(),
        }
    }

    fn document(&self, id: &str, origin: Option<&str>, text: &str, lang: Option<Lang>) -> Document {
        Document {
            lang,
            at: Timestamp::now(),
            blocks: origin.map(|origin| Blocks::of(origin, text)),
            ..self.sketched(id, self.fingerprinter.sketch(text), chars(text))
        }
    }
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// The blocks of a page of this origin by which its template is known.
fn page_blocks(origin: OriginKey, article: &Article) -> Blocks {
    Blocks::of_page(origin, article.name(), article.blocks(), article.keys_beside_blocks())
}
