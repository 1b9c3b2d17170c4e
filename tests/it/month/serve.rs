//! Serves the world on loopback, and keeps account of what was served.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinSet,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    machine::Machine,
    world::{Answer, World},
};

/// Addresses, so that there are ports enough for connections that are waiting for their end.
const ADDRESSES: u8 = 16;

/// A response that takes longer may come too late for the program.
const PROMPT: Duration = Duration::from_millis(5);

/// A page was served again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) page: usize,
    pub(super) before: Duration,
    pub(super) now: Duration,
}

/// What was served. Times are real ones since the start.
#[derive(Debug)]
pub(super) struct Ledger {
    start: Instant,
    /// When each page was served last, in milliseconds from 1; odd if it may have come too late.
    served: Vec<AtomicU32>,
    /// Requests to each host.
    requests: Vec<AtomicU32>,
    pub(super) again: Mutex<Vec<Again>>,
    pub(super) pages: AtomicU64,
    pub(super) last_request: AtomicU32,
    pub(super) in_flight: AtomicU32,
}

impl Ledger {
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn millis(&self) -> u32 {
        u32::try_from(self.now().as_millis()).unwrap()
    }

    /// How long ago the last request arrived.
    pub(super) fn idle(&self) -> Duration {
        let last = self.last_request.load(Ordering::Relaxed);
        Duration::from_millis(self.millis().saturating_sub(last).into())
    }

    pub(super) fn is_served(&self, page: usize) -> bool {
        self.served[page].load(Ordering::Relaxed) > 0
    }

    fn serve(&self, page: usize, is_prompt: bool) {
        let now = (self.millis() + 1) << 1 | u32::from(!is_prompt);
        let before = self.served[page].swap(now, Ordering::Relaxed);
        if before == 0 {
            self.pages.fetch_add(1, Ordering::Relaxed);
        } else if before & 1 == 0 {
            let before = Duration::from_millis((before >> 1).into());
            self.again.lock().unwrap().push(Again { page, before, now: self.now() });
        }
    }
}

/// What the whole web does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Up,
    /// No connection is accepted.
    Down,
    /// Nothing is answered.
    Silent,
}

#[derive(Debug)]
pub(super) struct Web {
    runtime: Runtime,
    pub(super) addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    /// Ends listeners and connections.
    serving: CancellationToken,
}

#[derive(Debug)]
struct Shared {
    world: World,
    machine: Arc<Machine>,
    ledger: Ledger,
    silent: std::sync::atomic::AtomicBool,
}

impl Web {
    pub(super) fn new(world: World, machine: Arc<Machine>) -> Self {
        let runtime = Runtime::new().unwrap();
        let (hosts, pages) = (world.hosts, world.hosts * world.pages);
        let ledger = Ledger {
            start: Instant::now(),
            served: (0..2 * pages).map(|_| AtomicU32::new(0)).collect(),
            requests: (0..hosts).map(|_| AtomicU32::new(0)).collect(),
            again: Mutex::default(),
            pages: AtomicU64::new(0),
            last_request: AtomicU32::new(0),
            in_flight: AtomicU32::new(0),
        };
        let silent = false.into();
        let shared = Arc::new(Shared { world, machine, ledger, silent });
        let any = |last| SocketAddr::from(([127, 0, 1, last], 0));
        let addresses = (1..=ADDRESSES).map(any).collect();
        let mut web = Self { runtime, addresses, shared, serving: CancellationToken::new() };
        web.listen();
        web
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    pub(super) fn set(&mut self, mood: Mood) {
        self.shared.silent.store(mood == Mood::Silent, Ordering::Relaxed);
        if mood == Mood::Down {
            self.serving.cancel();
        } else if self.serving.is_cancelled() {
            self.listen();
        }
    }

    fn listen(&mut self) {
        self.serving = CancellationToken::new();
        for address in &mut self.addresses {
            let bind = TcpListener::bind(*address);
            let listener = self.runtime.block_on(bind).unwrap();
            *address = listener.local_addr().unwrap();
            let (shared, serving) = (Arc::clone(&self.shared), self.serving.clone());
            self.runtime.spawn(async move {
                let mut connections = JoinSet::new();
                let accepting = async {
                    loop {
                        while connections.try_join_next().is_some() {}
                        if let Ok((stream, _)) = listener.accept().await {
                            connections.spawn(connection(Arc::clone(&shared), stream));
                        }
                    }
                };
                tokio::select! {
                    () = accepting => {}
                    () = serving.cancelled() => {}
                }
            });
        }
    }
}

async fn connection(shared: Arc<Shared>, mut stream: TcpStream) {
    let mut head = Vec::with_capacity(1024);
    while stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {
        if head.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&head).into_owned();
            head.clear();
            if shared.respond(&text, &mut stream).await.is_none() {
                return;
            }
        }
    }
}

/// Name and path of a request.
fn request(head: &str) -> Option<(&str, &str)> {
    let path = head.split(' ').nth(1)?;
    let host = head
        .lines()
        .find(|line| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("host:")))?;
    Some((host[5..].trim(), path))
}

impl Shared {
    /// Answers a request. None if the connection is to be closed.
    async fn respond(&self, head: &str, stream: &mut TcpStream) -> Option<()> {
        let (name, path) = request(head)?;
        let (arrived, ledger) = (Instant::now(), &self.ledger);
        ledger.last_request.store(ledger.millis(), Ordering::Relaxed);
        let page = self.world.page_of(name, path);
        let host = self.world.page_of(name, "/").map_or(0, |((host, _), _)| host);
        let count = ledger.requests[host].fetch_add(1, Ordering::Relaxed);
        let hour = self.machine.passed().as_secs() / 3600;
        let answer = self.world.answer(name, path, count, hour);
        if self.silent.load(Ordering::Relaxed) || answer == Answer::Silence {
            drop(stream.read_u8().await);
            return None;
        }
        let sent = match answer {
            Answer::Whole { bytes, after, is_page } => {
                ledger.in_flight.fetch_add(1, Ordering::Relaxed);
                if !after.is_zero() {
                    sleep(Machine::real(after)).await;
                }
                let sent = stream.write_all(&bytes).await;
                ledger.in_flight.fetch_sub(1, Ordering::Relaxed);
                if let Some(((host, number), moved)) = page.filter(|_| is_page && sent.is_ok()) {
                    let moved = if moved { self.world.hosts } else { 0 };
                    let place = (host + moved) * self.world.pages + number;
                    ledger.serve(place, arrived.elapsed() < PROMPT);
                }
                return sent.ok();
            }
            Answer::Torn(bytes) => stream.write_all(&bytes).await,
            Answer::Endless(head, repeated) => {
                let repeated = repeated.repeat(4096);
                let mut sent = stream.write_all(&head).await;
                while sent.is_ok() && !self.silent.load(Ordering::Relaxed) {
                    sent = stream.write_all(&repeated).await;
                }
                sent
            }
            Answer::Dripping(bytes) => {
                let mut sent = Ok(());
                while sent.is_ok() && !self.silent.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(1)).await;
                    sent = stream.write_all(bytes).await;
                }
                sent
            }
            Answer::Closed | Answer::Silence => Ok(()),
        };
        drop(sent);
        None
    }
}
