//! `pagesieve extract`: what the filter sees of a page.

use std::io::Write;

use serde::Serialize;

use super::{
    Exit, Failure, Out,
    document::{Files, Settings, extracted, extractor, in_chunks},
    write_line,
};
use crate::{extract::Document, input::Input};

/// Print what the filter sees of pages: body text, title, links
///
/// Reads what `filter` reads and writes a line {"id", "url", "title", "text", "links", "lang", "charset"} of JSON for each document, in
/// the order of the input. The text is without navigation, header, footer, sidebars and the like, one block a line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve extract page.html | jq -r .text
    pagesieve extract pages/ | jq -r '[.id, .lang, .title] | @tsv'")]
pub(super) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    url: Option<&'a str>,
    title: Option<&'a str>,
    text: &'a str,
    links: Vec<&'a str>,
    lang: Option<&'a str>,
    charset: &'a str,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let config = args.settings.config()?;
    let extractor = extractor(&config);
    let extract = |mut input: Input| {
        let (id, url) = (std::mem::take(&mut input.id), input.url.clone());
        (id, url, extracted(&extractor, input).0)
    };
    in_chunks(args.files, extract, |documents| {
        for (id, url, document) in &documents {
            write_line(out, &line(id, url.as_ref().map(AsRef::as_ref), document))?;
        }
        out.flush().map_err(Failure::Output)
    })
}

fn line<'a>(id: &'a str, url: Option<&'a str>, document: &'a Document) -> Line<'a> {
    Line {
        id,
        url,
        title: document.title.as_deref(),
        text: &document.text,
        links: document.links.iter().map(|link| link.url.as_str()).collect(),
        lang: document.lang,
        charset: document.charset,
    }
}
