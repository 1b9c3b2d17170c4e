//! What a page declares about its article, in structured data and meta elements: hints for finding it on the page.
//!
//! The declared text is never used itself, because it may be outdated, cut or of another page. It only says which lines the page means:
//! those that contain it.

use serde_json::Value;

use super::{
    blocks::is_long,
    numbers::{SENTENCE, is_half, is_most},
    text::Writer,
};

/// No more of a declared text is read.
const MAX_TEXT: usize = 1 << 15;
/// Longer JSON is not read: it takes up to 32 times its length.
const LONGEST_JSON: usize = 1 << 20;
/// Length in bytes of the pieces by which texts are compared: letters and digits only, in lower case.
const PIECE: usize = 12;
/// Bits that hash values select.
const BITS: u32 = 18;

/// What a page declares.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// The longest text of an article.
    body: String,
    /// The sentences in the data from which a script makes the page.
    data: String,
    /// The longest description.
    description: String,
    /// The texts of a question and its answers.
    posts: String,
    /// Bits of what the page says it is.
    kinds: u8,
}

/// What a page says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Declaration {
    Article = 1,
    /// A question with answers, or a thread of a forum.
    Discussion = 2,
    Product = 4,
    /// A list of other pages.
    List = 8,
    /// Questions with their answers, by one author.
    Answers = 16,
    /// By Open Graph something other than an article.
    Website = 32,
}

impl Declared {
    /// Reads a description.
    pub(super) fn describe(&mut self, description: &str) {
        if description.len() > self.description.len() {
            description.clone_into(&mut self.description);
        }
    }

    /// Reads the name of a type in schema.org's vocabulary, or in Open Graph's.
    pub(super) fn is_of_type(&mut self, name: &str) {
        let name = name.rsplit(['/', '#', ':']).next().unwrap_or_default();
        self.kinds |= match name {
            "DiscussionForumPosting" | "QAPage" | "Question" => Declaration::Discussion as u8,
            // Its questions are those of one author.
            "FAQPage" => Declaration::Answers as u8,
            "product" | "Product" | "ProductGroup" | "IndividualProduct" => {
                Declaration::Product as u8
            }
            "website" => Declaration::Website as u8,
            "CollectionPage" | "SearchResultsPage" => Declaration::List as u8,
            "Article" | "NewsArticle" | "BlogPosting" | "TechArticle" | "ReportageNewsArticle" => {
                Declaration::Article as u8
            }
            _ => 0,
        };
    }

    /// Whether the page says that it is this, among other things.
    pub(super) fn says(&self, kind: Declaration) -> bool {
        let kinds = self.kinds;
        kinds & kind as u8 != 0
            && (kind != Declaration::Discussion || kinds & Declaration::Answers as u8 == 0)
    }

    /// Reads JSON-LD, or the data from which a script makes the page.
    pub(super) fn read(&mut self, json: &str, is_linked: bool) {
        if json.len() <= LONGEST_JSON
            && let Ok(value) = serde_json::from_str(json)
        {
            if is_linked { self.read_linked(value) } else { self.add_sentences(&value) }
        }
    }

    fn read_linked(&mut self, value: Value) {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            match value {
                Value::Array(items) => values.extend(items),
                Value::Object(members) => {
                    let kind = members.get("@type").and_then(Value::as_str);
                    if let (Some("Question" | "Answer"), Some(Value::String(text))) =
                        (kind, members.get("text"))
                    {
                        self.add_post(text);
                    }
                    for (name, value) in members {
                        match (&*name, value) {
                            ("@type", Value::String(name)) => self.is_of_type(&name),
                            ("articleBody", Value::String(text))
                                if text.len() > self.body.len() =>
                            {
                                self.body = text;
                            }
                            (_, value) => values.push(value),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// In the order of the data. JSON nested more than 128 deep was refused.
    fn add_sentences(&mut self, value: &Value) {
        match value {
            Value::String(text) if self.data.len() < MAX_TEXT && is_long(text) => {
                self.data.push_str(&without_tags(text));
                self.data.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_sentences(item)),
            Value::Object(members) => members.values().for_each(|item| self.add_sentences(item)),
            _ => {}
        }
    }

    /// The text that the page has in its data: that of its article, else all sentences.
    pub(super) fn text(&self) -> String {
        if self.body.is_empty() { self.data.clone() } else { without_tags(&self.body) }
    }

    /// Reads the text of a post, which may be markup.
    fn add_post(&mut self, text: &str) {
        if self.posts.len() < MAX_TEXT {
            self.posts.push_str(&without_tags(text));
        }
    }

    /// Finds the texts of a question and its answers, if most of them are on the page.
    pub(super) fn find_posts(&self, writer: &Writer) -> Option<Found> {
        find(&self.posts, writer)
    }

    /// Finds the text of the article, else its description, if most of it is on the page.
    pub(super) fn find_text(&self, writer: &Writer) -> Option<Found> {
        find(&self.body, writer).or_else(|| find(&self.description, writer))
    }
}

/// The text of markup.
fn without_tags(markup: &str) -> String {
    let mut is_tag = false;
    let is_shown = |char: &char| {
        let is_shown = !is_tag && *char != '<';
        is_tag = *char == '<' || (is_tag && *char != '>');
        is_shown
    };
    markup.chars().filter(is_shown).collect()
}

/// Whether the id of a script is that of the data from which it makes the page, as the frameworks Next.js and Nuxt name it.
pub(super) fn is_page_data(id: &str) -> bool {
    matches!(id, "__NEXT_DATA__" | "__NUXT_DATA__")
}

/// Whether the `type` of a script is that of JSON-LD.
pub(super) fn is_json(kind: &str) -> bool {
    kind.trim().eq_ignore_ascii_case("application/ld+json")
}

/// Where a declared text is on the page.
#[derive(Debug)]
pub(super) struct Found {
    /// For each segment how many pieces of the text it has.
    pub(super) pieces: Vec<usize>,
    /// Whether a line with a part of the text goes on, so that the text is an excerpt.
    pub(super) is_excerpt: bool,
}

fn find(text: &str, writer: &Writer) -> Option<Found> {
    if text.len() < SENTENCE {
        return None;
    }
    let mut known = vec![0_u64; 1 << (BITS - 6)];
    let mut all = 0;
    let mut buffer = Vec::new();
    pieces(&text[..text.floor_char_boundary(MAX_TEXT)], &mut buffer, |hash| {
        all += 1;
        known[hash >> 6] |= 1 << (hash & 63);
    });
    let (mut total, mut is_excerpt) = (0, false);
    let found_in = |index| {
        let (mut found, mut own) = (0, 0);
        pieces(writer.text_of(index), &mut buffer, |hash| {
            own += 1;
            found += usize::from(known[hash >> 6] >> (hash & 63) & 1 == 1);
        });
        // A few pieces of a line are found by chance, or are common words.
        if !is_half(found, own) && !is_half(found, all) {
            return 0;
        }
        is_excerpt |= !is_most(found, own);
        total += found;
        found
    };
    let pieces: Vec<usize> = (0..writer.segments.len()).map(found_in).collect();
    // What a page shows twice does not say where its article is.
    let is_repeated = pieces.iter().filter(|&&found| is_half(found, all)).count() > 1;
    (all > 0 && is_half(total, all) && !is_repeated).then_some(Found { pieces, is_excerpt })
}

/// Calls `each` with the hash of every piece of a text. `buffer` is kept for its memory.
fn pieces(text: &str, buffer: &mut Vec<u8>, mut each: impl FnMut(usize)) {
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    buffer.clear();
    if text.is_ascii() {
        let bytes = text.bytes().filter(u8::is_ascii_alphanumeric);
        buffer.extend(bytes.map(|byte| byte.to_ascii_lowercase()));
    } else {
        for char in text.chars().filter(|char| char.is_alphanumeric()) {
            let lower = char.to_ascii_lowercase();
            buffer.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    for piece in buffer.windows(PIECE) {
        // Eight bytes each, which overlap.
        let (Some(&start), Some(&end)) = (piece.first_chunk(), piece.last_chunk()) else { return };
        let hash = u64::from_le_bytes(start).wrapping_mul(BASE) ^ u64::from_le_bytes(end);
        each((hash.wrapping_mul(BASE) >> (64 - BITS)) as usize);
    }
}
