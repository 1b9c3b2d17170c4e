//! `pagesieve eval`: measures the quality of the filter on texts whose similarity is known.

use std::{
    fs::{self, File},
    io::{BufReader, Write},
    path::{MAIN_SEPARATOR, Path, PathBuf},
};

use super::{
    Exit, Failure, Out, Result,
    document::{Settings, extractor, in_chunks, recipe},
    notify, write_line,
};
use crate::{
    config::Config,
    eval::{self, Corpus, CorpusError, Text, Unlisted, evaluate, read_texts},
    input::{Documents, Reading},
    page::Outline,
};

/// Measure the quality of the filter on pairs whose similarity is known
///
/// PAIRS has one JSON line {"a", "b", "jaccard"} per pair of texts: their ids, and the share of shingles that they have in common.
/// Instead of "jaccard", a line may have a "label": near, related, weak or different. Pairs that are not listed count as different,
/// unless --listed-only is given. The rule of the configured mode judges every pair of texts at every radius; then the texts go through
/// the filter as a stream, in their order. Pages (--pages) in the stream are judged as in a crawl, by their content.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "pagesieve eval <PAIRS> <--texts <FILE>|--pages <DIR>> [OPTIONS]",
    after_help = "\
Examples:
    pagesieve eval pairs.jsonl --texts main_text.jsonl --seeds 5
    pagesieve eval pairs.jsonl --pages pages/ --html quality.html
    pagesieve eval pairs.jsonl --texts texts.jsonl --set dedup.mode=classic
    pagesieve eval pairs.jsonl --texts texts.jsonl --json | jq .groups[0].recall"
)]
pub(super) struct Args {
    /// Pairs of texts, as JSON lines
    pairs: PathBuf,
    #[command(flatten)]
    source: Source,
    /// Judge only listed pairs: the similarity of the others is unknown
    #[arg(long)]
    listed_only: bool,
    /// Take the mean over N hash seeds instead of the configured one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
    /// Also write the figures as charts to this HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// Where the texts are.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Texts, as JSON lines {"id", "lang"?, "text"}
    #[arg(long, value_name = "FILE")]
    texts: Option<PathBuf>,
    /// A directory of HTML files; their ids are their paths in it
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let config = args.settings.config()?;
    let (texts, outlines, exit) = args.source.texts(&config)?;
    let unlisted = if args.listed_only { Unlisted::Unknown } else { Unlisted::Different };
    let corpus = Corpus::new(texts, open(&args.pairs)?, unlisted).map_err(|source| {
        let in_texts = matches!(source, CorpusError::Doubled(_) | CorpusError::Number(_));
        let path = if in_texts { args.source.path() } else { &args.pairs };
        Failure::Corpus { path: path.to_owned(), source }
    })?;
    let corpus = if outlines.is_empty() { corpus } else { corpus.with_outlines(outlines) };
    if corpus.listed() == 0 {
        let pairs = args.pairs.display();
        notify(format_args!("{pairs} lists no pairs, so no pair is known to be near"));
    }
    let hash_seeds = args
        .seeds
        .map_or_else(|| vec![recipe(&config).hash_seed], |number| eval::hash_seeds(number.into()));
    let quality = evaluate(&corpus, &config.dedup.filter(), &hash_seeds);
    if let Some(path) = &args.html {
        fs::write(path, eval::render(&quality))
            .map_err(|source| Failure::Write { path: path.clone(), source })?;
    }
    if args.json {
        write_line(out, &quality)?;
    } else {
        write!(out, "{quality}").map_err(Failure::Output)?;
    }
    Ok(exit)
}

impl Source {
    fn path(&self) -> &Path {
        self.texts.as_deref().or(self.pages.as_deref()).unwrap_or(Path::new("."))
    }

    /// The texts, and the outlines of the pages that they are of.
    fn texts(&self, config: &Config) -> Result<(Vec<Text>, Vec<Outline>, Exit)> {
        if let Some(path) = &self.texts {
            let texts = read_texts(open(path)?)
                .map_err(|source| Failure::Corpus { path: path.clone(), source })?;
            return Ok((texts, Vec::new(), Exit::Done));
        }
        let directory = self.path();
        let extractor = extractor(config);
        let (mut texts, mut outlines) = (Vec::new(), Vec::new());
        let exit = in_chunks(
            Documents::new(vec![directory.to_owned()], Reading::default()),
            |input| {
                let id = input.name().to_owned();
                let (document, _) = input.submission.extracted(&extractor);
                let lang = document.lang.map(str::to_owned);
                let text = Text { id: relative(directory, &id), lang, text: document.text };
                (text, document.outline)
            },
            |chunk| {
                for (text, outline) in chunk.into_iter().flatten() {
                    texts.push(text);
                    outlines.push(outline);
                }
                Ok(())
            },
        )?;
        Ok((texts, outlines, exit))
    }
}

/// The path of a file, relative to the directory.
fn relative(directory: &Path, path: &str) -> String {
    let relative = Path::new(path).strip_prefix(directory).unwrap_or(Path::new(path));
    relative.to_string_lossy().replace(MAIN_SEPARATOR, "/")
}

fn open(path: &Path) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(Failure::read(path))
}
