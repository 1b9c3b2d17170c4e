//! `pagesieve explain URL --run DIR`: why a URL was stored, dropped or not fetched.

use std::io::{self, Write};

use super::{
    super::{Failure, Out, Result, rule::distances},
    side::{Run, Stored, judged, stored, why_lost, why_truncated},
};
use crate::{
    crawl::{Revisits, UrlExplanation},
    report::counted,
    state::{JudgedDocument, Reason, UrlState},
};

/// Writes what a run knows about a URL.
pub(super) fn explain(out: &mut Out, url: &str, run: &Run<'_>) -> Result<()> {
    let explanation = run.explain(url)?;
    let page = explanation.document.as_ref().map(|document| stored(run, document)).transpose()?;
    write(out, &explanation, page.flatten().as_ref()).map_err(Failure::Output)
}

fn write(out: &mut Out, explanation: &UrlExplanation, line: Option<&Stored>) -> io::Result<()> {
    let row = &explanation.url;
    writeln!(out, "{}", row.url)?;
    if let Some(document) = &explanation.document {
        write_judgement(out, document, explanation.matched.as_ref(), line)?;
        if let Some(file) = explanation.lost {
            writeln!(out, "lost            {}", why_lost(file))?;
        }
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
    let asked = counted(visits, "time");
    let last = jiff::Timestamp::from(last);
    writeln!(out, "asked again     {asked}, last at {last}; it had changed {changes} of them")?;
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
    let deferred = explanation.deferred.as_deref().filter(|_| row.state == UrlState::Queued);
    match deferred.or(row.detail.as_deref()) {
        Some(detail) => writeln!(out, "detail          {detail}"),
        None => Ok(()),
    }
}

fn write_judgement(
    out: &mut Out,
    document: &JudgedDocument,
    matched: Option<&JudgedDocument>,
    line: Option<&Stored>,
) -> io::Result<()> {
    let judgement = &document.judgement;
    writeln!(out, "outcome         {}", judged(document, matched))?;
    if let Some(found) = judgement.verdict.matched() {
        writeln!(out, "distance        {}", distances(found))?;
    }
    if let Some(title) = &document.title {
        writeln!(out, "title           {title}")?;
    }
    let facts = judgement.facts;
    let [chars, features] = [(facts.chars, "character"), (facts.features, "feature")]
        .map(|(count, what)| counted(count, what));
    writeln!(out, "text            {chars}, {features}")?;
    if facts.features == 0 {
        writeln!(
            out,
            "                no words, so only a page with the same body is its duplicate"
        )?;
    }
    if let Some(why) = line.and_then(|line| line.truncated.as_deref()) {
        writeln!(out, "truncated       {}", why_truncated(why))?;
    }
    let fingerprint = facts.fingerprint.map_or_else(|| "none".to_owned(), |bits| bits.to_string());
    writeln!(out, "fingerprint     {fingerprint}")
}
