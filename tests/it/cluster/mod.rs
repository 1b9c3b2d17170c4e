//! Windows and crawls that several processes share, on a real PostgreSQL server.

mod commands;
mod crawl;
mod filter;
mod postgres;
