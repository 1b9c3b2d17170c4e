//! What extraction makes of pages.

mod body;
mod charsets;
mod fixtures;
mod hostile;
mod labelled;
mod languages;
mod laws;
mod links;
mod markup;
mod rules;
mod stability;

use std::path::PathBuf;

use pagesieve::{
    extract::{Document, Extractor, Options},
    page::Page,
};

/// Extracts from HTML at `http://example.org/dir/page`.
fn extract(html: &str) -> Document {
    extractor().extract(&page(html.as_bytes()))
}

fn extractor() -> Extractor {
    Extractor::new(Options { agent: Some("pagesieve".to_owned()), ..Options::default() })
}

fn page(body: &[u8]) -> Page {
    Page { url: "http://example.org/dir/page".parse().ok(), body: body.to_vec(), ..Page::default() }
}

/// A file or folder of the shared test data, or none, loudly.
#[allow(clippy::print_stderr, reason = "a test that did not run must say so")]
fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PAGESIEVE_DATA").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data").into(),
        PathBuf::from,
    );
    let path = root.join(name);
    if !path.exists() {
        eprintln!("SKIPPED: no test data at {}", path.display());
        return None;
    }
    Some(path)
}
