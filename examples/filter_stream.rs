//! Somebody else's crawler with the filter as a stage of its stream: `cargo run --example filter_stream --no-default-features`.
//!
//! The fetcher is made up, so that it runs without a network. The rest is all that it takes.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use pagesieve::{Document, Filter, Fingerprinter, NearDupExt, filter, fingerprint::Recipe};
use tokio_stream::{Stream, StreamExt};

const SITE: [(&str, &str); 5] = [
    (
        "http://a.test/tides",
        "The moon pulls at the sea, and the sea answers twice a day with a tide that follows it around the globe.",
    ),
    (
        "http://a.test/tides?print=1",
        "The moon pulls at the sea, and the sea answers twice a day, with a tide that follows it around the globe!",
    ),
    (
        "http://a.test/winds",
        "Where the sun heats the land, air rises, and cooler air from over the water comes in to take its place.",
    ),
    (
        "http://b.test/moon",
        "The moon pulls at the sea, and the sea answers twice a day with a tide that follows it around the globe.",
    ),
    (
        "http://b.test/snow",
        "Snow begins as a speck of dust on which vapour freezes, six arms at a time, on its way down to the ground.",
    ),
];

/// Fetches one page after the other. Yours would ask servers here.
fn fetch(
    urls: impl IntoIterator<Item = &'static str>,
) -> impl Stream<Item = (&'static str, &'static str)> {
    let page = |url| SITE.iter().copied().find(|&(known, _)| known == url);
    tokio_stream::iter(urls.into_iter().filter_map(page))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let fingerprinter = Fingerprinter::new(Recipe::default());
    let mut filter = Filter::new(&filter::Options::default()).expect("the default window has room");
    let urls = SITE.map(|(url, _)| url);
    let pages = fetch(urls);

    let judged =
        pages.near_dedup(&mut filter, |(url, text)| Document::of_text(&fingerprinter, url, text));
    let mut judged = std::pin::pin!(judged);
    while let Some(page) = judged.next().await {
        let (url, _) = page.item;
        match page.judgement.verdict.matched() {
            // A new text: this is where you store the page and follow its links.
            None => println!("keep  {url}"),
            // Documents are numbered from 1 in order of arrival.
            Some(found) => {
                println!("skip  {url}: {:?} {:?} of document {}", found.step, found.kind, found.of);
            }
        }
    }
}
