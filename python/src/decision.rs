//! What the filter decided about a document.

use std::{
    f64::consts::PI,
    hash::{DefaultHasher, Hash, Hasher},
};

use pagesieve::{
    Judgement,
    filter::{Facts, Kind, Match, Previous, Step},
    page::Lang,
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyIterator},
};
use serde::{Deserialize, Serialize};

use crate::input::given;

/// A decision about a document, with the fields of a line that `pagesieve filter` prints.
#[pyclass(frozen, eq, module = "pagesieve")]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::unsafe_derive_deserialize,
    reason = "the unsafe methods are those of the class in Python"
)]
pub(crate) struct Decision {
    pub(crate) of_id: String,
    pub(crate) of_url: Option<String>,
    pub(crate) judgement: Judgement,
    /// The id of the match.
    pub(crate) of: Option<String>,
    /// Why the page was cut.
    pub(crate) cut: Option<String>,
}

/// Decisions are equal if all their fields are: neither times nor numbers count.
impl PartialEq for Decision {
    fn eq(&self, other: &Self) -> bool {
        let fields = |it: &Self| {
            let found = it.matched().map(|found| (found.kind, found.step));
            (found, it.verdict(), it.similarity(), it.distances(), *it.facts())
        };
        let names = |it: &Self| [it.of.clone(), it.of_url.clone(), it.cut.clone()];
        self.of_id == other.of_id && fields(self) == fields(other) && names(self) == names(other)
    }
}

impl Decision {
    pub(crate) fn matched(&self) -> Option<&Match> {
        self.judgement.verdict.matched()
    }

    fn facts(&self) -> &Facts {
        &self.judgement.facts
    }

    /// From the match, or from the former version, in bits of fingerprint and signature.
    fn distances(&self) -> Option<(u32, u32)> {
        let found = self.matched().map(|found| (found.distance, found.signature_distance));
        found.or_else(|| self.judgement.previous?.distances)
    }
}

/// The cosine of two texts, as the distance of their signatures estimates it; with four decimals.
pub(crate) fn similarity(signature_distance: u32) -> f64 {
    let cosine = (PI * f64::from(signature_distance) / 256.0).cos().max(0.0);
    (cosine * 1e4).round() / 1e4
}

/// A decision that was pickled.
#[pyfunction]
pub(crate) fn _restore(pickled: &str) -> PyResult<Decision> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    serde_json::from_str(pickled).map_err(wrong)
}

#[pymethods]
impl Decision {
    /// The id of the document, as it was given.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        given(py, &self.of_id)
    }

    #[getter]
    fn url(&self) -> Option<&str> {
        self.of_url.as_deref()
    }

    /// `unique`, `exact`, `near`; of a known id `unchanged` or `changed`.
    #[getter]
    pub(crate) fn verdict(&self) -> &'static str {
        match self.judgement.previous {
            Some(Previous { is_unchanged: true, .. }) => "unchanged",
            Some(_) => "changed",
            None => self.kind().unwrap_or("unique"),
        }
    }

    /// Whether it is new: nothing like it was in the window. Also a changed version is new.
    #[getter]
    pub(crate) fn is_unique(&self) -> bool {
        self.judgement.is_new()
    }

    /// The id of the unique document that this one repeats.
    #[getter(r#match)]
    fn match_id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.of.as_deref().map(|id| given(py, id)).transpose()
    }

    #[getter]
    fn kind(&self) -> Option<&'static str> {
        self.matched().map(|found| match found.kind {
            Kind::Exact => "exact",
            Kind::Near => "near",
            _ => "unknown",
        })
    }

    #[getter]
    fn step(&self) -> Option<&'static str> {
        self.matched().map(|found| match found.step {
            Step::Body => "body",
            Step::Text => "text",
            Step::Near => "near",
            _ => "unknown",
        })
    }

    /// In how many of the 64 bits of the fingerprint it differs from the match, or from the former version.
    #[getter]
    fn distance(&self) -> Option<u32> {
        self.distances().map(|(distance, _)| distance)
    }

    /// In how many of the 256 bits of the signature it differs from the match, or from the former version.
    #[getter]
    fn signature_distance(&self) -> Option<u32> {
        self.distances().map(|(_, distance)| distance)
    }

    /// How similar it is to the match, or to the former version: from 0 to 1.
    #[getter]
    pub(crate) fn similarity(&self) -> Option<f64> {
        match self.matched() {
            Some(found) => Some((f64::from(found.similarity) * 1e4).round() / 1e4),
            None => self.distances().map(|(_, distance)| similarity(distance)),
        }
    }

    #[getter]
    fn fingerprint(&self) -> Option<String> {
        self.facts().fingerprint.map(|it| it.to_string())
    }

    #[getter]
    fn chars(&self) -> u32 {
        self.facts().chars
    }

    #[getter]
    fn features(&self) -> u32 {
        self.facts().features
    }

    #[getter]
    fn lang(&self) -> Option<&str> {
        self.facts().lang.as_ref().map(Lang::as_str)
    }

    #[getter]
    fn thin(&self) -> bool {
        self.facts().thin
    }

    #[getter]
    fn truncated(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// The names of the fields, so that `dict(decision)` has them.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("keys")
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.as_any().get_item(name)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
    }

    fn __contains__(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.to_dict(py)?.contains(name)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.of_id.hash(&mut hasher);
        hasher.finish()
    }

    fn __copy__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __deepcopy__<'py>(this: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        this
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.import("pagesieve._pagesieve")?.getattr("_restore")?;
        let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        Ok((restore, (serde_json::to_string(self).map_err(wrong)?,)))
    }

    /// The decision with the fields that `pagesieve filter` prints.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("id", self.id(py)?)?;
        if let Some(url) = self.url() {
            dict.set_item("url", url)?;
        }
        dict.set_item("verdict", self.verdict())?;
        dict.set_item("step", self.step())?;
        let found = self.matched().map(|_| PyDict::new(py));
        if let Some(found) = &found {
            found.set_item("id", self.match_id(py)?)?;
            found.set_item("distance", self.distance())?;
            found.set_item("signature_distance", self.signature_distance())?;
            found.set_item("similarity", self.similarity())?;
        }
        dict.set_item("match", found)?;
        if let Some(previous) = self.judgement.previous {
            let fields = PyDict::new(py);
            fields.set_item("time", previous.at.to_string())?;
            fields.set_item("distance", self.distance())?;
            fields.set_item("signature_distance", self.signature_distance())?;
            dict.set_item("previous", fields)?;
        }
        dict.set_item("fingerprint", self.fingerprint())?;
        dict.set_item("chars", self.chars())?;
        dict.set_item("features", self.features())?;
        dict.set_item("lang", self.lang())?;
        dict.set_item("thin", self.thin())?;
        if let Some(truncated) = self.truncated() {
            dict.set_item("truncated", truncated)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (id, verdict) = (self.id(py)?.repr()?, self.verdict());
        let Some(of) = self.match_id(py)? else {
            return Ok(format!("Decision(id={id}, verdict='{verdict}')"));
        };
        let (of, similarity) = (of.repr()?, self.similarity().unwrap_or_default());
        Ok(format!("Decision(id={id}, verdict='{verdict}', match={of}, similarity={similarity})"))
    }
}
