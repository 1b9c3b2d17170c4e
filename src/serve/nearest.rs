//! Explain, lookup and removal: requests about documents that are not judged.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::{
    filter::{Filter, Kind, Options, WindowOptions},
    fingerprint::similarity,
    input::Prepared,
    page::DocId,
    sink::Decision,
    state::{DurableFilter, State, StateError},
};

/// How two documents compare.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explanation {
    /// How the second is judged after the first, in a window with nothing else.
    #[schema(value_type = Object)]
    decision: Box<RawValue>,
    /// Number of differing bits of the 64 of the fingerprint.
    distance: u32,
    /// Number of differing bits of the 256 of the signature.
    signature_distance: u32,
    /// The estimated similarity of the texts, from 0 to 1.
    similarity: f32,
    /// The most bits in which fingerprints may differ.
    radius: u32,
    /// With fewer distinct features than this only equal texts are duplicates.
    min_features: u32,
    /// The distinct features of both texts.
    features: [u32; 2],
    /// The characters of both texts.
    chars: [u32; 2],
}

/// A document that the file holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) number: DocId,
    pub(super) is_unique: bool,
    /// Its decision, as JSON.
    pub(super) decision: String,
}

/// The nearest documents of the window.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Lookup {
    /// How the document would be judged.
    #[schema(value_type = Object)]
    decision: Box<RawValue>,
    /// The documents that it was compared with.
    compared: usize,
    /// The nearest ones, the nearest first.
    nearest: Vec<Near>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Near {
    id: String,
    /// Number of differing bits of the 64 of the fingerprint.
    distance: u32,
    /// Number of differing bits of the 256 of the signature.
    signature_distance: u32,
    /// The estimated similarity of the texts, from 0 to 1.
    similarity: f32,
}

/// Compares two documents. None if they are not two, or the options cannot be used.
pub(super) fn explain(pair: &[Prepared], options: &Options) -> Option<Explanation> {
    let [a, b] = pair else { return None };
    let window = WindowOptions { entries: 2.try_into().ok()?, age: None };
    let recipe = a.document.recipe;
    let mut filter = Filter::of_recipe(&Options { window, ..options.clone() }, recipe).ok()?;
    filter.judge(&a.document);
    // They may have the same id, and are compared all the same.
    let second = b.document.clone().with_key(a.document.key.other());
    let judged = filter.judge(&second);
    let of = judged.verdict.matched().map(|_| a.document.id());
    let [one, other] = [a, b].map(|side| side.document.sketch());
    let signature_distance = one.signature.distance(&other.signature);
    Some(Explanation {
        decision: to_raw_value(&b.line(&judged, of)).ok()?,
        distance: one.signature.fingerprint().distance(other.signature.fingerprint()),
        signature_distance,
        similarity: similarity(signature_distance),
        radius: options.radius(),
        min_features: options.min_features,
        features: [one.features, other.features],
        chars: [a, b].map(|side| side.document.facts().chars),
    })
}

/// Finds the documents of the window that are nearest to one. The answer is JSON.
pub(super) fn lookup(
    filter: &mut DurableFilter,
    document: &Prepared,
    limit: usize,
) -> Result<String, StateError> {
    let judged = filter.peek(&document.document)?;
    let of = judged.verdict.matched().map(|found| filter.id_of(found.of)).transpose()?;
    let mut near = filter.nearest(document.document.sketch().signature, limit);
    // A short text has no signature, but may be that of a document.
    if let Some(found) = judged.verdict.matched().filter(|found| found.kind == Kind::Exact)
        && limit > 0
        && near.iter().all(|(id, ..)| *id != found.of)
    {
        near.truncate(limit - 1);
        near.insert(0, (found.of, found.distance, found.signature_distance));
    }
    let near = near.into_iter().map(|(id, distance, signature_distance)| {
        let (id, similarity) = (filter.id_of(id)?, similarity(signature_distance));
        Ok::<_, StateError>(Near { id, distance, signature_distance, similarity })
    });
    let found = Lookup {
        decision: to_raw_value(&document.line(&judged, of.as_deref())).expect("a decision is JSON"),
        compared: filter.len(),
        nearest: near.collect::<Result<_, _>>()?,
    };
    Ok(serde_json::to_string(&found).expect("it is JSON"))
}

/// The documents of this id that the file holds, beside the thread that owns the filter: this reads the whole table.
pub(super) async fn named(state: PathBuf, id: String) -> Result<Vec<Held>, StateError> {
    let (found, finding) = oneshot::channel();
    let find = move || {
        let state = State::read(&state)?;
        let held = |number| {
            let document =
                state.document(number)?.ok_or(StateError::Damaged("a document is gone"))?;
            let matched = document.judgement.verdict.matched();
            // The match may have left the window.
            let of = matched.map(|found| state.document(found.of)).transpose()?.flatten();
            let of = of.map(|of| of.name);
            let decision = Decision::new(&document.name, None, &document.judgement, of.as_deref());
            let decision = serde_json::to_string(&decision).expect("a decision is JSON");
            Ok(Held { number, is_unique: matched.is_none(), decision })
        };
        state.documents_named(&id)?.into_iter().map(held).collect()
    };
    // The request may be gone.
    rayon::spawn(move || drop(found.send(find())));
    finding.await.unwrap_or(Err(StateError::Damaged("reading it panicked")))
}
