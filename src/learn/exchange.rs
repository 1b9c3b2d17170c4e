//! Rules in the format of Scrapy's duplicate-url-discarder: a list of JSON objects with `args`, `order`, `processor` and `urlPattern`.
//!
//! A pattern that is a domain matches its subdomains too, as a site does; one with a path matches that domain only.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rule::{EVERYWHERE, Rule, RulePart};
use crate::page::site_of;

const QUERY_REMOVAL: &str = "queryRemoval";
const SUBPATH_REMOVAL: &str = "subpathRemoval";
/// The place of our rules among others: the order that its documentation uses.
const ORDER: i64 = 100;
/// Characters with a meaning in patterns.
const SPECIAL: [char; 6] = ['*', '|', '?', '#', ':', '!'];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    args: Value,
    order: i64,
    processor: String,
    url_pattern: Pattern,
}

#[derive(Serialize, Deserialize)]
struct Pattern {
    include: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclude: Vec<String>,
}

/// Rules that were read, and why others cannot be used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    /// The rules.
    pub(crate) rules: Vec<Rule>,
    /// For each other one, which it is and why.
    pub(crate) others: Vec<String>,
}

/// The rules as JSON, and those that the format cannot express.
pub(crate) fn to_json(rules: &[Rule]) -> (String, Vec<&Rule>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut others = Vec::new();
    for rule in rules {
        let Some((arg, processor, include)) = expressed(rule) else {
            others.push(rule);
            continue;
        };
        let same = entries.iter_mut().rev().find(|entry| {
            entry.processor == QUERY_REMOVAL
                && processor == QUERY_REMOVAL
                && entry.url_pattern.include == include
        });
        if let Some(Entry { args: Value::Array(args), .. }) = same {
            args.push(arg);
            continue;
        }
        entries.push(Entry {
            args: json!([arg]),
            order: ORDER,
            processor: processor.to_owned(),
            url_pattern: Pattern { include, exclude: Vec::new() },
        });
    }
    (serde_json::to_string_pretty(&entries).expect("it is JSON"), others)
}

/// The argument, processor and patterns of a rule, if the format has that.
fn expressed(rule: &Rule) -> Option<(Value, &'static str, Vec<String>)> {
    let (arg, processor, path) = match &rule.part {
        RulePart::Parameter(name) => (json!(name), QUERY_REMOVAL, ""),
        RulePart::Segment(prefix) if !prefix.contains(SPECIAL) => {
            (json!(prefix.matches('/').count()), SUBPATH_REMOVAL, prefix.as_str())
        }
        _ => return None,
    };
    let include = match (rule.site.as_str(), path) {
        (EVERYWHERE, "") => Vec::new(),
        (EVERYWHERE, _) => return None,
        (site, "") => vec![site.to_owned()],
        (site, path) => vec![format!("{site}{path}/")],
    };
    Some((arg, processor, include))
}

/// Reads rules. Those that would hold for more or other URLs here are left out.
///
/// # Errors
/// If it is not a list of rules in this format.
pub(crate) fn from_json(json: &str) -> Result<Imported, serde_json::Error> {
    let entries: Vec<Entry> = serde_json::from_str(json)?;
    let mut imported = Imported::default();
    for (number, entry) in (1..).zip(&entries) {
        let mut why = |why: &str| {
            let Entry { processor, args, .. } = entry;
            imported.others.push(format!("rule {number} ({processor} {args}): {why}"));
        };
        let Some(args) = entry.args.as_array() else {
            why("its `args` are not a list");
            continue;
        };
        if args.is_empty() {
            why("it has no arguments, and only queryRemoval and subpathRemoval can be used");
            continue;
        }
        if !entry.url_pattern.exclude.is_empty() {
            why("it has exceptions (`exclude`), and a rule here holds for a whole site");
            continue;
        }
        let include = &entry.url_pattern.include;
        let everywhere = [String::new()];
        let patterns = if include.is_empty() { &everywhere } else { include.as_slice() };
        for (pattern, arg) in patterns.iter().flat_map(|it| args.iter().map(move |arg| (it, arg))) {
            match rule(&entry.processor, pattern, arg) {
                Ok(rule) => imported.rules.push(rule),
                Err(error) => why(error),
            }
        }
    }
    Ok(imported)
}

fn rule(processor: &str, pattern: &str, arg: &Value) -> Result<Rule, &'static str> {
    let (domain, path) = match pattern.split_once('/') {
        Some((domain, path)) => (domain, path.trim_end_matches('/')),
        None => (pattern, ""),
    };
    if pattern.contains(SPECIAL) {
        return Err("its pattern is more than a domain and a path");
    }
    let domain = domain.to_ascii_lowercase();
    let site = domain.strip_prefix("www.").unwrap_or(&domain);
    if site_of(site) != site {
        return Err("its pattern is part of a site, and a rule here holds for a whole site");
    }
    let part = match (processor, arg) {
        (QUERY_REMOVAL, Value::String(name)) if path.is_empty() => {
            RulePart::Parameter(name.clone())
        }
        (QUERY_REMOVAL, Value::String(_)) => {
            return Err("its pattern has a path, and a rule for parameters holds for a whole site");
        }
        (SUBPATH_REMOVAL, Value::Number(place)) => {
            let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
            if place.as_u64() != Some(prefix.matches('/').count() as u64) {
                return Err("the path before the segment is not in its pattern");
            }
            RulePart::Segment(prefix)
        }
        (QUERY_REMOVAL | SUBPATH_REMOVAL, _) => return Err("an argument has the wrong type"),
        _ => return Err("only queryRemoval and subpathRemoval can be used"),
    };
    let site = if site.is_empty() { EVERYWHERE } else { site };
    Ok(Rule { site: site.to_owned(), part, trials: 0, failures: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(site: &str, part: RulePart) -> Rule {
        Rule { site: site.to_owned(), part, trials: 0, failures: 0 }
    }

    fn segment(prefix: &str) -> RulePart {
        RulePart::Segment(prefix.to_owned())
    }

    #[test]
    fn rules_that_the_format_can_express_are_read_as_they_were_written() {
        let parameter = |name: &str| RulePart::Parameter(name.to_owned());
        let rules = [
            rule("*", parameter("PHPSESSIONID")),
            rule("example.org", parameter("a")),
            rule("example.org", parameter("b")),
            rule("example.org", segment("")),
            rule("example.org", segment("/docs/en")),
            rule("example.org", RulePart::Order),
            rule("example.org", RulePart::Index),
        ];
        let (json, others) = to_json(&rules);
        assert_eq!(others, [&rules[5], &rules[6]]);
        let read = from_json(&json).unwrap();
        assert_eq!((&read.rules[..], read.others.len()), (&rules[..5], 0));
        let entries: Value = serde_json::from_str(&json).unwrap();
        let expected = json!({
            "args": ["a", "b"], "order": 100, "processor": "queryRemoval",
            "urlPattern": { "include": ["example.org"] },
        });
        assert_eq!(entries[1], expected);
        assert_eq!(entries[3]["urlPattern"]["include"], json!(["example.org/docs/en/"]));
        assert_eq!(entries[3]["args"], json!([2]));
    }

    #[test]
    fn rules_that_would_hold_for_more_here_are_left_out() {
        let cases = [
            ("queryRemovalExcept", r#"["id"]"#, "example.org"),
            ("normalizer", "[]", "example.org"),
            ("queryRemoval", "[]", "example.org"),
            ("queryRemoval", r#"["a"]"#, "blog.example.org"),
            ("queryRemoval", r#"["a"]"#, "example.org/shop"),
            ("queryRemoval", "[1]", "example.org"),
            ("subpathRemoval", "[1]", "example.org"),
            ("queryRemoval", r#"["a"]"#, "example.*"),
        ];
        for (processor, args, pattern) in cases {
            let json = format!(
                r#"[{{"args": {args}, "order": 1, "processor": "{processor}", "urlPattern": {{"include": ["{pattern}"]}}}}]"#
            );
            let read = from_json(&json).unwrap();
            assert_eq!(read.rules, [], "{json}");
            assert_eq!(read.others.len(), 1, "{json}");
        }
        let www = r#"[{"args": ["a"], "order": 1, "processor": "queryRemoval", "urlPattern": {"include": ["www.Example.org/"]}}]"#;
        assert_eq!(from_json(www).unwrap().rules[0].site, "example.org");
        assert!(from_json("{}").is_err());
    }
}
