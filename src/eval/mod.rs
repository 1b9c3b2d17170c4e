//! Evaluates the filter on texts whose similarity is known.
//!
//! The rule of the filter judges every pair of a [`Corpus`], at each radius that an index can have, and the texts go through the filter
//! as a stream. The result is a [`Quality`]: recall and precision by band of similarity, language, length and site.
#![allow(clippy::cast_precision_loss, reason = "shares and means of counts need no more digits")]

mod corpus;
mod quality;
mod render;

pub use corpus::{Corpus, CorpusError, Text, Unlisted, read_texts};
pub use quality::{Axis, BANDS, BandCounts, MAX_RADIUS, count_pairs};
pub use quality::{
    Doubtful, Figures, GroupQuality, Quality, StreamCounts, StreamQuality, evaluate, hash_seeds,
};
pub use render::render;
