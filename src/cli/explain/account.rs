//! Why a URL of a run was kept, dropped or not crawled.

use std::{
    io::{self, Write},
    path::Path,
};

use super::super::{Exit, Failure, Out, progress::say};
use crate::{
    crawl::{self, Account},
    filter::{Kind, Step, Verdict},
    state::{Document, UrlState},
};

/// Writes what a run knows of a URL.
pub(super) fn explain(out: &mut Out, url: &str, run: &Path) -> Result<Exit, Failure> {
    let Some(account) = crawl::account(run, url)? else {
        say(format_args!("the run in {} never heard of {url}", run.display()));
        return Ok(Exit::Failed);
    };
    write(out, &account).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

fn write(out: &mut Out, account: &Account) -> io::Result<()> {
    let row = &account.url;
    writeln!(out, "{}", row.url)?;
    match (&account.document, account.reason()) {
        (Some(document), _) => write_judgement(out, document, account.matched.as_ref())?,
        (None, Some(reason)) => {
            writeln!(out, "not crawled     {reason}: {}", reason.meaning())?;
            let detail = account.aside.as_deref().filter(|_| row.state == UrlState::Queued);
            if let Some(detail) = detail.or(row.detail.as_deref()) {
                writeln!(out, "detail          {detail}")?;
            }
        }
        (None, None) => {}
    }
    if let Some(status) = row.status {
        writeln!(out, "status          {status}")?;
    }
    let seed = row.seed.map_or_else(|| "none".to_owned(), |seed| format!("number {}", seed + 1));
    writeln!(out, "seed            {seed}")?;
    writeln!(out, "depth           {}", row.depth)?;
    let referrer = account.referrer.as_deref().unwrap_or("none: it is a seed");
    writeln!(out, "found first on  {referrer}")
}

fn write_judgement(
    out: &mut Out,
    document: &Document,
    matched: Option<&Document>,
) -> io::Result<()> {
    let judgement = &document.judgement;
    let what = match judgement.verdict {
        Verdict::Unique => "unique",
        Verdict::Duplicate(found) => match (found.kind, found.step) {
            (Kind::Exact, Step::Body) => "an exact duplicate: the body is known",
            (Kind::Exact, _) => "an exact duplicate: the text is known",
            (Kind::Near, Step::Near) => "a near duplicate",
            (Kind::Near, _) => "a near duplicate: its body or text is that of one",
        },
    };
    writeln!(out, "judged          {what}")?;
    let kept = if document.stored { "stored in pages.jsonl" } else { "not stored" };
    writeln!(out, "kept            {kept}")?;
    if let (Some(found), Some(of)) = (judgement.verdict.matched(), matched) {
        writeln!(out, "it repeats      {}", of.name)?;
        writeln!(
            out,
            "distance        {} of 64 bits, {} of 256, similarity {:.4}",
            found.distance,
            found.signature_distance,
            found.similarity()
        )?;
    }
    let facts = judgement.facts;
    let fingerprint = facts.fingerprint.map_or_else(|| "none".to_owned(), |bits| bits.to_string());
    writeln!(out, "fingerprint     {fingerprint}")?;
    writeln!(out, "text            {} characters, {} features", facts.chars, facts.features)
}
