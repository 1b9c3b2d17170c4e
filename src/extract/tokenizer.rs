//! Splits a page into tags and text: the tokenizer of the HTML Standard, 13.2.5, for a page that is decoded and in memory as a whole.
//!
//! What ends a token is searched for, so that text and values are slices of the page; only what has references or NULs is written anew.
//! Comments are skipped, and so are attributes that nobody reads. Parse errors are not reported.

use std::{borrow::Cow, cell::Cell};

use html5ever::{
    Attribute, LocalName, QualName,
    data::{C1_REPLACEMENTS, NAMED_ENTITIES},
    ns,
    tendril::StrTendril,
    tokenizer::{
        self, BufferQueue, Doctype, Tag, TagKind, TokenSink, TokenSinkResult, TokenizerOpts,
        states::RawKind,
    },
};
use memchr::{memchr, memchr2, memchr3, memmem};

/// Limit of attributes of a tag.
const MAX_ATTRIBUTES: usize = 256;
/// No name of a character is longer, with its semicolon.
const LONGEST_NAME: usize = 32;
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// A part of a page.
#[derive(Debug)]
pub(super) enum Token<'t> {
    Doctype(Doctype),
    Tag(Tag),
    /// Text up to the next markup, with its references resolved; never empty.
    Text(&'t str),
    /// A NUL, which the tree builder ignores or replaces depending on where it is.
    Null,
    /// A tag with too many attributes. What follows it cannot be read.
    Flood,
}

/// Reads tokens one after the other.
#[derive(Debug)]
pub(super) struct Tokenizer<'a> {
    text: &'a str,
    /// How many bytes are read.
    at: usize,
    /// How to read what follows.
    pub(super) state: State,
    /// The name of the last start tag as the page writes it: only its end tag ends raw text.
    name: &'a str,
    /// Which attributes are kept, given the names of a tag and of one of its attributes.
    keeps: fn(&LocalName, &str) -> bool,
    /// The last text that is not a slice of the page.
    buffer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Data,
    /// Text up to the end tag of the last start tag.
    Raw(RawKind),
    /// All of it is text.
    Plaintext,
    /// In a section of characters of foreign content, which ends here.
    Cdata(usize),
}

/// How deep a script is inside of what looks like a comment and a script in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    Comment,
    Script,
}

/// The page with line feeds in place of carriage returns, as [`Tokenizer`] reads it.
pub(super) fn normalised(text: &str) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    text.replace("\r\n", "\n").replace('\r', "\n").into()
}

impl<'a> Tokenizer<'a> {
    /// A tokenizer of a [`normalised`] page that keeps the attributes with these names.
    pub(super) fn new(text: &'a str, keeps: fn(&LocalName, &str) -> bool) -> Self {
        Self { text, at: 0, state: State::Data, name: "", keeps, buffer: String::new() }
    }

    /// The next token. `is_foreign` says whether the current element is in a namespace other than HTML's.
    pub(super) fn next(&mut self, is_foreign: impl Fn() -> bool) -> Option<Token<'_>> {
        while let Some(byte) = self.peek() {
            let (end, is_plain) = self.end_of_text();
            if end > self.at {
                return Some(Token::Text(self.text_to(end, is_plain)));
            }
            match self.state {
                State::Cdata(end) if end == self.at => {
                    self.at = self.text.len().min(end + 3);
                    self.state = State::Data;
                }
                State::Raw(_) => self.state = State::Data,
                _ if byte == 0 => {
                    self.at += 1;
                    return Some(Token::Null);
                }
                _ => {
                    if let Some(token) = self.markup(&is_foreign) {
                        return Some(token);
                    }
                }
            }
        }
        None
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// Where the text that starts here ends: the start of markup, of an end tag, or of a NUL that is a token of its own. Also whether nothing in
    /// it is to be replaced.
    fn end_of_text(&self) -> (usize, bool) {
        let nul = |end: usize| memchr(0, &self.bytes()[self.at..end]).map(|nul| self.at + nul);
        let end = match self.state {
            State::Data => return self.end_of_data(),
            State::Plaintext => self.text.len(),
            State::Cdata(end) => return (nul(end).unwrap_or(end), true),
            State::Raw(RawKind::ScriptData) => self.end_of_script(),
            State::Raw(_) => memchr::memchr_iter(b'<', self.rest())
                .map(|less| self.at + less)
                .find(|&less| self.is_end_tag(less))
                .unwrap_or(self.text.len()),
        };
        (end, self.state != State::Raw(RawKind::Rcdata) && nul(end).is_none())
    }

    fn end_of_data(&self) -> (usize, bool) {
        let bytes = self.bytes();
        let (mut at, mut is_plain) = (self.at, true);
        while !self.is_markup(at) {
            is_plain &= bytes[at] != b'&';
            let next = &bytes[at + 1..];
            at += 1 + memchr3(b'<', b'&', 0, next).unwrap_or(next.len());
        }
        (at, is_plain)
    }

    /// Whether markup or a NUL starts here, or the page ends.
    fn is_markup(&self, at: usize) -> bool {
        match self.bytes()[at..] {
            [b'<', b'/', _, ..] | [b'<', b'!' | b'?', ..] | [0, ..] | [] => true,
            [b'<', byte, ..] => byte.is_ascii_alphabetic(),
            _ => false,
        }
    }

    /// The end of a script: an end tag, but not that of a script inside of a comment.
    fn end_of_script(&self) -> usize {
        let bytes = self.bytes();
        let (mut at, mut escape) = (self.at, Escape::None);
        let is_script = |at: usize| is_tag_name(&bytes[at..], b"script");
        loop {
            let rest = &bytes[at..];
            let found = match escape {
                Escape::None => memchr(b'<', rest),
                _ => memchr2(b'<', b'-', rest),
            };
            let Some(found) = found else { return bytes.len() };
            at += found;
            let rest = &rest[found..];
            match escape {
                Escape::None | Escape::Comment if self.is_end_tag(at) => return at,
                // Its dashes may be those of its end.
                Escape::None if rest.starts_with(b"<!--") => {
                    escape = Escape::Comment;
                    at += 1;
                }
                Escape::None => {}
                _ if rest.starts_with(b"-->") => escape = Escape::None,
                Escape::Comment if rest[0] == b'<' && is_script(at + 1) => escape = Escape::Script,
                Escape::Script if rest.starts_with(b"</") && is_script(at + 2) => {
                    escape = Escape::Comment;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Whether the end tag of the last start tag is here.
    fn is_end_tag(&self, at: usize) -> bool {
        let rest = &self.bytes()[at..];
        rest.starts_with(b"</") && is_tag_name(&rest[2..], self.name.as_bytes())
    }

    /// Reads the text up to `end`.
    fn text_to(&mut self, end: usize, is_plain: bool) -> &str {
        let text = &self.text[self.at..end];
        self.at = end;
        if is_plain {
            return text;
        }
        let resolves = matches!(self.state, State::Data | State::Raw(RawKind::Rcdata));
        resolve(text, resolves, false, &mut self.buffer)
    }

    /// Reads the markup that starts here: a tag or a doctype; all other markup is skipped.
    fn markup(&mut self, is_foreign: &impl Fn() -> bool) -> Option<Token<'static>> {
        let rest = self.rest();
        let comment = match rest[1..] {
            [b'/', byte, ..] if byte.is_ascii_alphabetic() => return self.tag(TagKind::EndTag),
            [b'/', ..] => 2,
            [b'!', b'-', b'-', ..] => {
                self.at = self.end_of_comment(self.at + 4);
                return None;
            }
            [b'!', ..] if starts_with(&rest[2..], b"doctype") => {
                let start = self.at;
                self.skip_to_greater();
                return Some(Token::Doctype(doctype(&self.text[start..self.at])));
            }
            [b'!', ..] if rest[2..].starts_with(b"[CDATA[") && is_foreign() => {
                self.at += 9;
                let end = memmem::find(self.rest(), b"]]>");
                self.state = State::Cdata(end.map_or(self.text.len(), |end| self.at + end));
                return None;
            }
            [b'!' | b'?', ..] => 1,
            _ => return self.tag(TagKind::StartTag),
        };
        self.at += comment;
        self.skip_to_greater();
        None
    }

    /// Reads up to the next `>`, and that as well.
    fn skip_to_greater(&mut self) {
        self.at += memchr(b'>', self.rest()).map_or(self.rest().len(), |greater| greater + 1);
    }

    /// Where the comment ends whose text starts at `start`.
    fn end_of_comment(&self, start: usize) -> usize {
        let text = &self.bytes()[start..];
        let ends = |&end: &usize| {
            let text = &text[..end];
            matches!(text, b"" | b"-") || text.ends_with(b"--") || text.ends_with(b"--!")
        };
        start + memchr::memchr_iter(b'>', text).find(ends).map_or(text.len(), |end| end + 1)
    }

    /// Reads up to the first of these bytes, which are ASCII. What was read starts at `start`.
    fn take_until(&mut self, start: usize, ends: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.at += rest.iter().position(|&byte| ends(byte)).unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn skip_space(&mut self) {
        self.take_until(self.at, |byte| !is_space(byte));
    }

    /// Reads a tag; none if the page ends in it.
    fn tag(&mut self, kind: TagKind) -> Option<Token<'static>> {
        self.at += if kind == TagKind::StartTag { 1 } else { 2 };
        let name = self.take_until(self.at, ends_name);
        if kind == TagKind::StartTag {
            self.name = name;
        }
        let mut tag = Tag {
            kind,
            name: LocalName::from(lower(name)),
            self_closing: false,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        };
        let start = self.at;
        let (count, mut is_whole) = self.attributes(&mut tag, self.keeps);
        if count > MAX_ATTRIBUTES {
            // Attributes of the same name count once.
            let kept = std::mem::take(&mut tag.attrs);
            self.at = start;
            (_, is_whole) = self.attributes(&mut tag, |_, _| true);
            if std::mem::replace(&mut tag.attrs, kept).len() > MAX_ATTRIBUTES {
                return Some(Token::Flood);
            }
        }
        is_whole.then_some(Token::Tag(tag))
    }

    /// Reads the attributes of a tag and its end. Returns how many it has, and whether it has an end. Reads no more of a tag of which too many
    /// are kept.
    fn attributes(&mut self, tag: &mut Tag, keeps: fn(&LocalName, &str) -> bool) -> (usize, bool) {
        let mut count = 0;
        let mut after_slash = false;
        while let Some(byte) = self.peek() {
            let start = self.at;
            self.at += 1;
            if byte == b'>' {
                tag.self_closing = after_slash;
                return (count, true);
            }
            after_slash = byte == b'/';
            if after_slash || is_space(byte) {
                continue;
            }
            let name = self.take_until(start, |byte| byte == b'=' || ends_name(byte));
            self.skip_space();
            let value = if self.peek() == Some(b'=') { self.value() } else { "" };
            count += 1;
            let name = lower(name);
            if !keeps(&tag.name, &name) {
                continue;
            }
            let name = QualName::new(None, ns!(), LocalName::from(name));
            if tag.attrs.iter().all(|other| other.name != name) {
                let value = StrTendril::from_slice(resolve(value, true, true, &mut self.buffer));
                tag.attrs.push(Attribute { name, value });
            }
            if tag.attrs.len() > MAX_ATTRIBUTES {
                break;
            }
        }
        (count, false)
    }

    /// Reads the value of an attribute with the sign before it.
    fn value(&mut self) -> &'a str {
        self.at += 1;
        self.skip_space();
        let Some(quote @ (b'"' | b'\'')) = self.peek() else {
            return self.take_until(self.at, |byte| byte == b'>' || is_space(byte));
        };
        let start = self.at + 1;
        let rest = &self.bytes()[start..];
        let end = start + memchr(quote, rest).unwrap_or(rest.len());
        self.at = self.text.len().min(end + 1);
        &self.text[start..end]
    }
}

/// Reads a doctype. A page has one, so html5ever does it.
fn doctype(markup: &str) -> Doctype {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(markup));
    let tokenizer = tokenizer::Tokenizer::new(DoctypeSink::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.take().unwrap_or_default()
}

/// Keeps a doctype.
#[derive(Default)]
struct DoctypeSink(Cell<Option<Doctype>>);

impl TokenSink for DoctypeSink {
    type Handle = ();

    fn process_token(&self, token: tokenizer::Token, _: u64) -> TokenSinkResult<()> {
        if let tokenizer::Token::DoctypeToken(doctype) = token {
            self.0.set(Some(doctype));
        }
        TokenSinkResult::Continue
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | 0x0C)
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b'>' | b'/') || is_space(byte)
}

/// Whether bytes start with a word in lower case. Their case is ignored.
fn starts_with(bytes: &[u8], word: &[u8]) -> bool {
    bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Whether bytes start with this name and what ends it.
fn is_tag_name(bytes: &[u8], name: &[u8]) -> bool {
    starts_with(bytes, name) && bytes.get(name.len()).is_some_and(|&byte| ends_name(byte))
}

/// A name in lower case.
fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase() || byte == 0) {
        Cow::Owned(name.to_ascii_lowercase().replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(name)
    }
}

/// Replaces NULs, and references if `resolves`. What has neither is returned as it is, anything else is written to `buffer`.
fn resolve<'t>(
    text: &'t str,
    resolves: bool,
    in_attribute: bool,
    buffer: &'t mut String,
) -> &'t str {
    let next = |text: &str| {
        if resolves { memchr2(b'&', 0, text.as_bytes()) } else { memchr(0, text.as_bytes()) }
    };
    buffer.clear();
    let mut rest = text;
    while let Some(end) = next(rest) {
        buffer.push_str(&rest[..end]);
        rest = if let Some(rest) = rest[end..].strip_prefix('&') {
            reference(rest, in_attribute, buffer)
        } else {
            buffer.push(REPLACEMENT);
            &rest[end + 1..]
        };
    }
    if rest.len() == text.len() {
        return text;
    }
    buffer.push_str(rest);
    buffer
}

/// Writes the characters of the reference whose `&` stands before `text`, or the `&` if it is none. Returns what follows.
fn reference<'t>(text: &'t str, in_attribute: bool, buffer: &mut String) -> &'t str {
    let found = match text.strip_prefix('#') {
        Some(number) => numeric(number).map(|(char, rest)| ([char, '\0'], rest)),
        None => named(text, in_attribute),
    };
    let Some((chars, rest)) = found else {
        buffer.push('&');
        return text;
    };
    buffer.extend(chars.into_iter().filter(|&char| char != '\0'));
    rest
}

/// The character with this number, and what follows.
fn numeric(text: &str) -> Option<(char, &str)> {
    let (radix, digits) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (16, digits),
        None => (10, text),
    };
    let end = digits.find(|char: char| !char.is_digit(radix)).unwrap_or(digits.len());
    // A number that is too large is no character.
    let number = u32::from_str_radix(&digits[..end], radix).unwrap_or(u32::MAX);
    let replaced =
        || C1_REPLACEMENTS.get(usize::try_from(number.checked_sub(0x80)?).ok()?)?.as_ref();
    let char = match number {
        0 => REPLACEMENT,
        _ => replaced().copied().or(char::from_u32(number)).unwrap_or(REPLACEMENT),
    };
    let rest = &digits[end..];
    (end > 0).then_some((char, rest.strip_prefix(';').unwrap_or(rest)))
}

/// The characters with the longest name that `text` starts with, and what follows; a second character that is NUL is none.
fn named(text: &str, in_attribute: bool) -> Option<([char; 2], &str)> {
    let bytes = text.as_bytes();
    let length =
        bytes.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let found = |end: usize| NAMED_ENTITIES.get(&text[..end]).map(|&chars| (chars, end));
    let whole = (bytes.get(length) == Some(&b';')).then(|| found(length + 1)).flatten();
    // The table has all starts of names too. Some names need no semicolon.
    let starts = || (1..=length).map_while(found).filter(|((first, _), _)| *first != 0).last();
    let ((first, second), end) = whole.or_else(starts)?;
    let goes_on = |byte: &u8| *byte == b'=' || byte.is_ascii_alphanumeric();
    if in_attribute && whole.is_none() && bytes.get(end).is_some_and(goes_on) {
        return None;
    }
    let char = |number| char::from_u32(number).unwrap_or(REPLACEMENT);
    Some(([char(first), char(second)], &text[end..]))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use serde_json::{Value, json};

    use super::*;

    /// The tests of html5lib's suite. What is not read does not count: comments and errors.
    #[test]
    fn the_tokens_are_those_of_html5lib() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/html5lib");
        let mut count = 0;
        for file in fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "test") {
                continue;
            }
            let cases: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            for case in cases["tests"].as_array().unwrap() {
                count += usize::from(check(case).is_some());
            }
        }
        assert!(count > 600, "{count}");
    }

    /// Reads one case in each of its initial states. None if it has characters that no text has.
    fn check(case: &Value) -> Option<()> {
        let [mut input, mut output] = ["input", "output"].map(|name| case[name].clone());
        if case["doubleEscaped"] == true {
            unescape(&mut input)?;
            unescape(&mut output)?;
        }
        let expected = joined(output.as_array().unwrap().clone());
        let page = normalised(input.as_str().unwrap());
        let data = [json!("Data state")];
        for state in case["initialStates"].as_array().map_or(&data[..], |states| &states[..]) {
            let mut tokens = Tokenizer::new(&page, |_, _| true);
            // Without a start tag nothing ends raw text.
            tokens.name = case["lastStartTag"].as_str().unwrap_or("\0");
            tokens.state = match state.as_str().unwrap() {
                "Data state" => State::Data,
                "PLAINTEXT state" => State::Plaintext,
                "RCDATA state" => State::Raw(RawKind::Rcdata),
                "RAWTEXT state" => State::Raw(RawKind::Rawtext),
                "Script data state" => State::Raw(RawKind::ScriptData),
                "CDATA section state" => State::Cdata(page.find("]]>").unwrap_or(page.len())),
                other => panic!("{other}"),
            };
            let mut read = Vec::new();
            while let Some(token) = tokens.next(|| false) {
                read.push(as_value(token));
            }
            assert_eq!(joined(read), expected, "{} in {state}: {page:?}", case["description"]);
        }
        Some(())
    }

    fn as_value(token: Token<'_>) -> Value {
        match token {
            Token::Doctype(doctype) => {
                let [name, public_id, system_id] =
                    [&doctype.name, &doctype.public_id, &doctype.system_id]
                        .map(|part| part.as_deref());
                json!(["DOCTYPE", name, public_id, system_id, !doctype.force_quirks])
            }
            Token::Text(text) => json!(["Character", text]),
            Token::Null => json!(["Character", "\0"]),
            Token::Tag(tag) if tag.kind == TagKind::EndTag => json!(["EndTag", &*tag.name]),
            Token::Tag(tag) => {
                let attribute = |attribute: &Attribute| {
                    (attribute.name.local.to_string(), Value::from(&*attribute.value))
                };
                let attributes: Value = tag.attrs.iter().map(attribute).collect();
                let token = json!(["StartTag", &*tag.name, attributes, true]);
                let length = if tag.self_closing { 4 } else { 3 };
                token.as_array().unwrap()[..length].into()
            }
            Token::Flood => json!(["Flood"]),
        }
    }

    /// Tokens without comments, and with adjacent text as one.
    fn joined(tokens: Vec<Value>) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        for token in tokens.into_iter().filter(|token| token[0] != "Comment") {
            match all.last_mut() {
                Some(last) if last[0] == "Character" && token[0] == "Character" => {
                    let text = [&*last, &token].map(|token| token[1].as_str().unwrap()).concat();
                    last[1] = text.into();
                }
                _ => all.push(token),
            }
        }
        all
    }

    /// Resolves the escapes in all strings of a value. None if they are no characters.
    fn unescape(value: &mut Value) -> Option<()> {
        match value {
            Value::String(text) => *text = serde_json::from_str(&format!("\"{text}\"")).ok()?,
            Value::Array(values) => values.iter_mut().try_for_each(unescape)?,
            Value::Object(members) => members.values_mut().try_for_each(unescape)?,
            _ => {}
        }
        Some(())
    }

    fn tags(page: &str, keeps: fn(&LocalName, &str) -> bool) -> Vec<String> {
        let mut tokens = Tokenizer::new(page, keeps);
        let mut tags = Vec::new();
        while let Some(token) = tokens.next(|| false) {
            tags.push(as_value(token).to_string());
        }
        tags
    }

    #[test]
    fn attributes_that_nobody_reads_are_left_out() {
        let page = "<p é=1 ID = \"a&lt;\0\" data-x='>' id=b/><br/>";
        let read = [r#"["StartTag","p",{"id":"a<\ufffd"}]"#, r#"["StartTag","br",{},true]"#];
        assert_eq!(
            tags(page, |_, name| name == "id"),
            read.map(|tag| tag.replace("\\ufffd", "\u{fffd}"))
        );
    }

    #[test]
    fn equal_attributes_count_once() {
        let many =
            |count: usize| (0..count).map(|at| format!(" a{at}")).collect::<Vec<_>>().concat();
        let none = |_: &LocalName, _: &str| false;
        assert_eq!(tags(&format!("<p{}>", many(256)), none), [r#"["StartTag","p",{}]"#]);
        assert_eq!(tags(&format!("<p{}>", many(257)), none)[0], r#"["Flood"]"#);
        assert_eq!(tags(&format!("<p{}", many(257)), none)[0], r#"["Flood"]"#);
        assert_eq!(tags(&format!("<p{}>", many(100).repeat(9)), none).len(), 1);
    }

    #[test]
    fn ends_of_lines_are_normalised() {
        assert_eq!(normalised("\r\na\r\nb\rc\n\r\r\n"), "\na\nb\nc\n\n\n");
        assert!(matches!(normalised("a\n"), Cow::Borrowed("a\n")));
    }
}
