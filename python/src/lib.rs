//! The Python package `pagesieve`: the streaming near-duplicate filter for texts and pages.
//!
//! Uses the public items of the crate `pagesieve` only. `input.rs` reads documents from Python and `arrow.rs` from tables, `filter.rs` judges them,
//! `decision.rs` is what comes back, and `job.rs` keeps Python's lock free meanwhile. The rest is Python, in `pagesieve/`.

mod arrow;
mod corpus;
mod decision;
mod filter;
mod input;
mod job;
mod many;
mod options;

use pagesieve::{Fingerprinter, Sketch, extract::Extractor};
use pyo3::{
    prelude::*,
    types::{PyDict, PyString},
};

use crate::{
    corpus::Corpus,
    decision::{_restore, Decision},
    filter::{Batch, Filter},
    input::page,
    many::Decisions,
};

pyo3::create_exception!(
    pagesieve,
    StateError,
    pyo3::exceptions::PyException,
    "The file of a filter cannot be read or written."
);

#[pymodule(gil_used = false)]
fn _pagesieve(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("StateError", module.py().get_type::<StateError>())?;
    module.add_class::<Filter>()?;
    module.add_class::<Decision>()?;
    module.add_class::<Decisions>()?;
    module.add_class::<Batch>()?;
    module.add_class::<Corpus>()?;
    module.add_function(wrap_pyfunction!(_restore, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(extract, module)?)
}

/// The fingerprint and the signature of a text.
#[pyfunction]
#[pyo3(signature = (text, **options))]
fn fingerprint<'py>(
    text: &Bound<'py, PyString>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = text.py();
    let (options, seed) = options::read(py, options)?;
    let recipe = options.recipe(seed);
    let text = text.to_str()?.to_owned();
    fingerprint_dict(py, &job::run(py, move || Fingerprinter::new(recipe).sketch(&text))?)
}

/// A sketch as `pagesieve fingerprint` prints it.
fn fingerprint_dict<'py>(py: Python<'py>, sketch: &Sketch) -> PyResult<Bound<'py, PyDict>> {
    let signature = (sketch.features > 0).then_some(sketch.signature);
    let dict = PyDict::new(py);
    dict.set_item("fingerprint", signature.map(|it| it.fingerprint().to_string()))?;
    dict.set_item("signature", signature.map(|it| it.to_string()))?;
    Ok(dict)
}

/// The body text, title and links of a page.
#[pyfunction]
#[pyo3(signature = (html, *, url=None, content_type=None))]
fn extract<'py>(
    html: &Bound<'py, PyAny>,
    url: Option<String>,
    content_type: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = html.py();
    let page = page(html, url, content_type)?;
    let url = page.url.as_ref().map(ToString::to_string);
    let found = job::run(py, move || Extractor::default().extract(&page))?;
    let links: Vec<&str> = found.links.iter().map(|link| link.url.as_str()).collect();
    let dict = PyDict::new(py);
    dict.set_item("url", url)?;
    dict.set_item("title", found.title)?;
    dict.set_item("text", found.text)?;
    dict.set_item("links", links)?;
    dict.set_item("lang", found.lang)?;
    dict.set_item("charset", found.charset)?;
    dict.set_item("truncated", found.truncated.map(pagesieve::extract::Truncation::as_str))?;
    Ok(dict)
}
