//! The crawler: what may be fetched, in which order, and how.

pub mod fetch;
mod frontier;
mod options;
pub mod politeness;
pub mod robots;
pub mod scope;
pub mod sitemap;

pub use options::{Options, Plan};
