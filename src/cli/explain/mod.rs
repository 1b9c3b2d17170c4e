//! `pagesieve explain`: why are two documents duplicates, or not; and what became of a URL of a run?

mod account;
mod features;
mod pair;
mod side;
mod stored;

use std::path::{Path, PathBuf};

use super::{
    Exit, Failure, Out,
    document::{Settings, recipe},
};
use crate::crawl::PastRun;
use side::{Place, Run};

/// Explain why two documents are duplicates, or not; or what became of a URL
///
/// With two documents (files, HTML or plain text; with --run also URLs of the run): their sizes, the features that weigh most of those
/// in which they differ, the bits of their fingerprints, distances and similarity, the rule, and what the filter says of the second
/// after the first. With one URL and --run: why it was kept, dropped or not fetched.
///
/// With --run texts are fingerprinted as the run did, and judged by its rule, unless --set or --config say another rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve explain old.html new.html --set dedup.segment=ngrams
    pagesieve explain http://docs.example.org/a --run runs/docs
    pagesieve explain http://docs.example.org/a http://docs.example.org/b --run runs/docs
    pagesieve explain http://docs.example.org/a saved.html --run runs/docs")]
pub(super) struct Args {
    /// The document that comes first, or a URL of a run
    a: String,
    /// The document that comes second
    b: Option<String>,
    /// A run directory, to explain URLs
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    match (&args.b, &args.run) {
        (Some(b), Some(run)) => {
            let run = Run { past: PastRun::open(run)?, directory: run };
            let (config, recipe) = args.settings.config_over_run(&run.past)?;
            let places = [args.a.as_str(), b].map(|name| place(name, &run));
            pair::compare(out, places, &config, recipe, Some(&run.past))?;
        }
        (None, Some(run)) if is_url(&args.a) => {
            let run = Run { past: PastRun::open(run)?, directory: run };
            // Nothing is judged, but what could not be asked for is not passed over.
            args.settings.config_over_run(&run.past)?;
            account::explain(out, &args.a, &run)?;
        }
        (None, Some(run)) => {
            return Err(Failure::OneFile { file: args.a.clone(), run: run.clone() });
        }
        (b, None) => {
            if let Some(url) =
                [Some(&args.a), b.as_ref()].into_iter().flatten().find(|name| is_url(name))
            {
                return Err(Failure::NoRun { url: url.clone() });
            }
            let b = b.as_ref().ok_or(Failure::OneDocument)?;
            let config = args.settings.config()?;
            let places = [&args.a, b].map(|name| Place::File(name.as_ref()));
            pair::compare(out, places, &config, recipe(&config), None)?;
        }
    }
    Ok(Exit::Done)
}

fn place<'a>(name: &'a str, run: &'a Run<'a>) -> Place<'a> {
    if is_url(name) { Place::Page(run, name) } else { Place::File(Path::new(name)) }
}

fn is_url(name: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        name.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}
