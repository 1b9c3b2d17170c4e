//! `pagesieve lookup`: lists the pages of a run that are nearest to a text.

use std::{
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    Exit, Failure, Out, Result,
    document::{Settings, in_chunks, preparation, read},
    rule::{distances, kind_in_run, only_equal, rule},
};
use crate::{
    crawl::{Lookup, NearPage, PastRun},
    filter::{self, Document, Kind, Options},
    fingerprint::similarity,
    input::{Documents, Input, LONGEST, Prepared, Reading, prepare},
    page::{GivenId, floored},
    report::counted,
    submission::Payload,
};

/// List the pages of a run, or documents of a filter, that are nearest to a text
///
/// Fingerprints the text as the run does and compares it with every unique page in the run's window. Prints the nearest pages: the bits
/// in which fingerprints (64 bits) and signatures (256 bits) differ, the estimated similarity, URL and title. Then prints whether the
/// run would judge the text to be a duplicate, by the run's rule unless --set or --config change it. The state of `filter`, `serve` or Python is
/// asked in the same way, by the default rule unless they change it; its documents are printed by their ids.
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
    pagesieve lookup runs/docs page.html
    pagesieve lookup --run runs/docs --limit 3 paragraphs.txt
    pagesieve lookup --run runs/docs new.jsonl
    echo 'The tide is high.' | pagesieve lookup --run seen.sqlite -"
)]
pub(super) struct Args {
    /// The run directory, or the file of `filter --state` or `serve --state`
    #[arg(long, value_name = "RUN|STATE")]
    run: Option<PathBuf>,
    /// The same, without the option
    #[arg(value_name = "RUN|STATE", conflicts_with = "run")]
    of: Option<PathBuf>,
    /// The text: an HTML page, JSON lines as for `filter`, a directory of pages, or a plain text file
    ///
    /// A file that begins with a brace has JSON lines. `-` is standard input, which may have the same.
    file: PathBuf,
    /// How many pages to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let run = args.run.as_ref().or(args.of.as_ref()).ok_or_else(|| {
        let message = "no run and no state of a filter is given".to_owned();
        let help = format!("`pagesieve lookup RUN {}`", args.file.display());
        Failure::refused(Exit::Usage, message, help)
    })?;
    let run = PastRun::open_window(run)?;
    let whose = if run.is_of_filter()? { "filter" } else { "run" };
    let (config, recipe) = args.settings.config_over_run(&run)?;
    let options = config.dedup.filter();
    let preparation =
        preparation(&config, filter::Documents::new(recipe, options.compares_content()));
    let mut window = run.window(&options, recipe)?;
    let mut is_first = true;
    in_chunks(
        inputs(&args.file)?,
        |input| prepare(&preparation, input),
        |documents| {
            for prepared in documents.into_iter().flatten() {
                let found = window.lookup(&prepared.document, args.limit)?;
                if !std::mem::take(&mut is_first) {
                    writeln!(out).map_err(Failure::Output)?;
                }
                write(out, whose, (&prepared, &found), &options).map_err(Failure::Output)?;
            }
            Ok(())
        },
    )
}

/// The documents of a file: one if it is a page or plain text, else one per line.
fn inputs(file: &Path) -> Result<Documents> {
    if file.as_os_str() == "-" {
        return standard_input();
    }
    if !file.is_dir() {
        let content = read(file)?;
        let is_lines =
            matches!(&content, Payload::Text(text) if text.trim_start().starts_with('{'));
        if !is_lines {
            let id = file.display().to_string();
            return Ok(Documents::one(Input::new(id, content)));
        }
    }
    Ok(Documents::new(vec![file.to_owned()], Reading::default()))
}

/// The documents of standard input: what begins as nothing else is one plain text.
fn standard_input() -> Result<Documents> {
    let failed = |source| Failure::read("standard input")(source);
    let mut from = io::stdin().lock();
    if !is_text(from.fill_buf().map_err(failed)?) {
        return Ok(Documents::new(vec!["-".into()], Reading::default()));
    }
    let mut text = Vec::new();
    from.take(LONGEST as u64 + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() > LONGEST {
        return Err(failed(io::Error::other("a plain text may have 64 MiB")));
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Documents::one(Input::new("standard input".to_owned(), Payload::Text(text))))
}

/// Whether an input that begins so is neither JSON lines nor a page, and neither compressed nor an archive.
fn is_text(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let others: [&[u8]; 5] = [b"{", b"<", b"WARC/", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
    let start = start.trim_ascii_start();
    !start.is_empty() && !others.iter().any(|other| start.starts_with(other))
}

fn write(
    out: &mut Out,
    whose: &str,
    (text, found): (&Prepared, &Lookup),
    options: &Options,
) -> io::Result<()> {
    let Prepared { document, truncated, .. } = text;
    let [chars, features] =
        [(document.chars, "character"), (document.sketch.text.features, "feature")]
            .map(|(count, what)| counted(count, what));
    writeln!(out, "{}: {chars}, {features}", GivenId::of(&document.id))?;
    if let Some(why) = truncated {
        writeln!(out, "truncated ({}): the rest is ignored", why.as_str())?;
    }
    if !found.nearest.is_empty() {
        let what = if whose == "run" { "page" } else { "document" };
        let all = counted(found.compared, what);
        writeln!(out, "\nnearest of the {all} in the {whose}'s window:\n")?;
        writeln!(out, "  of 64  of 256  similarity  {what}")?;
        found.nearest.iter().try_for_each(|near| write_page(out, near))?;
    }
    writeln!(out, "\nThe {whose} would judge it {}", verdict(document, found, options))
}

fn write_page(out: &mut Out, near: &NearPage) -> io::Result<()> {
    let NearPage { page, distance, signature_distance } = near;
    let similarity = floored(similarity(*signature_distance), 4);
    write!(
        out,
        "  {distance:>5}  {signature_distance:>6}  {similarity:>10}  {}",
        GivenId::of(&page.name)
    )?;
    match &page.title {
        Some(title) => writeln!(out, "  {title:?}"),
        None => writeln!(out),
    }
}

/// How the run would judge the text.
fn verdict(document: &Document, found: &Lookup, options: &Options) -> String {
    let rule = || rule(options, document.sketch.text.features);
    match (&found.matched, only_equal(&document.sketch.text, options)) {
        (Some((found, page)), _) => {
            let (word, why) = kind_in_run(found);
            let verdict =
                format!("{word} of {}:\n{why}: {}", GivenId::of(&page.name), distances(found));
            if found.kind == Kind::Near { format!("{verdict}\n{}", rule()) } else { verdict }
        }
        (None, Some(why)) => format!("unique: it {why}"),
        (None, None) => {
            format!("unique: no page has an equal text, and none is similar enough\n{}", rule())
        }
    }
}
