//! `pagesieve explain`: why two documents are duplicates, or not; and what happened to a URL of a run.

mod article;
mod pair;
mod side;
mod url;

use std::{iter, path::PathBuf};

use super::{
    Exit, Failure, Out, Result,
    document::{Settings, recipe},
};
use crate::crawl::PastRun;
use side::Run;

/// Explain why two documents are duplicates or not, or what happened to a URL
///
/// With two documents (HTML or text files; with --run also URLs of the run): shows how the filter judges the second after the first, the
/// rule, sizes, differing bits, distances, similarity, and the most important features in which they differ. Pages are compared by their
/// articles: shows which condition of the rule is not met, what both have, what only one has, and what is boilerplate of the site. With one
/// URL and --run: shows why it was stored, dropped or not fetched.
///
/// With --run, texts are fingerprinted and judged as in the run, unless --set or --config change the rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve explain old.html new.html --set dedup.segment=ngrams
    pagesieve explain http://docs.example.org/a --run runs/docs
    pagesieve explain http://docs.example.org/a http://docs.example.org/b --run runs/docs
    pagesieve explain http://docs.example.org/a saved.html --run runs/docs")]
pub(super) struct Args {
    /// The first document, or a URL of a run
    a: String,
    /// The second document
    b: Option<String>,
    /// The run directory, for URLs
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let Args { a, b, run, settings } = args;
    let Some(directory) = run else {
        return compare_files(args, out).map(|()| Exit::Done);
    };
    let run = Run { past: PastRun::open(directory)?, directory };
    // A single URL is not judged, but invalid settings are errors there too.
    let (config, recipe) = settings.config_over_run(&run.past)?;
    match b {
        Some(b) => pair::compare(out, [a, b], &config, recipe, Some(&run))?,
        None if is_url(a) => url::explain(out, a, &run)?,
        None => {
            let message = format!(
                "{a} is taken for a file, because a URL begins with http:// or https://, and no other document is given"
            );
            let run = directory.display();
            let help = format!(
                "`pagesieve lookup --run {run} {a}` lists the pages of the run that are nearest to it"
            );
            return Err(Failure::refused(Exit::Usage, message, help));
        }
    }
    Ok(Exit::Done)
}

fn compare_files(args: &Args, out: &mut Out) -> Result<()> {
    if let Some(url) = iter::once(&args.a).chain(&args.b).find(|name| is_url(name)) {
        let message = format!("{url} is a URL, but no run is given");
        return Err(Failure::refused(Exit::Usage, message, "add `--run DIR`, the run directory"));
    }
    let b = args.b.as_ref().ok_or_else(|| {
        let message = "only one document is given, but a comparison needs two".to_owned();
        let help = "add the other one; or give a URL with `--run DIR` to see what happened to it";
        Failure::refused(Exit::Usage, message, help)
    })?;
    let config = args.settings.config()?;
    pair::compare(out, [&args.a, b], &config, recipe(&config), None)
}

fn is_url(name: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        name.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}
