//! Why a fetch failed, and whether a retry may help.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter,
};

use reqwest::StatusCode;
use url::Url;

use super::{
    address::{Refusal, Source},
    body::BadBody,
    certificate,
    proxy::{Proxy, ProxyError, Refused},
};
use crate::sink::warc::Cut;

/// A fetch that failed, or a client that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("{}{}", kind.words().1, url.as_ref().map(|url| format!(" {url}")).unwrap_or_default())]
#[non_exhaustive]
pub struct FetchError {
    kind: Kind,
    /// The URL of the request.
    url: Option<Box<Url>>,
    retryable: bool,
    /// Whether the head of a response had arrived.
    answered: bool,
    /// Of a timeout: whether the host was reached.
    reached: bool,
    source: Option<Source>,
}

/// How far a request came that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// The host answered, but not as it should.
    Answered,
    /// The host was reached, but sent no complete response, or none that can be read.
    Broken,
    /// The host did not answer: its name, its connection, its certificate, its silence, or the proxy on the way.
    Unanswered,
    /// Its address is one that must not be connected to.
    Forbidden,
    /// No request was made: this machine has no file descriptors, ports or memory left.
    Local,
}

/// Errors of the operating system that say nothing about a host: too many open files, of the process and of the system, and no room for
/// buffers.
const LOCAL_ERRORS: [i32; 3] = [24, 23, if cfg!(target_os = "linux") { 105 } else { 55 }];

/// Messages of the HTTP client's layers that only say that something failed.
const EMPTY_MESSAGES: [&str; 2] = ["error sending request", "client error (Connect)"];

/// The HTTP client's message for a head of more than 400 KiB or too many fields.
const LARGE_HEAD: &str = "message head is too large";

/// How the HTTP/2 layer's messages for a stream that is reset with `HTTP_1_1_REQUIRED` and for a GOAWAY end or begin, and that for a connection
/// which is closed after a GOAWAY.
const HTTP1_REQUIRED: &str = ": endpoint requires HTTP/1.1";
const GOAWAY: &str = "connection error received: ";
const CLOSED: &str = "stream closed because of a broken pipe";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Setup,
    Timeout,
    Dns,
    Address,
    Tls,
    Connect,
    Proxy,
    Local,
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
            Self::Proxy => ("proxy", "connect to the host of"),
            Self::Local => ("local", "open a connection to the host of"),
            Self::Http => ("http", "read the head of"),
            Self::Body => ("body", "read the body of"),
            Self::Coding => ("coding", "decode the body of"),
            Self::Bomb => ("bomb", "decode the body of"),
        }
    }
}

impl FetchError {
    /// The error and its causes in one line, its kind first, as it is recorded. Omits causes without content; for a refused address, gives
    /// only the refusal, and for a certificate that is not trusted, what is wrong with it.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = format!("{}: {self}", self.kind());
        if let Some(refusal) = causes(self).find(|it| it.is::<Refusal>()) {
            return format!("{}: {refusal}", self.kind());
        }
        let tls = causes(self).find_map(|it| it.downcast_ref::<rustls::Error>());
        if let Some(why) = tls.and_then(certificate::reason) {
            return format!("{text}: {why}");
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

    /// How far the request came.
    #[must_use]
    pub fn contact(&self) -> Contact {
        match self.kind {
            Kind::Local => Contact::Local,
            Kind::Address => Contact::Forbidden,
            Kind::Timeout | Kind::Dns | Kind::Connect | Kind::Tls | Kind::Proxy
                if !self.answered =>
            {
                Contact::Unanswered
            }
            _ => Contact::Broken,
        }
    }

    /// Whether the same request may succeed later. It may after timeouts, broken connections, cut bodies and malformed responses (one bad server
    /// of several). It may not after heads that are too large, refused addresses, bad certificates, names that do not exist and bodies that
    /// cannot be decoded.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Whether the host was reached, but the head of the response did not arrive in time.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.kind == Kind::Timeout && !self.answered && self.reached
    }

    /// Whether the head of a response had arrived.
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.answered
    }

    /// What failed, as one stable word: `timeout`, `dns`, `address`, `tls`, `connect`, `proxy`, `local`, `http`, `body`,
    /// `coding`, `bomb`, or `setup` for a client that could not be set up.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind.words().0
    }

    pub(super) fn setup(source: impl Into<Source>) -> Self {
        let (url, source) = (None, Some(source.into()));
        Self { kind: Kind::Setup, url, retryable: false, answered: false, reached: false, source }
    }

    /// Whether the host has refused to speak HTTP/2, or closed the connection in its words, or its head has more fields than usual.
    pub(super) fn needs_patience(&self) -> bool {
        causes(self).any(|cause| {
            let text = cause.to_string();
            text.ends_with(HTTP1_REQUIRED)
                || text.starts_with(GOAWAY)
                || text == CLOSED
                || text == LARGE_HEAD
        })
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

    /// Not all of a response came in time, or nothing did; `reached` if there was enough time to connect.
    pub(super) fn timeout(url: &Url, reached: bool) -> Self {
        Self { reached, ..Self::new(Kind::Timeout, url, true, None) }
    }

    /// The same after the head of a response had arrived.
    pub(super) fn after_head(self) -> Self {
        Self { answered: true, ..self }
    }

    pub(super) fn address(url: &Url, refusal: Refusal) -> Self {
        Self::new(Kind::Address, url, false, Some(refusal.into()))
    }

    /// A look-up without a request.
    pub(super) fn look_up(url: &Url, source: Source) -> Self {
        let (kind, retryable) = match source.downcast_ref::<io::Error>() {
            _ if source.is::<Refusal>() => (Kind::Address, false),
            Some(error) if is_local(error) => (Kind::Local, true),
            _ => (Kind::Dns, is_passing_dns_failure(&source.to_string())),
        };
        Self::new(kind, url, retryable, Some(source))
    }

    /// A failure before the head of a response had arrived.
    pub(super) fn head(url: &Url, error: reqwest::Error, proxy: Option<&Proxy>) -> Self {
        let error = error.without_url();
        let (kind, retryable) = head_kind(&error);
        match proxy {
            Some(proxy) if kind != Kind::Local && is_of_proxy(url, &error) => {
                Self::behind(proxy, Kind::Proxy, url, true, error)
            }
            Some(proxy) if error.is_connect() => Self::behind(proxy, kind, url, retryable, error),
            _ => Self::new(kind, url, retryable, Some(error.into())),
        }
    }

    /// The proxy answered instead of the host.
    pub(super) fn refused(url: &Url, proxy: &Proxy, refused: Refused) -> Self {
        let wants_credentials = refused.0 == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        let kind = if wants_credentials { Kind::Proxy } else { Kind::Connect };
        Self::behind(proxy, kind, url, true, refused)
    }

    fn behind(
        proxy: &Proxy,
        kind: Kind,
        url: &Url,
        retryable: bool,
        source: impl Into<Source>,
    ) -> Self {
        let source = ProxyError { proxy: proxy.clone(), source: source.into() };
        Self::new(kind, url, retryable, Some(source.into()))
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
        let url = Some(Box::new(url.clone()));
        Self { kind, url, retryable, answered: false, reached: false, source }
    }
}

/// What an error of the HTTP client means, and whether a retry may help.
fn head_kind(error: &reqwest::Error) -> (Kind, bool) {
    let io_errors = || causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    let io_kinds = || io_errors().map(io::Error::kind);
    if io_errors().any(is_local) {
        (Kind::Local, true)
    } else if causes(error).any(<dyn Error>::is::<Refusal>) {
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
        let is_large = causes(error).any(|cause| cause.to_string() == LARGE_HEAD);
        (Kind::Http, !error.is_builder() && !is_large)
    }
}

/// Whether an error of a request through a proxy is the proxy's, not the host's. The client's type for what went wrong with a tunnel is
/// private, so this goes by its messages.
fn is_of_proxy(url: &Url, error: &reqwest::Error) -> bool {
    let tunnel = causes(error)
        .find_map(|cause| cause.to_string().strip_prefix("tunnel error: ").map(str::to_owned));
    // "unsuccessful" is an answer other than 200 or 407: usually, the proxy did not reach the host.
    error.is_connect() && tunnel.map_or(url.scheme() == "http", |why| why != "unsuccessful")
}

/// Whether this machine is the cause, not the host.
fn is_local(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AddrNotAvailable | ErrorKind::OutOfMemory)
        || error.raw_os_error().is_some_and(|code| LOCAL_ERRORS.contains(&code))
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
