//! What a server gives with a page so that it can be asked later whether the page has changed (RFC 9110, section 8.8).

/// The longest validators that are kept, both together, in bytes.
const LONGEST: usize = 1 << 10;

/// The validators of one response. They are sent back to its URL only, and as they were received.
///
/// ```
/// use pagesieve::page::Validators;
///
/// let validators = Validators::new(Some(b"W/\"7\""), None);
/// assert_eq!(validators.etag(), Some("W/\"7\""));
/// assert!(Validators::new(Some(b"*"), None).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

impl Validators {
    /// The validators of these headers. An `ETag` that is no entity tag is left out, as is a `Last-Modified` with other characters than
    /// a date has. Of more than 1 KiB together, nothing is kept.
    #[must_use]
    pub fn new(etag: Option<&[u8]>, last_modified: Option<&[u8]>) -> Self {
        let etag = etag.and_then(text).filter(|etag| is_entity_tag(etag));
        let last_modified = last_modified.and_then(text).filter(|date| may_be_date(date));
        let length =
            [&etag, &last_modified].into_iter().flatten().map(|it| it.len()).sum::<usize>();
        if length > LONGEST {
            return Self::default();
        }
        Self { etag: etag.map(str::to_owned), last_modified: last_modified.map(str::to_owned) }
    }

    /// The `ETag`, for `If-None-Match`.
    #[must_use]
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// The `Last-Modified`, for `If-Modified-Since`.
    #[must_use]
    pub fn last_modified(&self) -> Option<&str> {
        self.last_modified.as_deref()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// A header's value without white space around it, if it is printable ASCII.
fn text(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value.trim_ascii()).ok()?;
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')).then_some(text)
}

/// One tag in quotes. `*` and lists would ask the server something else.
fn is_entity_tag(text: &str) -> bool {
    let quoted = text.strip_prefix("W/").unwrap_or(text);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| inner.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'~')))
}

/// Whether the text has only what the three forms of a date have (RFC 9110, section 5.6.7), and a digit.
fn may_be_date(text: &str) -> bool {
    let is_of_date = |byte: u8| byte.is_ascii_alphanumeric() || b" ,:-".contains(&byte);
    text.bytes().all(is_of_date) && text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn etag(value: &[u8]) -> Option<String> {
        Validators::new(Some(value), None).etag().map(str::to_owned)
    }

    #[test]
    fn entity_tags_are_kept_as_they_are() {
        for tag in ["\"a\"", "W/\"a-b_c:1\"", "\"\"", "\"!#~\""] {
            assert_eq!(etag(tag.as_bytes()).as_deref(), Some(tag));
        }
        assert_eq!(etag(b"  \"a\" ").as_deref(), Some("\"a\""));
        let date = Validators::new(None, Some(DATE.as_bytes()));
        assert_eq!((date.etag(), date.last_modified()), (None, Some(DATE)));
    }

    #[test]
    fn what_is_no_entity_tag_or_date_is_left_out() {
        let others: [&[u8]; 11] = [
            b"",
            b"*",
            b"a",
            b"\"",
            b"w/\"a\"",
            b"\"a",
            b"\"a\", \"b\"",
            b"\"a b\"",
            b"\"a\x01\"",
            b"\"a\r\nX: y\"",
            b"\"\xff\"",
        ];
        for other in others {
            assert_eq!(etag(other), None, "{other:?}");
        }
        for other in ["", "never", "1; x", "Sun, 06 Nov 1994\r\nX: 1", "\u{661}"] {
            assert!(Validators::new(None, Some(other.as_bytes())).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn validators_of_more_than_a_kibibyte_are_left_out() {
        let tag = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert_eq!(etag(tag(LONGEST).as_bytes()), Some(tag(LONGEST)));
        assert_eq!(etag(tag(LONGEST + 1).as_bytes()), None);
        let both = Validators::new(Some(tag(LONGEST).as_bytes()), Some(DATE.as_bytes()));
        assert!(both.is_empty());
    }
}
