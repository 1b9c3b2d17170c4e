//! The rules of the judgement in words, with their numbers.

use crate::{
    filter::{Kind, Match, Options, Rule, Share, Step},
    fingerprint::Sketch,
};

/// By which rule a text of so many features is a near duplicate of another; of one of the same site whose template is such a share of it,
/// if there is a template.
pub(super) fn rule(options: &Options, features: u32, template: Share) -> String {
    let (rule, name) = (Rule::new(options), options.mode.as_str());
    let radius = rule.radius();
    let confirmed = match rule.signature_radius(features) {
        256.. => String::new(),
        most => {
            format!(" and at most {most} of the signatures' 256 in a text of {features} features")
        }
    };
    let within = rule.signature_radius_within(features, template);
    let beside = match template.percent() {
        percent if within < rule.signature_radius(features) => {
            format!(" ({within} from a page of its site, whose template is {percent} % of it)")
        }
        _ => String::new(),
    };
    format!("rule {name}: at most {radius} of the fingerprints' 64 bits differ{confirmed}{beside}")
}

const EXACT: &str = "an exact duplicate";
const NEAR: &str = "a near duplicate";

/// What a duplicate is, and why, if the two were compared.
pub(super) fn kind(found: &Match) -> (&'static str, &'static str) {
    match (found.kind, found.step) {
        (Kind::Exact, Step::Body) => (EXACT, "the bodies are equal, byte for byte (step body)"),
        (Kind::Exact, _) => (EXACT, "the texts have the same words (step text)"),
        (Kind::Near, _) => (NEAR, "the rule holds (step near)"),
    }
}

/// The same of a duplicate of a page of a run: it may be known by the body or the text of another duplicate of that page.
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
    format!(
        "{} of 64 bits differ, {} of 256; similarity {:.4}",
        found.distance,
        found.signature_distance,
        found.similarity()
    )
}

/// Why only equality can make a text a duplicate, if that is so.
pub(super) fn only_equal(sketch: &Sketch, options: &Options) -> Option<String> {
    let (features, least) = (sketch.features, options.min_features);
    match features {
        0 => Some("has no words, and only a page of the same body is its duplicate".to_owned()),
        _ if features < least => Some(format!(
            "has {features} of the {least} features (dedup.min_features) that a fingerprint takes to be trusted: \
             only an equal text is its duplicate"
        )),
        _ => None,
    }
}
