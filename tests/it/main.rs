//! The integration tests: one binary, what is public.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fingerprint_quality;
mod golden;
