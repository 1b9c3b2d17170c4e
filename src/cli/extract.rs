//! `pagesieve extract`: what the filter sees of a page.

use serde::Serialize;
use url::Url;

use super::{
    Exit, Failure, Out,
    document::{Source, extracted, extractor},
};
use crate::{extract::Truncation, input::Input};

/// Print what the filter sees of pages: body text, title, links
///
/// Reads what `filter` reads and writes a line {"id", "url", "title", "text", "links", "lang", "charset"} of JSON for each document, in
/// the order of the input. The text is without navigation, header, footer, sidebars and the like, one block a line. A line has
/// "truncated" as well, with the reason, if a guard against hostile markup cut the page.
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
    id: String,
    url: Option<Url>,
    title: Option<String>,
    text: String,
    links: Vec<Url>,
    lang: Option<&'static str>,
    charset: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncation>,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let config = args.source.settings.config()?;
    let extractor = extractor(&config);
    args.source.write_lines(out, |mut input: Input| {
        let (id, url) = (std::mem::take(&mut input.id), input.url.clone());
        let (document, _) = extracted(&extractor, input);
        Line {
            id,
            url,
            title: document.title,
            text: document.text,
            links: document.links.into_iter().map(|link| link.url).collect(),
            lang: document.lang,
            charset: document.charset,
            truncated: document.truncated,
        }
    })
}
