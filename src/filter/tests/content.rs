//! Content that tests compare.

use proptest::{prelude::*, sample::select};

use crate::filter::sketch::{Block, Content, Place, Sample, Tail, TitleWord, Token};

/// Any content, also what no page has.
pub(in crate::filter) fn any_content() -> impl Strategy<Value = Content> {
    let place = select(vec![Place::Body, Place::Body, Place::Links, Place::Around]);
    // Few words, so that pages have passages in common.
    let words = prop::collection::vec(select(vec![1_u8, 2, 3, 4, 130, 131]), 0..60);
    let block = (words, place, 0..4_u8, 0..3_u16);
    let sample = |most: usize| prop::collection::btree_set(0..40_u16, 0..most);
    let title = prop::collection::btree_set((0..12_u16, any::<bool>()), 0..9);
    let tail =
        (0..300_u32, 0..300_u32, prop::collection::btree_set(any::<u32>(), 0..9), any::<bool>());
    let targets = (sample(9), sample(9), any::<bool>());
    (prop::collection::vec(block, 0..8), tail, title, targets).prop_map(
        |(blocks, (words, characters, passages, is_cut), title, (body, others, is_sampled))| {
            let mut content = Content::default();
            for (words, place, shared, hash) in blocks {
                let len = u16::try_from(words.len()).unwrap();
                content.tokens.extend(words.into_iter().map(Token));
                content.blocks.push(Block { len, place, shared, hash });
            }
            let sample = |hashes: Vec<u16>, is_cut: bool| Sample {
                bound: hashes.last().copied().filter(|_| is_cut),
                hashes,
            };
            content.targets = [body, others].map(|it| sample(it.into_iter().collect(), is_sampled));
            content.title = title
                .into_iter()
                .map(|(hash, is_character)| TitleWord { hash, is_character })
                .collect();
            let hashes: Vec<u32> = passages.into_iter().collect();
            let bound = hashes.last().copied().filter(|_| is_cut);
            content.tail = Tail { words, characters, passages: Sample { hashes, bound } };
            content
        },
    )
}
