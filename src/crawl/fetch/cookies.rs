//! The cookies without which a host redirects each URL to itself: kept for each host, in memory.
//!
//! No other cookie is kept, so that pages come as they would for a new visitor.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use reqwest::header::HeaderValue;
use url::{Position, Url};

use super::response::Response;

/// Hosts whose cookies are kept. If there are more, all are forgotten, and each is asked for them again.
const MAX_HOSTS: usize = 10_000;

/// The longest `Cookie` header, in bytes: what browsers allow for one cookie.
const LONGEST: usize = 4096;

/// The cookies of all hosts. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Cookies {
    by_host: Arc<Mutex<HashMap<String, HeaderValue>>>,
}

impl Cookies {
    /// The `Cookie` header for a URL.
    pub(super) fn of(&self, url: &Url) -> Option<HeaderValue> {
        self.lock().get(&url[..Position::AfterPort]).cloned()
    }

    /// Whether a response only redirects a URL to itself and sets cookies, and not those that it had. Then they are kept for its host.
    pub(super) fn learn(&self, url: &Url, response: &Response) -> bool {
        let target = response.redirect_target(url);
        let is_itself =
            |target: &Url| target[..Position::AfterQuery] == url[..Position::AfterQuery];
        if response.cookies.is_empty() || !target.as_ref().is_some_and(is_itself) {
            return false;
        }
        let host = &url[..Position::AfterPort];
        let mut by_host = self.lock();
        let Some(header) = merged(by_host.get(host), &response.cookies) else { return false };
        if by_host.len() >= MAX_HOSTS {
            by_host.clear();
        }
        by_host.insert(host.to_owned(), header);
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HeaderValue>> {
        self.by_host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `Cookie` header with what some `Set-Cookie` headers change (RFC 6265), if they change anything. Their attributes do not matter: the cookies
/// go to the host that has set them.
fn merged(former: Option<&HeaderValue>, set: &[String]) -> Option<HeaderValue> {
    let name = |pair: &str| pair.split('=').next().map(|name| name.trim().to_owned());
    let former = former.and_then(|header| header.to_str().ok()).unwrap_or_default();
    let mut pairs: Vec<&str> = former.split("; ").filter(|pair| !pair.is_empty()).collect();
    let mut is_news = false;
    for pair in set.iter().filter_map(|cookie| cookie.split(';').next()).map(str::trim) {
        if pair.contains('=') && !pairs.contains(&pair) {
            pairs.retain(|known| name(known) != name(pair));
            pairs.push(pair);
            is_news = true;
        }
    }
    let header = pairs.join("; ");
    (is_news && header.len() <= LONGEST).then(|| HeaderValue::from_str(&header).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_sent_back_without_their_attributes() {
        let merged = |former: &str, set: &[&str]| {
            let set: Vec<String> = set.iter().map(ToString::to_string).collect();
            let former = HeaderValue::from_str(former).ok();
            merged(former.as_ref(), &set).map(|header| header.to_str().unwrap().to_owned())
        };
        let set = ["seen=1; Path=/; HttpOnly", " a = b=c ;Max-Age=5", "no pair", ""];
        assert_eq!(merged("", &set).as_deref(), Some("seen=1; a = b=c"));
        assert_eq!(merged("a=1; b=2", &["a=3"]).as_deref(), Some("b=2; a=3"));
        assert_eq!(merged("a=1; b=2", &["b=2; Path=/"]), None, "nothing new");
        assert_eq!(merged("", &["", "x"]), None);
        assert_eq!(merged("", &[&format!("a={}", "x".repeat(LONGEST))]), None);
    }
}
