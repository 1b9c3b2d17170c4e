//! Resolves the links of a page.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

use encoding_rs::{Encoding, UTF_8};
use url::Url;

/// Limit of links of a page; a page with more is a trap for crawlers.
const MAX_LINKS: usize = 10_000;
/// Limit of the length of all links of a page together.
const MAX_BYTES: usize = 4 << 20;
/// Limit of the length of a link, after [`Url`] has encoded it. No longer URL is fetched.
const MAX_URL: usize = 2048;
/// Limit of the length of a link as written, with the white space that does not count.
const MAX_HREF: usize = 4 * MAX_URL;
/// Limit of the length of a host (RFC 1035). To encode a longer one takes time quadratic in its length, so it counts as this many bytes.
const MAX_HOST: usize = 253;
const LONG_HOST: usize = 64 << 10;

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The target, resolved, without fragment.
    pub url: Url,
    /// Whether every occurrence on the page is marked `rel=nofollow`.
    pub nofollow: bool,
}

/// A link as written on the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawLink<'a> {
    pub(super) href: &'a str,
    pub(super) nofollow: bool,
    /// The block that holds it.
    pub(super) block: usize,
}

/// The host of a page without a URL. No page has this host (RFC 6761).
const NOWHERE: &str = "page.invalid";

/// Against what the links of a page are resolved.
#[derive(Clone, Debug)]
pub(super) struct Base {
    url: Url,
    /// The encoding of the page, in which queries are percent-encoded.
    encoding: &'static Encoding,
}

impl Base {
    /// The document base URL by the HTML Standard: the first `base` if it is usable, otherwise the page's own URL.
    pub(super) fn new(page: Option<&Url>, base: Option<&str>, encoding: &'static Encoding) -> Self {
        let nowhere = || Url::parse(&format!("http://{NOWHERE}/")).expect("it is a URL");
        let url = page.cloned().unwrap_or_else(nowhere);
        let page = Self { url, encoding: encoding.output_encoding() };
        let usable = |url: &Url| !matches!(url.scheme(), "data" | "javascript");
        match base.and_then(|base| page.join(base)).filter(usable) {
            Some(url) => Self { url, ..page },
            None => page,
        }
    }

    /// Resolves a link to a URL that can be crawled, without its fragment. Of a page without a URL, it may be [nowhere](is_nowhere).
    pub(super) fn resolve(&self, href: &str) -> Option<Url> {
        let mut url = self.join(href.split_once('#').map_or(href, |(address, _)| address))?;
        url.set_fragment(None);
        matches!(url.scheme(), "http" | "https").then_some(url)
    }

    fn join(&self, href: &str) -> Option<Url> {
        if href.len() > MAX_HREF {
            return None;
        }
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> =
            &|query| Cow::Owned(encoded(query, self.encoding));
        let encode = (self.encoding != UTF_8).then_some(encode);
        let options = Url::options().base_url(Some(&self.url)).encoding_override(encode);
        let url = options.parse(href).ok()?;
        (url.as_str().len() <= MAX_URL).then_some(url)
    }
}

/// The bytes of a query in this encoding, by the URL Standard ("percent-encode after encoding"): a character that the encoding does not have is
/// written as an HTML character number.
fn encoded(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let encode = |text: &str| {
        let (bytes, _, is_lossy) = encoding.encode(text);
        (!is_lossy).then(|| bytes.into_owned())
    };
    let of_char = |char: char| {
        let number = || format!("%26%23{}%3B", u32::from(char)).into_bytes();
        encode(char.encode_utf8(&mut [0; 4])).unwrap_or_else(number)
    };
    encode(query).unwrap_or_else(|| query.chars().flat_map(of_char).collect())
}

/// Whether a URL is one of a page without a URL: only how its path ends is known.
pub(super) fn is_nowhere(url: &Url) -> bool {
    url.host_str() == Some(NOWHERE)
}

/// Where a link stands: of several occurrences the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkPlace {
    /// In navigation, header, footer or the like.
    Beside,
    /// In the content, but not in the body text.
    Content,
    Body,
}

/// Resolves all links, in page order, each URL once, with its place.
pub(super) fn resolve_all<'a>(
    base: &Base,
    raw: impl Iterator<Item = RawLink<'a>>,
    place: impl Fn(&RawLink<'a>) -> LinkPlace,
) -> Vec<(Link, LinkPlace)> {
    let mut links: Vec<(Link, LinkPlace)> = Vec::new();
    let mut by_url: HashMap<Url, usize> = HashMap::new();
    // Pages repeat links, and a repeated one need not be parsed again.
    let mut by_href: HashMap<&str, Option<usize>> = HashMap::new();
    let mut bytes = 0;
    for link in raw {
        let RawLink { href, nofollow, .. } = link;
        let href = href.split_once('#').map_or(href, |(address, _)| address);
        let index = match by_href.entry(href) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if links.len() == MAX_LINKS || bytes >= MAX_BYTES => None,
            Entry::Vacant(new) => *new.insert(base.resolve(href).and_then(|url| {
                if url.host_str().is_some_and(|host| host.len() > MAX_HOST) {
                    bytes += LONG_HOST;
                    return None;
                }
                Some(*by_url.entry(url).or_insert_with_key(|url| {
                    bytes += url.as_str().len();
                    links.push((Link { url: url.clone(), nofollow: true }, LinkPlace::Beside));
                    links.len() - 1
                }))
            })),
        };
        if let Some((known, its_place)) = index.map(|index| &mut links[index]) {
            known.nofollow &= nofollow;
            *its_place = place(&link).max(*its_place);
        }
    }
    links
}

/// The target in the `content` of a meta refresh, by the HTML Standard's "shared declarative refresh steps".
pub(super) fn refresh_target(content: &str) -> Option<&str> {
    let content = content.trim_ascii_start();
    let after = content.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
    if after.len() == content.len() || !after.starts_with([';', ',', ' ', '\t', '\n', '\x0C', '\r'])
    {
        return None;
    }
    let after = after.trim_ascii_start();
    let target = after.strip_prefix([';', ',']).unwrap_or(after).trim_ascii_start();
    let target = after_url_key(target).unwrap_or(target);
    let target = match target.chars().next() {
        Some(quote @ ('"' | '\'')) => target[1..].split(quote).next().unwrap_or_default(),
        _ => target,
    };
    (!target.is_empty()).then_some(target)
}

/// The rest after `url =`.
fn after_url_key(target: &str) -> Option<&str> {
    let (key, rest) = target.split_at_checked(3)?;
    let rest = rest.trim_ascii_start().strip_prefix('=')?;
    key.eq_ignore_ascii_case("url").then(|| rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::refresh_target;

    #[test]
    fn a_refresh_names_its_target_in_many_spellings() {
        for content in
            ["0;url=a b", "0; URL = 'a b' x", " 5,a b", "1.5 ; url=\"a b\"", "0 a b", "3;uRl=a b"]
        {
            assert_eq!(refresh_target(content), Some("a b"), "{content}");
        }
        for content in ["", "5", "5;", "5; url=", "url=a", "x;url=a", "5x;url=a", "5;url=''"] {
            assert_eq!(refresh_target(content), None, "{content}");
        }
        assert_eq!(refresh_target("0; urlaub.html"), Some("urlaub.html"));
    }
}
