//! The filter as a stage of a stream.

use pagesieve::{
    Digest, DocId, Document, DurableFilter, Filter, NearDupExt, Signature, Sketch,
    filter::{Documents, Options, Step},
    state::StateError,
};
use tokio::task::JoinSet;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

/// A text by its number: those of the same ten differ in few bits.
fn document(documents: &Documents, &(name, text): &(&str, u64)) -> Document {
    let word = (text / 10).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (text % 10);
    let signature = Signature([word, 0, 0, 0]);
    let digest = Some(Digest::of(&text.to_le_bytes()));
    documents.sketched(name, Sketch { signature, features: 50, digest }, 300)
}

const PAGES: [(&str, u64); 5] = [("a", 10), ("b", 20), ("c", 10), ("d", 21), ("e", 30)];
const MATCHES: [Option<(DocId, Step)>; 5] =
    [None, None, Some((DocId(1), Step::Text)), Some((DocId(2), Step::Near)), None];

#[tokio::test]
async fn items_come_out_in_order_with_their_judgements() {
    let (pages, received) = tokio::sync::mpsc::channel(1);
    let sent = async move {
        for page in PAGES {
            pages.send(page).await.unwrap();
        }
    };
    let filter = Filter::new(&Options::default()).unwrap();
    let judged = ReceiverStream::new(received).near_dedup(filter, document);
    let ((), judged) = tokio::join!(sent, judged.collect::<Vec<_>>());
    let matched = |found: &pagesieve::filter::Match| (found.of, found.step);
    let found: Vec<_> = judged
        .into_iter()
        .map(|judged| (judged.item.0, judged.judgement.unwrap().verdict.matched().map(matched)))
        .collect();
    let expected: Vec<_> = PAGES.iter().map(|page| page.0).zip(MATCHES).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_borrowed_filter_goes_on_from_stream_to_stream() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    for (half, uniques) in [(&PAGES[..2], 2), (&PAGES[2..], 1)] {
        let judged =
            tokio_stream::iter(half).near_dedup(&mut filter, |it, page| document(it, page));
        let judged: Vec<_> = judged.collect().await;
        assert_eq!(
            judged
                .into_iter()
                .filter(|judged| judged.judgement.unwrap().verdict.is_unique())
                .count(),
            uniques
        );
    }
    assert_eq!(filter.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_filter_judges_a_stream_in_a_task_of_a_runtime_with_many_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seen.sqlite");
    for (half, from) in [(&PAGES[..2], 0), (&PAGES[2..], 2)] {
        let mut filter = DurableFilter::open(&path, &Options::default()).unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let judged =
                tokio_stream::iter(half).near_dedup(&mut filter, |it, page| document(it, page));
            let judged: Vec<_> = judged.collect().await;
            filter.commit()?;
            judged
                .into_iter()
                .map(|judged| judged.judgement)
                .collect::<Result<Vec<_>, StateError>>()
        });
        let judged = tasks.join_next().await.unwrap().unwrap().unwrap();
        let matched = |found: &pagesieve::filter::Match| (found.of, found.step);
        let found = judged.iter().map(|judgement| judgement.verdict.matched().map(matched));
        assert!(found.eq(MATCHES[from..].iter().copied().take(half.len())));
    }
}

#[path = "../../examples/dedup_durably.rs"]
mod dedup_durably;
#[path = "../../examples/dedup_stream.rs"]
mod dedup_stream;

#[test]
fn the_examples_run() {
    dedup_stream::main().unwrap();
    dedup_durably::main().unwrap();
}
