//! Removes duplicates from a stream of texts and remembers them between runs: `cargo run --example dedup_durably`.
#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use pagesieve::{DurableFilter, NearDupExt, filter::Options, state::StateError};
use tokio_stream::StreamExt;

#[tokio::main]
pub(crate) async fn main() -> Result<(), StateError> {
    let path = std::env::temp_dir().join(format!("seen-{}.sqlite", std::process::id()));
    let mut filter = DurableFilter::open(&path, &Options::default())?;
    let texts = tokio_stream::iter([("a", "The tide is high."), ("b", "the TIDE is high")]);
    let mut judged = texts.near_dedup(&mut filter, |docs, (id, text)| docs.text(id, text));
    while let Some(text) = judged.next().await {
        println!("{}: {:?}", text.item.0, text.judgement?.verdict);
    }
    filter.commit()
}
