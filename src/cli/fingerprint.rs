//! `pagesieve fingerprint`: the fingerprints of documents.

use std::io::Write;

use serde::Serialize;

use super::{
    Exit, Failure, Out,
    document::{Files, Preparation, Settings, in_chunks, recipe},
    write_line,
};
use crate::fingerprint::{Fingerprint, Signature};

/// Print the fingerprints of documents
///
/// Reads what `filter` reads and writes a line {"id", "fingerprint", "signature"} of JSON for each document, in the order of the
/// input: 64 bits as 16 hexadecimal digits, and 256 as 64, the fingerprint first. The seed is the public one unless `dedup.seed` names
/// another number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve fingerprint page.html
    echo '{\"id\": \"a\", \"text\": \"some words\"}' | pagesieve fingerprint --set dedup.segment=ngrams")]
pub(super) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Serialize)]
struct Line {
    id: String,
    fingerprint: Fingerprint,
    signature: Signature,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let config = args.settings.config()?;
    let preparation = Preparation::new(&config, recipe(&config));
    let line = |input| {
        let prepared = preparation.prepare(input);
        let signature = prepared.subject.sketch.signature;
        Line { id: prepared.id, fingerprint: signature.fingerprint(), signature }
    };
    in_chunks(args.files, line, |lines| {
        lines.iter().try_for_each(|line| write_line(out, line))?;
        out.flush().map_err(Failure::Output)
    })
}
