//! One of the two documents of a comparison: reads it from a file or from a run.

use std::{collections::HashSet, ops::Range, path::Path};

use super::{
    super::{Exit, Failure, Result, document::read, export::unknown, rule::kind_in_run},
    is_url,
};
use crate::{
    crawl::{PastRun, UrlExplanation},
    filter::{Content as PageContent, Document, Facts, Kind, Verdict, lines_of_blocks},
    fingerprint::{Class, Feature, Fingerprinter, Signature},
    input::{Input, Prepared, prepare_with_text},
    page::{DocId, GivenId, Origin, Outline, Timestamp},
    sink::{PAGES, PageLine, lines_of},
    state::{JudgedDocument, KeptText},
    submission::{Payload, Preparation, Submission},
};

/// A run and its directory.
pub(super) struct Run<'a> {
    pub(super) past: PastRun,
    pub(super) directory: &'a Path,
}

impl Run<'_> {
    /// What the run knows about a URL.
    pub(super) fn explain(&self, url: &str) -> Result<UrlExplanation> {
        self.past.explain(url)?.ok_or_else(|| unknown(self.directory, url))
    }
}

/// A document to compare.
#[derive(Default)]
pub(super) struct Side {
    pub(super) name: String,
    /// Remarks on its origin and its text.
    pub(super) remarks: Vec<String>,
    pub(super) facts: Facts,
    pub(super) signature: Option<Signature>,
    pub(super) charset: Option<String>,
    pub(super) text: Option<Text>,
    /// What is kept of it, if it is compared by its content.
    pub(super) content: Option<PageContent>,
    /// The blocks of its content; empty if the page itself is not known.
    pub(super) blocks: Vec<Block>,
    /// The decision of the run.
    pub(super) judged: Option<(DocId, Verdict)>,
}

/// A block of a page.
pub(super) struct Block {
    pub(super) text: String,
    /// Its words as the filter compares them.
    pub(super) words: Vec<(Class, String)>,
}

/// A text and its features, if the text is available.
pub(super) struct Text {
    pub(super) document: Document,
    pub(super) features: Vec<Feature>,
}

/// Reads a document: a page of the run by its URL, or else a file.
pub(super) fn side(name: &str, run: Option<&Run<'_>>, preparation: &Preparation) -> Result<Side> {
    if let Some(run) = run.filter(|_| is_url(name)) {
        return of_page(run, name, preparation);
    }
    let content = read(name.as_ref())?;
    if is_json_lines(&content) {
        let message = format!("{name} has JSON lines, but `explain` takes one document per file");
        let help = "save the text or page of one line as a file; `pagesieve filter` and `pagesieve lookup` read JSON lines";
        return Err(Failure::refused(Exit::Usage, message, help));
    }
    Ok(of_content(name.to_owned(), content, preparation))
}

/// Whether the first line of a text is a JSON object: then the file has documents for other commands.
fn is_json_lines(content: &Payload) -> bool {
    let Payload::Text(text) = content else { return false };
    let first = text.trim_start().lines().next().unwrap_or_default();
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(first).is_ok()
}

fn of_content(name: String, content: Payload, preparation: &Preparation) -> Side {
    let is_page = matches!(content, Payload::Html { .. });
    let input = Input::new(name.clone(), content);
    let submission = Submission { at: Some(Timestamp(0)), ..input.submission };
    let input = Input { submission, ..input };
    let (Prepared { document, .. }, extracted) = prepare_with_text(preparation, input);
    let mut remarks = vec![match extracted.canonical.as_ref().and_then(Origin::of) {
        Some(origin) => format!("HTML of {origin}, by its canonical link"),
        None if is_page => "HTML; it has no canonical link that names its host".to_owned(),
        None => "text".to_owned(),
    }];
    let kept = document.sketch.content.clone();
    remarks.extend(extracted.truncated.map(|why| truncated(why.as_str())));
    remarks.extend(empty(&extracted.text, document.sketch.text.features, is_page));
    let fingerprinter = preparation.documents().fingerprinter();
    let features = fingerprinter.features(&extracted.text);
    let outline = kept.as_ref().map(|_| &extracted.outline);
    Side {
        name,
        remarks,
        facts: document.facts(),
        signature: (document.sketch.text.features > 0).then_some(document.sketch.text.signature),
        charset: is_page.then(|| extracted.charset.to_owned()),
        text: Some(Text { document, features }),
        content: kept,
        blocks: outline.map(|outline| blocks(outline, fingerprinter)).unwrap_or_default(),
        judged: None,
    }
}

/// The blocks by which a page is compared.
fn blocks(outline: &Outline, fingerprinter: &Fingerprinter) -> Vec<Block> {
    let block = |lines: Range<usize>| {
        let mut words = Vec::new();
        for line in lines.clone() {
            let mut push = |class, word: &str| words.push((class, word.to_owned()));
            fingerprinter.words(outline.text_of(line), &mut push);
        }
        Block { text: text(outline, lines), words }
    };
    lines_of_blocks(outline, fingerprinter).into_iter().map(block).collect()
}

fn text(outline: &Outline, lines: Range<usize>) -> String {
    lines.map(|line| outline.text_of(line).trim()).collect::<Vec<_>>().join(" ")
}

/// Reads a page of a run: its text from the files or the state; for an exact duplicate the text of its match; else what the state
/// recorded.
fn of_page(run: &Run<'_>, url: &str, preparation: &Preparation) -> Result<Side> {
    let explanation = run.explain(url)?;
    let Some(document) = explanation.document else {
        let url = explanation.url.url.as_str();
        let message = format!("{url} was not judged, so there is nothing to compare");
        let help = format!("`pagesieve explain {url} --run {}` shows why", run.directory.display());
        return Err(Failure::refused(Exit::Failed, message, help));
    };
    let matched = explanation.matched.as_ref();
    let judgement = &document.judgement;
    let is_exact = judgement.verdict.matched().is_some_and(|found| found.kind == Kind::Exact);
    let mut remarks = vec![format!("in the run: {}", judged(&document, matched))];
    let mut page = stored(run, &document)?;
    if !document.stored && page.is_some() {
        remarks.push("its text is from the run's state".to_owned());
    }
    if let (None, Some(matched), true) = (&page, matched, is_exact) {
        page = stored(run, matched)?;
        remarks.push(
            "its own text is not stored; the text of its match, which has the same words, is used instead"
                .to_owned(),
        );
    }
    let (name, facts) = (document.name.clone(), judgement.facts);
    let truncation = page.as_ref().and_then(|page| page.truncated.as_deref());
    remarks.extend(truncation.map(truncated));
    let side = match page {
        Some(Stored { text: Some(text), charset, .. }) => {
            remarks.extend(empty(&text, facts.features, true));
            let side = of_content(name, Payload::Text(text), preparation);
            Side { charset: Some(charset), ..side }
        }
        page => {
            let why = match page {
                Some(_) => "its text is not stored (store.text = false); its signature is compared",
                None => {
                    "neither its text nor its signature is stored; only the recorded values are compared"
                }
            };
            remarks.push(why.to_owned());
            let signature = page.and_then(|page| page.signature);
            Side { name, facts, signature, ..Side::default() }
        }
    };
    // The content of unique pages only is kept.
    let id = matched.filter(|_| is_exact).map_or(judgement.id, |matched| matched.judgement.id);
    let content = run.past.content(id)?;
    Ok(Side { remarks, content, judged: Some((judgement.id, judgement.verdict)), ..side })
}

/// The decision of the run about a page.
pub(super) fn judged(document: &JudgedDocument, matched: Option<&JudgedDocument>) -> String {
    outcome(document, matched, if document.stored { "; stored" } else { "; not stored" })
}

/// The decision about a document, and what was done with it.
pub(super) fn outcome(
    document: &JudgedDocument,
    matched: Option<&JudgedDocument>,
    done: &str,
) -> String {
    let Some(found) = document.judgement.verdict.matched() else {
        return format!("unique{done}");
    };
    let (word, why) = kind_in_run(found);
    let of = matched.map_or_else(
        || "a document that is not there any more".to_owned(),
        |matched| GivenId::of(&matched.name).to_string(),
    );
    format!("{word} of {of}{done}: {why}")
}

/// Why a page is truncated, by the code of the limit that it reached.
pub(super) fn why_truncated(code: &str) -> String {
    let why = match code {
        "body" => "its body is longer than fetch.max_body",
        "depth" => "its elements are nested too deeply",
        "attributes" => "one of its tags has too many attributes",
        "nodes" => "it has too many elements",
        "text" => "it has too much text, or too many lines",
        _ => "it reached a limit",
    };
    format!("{why} ({code}); the rest is ignored")
}

fn truncated(code: &str) -> String {
    format!("truncated: {}", why_truncated(code))
}

/// Why a text has no features, if it has none.
fn empty(text: &str, features: u32, is_page: bool) -> Option<String> {
    let why = match (text.trim().is_empty(), is_page) {
        _ if features > 0 => return None,
        (true, true) => {
            "it has no body text; navigation, forms and scripts do not count (`pagesieve extract` prints the text)"
        }
        (true, false) => "it is empty",
        (false, _) => "it has no words, only punctuation or symbols",
    };
    Some(why.to_owned())
}

/// What a run stores of a page in addition to its row in the state.
pub(super) struct Stored {
    pub(super) text: Option<String>,
    pub(super) signature: Option<Signature>,
    pub(super) charset: String,
    pub(super) truncated: Option<String>,
}

/// What a run stores of a page: its line in `pages.jsonl`, or for a near duplicate the text in the state.
pub(super) fn stored(run: &Run<'_>, page: &JudgedDocument) -> Result<Option<Stored>> {
    if page.stored {
        return line(run.directory, &page.name);
    }
    let kept = run.past.text(page)?;
    Ok(kept.map(|KeptText { text, charset, truncated }| Stored {
        text: Some(text),
        signature: None,
        charset,
        truncated,
    }))
}

/// Reads the line of a URL in `pages.jsonl` or a full file of its kind, if there is one: that of its latest version.
fn line(run: &Path, url: &str) -> Result<Option<Stored>> {
    let failure = |source| Failure::Read { path: run.join(PAGES), source };
    let lines = lines_of(run, PAGES, &HashSet::from([url])).map_err(failure)?;
    let Some(line) = lines.get(url) else { return Ok(None) };
    let page: PageLine<'_> = serde_json::from_slice(line).map_err(|error| failure(error.into()))?;
    Ok(Some(Stored {
        text: page.text.map(Into::into),
        signature: page.signature,
        charset: page.charset.into(),
        truncated: page.truncated.map(Into::into),
    }))
}
