//! The web that `pagesieve demo` crawls: real documentation pages bundled in the binary, served on loopback under several host names.
//!
//! The pages are two versions each of a database's manual and of an office suite's help, so that duplicates occur as they do in the
//! wild: an older version on the same site, an older copy on another site, a mirror byte for byte.
//! Knows nothing of the crawl.

mod archive;
pub(super) mod command;
mod server;
mod site;

use std::io;

pub use server::{Server, serve};
pub use site::{NOTICES, Site};

/// Why the demo's pages cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The bundled archive cannot be read: the binary is damaged.
    #[error("unpack the bundled pages")]
    Unpack(#[source] io::Error),
    /// No port on loopback could be had.
    #[error("listen on loopback")]
    Listen(#[source] io::Error),
}
