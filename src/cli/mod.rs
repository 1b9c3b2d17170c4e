//! The command line.

#[cfg(feature = "demo")]
pub mod demo;
