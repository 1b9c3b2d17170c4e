//! Removes duplicates from a stream of texts: `cargo run --example dedup_stream --no-default-features --features jieba`.
#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use pagesieve::{Filter, NearDupExt, OptionsError, filter::Options};
use tokio_stream::StreamExt;

#[tokio::main]
pub(crate) async fn main() -> Result<(), OptionsError> {
    let texts = tokio_stream::iter([("a", "The tide is high."), ("b", "the TIDE is high")]);
    let filter = Filter::new(&Options::default())?;
    let judged = texts.near_dedup(filter, |documents, (id, text)| documents.text(id, text));
    let verdicts: Vec<_> = judged.map(|text| text.judgement.verdict).collect().await;
    println!("{verdicts:?}");
    Ok(())
}
