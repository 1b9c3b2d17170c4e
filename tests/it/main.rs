//! The integration tests: one binary, what is public.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::default_trait_access,
    clippy::format_collect,
    clippy::similar_names,
    clippy::unchecked_time_subtraction,
    reason = "a test is read more often than it is run: what is short is right"
)]

mod about;
mod articles;
mod cli;
mod cluster;
mod config;
mod coprocess;
mod crawl;
mod crawl_cmd;
mod data;
#[cfg(feature = "demo")]
mod demo_pages;
mod eval;
mod evil;
mod exit_codes;
mod extract;
mod fetch;
mod filter_cmd;
mod filter_stream;
mod formats;
mod fuzz;
mod golden;
mod house;
mod imports;
mod live;
#[cfg(target_os = "linux")]
mod month;
#[cfg(feature = "otlp")]
mod otlp;
mod preload;
mod proxy;
mod records;
mod robots;
mod scope;
#[cfg(all(unix, feature = "serve"))]
mod serve;
mod server;
mod sink;
mod sitemap;
mod tls;
mod tokens;
mod url;
mod warc;
