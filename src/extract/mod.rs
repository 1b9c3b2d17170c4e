//! Turns a page into a document: decodes its bytes, parses it once, keeps the body text and the links.
//!
//! Sits between [`crate::page`] and [`crate::fingerprint`]. It cannot fail: bad bytes give a poorer document.
//! Knows nothing of robots.txt, scope, fingerprints or the network.

use serde::Serialize;
use url::Url;

/// What a page says, free of its markup: the input of fingerprint and judgement.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The content of `title`, white space tidied.
    pub title: Option<String>,
    /// The body text without furniture (navigation, header, footer, sidebars, scripts, forms, cookie notes): case and
    /// characters as on the page, white space tidied, one block a line.
    pub text: String,
    /// Links of `a`, `area`, `frame`, `iframe` and meta refresh, resolved against `base`, in page order, each URL once.
    pub links: Vec<Link>,
    /// The target of `link rel=canonical`, resolved.
    pub canonical: Option<Url>,
    /// What meta robots and X-Robots-Tag ask of us.
    pub robots: Directives,
    /// ISO 639-1 code of the text's language (`zh`, `ja`, `en`), if it could be told.
    pub lang: Option<&'static str>,
    /// Name of the encoding that was used, as in the Encoding Standard.
    pub charset: &'static str,
    /// Why the document is not whole, if a guard cut it.
    pub truncated: Option<Truncation>,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, resolved, with its fragment removed.
    pub url: Url,
    /// Whether every occurrence on the page is marked `rel=nofollow`.
    pub nofollow: bool,
}

/// What a page asks of crawlers, by meta robots or by X-Robots-Tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// The page must be neither judged nor stored.
    pub noindex: bool,
    /// Its links must not be followed.
    pub nofollow: bool,
}

/// The guard that cut a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// The body was longer than `fetch.max_body`.
    Body,
    /// Elements were nested too deeply.
    Depth,
    /// A tag had too many attributes.
    Attributes,
    /// The page had too many elements.
    Nodes,
}
/// x
pub fn language(_t: &str) -> Option<crate::page::Lang> {
    None
}
