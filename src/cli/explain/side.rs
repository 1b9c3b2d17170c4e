//! One of the two documents that are compared, and where it comes from.

use std::path::Path;

use super::{
    super::{
        Failure,
        document::{Preparation, extracted, read},
        rule::kind_in_run,
    },
    stored::{Stored, stored},
};
use crate::{
    crawl::PastRun,
    filter::{Document, Facts, Key, Kind, Match, Verdict},
    fingerprint::{Feature, Signature, Sketch},
    input::{Content, Input},
    page::{DocId, Origin, Timestamp},
    state::JudgedDocument,
};

/// Where a document is found.
pub(super) enum Place<'a> {
    /// A file, HTML or plain text.
    File(&'a Path),
    /// A page of a run, by its URL.
    Page(&'a Run<'a>, &'a str),
}

/// A run and its directory.
pub(super) struct Run<'a> {
    pub(super) past: PastRun,
    pub(super) directory: &'a Path,
}

/// A document that is compared.
pub(super) struct Side {
    pub(super) name: String,
    /// What is to be said of where it comes from.
    pub(super) remarks: Vec<String>,
    pub(super) facts: Facts,
    pub(super) signature: Option<Signature>,
    pub(super) charset: Option<String>,
    pub(super) text: Option<Text>,
    /// What the run found about it.
    pub(super) judged: Option<(DocId, Verdict)>,
}

/// What can be said of a document whose text is at hand.
pub(super) struct Text {
    pub(super) subject: Document,
    pub(super) features: Vec<Feature>,
}

/// Brings a document to be compared.
pub(super) fn side(place: &Place<'_>, preparation: &Preparation) -> Result<Side, Failure> {
    match *place {
        Place::File(path) => {
            let (name, content) = (path.display().to_string(), read(path)?);
            if holds_lines_of_json(&content) {
                return Err(Failure::Lines { file: name });
            }
            Ok(of_file(name, content, preparation))
        }
        Place::Page(run, url) => of_page(run, url, preparation),
    }
}

/// Whether a text begins with a line that is an object of JSON: then it is documents for other commands, and none itself.
fn holds_lines_of_json(content: &Content) -> bool {
    let Content::Text(text) = content else { return false };
    let first = text.trim_start().lines().next().unwrap_or_default();
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(first).is_ok()
}

fn of_file(name: String, content: Content, preparation: &Preparation) -> Side {
    let kind = match content {
        Content::Html { .. } => "HTML",
        Content::Text(_) => "text",
    };
    let side = of_content(name, content, preparation);
    Side { remarks: [vec![kind.to_owned()], side.remarks].concat(), ..side }
}

fn of_content(name: String, content: Content, preparation: &Preparation) -> Side {
    let is_page = matches!(content, Content::Html { .. });
    let input = Input { id: name.clone(), url: None, at: None, content };
    let (document, body) = extracted(&preparation.extractor, input);
    let subject = preparation.subject(
        Key::of(&name),
        Origin::named(&name).as_ref(),
        &document,
        body,
        Timestamp(0),
    );
    let Document { chars, lang, sketch: Sketch { features, signature, .. }, .. } = subject;
    let signature = (features > 0).then_some(signature);
    let fingerprint = signature.as_ref().map(Signature::fingerprint);
    let mut remarks: Vec<_> = document.truncated.map(|why| cut(why.as_str())).into_iter().collect();
    remarks.extend(empty(&document.text, features, is_page));
    Side {
        name,
        remarks,
        facts: Facts { fingerprint, chars, features, lang },
        signature,
        charset: is_page.then(|| document.charset.to_owned()),
        text: Some(Text { features: preparation.fingerprinter.features(&document.text), subject }),
        judged: None,
    }
}

/// A page of a run: its text, stored or kept by the state; of an exact duplicate that of its match; else what the state knows.
fn of_page(run: &Run<'_>, url: &str, preparation: &Preparation) -> Result<Side, Failure> {
    let unheard = || Failure::Unheard { url: url.to_owned(), run: run.directory.to_owned() };
    let account = run.past.account(url)?.ok_or_else(unheard)?;
    let Some(document) = account.document else {
        return Err(Failure::NotJudged { url: account.url.url, run: run.directory.to_owned() });
    };
    let matched = account.matched.as_ref();
    let found = document.judgement.verdict.matched();
    let mut remarks = vec![format!("in the run: {}", judged(&document, matched))];
    let mut line = stored(run, &document)?;
    if !document.stored && line.is_some() {
        remarks.push("its text is the one that the run's state keeps".to_owned());
    }
    if let (None, Some(matched), true) = (&line, matched, found.is_some_and(is_exact)) {
        line = stored(run, matched)?;
        remarks.push(
            "its own text is not stored; that of its match has the same words and stands in for it"
                .to_owned(),
        );
    }
    let side = of_line(&document, line, &mut remarks, preparation);
    Ok(Side { remarks, judged: Some((document.judgement.id, document.judgement.verdict)), ..side })
}

fn of_line(
    document: &JudgedDocument,
    line: Option<Stored>,
    remarks: &mut Vec<String>,
    preparation: &Preparation,
) -> Side {
    let name = document.name.clone();
    let Some(line) = line else {
        remarks.push(
            "its text is not stored, nor is its signature: what the state has is compared"
                .to_owned(),
        );
        return of_facts(name, document.judgement.facts, None);
    };
    remarks.extend(line.truncated.as_deref().map(cut));
    let Some(text) = line.text else {
        remarks.push(
            "its text is not stored (store.text = false): its signature is compared".to_owned(),
        );
        return of_facts(name, document.judgement.facts, line.signature);
    };
    remarks.extend(empty(&text, document.judgement.facts.features, true));
    let side = of_content(name, Content::Text(text), preparation);
    Side { charset: Some(line.charset), ..side }
}

fn of_facts(name: String, facts: Facts, signature: Option<Signature>) -> Side {
    Side { name, remarks: Vec::new(), facts, signature, charset: None, text: None, judged: None }
}

fn is_exact(found: &Match) -> bool {
    found.kind == Kind::Exact
}

/// What the run found about a page.
pub(super) fn judged(document: &JudgedDocument, matched: Option<&JudgedDocument>) -> String {
    let kept = if document.stored { "stored" } else { "not stored" };
    let Some(found) = document.judgement.verdict.matched() else {
        return format!("unique; {kept}");
    };
    let (word, why) = kind_in_run(found);
    let of = matched.map_or("an earlier page", |matched| matched.name.as_str());
    format!("{word} of {of}; {kept}: {why}")
}

/// What is to be said of a page that a guard cut.
pub(super) fn cut(why: &str) -> String {
    let more = match why {
        "body" => "its body was longer than fetch.max_body",
        "depth" => "its elements were nested too deeply",
        "attributes" => "one of its tags had too many attributes",
        "nodes" => "it had too many elements",
        _ => "a guard stopped its reading",
    };
    format!("cut ({why}): {more}; only what came before counts")
}

/// Why a text has no features.
fn empty(text: &str, features: u32, is_page: bool) -> Option<String> {
    let why = match (text.trim().is_empty(), is_page) {
        _ if features > 0 => return None,
        (true, true) => {
            "it has no body text: navigation, forms, scripts and the like do not count (`pagesieve extract` shows what does)"
        }
        (true, false) => "it is empty",
        (false, _) => "it has no words, only signs",
    };
    Some(why.to_owned())
}
