//! What a crawl is to do: the `[crawl]` table, and the plan of all tables.

use std::{fs, num::NonZeroUsize, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    error::CrawlError,
    fetch, politeness,
    scope::{Seed, Source, read_seed_file},
};
use crate::{
    extract, filter,
    page::{NormalUrl, UrlOptions},
    sink,
    state::UrlKind,
};

/// The `[crawl]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The `User-Agent` header: it must name a contact. Its product token selects the rules of robots.txt.
    pub user_agent: String,
    /// Requests in flight over all hosts. With 1, hosts are visited in round-robin order, and the same responses give the same decisions.
    pub concurrency: NonZeroUsize,
    /// The crawl ends after this many pages received with status 2xx.
    pub max_pages: u64,
    /// The maximum number of links between a seed and a page, over all seeds.
    pub max_depth: u32,
    /// Query parameters that make no difference to the page, and are removed; `*` at the end matches any ending.
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
    /// How URLs are normalised.
    #[must_use]
    pub fn url_options(&self) -> UrlOptions {
        UrlOptions { tracking: self.tracking.clone() }
    }
}

/// A crawl to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The run directory: created if it does not exist, continued if it does.
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
    /// The `[[extract]]` tables: extraction rules for certain sites.
    pub extract: Vec<extract::Rules>,
    /// The `[[seeds]]` tables, in order. Paths of files are used as they are.
    pub seeds: Vec<Seed>,
}

impl Plan {
    /// The URLs that each seed list names, and what they lead to.
    pub(super) fn roots(&self) -> Result<Vec<(UrlKind, Vec<NormalUrl>)>, CrawlError> {
        let options = self.crawl.url_options();
        let roots = |seed: &Seed| match &seed.source {
            Source::Url(url) => Ok((UrlKind::Page, vec![NormalUrl::new(url, &options)?])),
            Source::Sitemap(url) => Ok((UrlKind::Sitemap, vec![NormalUrl::new(url, &options)?])),
            Source::File(path) => {
                let unread = |source| CrawlError::SeedFile { path: path.clone(), source };
                let file = fs::read(path).map_err(unread)?;
                let bad = |errors| CrawlError::SeedLines { path: path.clone(), errors };
                Ok((UrlKind::Page, read_seed_file(&file, &options).map_err(bad)?))
            }
        };
        self.seeds.iter().map(roots).collect()
    }
}
