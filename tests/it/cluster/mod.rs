//! Windows and crawls that several processes share, on a real PostgreSQL server.

mod crawl;
mod filter;
pub(crate) mod postgres;
