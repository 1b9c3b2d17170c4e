//! `pagesieve cluster` shows, mends and removes what several machines share.

use serde_json::{Map, Value, json};

use super::{Exit, Failure, Out, Result, exit::cluster_failure, notify, write_line};
use crate::cluster::{self, Address};

/// Show or remove a crawl or window that several machines share
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve cluster status 'postgres://crawler@db.example.org/crawls#docs'
    pagesieve cluster forget 'postgres://crawler@db.example.org/crawls#docs' 3
    pagesieve cluster drop 'postgres://crawler@db.example.org/crawls#docs' --yes")]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print the members, the links on their way, and the generations of the window as JSON
    Status {
        /// The server and, after `#`, the name of the crawl or window
        address: String,
    },
    /// Give up the run directory of a member, because it is lost: its pages count as unseen, and another directory can take the member
    Forget {
        /// The server and, after `#`, the name of the crawl
        address: String,
        /// The member
        member: u32,
    },
    /// Delete all that the server has of a crawl or window; run directories stay
    Drop {
        /// The server and, after `#`, the name of the crawl or window
        address: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    match &args.action {
        Action::Status { address } => write_line(out, &status(address)?)?,
        Action::Forget { address, member } => {
            cluster::forget(&read(address)?, *member).map_err(cluster_failure)?;
            notify(format_args!("member {member} is free"));
        }
        Action::Drop { yes: false, .. } => {
            let message = "this deletes the window of all members".to_owned();
            return Err(Failure::refused(Exit::Usage, message, "add --yes if you mean it"));
        }
        Action::Drop { address, .. } => {
            cluster::drop_run(&read(address)?).map_err(cluster_failure)?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn read(address: &str) -> Result<Address> {
    address.parse().map_err(cluster_failure)
}

fn status(address: &str) -> Result<Value> {
    cluster::status(&read(address)?).map_err(cluster_failure)
}

/// Prints the counts of all members together.
pub(super) fn report(address: &str, out: &mut Out) -> Result<Exit> {
    let status = status(address)?;
    let members = status["members"].as_array().map_or(&[][..], Vec::as_slice);
    let mut counts = Map::new();
    for (name, count) in
        members.iter().filter_map(|it| it["report"]["counts"].as_object()).flatten()
    {
        let sum = counts.get(name).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(name.clone(), (sum + count.as_u64().unwrap_or(0)).into());
    }
    let without = members.iter().filter(|it| it["report"].is_null()).count();
    let report = json!({ "is_over": status["is_over"], "members": members.len(), "without_report": without, "counts": counts });
    write_line(out, &report)?;
    Ok(Exit::Done)
}
