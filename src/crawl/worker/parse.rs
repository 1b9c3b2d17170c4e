//! What the pool does with a page: all that costs CPU.

use std::collections::HashSet;

use crate::{
    crawl::recorder::Parsed,
    extract::{Extractor, Truncation},
    filter::{Blocks, Site},
    fingerprint::{Digest, Fingerprinter},
    page::{Lang, NormalUrl, Origin, Page, UrlOptions},
};

/// Parses and fingerprints a page.
pub(super) fn parse(
    extractor: &Extractor,
    fingerprinter: &Fingerprinter,
    options: &UrlOptions,
    page: &Page,
    digest: Option<Digest>,
    cut: bool,
) -> Parsed {
    let document = extractor.extract(page);
    let mut seen = HashSet::new();
    let followed = document.links.iter().filter(|link| !link.nofollow && !document.robots.nofollow);
    let normal = followed.filter_map(|link| NormalUrl::new(&link.url, options).ok());
    let host = page.url.as_ref().and_then(Origin::of);
    let links = normal.filter(|url| seen.insert(url.clone())).collect();
    Parsed {
        body: digest.unwrap_or_else(|| Digest::of(&page.body)),
        chars: u32::try_from(document.text.chars().count()).unwrap_or(u32::MAX),
        sketch: fingerprinter.sketch(&document.text),
        lang: document.lang.and_then(Lang::new),
        blocks: host.map(|host| Blocks::of(Site::of(host.as_str()), &document.text)),
        charset: document.charset,
        truncated: document.truncated.or(cut.then_some(Truncation::Body)),
        noindex: document.robots.noindex,
        canonical: document.canonical.and_then(|url| NormalUrl::new(&url, options).ok()),
        title: document.title,
        text: document.text,
        links,
    }
}
