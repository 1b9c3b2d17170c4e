//! Reads Rust source as far as the house rules need it: tokens with their lines, paths and functions.
//!
//! Skips comments, strings, characters and numbers, and removes test code.

use std::{collections::BTreeSet, ops::Range, path::Path};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

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
    flatten(text.parse().expect("it is Rust"), &mut tokens);
    tokens
}

/// Words and punctuation of a stream, with the delimiters of its groups. Literals and documentation, which the lexer makes attributes of, are
/// left out.
fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let token = |text: &str, line| Token { text: text.to_owned(), line };
    let trees: Vec<_> = stream.into_iter().collect();
    let colon = |at: usize| match trees.get(at) {
        Some(TokenTree::Punct(it)) if it.as_char() == ':' => Some(it.spacing()),
        _ => None,
    };
    let is_joined = |at| colon(at) == Some(Spacing::Joint) && colon(at + 1).is_some();
    for (at, tree) in trees.iter().enumerate() {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(word) => tokens.push(token(&word.to_string(), line)),
            TokenTree::Literal(_) => {}
            TokenTree::Punct(first) => {
                if is_joined(at) {
                    tokens.push(token("::", line));
                } else if at == 0 || !is_joined(at - 1) {
                    tokens.push(token(&first.to_string(), line));
                }
            }
            TokenTree::Group(group) => {
                let text = group.stream().to_string();
                if group.delimiter() == Delimiter::Bracket && text.starts_with("doc =") {
                    tokens.pop_if(|token| token.text == "!");
                    tokens.pop_if(|token| token.text == "#");
                    continue;
                }
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::None => ["", ""],
                };
                tokens.push(token(open, line));
                flatten(group.stream(), tokens);
                tokens.push(token(close, group.span_close().start().line));
            }
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
