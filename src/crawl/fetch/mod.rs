//! Fetches: one request, one answer. Redirects are not followed, nothing is asked twice, no state is kept but connections.
//!
//! Everything that comes from the network is bounded here: addresses by the guard, time by one deadline, bodies by counting
//! what comes out of their decoder. Politeness, retries and robots.txt are the callers' matter.

mod address;
mod answer;
mod body;
mod failure;
mod media;

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use bytesize::ByteSize;
use futures_util::TryStreamExt;
use ipnet::IpNet;
use jiff::Timestamp;
use reqwest::{
    Client, ClientBuilder, Method, Request, Response,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, USER_AGENT},
    redirect::Policy,
};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::sink::warc::Cut;

pub use answer::{Answer, Exchange, Extent};
pub use failure::FetchError;
pub use media::is_html;

use address::{Guard, GuardedNames};
use body::{Body, Coding};
use media::Media;

/// A body that nobody looks at is read up to this length, so that its connection can be used again; that is cheaper than a
/// new one up to about here.
const SPARE_BODY: usize = 64 << 10;

/// How long such a body may take.
const SPARE_TIME: Duration = Duration::from_secs(1);

/// Connections that wait for the next request, for each host.
const IDLE_PER_HOST: usize = 8;

/// How long they wait: longer than a polite delay, shorter than most servers do.
const IDLE_TIME: Duration = Duration::from_secs(20);

/// The largest head that an HTTP/2 server may send, in bytes. Over HTTP/1 the client stops at 100 headers and 400 KiB.
const MAX_HEAD: u32 = 64 << 10;

/// What a fetch may take and where it may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Longest time for one whole answer, from the look-up of the name to the last byte of the body.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// How often a request is repeated that failed in a way that may pass. The fetcher leaves that to its caller.
    pub retries: u32,
    /// Longest body of a page in decoded bytes; a longer one is cut there and marked.
    #[serde(serialize_with = "crate::page::numbers::serialize_size")]
    pub max_body: ByteSize,
    /// Networks that may be connected to although they are not globally routable.
    pub allow_private: Vec<IpNet>,
    /// Names with the address and port that they stand for instead of what the resolver says. The port replaces the URL's
    /// default port; a URL that spells another port is refused unless `allow_private` covers the address.
    pub resolve: BTreeMap<String, SocketAddr>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 3,
            max_body: ByteSize::mib(8),
            allow_private: Vec::new(),
            resolve: BTreeMap::new(),
        }
    }
}

/// What is asked for, which decides how much of it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A page: up to [`Options::max_body`], and only if it may be HTML.
    Page,
    /// A robots.txt: up to 500 KiB, what RFC 9309 demands at least.
    Robots,
    /// A sitemap: up to 50 MiB, what the protocol allows at most.
    Sitemap,
}

/// The HTTP client behind its guards. Cheap to clone; the clones share their connections.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Client,
    guard: Arc<Guard>,
    headers: HeaderMap,
    timeout: Duration,
    max_page: usize,
    keep_exchanges: bool,
}

impl Fetcher {
    /// A fetcher that introduces itself as `user_agent`.
    ///
    /// # Errors
    ///
    /// If `user_agent` cannot stand in a header, a key of `resolve` is not a host name, or TLS cannot be set up.
    pub fn new(options: &Options, user_agent: &str) -> Result<Self, FetchError> {
        let guard = Arc::new(
            Guard::new(&options.allow_private, &options.resolve).map_err(FetchError::setup)?,
        );
        Ok(Self {
            client: client(&guard, options.timeout)?,
            guard,
            headers: headers(user_agent)?,
            timeout: options.timeout,
            max_page: usize::try_from(options.max_body.as_u64()).unwrap_or(usize::MAX),
            keep_exchanges: false,
        })
    }

    /// The same fetcher keeping every exchange as an archive needs it, which takes about twice the memory.
    #[must_use]
    pub fn keeping_exchanges(self) -> Self {
        Self { keep_exchanges: true, ..self }
    }

    /// Asks for `url` once.
    ///
    /// The body is read if the status is 2xx and, for a page, if its content type may be HTML; see [`Extent`]. Untyped
    /// bodies are read, and [`is_html`] tells what they are.
    ///
    /// # Errors
    ///
    /// If no whole answer came within the deadline; [`FetchError::kind`] tells why. What came of it is kept with the error, if
    /// exchanges are kept.
    pub async fn get(&self, url: &Url, limit: Limit) -> Result<Answer, FetchError> {
        self.guard.check_url(url).map_err(|refusal| FetchError::address(url, refusal))?;
        let mut heard = None;
        let asked = tokio::time::timeout(self.timeout, self.ask(url, limit, &mut heard)).await;
        let got = asked.unwrap_or_else(|_| Err(FetchError::timeout(url)));
        got.map_err(|error| error.after(heard))
    }

    /// What comes of the answer is put into `heard`, if it is kept, as it comes.
    async fn ask(
        &self,
        url: &Url,
        limit: Limit,
        heard: &mut Option<Exchange>,
    ) -> Result<Answer, FetchError> {
        let started = Timestamp::now();
        let mut request = Request::new(Method::GET, url.clone());
        *request.headers_mut() = self.headers.clone();
        let response =
            self.client.execute(request).await.map_err(|error| FetchError::head(url, error))?;
        let address = self
            .guard
            .check_peer(url, response.remote_addr())
            .map_err(|refusal| FetchError::address(url, refusal))?;
        let mut answer = Answer::of_head(&response, address);
        if self.keep_exchanges {
            *heard = Some(Exchange::of_heads(started, url, &self.headers, &response, address));
        }
        let is_wanted = is_wanted(&answer, limit);
        let body = if is_wanted {
            let received = heard.as_mut().map(|exchange| exchange.body.get_or_insert_default());
            let read = self.read(response, limit, received).await;
            read.map_err(|error| FetchError::body(url, error))?
        } else {
            spare(response).await
        };
        answer.exchange = heard.take();
        if let Some(exchange) = &mut answer.exchange {
            exchange.truncated = (body.extent == Extent::Cut).then_some(Cut::Length);
            exchange.body.take_if(|_| !body.coded);
        }
        match (is_wanted, &mut answer.exchange) {
            (true, _) => (answer.body, answer.extent) = (body.decoded, body.extent),
            (false, Some(exchange)) => exchange.body = Some(body.decoded),
            (false, None) => {}
        }
        Ok(answer)
    }

    /// Reads a body, and adds what is received of it to `received`.
    async fn read(
        &self,
        response: Response,
        limit: Limit,
        mut received: Option<&mut Vec<u8>>,
    ) -> std::io::Result<Body> {
        let coding = Coding::of(response.headers())?;
        let limit = match limit {
            Limit::Page => self.max_page,
            Limit::Robots => 500 << 10,
            Limit::Sitemap => 50 << 20,
        };
        let chunks = response.bytes_stream().inspect_ok(|chunk| {
            if let Some(received) = &mut received {
                received.extend_from_slice(chunk);
            }
        });
        body::read(Box::pin(chunks), coding, limit).await
    }
}

/// Whether anybody will look at the answer's body.
fn is_wanted(answer: &Answer, limit: Limit) -> bool {
    let may_serve =
        limit != Limit::Page || Media::of(answer.content_type.as_deref()) != Media::Other;
    answer.is_success() && may_serve
}

/// What a body that nobody looks at still brings, if it is short and quick; a failure here spoils no answer.
async fn spare(response: Response) -> Body {
    let nothing = Body { extent: Extent::Cut, ..Body::default() };
    if response.content_length().is_some_and(|length| length > SPARE_BODY as u64) {
        return nothing;
    }
    let chunks = Box::pin(response.bytes_stream());
    let rest = body::read(chunks, Coding::Identity, SPARE_BODY);
    match tokio::time::timeout(SPARE_TIME, rest).await {
        Ok(Ok(rest)) => rest,
        _ => nothing,
    }
}

fn client(guard: &Arc<Guard>, timeout: Duration) -> Result<Client, FetchError> {
    let builder = || builder(guard, timeout);
    builder()
        .build()
        .or_else(|error| {
            // A machine without certificates of authorities can still crawl what needs none.
            tracing::warn!(%error, "no certificates to trust were found: every https host will be refused");
            builder().tls_certs_only([]).build()
        })
        .map_err(FetchError::setup)
}

/// A client that does nothing by itself: it decodes, follows and stores nothing, and takes no proxy from the environment,
/// because a proxy would connect on our behalf to where the guard forbids.
fn builder(guard: &Arc<Guard>, timeout: Duration) -> ClientBuilder {
    Client::builder()
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .dns_resolver(Arc::new(GuardedNames(Arc::clone(guard))))
        // Shared by the addresses of a name, so that a dead one leaves time for the next.
        .connect_timeout(timeout / 2)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .pool_idle_timeout(IDLE_TIME)
        .http2_max_header_list_size(MAX_HEAD)
        // Browsers read these too; a malformed header is no reason to lose a page.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
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
