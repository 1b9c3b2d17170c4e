//! What the program prints about itself: completions, manual pages, the schema of the configuration.

use std::{collections::BTreeMap, fs, path::Path};

use pagesieve::{
    config::{DEFAULT, SCHEMA},
    learn::Rule,
};
use serde_json::Value;

use crate::cli::{pagesieve, stdout};

#[test]
fn completions_and_manual_pages_name_every_command() {
    let help = stdout(&pagesieve().arg("--help").assert().success());
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = commands
        .map_while(|line| line.split_whitespace().next())
        .filter(|it| *it != "help")
        .collect();
    assert!(commands.contains(&"crawl") && commands.contains(&"man"), "{commands:?}");
    let directory = tempfile::tempdir().unwrap();
    pagesieve().arg("man").arg(directory.path()).assert().success().stdout("");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&pagesieve().args(["completions", shell]).assert().success());
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    for command in &commands {
        let page = directory.path().join(format!("pagesieve-{command}.1"));
        assert!(fs::read_to_string(page).unwrap().contains(".SH SYNOPSIS"), "{command}");
    }
    let page = stdout(&pagesieve().arg("man").assert().success());
    assert!(page.contains(".TH pagesieve 1"), "{page}");
    pagesieve().args(["completions", "tcsh"]).assert().code(2);
}

/// Why a value is not as the schema says. Knows the keywords that our schema uses.
fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    let object = schema.as_object().unwrap();
    object.iter().find_map(|(keyword, wanted)| {
        let names = |name: &str| match value {
            Value::Object(_) => name == "object",
            Value::Array(_) => name == "array",
            Value::String(_) => name == "string",
            Value::Bool(_) => name == "boolean",
            Value::Number(number) => name == "integer" && number.is_i64() || name == "number",
            Value::Null => false,
        };
        let fits = match keyword.as_str() {
            "$schema" | "title" | "description" | "additionalProperties" => true,
            "type" => match wanted {
                Value::String(name) => names(name),
                all => all.as_array().unwrap().iter().any(|name| names(name.as_str().unwrap())),
            },
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "items" => return value.as_array()?.iter().find_map(|item| mismatch(wanted, item)),
            "required" => wanted
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "oneOf" => {
                let all = wanted.as_array().unwrap().iter();
                all.filter(|schema| mismatch(schema, value).is_none()).count() == 1
            }
            "properties" => {
                return value.as_object()?.iter().find_map(|(key, value)| {
                    match (wanted.get(key), &schema["additionalProperties"]) {
                        (Some(schema), _) => mismatch(schema, value),
                        (None, Value::Bool(false)) => Some(format!("unknown key {key}")),
                        (None, _) => None,
                    }
                });
            }
            other => panic!("what does {other} mean?"),
        };
        (!fits).then(|| format!("{keyword} {wanted}: {value}"))
    })
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// Why a configuration is not as the schema says.
fn wrong(toml: &str) -> Option<String> {
    let value = serde_json::to_value(toml.parse::<toml::Table>().unwrap()).unwrap();
    mismatch(&schema(), &value)
}

#[test]
fn the_schema_accepts_every_example() {
    assert_eq!(wrong(DEFAULT), None);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut examples = 0;
    for file in fs::read_dir(root.join("config")).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(wrong(&fs::read_to_string(&path).unwrap()), None, "{}", path.display());
        examples += 1;
    }
    assert!(examples >= 4);
    let documents = ["README.md", "docs/crawling.md", "docs/run.md"];
    for document in documents {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            assert_eq!(wrong(block), None, "{document}: {block}");
        }
    }
    // What the comments of the bundled configuration show.
    for keys in [
        "fetch = { resolve = { 'docs.test' = '127.0.0.1:8080' }, proxy = 'http://a.test:1', ca_file = 'a.pem', cookie_file = 'c.txt', access = [{ url = 'https://a.test/', user = 'u', password = 'p', headers = { a = 'b' } }] }",
        "dedup = { seed = 7, radius = 9, memory = 1_000_000, window = { entries = 5, age = 'unlimited' } }",
        "extract = [{ site = 'a.test', keep = ['.b'], drop = [] }]",
        "seeds = [{ sitemap = 'https://a.test/', scope = 'any', include = ['x'], max_depth = 1, tags = [] }]",
    ] {
        assert_eq!(wrong(keys), None, "{keys}");
    }
}

#[test]
fn the_schema_and_the_program_take_the_same_rules() {
    let parts = [
        "parameter = 'a'",
        "segment = '/*'",
        "host = 'b.test'",
        "order = true",
        "index = true",
        "ending = true",
        "slash = true",
        "segment = '*/sid/*'",
    ];
    let two = parts.windows(2).map(|parts| parts.join(", "));
    for part in parts.map(String::from).into_iter().chain(two).chain(["trials = 1".to_owned()]) {
        let rule = format!("site = 'a.test', {part}");
        let read = toml::from_str::<Rule>(&rule.replace(", ", "\n"));
        let mismatch = wrong(&format!("learn = {{ rules = [{{ {rule} }}] }}"));
        assert_eq!(read.is_ok(), parts.contains(&&*part), "{rule}: {read:?}");
        assert_eq!(read.is_ok(), mismatch.is_none(), "{rule}: {mismatch:?}");
    }
}

#[test]
fn the_schema_refuses_wrong_keys_and_values() {
    for keys in [
        "max_pages = 1",
        "crawl = { max_dept = 3 }",
        "crawl = { max_depth = 'deep' }",
        "crawl = { max_depth = -1 }",
        "dedup = { mode = 'classical' }",
        "dedup = { window = { age = '90d', size = 1 } }",
        "dedup = { same_site = { store = 'yes' } }",
        "politeness = { share_delay = 'ip' }",
        "store = { warc = 'yes' }",
        "extract = [{ keep = [] }]",
        "seeds = [{ scope = 'host' }]",
        "seeds = [{ url = 'http://a.test/', file = 'b' }]",
        "seeds = [{ url = 'http://a.test/', scope = 'all' }]",
    ] {
        assert!(wrong(keys).is_some(), "{keys}");
    }
}

#[test]
fn the_schema_explains_every_key_as_the_bundled_configuration_does() {
    fn explained(schema: &Value, path: &str, found: &mut BTreeMap<String, String>) {
        let tables = schema.get("properties").or_else(|| schema["items"].get("properties"));
        for (key, schema) in tables.and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}{key}");
            explained(schema, &format!("{path}."), found);
            let is_table =
                schema.get("properties").is_some() || schema["items"].get("properties").is_some();
            let description = schema.get("description").and_then(Value::as_str);
            if !is_table || description.is_some() {
                found.insert(path, description.unwrap_or_default().to_owned());
            }
        }
    }
    let mut found = BTreeMap::new();
    explained(&schema(), "", &mut found);
    // What is in these is described with the table.
    let inline = ["dedup.window.", "dedup.same_site.", "dedup.cross_site."];
    found.retain(|key, _| !inline.iter().any(|table| key.starts_with(table)));
    assert_eq!(found, comments());
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
