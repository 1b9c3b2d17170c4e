//! Removes duplicates from a stream of texts: `cargo run --example dedup_stream --no-default-features --features jieba`.
#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use pagesieve::{Filter, NearDupExt, OptionsError, filter::Options};
use tokio_stream::StreamExt;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), OptionsError> {
    let texts = [("a", "The tide is high."), ("b", "the TIDE is high"), ("c", "The wind is low.")];
    let filter = Filter::new(&Options::default())?;
    let documents = filter.documents();
    let texts = tokio_stream::iter(texts);
    let mut judged = texts.near_dedup(filter, |(id, text)| documents.text(id, text));
    while let Some(text) = judged.next().await {
        println!("{}: {:?}", text.item.0, text.judgement.verdict);
    }
    Ok(())
}
