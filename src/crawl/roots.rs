//! The URLs that seed lists name.

use std::fs;

use super::{
    error::CrawlError,
    scope::{Source, read_seed_file},
};
use crate::{
    page::{NormalUrl, UrlOptions},
    state::UrlKind,
};

/// The URLs that a seed list names, and what they lead to.
///
/// # Errors
/// If its file cannot be read, or a URL is none.
pub(super) fn roots(
    source: &Source,
    options: &UrlOptions,
) -> Result<(UrlKind, Vec<NormalUrl>), CrawlError> {
    Ok(match source {
        Source::Url(url) => (UrlKind::Page, vec![NormalUrl::new(url, options)?]),
        Source::Sitemap(url) => (UrlKind::Sitemap, vec![NormalUrl::new(url, options)?]),
        Source::File(path) => {
            let open = |source| CrawlError::SeedFile { path: path.clone(), source };
            let file = fs::read(path).map_err(open)?;
            let lines = |errors| CrawlError::SeedLines { path: path.clone(), errors };
            (UrlKind::Page, read_seed_file(&file, options).map_err(lines)?)
        }
    })
}
