//! A streaming duplicate filter for web crawls, and the crawler around it.
//!
//! The filter takes documents one after the other and says of each whether it is unique or repeats an earlier one: in its body, in its
//! text, or nearly (SimHash, searched exactly within a Hamming distance over a window that rolls). The crawler has every page judged
//! before it is stored and before its links are followed.
//!
//! ```
//! use pagesieve::{Filter, filter::Options};
//!
//! let mut filter = Filter::new(&Options::default())?;
//! let documents = filter.documents();
//! let texts = [("a", "The tide is high."), ("b", "The wind is low."), ("c", "the tide is high")];
//! let unique = texts.map(|(id, text)| filter.judge(&documents.text(id, text)).verdict.is_unique());
//! assert_eq!(unique, [true, true, false]);
//! # Ok::<(), pagesieve::OptionsError>(())
//! ```
//!
//! In reading order: [`filter`] is the heart, [`index`] and [`fingerprint`] are what it stands on, [`extract`] and [`page`] bring it
//! pages. With the feature `crawl`: [`crawl`] runs a crawl, [`state`], [`sink`] and [`report`] keep it. With the feature `cli` (the
//! default): [`config`], [`input`] and [`cli`] are the program. The feature `demo` (also default) bundles the demo's pages. Who wants the
//! filter alone takes `default-features = false` and compiles neither HTTP client nor command line.
#![cfg_attr(
    not(feature = "cli"),
    allow(rustdoc::broken_intra_doc_links, reason = "features leave rooms out")
)]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod config;
#[cfg(feature = "crawl")]
pub mod crawl;
#[cfg(feature = "cli")]
pub mod eval;
#[cfg(feature = "html")]
pub mod extract;
pub mod filter;
pub mod fingerprint;
pub mod index;
#[cfg(feature = "cli")]
pub mod input;
pub mod page;
#[cfg(feature = "crawl")]
pub mod report;
#[cfg(feature = "crawl")]
pub mod sink;
#[cfg(feature = "state")]
pub mod state;

pub use filter::{Document, Filter, Judged, Judgement, NearDupExt, OptionsError, Verdict};
pub use fingerprint::{Digest, Fingerprint, Fingerprinter, Signature, Sketch};
pub use index::Index;
pub use page::DocId;
#[cfg(feature = "state")]
pub use state::DurableFilter;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
