//! A streaming duplicate filter for web crawls, and the crawler around it.

pub mod extract;
pub mod fingerprint;
pub mod page;
#[cfg(feature = "crawl")]
pub mod report;
#[cfg(feature = "crawl")]
pub mod sink;

pub use fingerprint::{Digest, Fingerprint, Signature, Sketch};
pub use page::DocId;
