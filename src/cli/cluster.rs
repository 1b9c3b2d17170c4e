//! `pagesieve cluster` shows, mends and removes what several machines share.

use std::io::Write;

use super::{Exit, Failure, Out, Result, exit::cluster_failure, notify, write_line};
use crate::{
    cluster::{self, Address, MemberStatus, Status},
    crawl::{MemberReport, Tally},
    page::thousands,
};

/// Show or remove a crawl or window that several machines share
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve cluster status 'postgres://crawler@db.example.org/crawls#docs'
    pagesieve cluster forget 'postgres://crawler@db.example.org/crawls#docs' 3
    pagesieve cluster drop 'postgres://crawler@db.example.org/crawls#docs'")]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print the members, the links on their way, and the generations of the window
    Status {
        /// The server and, after `#`, the name of the crawl or window
        address: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
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
        Action::Status { address, json } => {
            let status = cluster::status(&read(address)?).map_err(cluster_failure)?;
            if *json { write_line(out, &status)? } else { print(&status, out)? }
        }
        Action::Forget { address, member } => {
            cluster::forget(&read(address)?, *member).map_err(cluster_failure)?;
            notify(format_args!("member {member} is free"));
        }
        Action::Drop { address, yes } => {
            if !yes {
                let message = "this deletes the window of all members".to_owned();
                return Err(Failure::refused(Exit::Usage, message, "add --yes if you mean it"));
            }
            cluster::drop_run(&read(address)?).map_err(cluster_failure)?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn read(address: &str) -> Result<Address> {
    address.parse().map_err(cluster_failure)
}

fn print(status: &Status, out: &mut Out) -> Result<()> {
    let mut lines = vec![format!(
        "{}: {}, {} on their way, {} pages of the budget left, {} sessions waiting",
        status.schema,
        if status.is_over { "over" } else { "open" },
        match status.links_open {
            1 => "1 batch of links".to_owned(),
            more => format!("{} batches of links", count(more)),
        },
        count(status.pages_left),
        status.waiting,
    )];
    for generation in &status.generations {
        let [keys, records] =
            generation.bytes.map(|bytes| bytesize::ByteSize(bytes.unsigned_abs()));
        lines.push(format!(
            "generation {}: {} records, keys {}, records {}",
            generation.generation,
            count(generation.records),
            keys.display().iec(),
            records.display().iec(),
        ));
    }
    for member in &status.members {
        let state = match member {
            MemberStatus { is_running: true, is_idle: true, .. } => "has nothing to do",
            MemberStatus { is_running: true, .. } => "is working",
            MemberStatus { is_taken: true, is_idle: true, .. } => "has ended with nothing to do",
            MemberStatus { is_taken: true, .. } => "is stopped",
            _ => "is free",
        };
        let MemberReport { counts, claimed } = report_of(member);
        lines.push(format!(
            "member {}: {state}, {} starts, {} fetched, {} unique, links sent {} and received {}, {} claims in {:.1} s",
            member.member,
            member.epoch,
            thousands(counts.fetched),
            thousands(counts.unique),
            count(member.sent),
            count(member.received),
            thousands(claimed.claims),
            claimed.seconds,
        ));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}")).map_err(Failure::Output)
}

/// Prints the counts of all members together.
pub(super) fn report(address: &str, out: &mut Out) -> Result<Exit> {
    let status = cluster::status(&read(address)?).map_err(cluster_failure)?;
    let mut all = Tally::default();
    for Tally { fetched, unique, exact, near, failed, queued, asked_again, bytes } in
        status.members.iter().map(|member| report_of(member).counts)
    {
        all.fetched += fetched;
        all.unique += unique;
        all.exact += exact;
        all.near += near;
        all.failed += failed;
        all.queued += queued;
        all.asked_again += asked_again;
        all.bytes += bytes;
    }
    let of_run = serde_json::json!({
        "schema": status.schema,
        "is_over": status.is_over,
        "members": status.members.len(),
        "without_report": status.members.iter().filter(|it| it.report.is_none()).count(),
        "counts": all,
    });
    write_line(out, &of_run)?;
    Ok(Exit::Done)
}

/// What a member has reported last.
fn report_of(member: &MemberStatus) -> MemberReport {
    let report = member.report.as_deref();
    report.and_then(|report| serde_json::from_str(report).ok()).unwrap_or_default()
}

fn count(number: i64) -> String {
    thousands(number.unsigned_abs())
}
