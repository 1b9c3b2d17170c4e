//! The proxy that requests go through, if the configuration names one. Proxies of the environment are ignored.

use std::{env, fmt};

use reqwest::{StatusCode, header::HeaderMap};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// The variables that other programs take a proxy from.
const VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The URL of an HTTP proxy. Shown without its credentials, and written without its password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Proxy(Url);

/// A text that is not the URL of an HTTP proxy. It is not repeated, because it may have a password.
#[derive(Debug, thiserror::Error)]
#[error("not an HTTP proxy: expected http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")]
pub struct BadProxy;

impl Proxy {
    /// With its credentials.
    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Its name, unless its host is an address.
    pub(super) fn name(&self) -> Option<&str> {
        self.0.domain()
    }
}

impl TryFrom<String> for Proxy {
    type Error = BadProxy;

    fn try_from(text: String) -> Result<Self, BadProxy> {
        let url = Url::parse(&text).map_err(|_| BadProxy)?;
        let has_more = url.path() != "/" || url.query().is_some() || url.fragment().is_some();
        if url.scheme() == "http" && !has_more { Ok(Self(url)) } else { Err(BadProxy) }
    }
}

impl Serialize for Proxy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut url = self.0.clone();
        if url.password().is_some() {
            url.set_password(Some("***")).expect("a URL with a host can have a password");
        }
        url.serialize(serializer)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (self.0.host_str(), self.0.port_or_known_default());
        write!(f, "{}:{}", host.unwrap_or_default(), port.unwrap_or_default())
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// What failed at the proxy, or behind it.
#[derive(Debug, thiserror::Error)]
#[error("`fetch.proxy` {proxy}")]
pub(super) struct ProxyError {
    pub(super) proxy: Proxy,
    pub(super) source: Box<dyn std::error::Error + Send + Sync>,
}

/// The proxy's own answer to a request without TLS. Otherwise, the answer is the host's.
#[derive(Debug, thiserror::Error)]
#[error("the proxy answered {0}")]
pub(super) struct Refused(pub(super) StatusCode);

impl Refused {
    /// If a response to a request in absolute form says that the proxy did not reach the host, or wants other credentials. A host that is
    /// a gateway itself may answer 502 and 504 too; it is no different then from one that cannot be reached.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let is_proxys = match status.as_u16() {
            407 | 502 | 504 => true,
            503 => headers.contains_key("x-squid-error"),
            _ => false,
        };
        is_proxys.then_some(Self(status))
    }
}

/// Logs that proxies of the environment are ignored, if there are any.
pub(super) fn report_ignored() {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let names: Vec<_> = VARIABLES.into_iter().filter(is_set).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        tracing::info!("{names} in the environment is ignored: only `fetch.proxy` sets a proxy");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(text: &str) -> Result<Proxy, BadProxy> {
        text.to_owned().try_into()
    }

    #[test]
    fn only_urls_of_http_proxies_are_accepted() {
        for good in ["http://proxy.test:3128", "http://10.0.0.1/", "http://u:p%40@[::1]:8080"] {
            assert!(proxy(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "proxy.test:3128",
            "user:secret@proxy.test:3128",
            "https://proxy.test",
            "socks5://user:secret@proxy.test:1080",
            "http://",
            "http://proxy.test/path",
            "http://proxy.test/?q",
            "http://proxy.test:99999",
        ] {
            assert!(!proxy(bad).unwrap_err().to_string().contains("secret"), "{bad}");
        }
    }

    #[test]
    fn a_proxy_is_shown_without_its_credentials() {
        let proxy = proxy("http://user:secret@proxy.test:3128").unwrap();
        assert_eq!(proxy.to_string(), "proxy.test:3128");
        assert_eq!(format!("{proxy:?}"), "Proxy(proxy.test:3128)");
        let written = serde_json::to_string(&proxy).unwrap();
        assert_eq!(written, "\"http://user:***@proxy.test:3128/\"");
        assert_eq!(self::proxy("http://a.test").unwrap().to_string(), "a.test:80");
    }
}
