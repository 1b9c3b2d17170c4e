//! A window that several processes share, and crawls by several machines: what they agree on is kept by a PostgreSQL server.
//!
//! Each process judges in a window of its own first. A document that is unique there is claimed (`claims.rs`) by a procedure of the server, which is
//! one transaction: its keys are inserted, in order, and whoever inserts one of them at the same time waits; and its record. If other documents hold
//! some of its keys, all is rolled back, and their records are read and compared. If none is near, it is claimed once more, beside those that it was
//! compared with. So of near documents that share a key one is kept, whatever is killed when. The transaction is the whole protocol.
//!
//! Keys are in a table that is not logged, and made again from the records after a crash of the server. Two generations of both tables are the
//! window: the older one is only searched, and dropped when the newer one is full.
//!
//! | file | what it does |
//! |---|---|
//! | `connect.rs` | addresses, passwords, TLS |
//! | `claims.rs` | the claim of a document, generations |
//! | `member.rs` | a member of a crawl: its lease, the links that it sends and receives, its part of the budget, the end |
//! | `status.rs` | what the commands show and remove |
//! | `schema.sql`, `generation.sql` | the tables, and the procedure that claims |

mod claims;
mod connect;
#[cfg(feature = "crawl")]
mod member;
mod status;

use std::{
    collections::HashMap,
    error::Error,
    panic::resume_unwind,
    pin::pin,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle, Runtime, RuntimeFlavor},
    task::block_in_place,
    time::{sleep, timeout},
};
use tokio_postgres::{Client, Statement, error::SqlState, types::ToSql};
use tokio_util::sync::CancellationToken;

use crate::fingerprint::HashSeed;

pub(crate) use claims::{Claim, ClaimTally, Claims, Found};
pub use connect::Address;
#[cfg(feature = "crawl")]
pub(crate) use member::{Lease, Member, member_of};
pub use status::{drop_run, forget, status};

/// The version of the tables.
const LAYOUT: i32 = 3;
/// The first lock of a member: those before it are for the creation of the tables, and for the generations.
const FIRST_LOCK: i32 = 2;
const SCHEMA: &str = include_str!("schema.sql");
/// How long a statement may take. The keys of 10^8 records take longer to be made again: then it is tried again.
const LONGEST: Duration = Duration::from_secs(30);
/// How often it is looked whether the work is to stop.
const GLANCE: Duration = Duration::from_millis(50);
/// The pause after a failure, at first and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Why a window or a crawl cannot be shared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// Another address, other options or another directory help: it says which.
    #[error("{0}")]
    Refused(String),
    /// The server did not answer for so long.
    #[error("the server has not answered for {} s: {why}", .waited.as_secs())]
    Away {
        /// How long it was waited for.
        waited: Duration,
        /// What was seen last.
        why: String,
    },
    /// The work was stopped while the server did not answer.
    #[error("stopped while the server did not answer: run the same command again")]
    Stopped,
    /// Another process has taken over.
    #[error("another process has taken over member {0}: this one ends")]
    Fenced(i32),
    /// What is stored makes no sense.
    #[error("what the server has stored cannot be read: {0}")]
    Damaged(&'static str),
    /// The server refuses something.
    #[error("the server {server} refuses it: {}", shown(.source))]
    Database {
        /// Its address.
        server: String,
        /// Why.
        source: tokio_postgres::Error,
    },
}

fn refused<T>(why: String) -> Result<T, ClusterError> {
    Err(ClusterError::Refused(why))
}

/// An error of the server with its causes, which are in no other place.
fn shown(error: &tokio_postgres::Error) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Why an attempt has failed.
#[derive(Debug)]
enum Failure {
    /// The next attempt may go better at once.
    Again,
    /// The server does not answer.
    Silent,
    Stopped,
    Server(tokio_postgres::Error),
    Fatal(ClusterError),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::Fatal(error)
    }
}

fn causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// Whether the server may do later what it refuses now: it is away, starting, failing over, full, or was asked by two at once.
fn may_pass(error: &tokio_postgres::Error) -> bool {
    const CLASSES: [&str; 7] = ["08", "25", "40", "53", "55", "57", "58"];
    if let Some(code) = error.code() {
        return CLASSES.iter().any(|class| code.code().starts_with(class));
    }
    let is_certificate = |cause: &(dyn Error + 'static)| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some()
    };
    let is_io = causes(error).any(|cause| cause.downcast_ref::<std::io::Error>().is_some());
    error.is_closed() || is_io && !causes(error).any(is_certificate)
}

fn is_missing_table(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNDEFINED_TABLE)
}

/// A server, and how long it is waited for.
#[derive(Debug)]
pub(crate) struct Server {
    address: Address,
    /// `None` for as long as it takes.
    patience: Option<Duration>,
    stop: CancellationToken,
}

impl Server {
    /// Nothing is waited for after `stop`.
    pub(crate) fn new(
        address: &Address,
        patience: Option<Duration>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self { address: address.clone(), patience, stop })
    }
}

/// The runtime of a connection. It may be dropped within another one.
#[derive(Debug)]
struct Waiter(Option<Runtime>);

impl Waiter {
    /// Without a thread: a connection is served by whoever waits for it. To hand each answer from one thread to another costs more than the answer.
    fn here() -> Arc<Self> {
        Self::built(&mut Builder::new_current_thread())
    }

    /// With a thread, for what goes on while nobody waits.
    #[cfg(feature = "crawl")]
    fn beside() -> Arc<Self> {
        Self::built(Builder::new_multi_thread().worker_threads(1))
    }

    fn built(builder: &mut Builder) -> Arc<Self> {
        let runtime = builder.enable_all().build();
        Arc::new(Self(Some(runtime.expect("a thread can be started"))))
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }

    fn wait<T: Send, F: Future<Output = T>>(&self, work: impl FnOnce() -> F + Send) -> T {
        let run = || self.runtime().block_on(work());
        match Handle::try_current().map(|outer| outer.runtime_flavor()) {
            Err(_) => run(),
            Ok(RuntimeFlavor::MultiThread) => block_in_place(run),
            // Its only thread may not wait for another runtime.
            Ok(_) => thread::scope(|scope| scope.spawn(run).join())
                .unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A connection, and what was prepared on it.
#[derive(Debug)]
struct Connection {
    client: Client,
    prepared: HashMap<String, Statement>,
    /// The number of the schema among locks.
    lock: i32,
}

impl Connection {
    async fn open(address: &Address, settings: &str) -> Result<Self, tokio_postgres::Error> {
        let client = address.connect(settings).await?;
        Ok(Self { client, prepared: HashMap::new(), lock: address.lock() })
    }

    /// The lock of the generations: whoever claims shares it.
    fn generations(&self) -> String {
        lock_of_generations(self.lock)
    }

    async fn prepare(&mut self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn lock_of_generations(lock: i32) -> String {
    format!("{lock}, 1")
}

/// A connection that is renewed when it is lost, and what is done on it again.
#[derive(Debug)]
struct Session {
    server: Arc<Server>,
    waiter: Arc<Waiter>,
    connection: Option<Connection>,
    settings: &'static str,
}

impl Session {
    fn new(server: &Arc<Server>, settings: &'static str) -> Self {
        Self::on(Waiter::here(), server, settings)
    }

    fn on(waiter: Arc<Waiter>, server: &Arc<Server>, settings: &'static str) -> Self {
        Self { server: Arc::clone(server), waiter, connection: None, settings }
    }

    /// Does something that may be done again: until it succeeds, the server refuses it, or it has been away for too long.
    fn persist<T: Send>(
        &mut self,
        mut action: impl AsyncFnMut(&mut Connection) -> Result<T, Failure> + Send,
    ) -> Result<T, ClusterError> {
        let waiter = Arc::clone(&self.waiter);
        waiter.wait(async || {
            let (mut pause, mut away) = (PAUSE[0], None);
            loop {
                let why = match self.attempt(&mut action).await {
                    Ok(done) => {
                        if away.is_some_and(|since: Instant| since.elapsed() > PAUSE[1]) {
                            tracing::warn!("the server answers again");
                        }
                        return Ok(done);
                    }
                    Err(Failure::Again) => continue,
                    Err(Failure::Fatal(error)) => return Err(error),
                    Err(Failure::Stopped) => return Err(ClusterError::Stopped),
                    Err(Failure::Server(error)) if may_pass(&error) => shown(&error),
                    Err(Failure::Silent) => "it is silent".to_owned(),
                    Err(Failure::Server(source)) => {
                        let server = self.server.address.to_string();
                        return Err(ClusterError::Database { server, source });
                    }
                };
                self.connection = None;
                let since = *away.get_or_insert_with(Instant::now);
                if self.server.patience.is_some_and(|patience| since.elapsed() > patience) {
                    return Err(ClusterError::Away { waited: since.elapsed(), why });
                }
                if since.elapsed() > PAUSE[1] && pause < PAUSE[1] {
                    tracing::warn!(server = %self.server.address, why, "no answer: everything waits");
                }
                self.pause(&mut pause).await?;
            }
        })
    }

    async fn pause(&self, pause: &mut Duration) -> Result<(), ClusterError> {
        let until = Instant::now() + *pause;
        while Instant::now() < until {
            if self.server.stop.is_cancelled() {
                return Err(ClusterError::Stopped);
            }
            sleep(GLANCE.min(until.saturating_duration_since(Instant::now()))).await;
        }
        *pause = (*pause * 2).min(PAUSE[1]);
        Ok(())
    }

    async fn attempt<T>(
        &mut self,
        action: &mut impl AsyncFnMut(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Self { server, connection, settings, .. } = self;
        let began = Instant::now();
        let mut work = pin!(async {
            if connection.is_none() {
                *connection = Some(Connection::open(&server.address, settings).await?);
            }
            action(connection.as_mut().expect("it was opened")).await
        });
        loop {
            if let Ok(done) = timeout(GLANCE, work.as_mut()).await {
                return done;
            }
            if server.stop.is_cancelled() && began.elapsed() > PAUSE[1] {
                return Err(Failure::Stopped);
            }
            if began.elapsed() > LONGEST {
                return Err(Failure::Silent);
            }
        }
    }
}

/// What all who share a window agree on.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// How texts are fingerprinted.
    pub(crate) scheme: String,
    /// The seed of the hashes, if it is given, and that of a new window.
    pub(crate) hash_seed: Option<HashSeed>,
    pub(crate) new_hash_seed: HashSeed,
    /// A digest of what else must be equal.
    pub(crate) configuration: String,
    /// How many members a new crawl gets; 0 for a window. The number of one that exists is not changed.
    pub(crate) members: u32,
    pub(crate) entries: u64,
    pub(crate) age: Option<Duration>,
    /// The pages of the budget.
    pub(crate) pages: u64,
}

/// A window that was opened.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The number of this process, at this start.
    session: i32,
    pub(crate) hash_seed: HashSeed,
    pub(crate) members: u32,
    /// Identifies it among those that had its name.
    pub(crate) began: String,
}

/// Opens a window, or creates it.
///
/// # Errors
/// If the server cannot be used, or this process does not agree with the others.
pub(crate) fn open(server: &Arc<Server>, terms: &Terms) -> Result<Run, ClusterError> {
    let row = Session::new(server, "").persist(async |connection| {
        let transaction = connection.client.transaction().await?;
        let schema = server.address.schema();
        let lock = format!("SELECT pg_advisory_xact_lock({}, 0)", server.address.lock());
        transaction.batch_execute(&lock).await?;
        let known = "SELECT to_regclass(quote_ident($1) || '.run') IS NOT NULL";
        if !transaction.query_one(known, &[&schema]).await?.get::<_, bool>(0) {
            create(&transaction, &server.address, terms).await?;
        }
        let raise =
            "UPDATE run SET remaining = remaining + $1 - pages, pages = $1 WHERE pages < $1";
        transaction.execute(raise, &[&bigint(terms.pages)]).await?;
        let sql = "SELECT nextval('session')::int, members, began::text, hash_seed, layout::text, scheme, configuration FROM run";
        let row = transaction.query_one(sql, &[]).await?;
        transaction.commit().await?;
        Ok(row)
    })?;
    let hash_seed = HashSeed(row.get::<_, i64>(3).cast_unsigned());
    let check = |what, stored: String, wanted: &str| {
        if stored == wanted {
            return Ok(());
        }
        let server = &server.address;
        refused(format!(
            "the {what} of {server} is {stored}, here it is {wanted}: use the same version and the same options everywhere, or another name after the `#`"
        ))
    };
    check("layout", row.get(4), &LAYOUT.to_string())?;
    check("recipe of the fingerprints", row.get(5), &terms.scheme)?;
    check("id of the hash seed", hash_seed.id(), &terms.hash_seed.unwrap_or(hash_seed).id())?;
    check("digest of the configuration", row.get(6), &terms.configuration)?;
    let members = u32::try_from(row.get::<_, i32>(1)).unwrap_or(0);
    Ok(Run { session: row.get(0), hash_seed, members, began: row.get(2) })
}

fn bigint(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Creates the tables.
async fn create(
    transaction: &tokio_postgres::Transaction<'_>,
    address: &Address,
    terms: &Terms,
) -> Result<(), Failure> {
    let schema = address.schema();
    transaction.batch_execute(&format!("CREATE SCHEMA {schema};{SCHEMA}")).await?;
    transaction.batch_execute(&claims::tables(1, &lock_of_generations(address.lock()))).await?;
    transaction.batch_execute("INSERT INTO ready VALUES (1)").await?;
    let Terms { scheme, configuration, .. } = terms;
    let seed = terms.hash_seed.unwrap_or(terms.new_hash_seed).0.cast_signed();
    let members = i32::try_from(terms.members).unwrap_or(i32::MAX);
    let (entries, age) = (bigint(terms.entries), terms.age.map(|age| bigint(age.as_secs())));
    let sql = "INSERT INTO run (layout, scheme, hash_seed, configuration, members, entries, age, generation) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, 1)";
    let parameters: [&(dyn ToSql + Sync); 7] =
        [&LAYOUT, scheme, &seed, configuration, &members, &entries, &age];
    transaction.execute(sql, &parameters).await?;
    let sql = "INSERT INTO member (member) SELECT generate_series(0, $1 - 1)";
    transaction.execute(sql, &[&members]).await?;
    Ok(())
}
