//! Where the shared test data lies, which is no part of the crate.

use std::{env, path::PathBuf};

/// The path of a file of the shared data, or `None` after a loud note that the test is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped must say so")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    let root = env::var_os("PAGESIEVE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "SKIPPED: {} is absent; set PAGESIEVE_DATA to the directory of the test data",
        path.display()
    );
    None
}
