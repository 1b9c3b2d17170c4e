#![no_main]

#[allow(dead_code)]
#[path = "../../tests/it/fuzz/entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::trees(bytes));
