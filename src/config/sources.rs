//! Seed lists that do not say where to begin, or say it twice.

use std::ops::Range;

use toml::de::DeTable;

use super::text::Problem;

/// The keys of which a seed list has one.
const SOURCES: [&str; 3] = ["url", "file", "sitemap"];

/// What the crawl says of such a list, but not of which.
const MESSAGE: &str = "a seed list needs exactly one of";

/// What is wrong with the first list that does not name one source, and where, if that is what `message` is about.
pub(super) fn explain(toml: &str, message: &str) -> Option<(Range<usize>, Problem)> {
    if !message.starts_with(MESSAGE) {
        return None;
    }
    let table = DeTable::parse(toml).ok()?;
    let lists = table.get_ref().get("seeds")?.get_ref().as_array()?;
    lists.iter().find_map(|list| {
        let keys = list.get_ref().as_table()?.keys();
        let mut named: Vec<_> =
            keys.filter(|key| SOURCES.contains(&key.get_ref().as_ref())).collect();
        named.sort_by_key(|key| key.span().start);
        match named[..] {
            [] => Some((list.span(), missing())),
            [_] => None,
            [first, second, ..] => {
                Some((second.span(), doubled(first.get_ref(), second.get_ref())))
            }
        }
    })
}

fn missing() -> Problem {
    Problem {
        message: "a seed list does not say where to begin".to_owned(),
        label: "`url`, `file` or `sitemap` is missing".to_owned(),
        help: Some("write for instance `url = \"https://docs.example.org/\"` below it".to_owned()),
    }
}

fn doubled(first: &str, second: &str) -> Problem {
    Problem {
        message: format!("a seed list has both `{first}` and `{second}`"),
        label: format!("there is `{first}` already"),
        help: Some("keep one; the other goes below a `[[seeds]]` of its own".to_owned()),
    }
}
