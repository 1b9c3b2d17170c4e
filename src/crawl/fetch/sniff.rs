//! What a body is: by its `Content-Type`, and by its first bytes, as the WHATWG MIME Sniffing Standard has it.

use encoding_rs::Encoding;

/// Patterns of the WHATWG MIME Sniffing Standard, section 7.1, that identify HTML; each must be followed by a space or `>`.
const HTML_OPENINGS: [&[u8]; 17] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
];

/// How many bytes of a body the standard examines.
const SNIFFED: usize = 1445;

/// What a `Content-Type` header says about a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Html,
    Other,
    /// There is no type, a meaningless one or none by the grammar (section 4.4): the body decides.
    Unknown,
}

impl Media {
    pub(super) fn of(content_type: Option<&str>) -> Self {
        let essence = content_type.unwrap_or_default().split([';', ',']).next().unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "unknown/unknown" | "application/unknown" | "*/*" => Self::Unknown,
            essence => match essence.split_once('/') {
                Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Self::Other,
                _ => Self::Unknown,
            },
        }
    }
}

/// Whether a body is HTML or XHTML: by its `Content-Type`, unless it begins as a well-known format of files does, or without a usable one by sniffing the decoded `body` as the
/// [WHATWG MIME Sniffing Standard](https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type) does.
///
/// ```
/// use pagesieve::crawl::fetch::is_html;
///
/// assert!(is_html(Some("Text/HTML; charset=gbk"), b""));
/// assert!(is_html(None, b"\n <!DOCTYPE html><title>x</title>"));
/// assert!(!is_html(Some("text/plain"), b"<html>"));
/// assert!(!is_html(Some("text/html"), b"%PDF-1.7"));
/// ```
#[must_use]
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    match Media::of(content_type) {
        Media::Html => format_of(body).is_none(),
        Media::Other => false,
        Media::Unknown => sniffs_as_html(&body[..body.len().min(SNIFFED)]),
    }
}

fn sniffs_as_html(head: &[u8]) -> bool {
    let start = head.iter().position(|byte| !b"\t\n\x0c\r ".contains(byte)).unwrap_or(head.len());
    let head = &head[start..];
    HTML_OPENINGS.iter().any(|opening| {
        head.get(..opening.len()).is_some_and(|found| found.eq_ignore_ascii_case(opening))
            && matches!(head.get(opening.len()), Some(b' ' | b'>'))
    })
}

/// Patterns of the standard's sections 6 and 7.1 that no text begins with.
const FORMATS: [(&[u8], &str); 14] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1A\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"\x1F\x8B\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1A\x07", "application/x-rar-compressed"),
    (b"OggS\0", "application/ogg"),
    (b"\x1A\x45\xDF\xA3", "video/webm"),
    (b"wOFF\0\x01\0\0", "font/woff"),
    (b"wOF2\0\x01\0\0", "font/woff2"),
];

/// The format of files that a body begins as, whatever its type says.
pub(in crate::crawl) fn format_of(body: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|(mark, _)| body.starts_with(mark)).map(|(_, name)| *name)
}

/// Whether a body that begins so is text: with a byte order mark, or without the control characters that the standard calls binary data bytes and
/// in UTF-8 or with a first character that is ASCII.
pub(super) fn is_text(head: &[u8]) -> bool {
    if Encoding::for_bom(head).is_some() {
        return true;
    }
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    let is_utf8 =
        || str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    let starts = head.trim_ascii_start().first().is_some_and(u8::is_ascii_graphic);
    !head.iter().any(is_binary) && (starts || is_utf8())
}

/// Whether this is a token of HTTP (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_without_its_parameters_and_case() {
        for html in
            ["text/html", " TEXT/Html ;charset=x", "application/xhtml+xml", "text/html,text/html"]
        {
            assert_eq!(Media::of(Some(html)), Media::Html, "{html}");
        }
        for other in
            ["text/plain", "image/png", "application/xml", "text/htmlx", "video/mp4; a=text/html"]
        {
            assert_eq!(Media::of(Some(other)), Media::Other, "{other}");
        }
        for unknown in [
            None,
            Some(""),
            Some("html"),
            Some(";charset=utf-8"),
            Some("unknown/unknown"),
            Some("*/*"),
        ] {
            assert_eq!(Media::of(unknown), Media::Unknown, "{unknown:?}");
        }
    }

    #[test]
    fn sniffing_asks_for_a_known_tag_and_its_end() {
        for html in [
            "<html>",
            "\t\r\n\x0c <HTML lang=de>",
            "<!doctype HTML>",
            "<p>",
            "<!-- x",
            "<a href>",
            "<br >",
        ] {
            assert!(is_html(None, html.as_bytes()), "{html}");
        }
        for other in [
            "",
            "   ",
            "<",
            "<html",
            "<article>",
            "<?xml version='1.0'?>",
            "x<html>",
            "\u{feff}<html>",
            "<!--x",
        ] {
            assert!(!is_html(None, other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_type_that_is_not_one_by_the_grammar_counts_as_missing() {
        for broken in [
            "\"text/html\"",
            "text /plain",
            "text/",
            "/html",
            "text/ht ml",
            "a/b/c",
            "<t>/x",
            "text\u{e4}/x",
        ] {
            assert_eq!(Media::of(Some(broken)), Media::Unknown, "{broken}");
            assert!(is_html(Some(broken), b"<!doctype html><p>"), "{broken}");
            assert!(!is_html(Some(broken), b"plain"), "{broken}");
        }
    }

    #[test]
    fn bytes_of_another_format_are_no_page_whatever_their_type_says() {
        for body in [&b"\x1f\x8b\x08\0"[..], b"\x89PNG\r\n\x1a\n", b"%PDF-1.4\n<html>"] {
            for named in [None, Some("text/html"), Some("application/xhtml+xml"), Some("x")] {
                assert!(!is_html(named, body), "{named:?}");
            }
        }
        assert!(is_html(Some("text/html"), b"GIF pictures"));
    }

    #[test]
    fn text_has_no_control_characters() {
        for text in
            ["x", " \t\n<p>", "\u{4f60}\u{597d}", "\u{feff}User-agent: *\r\n", "<p>caf\u{e9}"]
        {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        assert!(is_text(&"\u{4f60}\u{597d}".as_bytes()[..5]), "cut within a character");
        assert!(is_text(b"<p>caf\xe9"));
        for other in [&b"a\0b"[..], b"\xff\xff", b"\x1f\x8b", b"x\x9c\x01"] {
            assert!(!is_text(other));
        }
    }
}
