//! The crawler: what may be fetched, in which order, and how.

pub mod fetch;
mod frontier;
pub mod politeness;
pub mod robots;
pub mod scope;
pub mod sitemap;
