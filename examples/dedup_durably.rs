//! Removes duplicates from a stream of texts and remembers them between runs: `cargo run --example dedup_durably`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints what it does, and awaits its only task"
)]

use pagesieve::{DurableFilter, NearDupExt, filter::Options, state::StateError};
use tokio_stream::StreamExt;

#[tokio::main]
pub(crate) async fn main() -> Result<(), StateError> {
    let path = std::env::temp_dir().join(format!("seen-{}.sqlite", std::process::id()));
    let mut filter = DurableFilter::open(&path, &Options::default())?;
    let task = tokio::spawn(async move {
        let texts = [("a", "The tide is high."), ("b", "the TIDE is high")];
        let (texts, documents) = (tokio_stream::iter(texts), filter.documents());
        let mut judged = texts.near_dedup(&mut filter, |(id, text)| documents.text(id, text));
        while let Some(text) = judged.next().await {
            println!("{}: {:?}", text.item.0, text.judgement?.verdict);
        }
        filter.commit()
    });
    task.await.expect("the task does not panic")
}
