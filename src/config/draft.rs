//! A configuration as it was read, before its values are checked together.

use std::{
    fs,
    path::{Path, absolute},
    string::FromUtf8Error,
};

use toml::{Table, Value, de::DeValue};

use super::{
    Config, directory, hints,
    text::{ConfigError, Problem, Text, merge},
};
use crate::{crawl::scope::Source, fingerprint::HashSeedChoice};

/// A configuration with the texts that it was read from, so that errors can point into them.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The values. A program may change them before [`Draft::check`].
    pub config: Config,
    /// The file, then the flags in order.
    pub(super) texts: Vec<Text>,
}

impl Draft {
    /// Reads a file and applies the `--set` flags: `key=value`, where the key is dotted and the value is TOML or a bare string.
    ///
    /// Fills in the name, the run directory, and the paths of seed files, `fetch.ca_file` and `learn.rules_file`, which are relative to the configuration's
    /// directory.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not UTF-8, or if the file or a flag is not TOML or has an unknown key or an invalid value.
    pub fn read(path: &Path, flags: &[String]) -> Result<Self, ConfigError> {
        let bytes =
            fs::read(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let toml = String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))?;
        Self::parse(path, toml.trim_start_matches('\u{feff}').to_owned(), flags)
    }

    /// Like [`Draft::read`], for a text that is in memory, such as a bundled one.
    ///
    /// # Errors
    ///
    /// As [`Draft::read`].
    pub fn parse(path: &Path, toml: String, flags: &[String]) -> Result<Self, ConfigError> {
        let mut texts = vec![Text { name: path.display().to_string(), toml }];
        for flag in flags {
            texts.push(flag_text(flag)?);
        }
        let mut config = merged(&texts)?;
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = config.name.get_or_insert_with(stem);
        config.output.get_or_insert_with(|| directory(name));
        let parent = path.parent().unwrap_or(Path::new(""));
        let seed_files = config.seeds.iter_mut().filter_map(|seed| match &mut seed.source {
            Source::File(file) => Some(file),
            _ => None,
        });
        let files = [&mut config.fetch.ca_file, &mut config.learn.rules_file];
        for file in seed_files.chain(files.into_iter().flatten()) {
            // An absolute path, so that the output of `check` means the same in any directory.
            let path = parent.join(&*file);
            *file = absolute(&path).unwrap_or(path);
        }
        Ok(Self { config, texts })
    }

    /// Applies `--set` flags to these options.
    ///
    /// # Errors
    ///
    /// If a flag is not TOML, or has an unknown key or an invalid value.
    ///
    /// # Panics
    ///
    /// Never: every configuration can be written as TOML.
    pub fn over(defaults: &Config, flags: &[String]) -> Result<Self, ConfigError> {
        let toml = toml::to_string(defaults).expect("a configuration can be written");
        Self::parse(Path::new("defaults"), toml, flags)
    }

    /// Whether a flag asks for a secret hash seed.
    #[must_use]
    pub fn asks_for_a_secret_seed(&self) -> bool {
        let mut flags = self.texts.iter().skip(1);
        let is_set = flags.any(|flag| flag.find(&["dedup", "seed"]).is_some());
        is_set && self.config.dedup.seed == HashSeedChoice::Secret
    }
}

/// Turns a flag `key=value` into a line of TOML.
///
/// A value that is not TOML is a string, unless it begins like a quoted string, a list or a table: then its end is missing, which the
/// parser reports.
fn flag_text(flag: &str) -> Result<Text, ConfigError> {
    let text = |toml| Text { name: "--set".to_owned(), toml };
    let Some((key, value)) = flag.split_once('=') else {
        let message = format!("`--set {flag}` has no value");
        let help = "example: `--set crawl.max_depth=3`";
        let problem = Problem::new(message, "`=` is missing", help);
        return Err(text(flag.to_owned()).invalid(None, problem));
    };
    let (key, value) = (key.trim(), value.trim());
    let is_bare = !value.starts_with(['"', '\'', '[', '{']) && DeValue::parse(value).is_err();
    let value = if is_bare { Value::from(value).to_string() } else { value.to_owned() };
    Ok(text(format!("{key} = {value}")))
}

/// Points at the first byte that is not UTF-8.
fn not_utf8(path: &Path, error: &FromUtf8Error) -> ConfigError {
    let toml = String::from_utf8_lossy(error.as_bytes()).into_owned();
    let start = error.utf8_error().valid_up_to();
    let label = format!("the byte 0x{:02X}", error.as_bytes()[start]);
    let problem = Problem::new("the configuration is not UTF-8", label, "save the file as UTF-8");
    let at = start..start + char::REPLACEMENT_CHARACTER.len_utf8();
    Text { name: path.display().to_string(), toml }.invalid(Some(at), problem)
}

/// Merges the texts. Each is read on its own first, which is possible because every key is optional, so that an error points into the
/// text that has it.
fn merged(texts: &[Text]) -> Result<Config, ConfigError> {
    let mut table = Table::new();
    for text in texts {
        let explain = |error| hints::explain(text, &error);
        toml::from_str::<Config>(&text.toml).map_err(explain)?;
        merge(&mut table, text.toml.parse().map_err(explain)?);
    }
    let last = texts.last().expect("there is at least the file");
    table.try_into().map_err(|error| hints::explain(last, &error))
}
