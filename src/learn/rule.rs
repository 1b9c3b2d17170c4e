//! A rule in the words of a configuration: which part of a site's URLs makes no difference.
//!
//! The learner knows rules by numbers. A number is made from the part, so a rule that is written down and read again is the same rule.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::parts::{Part, PartKind, Parts, hash};
use crate::page::site_of;

/// The site of a rule that holds everywhere.
pub(super) const EVERYWHERE: &str = "*";

/// A rule: URLs of a site that differ in this part only have the same page.
///
/// ```
/// use pagesieve::learn::Rule;
///
/// let rule: Rule = serde_json::from_str(r#"{"site": "example.org", "parameter": "sid"}"#)?;
/// assert_eq!(rule.part.to_string(), "parameter sid");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Rule {
    /// The site (registrable domain); `*` means all sites.
    pub site: String,
    /// What makes no difference.
    pub part: RulePart,
    /// How many pages were compared with one that differs in this part only.
    pub trials: u32,
    /// How many of them had another text.
    pub failures: u32,
}

/// The part of URLs that makes no difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RulePart {
    /// The parameter of this name.
    Parameter(String),
    /// The segment after this path, which is without the last slash.
    Segment(String),
    /// The segment after this one, wherever it stands, if it looks like an id.
    After(String),
    /// The host of this name; `*` means those of a site that has very many, all but the first two.
    Host(String),
    /// The order of parameters.
    Order,
    /// The name of an index page, such as `index.html`.
    Index,
    /// The ending of a file, such as `.html`.
    Ending,
    /// A slash at the end of the path.
    Slash,
}

/// A number for something, from its parts.
pub(super) fn number_of(parts: &[u64]) -> u32 {
    let mixed = parts
        .iter()
        .fold(0_u64, |all, part| (all.rotate_left(7) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> 32) as u32
}

/// The candidate that what looks like an id after this word in a path makes no difference.
pub(super) fn after_id(word: &str) -> u32 {
    number_of(&[16, hash(word, 0)])
}

/// The candidate that this part makes no difference.
pub(super) fn candidate_of(part: &Part<'_>) -> u32 {
    match part.kind {
        PartKind::Host if part.name == EVERYWHERE => number_of(&[8, hash(EVERYWHERE, 0)]),
        PartKind::Host => number_of(&[8, hash(part.value, 0)]),
        PartKind::Parameter => number_of(&[1, hash(part.name, 0)]),
        PartKind::Segment(place) => number_of(&[2, part.prefix, u64::from(place)]),
    }
}

impl RulePart {
    /// The rule of this number that leaves out this part of a URL.
    pub(super) fn of(number: u32, part: &Part<'_>, parts: &Parts<'_>) -> Self {
        match part.kind {
            PartKind::Host if part.name == EVERYWHERE => Self::Host(EVERYWHERE.to_owned()),
            PartKind::Host => Self::Host(part.value.to_owned()),
            PartKind::Parameter => Self::Parameter(part.name.to_owned()),
            PartKind::Segment(_) if number == after_id(part.name) => {
                Self::After(part.name.to_owned())
            }
            PartKind::Segment(_) => Self::Segment(parts.path_before(part)),
        }
    }

    /// Its number among the candidates of a site.
    pub(super) fn candidate_id(&self) -> u32 {
        match self {
            Self::Parameter(name) => number_of(&[1, hash(name, 0)]),
            Self::Segment(prefix) => {
                let segments = || prefix.split('/').skip(1);
                let prefix = segments().fold(hash("/", 7), |all, it| hash(it, all));
                number_of(&[2, prefix, segments().count() as u64])
            }
            Self::Host(name) => number_of(&[8, hash(name, 0)]),
            Self::After(word) => after_id(word),
            Self::Order => 7,
            Self::Index => 9,
            Self::Ending => 11,
            Self::Slash => 12,
        }
    }
}

impl fmt::Display for RulePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "parameter {name}"),
            Self::Segment(prefix) => {
                write!(f, "segment {} of {prefix}/*", prefix.matches('/').count() + 1)
            }
            Self::Host(name) => write!(f, "host {name}"),
            Self::After(word) => write!(f, "segment after {word}"),
            Self::Order => f.write_str("order of parameters"),
            Self::Index => f.write_str("name of an index page"),
            Self::Ending => f.write_str("ending of a file"),
            Self::Slash => f.write_str("slash at the end"),
        }
    }
}

/// The keys of a rule.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    site: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slash: Option<bool>,
    trials: u32,
    failures: u32,
}

impl TryFrom<Fields> for Rule {
    type Error = String;

    fn try_from(mut fields: Fields) -> Result<Self, String> {
        let site = std::mem::take(&mut fields.site);
        let (trials, failures) = (fields.trials, fields.failures);
        let part = fields.part().map_err(|why| format!("a rule for {site:?}: {why}"))?;
        let is_site = site == EVERYWHERE
            || !site.is_empty()
                && !site.contains(|c: char| c.is_whitespace() || "/?#@*".contains(c))
                && !site.contains(|c: char| c.is_ascii_uppercase());
        if !is_site {
            return Err(format!(
                "a rule needs `site`, a registrable domain in lower case or \"*\", not {site:?}"
            ));
        }
        let domain = site_of(&site);
        if domain != site {
            return Err(format!(
                "a rule holds for a site, a registrable domain: write `site = {domain:?}`, not {site:?}"
            ));
        }
        if failures > trials {
            return Err(format!("a rule for {site:?}: `failures` is more than `trials`"));
        }
        Ok(Self { site, part, trials, failures })
    }
}

impl Fields {
    fn part(self) -> Result<RulePart, String> {
        let when = |is_sound: bool, part: RulePart, why: &str| {
            if is_sound { Ok(part) } else { Err(why.to_owned()) }
        };
        let switch = |is_on: Option<bool>, key: &str, part: RulePart| {
            is_on.map(|is_on| when(is_on, part, &format!("`{key}` can only be true")))
        };
        let is_host =
            |it: &str| it == EVERYWHERE || !it.is_empty() && !it.contains(['/', '*', ' ']);
        let all = [
            self.parameter
                .map(|it| when(!it.is_empty(), RulePart::Parameter(it), "`parameter` is empty")),
            self.segment.map(|path| segment(&path)),
            self.host
                .map(|it| when(is_host(&it), RulePart::Host(it), "`host` is the name of a host")),
            switch(self.order, "order", RulePart::Order),
            switch(self.index, "index", RulePart::Index),
            switch(self.ending, "ending", RulePart::Ending),
            switch(self.slash, "slash", RulePart::Slash),
        ];
        let mut set = all.into_iter().flatten();
        match (set.next(), set.next()) {
            (Some(part), None) => part,
            _ => Err("it needs exactly one of `parameter`, `segment`, `host`, `order`, `index`, `ending` and `slash`".into()),
        }
    }
}

fn segment(path: &str) -> Result<RulePart, String> {
    let word = path.strip_prefix("*/").and_then(|it| it.strip_suffix("/*"));
    if let Some(word) = word.filter(|it| !it.is_empty() && !it.contains(['/', '?', '#', ';'])) {
        return Ok(RulePart::After(word.to_owned()));
    }
    let prefix = path.strip_suffix("/*").filter(|it| it.is_empty() || it.starts_with('/'));
    let prefix = prefix.filter(|it| !it.contains(['?', '#', ';']));
    prefix.map(|prefix| RulePart::Segment(prefix.to_owned())).ok_or_else(|| {
        format!(
            "`segment` is a path whose last segment is *, such as \"/docs/*\" or \"*/sid/*\", not {path:?}"
        )
    })
}

impl From<Rule> for Fields {
    fn from(rule: Rule) -> Self {
        let Rule { site, part, trials, failures } = rule;
        let mut fields = Self { site, trials, failures, ..Self::default() };
        match part {
            RulePart::Parameter(name) => fields.parameter = Some(name),
            RulePart::Segment(prefix) => fields.segment = Some(prefix + "/*"),
            RulePart::Host(name) => fields.host = Some(name),
            RulePart::After(word) => fields.segment = Some(format!("*/{word}/*")),
            RulePart::Order => fields.order = Some(true),
            RulePart::Index => fields.index = Some(true),
            RulePart::Ending => fields.ending = Some(true),
            RulePart::Slash => fields.slash = Some(true),
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Rule, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rule_that_is_written_is_read_again() {
        let keys = [
            r#""parameter":"sid""#,
            r#""segment":"/*""#,
            r#""segment":"*/sid/*""#,
            r#""segment":"/a/b/*""#,
            r#""host":"www2.example.org""#,
            r#""host":"*""#,
            r#""order":true"#,
            r#""index":true"#,
            r#""ending":true"#,
            r#""slash":true"#,
        ];
        let mut numbers = std::collections::HashSet::new();
        for keys in keys {
            let json = format!("{{\"site\":\"example.org\",{keys},\"trials\":50,\"failures\":1}}");
            let rule = read(&json).unwrap();
            assert_eq!(serde_json::to_string(&rule).unwrap(), json);
            assert!(numbers.insert(rule.part.candidate_id()), "{keys}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_one_is_refused_with_its_key() {
        let cases = [
            (r#""parameter":"a","order":true"#, "exactly one of"),
            (r#""trials":1"#, "exactly one of"),
            (r#""segment":"docs""#, "`segment`"),
            (r#""segment":"*/a/b/*""#, "`segment`"),
            (r#""host":"a/b""#, "`host"),
            (r#""order":false"#, "`order`"),
            (r#""index":false"#, "`index`"),
            (r#""slash":false"#, "`slash`"),
            (r#""parameter":"""#, "`parameter`"),
            (r#""parameter":"a","failures":1"#, "`failures`"),
            (r#""parametre":"a""#, "parametre"),
        ];
        for (keys, named) in cases {
            let error = read(&format!("{{\"site\":\"example.org\",{keys}}}")).unwrap_err();
            assert!(error.contains(named), "{keys}: {error}");
        }
        assert!(read(r#"{"site":"https://a/","parameter":"a"}"#).unwrap_err().contains("`site`"));
        let of_host = read(r#"{"site":"www.example.org","parameter":"a"}"#).unwrap_err();
        assert!(of_host.contains("`site = \"example.org\"`"), "{of_host}");
    }
}
