//! A crawl's configuration: the parts' options in one TOML file.
//!
//! Each part owns its options; a [`Config`] has all of them. A [`Draft`] reads them from a file and from `--set` flags and checks
//! them; errors point at the line that causes them. Only the command line reads a [`Config`]; a crawl gets a [`Plan`].
//!
//! To add a key:
//!
//! 1. Add a field, with a type that validates itself, and its default to the struct of the table:
//!    - `[crawl]`: `Options` in `crawl/plan.rs`
//!    - `[politeness]`, `[fetch]`, `[store]`: `Options` in `crawl/politeness.rs`, `crawl/fetch/mod.rs`, `sink/mod.rs`
//!    - `[dedup]`: `Options` in `filter/options.rs` (default and checks), and `Dedup` in `crawl/plan.rs` with its `Default` and
//!      `Dedup::filter`, which copy the field
//!      (`[dedup.window]` in `filter/window.rs`, the policies in `Policy` of `crawl/plan.rs`). A key that changes fingerprints belongs to
//!      `fingerprint/recipe.rs` too, and to `PARTS` in `state/durable.rs`
//!    - `[learn]`: `Options` in `learn/mod.rs`, and the keys of its rules in `learn/rule.rs`
//!    - `[[extract]]`: `Rules` in `extract/rules.rs`
//!    - `[[seeds]]`: `Seed` and `Fields` (defaults) in `crawl/scope.rs`
//!
//!    The name of a new struct of a table goes into `in_plain_words` of `text.rs`, which makes error messages readable.
//! 2. If its value can be wrong in a way that no type expresses, check it in `draft.rs`.
//! 3. If it changes which URLs a run admits, add it to `admission` in `crawl/engine/start.rs`: then a continued run decides again about
//!    the URLs that it skipped.
//! 4. Describe it in `config/default.toml`; a test compares that file with the code.

mod draft;
mod text;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

use crate::{
    crawl::{self, Plan, fetch, politeness, scope::Seed},
    extract, learn, sink,
};
pub use draft::Draft;
pub(crate) use draft::is_contact;
use text::EXAMPLE;
pub use text::{ConfigError, Invalid};

/// Every key with its default and what it means, as TOML.
pub const DEFAULT: &str = include_str!("../../config/default.toml");

/// All options of a crawl, as a configuration file has them.
///
/// ```
/// use pagesieve::config::Config;
///
/// let config: Config = toml::from_str("[politeness]\ndelay = '2s'")?;
/// assert_eq!(config.politeness.delay.as_secs(), 2);
/// assert_eq!(config.dedup, Config::default().dedup);
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The run's name; by default the file's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The run directory, relative to the working directory; by default `runs/<name>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The `[crawl]` table.
    pub crawl: crawl::Options,
    /// The `[politeness]` table.
    pub politeness: politeness::Options,
    /// The `[fetch]` table.
    pub fetch: fetch::Options,
    /// The `[dedup]` table.
    pub dedup: crawl::Dedup,
    /// The `[learn]` table.
    #[serde(skip_serializing_if = "learn::Options::is_empty")]
    pub learn: learn::Options,
    /// The `[store]` table.
    pub store: sink::Options,
    /// The `[[extract]]` tables: selectors for the body text of certain sites.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extract: Vec<extract::Rules>,
    /// The `[[seeds]]`, in order.
    pub seeds: Vec<Seed>,
}

impl Config {
    /// The configured crawl. An empty user agent, which is allowed if `fetch.resolve` maps all seeds, becomes that of this crate.
    #[must_use]
    pub fn into_plan(self) -> Plan {
        let name = self.name.unwrap_or_else(|| env!("CARGO_PKG_NAME").to_owned());
        let mut crawl = self.crawl;
        if crawl.user_agent.is_empty() {
            let ours = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
            ours.clone_into(&mut crawl.user_agent);
        }
        Plan {
            directory: self.output.unwrap_or_else(|| directory(&name)),
            name,
            crawl,
            politeness: self.politeness,
            fetch: self.fetch,
            dedup: self.dedup,
            learn: self.learn,
            store: self.store,
            extract: self.extract,
            seeds: self.seeds,
        }
    }
}

/// The default directory of a run of this name.
fn directory(name: &str) -> PathBuf {
    PathBuf::from("runs").join(name)
}

/// A word that no key takes.
const NO_WORD: &str = "no such word";

/// The JSON schema (draft 7) of a configuration.
#[must_use]
pub fn schema() -> Json {
    let comments = comments();
    let mut schema = table(&[], &EXAMPLE, &comments);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A configuration of pagesieve crawl");
    let sources = ["url", "file", "sitemap"].map(|source| json!({ "required": [source] }));
    schema["properties"]["seeds"]["items"]["oneOf"] = json!(sources);
    schema["properties"]["extract"]["items"]["required"] = json!(["site"]);
    let rule = &mut schema["properties"]["learn"]["properties"]["rules"]["items"];
    rule["required"] = json!(["site"]);
    rule["oneOf"] = json!(learn::PART_KEYS.map(|part| json!({ "required": [part] })));
    schema
}

/// The schema of a table, at the path of its keys.
fn table(path: &[&str], example: &Table, comments: &BTreeMap<String, String>) -> Json {
    let properties = example.iter().map(|(key, value)| {
        let path = [path, &[key.as_str()]].concat();
        let mut schema = of_value(&path, value, comments);
        if let Some(comment) = comments.get(&path.join(".")) {
            schema["description"] = json!(comment);
        }
        (key.clone(), schema)
    });
    let properties: Map<String, Json> = properties.collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_value(path: &[&str], example: &Value, comments: &BTreeMap<String, String>) -> Json {
    match example {
        Value::Table(_) if path == ["fetch", "resolve"] => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        Value::Table(example) => table(path, example, comments),
        Value::Array(items) => match items.first() {
            Some(Value::Table(item)) => {
                json!({ "type": "array", "items": table(path, item, comments) })
            }
            _ => json!({ "type": "array", "items": { "type": "string" } }),
        },
        Value::Boolean(_) => json!({ "type": "boolean" }),
        Value::Integer(_) => json!({ "type": "integer", "minimum": 0 }),
        Value::Float(_) => json!({ "type": "number", "minimum": 0 }),
        _ if accepts(path, &Value::Integer(1)).is_ok() => {
            json!({ "type": ["string", "integer"] })
        }
        _ => match accepts(path, &Value::from(NO_WORD)) {
            Err(message) if !words(&message).is_empty() => json!({ "enum": words(&message) }),
            _ => json!({ "type": "string" }),
        },
    }
}

/// Whether a configuration can have this value there; else why it cannot.
fn accepts(path: &[&str], value: &Value) -> Result<(), String> {
    let nested = path.iter().enumerate().rev().fold(value.clone(), |value, (place, &key)| {
        // An item of an array of tables, such as `[[seeds]]`.
        let example = path[1..=place].iter().try_fold(&EXAMPLE[path[0]], |table, &key| {
            let item = table.as_array().and_then(|items| items.first());
            item.unwrap_or(table).get(key)
        });
        let is_item = value.is_table() && example.is_some_and(Value::is_array);
        let value = if is_item { Value::Array(vec![value]) } else { value };
        Value::Table(Table::from_iter([(key.to_owned(), value)]))
    });
    nested.try_into::<Config>().map(drop).map_err(|error| error.message().to_owned())
}

/// The words that serde names when it refuses another one.
fn words(message: &str) -> Vec<&str> {
    let Some((_, expected)) = message.split_once("expected") else { return Vec::new() };
    let is_unknown = message.contains("unknown variant");
    expected.split('`').skip(1).step_by(2).filter(|_| is_unknown).collect()
}

/// The comment of each key, by its path: what stands behind it, or else the lines above it.
fn comments() -> BTreeMap<String, String> {
    let (mut comments, mut table, mut above) = (BTreeMap::new(), String::new(), Vec::new());
    for line in DEFAULT.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        if let Some(header) = bare.strip_prefix('[') {
            table = header.trim_matches(['[', ']']).to_owned() + ".";
            above.clear();
        } else if let Some((key, value)) = key_and_value(bare) {
            let behind = value.split_once(" # ").map(|(_, comment)| comment.trim().to_owned());
            let comment = behind.unwrap_or_else(|| above.join(" "));
            if !comment.is_empty() {
                comments.entry(format!("{table}{key}")).or_insert(comment);
            }
            above.clear();
        } else if line.starts_with("# ") {
            above.push(bare);
        } else {
            above.clear();
        }
    }
    comments
}

/// The parts of a line `key = value`.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(" = ")?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_key.then_some((key, value))
}
