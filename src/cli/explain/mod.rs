//! `pagesieve explain`: why are two documents duplicates, or not; and what became of a URL of a run?

mod account;
mod pair;

use std::path::{Path, PathBuf};

use super::{
    Exit, Failure, Out,
    document::{Settings, recipe},
};
use crate::crawl;
use pair::Place;

/// Explain why two documents are duplicates, or not; or what became of a URL
///
/// With two documents (files, HTML or plain text; with --run also URLs of the run's stored pages): their sizes, the features that weigh
/// most of those in which they differ, the bits of their fingerprints, distances and similarity, and what `filter` would say of the
/// second after the first. With one URL and --run: why it was kept, dropped or not crawled.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve explain old.html new.html --set dedup.segment=ngrams
    pagesieve explain http://docs.example.org/a --run runs/docs
    pagesieve explain http://docs.example.org/a http://docs.example.org/b --run runs/docs")]
pub(super) struct Args {
    /// The document that comes first, or the URL
    a: String,
    /// The document that comes second
    #[arg(required_unless_present = "run")]
    b: Option<String>,
    /// A run directory
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let run = args.run.as_deref();
    let b = match (&args.b, run) {
        (Some(b), _) => b,
        (None, Some(run)) => return account::explain(out, &args.a, run),
        (None, None) => unreachable!("the arguments demand the one or the other"),
    };
    let config = args.settings.config()?;
    let mut recipe = recipe(&config);
    if let Some(run) = run {
        recipe.seed = crawl::run_seed(run)?;
    }
    pair::compare(out, [place(&args.a, run), place(b, run)], &config, recipe)?;
    Ok(Exit::Done)
}

fn place<'a>(name: &'a str, run: Option<&'a Path>) -> Place<'a> {
    let is_url = name.starts_with("http://") || name.starts_with("https://");
    match run {
        Some(run) if is_url => Place::Page(run, name),
        _ => Place::File(name.as_ref()),
    }
}
