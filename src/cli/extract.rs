//! `pagesieve extract` and `fingerprint`: the text that the filter sees of a page, and the fingerprints of documents.

use serde::Serialize;
use url::Url;

use super::{
    Exit, Out, Result,
    document::{Source, extractor, preparation, recipe},
};
use crate::{
    extract::{Extracted, Truncation},
    filter::Documents,
    fingerprint::{Fingerprint, Signature},
    input::{Input, Prepared, prepare},
    page,
};

/// Print the body text, title and links of pages
///
/// Reads the same input as `filter`. Prints one JSON line {"id", "url", "title", "heading", "description", "text", "links", "lang", "charset"} per document, in
/// the order of the input. The text has no navigation, header, footer or sidebars; each block is a line. If a limit against hostile
/// markup cut the page, the line also has "truncated" with the reason; if the page shows no text until its scripts run, and the text is that
/// of its structured data, "source" is "data".
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve extract page.html | jq -r .text
    pagesieve extract pages/ | jq -r '[.id, .lang, .title] | @tsv'")]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
}

#[derive(Serialize)]
struct Line {
    #[serde(serialize_with = "page::id::serialize")]
    id: String,
    url: Option<Url>,
    title: Option<String>,
    heading: Option<String>,
    description: Option<String>,
    text: String,
    links: Vec<Url>,
    lang: Option<&'static str>,
    charset: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit> {
    let config = args.source.settings.config()?;
    let extractor = extractor(&config);
    args.source.write_lines(&config, out, |input: Input| {
        let (id, url) = (input.name().to_owned(), input.submission.url.clone());
        let (extracted, _) = input.submission.extracted(&extractor);
        let Extracted {
            title,
            heading,
            description,
            text,
            links,
            lang,
            charset,
            truncated,
            is_from_data,
            ..
        } = extracted;
        let source = is_from_data.then_some("data");
        let links = links.into_iter().map(|link| link.url).collect();
        Line { id, url, title, heading, description, text, links, lang, charset, source, truncated }
    })
}

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
    pagesieve fingerprint documents.jsonl --set dedup.segment=ngrams")]
pub(super) struct FingerprintArgs {
    #[command(flatten)]
    source: Source,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(serialize_with = "page::id::serialize")]
    id: String,
    fingerprint: Option<Fingerprint>,
    signature: Option<Signature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

pub(super) fn fingerprint(args: FingerprintArgs, out: &mut Out) -> Result<Exit> {
    let config = args.source.settings.config()?;
    let preparation = preparation(&config, Documents::new(recipe(&config), false));
    args.source.write_lines(&config, out, |input| {
        let Prepared { document, truncated, .. } = prepare(&preparation, input);
        let (id, sketch) = (document.id().to_owned(), document.sketch());
        let signature = (sketch.text.features > 0).then_some(sketch.text.signature);
        let fingerprint = signature.map(|signature| signature.fingerprint());
        Fingerprints { id, fingerprint, signature, truncated }
    })
}
