//! What to crawl: a configuration, or URLs with the defaults of all keys and a contact.

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use toml::Value;
use url::Url;

use super::{Exit, Failure, Result, notify};
use crate::config::{Draft, is_contact};

/// The file of the contact, below the user's directory of configurations.
const CONTACT: &str = "pagesieve/contact";

/// What to crawl, and the keys that have an option of their own.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// The configuration, or one or more URLs: their hosts are crawled with the defaults, into runs/HOST
    #[arg(required = true, value_name = "CONFIG|URL")]
    targets: Vec<PathBuf>,
    /// Who crawls, for the sites' owners: an email address or an http URL (for URLs; asked once on a terminal, and kept)
    #[arg(long, value_name = "ADDRESS", value_parser = contact)]
    contact: Option<String>,
    /// Stop after this many pages
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// The minimum pause between two requests to a host, as in `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    delay: Option<Duration>,
    /// Set one key of the configuration, as in `crawl.max_depth=3`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Target {
    /// The configuration, with the options applied. Its output is `out`, if there is one.
    pub(super) fn draft(&self, out: Option<&Path>) -> Result<Draft> {
        let urls: Vec<_> = self.targets.iter().filter_map(|target| as_url(target)).collect();
        let mut draft = match &self.targets[..] {
            [config] if urls.is_empty() => Draft::read(config, &self.flags())?,
            targets if urls.len() == targets.len() => self.draft_of(&urls)?,
            _ => {
                let message = "a crawl takes one configuration, or only URLs";
                let help = "URLs begin with https:// or http://; a configuration names several in [[seeds]]";
                return Err(Failure::refused(Exit::Usage, message.to_owned(), help));
            }
        };
        if let Some(out) = out {
            draft.config.output = Some(out.to_owned());
        }
        if !urls.is_empty() {
            let output = draft.config.output.as_deref().unwrap_or(Path::new("")).display();
            let user_agent = &draft.config.crawl.user_agent;
            notify(format_args!("crawling as {user_agent:?}; the run directory is {output}"));
        }
        Ok(draft)
    }

    /// The defaults with these URLs. The contact is that of the options, or one that was asked for, now or earlier.
    fn draft_of(&self, urls: &[&str]) -> Result<Draft> {
        let mut toml = format!("name = {}\n", Value::from(name(urls[0])?));
        for url in urls {
            toml += "[[seeds]]\nurl = ";
            toml += &Value::from(*url).to_string();
            toml += "\n";
        }
        let mut draft = Draft::parse(Path::new("URL"), toml, &self.flags())?;
        if draft.config.crawl.user_agent.is_empty() {
            draft.config.crawl.user_agent = user_agent(&kept_contact()?);
        }
        Ok(draft)
    }

    /// The options as `--set` flags; those that were written as such come last and count.
    fn flags(&self) -> Vec<String> {
        let quoted = |text: String| Value::from(text);
        let contact = self.contact.as_deref().map(user_agent).map(quoted);
        let delay = self.delay.map(|delay| {
            quoted(humantime_serde::re::humantime::format_duration(delay).to_string())
        });
        let keys = [
            contact.map(|agent| format!("crawl.user_agent={agent}")),
            self.max_pages.map(|pages| format!("crawl.max_pages={pages}")),
            delay.map(|delay| format!("politeness.delay={delay}")),
        ];
        keys.into_iter().flatten().chain(self.set.iter().cloned()).collect()
    }
}

fn as_url(target: &Path) -> Option<&str> {
    let scheme = |url: &&str| {
        let start = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        start.starts_with("http://") || start == "https://"
    };
    target.to_str().filter(scheme)
}

/// The name of the run: the host, with the port if the URL has one.
fn name(url: &str) -> Result<String> {
    let refused = |why: &str| {
        let help = "example: `pagesieve crawl https://docs.example.org/`";
        Failure::refused(Exit::Usage, format!("{url:?} is not a URL: {why}"), help)
    };
    let parsed = Url::parse(url).map_err(|error| refused(&error.to_string()))?;
    let host = parsed.host_str().ok_or_else(|| refused("it has no host"))?;
    Ok(parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}-{port}")))
}

fn contact(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_contact(text)
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || !c.is_ascii())
    {
        return Ok(text.to_owned());
    }
    Err("write an email address or an http URL, such as you@example.org".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime_serde::re::humantime::parse_duration(text);
    duration.map_err(|error| format!("{error}: write 500ms, 2s or 1m"))
}

fn user_agent(contact: &str) -> String {
    let plus = if contact.contains("://") { "+" } else { "" };
    concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")).to_owned()
        + &format!(" ({plus}{contact})")
}

/// The contact that was given earlier, or else is given now, if there is someone to ask.
fn kept_contact() -> Result<String> {
    let file = directory().map(|directory| directory.join(CONTACT));
    let kept = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    if let Some(kept) = kept.and_then(|text| contact(&text).ok()) {
        return Ok(kept);
    }
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    let given = if can_ask { ask(io::stdin().lock(), io::stderr().lock())? } else { None };
    let Some(given) = given else {
        let message = "a crawl needs a contact, so that the owner of a site can reach you";
        let help =
            "add --contact with an email address or an http URL: `--contact you@example.org`";
        return Err(Failure::refused(Exit::Usage, message.to_owned(), help));
    };
    if let Some(file) = file {
        let parent = file.parent().unwrap_or(&file);
        let saved =
            fs::create_dir_all(parent).and_then(|()| fs::write(&file, format!("{given}\n")));
        notify(match saved {
            Ok(()) => format!("the contact is kept in {}", file.display()),
            Err(error) => format!("cannot keep the contact in {}: {error}", file.display()),
        });
    }
    Ok(given)
}

/// Asks until the answer is a contact, or until there is no more answer.
fn ask(mut answers: impl BufRead, mut questions: impl Write) -> Result<Option<String>> {
    let question = "The owners of sites see who crawls them.\nYour email address, or the URL of a page about your crawl: ";
    loop {
        drop(write!(questions, "{question}").and_then(|()| questions.flush()));
        let mut answer = String::new();
        if answers.read_line(&mut answer).map_err(Failure::read("standard input"))? == 0 {
            return Ok(None);
        }
        match contact(&answer) {
            Ok(contact) => return Ok(Some(contact)),
            Err(why) => drop(writeln!(questions, "{why}")),
        }
    }
}

/// The user's directory of configurations.
fn directory() -> Option<PathBuf> {
    let named =
        |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let system = if cfg!(windows) { named("APPDATA") } else { named("XDG_CONFIG_HOME") };
    system.or_else(|| Some(env::home_dir()?.join(".config")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_the_host_and_port() {
        assert_eq!(name("https://Docs.Example.org/a").unwrap(), "docs.example.org");
        assert_eq!(name("http://127.0.0.1:8080/").unwrap(), "127.0.0.1-8080");
        assert!(name("http://").is_err());
    }

    #[test]
    fn the_contact_is_asked_for_until_it_is_one() {
        let mut questions = Vec::new();
        let given = ask("nobody\n  a@b.org \n".as_bytes(), &mut questions).unwrap();
        assert_eq!(given.as_deref(), Some("a@b.org"));
        assert!(String::from_utf8(questions).unwrap().contains("you@example.org"));
        assert_eq!(ask("".as_bytes(), Vec::new()).unwrap(), None);
    }

    #[test]
    fn the_user_agent_names_the_contact() {
        assert!(user_agent("a@b.org").ends_with(" (a@b.org)"));
        assert!(user_agent("https://b.org/bot").ends_with(" (+https://b.org/bot)"));
        assert!(contact("https://b.org/bot\r\nX: y").is_err());
    }
}
