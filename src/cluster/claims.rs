//! The claim of a document, by one procedure of the server.

use std::{sync::Arc, time::Instant};

use serde::Serialize;
use tokio_postgres::{Row, types::ToSql};

use super::{ClusterError, Connection, Failure, Run, Server, Session, is_missing_table};
use crate::{
    filter::{Document, Ground, Key, Match, Sketch, Template},
    fingerprint::Digest,
};

/// A document is compared with at most this many others: those that hold most of its keys.
const MOST_COMPARED: usize = 16;
/// After so many claims it is looked whether the generation is full.
const CHECK_EVERY: u32 = 256;
/// A claim that was lost in a crash of the server is made again or harmless: the log need not be on the disk.
const SETTINGS: &str = "-c synchronous_commit=off";

/// At most this many passages of a document are keys by which others find it: those of its body text, if that is long.
const MOST_PASSAGES: usize = 12;

/// A document that is claimed: it is unique in the window where it was judged, and may be for all. It comes with what was known of its origin
/// then: how common each of its parts was there.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    document: &'a Document,
    /// In order, none twice.
    keys: Vec<i64>,
    /// See [`Template::marks`].
    marks: Vec<u8>,
    ground: &'a Ground<'a>,
}

impl<'a> Claim<'a> {
    pub(crate) fn of(document: &'a Document, ground: &'a Ground<'a>) -> Self {
        let sketch = document.sketch();
        let marks = ground.template.marks(sketch);
        Self { document, keys: keys(sketch, ground.thin), marks, ground }
    }

    /// How it repeats a document that another one has claimed, if it does. The match has no number.
    fn repeats(&self, other: &Sketch, marks: &[u8]) -> Option<Match> {
        let Ground { thresholds, template, .. } = *self.ground;
        let known = Template::of_marks(&[(other, marks)]);
        thresholds.repeats([(self.document.sketch(), template), (other, &known)])
    }
}

/// The keys of a document: its text, and passages unless it has hardly any content.
fn keys(sketch: &Sketch, thin: bool) -> Vec<i64> {
    let digest = sketch.text.digest.or(sketch.body);
    let of_digest = digest.map(|Digest(bytes)| {
        let (first, _) = bytes.split_first_chunk().expect("a digest has 16 bytes");
        u64::from_le_bytes(*first)
    });
    let passages = if thin { &[] } else { sketch.keys() };
    let all = passages.iter().copied().take(MOST_PASSAGES).chain(of_digest);
    let mut keys: Vec<i64> = all.map(u64::cast_signed).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Claims documents. What this process has claimed before it does not compare with: its own window has that.
#[derive(Debug)]
pub(crate) struct Claims {
    session: Session,
    number: i32,
    generation: i32,
    until_check: u32,
    tally: ClaimTally,
}

/// How many documents were claimed or looked at, how many of them repeated one of others, and for how many seconds that was waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClaimTally {
    pub(crate) claims: u64,
    pub(crate) repeats: u64,
    pub(crate) seconds: f64,
}

/// A document of another one that is repeated.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// How. It has no number.
    pub(crate) matched: Match,
    pub(crate) url: String,
    /// The key of its id.
    pub(crate) key: Key,
}

/// The tables of a generation, and what claims in it.
pub(super) fn tables(generation: i32, lock: &str) -> String {
    // The one before is still searched.
    let searched: Vec<_> = ((generation - 1).max(1)..=generation).map(holders).collect();
    include_str!("generation.sql")
        .replace("$N", &generation.to_string())
        .replace("$LOCK", lock)
        .replace("$MOST", &MOST_COMPARED.to_string())
        .replace("$HOLDERS", &searched.join(" UNION ALL "))
}

/// The holders of keys of a generation, with their records.
fn holders(generation: i32) -> String {
    format!(
        "(SELECT shared, r.id, r.url, r.sketch, r.marks FROM (
             SELECT holder, count(*) AS shared FROM key_{generation}
             WHERE key = ANY(its_keys) AND holder <> its_id AND session <> its_session
             GROUP BY holder ORDER BY shared DESC, holder LIMIT {MOST_COMPARED}
         ) k JOIN record_{generation} r ON r.id = k.holder)"
    )
}

impl Claims {
    pub(crate) fn new(server: &Arc<Server>, run: &Run) -> Self {
        let session = Session::new(server, SETTINGS);
        let tally = ClaimTally::default();
        Self { session, number: run.session, generation: 1, until_check: 1, tally }
    }

    /// What it has done since the start.
    pub(crate) fn tally(&self) -> ClaimTally {
        self.tally
    }

    /// Claims a document, or only looks whether it could.
    ///
    /// # Errors
    /// If the server refuses it, or is away for too long.
    pub(crate) fn claim(
        &mut self,
        claim: &Claim<'_>,
        is_looked_at: bool,
    ) -> Result<Option<Found>, ClusterError> {
        let began = Instant::now();
        let Self { session, number, generation, until_check, tally } = self;
        let found = session.persist(async |connection| {
            if is_looked_at {
                *generation = make_ready(connection).await?;
            }
            let attempt = attempt(connection, claim, (*number, *generation), is_looked_at);
            let result = match attempt.await {
                Err(Failure::Server(error)) if is_missing_table(&error) => Ok(Step::Moved),
                result => result,
            };
            match result? {
                Step::Done(found) => {
                    *until_check -= 1;
                    if *until_check == 0 {
                        *until_check = CHECK_EVERY;
                        turn_if_full(connection, *generation).await?;
                    }
                    Ok(found)
                }
                Step::Moved => {
                    *generation = make_ready(connection).await?;
                    Err(Failure::Again)
                }
            }
        })?;
        tally.claims += 1;
        tally.repeats += u64::from(found.is_some());
        tally.seconds += began.elapsed().as_secs_f64();
        Ok(found)
    }

    /// Gives up a document that was claimed.
    ///
    /// # Errors
    /// As [`claim`](Self::claim).
    pub(crate) fn forget(&mut self, key: Key) -> Result<(), ClusterError> {
        let id = key.0.cast_signed();
        self.session.persist(async |connection| {
            let generation = make_ready(connection).await?;
            let lock = format!("SELECT pg_advisory_xact_lock_shared({})", connection.generations());
            let transaction = connection.client.transaction().await?;
            transaction.batch_execute(&lock).await?;
            for generation in (generation - 1).max(1)..=generation {
                let sql = format!(
                    "WITH gone AS (DELETE FROM record_{generation} WHERE id = $1 RETURNING keys)
                     DELETE FROM key_{generation} WHERE holder = $1 AND key IN (SELECT unnest(keys) FROM gone)"
                );
                transaction.execute(&sql, &[&id]).await?;
            }
            Ok(transaction.commit().await?)
        })
    }
}

/// How far an attempt came.
enum Step {
    Done(Option<Found>),
    /// There is another generation, or the keys are lost.
    Moved,
}

/// Claims a document in this session and generation, or only looks whether it could. It is done by one procedure, which is one transaction: nothing
/// is held while documents are compared here, so what another one claims meanwhile is compared next.
async fn attempt(
    connection: &mut Connection,
    claim: &Claim<'_>,
    (session, generation): (i32, i32),
    is_looked_at: bool,
) -> Result<Step, Failure> {
    let (document, keys, id) = (claim.document, &claim.keys, claim.document.key.0.cast_signed());
    let call = format!("CALL claim_{generation}(NULL, $1, $2, $3, $4, $5, $6, $7)");
    let search = format!("SELECT id, url, sketch, marks FROM holders_{generation}($1, $2, $3, $4)");
    let (url, sketch) = (document.id(), document.sketch().to_bytes());
    let mut compared: Vec<i64> = Vec::new();
    loop {
        if !is_looked_at {
            let call = connection.prepare(&call).await?;
            let parameters: [&(dyn ToSql + Sync); 7] =
                [keys, &id, &session, &compared, &url, &sketch, &claim.marks];
            match connection.client.query_one(&call, &parameters).await?.get(0) {
                Some(true) => return Ok(Step::Done(None)),
                Some(false) => {}
                None => return Ok(Step::Moved),
            }
        }
        let search = connection.prepare(&search).await?;
        let rows = connection.client.query(&search, &[keys, &id, &session, &compared]).await?;
        let found = nearest(claim, &rows)?;
        if is_looked_at || found.is_some() {
            return Ok(Step::Done(found));
        }
        compared.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    }
}

/// The most similar of these documents that is repeated.
fn nearest(claim: &Claim<'_>, rows: &[Row]) -> Result<Option<Found>, ClusterError> {
    let mut nearest: Option<Found> = None;
    for row in rows {
        let damaged = ClusterError::Damaged("a sketch cannot be read");
        let sketch = Sketch::from_bytes(row.get(2)).ok_or(damaged)?;
        let Some(matched) = claim.repeats(&sketch, row.get(3)) else { continue };
        let is_nearer = |best: &Found| matched.similarity > best.matched.similarity;
        if nearest.as_ref().is_none_or(is_nearer) {
            let key = Key(row.get::<_, i64>(0).cast_unsigned());
            nearest = Some(Found { matched, url: row.get(1), key });
        }
    }
    Ok(nearest)
}

/// The present generation. If a crash of the server has emptied the keys, makes them again.
async fn make_ready(connection: &mut Connection) -> Result<i32, Failure> {
    let ready = connection.client.query_opt("SELECT generation FROM ready", &[]).await?;
    if let Some(ready) = ready {
        return Ok(ready.get(0));
    }
    let lock = format!("SELECT pg_advisory_xact_lock({})", connection.generations());
    let transaction = connection.client.transaction().await?;
    transaction.batch_execute(&lock).await?;
    let generation: i32 = transaction.query_one("SELECT generation FROM run", &[]).await?.get(0);
    if transaction.query_opt("SELECT FROM ready", &[]).await?.is_none() {
        tracing::warn!("the keys are made again from the records: the server had crashed");
        for generation in (generation - 1).max(1)..=generation {
            let sql = format!(
                "TRUNCATE key_{generation};
                 INSERT INTO key_{generation} SELECT DISTINCT ON (key) key, id, session
                 FROM (SELECT unnest(keys) AS key, id, session, number FROM record_{generation}) r ORDER BY key, number"
            );
            transaction.batch_execute(&sql).await?;
        }
        transaction.execute("INSERT INTO ready VALUES ($1)", &[&generation]).await?;
    }
    transaction.commit().await?;
    Ok(generation)
}

/// Begins a new generation if the present one is full or old, and drops the one before.
async fn turn_if_full(connection: &mut Connection, generation: i32) -> Result<(), Failure> {
    let is_full = format!(
        "SELECT generation = {generation} AND ((SELECT last_value FROM record_{generation}_number_seq) >= entries \
         OR coalesce(now() - turned > age * interval '1 second', false)) FROM run"
    );
    let full = connection.client.query_one(&is_full, &[]).await;
    let full = match full {
        Err(error) if is_missing_table(&error) => return Ok(()),
        row => row?.get::<_, bool>(0),
    };
    if !full {
        return Ok(());
    }
    let generations = connection.generations();
    let transaction = connection.client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({generations})")).await?;
    let is_ready = transaction.query_opt("SELECT FROM ready", &[]).await?.is_some();
    if is_ready && transaction.query_one(&is_full, &[]).await?.get::<_, bool>(0) {
        let (next, last) = (generation + 1, generation - 1);
        let sql = format!(
            "{} DROP TABLE IF EXISTS key_{last}, record_{last};
             UPDATE run SET generation = {next}, turned = now(); UPDATE ready SET generation = {next};",
            tables(next, &generations)
        );
        transaction.batch_execute(&sql).await?;
    }
    Ok(transaction.commit().await?)
}
