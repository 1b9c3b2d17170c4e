//! What only certain hosts get with their requests: headers and logins by root URL, and the cookies of a file by their domains. Nothing of it
//! is sent elsewhere, as a fetcher follows no redirects, and nothing is written to outputs.

use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs, io,
    path::Path,
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap,
    HeaderName, HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};
use serde::{Deserialize, Serialize, Serializer};
use url::{Position, Url};

use crate::page::Timestamp;

/// Headers that a request has for other reasons.
const OTHERS: [HeaderName; 6] =
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING, USER_AGENT];

/// One table of `[[fetch.access]]`: what is sent to one root URL (scheme, name and port). Shown and written without its secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Access {
    /// The root URL, without a path.
    pub url: Url,
    /// Headers by their names.
    #[serde(default, serialize_with = "hidden")]
    pub headers: BTreeMap<String, String>,
    /// The name of a login (Basic authentication, RFC 7617).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its password.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hidden_text")]
    pub password: Option<String>,
}

const HIDDEN: &str = "***";

fn hidden<S: Serializer>(
    headers: &BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.keys().map(|name| (name, HIDDEN)))
}

#[expect(clippy::ref_option, reason = "serde passes it so")]
fn hidden_text<S: Serializer>(_: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(HIDDEN)
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({})", root_url(&self.url))
    }
}

impl Access {
    /// Headers for a root URL.
    #[must_use]
    pub fn new(url: Url, headers: BTreeMap<String, String>) -> Self {
        Self { url, headers, user: None, password: None }
    }

    /// What is wrong with it apart from its headers, if anything is.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let is_root = self.url.path() == "/" && self.url.query().is_none();
        let is_hidden = self.password.iter().chain(self.headers.values()).any(|it| it == HIDDEN);
        let has_login = self.user.is_some() || self.password.is_some();
        let why = if !self.url.has_host() {
            "`url` has no host"
        } else if !is_root {
            "`url` must be a root URL, without a path: all URLs of the host get what follows"
        } else if is_hidden {
            "a password or header is hidden as ***, as `check` prints it: write what is to be sent"
        } else if has_login
            && self.headers.keys().any(|it| it.eq_ignore_ascii_case("authorization"))
        {
            "there are both a login and a header Authorization"
        } else if self.headers.is_empty() && self.user.is_none() {
            "neither `headers` nor `user` says what to send"
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    /// What is sent.
    ///
    /// # Errors
    /// Which header is none, or is not for the configuration to set.
    ///
    /// # Panics
    /// Never: base64 is ASCII.
    pub fn header_map(&self) -> Result<HeaderMap, String> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let parsed = HeaderName::try_from(name)
                .map_err(|_| format!("{name:?} is not the name of a header"))?;
            if OTHERS.contains(&parsed) {
                return Err(format!("the header {name} cannot be set here"));
            }
            map.insert(
                parsed,
                secret(value).map_err(|()| {
                    format!(
                        "the value of the header {name} has characters that no header can contain"
                    )
                })?,
            );
        }
        if self.user.is_some() || self.password.is_some() {
            let text = |part: &Option<String>| part.clone().unwrap_or_default();
            let login =
                BASE64_STANDARD.encode(format!("{}:{}", text(&self.user), text(&self.password)));
            map.insert(AUTHORIZATION, secret(&format!("Basic {login}")).expect("base64 is ASCII"));
        }
        Ok(map)
    }
}

fn secret(value: &str) -> Result<HeaderValue, ()> {
    let mut value = HeaderValue::from_str(value).map_err(drop)?;
    value.set_sensitive(true);
    Ok(value)
}

fn root_url(url: &Url) -> &str {
    &url[..Position::AfterPort]
}

/// A cookie of a file.
#[derive(Clone, PartialEq, Eq)]
struct Cookie {
    domain: String,
    /// Whether names below the domain get it too.
    subdomains: bool,
    path: String,
    /// Whether only https URLs get it.
    secure: bool,
    pair: String,
}

impl Cookie {
    /// A line of a file in Netscape's format; `None` if it has expired by `now`.
    ///
    /// # Errors
    /// If it is none.
    fn parse(line: &str, now: Timestamp) -> Result<Option<Self>, ()> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [domain, subdomains, path, secure, expires, name, value] = fields[..] else {
            return Err(());
        };
        let flag = |text: &str| match text {
            "TRUE" => Ok(true),
            "FALSE" => Ok(false),
            _ => Err(()),
        };
        let expires: i64 = expires.parse().map_err(drop)?;
        let cookie = Self {
            domain: domain.trim_start_matches('.').to_ascii_lowercase(),
            subdomains: flag(subdomains)?,
            path: path.to_owned(),
            secure: flag(secure)?,
            pair: format!("{name}={value}"),
        };
        HeaderValue::from_str(&cookie.pair).map_err(drop)?;
        // 0: for the session.
        let is_valid = expires == 0 || expires.saturating_mul(1000) > now.0;
        Ok(is_valid.then_some(cookie))
    }

    /// Whether a request for a URL has it (RFC 6265, 5.4).
    fn is_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let below = host.strip_suffix(&self.domain).is_some_and(|rest| rest.ends_with('.'));
        let rest = url.path().strip_prefix(&self.path);
        let path = rest.is_some_and(|rest| {
            self.path.ends_with('/') || rest.is_empty() || rest.starts_with('/')
        });
        (host == self.domain || self.subdomains && below)
            && path
            && (!self.secure || url.scheme() == "https")
    }
}

/// Reads a file of cookies in Netscape's format, as browsers' add-ons, curl and wget write it.
///
/// # Errors
/// If it cannot be read, or a line is no cookie.
fn read(path: &Path) -> io::Result<Vec<Cookie>> {
    let fail = |why: String| io::Error::other(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let now = Timestamp::now();
    let mut cookies = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cookie = Cookie::parse(line, now);
        cookies.extend(cookie.map_err(|()| {
            fail(format!("line {number} is no cookie of seven fields separated by tabs"))
        })?);
    }
    Ok(cookies)
}

/// What is sent to whom. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Credentials {
    headers: Arc<HashMap<String, HeaderMap>>,
    cookies: Arc<Vec<Cookie>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} root URLs, {} cookies)", self.headers.len(), self.cookies.len())
    }
}

impl Credentials {
    /// Of these tables and this file.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub(super) fn new(access: &[Access], cookie_file: Option<&Path>) -> io::Result<Self> {
        let mut headers: HashMap<String, HeaderMap> = HashMap::new();
        for access in access {
            let map = access.header_map().map_err(io::Error::other)?;
            headers.entry(root_url(&access.url).to_owned()).or_default().extend(map);
        }
        let cookies = cookie_file.map(read).transpose()?.unwrap_or_default();
        Ok(Self { headers: headers.into(), cookies: cookies.into() })
    }

    /// Adds what goes with a request for a URL.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, url: &Url) {
        if let Some(own) = self.headers.get(root_url(url)) {
            headers.extend(own.clone());
        }
        let pairs = self.cookies.iter().filter(|cookie| cookie.is_for(url)).map(|it| &*it.pair);
        let known = headers.get(COOKIE).and_then(|value| value.to_str().ok().map(str::to_owned));
        let all: Vec<&str> = pairs.chain(known.as_deref()).collect();
        if let Ok(value) = secret(&all.join("; "))
            && !all.is_empty()
        {
            headers.insert(COOKIE, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(credentials: &Credentials, url: &str) -> Vec<String> {
        let mut headers = HeaderMap::new();
        credentials.add_to(&mut headers, &Url::parse(url).unwrap());
        let mut lines: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn only_its_root_url_gets_what_a_table_says() {
        let toml =
            "url = 'https://a.test/'\nuser = 'me'\npassword = 'p:w'\nheaders = { X-Key = '1' }";
        let access: Access = toml::from_str(toml).unwrap();
        let credentials = Credentials::new(std::slice::from_ref(&access), None).unwrap();
        let expected = ["authorization: Basic bWU6cDp3", "x-key: 1"];
        assert_eq!(sent(&credentials, "https://a.test/any"), expected);
        for other in ["http://a.test/x", "https://b.a.test/x", "https://a.test:444/x"] {
            assert!(sent(&credentials, other).is_empty(), "{other}");
        }
        assert_eq!(access.fault(), None);
        for wrong in [
            "url = 'https://a.test/x'\nuser = 'me'",
            "url = 'https://a.test'",
            "url = 'https://a.test'\nuser = 'u'\npassword = '***'",
        ] {
            assert!(toml::from_str::<Access>(wrong).unwrap().fault().is_some(), "{wrong}");
        }
        let shown = format!("{access:?} {credentials:?} {}", toml::to_string(&access).unwrap());
        assert!(
            !shown.contains("p:w") && !shown.contains("'1'") && shown.contains("***"),
            "{shown}"
        );
        for (name, value) in [("Host", "b.test"), ("a b", "1"), ("X", "a\nb")] {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            assert!(Access::new(access.url.clone(), headers).header_map().is_err(), "{name}");
        }
    }

    #[test]
    fn cookies_of_a_file_go_to_their_domain_and_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cookies.txt");
        let lines = [
            "# Netscape HTTP Cookie File",
            ".a.test\tTRUE\t/\tFALSE\t0\tall\t1",
            "#HttpOnly_a.test\tFALSE\t/in\tTRUE\t9999999999\tin\t2",
            "a.test\tFALSE\t/\tFALSE\t1\told\t3",
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let credentials = Credentials::new(&[], Some(&path)).unwrap();
        let cookies = |url| sent(&credentials, url).concat();
        assert_eq!(cookies("https://a.test/in/x"), "cookie: all=1; in=2");
        assert_eq!(cookies("http://a.test/in/x"), "cookie: all=1");
        assert_eq!(cookies("https://www.a.test/inner"), "cookie: all=1");
        assert_eq!(cookies("https://ba.test/"), "");
        fs::write(&path, "a.test FALSE / FALSE 0 x 1").unwrap();
        assert!(Credentials::new(&[], Some(&path)).unwrap_err().to_string().contains("line 1"));
    }
}
