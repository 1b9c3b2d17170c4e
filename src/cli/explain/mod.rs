//! `pagesieve explain`: why two documents are duplicates, or not; and what happened to a URL of a run.

mod pair;
mod side;
mod url;

use std::path::{Path, PathBuf};

use super::{
    Exit, Failure, Out,
    document::{Settings, recipe},
};
use crate::crawl::PastRun;
use side::{Place, Run};

/// Explain why two documents are duplicates or not, or what happened to a URL
///
/// With two documents (HTML or text files; with --run also URLs of the run): shows how the filter judges the second after the first, the
/// rule, sizes, differing bits, distances, similarity, and the most important features in which they differ. With one URL and --run:
/// shows why it was stored, dropped or not fetched.
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
            // Nothing is judged, but invalid settings are errors here too.
            args.settings.config_over_run(&run.past)?;
            url::explain(out, &args.a, &run)?;
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
