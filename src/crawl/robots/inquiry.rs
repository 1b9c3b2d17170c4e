//! The requests that lead to a robots.txt: the first, and those of its redirects.

use url::{ParseError, Url};

use super::Availability;
use crate::crawl::fetch::{Answer, FetchError};

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const MAX_HOPS: usize = 5;

/// Asks for the robots.txt of one origin. Pure: whoever makes the requests tells it the answers.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Inquiry {
    url: Url,
    hops: usize,
}

impl Inquiry {
    /// `origin` is scheme, name and port.
    pub(in crate::crawl) fn new(origin: &str) -> Result<Self, ParseError> {
        Ok(Self { url: Url::parse(&format!("{origin}/robots.txt"))?, hops: 0 })
    }

    /// Name and port of the host that is to be asked next.
    pub(in crate::crawl) fn host(&self) -> String {
        let name = self.url.host_str().unwrap_or_default();
        format!("{name}:{}", self.url.port_or_known_default().unwrap_or_default())
    }

    /// What is to be asked for next.
    pub(in crate::crawl) fn url(&self) -> &Url {
        &self.url
    }

    /// Hears what was answered: either there is another URL to ask for, or this is the content of robots.txt (empty if there is
    /// none), or why it could not be had.
    pub(in crate::crawl) fn hear(
        &mut self,
        got: Result<Answer, FetchError>,
    ) -> Option<Result<Vec<u8>, String>> {
        let answer = match got {
            Ok(answer) => answer,
            Err(error) => return Some(Err(error.explain())),
        };
        if let Some(target) = answer.redirect_target(&self.url) {
            (self.url, self.hops) = (target, self.hops + 1);
            return (self.hops > MAX_HOPS).then(|| Ok(Vec::new()));
        }
        let status = answer.status.as_u16();
        Some(match Availability::of_status(status) {
            Availability::Found => Ok(answer.body),
            Availability::Unavailable => Ok(Vec::new()),
            Availability::Unreachable => Err(format!("status {status}")),
        })
    }
}
