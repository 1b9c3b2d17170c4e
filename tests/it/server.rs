//! A server on loopback that answers as configured, by host and path, and remembers the requests.
//!
//! Plain threads and sockets, so that it serves synchronous tests and whole processes too, and can break every rule of
//! HTTP. It ends with the value that [`Server::start`] returns.
#![allow(dead_code, reason = "a tool of all tests, of which some builds have few")]

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use url::Url;

/// A request as the server read it; header names are in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// What the server writes to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    head: String,
    body: Vec<u8>,
    framing: Framing,
    /// Waits before the first byte.
    latency: Duration,
    /// Writes this many bytes at once and waits in between.
    drip: Option<(usize, Duration)>,
    /// Writes only this many bytes of the body, then closes.
    cut: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length,
    Chunked,
    /// The body ends where the connection does.
    Close,
    /// The bytes are the whole answer, head and all; the connection is closed after them.
    Raw,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            head: format!("HTTP/1.1 {status} Because\r\n"),
            body: body.into(),
            framing: Framing::Length,
            latency: Duration::ZERO,
            drip: None,
            cut: None,
        }
    }

    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("Content-Type", "text/html; charset=utf-8")
    }

    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("Content-Type", "text/plain; charset=utf-8")
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, "moved").header("Location", location)
    }

    /// Bytes that are written as they are, after which the connection is closed.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { framing: Framing::Raw, ..Self::new(200, bytes) }
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        Self { head: format!("{}{name}: {value}\r\n", self.head), ..self }
    }

    /// Sends the body in chunks instead of with its length.
    pub(crate) fn chunked(self) -> Self {
        Self { framing: Framing::Chunked, ..self }
    }

    /// Sends the body without its length and closes after it.
    pub(crate) fn until_close(self) -> Self {
        Self { framing: Framing::Close, ..self }
    }

    /// Waits this long before it answers.
    pub(crate) fn after(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Sends `bytes` at a time with `pause` in between, head and body.
    pub(crate) fn drip(self, bytes: usize, pause: Duration) -> Self {
        Self { drip: Some((bytes, pause)), ..self }
    }

    /// Promises the whole body, sends `bytes` of it, and closes.
    pub(crate) fn cut(self, bytes: usize) -> Self {
        Self { cut: Some(bytes), ..self }
    }

    fn closes(&self) -> bool {
        self.cut.is_some() || matches!(self.framing, Framing::Close | Framing::Raw)
    }

    fn bytes(&self) -> Vec<u8> {
        let sent = &self.body[..self.cut.unwrap_or(self.body.len()).min(self.body.len())];
        let framing = match self.framing {
            Framing::Raw => return sent.to_vec(),
            Framing::Length => format!("Content-Length: {}\r\n", self.body.len()),
            Framing::Chunked => "Transfer-Encoding: chunked\r\n".to_owned(),
            Framing::Close => "Connection: close\r\n".to_owned(),
        };
        let mut bytes = format!("{}{framing}\r\n", self.head).into_bytes();
        if self.framing != Framing::Chunked {
            bytes.extend_from_slice(sent);
            return bytes;
        }
        for chunk in sent.chunks(1000) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        if self.cut.is_none() {
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        bytes
    }
}

/// Which reply a request gets. Hosts are names without port; `*` stands for all that have no route of their own.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    scripts: HashMap<(String, String), Vec<Reply>>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// One reply, whenever `path` of `host` is requested.
    pub(crate) fn at(self, host: &str, path: &str, reply: Reply) -> Self {
        self.script(host, path, [reply])
    }

    /// One reply after the other; the last one is repeated.
    pub(crate) fn script(
        mut self,
        host: &str,
        path: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        self.scripts.insert((host.to_owned(), path.to_owned()), replies.into_iter().collect());
        self
    }

    /// The reply to the request that is the `count`-th to its host and path, from 0: 404 where there is no route.
    fn reply(&self, request: &Request, count: usize) -> Reply {
        [request.host.as_str(), "*"]
            .iter()
            .find_map(|host| self.scripts.get(&((*host).to_owned(), request.path.clone())))
            .and_then(|script| script.get(count.min(script.len() - 1)).cloned())
            .unwrap_or_else(|| Reply::new(404, "not here").header("Content-Type", "text/html"))
    }
}

/// A server that answers until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    log: Mutex<Vec<Request>>,
    counts: Mutex<HashMap<(String, String), usize>>,
    connections: AtomicUsize,
    ended: AtomicBool,
}

impl Server {
    /// A server on a free port of 127.0.0.1 that answers by `routes`.
    pub(crate) fn start(routes: Routes) -> Self {
        Self::answering(move |request, count| routes.reply(request, count))
    }

    /// A server that answers with `reply` of a request whose host and path were requested `count` times before.
    pub(crate) fn answering(
        reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::answering_at("127.0.0.1:0".parse().unwrap(), reply)
    }

    /// The same at this address, as of a server that was dropped.
    pub(crate) fn answering_at(
        address: SocketAddr,
        reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (theirs, reply) = (Arc::clone(&shared), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.ended.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), shared, reply) = (stream, Arc::clone(&theirs), Arc::clone(&reply))
                else {
                    continue;
                };
                shared.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || serve(&stream, &shared, &*reply));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of `path` at the server's own address.
    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// All requests so far, in order of arrival.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.log().clone()
    }

    /// How often `path` of `host` was requested; `*` counts all hosts.
    pub(crate) fn count(&self, host: &str, path: &str) -> usize {
        let log = self.shared.log();
        log.iter().filter(|asked| (host == "*" || asked.host == host) && asked.path == path).count()
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it sees the end.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Vec<Request>> {
        self.log.lock().unwrap()
    }

    /// Records the request and returns how often the same was made before.
    fn observe(&self, request: &Request) -> usize {
        self.log().push(request.clone());
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry((request.host.clone(), request.path.clone())).or_default();
        *count += 1;
        *count - 1
    }
}

/// Answers the requests of one connection until either side closes it.
fn serve(stream: &TcpStream, shared: &Shared, reply: &dyn Fn(&Request, usize) -> Reply) {
    drop(stream.set_nodelay(true));
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        if shared.ended.load(Ordering::SeqCst) {
            break;
        }
        let count = shared.observe(&request);
        let reply = reply(&request, count);
        thread::sleep(reply.latency);
        if write(stream, &reply).is_err() || reply.closes() {
            break;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut lines = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let host = headers.iter().find(|(name, _)| name == "host").map(|(_, value)| value.as_str());
    let host = host.unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
    Some(Request { host, path, headers, at: Instant::now() })
}

fn write(mut stream: &TcpStream, reply: &Reply) -> std::io::Result<()> {
    let bytes = reply.bytes();
    let (step, pause) = reply.drip.unwrap_or((bytes.len().max(1), Duration::ZERO));
    for piece in bytes.chunks(step) {
        stream.write_all(piece)?;
        thread::sleep(pause);
    }
    Ok(())
}
