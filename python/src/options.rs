//! The options of a filter, from keyword arguments with the names of the keys of a crawl's `[dedup]` table.

use std::ffi::CString;

use pagesieve::{
    filter::{Options, Similarity},
    fingerprint::{HashSeed, HashSeedChoice},
};
use pyo3::{
    exceptions::{PyTypeError, PyUserWarning, PyValueError},
    prelude::*,
    types::{IntoPyDict, PyDict},
};
use serde::de::DeserializeOwned;

const KEYS: &str = "article, audit, fold_chinese, memory, min_features, mode, radius, seed, segment, similarity, window";

const VALUES: &str = "a str, a bool, a finite number or a dict of these";

/// The options with these keys set, and the seed of what is new: the public one unless another is given.
pub(crate) fn read(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Options, HashSeed)> {
    let mut options = Options::default();
    // A file has a seed of its own; a new one gets the public one.
    let mut seed = HashSeedChoice::Secret;
    let mut is_secret = false;
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        let key = key.as_str();
        match key {
            "article" => options.article = parse(key, &value)?,
            "audit" => options.audit = parse(key, &value)?,
            "fold_chinese" => options.fold_chinese = parse(key, &value)?,
            "memory" => options.memory = parse(key, &value)?,
            "min_features" => options.min_features = parse(key, &value)?,
            "mode" => options.mode = parse(key, &value)?,
            "radius" => options.radius = parse(key, &value)?,
            "seed" => {
                seed = parse(key, &value)?;
                is_secret = seed == HashSeedChoice::Secret;
            }
            "segment" => options.segment = parse(key, &value)?,
            "similarity" if value.is_none() => {}
            "similarity" => {
                let similarity = parse::<Similarity>(key, &value)?;
                options.rule.similarity = similarity.get();
                options.similarity = Some(similarity);
            }
            "window" => options.window = parse(key, &value)?,
            _ => {
                let message = format!("there is no option `{key}`; the options are {KEYS}");
                return Err(PyTypeError::new_err(message));
            }
        }
    }
    options.check_similarity().map_err(|error| PyValueError::new_err(error.to_string()))?;
    if let Some(similarity) = options.similarity.map(Similarity::get)
        && similarity < Similarity::LEAST_OF_TEXTS
    {
        let least = Similarity::LEAST_OF_TEXTS;
        let message = format!(
            "`similarity`: {similarity} counts for pages only; texts are compared by {least}, because the index would miss most of those that are less similar"
        );
        let message = CString::new(message).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    options.hash_seed = seed;
    let new_seed = if is_secret { HashSeed::random() } else { HashSeed::PUBLIC };
    Ok((options, seed.seed().unwrap_or(new_seed)))
}

/// A value, read as the configuration reads it.
fn parse<T: DeserializeOwned>(key: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let wrong = |why: &str| PyValueError::new_err(format!("`{key}`: {why}"));
    let strict = [("allow_nan", false)].into_py_dict(value.py())?;
    let json = value.py().import("json")?.call_method("dumps", (value,), Some(&strict));
    let Ok(json) = json else {
        return Err(wrong(&format!("{} cannot be read: write {VALUES}", value.repr()?)));
    };
    let json: String = json.extract()?;
    serde_json::from_str(&json).map_err(|error| {
        let message = error.to_string();
        wrong(&in_python(message.split(" at line ").next().unwrap_or(&message)))
    })
}

const SIZE: &str = "a size, such as \"512 MiB\" or a number of bytes";

/// What serde says, with the names that Python has for types.
fn in_python(message: &str) -> String {
    const FOUND: [(&str, &str); 11] = [
        ("unknown variant", "unknown value"),
        ("unknown field", "unknown key"),
        ("invalid type: string", "found the str"),
        ("invalid value: string", "found the str"),
        ("invalid type: integer", "found the int"),
        ("invalid value: integer", "found the int"),
        ("invalid type: floating point", "found the float"),
        ("invalid type: boolean", "found the bool"),
        ("invalid type: map", "found a dict"),
        ("invalid type: sequence", "found a list"),
        ("invalid type: null", "found None"),
    ];
    const EXPECTED: [(&str, &str); 10] = [
        ("a string", "a str"),
        ("a boolean", "a bool"),
        ("f64", "a float"),
        ("u32", "an int from 0 on"),
        ("u64", "an int from 0 on"),
        ("a nonzero u64", "an int from 1 on"),
        ("struct WindowOptions", "a dict"),
        ("parsable string", SIZE),
        ("an integer or string", SIZE),
        ("integer overflow", SIZE),
    ];
    let named = |names: &[(&str, &str)], said: &str| {
        let known = names.iter().find_map(|(own, python)| Some((said.strip_prefix(own)?, *python)));
        known.map_or_else(|| said.to_owned(), |(rest, python)| format!("{python}{rest}"))
    };
    let (found, expected) = message.rsplit_once(", expected ").unzip();
    let found = named(&FOUND, found.unwrap_or(message));
    match expected {
        Some(expected) => format!("{found}, expected {}", named(&EXPECTED, expected)),
        None => found,
    }
}
