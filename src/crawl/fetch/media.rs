//! Decides whether a body is HTML: by its `Content-Type` or, without one, by its first bytes.

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
    /// There is no type, or a meaningless one: the body decides.
    Unknown,
}

impl Media {
    pub(super) fn of(content_type: Option<&str>) -> Self {
        let essence = content_type.unwrap_or_default().split([';', ',']).next().unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "unknown/unknown" | "application/unknown" | "*/*" => Self::Unknown,
            essence if essence.contains('/') => Self::Other,
            _ => Self::Unknown,
        }
    }
}

/// Whether a body is HTML or XHTML: by its `Content-Type`, or without a usable one by sniffing the decoded `body` as the
/// [WHATWG MIME Sniffing Standard](https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type) does.
///
/// ```
/// use pagesieve::crawl::fetch::is_html;
///
/// assert!(is_html(Some("Text/HTML; charset=gbk"), b""));
/// assert!(is_html(None, b"\n <!DOCTYPE html><title>x</title>"));
/// assert!(!is_html(Some("text/plain"), b"<html>"));
/// assert!(!is_html(None, b"%PDF-1.7"));
/// ```
#[must_use]
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    match Media::of(content_type) {
        Media::Html => true,
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
}
