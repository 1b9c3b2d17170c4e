//! What a crawl is told.

use std::{num::NonZeroUsize, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{fetch, politeness, scope::Seed};
use crate::{extract, filter, page::UrlOptions, sink};

/// The `[crawl]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Who we are: it must name a contact. Its product token is what robots.txt is asked for.
    pub user_agent: String,
    /// Requests in flight over all hosts. With 1, hosts are taken in turn, and the same answers give the same decisions.
    pub concurrency: NonZeroUsize,
    /// Pages received with status 2xx after which the crawl ends.
    pub max_pages: u64,
    /// Links from a seed beyond which nothing is followed, whatever the seed says.
    pub max_depth: u32,
    /// Query parameters that do not tell pages apart, and are removed; a `*` at the end stands for any ending.
    pub tracking: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user_agent: String::new(),
            concurrency: NonZeroUsize::new(64).expect("not zero"),
            max_pages: 100_000,
            max_depth: 20,
            tracking: UrlOptions::default().tracking,
        }
    }
}

impl Options {
    /// How URLs are brought into their normal form.
    #[must_use]
    pub fn url_options(&self) -> UrlOptions {
        UrlOptions { tracking: self.tracking.clone() }
    }
}

/// A crawl, as it is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The run directory: created if it is not there, gone on with if it is.
    pub directory: PathBuf,
    /// The `[crawl]` table.
    pub crawl: Options,
    /// The `[politeness]` table.
    pub politeness: politeness::Options,
    /// The `[fetch]` table.
    pub fetch: fetch::Options,
    /// The `[dedup]` table.
    pub dedup: filter::Options,
    /// The `[store]` table.
    pub store: sink::Options,
    /// The `[[extract]]`: how the pages of certain sites are read.
    pub extract: Vec<extract::Rules>,
    /// The `[[seeds]]`, in order. Paths of files are taken as they are.
    pub seeds: Vec<Seed>,
}
