//! Reads Rust source as far as the house rules need it: tokens with their lines, paths and functions.
//!
//! Skips comments, strings, characters and numbers, and removes test code.

use std::{collections::BTreeSet, ops::Range, path::Path};

/// A word or a punctuation character, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A source file without its tests.
pub(crate) struct Source {
    /// The module that the file is, from the crate's root.
    pub(crate) module: Vec<String>,
    pub(crate) tokens: Vec<Token>,
    /// Modules in other files that it declares for tests only.
    pub(crate) tests: Vec<Vec<String>>,
}

/// A path that begins with `crate`, `self` or `super`, resolved from the crate's root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

impl Source {
    /// `file` is relative to `src`.
    pub(crate) fn new(file: &Path, text: &str) -> Self {
        let mut module: Vec<String> = file
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        let mut tokens = tokens(text);
        let mut tests = Vec::new();
        while let Some(test) = test_item(&tokens) {
            let item: Vec<String> = tokens.drain(test).map(|token| token.text).collect();
            if let [.., word, name, end] = item.as_slice()
                && (word.as_str(), end.as_str()) == ("mod", ";")
            {
                tests.push(module.iter().chain([name]).cloned().collect());
            }
        }
        Self { module, tokens, tests }
    }

    /// What the file names of its own crate.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        let mut inner = Vec::new();
        let mut depth = 0;
        let mut at = 0;
        while at < self.tokens.len() {
            let mut next = at + 1;
            match self.text(at) {
                "mod" if self.text(at + 2) == "{" => inner.push((self.text(at + 1), depth)),
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.pop_if(|(_, opened)| *opened == depth);
                }
                start @ ("crate" | "self" | "super") if self.begins_path(at) => {
                    let names = inner.iter().map(|(name, _)| (*name).to_owned());
                    let mut path: Vec<String> = self.module.iter().cloned().chain(names).collect();
                    enter(&mut path, start);
                    self.read_tree(&mut next, &path, &mut found);
                }
                _ => {}
            }
            at = next;
        }
        found
    }

    /// What `use` declarations name that begin with neither `crate`, `self` nor `super`: child modules, and other crates.
    pub(crate) fn relative_uses(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            let name = self.text(at + 1);
            if self.text(at) == "use" && !["crate", "self", "super", "::"].contains(&name) {
                let mut path = self.module.clone();
                path.push(name.to_owned());
                self.read_tree(&mut (at + 2), &path, &mut found);
            }
        }
        found
    }

    /// Name, first line and length of every function.
    pub(crate) fn functions(&self) -> Vec<(String, usize, usize)> {
        let begins = (0..self.tokens.len()).filter(|&at| self.text(at) == "fn");
        begins
            .filter_map(|at| {
                let first = &self.tokens[at + 1];
                let body =
                    (at..self.tokens.len()).find(|&at| ["{", ";"].contains(&self.text(at)))?;
                let last = self.tokens.get(closing(&self.tokens, body)?)?.line;
                Some((first.text.clone(), first.line, last - first.line + 1))
            })
            .collect()
    }

    /// How many lines have code that is not a test.
    pub(crate) fn lines_of_code(&self) -> usize {
        self.tokens.iter().map(|token| token.line).collect::<BTreeSet<_>>().len()
    }

    /// The macros that are called, with their lines.
    pub(crate) fn macros(&self) -> impl Iterator<Item = &Token> {
        self.tokens.windows(2).filter(|two| two[1].text == "!").map(|two| &two[0])
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    fn begins_path(&self, at: usize) -> bool {
        let before = if at == 0 { "" } else { self.text(at - 1) };
        self.text(at + 1) == "::" && !["::", "in"].contains(&before)
    }

    /// Reads what follows a path: nothing, `::name…` or `::{…, …}`.
    fn read_tree(&self, at: &mut usize, path: &[String], found: &mut Vec<Mention>) {
        let line = self.tokens[*at - 1].line;
        if self.text(*at) != "::" || self.text(*at + 1) == "<" {
            return found.push(Mention { path: path.to_vec(), line });
        }
        *at += 2;
        if self.text(*at - 1) != "{" {
            let mut path = path.to_vec();
            enter(&mut path, self.text(*at - 1));
            return self.read_tree(at, &path, found);
        }
        while self.text(*at) != "}" {
            let mut path = path.to_vec();
            enter(&mut path, self.text(*at));
            *at += 1;
            self.read_tree(at, &path, found);
            while ![",", "}"].contains(&self.text(*at)) {
                *at += 1; // `as name`
            }
            if self.text(*at) == "," {
                *at += 1;
            }
        }
        *at += 1;
    }
}

/// Goes on from a module by one segment of a path.
fn enter(path: &mut Vec<String>, segment: &str) {
    match segment {
        "crate" => path.clear(),
        "super" => drop(path.pop()),
        "self" => {}
        name => path.push(name.to_owned()),
    }
}

/// The first item that is compiled for tests only, from its attribute to its end.
fn test_item(tokens: &[Token]) -> Option<Range<usize>> {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    let start = tokens
        .windows(attribute.len())
        .position(|window| window.iter().zip(attribute).all(|(token, part)| token.text == part))?;
    let body = tokens[start..].iter().position(|token| ["{", ";"].contains(&&*token.text))? + start;
    Some(start..closing(tokens, body)? + 1)
}

/// Where the block ends that begins at `at`; a `;` is its own end.
fn closing(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match &*token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (length, counts) = measure(rest, first);
        let (passed, next) = rest.split_at(length);
        if counts {
            tokens.push(Token { text: passed.to_owned(), line });
        }
        line += passed.matches('\n').count();
        rest = next;
    }
    tokens
}

/// Length in bytes of what stands at the beginning, and whether it is a token that counts.
fn measure(rest: &str, first: char) -> (usize, bool) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let after = &rest[word..];
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (comment(rest), false)
    } else if ["r", "br", "cr"].contains(&&rest[..word]) && raw_hashes(after).is_some() {
        let end = format!("\"{}", "#".repeat(raw_hashes(after).unwrap()));
        let begins = word + end.len();
        (begins + rest[begins..].find(&end).map_or(0, |at| at + end.len()), false)
    } else if first == '"' {
        (quoted(rest, '"'), false)
    } else if first == '\'' {
        let is_char = rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'');
        (if is_char { quoted(rest, '\'') } else { 1 }, false)
    } else if is_word(first) {
        (word, !first.is_ascii_digit())
    } else if rest.starts_with("::") {
        (2, true)
    } else {
        (first.len_utf8(), !first.is_whitespace())
    }
}

/// How many `#` a raw string has, if `rest` goes on as one.
fn raw_hashes(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// Length of a string or character with its quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = true; // the opening quote is passed over
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of a block comment, in which others may be nested.
fn comment(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    loop {
        let next = &rest[at..];
        if next.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if next.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            let Some(c) = next.chars().next() else { return rest.len() };
            at += c.len_utf8();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(file: &str, text: &str) -> Vec<String> {
        let source = Source::new(Path::new(file), text);
        source.mentions().into_iter().map(|mention| mention.path.join("::")).collect()
    }

    #[test]
    fn nested_trees_over_several_lines_are_read() {
        let text = "use crate::{\n    a::{b::C, d::{self, E as F}},\n    g,\n};\nuse std::io;";
        assert_eq!(paths("x/mod.rs", text), ["a::b::C", "a::d", "a::d::E", "g"]);
    }

    #[test]
    fn super_and_self_are_resolved_from_the_file_and_the_module_within() {
        assert_eq!(paths("a/b.rs", "use super::{c, super::d};"), ["a::c", "d"]);
        assert_eq!(
            paths("a/mod.rs", "mod m { use super::X; } pub use self::n::Y;"),
            ["a::X", "a::n::Y"]
        );
    }

    #[test]
    fn paths_in_code_count_and_those_in_visibilities_comments_and_strings_do_not() {
        let text = "pub(in crate::a) fn f() { crate::b::g::<T>(\"crate::c\", 'c', r#\"\"crate::d\"#) } // crate::e\n/* crate::f /* */ crate::g */";
        assert_eq!(paths("a/b.rs", text), ["b::g"]);
    }

    #[test]
    fn tests_are_cut_out() {
        let text =
            "fn f() {}\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more {\n    use crate::z;\n}\n";
        let source = Source::new(Path::new("a.rs"), text);
        assert_eq!((source.lines_of_code(), source.mentions()), (1, vec![]));
        assert_eq!(source.functions(), [("f".to_owned(), 1, 1)]);
        assert_eq!(source.tests, [["a", "tests"]]);
    }
}
