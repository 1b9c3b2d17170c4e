//! Replays the corpus of the fuzz targets, and mutations of it that are the same on every machine.

mod entries;

use std::{fs, panic::catch_unwind, path::Path};

use entries::ENTRIES;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Mutations of each corpus.
const MUTATIONS: u64 = 2_000;

/// What is inserted: what parsers give a meaning to.
const TOKENS: [&[u8]; 32] = [
    b"<",
    b">",
    b"</",
    b"<!--",
    b"-->",
    b"<script>",
    b"</script>",
    b"<table>",
    b"<p class='",
    b"<a href=",
    b"<base href=//",
    b"&#x",
    b"&amp;",
    b"\0",
    b"\n",
    b"\r",
    b"\n\n",
    b" ",
    b":",
    b"%",
    b"..",
    b"//",
    b"?",
    b"#",
    b"\"",
    b"{",
    b"}",
    b"\\u",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"\x1B$B",
    b"\x1F\x8B\x08",
];

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz").join(name);
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn the_corpus_of_every_parser_is_read() {
    for (name, entry) in ENTRIES {
        let corpus = corpus(name);
        assert!(corpus.len() > 1, "{name}");
        for bytes in corpus {
            entry(&bytes);
        }
    }
}

#[test]
fn mutations_of_the_corpus_are_read_by_every_parser() {
    for (name, entry) in ENTRIES {
        let corpus = corpus(name);
        for seed in 0..MUTATIONS {
            let bytes = mutated(&corpus, seed);
            let read = catch_unwind(|| entry(&bytes));
            assert!(read.is_ok(), "{name}, mutation {seed}: {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

/// A file of the corpus with up to eight changes.
fn mutated(corpus: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut bytes = corpus[random.random_range(0..corpus.len())].clone();
    for _ in 0..random.random_range(1..=8) {
        let (one, other) =
            (random.random_range(0..=bytes.len()), random.random_range(0..=bytes.len()));
        let (start, end) = (one.min(other), one.max(other));
        match random.random_range(0..5) {
            0 => drop(bytes.drain(start..end.min(start + 16))),
            1 => drop(
                bytes.splice(start..start, TOKENS[random.random_range(0..TOKENS.len())].to_vec()),
            ),
            2 => bytes[start..end].iter_mut().take(4).for_each(|byte| *byte = random.random()),
            3 if bytes.len() < 100_000 => bytes.extend_from_within(start..end),
            _ => {
                let other = &corpus[random.random_range(0..corpus.len())];
                let cut = random.random_range(0..=other.len());
                drop(bytes.splice(start..end, other[cut..].iter().copied()));
            }
        }
    }
    bytes
}
