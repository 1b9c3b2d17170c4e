//! Removes duplicates from a stream of texts: `cargo run --example dedup_stream --no-default-features --features jieba`.
#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::error::Error;

use pagesieve::{Filter, NearDupExt, filter::Options};
use tokio_stream::StreamExt;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let texts = tokio_stream::iter([("a", "The tide is high."), ("b", "the TIDE is high")]);
    let filter = Filter::new(&Options::default())?;
    let mut judged = texts.near_dedup(filter, |documents, (id, text)| documents.text(id, text));
    while let Some(text) = judged.next().await {
        println!("{}: {:?}", text.item.0, text.judgement?.verdict);
    }
    Ok(())
}
