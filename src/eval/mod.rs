//! How right the filter is on texts whose similarity is known.
//!
//! Every pair of a [`Corpus`] is judged by the rule of the filter, for each radius that its index could have, and the texts go through
//! the filter as a stream. What comes of it is a [`Quality`]: recall by band of similarity, precision, and both by language, length
//! and site. Knows nothing of HTML or of the network.
#![allow(clippy::cast_precision_loss, reason = "shares and means of counts need no more digits")]

mod corpus;
mod html;
mod methods;
mod pairs;
mod quality;
mod stream;
mod table;
mod tally;

pub use corpus::{Corpus, CorpusError, Text, Unlisted, read_texts};
pub use html::render;
pub use methods::{Comparison, Method, MethodQuality, compare};
pub use pairs::{Axis, Group, count_pairs};
pub use quality::{
    Doubtful, Figures, GroupQuality, Quality, StreamQuality, TemplateQuality, evaluate, seeds,
};
pub use stream::StreamCounts;
pub use tally::{BANDS, Counts, MAX_RADIUS};
