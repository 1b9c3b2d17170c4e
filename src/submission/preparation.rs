//! Makes documents of what was submitted: extracts the text of pages, and says which document and which site each is.

use url::Url;

use super::{Identity, Submission};
use crate::{
    extract::{Extracted, Extractor},
    filter::{Document, Documents},
    page::{Id, Origin, Timestamp, UrlOptions},
};

/// Turns submissions into documents. Threads can share one.
///
/// ```
/// use pagesieve::{Filter, extract::Extractor, page::UrlOptions, submission::{Payload, Preparation, Submission}};
///
/// let filter = Filter::new(&Default::default())?;
/// let preparation = Preparation::new(Extractor::default(), UrlOptions::default(), filter.documents());
/// let page = Payload::Html { body: b"<p>Green tea.".to_vec(), content_type: None };
/// let (document, extracted) = preparation.prepare(Submission::new(page), 5);
/// assert_eq!((document.id(), &*extracted.text), ("\u{2}5", "Green tea."));
/// # Ok::<(), pagesieve::OptionsError>(())
/// ```
#[derive(Debug)]
pub struct Preparation {
    extractor: Extractor,
    urls: UrlOptions,
    documents: Documents,
}

impl Preparation {
    /// Makes documents with these.
    #[must_use]
    pub fn new(extractor: Extractor, urls: UrlOptions, documents: Documents) -> Self {
        Self { extractor, urls, documents }
    }

    /// What makes the documents.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Which parts of a URL do not distinguish pages.
    #[must_use]
    pub fn urls(&self) -> &UrlOptions {
        &self.urls
    }

    /// The document, and what was extracted. Without id and URL it is named by its number.
    #[must_use]
    pub fn prepare(&self, mut submission: Submission, number: u64) -> (Document, Extracted) {
        let (id, url) = (submission.id.take(), submission.url.clone());
        let at = submission.at.unwrap_or_else(Timestamp::now);
        let named = submission.origin.take();
        let Identity { name: id, key } = match (id, &url) {
            (None, Some(url)) => Identity::of_url(url, &self.urls),
            // An id that repeats the URL says no more than it.
            (Some(id), Some(url)) if Url::parse(id.as_str()).as_ref() == Ok(url) => {
                Identity { name: id.into(), ..Identity::of_url(url, &self.urls) }
            }
            (id, _) => Identity::of_id(&id.unwrap_or_else(|| Id::unnamed(number))),
        };
        let (extracted, body) = submission.extracted(&self.extractor);
        let origin = match &url {
            Some(url) => Origin::of(url),
            // A saved page has no URL, but it may name its own.
            None => Origin::named(&id)
                .or_else(|| extracted.canonical.as_ref().and_then(Origin::of))
                .or_else(|| named.map(Origin::of_name)),
        };
        let document = self.documents.extracted(&id, origin.as_ref(), &extracted, body);
        (document.with_key(key).with_time(at), extracted)
    }
}
