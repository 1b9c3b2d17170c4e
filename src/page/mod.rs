//! What every stage speaks of: a fetched page, its normal URL, a document's number, the window's clock.
//!
//! The lowest room of the house: it names no other. It knows nothing of HTML, fingerprints or the network.

pub(crate) mod figures;
mod lang;
#[cfg(feature = "html")]
mod normal_url;
#[cfg(feature = "html")]
pub(crate) mod percent;
pub(crate) mod size;
mod time;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use lang::Lang;
#[cfg(feature = "html")]
pub use normal_url::{HostKey, NormalUrl, UrlError, UrlOptions, site_of};
pub use time::Timestamp;

/// One answer as it came from the network or from a file, its content coding removed, not yet decoded or parsed.
#[cfg(feature = "html")]
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Where the body came from; relative links are resolved against it. `None` for HTML of unknown origin.
    pub url: Option<url::Url>,
    /// The `Content-Type` header as received.
    pub content_type: Option<String>,
    /// The `X-Robots-Tag` headers as received.
    pub x_robots_tag: Vec<String>,
    /// The body without its content coding, perhaps cut at a limit.
    pub body: Vec<u8>,
}

/// The number of a document in order of arrival, from 1. It never returns, not even after the document has left the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocId(pub u64);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
