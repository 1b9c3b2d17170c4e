//! Extraction of pages.

mod body;
mod charsets;
mod fixtures;
mod hostile;
mod kinds;
mod labelled;
mod languages;
mod laws;
mod links;
mod markup;
mod rules;
mod stability;

use pagesieve::{
    extract::{Extracted, Extractor, Options},
    page::Page,
};

/// Extracts from HTML at `http://example.org/dir/page`.
fn extract(html: &str) -> Extracted {
    extractor().extract(&page(html.as_bytes()))
}

fn extractor() -> Extractor {
    let mut options = Options::default();
    options.agent = Some("pagesieve".to_owned());
    Extractor::new(options)
}

fn page(body: &[u8]) -> Page {
    Page { url: "http://example.org/dir/page".parse().ok(), body: body.to_vec(), ..Page::default() }
}
