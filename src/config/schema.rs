//! The JSON schema of a configuration, for editors.
//!
//! Made of the bundled configuration, which has every key with an example and a comment. Which other types and words a key takes is
//! found out by reading a configuration that has them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

use super::{Config, DEFAULT, hints::EXAMPLE};

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
    let parts = ["parameter", "segment", "host", "order", "tail"];
    rule["oneOf"] = json!(parts.map(|part| json!({ "required": [part] })));
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
