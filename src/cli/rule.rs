//! The rules of the filter and its decisions, in words.

use crate::{
    filter::{Kind, Match, Options, Step, Thresholds},
    fingerprint::Sketch as TextSketch,
    page::floored,
    report::counted,
};

const EXACT: &str = "an exact duplicate";
const NEAR: &str = "a near duplicate";

/// The rule for near duplicates of a text with this many features.
pub(super) fn rule(options: &Options, features: u32) -> String {
    let (thresholds, name) = (Thresholds::new(options), options.mode.as_str());
    let radius = thresholds.radius();
    let most = thresholds.signature_radius(features);
    let fingerprints = format!("rule {name}: fingerprints differ in at most {radius} of 64 bits");
    let signatures = (most < 256).then(|| {
        format!(", signatures in at most {most} of 256 (for a text of {features} features)")
    });
    [Some(fingerprints), signatures].into_iter().flatten().collect()
}

/// What a duplicate is, and why, if it was compared with its match.
pub(super) fn kind(found: &Match) -> (&'static str, &'static str) {
    match (found.kind, found.step) {
        (Kind::Exact, Step::Body) => (EXACT, "the bodies are equal, byte for byte (step body)"),
        (Kind::Exact, _) => (EXACT, "the texts have the same words (step text)"),
        (Kind::Near, _) => (NEAR, "they are similar enough (step near)"),
    }
}

/// The same for a page of a run: it may have the body or the text of another duplicate of its match.
pub(super) fn kind_in_run(found: &Match) -> (&'static str, &'static str) {
    match (found.kind, found.step) {
        (Kind::Exact, Step::Body) => {
            (EXACT, "its body is that of this page or of an exact duplicate of it (step body)")
        }
        (Kind::Near, Step::Body) => {
            (NEAR, "its body is that of an earlier near duplicate of this page (step body)")
        }
        (Kind::Near, Step::Text) => {
            (NEAR, "its text is that of an earlier near duplicate of this page (step text)")
        }
        _ => kind(found),
    }
}

/// The distances of a match.
pub(super) fn distances(found: &Match) -> String {
    let Match { distance, signature_distance, similarity, .. } = found;
    let similarity = floored(similarity, 4);
    format!("{distance} of 64 bits differ, {signature_distance} of 256; similarity {similarity}")
}

/// Why only an equal text or body can be a duplicate of a text, if that is so.
pub(super) fn only_equal(sketch: &TextSketch, options: &Options) -> Option<String> {
    let (features, least) = (sketch.features, options.min_features);
    match features {
        0 => Some("has no words, so only an equal one is its duplicate".to_owned()),
        _ if features < least => Some(format!(
            "has {}, fewer than {least} (dedup.min_features), so only an equal text is its duplicate",
            counted(features, "feature")
        )),
        _ => None,
    }
}
