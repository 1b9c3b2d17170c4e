//! A configuration as it was read, before anybody has looked at what its values mean together.

use std::{
    fs,
    path::{Path, PathBuf, absolute},
    string::FromUtf8Error,
};

use toml::Table;

use super::{
    Config, check, directory, set,
    text::{ConfigError, Problem, Text},
};
use crate::{crawl::scope::Source, filter, fingerprint::HashSeedChoice};

/// A configuration and the texts that it was read from, so that what is wrong with it can be shown where it was written.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What was read. A program may change it before the [check](Self::check).
    pub config: Config,
    /// The file, then the flags in order.
    pub(super) texts: Vec<Text>,
}

impl Draft {
    /// Reads a file and puts what the `--set` flags say (`key=value`, the key dotted, the value TOML or a bare string) in its place.
    ///
    /// The name, the run directory and the paths of seed files are filled in: the path is the one from which those of seed files are
    /// taken.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not UTF-8, if it or a flag is no TOML, has an unknown key or a value of another kind.
    pub fn read(path: &Path, flags: &[String]) -> Result<Self, ConfigError> {
        let bytes =
            fs::read(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let toml = String::from_utf8(bytes).map_err(|error| undecodable(path, &error))?;
        Self::parse(path, toml.trim_start_matches('\u{feff}').to_owned(), flags)
    }

    /// The same for a text that does not come from the file system, such as a bundled one.
    ///
    /// # Errors
    ///
    /// As [`Draft::read`].
    pub fn parse(path: &Path, toml: String, flags: &[String]) -> Result<Self, ConfigError> {
        let file = Text { name: path.display().to_string(), toml };
        let mut texts = vec![file];
        for flag in flags {
            texts.push(set::parse(flag)?);
        }
        let mut draft = Self { config: merged(&texts)?, texts };
        draft.fill_in(path);
        Ok(draft)
    }

    /// These options with what the flags say in their place.
    ///
    /// # Errors
    ///
    /// If a flag is no TOML, has an unknown key or a value of another kind.
    ///
    /// # Panics
    ///
    /// Never: a configuration can be written.
    pub fn over(defaults: &Config, flags: &[String]) -> Result<Self, ConfigError> {
        let toml = toml::to_string(defaults).expect("a configuration can be written");
        Self::parse(Path::new("defaults"), toml, flags)
    }

    /// The configuration, if a crawl can be run with it: everything is looked at that can be without the network, seed files too.
    ///
    /// # Errors
    ///
    /// The first thing that will not do.
    pub fn check(self) -> Result<Config, ConfigError> {
        check::crawl(&self)?;
        Ok(self.config)
    }

    /// The configuration, if documents can be judged with it; only the `[dedup]` table is looked at.
    ///
    /// # Errors
    ///
    /// The first thing that will not do.
    pub fn check_dedup(self) -> Result<Config, ConfigError> {
        check::dedup(&self, filter::Options::check, |_| None)?;
        Ok(self.config)
    }

    /// The same if all that is remembered of documents is to be in memory.
    ///
    /// # Errors
    ///
    /// The first thing that will not do.
    pub fn check_dedup_in_memory(self) -> Result<Config, ConfigError> {
        check::dedup(&self, filter::Options::check_beside_digests, |dedup| {
            let state = "give `--state`: what it keeps on disk leaves room";
            dedup.check().is_ok().then_some(state)
        })?;
        Ok(self.config)
    }

    /// Whether a flag says that the seed is to be secret.
    #[must_use]
    pub fn asks_for_a_secret_seed(&self) -> bool {
        let mut flags = self.texts.iter().skip(1);
        let is_set = flags.any(|flag| flag.find(&["dedup", "seed"]).is_some());
        is_set && self.config.dedup.seed == HashSeedChoice::Secret
    }

    fn fill_in(&mut self, path: &Path) {
        let Config { name, output, seeds, .. } = &mut self.config;
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.get_or_insert_with(stem);
        output.get_or_insert_with(|| directory(name));
        let beside = path.parent().unwrap_or(Path::new(""));
        for seed in seeds {
            if let Source::File(file) = &mut seed.source {
                *file = resolved(beside, file);
            }
        }
    }
}

/// Points at the first byte that is not UTF-8, with a stand-in for it.
fn undecodable(path: &Path, error: &FromUtf8Error) -> ConfigError {
    let toml = String::from_utf8_lossy(error.as_bytes()).into_owned();
    let start = error.utf8_error().valid_up_to();
    let problem = Problem {
        message: "the configuration is not UTF-8".to_owned(),
        label: format!("the byte 0x{:02X}", error.as_bytes()[start]),
        help: Some("save the file as UTF-8".to_owned()),
    };
    let at = start..start + char::REPLACEMENT_CHARACTER.len_utf8();
    Text { name: path.display().to_string(), toml }.invalid(Some(at), problem)
}

/// Absolute, so that a configuration shown by `check` means the same wherever it is put.
fn resolved(beside: &Path, file: &Path) -> PathBuf {
    let path = beside.join(file);
    absolute(&path).unwrap_or(path)
}

/// Each text must be a configuration by itself, since all keys may be left out: so whatever is wrong is found where it stands.
fn merged(texts: &[Text]) -> Result<Config, ConfigError> {
    let mut table = Table::new();
    for text in texts {
        let config = text.read()?;
        if texts.len() == 1 {
            return Ok(config);
        }
        set::merge(&mut table, text.table()?);
    }
    let last = texts.last().expect("there is the file at least");
    table.try_into().map_err(|error| last.explain(&error))
}
