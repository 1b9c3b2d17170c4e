//! The normal form of a URL: a document's identity and the frontier's key.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

/// Which parts of a URL do not tell documents apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlOptions {
    /// Query parameters that are removed; a `*` at the end stands for any ending.
    pub tracking: Vec<String>,
}

impl Default for UrlOptions {
    fn default() -> Self {
        Self { tracking: ["utm_*", "gclid", "fbclid"].map(str::to_owned).to_vec() }
    }
}

/// A URL in our normal form: `http` or `https`, without fragment, credentials and tracking parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalUrl(Url);

/// A host: a name with its port, as in `example.org:443`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct HostKey(Box<str>);

impl NormalUrl {
    /// The URL itself.
    #[must_use]
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// The URL as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl HostKey {
    /// The key as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The registrable domain of a host name (public suffix and one label), or the name itself where there is none.
#[must_use]
pub fn site_of(host: &str) -> &str {
    psl::domain_str(host).unwrap_or(host)
}
