//! Shared libraries that replace functions of libc in the program under test (`LD_PRELOAD`): it runs as it ships, on a machine with another
//! clock or a failing disk.
//!
//! Their sources are in `tests/it/preload`, one file each. rustc compiles them on the way, because cargo builds no library for a test.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::data::skip;

/// The path of the library `name`, which is compiled now. None where it cannot be: then the test says that it is skipped.
pub(crate) fn library(name: &str) -> Option<PathBuf> {
    if !cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")) {
        skip("libraries can be preloaded on Linux only");
        return None;
    }
    let source = format!("{}/tests/it/preload/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    // Tests run at the same time: each compiles its own.
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "{}-{:?}-lib{name}.so",
        std::process::id(),
        std::thread::current().id()
    ));
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=cdylib", "-O", "-Cpanic=abort", "-o"])
        .args([library.as_os_str(), source.as_ref()])
        .output();
    match compiled {
        Ok(compiled) if compiled.status.success() => Some(library),
        Ok(compiled) => panic!("{source}: {}", String::from_utf8_lossy(&compiled.stderr)),
        Err(error) => {
            skip(format_args!("rustc cannot be run: {error}"));
            None
        }
    }
}
