//! Fetches: one request, one response. Follows no redirects, retries nothing, keeps no state but connections.
//!
//! Everything that comes from the network is bounded here: addresses by the guard, time by one deadline, bodies by counting the decoded
//! bytes. The callers take care of politeness, retries and robots.txt.

mod address;
mod body;
mod certificate;
mod connections;
mod cookies;
mod credentials;
mod failure;
mod proxy;
mod response;
mod sniff;

use std::{
    collections::BTreeMap,
    fs, io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytesize::ByteSize;
use futures_util::TryStreamExt;
use ipnet::IpNet;
use reqwest::{
    Client, Method, Request,
    header::{
        ACCEPT, ACCEPT_ENCODING, COOKIE, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
        USER_AGENT,
    },
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::{
    page::{Timestamp, Validators},
    sink::warc::{Cut, Exchange},
};

pub use body::Extent;
pub(super) use body::MemoryShare;
pub use credentials::Access;
pub use failure::{Contact, FetchError};
pub use proxy::{BadProxy, Proxy};
pub use response::Response;
#[cfg(feature = "cli")]
pub(crate) use response::{Archived, fields, head_length};
pub(super) use sniff::format_of;
pub use sniff::is_html;

use address::{Guard, Source};
use body::{MemoryBudget, PAGES, SITEMAPS};
use connections::{Connections, Lease, connect_timeout};
use cookies::Cookies;
use credentials::Credentials;
use proxy::{Refused, report_ignored};
use response::exchange_of_head;
use sniff::Media;

/// A body that is not needed is read up to this length, so that its connection can be reused: up to about here that is cheaper than a
/// new connection.
const UNNEEDED_BODY: usize = 64 << 10;

/// The longest time for such a body.
const UNNEEDED_TIME: Duration = Duration::from_secs(1);

/// The `[fetch]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// Longest time for one whole response, from the look-up of the name to the last byte of the body.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Retries after a failure that may pass. The fetcher leaves them to its caller.
    pub retries: u32,
    /// How long after the last useful answer a run ends that only waits for hosts that do not answer.
    #[serde(with = "humantime_serde")]
    pub give_up_after: Duration,
    /// Longest body of a page in decoded bytes; a longer one is cut there, and the page is marked.
    #[serde(serialize_with = "crate::page::serialize_size")]
    pub max_body: ByteSize,
    /// Whether a URL that is redirected to itself with a cookie is requested again with it, and the others of its host too.
    pub cookies: bool,
    /// A file of cookies in Netscape's format. Each is sent to its domain only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_file: Option<PathBuf>,
    /// Networks that may be connected to although they are not globally routable.
    pub allow_private: Vec<IpNet>,
    /// Names with the address and port to use instead of the resolver's. The port replaces the URL's default port; a URL with
    /// another explicit port is refused unless `allow_private` covers the address.
    pub resolve: BTreeMap<String, SocketAddr>,
    /// The HTTP proxy that requests go through, except those to hosts in `resolve`. It resolves names itself; a name is refused before
    /// that unless all its addresses may be connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Certificates of authorities (PEM) that are trusted beside those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Headers and logins for single root URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Access>,
}

impl Options {
    /// Checks what is sent to single hosts.
    ///
    /// # Errors
    ///
    /// If the file of cookies cannot be read, or a header cannot be sent.
    pub(crate) fn check_credentials(&self) -> io::Result<()> {
        Credentials::new(&self.access, self.cookie_file.as_deref()).map(drop)
    }

    /// The certificates of `ca_file`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has no valid certificate.
    pub(crate) fn authorities(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        let Some(path) = &self.ca_file else { return Ok(Vec::new()) };
        let fail = |why: String| io::Error::other(format!("{}: {why}", path.display()));
        let pem = fs::read(path).map_err(|error| fail(error.to_string()))?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let found = found.unwrap_or_default();
        let mut store = RootCertStore::empty();
        if !found.is_empty() && found.iter().all(|found| store.add(found.clone()).is_ok()) {
            Ok(found)
        } else {
            Err(fail("no valid certificate (PEM)".to_owned()))
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 3,
            give_up_after: Duration::from_mins(1),
            max_body: ByteSize::mib(8),
            cookies: true,
            cookie_file: None,
            allow_private: Vec::new(),
            resolve: BTreeMap::new(),
            proxy: None,
            ca_file: None,
            access: Vec::new(),
        }
    }
}

/// What is requested: it decides how much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A page: up to [`Options::max_body`], and only if it may be HTML.
    Page,
    /// A robots.txt: up to 500 KiB, what RFC 9309 demands at least.
    Robots,
    /// A sitemap: up to 50 MiB, what the protocol allows at most.
    Sitemap,
}

/// The HTTP client behind its guard. Cheap to clone; the clones share their connections.
#[derive(Clone, Debug)]
pub struct Fetcher {
    connections: Connections,
    guard: Arc<Guard>,
    pages: MemoryBudget,
    sitemaps: MemoryBudget,
    proxy: Option<Proxy>,
    headers: HeaderMap,
    cookies: Option<Cookies>,
    credentials: Credentials,
    timeout: Duration,
    max_page: usize,
    /// Whether every exchange is kept for the archive. That takes about twice the memory.
    pub keep_exchanges: bool,
}

impl Fetcher {
    /// A fetcher that sends this `User-Agent`.
    ///
    /// # Errors
    ///
    /// If `user_agent` or a header cannot be sent, a key of `resolve` is not a host name, `ca_file` has no certificates, `cookie_file` cannot be
    /// read, or TLS cannot be set up.
    pub fn new(options: &Options, user_agent: &str) -> Result<Self, FetchError> {
        let guard = Arc::new(
            Guard::new(&options.allow_private, &options.resolve).map_err(FetchError::setup)?,
        );
        report_ignored();
        Ok(Self {
            connections: Connections::new(&guard, options)?,
            guard,
            pages: MemoryBudget::new(PAGES),
            sitemaps: MemoryBudget::new(SITEMAPS),
            proxy: options.proxy.clone(),
            headers: headers(user_agent)?,
            cookies: options.cookies.then(Cookies::default),
            credentials: Credentials::new(&options.access, options.cookie_file.as_deref())
                .map_err(FetchError::setup)?,
            timeout: options.timeout,
            max_page: usize::try_from(options.max_body.as_u64()).unwrap_or(usize::MAX),
            keep_exchanges: false,
        })
    }

    /// Requests `url` once.
    ///
    /// Reads the body if the status is 2xx and, for a page, if its content type may be HTML; see [`Extent`]. Bodies without a type are
    /// read, and [`is_html`] decides what they are.
    ///
    /// # Errors
    ///
    /// If no whole response arrived before the deadline; [`FetchError::kind`] says why.
    pub async fn get(&self, url: &Url, resource: Resource) -> Result<Response, FetchError> {
        self.exchange(url, resource, None, None).await.0
    }

    /// Checks what can be known of `url` without a look-up: its scheme, and its host if that is an address or mapped.
    ///
    /// # Errors
    ///
    /// If it may not be connected to.
    pub fn admit(&self, url: &Url) -> Result<(), FetchError> {
        self.guard.check_url(url).map_err(|refusal| FetchError::address(url, refusal))
    }

    /// Looks up the host of `url`, unless it is an address, and checks that it may be connected to. Makes no request.
    ///
    /// # Errors
    ///
    /// If the name cannot be resolved, or no address of it may be connected to.
    pub async fn look_up(&self, url: &Url) -> Result<(), FetchError> {
        self.admit(url)?;
        let found = match url.domain() {
            Some(name) if self.proxy_of(url).is_some() => {
                self.guard.resolve_all(name).await.map(drop)
            }
            Some(name) => self.guard.resolve(name).await.map(drop),
            None => Ok(()),
        };
        found.map_err(|source| FetchError::look_up(url, source))
    }

    /// The proxy that requests of `url` go through, if any.
    fn proxy_of(&self, url: &Url) -> Option<&Proxy> {
        self.proxy.as_ref().filter(|_| !self.guard.is_mapped(url))
    }

    /// An address of the host of `url`, which a proxy will connect to.
    async fn behind_proxy(&self, url: &Url) -> Result<SocketAddr, Source> {
        let ip: IpAddr = match url.host() {
            Some(Host::Ipv4(ip)) => ip.into(),
            Some(Host::Ipv6(ip)) => ip.into(),
            Some(Host::Domain(name)) => self.guard.resolve_all(name).await?,
            None => return Err("the URL has no host".into()),
        };
        Ok(SocketAddr::new(ip, url.port_or_known_default().unwrap_or(0)))
    }

    /// Requests `url` once, like [`Self::get`]; the head must arrive within `head_timeout`, if that is given. With validators that are `known`
    /// from an earlier response of this URL, asks whether the page has changed: the status is 304 if it has not. If exchanges are kept and a
    /// head arrived, also returns the exchange as it was sent and received, content coding kept.
    pub async fn exchange(
        &self,
        url: &Url,
        resource: Resource,
        head_timeout: Option<Duration>,
        known: Option<&Validators>,
    ) -> (Result<Response, FetchError>, Option<Exchange>) {
        let (mut exchange, mut answered) = (None, false);
        let head_timeout = head_timeout.unwrap_or(self.timeout);
        let headers = self.headers(url, known);
        let asking =
            self.ask((url, &headers), resource, head_timeout, &mut exchange, &mut answered);
        let asked = tokio::time::timeout(self.timeout, asking).await;
        let got = asked.unwrap_or_else(|_| Err(FetchError::timeout(url, true)));
        let mut got = got.map_err(|error| if answered { error.after_head() } else { error });
        if let (Some(cookies), Ok(response)) = (&self.cookies, &mut got) {
            response.sets_cookie = cookies.learn(url, response);
        }
        if let (Some(exchange), Err(error)) = (&mut exchange, &got) {
            exchange.truncated = Some(error.cut());
        }
        (got, exchange)
    }

    /// What is sent with each request, and what asks for changes.
    fn headers(&self, url: &Url, known: Option<&Validators>) -> HeaderMap {
        let mut headers = self.headers.clone();
        let cookie = self.cookies.as_ref().and_then(|cookies| cookies.of(url));
        headers.extend(cookie.map(|cookie| (COOKIE, cookie)));
        let etag = known.and_then(Validators::etag);
        let date = known.and_then(Validators::last_modified);
        for (name, value) in [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, date)] {
            let value = value.and_then(|value| HeaderValue::from_str(value).ok());
            headers.extend(value.map(|value| (name, value)));
        }
        headers
    }

    /// Puts what arrives into `exchange`, if exchanges are kept, and sets `answered` when the head has arrived.
    async fn ask(
        &self,
        (url, headers): (&Url, &HeaderMap),
        resource: Resource,
        head_timeout: Duration,
        exchange: &mut Option<Exchange>,
        answered: &mut bool,
    ) -> Result<Response, FetchError> {
        self.admit(url)?;
        let started = Timestamp::now();
        let mut lease = self.connections.lease(url);
        let head = tokio::time::timeout(head_timeout, self.head((url, headers), &mut lease)).await;
        let (arriving, address) = head.map_err(|_| {
            FetchError::timeout(url, head_timeout > connect_timeout(self.timeout))
        })??;
        *answered = true;
        let mut response = Response::of_head(&arriving, address);
        if self.keep_exchanges {
            let address = self.proxy_of(url).is_none().then_some(address.ip());
            *exchange = Some(exchange_of_head(started, url, headers, &arriving, address));
        }
        let received = exchange.as_mut().map(|exchange| &mut exchange.body);
        let extent = if is_needed(&response, resource) {
            let read = self.read(arriving, resource, received, &mut response).await;
            read.map_err(|error| FetchError::body(url, error))?;
            response.extent
        } else {
            let (body, extent) = read_unneeded(arriving, self.pages.share(1)).await;
            if let Some(received) = received {
                *received = body;
            }
            extent
        };
        if let Some(exchange) = exchange {
            exchange.truncated = (extent == Extent::Cut).then_some(Cut::Length);
        }
        Ok(response)
    }

    /// Receives the head of the response, with patience if the host needs it, and the host's address.
    async fn head(
        &self,
        request: (&Url, &HeaderMap),
        lease: &mut Lease<'_>,
    ) -> Result<(reqwest::Response, SocketAddr), FetchError> {
        let error = match self.send(request, lease.client()).await {
            Err(error) if error.needs_patience() && lease.be_patient() => error,
            sent => return sent,
        };
        // That a head is too large does not pass, but what happened then may.
        let sent = self.send(request, lease.client()).await;
        let sent = sent.map_err(|then| if error.is_retryable() { error } else { then })?;
        lease.answered(request.0);
        Ok(sent)
    }

    /// Sends the request, and receives the head of the response and the host's address.
    async fn send(
        &self,
        (url, headers): (&Url, &HeaderMap),
        client: &Client,
    ) -> Result<(reqwest::Response, SocketAddr), FetchError> {
        let mut request = Request::new(Method::GET, url.clone());
        *request.headers_mut() = headers.clone();
        self.credentials.add_to(request.headers_mut(), url);
        let Some(proxy) = self.proxy_of(url) else {
            let sent = client.execute(request).await;
            let arriving = sent.map_err(|error| FetchError::head(url, error, None))?;
            let address = self.guard.check_peer(url, arriving.remote_addr());
            return Ok((arriving, address.map_err(|refusal| FetchError::address(url, refusal))?));
        };
        let address = self.behind_proxy(url).await;
        let address = address.map_err(|source| FetchError::look_up(url, source))?;
        let sent = client.execute(request).await;
        let arriving = sent.map_err(|error| FetchError::head(url, error, Some(proxy)))?;
        match Refused::of(arriving.status(), arriving.headers()) {
            Some(refused) if url.scheme() == "http" => {
                Err(FetchError::refused(url, proxy, refused))
            }
            _ => Ok((arriving, address)),
        }
    }

    /// Reads a body into `response`, and appends it as received to `received`.
    async fn read(
        &self,
        arriving: reqwest::Response,
        resource: Resource,
        mut received: Option<&mut Vec<u8>>,
        response: &mut Response,
    ) -> std::io::Result<()> {
        let codings = body::codings(arriving.headers());
        let (limit, budget) = match resource {
            Resource::Page => (self.max_page, &self.pages),
            Resource::Robots => (500 << 10, &self.pages),
            Resource::Sitemap => (50 << 20, &self.sitemaps),
        };
        let mut share = budget.share(body::memory(&codings) + usize::from(received.is_some()));
        let chunks = arriving.bytes_stream().inspect_ok(|chunk| {
            if let Some(received) = &mut received {
                received.extend_from_slice(chunk);
            }
        });
        (response.body, response.extent) =
            body::read(Box::pin(chunks), &codings, limit, &mut share).await?;
        response.share = Some(Arc::new(share));
        Ok(())
    }
}

/// Whether the body of the response is needed.
fn is_needed(response: &Response, resource: Resource) -> bool {
    let may_serve =
        resource != Resource::Page || Media::of(response.content_type.as_deref()) != Media::Other;
    response.status.is_success() && may_serve
}

/// Reads a body that is not needed, if it is short and fast. A failure here is not an error.
async fn read_unneeded(response: reqwest::Response, mut share: MemoryShare) -> (Vec<u8>, Extent) {
    let nothing = (Vec::new(), Extent::Cut);
    if response.content_length().is_some_and(|length| length > UNNEEDED_BODY as u64) {
        return nothing;
    }
    let chunks = Box::pin(response.bytes_stream());
    let rest = body::read(chunks, &[], UNNEEDED_BODY, &mut share);
    match tokio::time::timeout(UNNEEDED_TIME, rest).await {
        Ok(Ok(rest)) => rest,
        _ => nothing,
    }
}

fn headers(user_agent: &str) -> Result<HeaderMap, FetchError> {
    let user_agent = HeaderValue::from_str(user_agent).map_err(FetchError::setup)?;
    let accept = "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.5";
    Ok(HeaderMap::from_iter([
        (USER_AGENT, user_agent),
        (ACCEPT, HeaderValue::from_static(accept)),
        (ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd, deflate")),
    ]))
}
