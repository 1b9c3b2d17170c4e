//! The normal form of a URL: the identity of a page and the key of the queue. Also its origin and its site.

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt,
    fmt::Write,
    hash::{Hash, Hasher},
    net::Ipv4Addr,
    str,
};

use serde::{Deserialize, Serialize};
use url::Url;

/// The longest normal URL, in characters.
const MAX_LENGTH: usize = 2048;

/// The most levels of a path: the slashes in it.
const MAX_LEVELS: usize = 32;

/// Which parts of a URL do not distinguish pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct UrlOptions {
    /// Query parameters to remove. Case is ignored; a trailing `*` matches any ending.
    pub tracking: Vec<String>,
}

impl Default for UrlOptions {
    fn default() -> Self {
        let lines = include_str!("tracking.txt").lines();
        let names = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { tracking: names.map(str::to_owned).collect() }
    }
}

impl UrlOptions {
    fn is_tracking(&self, parameter: &str) -> bool {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name).as_bytes();
        self.tracking.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name
                .get(..start.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes())),
            None => name.eq_ignore_ascii_case(pattern.as_bytes()),
        })
    }
}

/// A URL in normal form: `http` or `https`, at most 2,048 characters and 32 levels of path, without fragment, credentials, tracking
/// parameters, an empty query and the trailing dot of the host name; percent-encoding is normalised by RFC 3986, section 6.2.2.
///
/// Differences that may mean different pages stay: doubled slashes, the order of parameters, empty parameters.
///
/// The normal form is for comparing: two spellings of one are equal. What is requested is the URL as it was given ([`NormalUrl::requested`]),
/// because servers redirect to the spelling that they want.
///
/// ```
/// use pagesieve::page::{NormalUrl, UrlOptions};
///
/// let url = NormalUrl::parse("HTTP://Example.org.:80/%7euser/%e4?utm_source=x#top", &UrlOptions::default())?;
/// assert_eq!(url.as_str(), "http://example.org/~user/%E4");
/// # Ok::<(), pagesieve::page::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NormalUrl {
    normal: Url,
    /// The spelling that was given, if it is another one.
    given: Option<Box<Url>>,
}

impl PartialEq for NormalUrl {
    fn eq(&self, other: &Self) -> bool {
        self.normal == other.normal
    }
}

impl Eq for NormalUrl {}

impl PartialOrd for NormalUrl {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NormalUrl {
    fn cmp(&self, other: &Self) -> Ordering {
        self.normal.cmp(&other.normal)
    }
}

impl Hash for NormalUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normal.hash(state);
    }
}

/// A host: its name and port, as in `example.org:443`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(Box<str>);

/// A URL that has no normal form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It is not an absolute URL by the WHATWG URL Standard.
    #[error("not a URL")]
    Syntax(#[source] url::ParseError),
    /// Its scheme is neither `http` nor `https`.
    #[error("the scheme is {0}, only http and https can be fetched")]
    Scheme(String),
    /// Its host name is a dot, or ends in several dots.
    #[error("the host name {0} has an empty label")]
    Host(String),
    /// Its normal form is too long.
    #[error("the URL has {0} characters, the limit is {MAX_LENGTH}")]
    TooLong(usize),
    /// Its path has too many levels: a trap for crawlers.
    #[error("the path has {0} levels, the limit is {MAX_LEVELS}")]
    TooDeep(usize),
}

impl NormalUrl {
    /// The normal form of an absolute URL.
    ///
    /// # Errors
    ///
    /// If the scheme is neither `http` nor `https`, the host ends in an empty label, or the normal form is longer than 2,048
    /// characters or has more than 32 levels of path.
    pub fn new(url: &Url, options: &UrlOptions) -> Result<Self, UrlError> {
        let mut url = fetchable(url)?;
        if let Some(query) = url.query() {
            let is_kept = |it: &&str| !options.is_tracking(&normalise(it.as_bytes(), b""));
            let kept = query.split('&').filter(is_kept).collect::<Vec<_>>().join("&");
            if kept != query {
                url.set_query(Some(&*kept).filter(|query| !query.is_empty()));
            }
        }
        let path = normalise(url.path().as_bytes(), b"").into_owned();
        let query = url.query().map(|query| normalise(query.as_bytes(), b"").into_owned());
        let query = query.filter(|query| !query.is_empty());
        let given = url.clone();
        if path != url.path() {
            url.set_path(&path);
        }
        if query.as_deref() != url.query() {
            url.set_query(query.as_deref());
        }
        let levels = url.path().bytes().filter(|byte| *byte == b'/').count();
        match (url.as_str().len(), levels) {
            (..=MAX_LENGTH, ..=MAX_LEVELS) => Ok(Self { normal: url, given: None }.given_as(given)),
            (..=MAX_LENGTH, levels) => Err(UrlError::TooDeep(levels)),
            (length, _) => Err(UrlError::TooLong(length)),
        }
    }

    /// The normal form of the target of a redirect. It is requested with its tracking parameters, because its server wants them.
    ///
    /// # Errors
    ///
    /// As [`NormalUrl::new`].
    pub fn redirected(url: &Url, options: &UrlOptions) -> Result<Self, UrlError> {
        Ok(Self::new(url, options)?.given_as(fetchable(url)?))
    }

    /// The same URL in this spelling, unless that is too long.
    fn given_as(self, given: Url) -> Self {
        let is_other = given != self.normal && given.as_str().len() <= MAX_LENGTH;
        Self { given: is_other.then(|| Box::new(given)), ..self }
    }

    /// Parses an absolute URL and normalises it.
    ///
    /// # Errors
    ///
    /// If it is not a URL by the WHATWG URL Standard, and as [`NormalUrl::new`].
    pub fn parse(text: &str, options: &UrlOptions) -> Result<Self, UrlError> {
        Self::new(&Url::parse(text).map_err(UrlError::Syntax)?, options)
    }

    /// A URL that was in normal form when it was stored; `None` if it cannot be fetched.
    pub(crate) fn stored(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        matches!(url.scheme(), "http" | "https").then_some(Self { normal: url, given: None })
    }

    /// The same URL in the spelling that was stored with it.
    #[cfg(feature = "crawl")]
    pub(crate) fn spelt(self, given: Option<&str>) -> Self {
        let given = given.and_then(|given| Url::parse(given).ok()).map(Box::new);
        Self { given, ..self }
    }

    /// The URL in normal form.
    #[must_use]
    pub fn as_url(&self) -> &Url {
        &self.normal
    }

    /// The URL to request: as it was given, without fragment, credentials, tracking parameters and the trailing dot of the host name.
    #[must_use]
    pub fn requested(&self) -> &Url {
        self.given.as_deref().unwrap_or(&self.normal)
    }

    /// The spelling that was given, if it is not the normal form.
    #[cfg(feature = "crawl")]
    pub(crate) fn other_spelling(&self) -> Option<&str> {
        self.given.as_ref().map(|given| given.as_str())
    }

    /// The URL as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.normal.as_str()
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.normal.scheme()
    }

    /// The name of the host, without its port, or the address as written in a URL (`[::1]`).
    #[must_use]
    pub fn host_name(&self) -> &str {
        self.normal.host_str().unwrap_or_default()
    }

    /// The host: its name and port.
    ///
    /// # Panics
    /// Never: an `http` URL has a host name and a port.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::of(&self.normal).expect("an `http` URL has a host name and a port")
    }

    /// The scheme and the origin: what a robots.txt is valid for.
    #[cfg(feature = "crawl")]
    pub(crate) fn root_url(&self) -> String {
        format!("{}://{}", self.scheme(), self.origin())
    }

    /// The registrable domain, or the host's name if it has none.
    #[must_use]
    pub fn site(&self) -> &str {
        site_of(self.host_name())
    }
}

/// The URL without what is not sent, and without the trailing dot of the host name.
fn fetchable(url: &Url) -> Result<Url, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme(url.scheme().to_owned()));
    }
    let mut url = url.clone();
    url.set_fragment(None);
    url.set_username("")
        .and_then(|()| url.set_password(None))
        .map_err(|()| UrlError::Host(String::new()))?;
    remove_trailing_dot(&mut url)?;
    Ok(url)
}

/// `example.org.` and `example.org` resolve to the same servers, which answer both alike.
fn remove_trailing_dot(url: &mut Url) -> Result<(), UrlError> {
    let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')) else { return Ok(()) };
    if host.is_empty() || host.ends_with('.') {
        return Err(UrlError::Host(format!("{host}.")));
    }
    let host = host.to_owned();
    url.set_host(Some(&host)).map_err(UrlError::Syntax)
}

impl fmt::Display for NormalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Origin {
    /// The origin of an `http` or `https` URL.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
        let host = host.strip_suffix('.').unwrap_or(host);
        Some(Self(format!("{host}:{}", url.port_or_known_default()?).into()))
    }

    /// The origin of a string that is such a URL.
    ///
    /// ```
    /// use pagesieve::page::Origin;
    ///
    /// let origin = Origin::named("http://Example.org./tea").expect("a URL");
    /// assert_eq!(origin.as_str(), "example.org:80");
    /// assert_eq!(Origin::named("pages/tea.html"), None);
    /// ```
    #[must_use]
    pub fn named(url: &str) -> Option<Self> {
        Self::of(&Url::parse(url).ok()?)
    }

    /// What stands for an origin where there is no host: a directory of saved pages, for instance.
    #[must_use]
    pub(crate) fn of_name(name: String) -> Self {
        Self(name.into())
    }

    /// The origin as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The registrable domain of a host name (its public suffix and one label), or the name itself if it has none:
/// an address, a single label, a public suffix.
///
/// ```
/// use pagesieve::page::site_of;
///
/// assert_eq!(site_of("news.bbc.co.uk"), "bbc.co.uk");
/// assert_eq!(site_of("127.0.0.1"), "127.0.0.1");
/// ```
#[must_use]
pub fn site_of(host: &str) -> &str {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address { host } else { psl::domain_str(host).unwrap_or(host) }
}

/// Normalises a path, a query or a part of one by RFC 3986, section 6.2.2: hexadecimal digits in upper case,
/// unreserved characters decoded.
///
/// Characters that are not allowed in a URI are encoded: characters outside ASCII, control characters, space, `"#<>[\]^{|}`,
/// backtick, and a `%` without two hexadecimal digits. The bytes of `also` are encoded too.
/// Reserved characters stay as they are, raw or encoded, because the two forms may differ in meaning.
pub(crate) fn normalise<'a>(part: &'a [u8], also: &[u8]) -> Cow<'a, str> {
    let is_raw = |byte: &u8| is_allowed(*byte) && !also.contains(byte);
    if let Ok(text) = str::from_utf8(part)
        && part.iter().all(is_raw)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let [byte, tail @ ..] = rest {
        if let Some(byte) = escaped(rest) {
            push(&mut out, byte, is_unreserved(byte));
            rest = &rest[3..];
        } else {
            push(&mut out, *byte, is_raw(byte));
            rest = tail;
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, byte: u8, raw: bool) {
    if raw {
        out.push(char::from(byte));
    } else {
        write!(out, "%{byte:02X}").expect("writing to a string cannot fail");
    }
}

/// Decodes a `%` with two hexadecimal digits at the start of `text`.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether RFC 3986 allows this character unencoded in a path or a query.
fn is_allowed(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(byte, b'!' | b'$' | b'&'..=b'/' | b':' | b';' | b'=' | b'?' | b'@')
}
