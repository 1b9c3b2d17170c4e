//! Where the shared test data lies, which is no part of the crate.

use std::{
    env,
    fmt::Display,
    io::{self, Write},
    path::PathBuf,
};

/// The path of a file of the shared data, or `None` after a loud note that the test is skipped.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    let root = env::var_os("PAGESIEVE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    skip(format_args!(
        "{} is absent; set PAGESIEVE_DATA to the directory of the test data",
        path.display()
    ));
    None
}

/// Says that a test does nothing for want of something.
///
/// Written to standard error itself: what the macros print is shown for failing tests only.
pub(crate) fn skip(why: impl Display) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes()).unwrap();
}

#[test]
fn a_skipped_test_says_so_though_it_passes() {
    const MARK: &str = "A_SKIPPED_TEST_SAYS_SO";
    if env::var_os(MARK).is_some() {
        return skip("for the trial");
    }
    let name = "data::a_skipped_test_says_so_though_it_passes";
    let run = std::process::Command::new(env::current_exe().unwrap())
        .args(["--exact", name])
        .env(MARK, "1")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains(&format!("SKIPPED {name}: for the trial\n")), "{said}");
}
