//! A streaming duplicate filter for web crawls, and the crawler around it.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod config;
#[cfg(feature = "crawl")]
pub mod crawl;
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
#[cfg(feature = "crawl")]
pub mod state;

pub use filter::{Filter, Judged, Judgement, NearDupExt, Subject, Verdict};
pub use fingerprint::{Digest, Fingerprint, Fingerprinter, Signature, Sketch};
pub use index::Index;
pub use page::DocId;
