//! A member of a crawl: one run directory, which owns the sites that its number falls to.
//!
//! The lease of a member is an advisory lock, which the server frees when the session ends, however that happens. A session that is silent for
//! [`SILENCE`] is ended by the server. Whoever has heard less than [`VALID`] ago that its session is alive holds the lease; a process that was stopped
//! and wakes has not, and sends nothing until it has.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::time::{sleep, timeout};
use tokio_postgres::types::ToSql;

use super::{
    Address, ClusterError, Connection, FIRST_LOCK, Failure, Run, Server, Session, Waiter, bigint,
    refused,
};

/// After this time the server ends a silent session; for this time since it was asked last the lease holds.
const SILENCE: &str = "-c idle_session_timeout=15s";
const VALID: Duration = Duration::from_secs(10);
/// How often the server is asked.
const PING: Duration = Duration::from_secs(1);
/// How long a start waits for the lease of a process that is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// Batches that are received at once.
const AT_ONCE: i64 = 64;

/// The member that owns a site.
#[must_use]
pub(crate) fn member_of(site: &str, members: u32) -> u32 {
    let hash = xxhash_rust::xxh3::xxh3_64(site.as_bytes());
    u32::try_from(hash % u64::from(members.max(1))).unwrap_or(0)
}

/// Whether this process may act as the member.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// Until when, by the clock of [`now`].
    until: AtomicI64,
    is_lost: AtomicBool,
}

impl Lease {
    pub(crate) fn holds(&self) -> bool {
        now() < self.until.load(Ordering::Acquire)
    }

    /// Whether another process has taken it.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Waits until it holds.
    pub(crate) async fn held(&self) {
        while !self.holds() {
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Milliseconds of a clock that also counts while the machine sleeps, where there is one.
fn now() -> i64 {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
    #[cfg(not(target_os = "linux"))]
    {
        static BEGAN: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        millis(BEGAN.elapsed())
    }
}

/// A member that this process is.
#[derive(Debug)]
pub(crate) struct Member {
    session: Session,
    pub(crate) number: u32,
    pub(crate) members: u32,
    epoch: i32,
    pub(crate) lease: Arc<Lease>,
    /// What was seen when all members were idle.
    last: Option<(i64, i64)>,
    /// Where the lease is kept.
    _keeping: Arc<Waiter>,
}

impl Member {
    /// Takes a member: this one, that of the run directory, or a free one. `state` identifies the run directory.
    ///
    /// # Errors
    /// If it is taken, or belongs to another directory, or the server cannot be used.
    pub(crate) fn join(
        server: &Arc<Server>,
        run: &Run,
        wanted: Option<u32>,
        state: &str,
    ) -> Result<Self, ClusterError> {
        if let Some(member) = wanted.filter(|member| *member >= run.members) {
            return refused(format!(
                "there is no member {member}: there are {}, from 0 on, and their number is fixed",
                run.members
            ));
        }
        let waiter = Waiter::beside();
        let mut session = Session::on(Arc::clone(&waiter), server, SILENCE);
        let began = now();
        let (number, epoch, asked) = session.persist(async |connection| {
            let asked = now();
            let free = free_members(connection, wanted, state).await?;
            for number in &free {
                if try_lock(connection, *number).await? {
                    let sql = "UPDATE member SET state = $2, epoch = epoch + 1, is_idle = false, sessions = sessions || $3 \
                               WHERE member = $1 AND coalesce(state, $2) = $2 RETURNING epoch";
                    let client = &connection.client;
                    let row = client.query_opt(sql, &[number, &state, &vec![run.session]]).await?;
                    if let Some(row) = row {
                        client.execute("UPDATE run SET is_over = false WHERE is_over", &[]).await?;
                        return Ok((u32::try_from(*number).unwrap_or(0), row.get(0), asked));
                    }
                }
            }
            // The server may not know yet that a process is gone.
            if !free.is_empty() && now() - began < millis(PATIENCE) {
                sleep(PING / 4).await;
                return Err(Failure::Again);
            }
            let why = match wanted {
                Some(member) if free.is_empty() => format!(
                    "member {member} belongs to another run directory, or this directory to another member: start it there, or give that directory up by `pagesieve cluster forget`"
                ),
                Some(member) => format!("member {member} is running elsewhere"),
                None => "all members are taken: `pagesieve cluster status` lists them".to_owned(),
            };
            Err(ClusterError::Refused(why).into())
        })?;
        let lease = Arc::new(Lease::default());
        lease.until.store(asked + millis(VALID), Ordering::Release);
        let address = server.address.clone();
        let keeper = Keeper { address, number, epoch, lease: Arc::clone(&lease) };
        // It ends with its runtime.
        drop(waiter.runtime().spawn(keeper.keep(session.connection.take())));
        let (session, members) = (Session::new(server, ""), run.members);
        Ok(Self { session, number, members, epoch, lease, last: None, _keeping: waiter })
    }

    /// Stores links for other members, durably, and deletes batches that were received and committed. After these the member has something to do.
    ///
    /// # Errors
    /// If another process has taken over, or the server refuses it.
    pub(crate) fn exchange(
        &mut self,
        batches: &[(u32, Vec<u8>)],
        committed: &[i64],
    ) -> Result<(), ClusterError> {
        let (number, epoch) = self.key();
        let receiver = |(to, _): &(u32, _)| i32::try_from(*to).unwrap_or(i32::MAX);
        let receivers: Vec<i32> = batches.iter().map(receiver).collect();
        let links: Vec<&[u8]> = batches.iter().map(|(_, links)| links.as_slice()).collect();
        self.session.persist(async |connection| {
            // One statement is one transaction, and one answer to wait for.
            let sql = "WITH own AS (SELECT FROM member WHERE member = $1 AND epoch = $2 FOR UPDATE), \
                       sent AS (INSERT INTO link (receiver, links) SELECT new.* FROM own, unnest($3::int[], $4::bytea[]) new RETURNING 1), \
                       gone AS (DELETE FROM link USING own WHERE id = ANY($5) RETURNING 1) \
                       UPDATE member SET sent = sent + (SELECT count(*) FROM sent), received = received + (SELECT count(*) FROM gone), \
                       is_idle = is_idle AND NOT EXISTS (SELECT FROM gone) FROM own WHERE member = $1";
            let sql = connection.prepare(sql).await?;
            let parameters: [&(dyn ToSql + Sync); 5] =
                [&number, &epoch, &receivers, &links, &committed];
            let told = connection.client.execute(&sql, &parameters).await?;
            if told == 0 { Err(fenced(number)) } else { Ok(()) }
        })
    }

    /// Batches of links from other members.
    ///
    /// # Errors
    /// If the server refuses it.
    pub(crate) fn receive(&mut self) -> Result<Vec<(i64, Vec<u8>)>, ClusterError> {
        let (number, _) = self.key();
        self.session.persist(async |connection| {
            let sql = "SELECT id, links FROM link WHERE receiver = $1 ORDER BY id LIMIT $2";
            let sql = connection.prepare(sql).await?;
            let rows = connection.client.query(&sql, &[&number, &AT_ONCE]).await?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
    }

    /// Says whether the member has nothing to do, and keeps its report.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub(crate) fn tell(&mut self, is_idle: bool, report: &str) -> Result<(), ClusterError> {
        let (number, epoch) = self.key();
        self.session.persist(async |connection| {
            let sql =
                "UPDATE member SET is_idle = $3, report = $4 WHERE member = $1 AND epoch = $2";
            let told =
                connection.client.execute(sql, &[&number, &epoch, &is_idle, &report]).await?;
            if told == 0 { Err(fenced(number)) } else { Ok(()) }
        })
    }

    /// Whether the run is over: all members are idle, no links are on their way, and as many were received as sent, twice in a row. A member that has
    /// received links is not idle from the moment at which these are no longer on their way.
    ///
    /// # Errors
    /// If the server refuses it.
    pub(crate) fn is_over(&mut self) -> Result<bool, ClusterError> {
        let last = self.last;
        let (is_over, seen) = self.session.persist(async |connection| {
            let sql = "SELECT bool_and(is_idle) AND sum(sent) = sum(received) AND NOT EXISTS (SELECT FROM link), \
                       sum(sent)::bigint, sum(epoch)::bigint, (SELECT is_over FROM run) FROM member";
            let sql = connection.prepare(sql).await?;
            let row = connection.client.query_one(&sql, &[]).await?;
            let seen = row.get::<_, bool>(0).then(|| (row.get(1), row.get(2)));
            let is_over = row.get(3) || seen.is_some() && seen == last;
            if is_over {
                connection.client.execute("UPDATE run SET is_over = true", &[]).await?;
            }
            Ok((is_over, seen))
        })?;
        self.last = seen;
        Ok(is_over)
    }

    /// Takes more pages of the budget. Returns how many it has taken over all its starts.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub(crate) fn take_pages(&mut self, pages: u64) -> Result<u64, ClusterError> {
        let (number, epoch) = self.key();
        let pages = bigint(pages);
        self.session.persist(async |connection| {
            let transaction = connection.client.transaction().await?;
            let sql = "SELECT least(remaining, $1) FROM run FOR UPDATE";
            let taken: i64 = transaction.query_one(sql, &[&pages]).await?.get(0);
            transaction.execute("UPDATE run SET remaining = remaining - $1", &[&taken]).await?;
            let sql = "UPDATE member SET granted = granted + $3 WHERE member = $1 AND epoch = $2 RETURNING granted";
            let row = transaction.query_opt(sql, &[&number, &epoch, &taken]).await?;
            let granted: i64 = row.ok_or_else(|| fenced(number))?.get(0);
            transaction.commit().await?;
            Ok(u64::try_from(granted).unwrap_or(0))
        })
    }

    fn key(&self) -> (i32, i32) {
        (i32::try_from(self.number).unwrap_or(i32::MAX), self.epoch)
    }
}

fn fenced(member: i32) -> Failure {
    Failure::Fatal(ClusterError::Fenced(member))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The members that a directory may be: its own, or those of no directory.
async fn free_members(
    connection: &Connection,
    wanted: Option<u32>,
    state: &str,
) -> Result<Vec<i32>, Failure> {
    let wanted = wanted.and_then(|it| i32::try_from(it).ok());
    let sql = "SELECT member FROM member WHERE coalesce(state, $1) = $1 AND coalesce($2, member) = member \
               AND (state IS NOT NULL OR NOT EXISTS (SELECT FROM member WHERE state = $1)) ORDER BY member";
    let rows = connection.client.query(sql, &[&state, &wanted]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Takes the lock of a member for this session, if it is free.
async fn try_lock(connection: &Connection, member: i32) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT pg_try_advisory_lock($1, $2)";
    Ok(connection.client.query_one(sql, &[&connection.lock, &(member + FIRST_LOCK)]).await?.get(0))
}

/// Keeps the lease.
struct Keeper {
    address: Address,
    number: u32,
    epoch: i32,
    lease: Arc<Lease>,
}

impl Keeper {
    async fn keep(self, mut connection: Option<Connection>) {
        loop {
            let asked = now();
            // A server that is silent for this long has its reasons: the lease ends by itself.
            match timeout(VALID, self.ask(&mut connection)).await {
                Ok(Ok(true)) => self.lease.until.store(asked + millis(VALID), Ordering::Release),
                Ok(Ok(false)) => {
                    self.lease.until.store(0, Ordering::Release);
                    self.lease.is_lost.store(true, Ordering::Release);
                    return;
                }
                _ => {
                    self.lease.until.store(0, Ordering::Release);
                    connection = None;
                }
            }
            sleep(PING).await;
        }
    }

    /// Whether the member is still that of this process; an error if it cannot be known, or the lock is not free yet.
    async fn ask(&self, connection: &mut Option<Connection>) -> Result<bool, Failure> {
        let number = i32::try_from(self.number).unwrap_or(i32::MAX);
        if connection.is_none() {
            let opened = Connection::open(&self.address, SILENCE).await?;
            let is_free = try_lock(&opened, number).await?;
            if !is_free && self.epoch_of(&opened, number).await? == Some(self.epoch) {
                return Err(Failure::Again);
            }
            *connection = Some(opened);
        }
        let Some(connection) = connection else { return Err(Failure::Again) };
        Ok(self.epoch_of(connection, number).await? == Some(self.epoch))
    }

    async fn epoch_of(
        &self,
        connection: &Connection,
        number: i32,
    ) -> Result<Option<i32>, tokio_postgres::Error> {
        let sql = "SELECT epoch FROM member WHERE member = $1";
        Ok(connection.client.query_opt(sql, &[&number]).await?.map(|row| row.get(0)))
    }
}
