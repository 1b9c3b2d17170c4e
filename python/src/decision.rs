//! What the filter decided about a document.

use pagesieve::{
    Judgement,
    extract::Truncation,
    filter::{Facts, Kind, Match, Step},
    page::Lang,
};
use pyo3::{prelude::*, types::PyDict};

use crate::input::original_id;

/// A decision about a document, with the fields of a line that `pagesieve filter` prints.
#[pyclass(frozen, module = "pagesieve")]
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) of_id: String,
    pub(crate) of_url: Option<String>,
    pub(crate) judgement: Judgement,
    /// The id of the match.
    pub(crate) of: Option<String>,
    pub(crate) cut: Option<Truncation>,
}

impl Decision {
    fn matched(&self) -> Option<&Match> {
        self.judgement.verdict.matched()
    }

    fn facts(&self) -> &Facts {
        &self.judgement.facts
    }
}

#[pymethods]
impl Decision {
    /// The id of the document, as it was given.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        original_id(py, &self.of_id)
    }

    #[getter]
    fn url(&self) -> Option<&str> {
        self.of_url.as_deref()
    }

    #[getter]
    pub(crate) fn verdict(&self) -> &'static str {
        self.kind().unwrap_or("unique")
    }

    #[getter]
    fn is_unique(&self) -> bool {
        self.judgement.verdict.is_unique()
    }

    /// The id of the unique document that this one repeats.
    #[getter(r#match)]
    fn match_id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.of.as_deref().map(|id| original_id(py, id)).transpose()
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

    #[getter]
    fn distance(&self) -> Option<u32> {
        self.matched().map(|found| found.distance)
    }

    #[getter]
    fn signature_distance(&self) -> Option<u32> {
        self.matched().map(|found| found.signature_distance)
    }

    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.matched().map(|found| (f64::from(found.similarity) * 1e4).round() / 1e4)
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
    fn truncated(&self) -> Option<&'static str> {
        self.cut.map(Truncation::as_str)
    }

    /// The decision as `pagesieve filter` prints it.
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
