//! A streaming duplicate filter for web crawls, and the crawler around it.

#[cfg(feature = "cli")]
pub mod cli;
pub mod extract;
pub mod fingerprint;
pub mod page;

pub use fingerprint::{Digest, Fingerprint, Signature, Sketch};
pub use page::DocId;
