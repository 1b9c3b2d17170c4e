//! What documents, decisions and errors look like, for the description of the routes (`OpenAPI`).

#![expect(dead_code, reason = "the fields describe what is read and written elsewhere")]

use utoipa::{
    Modify, ToSchema,
    openapi::{
        OpenApi as Document,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

/// The token that a service may require.
pub(super) struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("Only if the service was started with a token."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

/// A document to be judged. It has either `text` or `html`.
#[derive(Debug, ToSchema)]
pub(super) struct Submitted {
    /// What the document is called; it can be left out if there is a `url`, which is then its id. A later one with the same id is a version of
    /// it, not its duplicate. The integer 5 and the string "5" are two ids.
    #[schema(required = false)]
    id: Option<StringOrInteger>,
    /// Text without markup.
    text: Option<String>,
    /// A page.
    html: Option<String>,
    /// The page's URL: links and templates are those of its site.
    url: Option<String>,
    /// When it arrived: RFC 3339 with a time zone, or seconds or milliseconds since 1970. Default: now, also for a time up to a day ahead; one
    /// further ahead is refused.
    #[schema(required = false)]
    time: Option<StringOrNumber>,
}

/// A string or an integer
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub(super) enum StringOrInteger {
    Text(String),
    Number(i64),
}

/// A string or a number
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub(super) enum StringOrNumber {
    Text(String),
    Number(f64),
}

/// A document, or an array of them
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(Submitted),
    Many(Vec<Submitted>),
}

/// What was decided about a document: a line of `pagesieve filter`.
#[derive(Debug, ToSchema)]
pub(super) struct Decided {
    /// The id of the document. An integer is written as a string.
    id: String,
    /// Its URL; absent if it has none.
    #[schema(nullable = false)]
    url: Option<String>,
    verdict: Verdict,
    /// The step that found it, if it is a duplicate.
    #[schema(required = true)]
    step: Option<Step>,
    /// The document that it repeats, if it is a duplicate.
    #[schema(required = true)]
    r#match: Option<Matched>,
    /// The version of the document that the window had before, if it is unchanged or changed; absent otherwise.
    #[schema(nullable = false)]
    previous: Option<Previous>,
    /// 64 bits as 16 hexadecimal digits; null for a text without words.
    #[schema(required = true)]
    fingerprint: Option<String>,
    /// Characters of the text.
    chars: u64,
    /// Distinct features of the text.
    features: u32,
    /// ISO 639-1 code of the language, if it was detected.
    #[schema(required = true)]
    lang: Option<String>,
    /// Whether the document has hardly any content of its own.
    thin: bool,
    /// Why the page was cut; absent if it was not.
    #[schema(nullable = false)]
    truncated: Option<String>,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
enum Verdict {
    Unique,
    Exact,
    Near,
    /// The window has the document with the same text or bytes.
    Unchanged,
    /// The window has another version of the document.
    Changed,
}

/// A version of a document.
#[derive(Debug, ToSchema)]
struct Previous {
    /// When it arrived: RFC 3339.
    time: String,
    /// Number of differing bits of the 64 of the fingerprint; null if a text is too short.
    #[schema(required = true)]
    distance: Option<u32>,
    /// Number of differing bits of the 256 of the signature; null if a text is too short.
    #[schema(required = true)]
    signature_distance: Option<u32>,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
enum Step {
    Body,
    Text,
    Near,
}

/// The document that a duplicate repeats.
#[derive(Debug, ToSchema)]
struct Matched {
    /// Null if it has left the window since, or was removed.
    #[schema(required = true)]
    id: Option<String>,
    /// Number of differing bits of the 64 of the fingerprint.
    distance: u32,
    /// Number of differing bits of the 256 of the signature.
    signature_distance: u32,
    /// From 0 to 1, by the measure that decided.
    similarity: f64,
}

/// A decision, or an array of them if the body was one
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub(super) enum OneOrManyDecided {
    One(Decided),
    Many(Vec<Decided>),
}

/// A line of the answer: a decision, or what is wrong with a line
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub(super) enum DecidedOrWrong {
    Decided(Decided),
    Wrong(WrongLine),
}

/// A line that is no document.
#[derive(Debug, ToSchema)]
pub(super) struct WrongLine {
    /// What is wrong, and what to do.
    error: String,
    /// The number of the line, from 1.
    line: u64,
}

/// Two documents to be compared.
#[derive(Debug, ToSchema)]
pub(super) struct Pair {
    a: Submitted,
    /// The one that comes after it.
    b: Submitted,
}
