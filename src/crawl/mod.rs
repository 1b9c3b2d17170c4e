//! The crawler: the asynchronous shell around the filter.

pub mod fetch;
