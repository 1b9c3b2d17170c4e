//! A streaming duplicate filter for web crawls, and the crawler around it.
//!
//! The filter judges documents in order of arrival. Each is unique, or it repeats an earlier one: by its body, by its text, or nearly
//! (SimHash, searched exactly within a Hamming distance over a rolling window). The crawler has every page judged before it stores the
//! page and follows its links.
//!
//! ```
//! use pagesieve::{Filter, filter::Options};
//!
//! let mut filter = Filter::new(&Options::default())?;
//! let documents = filter.documents();
//! let texts = [("a", "The tide is high."), ("b", "The wind is low."), ("c", "the tide is high")];
//! let mut unique = Vec::new();
//! for (id, text) in texts {
//!     unique.push(filter.judge(&documents.text(id, text))?.verdict.is_unique());
//! }
//! assert_eq!(unique, [true, true, false]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! The default has all. Without any, the core is left: [`fingerprint`], [`index`] and [`filter`], with few dependencies and no C code.
//!
//! | feature | adds |
//! |---|---|
//! | `jieba` | Chinese words by dictionary, which the default options ask for |
//! | `html` | the `extract` module: body text and links of HTML pages; normalised URLs |
//! | `state` | `DurableFilter`: the filter's window in a file |
//! | `cluster` | a window that several processes share, and crawls by several machines (PostgreSQL) |
//! | `crawl` | the `crawl` module: the crawler |
//! | `cli` | the program `pagesieve` |
//! | `serve` | `pagesieve serve`: the filter over HTTP |
//! | `demo` | the pages of `pagesieve demo` |
//!
//! Without `jieba`, set `segment` to [`Segment::Ngrams`](fingerprint::Segment::Ngrams): a recipe never depends on features by itself.
#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "with all features everything is used, and checked to be"
    )
)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod config;
#[cfg(feature = "crawl")]
pub mod crawl;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod eval;
#[cfg(feature = "html")]
pub mod extract;
pub mod filter;
pub mod fingerprint;
pub mod index;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod input;
#[cfg(feature = "crawl")]
pub mod learn;
#[cfg(feature = "serve")]
mod live;
pub mod page;
#[cfg(feature = "crawl")]
pub mod report;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "crawl")]
pub mod sink;
#[cfg(feature = "state")]
pub mod state;
#[cfg(feature = "html")]
pub mod submission;

pub use filter::{Document, Filter, Judged, Judgement, NearDupExt, OptionsError, Verdict};
pub use fingerprint::{Digest, Fingerprint, Fingerprinter, Signature, Sketch};
pub use index::Index;
pub use page::DocId;
#[cfg(feature = "state")]
pub use state::DurableFilter;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
