//! Which document an id or a URL means: the one rule for all who ask.

use url::Url;

use crate::{
    filter::Key,
    page::{Id, NormalUrl, UrlOptions},
};

/// Which document is meant. An id identifies a document; a document without one is identified by its URL, whose spellings count as one.
///
/// ```
/// use pagesieve::{page::{Id, UrlOptions}, submission::Identity};
///
/// let options = UrlOptions::default();
/// let [a, b] = ["http://a.test/?utm_source=x", "http://a.test"].map(|url| url.parse().expect("a URL"));
/// assert_eq!(Identity::of_url(&a, &options).key, Identity::of_url(&b, &options).key);
/// assert_ne!(Identity::of_id(&Id::text("5")?).key, Identity::of_id(&Id::integer(5)).key);
/// # Ok::<(), pagesieve::page::IdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Its id or URL, as the filter keeps it.
    pub name: String,
    /// Its key, which all its versions have.
    pub key: Key,
}

impl Identity {
    /// The document of this id.
    #[must_use]
    pub fn of_id(id: &Id) -> Self {
        Self { name: id.as_str().to_owned(), key: Key::of(id.as_str()) }
    }

    /// The document without id that has this URL.
    #[must_use]
    pub fn of_url(url: &Url, urls: &UrlOptions) -> Self {
        let normal = NormalUrl::new(url, urls);
        let key = Key::of(normal.as_ref().map_or(url.as_str(), |normal| normal.as_str()));
        Self { name: url.to_string(), key }
    }

    /// The documents that a caller may mean by this id, the likeliest first: the one that has it, or one that has no id and this URL.
    #[must_use]
    pub fn meant_by(id: &Id, urls: &UrlOptions) -> Vec<Self> {
        let url = Url::parse(id.as_str()).ok().map(|url| Self::of_url(&url, urls));
        [Self::of_id(id)].into_iter().chain(url).collect()
    }

    /// The documents that somebody may mean who has read this id in an output, the likeliest first.
    #[must_use]
    pub fn printed_as(printed: &str, urls: &UrlOptions) -> Vec<Self> {
        Id::printed_as(printed).iter().flat_map(|id| Self::meant_by(id, urls)).collect()
    }
}
