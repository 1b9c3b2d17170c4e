//! The filter as a stage of somebody's stream.

use pagesieve::{
    Digest, DocId, Document, Filter, NearDupExt, Signature, Sketch,
    filter::{Key, Options, Step},
    page::Timestamp,
};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

/// A text by its number: those of the same ten differ in few bits.
fn subject(&(name, text): &(&str, u64)) -> Document {
    let word = (text / 10).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (text % 10);
    Document {
        key: Key::of(name),
        body: None,
        sketch: Sketch {
            signature: Signature([word, 0, 0, 0]),
            features: 50,
            digest: Some(Digest::of(&text.to_le_bytes())),
        },
        chars: 300,
        lang: None,
        at: Timestamp(0),
        blocks: None,
    }
}

const PAGES: [(&str, u64); 5] = [("a", 10), ("b", 20), ("c", 10), ("d", 21), ("e", 30)];

#[tokio::test]
async fn items_come_out_in_order_with_what_was_found_about_them() {
    let (pages, received) = tokio::sync::mpsc::channel(1);
    let sent = async move {
        for page in PAGES {
            pages.send(page).await.unwrap();
        }
    };
    let judged = ReceiverStream::new(received)
        .near_dedup(Filter::new(&Options::default()).unwrap(), subject);
    let ((), judged) = tokio::join!(sent, judged.collect::<Vec<_>>());
    let found: Vec<_> = judged
        .iter()
        .map(|judged| {
            (judged.item.0, judged.judgement.verdict.matched().map(|found| (found.of, found.step)))
        })
        .collect();
    let expected = [
        ("a", None),
        ("b", None),
        ("c", Some((DocId(1), Step::Text))),
        ("d", Some((DocId(2), Step::Near))),
        ("e", None),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_borrowed_filter_goes_on_from_stream_to_stream() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    for (half, uniques) in [(&PAGES[..2], 2), (&PAGES[2..], 1)] {
        let judged = tokio_stream::iter(half).near_dedup(&mut filter, |page| subject(page));
        let judged: Vec<_> = judged.collect().await;
        assert_eq!(
            judged.iter().filter(|judged| judged.judgement.verdict.is_unique()).count(),
            uniques
        );
    }
    assert_eq!((filter.len(), filter.position().next), (3, DocId(6)));
}
