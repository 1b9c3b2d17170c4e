//! `pagesieve robots`: what a robots.txt allows an agent to fetch.

use std::{
    fs,
    io::{self, BufRead, Write},
    path::PathBuf,
};

use url::Url;

use super::{Exit, Failure, Out, Result};
use crate::crawl::robots::{Robots, product_token};

/// Show what a robots.txt allows an agent to fetch
///
/// Prints one line per URL, separated by tabs: `allow` or `deny`, the URL, and the deciding rule with its line number (`-` if there is
/// none). A URL that cannot be parsed is denied with the reason, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve robots robots.txt examplebot https://example.org/private/
    pagesieve robots robots.txt 'examplebot/1.0 (+https://example.org/bot)' < urls.txt")]
pub(super) struct Args {
    /// The robots.txt file
    file: PathBuf,
    /// The agent: a product token, or a whole User-Agent header that begins with one
    agent: String,
    /// The URLs; if none is given, they are read from standard input, one per line
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let file = fs::read(&args.file).map_err(Failure::read(&args.file))?;
    let robots = Robots::parse(&file, product_token(&args.agent));
    let mut exit = Exit::Done;
    let mut decide = |text: &str| {
        let line = match Url::parse(text) {
            Ok(url) => {
                let permission = robots.decide(&url);
                let verdict = if permission.allowed { "allow" } else { "deny" };
                let rule = permission.rule.map_or_else(|| "-".to_owned(), ToString::to_string);
                format!("{verdict}\t{text}\t{rule}")
            }
            Err(error) => {
                exit = Exit::Failed;
                format!("deny\t{text}\t{error}")
            }
        };
        writeln!(out, "{line}").map_err(Failure::Output)
    };
    args.urls.iter().try_for_each(|url| decide(url))?;
    if args.urls.is_empty() {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(Failure::read("standard input"))?;
            let url = String::from_utf8_lossy(line.trim_ascii());
            if !url.is_empty() {
                decide(&url)?;
            }
        }
    }
    Ok(exit)
}
