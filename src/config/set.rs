//! `--set key=value`: one key of the configuration, from the command line.

use toml::{Table, Value, de::DeValue};

use super::text::{ConfigError, Problem, Text};

/// Turns `key=value` into a line of TOML. A value that is no TOML is taken for a string, unless it begins like a quoted string,
/// a list or a table: then its end is missing, and that is told.
pub(super) fn parse(flag: &str) -> Result<Text, ConfigError> {
    let Some((key, value)) = flag.split_once('=') else {
        let text = Text { name: "--set".to_owned(), toml: flag.to_owned() };
        return Err(text.invalid(
            None,
            Problem {
                message: format!("`--set {flag}` sets nothing"),
                label: "a `=` is missing".to_owned(),
                help: Some("write for instance `--set crawl.max_depth=3`".to_owned()),
            },
        ));
    };
    let (key, value) = (key.trim(), value.trim());
    let is_bare = !value.starts_with(['"', '\'', '[', '{']) && DeValue::parse(value).is_err();
    let value = if is_bare { Value::from(value).to_string() } else { value.to_owned() };
    Ok(Text { name: "--set".to_owned(), toml: format!("{key} = {value}") })
}

/// Puts all of `from` into `into`: tables key by key, anything else in the place of what was there.
pub(super) fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
