//! Why a fetch failed, and whether a retry may help.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter,
};

use url::Url;

use super::{address::Refusal, body::BadBody};
use crate::sink::warc::Cut;

type Source = Box<dyn Error + Send + Sync>;

/// A fetch that failed, or a client that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("{}{}", kind.words().1, url.as_ref().map(|url| format!(" {url}")).unwrap_or_default())]
pub struct FetchError {
    kind: Kind,
    /// The URL of the request.
    url: Option<Box<Url>>,
    retryable: bool,
    source: Option<Source>,
}

/// Messages of the HTTP client's layers that only say that something failed.
const EMPTY_MESSAGES: [&str; 2] = ["error sending request", "client error (Connect)"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Setup,
    Timeout,
    Dns,
    Address,
    Tls,
    Connect,
    Http,
    Body,
    Coding,
    Bomb,
}

impl Kind {
    /// Its stable name, and what was attempted.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Setup => ("setup", "set up the HTTP client"),
            Self::Timeout => ("timeout", "wait for the whole response of"),
            Self::Dns => ("dns", "look up the host of"),
            Self::Address => ("address", "connect to the host of"),
            Self::Tls => ("tls", "trust the host of"),
            Self::Connect => ("connect", "connect to the host of"),
            Self::Http => ("http", "read the head of"),
            Self::Body => ("body", "read the body of"),
            Self::Coding => ("coding", "decode the body of"),
            Self::Bomb => ("bomb", "decode the body of"),
        }
    }
}

impl FetchError {
    /// The error and its causes in one line, its kind first, as it is recorded. Omits causes without content; for a refused address, gives
    /// only the refusal.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = format!("{}: {self}", self.kind());
        if let Some(refusal) = causes(self).find(|it| it.is::<Refusal>()) {
            return format!("{}: {refusal}", self.kind());
        }
        for cause in iter::successors(self.source(), |&cause| cause.source()) {
            let cause = cause.to_string();
            if !text.ends_with(&cause) && !EMPTY_MESSAGES.contains(&cause.as_str()) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        text
    }

    /// Whether the host did not respond at all.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        matches!(self.kind, Kind::Timeout | Kind::Dns | Kind::Connect | Kind::Tls)
    }

    /// Whether the same request may succeed later: after timeouts, broken connections, cut bodies and malformed responses (one bad server
    /// of several), but not after refused addresses, bad certificates, names that do not exist or bodies that cannot be decoded.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// What failed, as one stable word: `timeout`, `dns`, `address`, `tls`, `connect`, `http`, `body`, `coding`, `bomb`,
    /// or `setup` for a client that could not be set up.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind.words().0
    }

    pub(super) fn setup(source: impl Into<Source>) -> Self {
        Self { kind: Kind::Setup, url: None, retryable: false, source: Some(source.into()) }
    }

    /// Why the body of the response is incomplete.
    pub(super) fn cut(&self) -> Cut {
        match self.kind {
            Kind::Timeout => Cut::Time,
            Kind::Body => Cut::Disconnect,
            Kind::Bomb => Cut::Length,
            _ => Cut::Unspecified,
        }
    }

    pub(super) fn timeout(url: &Url) -> Self {
        Self::new(Kind::Timeout, url, true, None)
    }

    pub(super) fn address(url: &Url, refusal: Refusal) -> Self {
        Self::new(Kind::Address, url, false, Some(refusal.into()))
    }

    /// A failure before the head of a response had arrived.
    pub(super) fn head(url: &Url, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let (kind, retryable) = head_kind(&error);
        Self::new(kind, url, retryable, Some(error.into()))
    }

    /// A failure while the body arrived or was decoded.
    pub(super) fn body(url: &Url, error: io::Error) -> Self {
        let bad = error.get_ref().and_then(|inner| inner.downcast_ref::<BadBody>());
        let kind = match bad {
            Some(BadBody::Broken(_)) => Kind::Body,
            Some(BadBody::Ratio | BadBody::Oversized) => Kind::Bomb,
            _ => Kind::Coding,
        };
        Self::new(kind, url, kind == Kind::Body, Some(error.into()))
    }

    fn new(kind: Kind, url: &Url, retryable: bool, source: Option<Source>) -> Self {
        Self { kind, url: Some(Box::new(url.clone())), retryable, source }
    }
}

/// What an error of the HTTP client means, and whether a retry may help.
fn head_kind(error: &reqwest::Error) -> (Kind, bool) {
    let io_kinds =
        || causes(error).filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    if causes(error).any(<dyn Error>::is::<Refusal>) {
        (Kind::Address, false)
    } else if error.is_dns() {
        (Kind::Dns, causes(error).any(|cause| is_passing_dns_failure(&cause.to_string())))
    } else if error.is_timeout() {
        (Kind::Timeout, true)
    } else if error.is_connect() && io_kinds().any(|kind| kind == ErrorKind::InvalidData) {
        // Errors of rustls about certificates and handshakes have this kind; broken connections have others.
        (Kind::Tls, false)
    } else if error.is_connect() || io_kinds().next().is_some() {
        (Kind::Connect, true)
    } else {
        (Kind::Http, !error.is_builder())
    }
}

/// Whether a look-up may succeed later. The standard library gives the resolver's result as text only: these are the messages of
/// glibc, musl and macOS for a server that did not respond.
fn is_passing_dns_failure(message: &str) -> bool {
    ["Temporary failure", "Try again", "temporarily"].iter().any(|words| message.contains(words))
}

/// The error and everything that caused it. The source of an [`io::Error`] skips the error that it wraps, which is included here.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}
