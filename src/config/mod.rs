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
//! 4. Describe it in `config/default.toml`, and with the same words in `schema.json`; tests compare these files with the code.

mod draft;
mod text;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    crawl::{self, Plan, fetch, politeness, scope::Seed},
    extract, learn, sink,
};
pub use draft::Draft;
pub(crate) use draft::is_contact;
pub use text::{ConfigError, Invalid};

/// Every key with its default and what it means, as TOML.
pub const DEFAULT: &str = include_str!("../../config/default.toml");

/// The JSON schema (draft 7) of a configuration, for editors.
pub const SCHEMA: &str = include_str!("schema.json");

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
        let directory = self.output.unwrap_or_else(|| directory(&name));
        Plan {
            crawl,
            politeness: self.politeness,
            fetch: self.fetch,
            dedup: self.dedup,
            learn: self.learn,
            store: self.store,
            extract: self.extract,
            ..Plan::new(name, directory, self.seeds)
        }
    }
}

/// The default directory of a run of this name.
fn directory(name: &str) -> PathBuf {
    PathBuf::from("runs").join(name)
}
