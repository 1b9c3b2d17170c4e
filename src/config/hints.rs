//! What to write instead of what cannot be understood.

use std::sync::LazyLock;

use toml::{Table, Value};

use super::{DEFAULT, set, text::Problem};

/// A configuration that spells every key: the bundled one, with the examples that it has in comments.
static EXAMPLE: LazyLock<Table> = LazyLock::new(|| {
    let parse = |toml: &str| toml.parse::<Table>().expect("the bundled configuration is TOML");
    let mut example = parse(DEFAULT);
    set::merge(&mut example, parse(&commented(DEFAULT)));
    example
});

/// Names that differ in more than this share of their characters are not taken for slips of the pen.
const LEAST_LIKENESS: f64 = 0.6;

/// Puts what serde says about the key at `path` in terms of the file.
pub(super) fn explain(message: &str, path: &[String]) -> Problem {
    let message = message.trim_end();
    if path == ["dedup", "window", "refresh"] {
        return Problem {
            message:
                "`dedup.window.refresh` was removed: the window always forgets in order of arrival"
                    .to_owned(),
            label: "no longer a key".to_owned(),
            help: Some("delete the key".to_owned()),
        };
    }
    if let Some((key, known)) = parts(message, "unknown field `") {
        return unknown_key(key, &known, path);
    }
    if let Some((value, known)) = parts(message, "unknown variant `") {
        return unknown_value(value, &known, path);
    }
    if let [fetch, resolve, name] = path
        && (fetch.as_str(), resolve.as_str()) == ("fetch", "resolve")
    {
        return Problem {
            message: format!("`resolve`: what {name:?} stands for is no address with a port"),
            label: "here".to_owned(),
            help: Some(format!("write for instance `{name:?} = \"127.0.0.1:8080\"`")),
        };
    }
    let problem = Problem { label: "here".to_owned(), help: example(path), ..Problem::default() };
    match path.last() {
        Some(key) => Problem { message: format!("`{key}`: {}", plain(message)), ..problem },
        None => Problem { message: plain(message), ..problem },
    }
}

/// A line with this key as it may be written, if there is such a key.
fn example(path: &[String]) -> Option<String> {
    let (key, tables) = path.split_last()?;
    let value = table(tables)?.get(key)?;
    if value.is_table() && key != "window" {
        let header = [tables, std::slice::from_ref(key)].concat().join(".");
        return Some(format!(
            "write `[{header}]` and its keys in the lines below, or `{header}.KEY = …`"
        ));
    }
    if value.as_array().is_some_and(|items| items.iter().any(Value::is_table)) {
        return Some(format!("write `[[{key}]]` and its keys in the lines below"));
    }
    let says_something = match value {
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    says_something.then(|| format!("write for instance `{key} = {value}`"))
}

/// The keys that stand in comments, under the headers of their tables.
fn commented(toml: &str) -> String {
    let is_key = |line: &str| {
        let name = line.split_once(" = ").map_or(line, |(name, _)| name);
        line.starts_with("[[")
            || (name != line && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    };
    let lines = toml.lines().filter_map(|line| match line.strip_prefix("# ") {
        Some(comment) => is_key(comment).then_some(comment),
        None => line.starts_with('[').then_some(line),
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The name that serde did not know and those it knows, which its messages have in back quotes.
fn parts<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let (name, rest) = message.strip_prefix(beginning)?.split_once("`, expected")?;
    Some((name, rest.split('`').skip(1).step_by(2).collect()))
}

fn unknown_key(key: &str, known: &[&str], path: &[String]) -> Problem {
    let tables = &path[..path.len().saturating_sub(1)];
    let place = place(tables);
    let help = nearest(key, known)
        .map(|known| format!("did you mean `{known}`?"))
        .or_else(|| Some(format!("write it {}", owner(key)?)))
        .unwrap_or_else(|| format!("the keys {place} are {}", listed(known, '`')));
    Problem {
        message: format!("unknown key `{key}` {place}"),
        label: "not a key".to_owned(),
        help: Some(help),
    }
}

fn unknown_value(value: &str, known: &[&str], path: &[String]) -> Problem {
    let key = path.last().map_or("this key", String::as_str);
    let help = nearest(value, known).map_or_else(
        || format!("write {}", listed(known, '"')),
        |known| format!("did you mean \"{known}\"?"),
    );
    Problem {
        message: format!("`{key}` cannot be {value:?}"),
        label: "not a value".to_owned(),
        help: Some(help),
    }
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |known: &&str| strsim::normalized_damerau_levenshtein(name, known);
    let nearest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&nearest) >= LEAST_LIKENESS).then_some(nearest)
}

/// The table that has a key of this name.
fn owner(key: &str) -> Option<String> {
    if EXAMPLE.contains_key(key) {
        return Some(place(&[]));
    }
    let has_key = |path: &[String]| table(path).is_some_and(|table| table.contains_key(key));
    EXAMPLE.keys().map(std::slice::from_ref).find(|path| has_key(path)).map(place)
}

/// The example's table of this name; of an array of tables, its first.
fn table(path: &[String]) -> Option<&'static Table> {
    path.iter().try_fold(&*EXAMPLE, |table, key| match table.get(key)? {
        Value::Array(items) => items.first()?.as_table(),
        value => value.as_table(),
    })
}

fn place(path: &[String]) -> String {
    match path {
        [] => "at the top of the file".to_owned(),
        [name] if EXAMPLE.get(name).is_some_and(Value::is_array) => format!("in [[{name}]]"),
        path => format!("in [{}]", path.join(".")),
    }
}

fn listed(names: &[&str], quote: char) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{quote}{name}{quote}")).collect();
    quoted.join(", ")
}

/// Serde's words for what people call otherwise.
fn plain(message: &str) -> String {
    let too_large = message.starts_with("invalid value: integer `") && !message.contains("`-");
    let u32 = if too_large {
        "expected at most 4294967295"
    } else {
        "expected a whole number of 0 or more"
    };
    message
        .replace("expected parsable string", "expected a size")
        .replace("expected an integer or string", "expected a size")
        .replace("a nonzero usize", "a whole number of 1 or more")
        .replace("a nonzero u64", "a whole number of 1 or more")
        .replace("a sequence", "a list in brackets")
        .replace("expected struct Options", "expected a table of keys")
        .replace("expected struct WindowOptions", "expected a table of keys")
        .replace("expected struct Policy", "expected a table of keys")
        .replace("invalid IP address syntax", "no network (address/bits)")
        .replace("expected u64", "expected a whole number of 0 or more")
        .replace("expected u32", u32)
        .replace("` as i128", "`")
        .replace('\n', ", ")
}
