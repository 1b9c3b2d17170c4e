//! A configuration as it was read, and the checks that no type makes: values that must fit together or have a meaning elsewhere (names,
//! patterns, headers), and files that must exist.

use std::{
    fs,
    path::{Path, absolute},
    string::FromUtf8Error,
};

use bytesize::ByteSize;
use miette::{LabeledSpan, NamedSource};
use regex::Regex;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use toml::{Table, Value, de::DeValue};
use url::{Host, Url};

use super::{
    Config, directory,
    text::{ConfigError, Invalid, Problem, Text, explain, merge},
};
use crate::{
    crawl::{
        recipe_of,
        scope::{Scope, ScopeError, Seed, SeedLineError, Source, read_seed_file},
    },
    filter::{MemoryError, Similarity},
    fingerprint::HashSeedChoice,
    learn::{Rule, from_json},
    page::NormalUrl,
    report::counted,
};

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
        let fetch = &mut config.fetch;
        let files = [&mut fetch.ca_file, &mut fetch.cookie_file, &mut config.learn.rules_file];
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
        Self::parse(Path::new(DEFAULTS), toml, flags)
    }

    /// Whether a flag asks for a secret hash seed.
    #[must_use]
    pub fn asks_for_a_secret_seed(&self) -> bool {
        let mut flags = self.texts.iter().skip(1);
        let is_set = flags.any(|flag| flag.find(&["dedup", "seed"]).is_some());
        is_set && self.config.dedup.seed == HashSeedChoice::Secret
    }
}

/// The name of a text of defaults.
const DEFAULTS: &str = "defaults";

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
        let explain = |error| explain(text, &error);
        toml::from_str::<Config>(&text.toml).map_err(explain)?;
        merge(&mut table, text.toml.parse().map_err(explain)?);
    }
    let last = texts.last().expect("there is at least the file");
    table.try_into().map_err(|error| explain(last, &error))
}

/// At most this many invalid lines of a seed file are shown.
const SHOWN_LINES: usize = 10;

impl Draft {
    /// Checks everything that a crawl needs and that can be checked without the network, including seed files.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn check(mut self) -> Result<Config, ConfigError> {
        name(&self)?;
        resolve(&self)?;
        timeout(&self)?;
        ca_file(&self)?;
        credentials(&self)?;
        let all_mapped = seeds(&self)?;
        user_agent(&self, all_mapped)?;
        patterns(&self)?;
        add_rules(&mut self)?;
        against(&mut self)?;
        self.check_dedup()
    }

    /// Checks the `[dedup]` table: all that judging documents needs.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn check_dedup(self) -> Result<Config, ConfigError> {
        self.similarity()?;
        let fits = self.config.dedup.filter().check();
        self.with_room(fits, None)
    }

    /// Like [`Draft::check_dedup`], for a filter that keeps its digests in memory too.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn check_dedup_in_memory(self) -> Result<Config, ConfigError> {
        self.similarity()?;
        let dedup = self.config.dedup.filter();
        let fits = dedup.check_with_digests();
        let state = "keep the digests on disk with `--state`";
        let instead = dedup.check().is_ok().then_some(state);
        self.with_room(fits, instead)
    }

    /// Refuses a similarity of pages that are not compared by their content.
    fn similarity(&self) -> Result<(), ConfigError> {
        let (dedup, place) = (&self.config.dedup, ["dedup", "similarity"]);
        let is_set = |text: &Text| text.name != DEFAULTS && text.find(&place).is_some();
        if dedup.similarity == Similarity::default()
            || dedup.filter().compares_content()
            || !self.texts.iter().any(is_set)
        {
            return Ok(());
        }
        let message = "`similarity` has no meaning without `mode = \"balanced\"` and `article`: pages are compared as texts then";
        Err(self.invalid(&place, message, "of pages", "leave it out, or the other key"))
    }

    /// Explains a window that does not fit into memory. `instead` is a remedy other than a configuration key.
    fn with_room(
        self,
        fits: Result<(), MemoryError>,
        instead: Option<&str>,
    ) -> Result<Config, ConfigError> {
        let Err(error) = fits else { return Ok(self.config) };
        let memory = (error.needed.as_u64() < u64::MAX)
            .then(|| format!("`memory = \"{}\"`", rounded_up(error.needed)));
        let entries = (error.entries > 0)
            .then(|| format!("`entries = {}` in `window`", rounded_down(error.entries)));
        let remedies: Vec<String> =
            memory.into_iter().chain(entries).chain(instead.map(str::to_owned)).collect();
        let help = format!("write {}", remedies.join(", or "));
        let places = [(["dedup", "memory"], "too little"), (["dedup", "window"], "too many")];
        // What was set last, in a flag or else in the file, is the cause.
        let set_in = |text: &Text| places.iter().find(|(place, _)| text.find(place).is_some());
        let last = self.texts.iter().rev().find_map(set_in).copied();
        let (place, label) = last.unwrap_or((["dedup", "memory"], "too little memory"));
        Err(self.invalid(&place, error.to_string(), label, &help))
    }

    /// An error that points at a key: in the last flag that sets it, or else in the file. Points at its table if it is not set.
    fn invalid(
        &self,
        place: &[&str],
        message: impl Into<String>,
        label: &str,
        help: &str,
    ) -> ConfigError {
        let find = |length: usize| {
            let found = |text| Some((text, Text::find(text, &place[..length])?));
            self.texts.iter().rev().find_map(found)
        };
        let (text, at) = (1..=place.len()).rev().find_map(find).unzip();
        text.unwrap_or(&self.texts[0]).invalid(at, Problem::new(message, label, help))
    }
}

/// Keeps the first two digits of a number.
fn rounded_down(number: u64) -> u64 {
    let unit = number.checked_ilog10().map_or(1, |digits| 10_u64.pow(digits.saturating_sub(1)));
    number / unit * unit
}

/// A size as a configuration has it, rounded up.
fn rounded_up(size: ByteSize) -> String {
    let tenths = |unit: u64| size.as_u64().div_ceil(unit / 10);
    match tenths(bytesize::GIB) {
        ..10 => format!("{} MiB", size.as_u64().div_ceil(bytesize::MIB)),
        gib => format!("{}.{} GiB", gib / 10, gib % 10),
    }
}

/// The name must be a valid name of a directory below `runs`.
fn name(draft: &Draft) -> Result<(), ConfigError> {
    let name = draft.config.name.as_deref().unwrap_or_default();
    let is_name = Path::new(name).file_name().is_some_and(|file| file == name);
    if is_name && !name.contains('\\') {
        return Ok(());
    }
    let message = format!("`name`: {name:?} is not a directory name");
    let help = "example: `name = \"docs\"`; `output` may be any path";
    Err(draft.invalid(&["name"], message, "here", help))
}

fn resolve(draft: &Draft) -> Result<(), ConfigError> {
    let is_name = |name: &String| matches!(Host::parse(name), Ok(Host::Domain(_)));
    let Some(name) = draft.config.fetch.resolve.keys().find(|name| !is_name(name)) else {
        return Ok(());
    };
    let message = format!("`resolve`: {name:?} is not a host name");
    let place = ["fetch", "resolve", name];
    let help = "example: `\"docs.test\" = \"127.0.0.1:8080\"`";
    Err(draft.invalid(&place, message, "value of this key", help))
}

fn timeout(draft: &Draft) -> Result<(), ConfigError> {
    if !draft.config.fetch.timeout.is_zero() {
        return Ok(());
    }
    let place = ["fetch", "timeout"];
    let help = "example: `timeout = \"30s\"`";
    Err(draft.invalid(&place, "`timeout` must be longer than zero", "here", help))
}

fn ca_file(draft: &Draft) -> Result<(), ConfigError> {
    let Err(error) = draft.config.fetch.authorities() else { return Ok(()) };
    let help = "a file of certificates as PEM, relative to the configuration's directory";
    Err(draft.invalid(&["fetch", "ca_file"], format!("`ca_file`: {error}"), "this file", help))
}

fn credentials(draft: &Draft) -> Result<(), ConfigError> {
    let fetch = &draft.config.fetch;
    for (number, access) in fetch.access.iter().enumerate() {
        let wrong = access.header_map().err().or_else(|| access.fault());
        if let Some(why) = wrong {
            let place = ["fetch", "access", &number.to_string()];
            let help = "example:\n[[fetch.access]]\nurl = \"https://docs.example.org/\"\nheaders = { \"X-Key\" = \"…\" }";
            return Err(draft.invalid(&place, why, "here", help));
        }
    }
    let Err(error) = fetch.check_credentials() else { return Ok(()) };
    let help = "a file of cookies in Netscape's format, relative to the configuration's directory";
    Err(draft.invalid(
        &["fetch", "cookie_file"],
        format!("`cookie_file`: {error}"),
        "this file",
        help,
    ))
}

/// Checks the seeds. Returns whether `fetch.resolve` maps all of them.
fn seeds(draft: &Draft) -> Result<bool, ConfigError> {
    if draft.config.seeds.is_empty() {
        let help = "add one:\n[[seeds]]\nurl = \"https://docs.example.org/\"";
        let label = "`[[seeds]]` is missing";
        return Err(draft.invalid(&["seeds"], "there are no seeds", label, help));
    }
    let mut all_mapped = true;
    for (number, seed) in draft.config.seeds.iter().enumerate() {
        all_mapped &= match &seed.source {
            Source::Url(url) => one_url(draft, number, &["url"], url)?,
            Source::Urls(urls) => {
                let mut all = true;
                for (place, url) in urls.iter().enumerate() {
                    all &= one_url(draft, number, &["urls", &place.to_string()], url)?;
                }
                all
            }
            Source::Sitemap(url) => one_url(draft, number, &["sitemap"], url)?,
            Source::File(path) => seed_file(draft, number, path)?,
        };
    }
    Ok(all_mapped)
}

fn one_url(draft: &Draft, number: usize, place: &[&str], url: &Url) -> Result<bool, ConfigError> {
    let key = place[0];
    let normal = NormalUrl::new(url, &draft.config.crawl.url_options());
    let normal = normal.map_err(|error| {
        let number = number.to_string();
        let place = [&["seeds", number.as_str()], place].concat();
        let help = format!("example: `{key} = \"https://docs.example.org/\"`");
        draft.invalid(&place, format!("`{key}`: {error}"), "here", &help)
    })?;
    Ok(is_mapped(&draft.config, &normal))
}

fn is_mapped(config: &Config, url: &NormalUrl) -> bool {
    let names = config.fetch.resolve.keys();
    names
        .filter_map(|name| Host::parse(name).ok())
        .any(|name| name.to_string().trim_end_matches('.') == url.host_name())
}

fn seed_file(draft: &Draft, number: usize, path: &Path) -> Result<bool, ConfigError> {
    let place = ["seeds", &number.to_string(), "file"];
    let bytes = fs::read(path).map_err(|source| {
        let message = format!("cannot read the seed file {}: {source}", path.display());
        let help = "the path is relative to the configuration's directory";
        draft.invalid(&place, message, "this file", help)
    })?;
    let urls = read_seed_file(&bytes, &draft.config.crawl.url_options())
        .map_err(|errors| seed_lines(path, &bytes, &errors))?;
    if urls.is_empty() {
        let message = format!("the seed file {} contains no URLs", path.display());
        let help = "write one absolute URL per line";
        return Err(draft.invalid(&place, message, "this file", help));
    }
    Ok(urls.iter().all(|url| is_mapped(&draft.config, url)))
}

/// An error that points at the invalid lines of a seed file.
fn seed_lines(path: &Path, bytes: &[u8], errors: &[SeedLineError]) -> ConfigError {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let label = |error: &SeedLineError| {
        let mut lines = text.split('\n');
        let start = lines.by_ref().take(error.line - 1).map(|line| line.len() + 1).sum();
        let line = lines.next()?;
        let why = std::error::Error::source(error).map(ToString::to_string);
        Some(LabeledSpan::new(why, start, line.trim_end().len()))
    };
    let labels = errors.iter().take(SHOWN_LINES).filter_map(label).collect();
    let count = counted(errors.len(), "invalid line");
    ConfigError::Invalid(Box::new(Invalid {
        message: format!("{count} in the seed file {}", path.display()),
        labels,
        text: NamedSource::new(path.display().to_string(), text),
        help: Some("write one absolute URL per line; `#` starts a comment".to_owned()),
    }))
}

/// Other runs must be there. What the configuration does not say of the fingerprints is as in the first of them.
fn against(draft: &mut Draft) -> Result<(), ConfigError> {
    for (number, path) in draft.config.dedup.against.clone().iter().enumerate() {
        let recipe = recipe_of(path).map_err(|error| {
            let place = ["dedup", "against", &number.to_string()];
            let message = format!("`against`: cannot use {}: {error}", path.display());
            let help = "name the directory of a run or the file of a state, relative to the working directory";
            draft.invalid(&place, message, "this run", help)
        })?;
        let Some((segment, fold)) = recipe.filter(|_| number == 0) else { continue };
        let is_set = |key| draft.texts.iter().any(|text| text.find(&["dedup", key]).is_some());
        if !is_set("segment") {
            draft.config.dedup.segment = segment;
        }
        if !is_set("fold_chinese") {
            draft.config.dedup.fold_chinese = fold;
        }
    }
    Ok(())
}

/// Adds the rules of the file that the configuration names.
fn add_rules(draft: &mut Draft) -> Result<(), ConfigError> {
    let Some(path) = draft.config.learn.rules_file.take() else { return Ok(()) };
    let place = ["learn", "rules_file"];
    let name = path.display().to_string();
    let text = fs::read_to_string(&path).map_err(|source| {
        let message = format!("`rules_file`: cannot read {name}: {source}");
        let help = "the path is relative to the configuration's directory";
        draft.invalid(&place, message, "this file", help)
    })?;
    if path.extension().is_none_or(|end| end != "json") {
        let text = Text { name, toml: text };
        let read = toml::from_str::<RulesFile>(&text.toml);
        draft.config.learn.rules.extend(read.map_err(|error| explain(&text, &error))?.learn.rules);
        return Ok(());
    }
    let read = from_json(&text).map_err(|error| {
        let message = format!("`rules_file`: {name} has no rules of duplicate-url-discarder: {error}");
        let help = "a list of objects with `args`, `order`, `processor` and `urlPattern`; rules as TOML are in a file with another ending";
        draft.invalid(&place, message, "this file", help)
    })?;
    for why in read.others {
        tracing::warn!(file = name, "left out: {why}");
    }
    draft.config.learn.rules.extend(read.rules);
    Ok(())
}

/// A file of rules as `pagesieve rules` prints them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    learn: Rules,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
}

/// The user agent must name a contact, so that a site's owner can reach the operator of the crawl.
fn user_agent(draft: &Draft, all_mapped: bool) -> Result<(), ConfigError> {
    let user_agent = &draft.config.crawl.user_agent;
    let place = ["crawl", "user_agent"];
    let help = "example:\n[crawl]\nuser_agent = \"examplebot/1.0 (+https://example.org/bot)\"";
    if HeaderValue::from_str(user_agent).is_err() {
        let message = "`user_agent` has characters that an HTTP header cannot contain";
        return Err(draft.invalid(&place, message, "here", help));
    }
    if all_mapped || is_contact(user_agent) {
        return Ok(());
    }
    let message = "`user_agent` must name a contact (an email address or an http URL), unless fetch.resolve maps every seed";
    Err(draft.invalid(&place, message, "no contact", help))
}

/// Whether the text has an email address or an http URL.
pub(crate) fn is_contact(text: &str) -> bool {
    let contact = Regex::new(r"[\w.+-]@[\w.+-]|https?://\w").expect("a regular expression");
    contact.is_match(text)
}

fn patterns(draft: &Draft) -> Result<(), ConfigError> {
    let Err(error) = Scope::new(&draft.config.seeds) else { return Ok(()) };
    let ScopeError { seed, pattern, source } = error;
    let Seed { include, exclude, .. } = &draft.config.seeds[seed];
    let lists = [("include", include), ("exclude", exclude)];
    let (key, item) = lists
        .iter()
        .find_map(|(key, list)| Some((*key, list.iter().position(|it| *it == pattern)?)))
        .unwrap_or_default();
    let place = ["seeds", &seed.to_string(), key, &item.to_string()];
    // The last line names the problem; the lines before it draw the pattern, as the label does.
    let why = source.to_string();
    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
    let help =
        "`\\` escapes a special character; in TOML, put patterns into single quotes: '\\.pdf$'";
    let message = format!("`{key}`: {pattern:?} is not a regular expression");
    Err(draft.invalid(&place, message, why, help))
}
