//! A streaming duplicate filter for web crawls, and the crawler around it.

#[cfg(feature = "cli")]
#[cfg(feature = "crawl")]
pub mod cli;
pub mod crawl;
pub mod extract;
pub mod filter;
pub mod fingerprint;
pub mod index;
pub mod page;
#[cfg(feature = "crawl")]
pub mod sink;
pub mod state;

pub use filter::{Filter, Judgement, Subject, Verdict};
pub use fingerprint::{Digest, Fingerprint, Signature, Sketch};
pub use index::Index;
pub use page::DocId;
