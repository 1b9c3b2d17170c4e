//! The `[learn]` table: rules that are known before the crawl begins.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::rule::Rule;

/// What is known of sites before they are crawled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// A file with more rules. A configuration reads it and adds them to `rules`; a plan does not look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules_file: Option<PathBuf>,
    /// Rules that count as learnt from the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

impl Options {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
