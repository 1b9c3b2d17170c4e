//! The words of which the names of classes and ids are made.

use std::collections::HashMap;

/// The longest name that is read: longer ones are made by machines and say nothing.
const MAX_NAME: usize = 40;

/// What words say, from a file of them.
#[derive(Debug)]
pub(super) struct Table<R> {
    rules: HashMap<&'static str, R>,
    /// Bit n of place b: some word of n bytes begins with byte b. Nearly all other words are told from these without being hashed.
    shapes: [u64; 256],
}

impl<R: Copy> Table<R> {
    /// Reads words under headings in brackets; `rule_of` tells what a heading means. Lines that begin with `#` are comments.
    pub(super) fn read(file: &'static str, rule_of: impl Fn(&str) -> R) -> Self {
        let mut table = Self { rules: HashMap::new(), shapes: [0; 256] };
        let mut rule = None;
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if let Some(heading) = line.strip_prefix('[') {
                rule = Some(rule_of(heading.trim_end_matches(']')));
            } else if let Some(rule) = rule {
                line.split_whitespace().for_each(|word| table.insert(word, rule));
            }
        }
        table
    }

    fn insert(&mut self, word: &'static str, rule: R) {
        self.shapes[usize::from(word.as_bytes()[0])] |= 1 << word.len();
        self.rules.insert(word, rule);
    }

    /// The rule of a word of less than 64 bytes.
    pub(super) fn get(&self, word: &str) -> Option<R> {
        let first = usize::from(*word.as_bytes().first()?);
        if self.shapes[first] >> word.len() & 1 == 0 {
            return None;
        }
        self.rules.get(word).copied()
    }
}

/// What `judge` makes of a name as written and in lower case; nothing of one that is too long.
pub(super) fn judge<T>(name: &str, judge: impl FnOnce(&str, &str) -> T) -> Option<T> {
    let mut buffer = [0; MAX_NAME];
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    Some(judge(name, str::from_utf8(lower).ok()?))
}

/// The words of a name from the last to the first, as ranges. A word begins behind `-` or `_`, or at a capital that follows a
/// small letter.
#[derive(Debug)]
pub(super) struct Words<'a> {
    pub(super) name: &'a str,
    pub(super) end: usize,
}

impl Iterator for Words<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let end = self.name[..self.end].trim_end_matches(['-', '_']).len();
        let bytes = &self.name.as_bytes()[..end];
        let begins = |&at: &usize| {
            matches!(bytes[at - 1], b'-' | b'_')
                || (bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
        };
        let start = (1..end).rev().find(begins).unwrap_or(0);
        self.end = start;
        (end > 0).then_some((start, end))
    }
}
