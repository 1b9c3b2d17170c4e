//! A rule in the words of a configuration: which part of a site's URLs makes no difference.
//!
//! The learner knows rules by numbers. A number is made from the part, so a rule that is written down and read again is the same rule.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::parts::{Part, PartKind, Parts, hash};
use crate::page::site_of;

/// The keys of which a rule has one: what makes no difference.
const PART_KEYS: [&str; 9] =
    ["parameter", "segment", "host", "order", "index", "ending", "slash", "last", "tail"];
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
pub enum RulePart {
    /// The parameter of this name.
    Parameter(String),
    /// The same on one kind of pages.
    ParameterOf {
        /// Its name.
        name: String,
        /// The kind: the path of a program, or the first segment and `*`, and the parameters that say of which kind a page is, such as
        /// `/*?route=product/product`.
        kind: String,
    },
    /// The segment after this path.
    Segment {
        /// The path before it, without the last slash.
        prefix: String,
        /// On which URLs, if not on all.
        only: Option<Only>,
    },
    /// The segment after this one, wherever it stands, if it looks like an id.
    After(String),
    /// A host.
    Host {
        /// Its name; none means all hosts of the site.
        name: Option<String>,
        /// On which URLs, if not on all. It is never missing together with the name.
        only: Option<Only>,
    },
    /// The order of parameters.
    Order,
    /// All but this number of last segments.
    Tail(u8),
    /// The name of an index page, such as `index.html`.
    Index,
    /// The ending of a file, such as `.html`.
    Ending,
    /// A slash at the end of the path.
    Slash,
    /// This last segment, as `amp` in `/post/amp/`: the page without it is the same.
    Last(String),
}

/// The URLs to which a rule is restricted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Only {
    /// What is known of the page's counterparts.
    pub counterparts: Counterparts,
    /// The segment's value; of a host, it is the name.
    pub value: Option<String>,
    /// The value of the next segment, if `value` or a host's name is given; none if there is no next segment.
    pub next: Option<String>,
}

/// What is known of the pages that differ from a page in another part: what came of leaving out the rule's part there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counterparts {
    /// None of them was compared.
    Unknown,
    /// They repeated theirs.
    Same,
    /// They did not.
    Different,
    /// Some did.
    Mixed,
    /// None of them was compared, but the pages that differ in the rule's part so far are the same.
    Agreeing,
    /// They repeated theirs exactly.
    Identical,
    /// None of them was compared, but the pages that differ in the rule's part so far are exactly the same.
    Unanimous,
    /// A page with a lower and one with a higher value, as of versions, have the same text.
    Enclosing,
}

impl Counterparts {
    const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Same,
        Self::Different,
        Self::Mixed,
        Self::Agreeing,
        Self::Identical,
        Self::Unanimous,
        Self::Enclosing,
    ];

    fn phrase(self) -> &'static str {
        match self {
            Self::Unknown => "no counterpart is known",
            Self::Same => "counterparts are nearly the same",
            Self::Different => "counterparts differ",
            Self::Mixed => "some counterparts are the same",
            Self::Agreeing => "those so far are nearly the same",
            Self::Identical => "counterparts are the same",
            Self::Unanimous => "those so far are the same",
            Self::Enclosing => "a lower and a higher one are the same",
        }
    }
}

/// A number for something, from its parts.
pub(super) fn candidate_id(parts: &[u64]) -> u32 {
    let mixed = parts
        .iter()
        .fold(0_u64, |all, part| (all.rotate_left(7) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> 32) as u32
}

/// The candidate that the order of parameters makes no difference.
pub(super) const ORDER: u32 = 7;
/// The candidate that the name of an index page makes no difference.
pub(super) const INDEX: u32 = 9;
/// The candidate that the ending of a file makes no difference.
pub(super) const ENDING: u32 = 11;
/// The candidate that a slash at the end makes no difference.
pub(super) const SLASH: u32 = 12;

/// The candidate that this last segment makes no difference.
pub(super) fn last_id(name: &str) -> u32 {
    candidate_id(&[10, hash(name, 0)])
}

/// The candidate that what follows this word in a path makes no difference.
fn after_id(word: &str) -> u32 {
    candidate_id(&[16, hash(word, 0)])
}

/// The other candidate that a part makes no difference: a parameter on pages of this kind, a segment wherever it follows this word.
pub(super) fn other_id(parts: &Parts<'_>, part: &Part<'_>) -> Option<u32> {
    match part.kind {
        PartKind::Parameter => Some(candidate_id(&[15, hash(part.name, 0), parts.kind])),
        PartKind::Segment(_) if !part.name.is_empty() => Some(after_id(part.name)),
        PartKind::Segment(_) | PartKind::Host => None,
    }
}

impl RulePart {
    /// Why a URL is deferred by it.
    pub(super) fn reason(&self) -> String {
        format!("{self} makes no difference")
    }

    /// This part, on all URLs.
    pub(super) fn plain(part: &Part<'_>, parts: &Parts<'_>) -> Self {
        match part.kind {
            PartKind::Host => Self::Host { name: Some(part.value.to_owned()), only: None },
            PartKind::Parameter => Self::Parameter(part.name.to_owned()),
            PartKind::Segment(place) => {
                let before = parts.segments().take(place.into());
                let prefix: Vec<&str> = before.flat_map(|it| ["/", it.value]).collect();
                Self::Segment { prefix: prefix.concat(), only: None }
            }
        }
    }

    /// The rule of this number that leaves out this part of a URL.
    pub(super) fn of(number: u32, part: &Part<'_>, parts: &Parts<'_>) -> Self {
        let plain = Self::plain(part, parts);
        if Some(number) == other_id(parts, part) {
            let name = part.name.to_owned();
            return match part.kind {
                PartKind::Parameter => Self::ParameterOf { name, kind: parts.show_kind() },
                PartKind::Segment(_) | PartKind::Host => Self::After(name),
            };
        }
        if part.kind == PartKind::Parameter {
            return plain;
        }
        let after = match part.kind {
            PartKind::Segment(place) => usize::from(place) + 1,
            PartKind::Host | PartKind::Parameter => 0,
        };
        let next = parts.segments().nth(after).map(|it| it.value.to_owned());
        let restricted = |counterparts| match &plain {
            Self::Segment { prefix, .. } => {
                let value = Some(part.value.to_owned());
                [(None, None), (value, next.clone())].map(|(value, next)| {
                    let only = Some(Only { counterparts, value, next });
                    Self::Segment { prefix: prefix.clone(), only }
                })
            }
            _ => [(None, None), (Some(part.value.to_owned()), next.clone())].map(|(name, next)| {
                let only = Some(Only { counterparts, value: None, next });
                Self::Host { name, only }
            }),
        };
        let mut all = Counterparts::ALL.into_iter().flat_map(restricted);
        let is_it = |it: &Self| it.candidate_id() == number;
        all.find(is_it).unwrap_or(plain)
    }

    /// Its number among the candidates of a site.
    pub(super) fn candidate_id(&self) -> u32 {
        match self {
            Self::Parameter(name) => candidate_id(&[1, hash(name, 0)]),
            Self::ParameterOf { name, kind } => {
                candidate_id(&[15, hash(name, 0), Parts::kind_named(kind)])
            }
            Self::Segment { prefix, only } => {
                let segments = || prefix.split('/').skip(1);
                let place = segments().count() as u64;
                let prefix = segments().fold(hash("/", 7), |all, it| hash(it, all));
                match only {
                    None => candidate_id(&[2, prefix, place]),
                    Some(only) => only.candidate_id(place + 1, prefix, only.value.as_deref()),
                }
            }
            Self::Host { name, only: Some(only) } => only.candidate_id(0, 0, name.as_deref()),
            Self::Host { name, only: None } => {
                candidate_id(&[8, hash(name.as_deref().unwrap_or_default(), 0)])
            }
            Self::After(word) => after_id(word),
            Self::Order => ORDER,
            Self::Index => INDEX,
            Self::Ending => ENDING,
            Self::Slash => SLASH,
            Self::Last(name) => last_id(name),
            Self::Tail(length) => candidate_id(&[5, u64::from(*length)]),
        }
    }
}

impl Only {
    fn candidate_id(&self, place: u64, prefix: u64, value: Option<&str>) -> u32 {
        let state = self.counterparts as u64;
        match value {
            None => candidate_id(&[3, place, prefix, state]),
            Some(value) => {
                let next = self.next.as_deref().map_or(0, |next| hash(next, 0));
                candidate_id(&[4, place, prefix, state, next, hash(value, 0)])
            }
        }
    }

    fn fmt(&self, of: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = &self.value {
            write!(f, ", {value}")?;
        }
        match &self.next {
            Some(next) => write!(f, " before {next}")?,
            None if self.value.is_some() || of.is_some() => f.write_str(" at the end")?,
            None => {}
        }
        write!(f, ", where {}", self.counterparts.phrase())
    }
}

impl fmt::Display for RulePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "parameter {name}"),
            Self::ParameterOf { name, kind } => write!(f, "parameter {name} of {kind}"),
            Self::Segment { prefix, only } => {
                write!(f, "segment {} of {prefix}/*", prefix.matches('/').count() + 1)?;
                only.iter().try_for_each(|only| only.fmt(None, f))
            }
            Self::Host { name, only } => {
                write!(f, "host {}", name.as_deref().unwrap_or(EVERYWHERE))?;
                only.iter().try_for_each(|only| only.fmt(name.as_deref(), f))
            }
            Self::After(word) => write!(f, "segment after {word}"),
            Self::Order => f.write_str("order of parameters"),
            Self::Index => f.write_str("name of an index page"),
            Self::Ending => f.write_str("ending of a file"),
            Self::Slash => f.write_str("slash at the end"),
            Self::Last(name) => write!(f, "last segment {name}"),
            Self::Tail(length) => write!(f, "all but the last {length} segments"),
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
    kind: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterparts: Option<Counterparts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
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
    /// The rule that is switched on by `true`, if it is one.
    fn spelling(&self) -> Option<Result<RulePart, String>> {
        let all = [
            (self.order, "order", RulePart::Order),
            (self.index, "index", RulePart::Index),
            (self.ending, "ending", RulePart::Ending),
            (self.slash, "slash", RulePart::Slash),
        ];
        let (is_on, key, part) = all.into_iter().find(|it| it.0.is_some())?;
        Some(if is_on == Some(true) { Ok(part) } else { Err(format!("`{key}` can only be true")) })
    }

    fn check_kind(&self) -> Result<(), String> {
        let Some(kind) = &self.kind else { return Ok(()) };
        if self.parameter.is_none() {
            return Err("`kind` goes with `parameter`".into());
        }
        if kind.starts_with('/') && !kind.contains('#') {
            return Ok(());
        }
        Err(format!(
            "`kind` is a path and perhaps parameters, such as \"/*?action=history\", not {kind:?}"
        ))
    }

    fn part(self) -> Result<RulePart, String> {
        let set = [
            self.parameter.is_some(),
            self.segment.is_some(),
            self.host.is_some(),
            self.order.is_some(),
            self.index.is_some(),
            self.ending.is_some(),
            self.slash.is_some(),
            self.last.is_some(),
            self.tail.is_some(),
        ];
        if set.into_iter().filter(|is_set| *is_set).count() != 1 {
            let (last, others) = PART_KEYS.split_last().expect("there are keys");
            return Err(format!("it needs exactly one of `{}` and `{last}`", others.join("`, `")));
        }
        self.check_kind()?;
        let has_next = self.next.is_some();
        let only = self.counterparts.map(|counterparts| Only {
            counterparts,
            value: self.value.clone(),
            next: self.next.clone(),
        });
        if only.is_none() && (self.value.is_some() || has_next) {
            return Err("`value` and `next` need `counterparts`".into());
        }
        if only.is_some() && self.segment.is_none() && self.host.is_none() {
            return Err("`counterparts` goes with `segment` or `host`".into());
        }
        if let Some(path) = self.segment {
            if has_next && self.value.is_none() {
                return Err("`next` needs `value`".into());
            }
            return segment(&path, only);
        }
        if let Some(host) = self.host {
            return of_host(host, only);
        }
        if let Some(last) = self.last {
            let is_segment = !last.is_empty() && !last.contains(['/', '?', '#', ';']);
            return is_segment
                .then_some(RulePart::Last(last))
                .ok_or_else(|| "`last` is one segment of a path".into());
        }
        if let Some(spelling) = self.spelling() {
            return spelling;
        }
        match (self.parameter, self.tail) {
            (Some(name), _) if !name.is_empty() => Ok(match self.kind {
                None => RulePart::Parameter(name),
                Some(kind) => RulePart::ParameterOf { name, kind },
            }),
            (Some(_), _) => Err("`parameter` is empty".into()),
            (None, Some(tail @ 1..=2)) => Ok(RulePart::Tail(tail)),
            (None, _) => Err("`tail` must be 1 or 2".into()),
        }
    }
}

fn segment(path: &str, only: Option<Only>) -> Result<RulePart, String> {
    let word = path.strip_prefix("*/").and_then(|it| it.strip_suffix("/*"));
    if let Some(word) = word.filter(|it| !it.is_empty() && !it.contains(['/', '?', '#', ';'])) {
        return match only {
            None => Ok(RulePart::After(word.to_owned())),
            Some(_) => Err("`counterparts` goes with the whole path of a `segment`".into()),
        };
    }
    let prefix = path.strip_suffix("/*").filter(|it| it.is_empty() || it.starts_with('/'));
    let prefix = prefix.filter(|it| !it.contains(['?', '#', ';']));
    let prefix = prefix.ok_or_else(|| {
        format!(
            "`segment` is a path whose last segment is *, such as \"/docs/*\" or \"*/sid/*\", not {path:?}"
        )
    })?;
    Ok(RulePart::Segment { prefix: prefix.to_owned(), only })
}

fn of_host(host: String, only: Option<Only>) -> Result<RulePart, String> {
    let name = Some(host).filter(|host| host != EVERYWHERE);
    match &only {
        Some(Only { value: Some(_), .. }) => return Err("`value` goes with `segment`".into()),
        Some(Only { next: Some(_), .. }) if name.is_none() => {
            return Err("`next` needs the name of a host".into());
        }
        None if name.is_none() => return Err("`host = \"*\"` needs `counterparts`".into()),
        _ => {}
    }
    if name.as_deref().is_some_and(|name| name.is_empty() || name.contains(['/', '*', ' '])) {
        return Err("`host` is the name of a host".into());
    }
    Ok(RulePart::Host { name, only })
}

impl From<Rule> for Fields {
    fn from(rule: Rule) -> Self {
        let Rule { site, part, trials, failures } = rule;
        let mut fields = Self { site, trials, failures, ..Self::default() };
        let mut only = None;
        match part {
            RulePart::Parameter(name) => fields.parameter = Some(name),
            RulePart::ParameterOf { name, kind } => {
                (fields.parameter, fields.kind) = (Some(name), Some(kind));
            }
            RulePart::Segment { prefix, only: restriction } => {
                fields.segment = Some(prefix + "/*");
                only = restriction;
            }
            RulePart::Host { name, only: restriction } => {
                fields.host = Some(name.unwrap_or_else(|| EVERYWHERE.to_owned()));
                only = restriction;
            }
            RulePart::After(word) => fields.segment = Some(format!("*/{word}/*")),
            RulePart::Order => fields.order = Some(true),
            RulePart::Index => fields.index = Some(true),
            RulePart::Ending => fields.ending = Some(true),
            RulePart::Slash => fields.slash = Some(true),
            RulePart::Last(name) => fields.last = Some(name),
            RulePart::Tail(length) => fields.tail = Some(length),
        }
        if let Some(Only { counterparts, value, next }) = only {
            (fields.counterparts, fields.value, fields.next) = (Some(counterparts), value, next);
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
            r#""parameter":"sort","kind":"/*?route=product/product""#,
            r#""parameter":"sort","kind":"/shop/list.php""#,
            r#""segment":"/*""#,
            r#""segment":"*/sid/*""#,
            r#""segment":"/a/b/*","counterparts":"same""#,
            r#""segment":"/a/*","counterparts":"agreeing","value":"x","next":"y""#,
            r#""host":"www2.example.org""#,
            r#""host":"*","counterparts":"different""#,
            r#""host":"www2.example.org","counterparts":"mixed","next":"docs""#,
            r#""order":true"#,
            r#""index":true"#,
            r#""ending":true"#,
            r#""slash":true"#,
            r#""last":"amp""#,
            r#""segment":"/a/*","counterparts":"identical""#,
            r#""segment":"/a/*","counterparts":"unanimous""#,
            r#""segment":"/a/*","counterparts":"enclosing""#,
            r#""tail":2"#,
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
            (r#""segment":"/a/*","value":"x""#, "`counterparts`"),
            (r#""segment":"*/sid/*","counterparts":"same""#, "`counterparts`"),
            (r#""segment":"*/a/b/*""#, "`segment`"),
            (r#""parameter":"a","counterparts":"same""#, "`counterparts`"),
            (r#""order":true,"kind":"/*""#, "`kind`"),
            (r#""parameter":"a","kind":"shop""#, "`kind`"),
            (r#""host":"*""#, "`host"),
            (r#""order":false"#, "`order`"),
            (r#""index":false"#, "`index`"),
            (r#""slash":false"#, "`slash`"),
            (r#""last":"a/b""#, "`last`"),
            (r#""tail":3"#, "`tail`"),
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
