//! What the commands show of a shared window or crawl, and remove.

use std::time::Duration;

use serde::Serialize;

use super::{
    Address, ClusterError, Connection, FIRST_LOCK, Failure, Server, Session, is_missing_table,
};

/// How long a command waits for the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// A shared window or crawl.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Its schema.
    pub schema: String,
    /// Pages of the budget that no member has taken; 0 for a window without members.
    pub pages_left: i64,
    /// Whether the crawl is over.
    pub is_over: bool,
    /// Batches of links that were sent and are not yet committed by their receivers.
    pub links_open: i64,
    /// Sessions that wait for others.
    pub waiting: i64,
    /// The members of a crawl.
    pub members: Vec<MemberStatus>,
    /// The generations that are searched, the present one first.
    pub generations: Vec<Generation>,
}

/// A member of a crawl.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Its number.
    pub member: i32,
    /// Whether a process holds it.
    pub is_running: bool,
    /// Whether a run directory belongs to it.
    pub is_taken: bool,
    /// How often it was started.
    pub epoch: i32,
    /// Whether it has nothing to do.
    pub is_idle: bool,
    /// Batches of links that it has sent, and received.
    pub sent: i64,
    /// The same of those that it has received.
    pub received: i64,
    /// Its last report.
    #[serde(skip)]
    pub report: Option<String>,
}

/// A generation of keys and records.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Generation {
    /// Its number, from 1.
    pub generation: i32,
    /// Records that it has had.
    pub records: i64,
    /// Bytes on the disk: those of the keys with their index, and those of the records.
    pub bytes: [i64; 2],
}

/// What is known of a shared window or crawl.
///
/// # Errors
/// If the server does not answer or has nothing of this name.
pub fn status(address: &Address) -> Result<Status, ClusterError> {
    perform(address, async |connection| {
        let client = &connection.client;
        let sql = "SELECT current_schema()::text, remaining, is_over, (SELECT count(*) FROM link), generation, \
                   (SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) \
                   FROM run";
        let run = client.query_one(sql, &[]).await?;
        let sql = "SELECT m.member, EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted \
                   AND classid::bigint = $1::int AND objid::bigint = m.member + $2::int AND database = (SELECT oid FROM pg_database WHERE datname = current_database())), \
                   state IS NOT NULL, epoch, is_idle, sent, received, report FROM member m ORDER BY m.member";
        let members =
            client.query(sql, &[&connection.lock, &FIRST_LOCK]).await?.into_iter().map(|row| {
                MemberStatus {
                    member: row.get(0),
                    is_running: row.get(1),
                    is_taken: row.get(2),
                    epoch: row.get(3),
                    is_idle: row.get(4),
                    sent: row.get(5),
                    received: row.get(6),
                    report: row.get(7),
                }
            });
        let members: Vec<_> = members.collect();
        let (mut generations, present) = (Vec::new(), run.get::<_, i32>(4));
        for generation in ((present - 1).max(1)..=present).rev() {
            let sql = format!(
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END, pg_total_relation_size('key_{generation}'), \
                 pg_total_relation_size('record_{generation}') FROM record_{generation}_number_seq"
            );
            let row = client.query_one(&sql, &[]).await?;
            let (records, bytes) = (row.get(0), [row.get(1), row.get(2)]);
            generations.push(Generation { generation, records, bytes });
        }
        Ok(Status {
            schema: run.get(0),
            pages_left: run.get(1),
            is_over: run.get(2),
            links_open: run.get(3),
            waiting: run.get(5),
            members,
            generations,
        })
    })
}

/// Gives up the run directory of a member, which is lost: its pages are no longer claimed, and another directory can take the member.
///
/// # Errors
/// If the member is running or does not exist, or the server does not answer.
pub fn forget(address: &Address, member: u32) -> Result<(), ClusterError> {
    let number = i32::try_from(member).unwrap_or(i32::MAX);
    let Status { members, generations, .. } = status(address)?;
    let Some(known) = members.iter().find(|it| it.member == number) else {
        return Err(ClusterError::Member { member, why: "does not exist" });
    };
    if known.is_running {
        return Err(ClusterError::Member { member, why: "is running: stop it first" });
    }
    perform(address, async |connection| {
        let transaction = connection.client.transaction().await?;
        for Generation { generation, .. } in &generations {
            let sql = format!(
                "DELETE FROM record_{generation} WHERE session = ANY((SELECT sessions FROM member WHERE member = $1)::int[])"
            );
            transaction.execute(&sql, &[&number]).await?;
        }
        // The keys are made again from the records that are left.
        let sql = "UPDATE member SET state = NULL, epoch = epoch + 1, is_idle = false, sessions = '{}' WHERE member = $1";
        transaction.execute(sql, &[&number]).await?;
        transaction.execute("DELETE FROM ready", &[]).await?;
        Ok(transaction.commit().await?)
    })
}

/// Removes a shared window or crawl.
///
/// # Errors
/// If a member is running, or the server does not answer or has nothing of this name.
pub fn drop_run(address: &Address) -> Result<(), ClusterError> {
    let known = status(address)?;
    if let Some(running) = known.members.iter().find(|it| it.is_running) {
        let member = u32::try_from(running.member).unwrap_or(0);
        return Err(ClusterError::Member { member, why: "is running: stop all members first" });
    }
    perform(address, async |connection| {
        connection.client.batch_execute(&format!("DROP SCHEMA {} CASCADE", known.schema)).await?;
        Ok(())
    })
}

fn perform<T: Send>(
    address: &Address,
    mut action: impl AsyncFnMut(&mut Connection) -> Result<T, Failure> + Send,
) -> Result<T, ClusterError> {
    let server = Server::new(address, Some(PATIENCE));
    Session::new(&server, "").persist(async |connection| match action(connection).await {
        Err(Failure::Server(error)) if is_missing_table(&error) => {
            Err(ClusterError::None { name: address.schema() }.into())
        }
        result => result,
    })
}
