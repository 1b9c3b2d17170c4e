//! The HTTP clients, and which connections stay open between requests.
//!
//! The client's own pool limits the idle connections of a host, but not those of all hosts together: a crawl of many hosts would run out
//! of file descriptors. So only requests that hold one of [`IDLE`] places leave their connection open, or fewer
//! if the process may have few descriptors.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, redirect::Policy};
use rustls::ClientConfig;
use tokio::time::Instant;
use url::{Position, Url};

use super::{
    Options,
    address::{Guard, GuardedNames},
    certificate,
    failure::FetchError,
    proxy::Proxy,
};

/// Idle connections of all hosts, if the process may have enough file descriptors.
const IDLE: usize = 512;

/// Idle connections of each host: as many as a crawl has requests in flight by default. There are never more than its own limit for a host
/// permits (`politeness.per_host`).
const IDLE_PER_HOST: usize = 64;

/// How long they are kept: longer than a polite delay, shorter than most servers keep them.
const IDLE_TIME: Duration = Duration::from_secs(20);

/// The largest head that an HTTP/2 server may send, in bytes. Over HTTP/1 the client stops at 400 KiB.
const MAX_HEAD: u32 = 64 << 10;

/// How long it may take to connect to a host. A request that got no response for longer has reached it.
pub(super) fn connect_timeout(timeout: Duration) -> Duration {
    (timeout / 2).min(Duration::from_secs(8))
}

/// The fields of a head for the clients with patience: as many as a head of 400 KiB has if they are short. The client's map of them has room for
/// 24,576. It makes room for all of them before each head, also for each of endless informational ones, so the others have room for 100.
const MAX_FIELDS: usize = 16 << 10;

/// Hosts that are remembered to need patience. If there are more, each is asked like all others again.
const MAX_PATIENT: usize = 10_000;

/// The HTTP clients. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    /// Over HTTP/2 where a host speaks it.
    any: Clients,
    /// Over HTTP/1.1, for hosts that refuse HTTP/2 although they offer it, or send heads of more than 100 fields.
    patient: Clients,
    places: Arc<Mutex<Places>>,
}

/// Clients of one kind.
#[derive(Clone, Debug)]
struct Clients {
    /// Leaves connections open.
    lasting: Client,
    /// Closes each connection after its request.
    closing: Client,
}

/// Whose connections may stay open.
#[derive(Debug)]
struct Places {
    all: usize,
    hosts: HashMap<String, Place>,
    taken: usize,
    /// The hosts that are asked with patience.
    patient: HashSet<String>,
}

/// The places of one scheme, name and port.
#[derive(Debug)]
struct Place {
    connections: usize,
    in_use: usize,
    released: Instant,
}

/// The right to make one request; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Lease<'a> {
    connections: &'a Connections,
    /// The host, if the connection stays open.
    host: Option<String>,
    patient: bool,
}

impl Connections {
    pub(super) fn new(guard: &Arc<Guard>, options: &Options) -> Result<Self, FetchError> {
        let roots = options.authorities().map_err(FetchError::setup)?;
        let mut tls = certificate::config(roots).map_err(FetchError::setup)?;
        let clients = |tls: &ClientConfig, patient| {
            let client = |idle| client(guard, options, tls, idle, patient);
            Ok::<_, FetchError>(Clients { lasting: client(IDLE_PER_HOST)?, closing: client(0)? })
        };
        Ok(Self {
            any: clients(&tls, false)?,
            patient: {
                tls.alpn_protocols = vec![b"http/1.1".to_vec()];
                clients(&tls, true)?
            },
            places: Arc::new(Mutex::new(Places::new(IDLE.min(descriptors() / 4)))),
        })
    }

    /// Must be held until the whole response has been read.
    pub(super) fn lease(&self, url: &Url) -> Lease<'_> {
        let host = &url[..Position::AfterPort];
        let mut places = self.places();
        let (lasts, patient) = (places.take(host, Instant::now()), places.patient.contains(host));
        Lease { connections: self, host: lasts.then(|| host.to_owned()), patient }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease<'_> {
    pub(super) fn client(&self) -> &Client {
        let Connections { any, patient, .. } = self.connections;
        let clients = if self.patient { patient } else { any };
        if self.host.is_some() { &clients.lasting } else { &clients.closing }
    }

    /// Asks with patience from now on, unless that is what was done.
    pub(super) fn be_patient(&mut self) -> bool {
        !mem::replace(&mut self.patient, true)
    }

    /// The host has answered: if that took patience, it is asked so from now on.
    pub(super) fn answered(&self, url: &Url) {
        if self.patient {
            let mut places = self.connections.places();
            if places.patient.len() >= MAX_PATIENT {
                places.patient.clear();
            }
            places.patient.insert(url[..Position::AfterPort].to_owned());
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(host) = &self.host {
            self.connections.places().release(host, Instant::now());
        }
    }
}

impl Places {
    fn new(all: usize) -> Self {
        Self { all, hosts: HashMap::new(), taken: 0, patient: HashSet::new() }
    }

    /// Takes a place for a connection that stays open, if there is one.
    fn take(&mut self, host: &str, now: Instant) -> bool {
        if self.taken >= self.all {
            self.forget_closed(now);
        }
        let is_full = self.taken >= self.all;
        if let Some(place) = self.hosts.get_mut(host) {
            if place.in_use == place.connections {
                if is_full || place.connections >= IDLE_PER_HOST {
                    return false;
                }
                place.connections += 1;
                self.taken += 1;
            }
            place.in_use += 1;
            return true;
        }
        if !is_full {
            let place = Place { connections: 1, in_use: 1, released: now };
            self.hosts.insert(host.to_owned(), place);
            self.taken += 1;
        }
        !is_full
    }

    fn release(&mut self, host: &str, now: Instant) {
        if let Some(place) = self.hosts.get_mut(host) {
            place.in_use = place.in_use.saturating_sub(1);
            place.released = now;
        }
    }

    /// Forgets hosts whose connections are closed by now: the pool looks for expired ones once in [`IDLE_TIME`].
    fn forget_closed(&mut self, now: Instant) {
        self.hosts.retain(|_, place| place.in_use > 0 || place.released + 2 * IDLE_TIME > now);
        self.taken = self.hosts.values().map(|place| place.connections).sum();
    }
}

/// File descriptors that this process may have.
#[cfg(unix)]
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn descriptors() -> usize {
    usize::MAX
}

fn client(
    guard: &Arc<Guard>,
    options: &Options,
    tls: &ClientConfig,
    idle: usize,
    patient: bool,
) -> Result<Client, FetchError> {
    let mut client = builder(guard, options);
    if patient {
        client = client.http1_max_headers(MAX_FIELDS);
    }
    client
        .pool_max_idle_per_host(idle)
        .tls_backend_preconfigured(tls.clone())
        .build()
        .map_err(FetchError::setup)
}

/// A client that does nothing by itself: it decodes, follows and stores nothing. It uses no proxy from the environment, because a proxy
/// would connect to addresses that the guard forbids.
fn builder(guard: &Arc<Guard>, options: &Options) -> ClientBuilder {
    let proxy = options.proxy.as_ref();
    let names = GuardedNames {
        guard: Arc::clone(guard),
        proxy: proxy.and_then(Proxy::name).map(str::to_owned),
    };
    let client = match proxy.cloned() {
        Some(proxy) => {
            let guard = Arc::clone(guard);
            let via = move |url: &Url| (!guard.is_mapped(url)).then(|| proxy.url().clone());
            Client::builder().no_proxy().proxy(reqwest::Proxy::custom(via))
        }
        None => Client::builder().no_proxy(),
    };
    client
        .redirect(Policy::none())
        .referer(false)
        .dns_resolver(Arc::new(names))
        // The addresses of a name share it, so that a dead one leaves time for the next.
        .connect_timeout(connect_timeout(options.timeout))
        .pool_idle_timeout(IDLE_TIME)
        .http2_max_header_list_size(MAX_HEAD)
        // Browsers accept these too: a malformed header is no reason to lose a page.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_are_bounded_whatever_the_number_of_hosts() {
        let (mut places, start) = (Places::new(IDLE), Instant::now());
        let hosts: Vec<_> = (0..IDLE + 9).map(|n| format!("http://{n}.test")).collect();
        let lasting: Vec<_> = hosts.iter().filter(|host| places.take(host, start)).collect();
        assert_eq!((lasting.len(), places.taken), (IDLE, IDLE));
        for host in &lasting {
            places.release(host, start);
        }
        assert!(places.take(&hosts[0], start), "it has a connection");
        assert!(!places.take(&hosts[0], start), "but not two");
        assert!(!places.take(&hosts[IDLE], start + IDLE_TIME));
        assert!(places.take(&hosts[IDLE], start + 2 * IDLE_TIME));
        assert_eq!(places.taken, 2);
    }

    #[test]
    fn a_host_has_as_many_places_as_requests_in_flight_up_to_its_limit() {
        let (mut places, now) = (Places::new(IDLE), Instant::now());
        let taken = (0..IDLE_PER_HOST + 9).filter(|_| places.take("http://a.test", now)).count();
        assert_eq!((taken, places.taken), (IDLE_PER_HOST, IDLE_PER_HOST));
    }
}
