//! What the commands show of a shared window or crawl, and remove.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Address, ClusterError, Connection, FIRST_LOCK, Failure, Server, Session, is_missing_table,
    refused,
};

/// How long a command waits for the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a shared window or crawl: members, links on their way, generations. docs/cluster.md describes it.
///
/// # Errors
/// If the server does not answer or has nothing of this name.
pub fn status(address: &Address) -> Result<Value, ClusterError> {
    let text: String = perform(address, async |connection| {
        let sql = include_str!("status.sql");
        let row = connection.client.query_one(sql, &[&connection.lock, &FIRST_LOCK]).await?;
        Ok(row.get(0))
    })?;
    serde_json::from_str(&text).map_err(|_| ClusterError::Damaged("a report of a member"))
}

/// Gives up the run directory of a member, which is lost: its pages are no longer claimed, and another directory can take the member.
///
/// # Errors
/// If the member is running or does not exist, or the server does not answer.
pub fn forget(address: &Address, member: u32) -> Result<(), ClusterError> {
    let known = status(address)?;
    let number = i32::try_from(member).unwrap_or(i32::MAX);
    match known["members"].get(member as usize).map(|it| it["is_running"] == true) {
        None => return refused(format!("there is no member {member}")),
        Some(true) => return refused(format!("member {member} is running: stop it first")),
        Some(false) => {}
    }
    perform(address, async |connection| {
        let transaction = connection.client.transaction().await?;
        for generation in known["generations"].as_array().into_iter().flatten() {
            let sql = format!(
                "DELETE FROM record_{} WHERE session = ANY((SELECT sessions FROM member WHERE member = $1)::int[])",
                generation["generation"]
            );
            transaction.execute(&sql, &[&number]).await?;
        }
        let sql = "UPDATE member SET state = NULL, epoch = epoch + 1, is_idle = false, sessions = '{}' WHERE member = $1";
        transaction.execute(sql, &[&number]).await?;
        // The keys are made again from the records that are left.
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
    if known["members"].as_array().into_iter().flatten().any(|it| it["is_running"] == true) {
        return refused("a member is running: stop all of them first".to_owned());
    }
    perform(address, async |connection| {
        let sql = format!("DROP SCHEMA {} CASCADE", address.schema());
        Ok(connection.client.batch_execute(&sql).await?)
    })
}

fn perform<T: Send>(
    address: &Address,
    mut action: impl AsyncFnMut(&mut Connection) -> Result<T, Failure> + Send,
) -> Result<T, ClusterError> {
    let server = Server::new(address, Some(PATIENCE), CancellationToken::new());
    Session::new(&server, "").persist(async |connection| match action(connection).await {
        Err(Failure::Server(error)) if is_missing_table(&error) => {
            let name = address.schema();
            let why = format!("there is no {name} on the server: name the window or crawl after a `#`, as in postgres://HOST/DATABASE#NAME");
            Err(ClusterError::Refused(why).into())
        }
        result => result,
    })
}
