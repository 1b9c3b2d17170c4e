//! `pagesieve fingerprint`: prints the fingerprints of documents.

use serde::Serialize;

use super::{
    Exit, Out, Result,
    document::{Source, preparation, recipe},
};
use crate::{
    extract::Truncation,
    filter::Documents,
    fingerprint::{Fingerprint, Signature},
    input::Prepared,
};

/// Print the fingerprints of documents
///
/// Reads the same input as `filter`. Prints one JSON line {"id", "fingerprint", "signature"} per document, in the order of the input.
/// The fingerprint has 64 bits (16 hexadecimal digits); the signature has 256 bits (64 digits) and begins with the fingerprint. Both are
/// null for a text without words. The hash seed is the public one, unless `dedup.seed` is a number. If a limit against hostile markup
/// cut the page, the line also has "truncated" with the reason.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve fingerprint page.html
    echo '{\"id\": \"a\", \"text\": \"some words\"}' | pagesieve fingerprint --set dedup.segment=ngrams")]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
}

#[derive(Serialize)]
struct Line {
    id: String,
    fingerprint: Option<Fingerprint>,
    signature: Option<Signature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit> {
    let config = args.source.settings.config()?;
    let preparation = preparation(&config, Documents::new(recipe(&config), false));
    args.source.write_lines(&config, out, |input| {
        let Prepared { document, truncated, .. } = preparation.prepare(input);
        let (id, sketch) = (document.id().to_owned(), document.sketch());
        let signature = (sketch.features > 0).then_some(sketch.signature);
        let fingerprint = signature.map(|signature| signature.fingerprint());
        Line { id, fingerprint, signature, truncated }
    })
}
