//! Rules that select the body text of certain pages by CSS selectors instead of by scoring.

use std::{collections::HashSet, fmt};

use ego_tree::NodeId;
use scraper::{Html, Selector, error::SelectorErrorKind};
use serde::{Deserialize, Serialize};
use url::Url;

/// How certain pages are read: an `[[extract]]` table.
///
/// ```
/// use pagesieve::extract::Rules;
///
/// let rules: Rules = serde_json::from_str(r#"{"site": "forum.example.org/t/", "keep": [".post"], "drop": [".signature"]}"#)?;
/// assert_eq!(rules.site.to_string(), "forum.example.org/t/");
/// assert!(serde_json::from_str::<Rules>(r#"{"site": "forum.example.org", "keep": ["p >> b"]}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rules {
    /// The pages concerned. Of several rules that match a page the one with the longest host name and path applies, of equal ones the first.
    pub site: UrlPrefix,
    /// The body text: everything these elements show, and nothing else. Without a selector, and on a page without such an element, the
    /// body text is found by scoring.
    #[serde(default)]
    pub keep: Vec<Css>,
    /// Elements that are not body text, wherever they are.
    #[serde(default)]
    pub drop: Vec<Css>,
}

impl Rules {
    /// Rules for these pages without selectors.
    #[must_use]
    pub fn new(site: UrlPrefix) -> Self {
        Self { site, keep: Vec::new(), drop: Vec::new() }
    }
}

/// A host name with its subdomains, as `example.org`, or only those of their URLs whose path starts as given, as `example.org/docs/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UrlPrefix {
    host_name: String,
    path: String,
}

/// A CSS selector (level 3 and `:is`, `:where`, `:has`, `:not`). Attributes of formatting elements such as `b` and `font` are not visible
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Css {
    written: String,
    selector: Selector,
}

/// An invalid value in [`Rules`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The selector cannot be parsed.
    #[error("`{written}` is not a CSS selector: {reason}")]
    Selector {
        /// The selector.
        written: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The site is not a host name with an optional path.
    #[error(
        "`{written}` is not a valid site: write a host name, or a host name and the start of a path, as `example.org/docs/`"
    )]
    Site {
        /// The site.
        written: String,
    },
}

impl TryFrom<String> for UrlPrefix {
    type Error = RulesError;

    fn try_from(written: String) -> Result<Self, RulesError> {
        let url = Url::parse(&format!("http://{written}")).ok().filter(|url| {
            let is_plain = url.query().is_none() && url.fragment().is_none();
            is_plain && url.username().is_empty() && !starts_otherwise(&written)
        });
        match url.as_ref().and_then(|url| Some((url.host_str()?, url.path()))) {
            Some((name, path)) => Ok(Self { host_name: name.to_owned(), path: path.to_owned() }),
            None => Err(RulesError::Site { written }),
        }
    }
}

/// Whether the string starts with anything but a host name: a scheme, a path or a name with a port.
fn starts_otherwise(written: &str) -> bool {
    let host = written.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    host.is_empty() || port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

impl fmt::Display for UrlPrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path == "/" { "" } else { &self.path };
        write!(formatter, "{}{path}", self.host_name)
    }
}

impl From<UrlPrefix> for String {
    fn from(prefix: UrlPrefix) -> Self {
        prefix.to_string()
    }
}

impl UrlPrefix {
    /// How specifically it matches the URL, by the lengths of host name and path; `None` if it does not match.
    fn matches(&self, url: &Url) -> Option<(usize, usize)> {
        let below = url.host_str()?.strip_suffix(self.host_name.as_str())?;
        let is_host = below.is_empty() || below.ends_with('.');
        (is_host && url.path().starts_with(&self.path))
            .then_some((self.host_name.len(), self.path.len()))
    }
}

/// What is wrong with a selector. Some messages of the parser address its developers.
fn reason(error: &SelectorErrorKind) -> String {
    let message = error.to_string();
    if message.contains("developer") {
        return "an element's name, `.class`, `#id` or `[attribute]` was expected".to_owned();
    }
    message
}

impl TryFrom<String> for Css {
    type Error = RulesError;

    fn try_from(written: String) -> Result<Self, RulesError> {
        match Selector::parse(&written) {
            Ok(selector) => Ok(Self { written, selector }),
            Err(error) => Err(RulesError::Selector { reason: reason(&error), written }),
        }
    }
}

impl From<Css> for String {
    fn from(css: Css) -> Self {
        css.written
    }
}

/// The rules that apply to a page.
pub(super) fn rules_for<'a>(rules: &'a [Rules], url: Option<&Url>) -> Option<&'a Rules> {
    let matched = |rules: &&Rules| rules.site.matches(url?);
    // Of equal ones, `max_by_key` returns the last.
    rules.iter().rev().max_by_key(matched).filter(|rules| matched(rules).is_some())
}

/// The elements of a page that rules select.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    pub(super) keep: HashSet<NodeId>,
    pub(super) drop: HashSet<NodeId>,
}

impl Selection {
    pub(super) fn of(html: &Html, rules: &Rules) -> Self {
        let all = |selectors: &[Css]| {
            let elements = selectors.iter().flat_map(|css| html.select(&css.selector));
            elements.map(|element| element.id()).collect()
        };
        Self { keep: all(&rules.keep), drop: all(&rules.drop) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rules, UrlPrefix, rules_for};

    fn rules(site: &str) -> Rules {
        Rules::new(UrlPrefix::try_from(site.to_owned()).unwrap())
    }

    #[test]
    fn the_most_specific_rules_apply() {
        let all = ["example.org", "docs.example.org", "docs.example.org/api/", "docs.example.org"];
        let all = all.map(rules);
        let found = |url: &str| {
            let found = rules_for(&all, Some(&url.parse().unwrap()))?;
            all.iter().position(|rules| std::ptr::eq(rules, found))
        };
        assert_eq!(found("http://example.org/"), Some(0));
        assert_eq!(found("http://www.example.org/api/"), Some(0));
        assert_eq!(found("https://docs.example.org:8080/x"), Some(1));
        assert_eq!(found("http://v2.docs.example.org/api/x"), Some(2));
        assert_eq!(found("http://badexample.org/"), None);
        assert!(rules_for(&all, None).is_none());
    }

    #[test]
    fn a_site_is_written_as_a_host_and_a_path() {
        assert_eq!(rules("Example.ORG/docs/").site.to_string(), "example.org/docs/");
        assert_eq!(rules("bücher.example").site.to_string(), "xn--bcher-kva.example");
        for wrong in ["", "/docs", "https://example.org", "example.org?x", "a b", "example.org:80"]
        {
            assert!(UrlPrefix::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
