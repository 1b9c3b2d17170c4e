//! `pagesieve explain`: why two documents are duplicates, or not; and what happened to a URL of a run, or to a document of a filter.

mod pair;
mod side;

use std::{
    io::{self, Write},
    iter,
    path::{Path, PathBuf},
};

use super::{
    Exit, Failure, Out, Result,
    crawl::absolute,
    document::{Settings, recipe},
    export::not_held,
    rule::distances,
};
use crate::{
    crawl::{PastRun, Revisits, UrlExplanation, may_have_state},
    page::{GivenId, floored},
    report::counted,
    state::{JudgedDocument, Reason, UrlState},
};
use side::{Run, Stored, judged, outcome, stored, why_truncated};

/// Explain why two documents are duplicates or not, or what happened to a URL
///
/// With two documents, prints how the filter judges the second after the first: the rule, sizes, distances, similarity,
/// and the most important features in which they differ. Documents are HTML or text files; with --run also URLs of the run. Pages are compared
/// by their articles: prints which condition of the rule is not met, what both have, what only one has, and what is boilerplate. With one
/// URL and --run (or the run before it), prints why it was stored, dropped or not fetched; with the id or URL of a document and the state of
/// `filter`, `serve` or Python instead of a run, how and when it was judged.
///
/// With --run, texts are fingerprinted and judged as in the run, unless --set or --config change the rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve explain old.html new.html --set dedup.segment=ngrams
    pagesieve explain runs/docs http://docs.example.org/a
    pagesieve explain seen.sqlite doc-17
    pagesieve explain --run runs/docs http://example.org/a http://example.org/b
    pagesieve explain http://docs.example.org/a saved.html --run runs/docs")]
pub(super) struct Args {
    /// The first document, or a URL of a run, or an id in a state; the run or state may stand before it
    a: String,
    /// The second document
    b: Option<String>,
    /// The second document, if a run or state is the first of three arguments
    #[arg(hide = true)]
    c: Option<String>,
    /// The run directory, for URLs; or the file of `filter --state` or `serve --state`, for ids
    #[arg(long, value_name = "RUN|STATE")]
    run: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let Args { a, b, c, run, settings } = args;
    // As other commands have it: the run, then a URL or two.
    let (a, b, run) = match (b, c, run) {
        (Some(first), second, None) if second.is_some() || may_have_state(Path::new(a)) => {
            (first, second.as_ref(), Some(Path::new(a)))
        }
        (_, Some(_), Some(_)) => {
            let message = "three documents are given, but a comparison takes two".to_owned();
            return Err(Failure::refused(Exit::Usage, message, "leave one of them out"));
        }
        _ => (a, b.as_ref(), run.as_deref()),
    };
    let Some(directory) = run else {
        return compare_files(args, out).map(|()| Exit::Done);
    };
    let run = Run { past: PastRun::open_window(directory)?, directory };
    let is_of_filter = run.past.is_of_filter()?;
    // A single URL is not judged, but invalid settings are errors there too.
    let (config, recipe) = settings.config_over_run(&run.past)?;
    match b {
        Some(b) if is_of_filter && [a, b].iter().any(|name| is_url(name)) => {
            let message = format!("{} keeps no texts to compare", directory.display());
            let help = "save both documents as files, and name the files";
            return Err(Failure::refused(Exit::Usage, message, help));
        }
        Some(b) => pair::compare(out, [a, b], &config, recipe, Some(&run))?,
        None if is_of_filter => explain_document(out, a, &run)?,
        None if is_url(a) => explain_url(out, a, &run)?,
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
        if may_have_state(Path::new(&args.a)) {
            let message = format!("{} is given, but nothing that is to be explained", args.a);
            let help = "add a URL of the run, or the id of a document in the state";
            return Failure::refused(Exit::Usage, message, help);
        }
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

/// Writes what the state of a filter has of a document, for each of its versions.
fn explain_document(out: &mut Out, id: &str, run: &Run<'_>) -> Result<()> {
    let versions = run.past.versions(id)?;
    if versions.is_empty() {
        return Err(not_held(run.directory, id));
    }
    for (number, (document, matched)) in versions.iter().enumerate() {
        let mut write = || {
            if number > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{}", GivenId::of(&document.name))?;
            let outcome = outcome(document, matched.as_ref(), "");
            write_judgement(out, document, matched.as_ref(), (&outcome, None))?;
            writeln!(out, "judged          {}", jiff::Timestamp::from(document.judgement.at))
        };
        write().map_err(Failure::Output)?;
    }
    Ok(())
}

/// Writes what a run knows about a URL.
fn explain_url(out: &mut Out, url: &str, run: &Run<'_>) -> Result<()> {
    let explanation = run.explain(url)?;
    let page = explanation.document.as_ref().map(|document| stored(run, document)).transpose()?;
    write(out, &explanation, page.flatten().as_ref()).map_err(Failure::Output)?;
    let end = end_of_redirects(&explanation, run)?;
    end.map_or(Ok(()), |end| writeln!(out, "leads to        {end}")).map_err(Failure::Output)
}

/// Where a URL leads that redirects, and what became of that.
fn end_of_redirects(explanation: &UrlExplanation, run: &Run<'_>) -> Result<Option<String>> {
    let target = |of: &UrlExplanation| {
        of.url.detail.clone().filter(|_| of.reason() == Some(Reason::Redirect))
    };
    let mut seen = vec![explanation.url.url.to_string()];
    let (mut next, mut end) = (target(explanation), None);
    while let Some(url) = next {
        if seen.contains(&url) {
            return Ok(Some(format!("{url} again: these redirects have no end")));
        }
        // One that is not followed has more than a URL there: why.
        let Ok(target_url) = absolute(&url) else { break };
        let Some(found) = run.past.explain(target_url.as_str())? else { break };
        let outcome = match (&found.document, found.reason()) {
            (Some(document), _) => judged(document, found.matched.as_ref()),
            (None, Some(reason)) => format!("{reason}: {}", reason.meaning()),
            (None, None) => String::new(),
        };
        end = Some(format!("{url}: {outcome}"));
        next = target(&found);
        seen.push(url);
    }
    Ok(end)
}

fn write(out: &mut Out, explanation: &UrlExplanation, line: Option<&Stored>) -> io::Result<()> {
    let row = &explanation.url;
    writeln!(out, "{}", row.url)?;
    if let Some(document) = &explanation.document {
        let matched = explanation.matched.as_ref();
        write_judgement(out, document, matched, (&judged(document, matched), line))?;
        if let Some(run) = &explanation.against {
            writeln!(out, "of the run      {run}")?;
        }
    } else if let Some(reason) = explanation.reason() {
        write_reason(out, explanation, reason)?;
    }
    if let Some(status) = row.status {
        writeln!(out, "status          {status}")?;
    }
    if let Some(revisits) = &explanation.revisits {
        write_revisits(out, revisits)?;
    }
    writeln!(out, "seed            {}", explanation.seed.as_deref().unwrap_or("none"))?;
    writeln!(out, "depth           {}", row.depth)?;
    let referrer = explanation.referrer.as_deref().unwrap_or("none: it is a seed");
    writeln!(out, "found first on  {referrer}")
}

fn write_revisits(out: &mut Out, revisits: &Revisits) -> io::Result<()> {
    let Revisits { visits, changes, last, gone } = *revisits;
    let [asked, changed] = [visits, changes].map(|count| counted(count, "time"));
    let last = jiff::Timestamp::from(last);
    writeln!(out, "asked again     {asked}, last at {last}; changed {changed}")?;
    match gone {
        Some(reason) => writeln!(out, "now             gone; {reason}: {}", reason.meaning()),
        None => Ok(()),
    }
}

fn write_reason(out: &mut Out, explanation: &UrlExplanation, reason: Reason) -> io::Result<()> {
    let row = &explanation.url;
    let outcome = match reason {
        Reason::Pending | Reason::Host => "not fetched yet",
        Reason::Failure => "requested, but not received",
        _ if row.status.is_some() => "fetched, but not judged",
        _ => "not fetched",
    };
    writeln!(out, "outcome         {outcome}")?;
    writeln!(out, "reason          {reason}: {}", reason.meaning())?;
    let suspended = explanation.suspended.as_deref().filter(|_| row.state == UrlState::Queued);
    if let Some(detail) = suspended.or(row.detail.as_deref()) {
        writeln!(out, "detail          {detail}")?;
    }
    explanation.evidence.iter().try_for_each(|it| writeln!(out, "evidence        {it}"))
}

fn write_judgement(
    out: &mut Out,
    document: &JudgedDocument,
    matched: Option<&JudgedDocument>,
    (outcome, line): (&str, Option<&Stored>),
) -> io::Result<()> {
    let judgement = &document.judgement;
    writeln!(out, "outcome         {outcome}")?;
    if let Some(found) = judgement.verdict.matched() {
        writeln!(out, "distance        {}", distances(found))?;
    }
    if let Some(((_, similarity), page)) = judgement.nearest.zip(matched) {
        let similarity = floored(similarity, 4);
        writeln!(
            out,
            "nearest         {}: similarity {similarity}, too little",
            GivenId::of(&page.name)
        )?;
    }
    if let Some(title) = &document.title {
        writeln!(out, "title           {title}")?;
    }
    let facts = judgement.facts;
    let [chars, features] = [(facts.chars, "character"), (facts.features, "feature")]
        .map(|(count, what)| counted(count, what));
    writeln!(out, "text            {chars}, {features}")?;
    if facts.features == 0 {
        writeln!(out, "                no words, so only an equal one is its duplicate")?;
    }
    if let Some(why) = line.and_then(|line| line.truncated.as_deref()) {
        writeln!(out, "truncated       {}", why_truncated(why))?;
    }
    let fingerprint = facts.fingerprint.map_or_else(|| "none".to_owned(), |bits| bits.to_string());
    writeln!(out, "fingerprint     {fingerprint}")
}
