//! A member of a crawl that several machines share: which sites are its own, and the links that it sends and receives.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    control::Tally,
    plan::{CrawlError, Plan, Root},
};
use crate::{
    cluster::{self, ClaimTally, ClusterError, Member, Run, Server, Terms, member_of},
    fingerprint::HashSeed,
    page::{NormalUrl, Timestamp, site_of},
    state::State,
};

/// How often links are asked for, and whether the run is over.
const POLL: Duration = Duration::from_millis(200);
/// A member takes this part of the budget that each would have, and at most so many pages.
const PARTS: u64 = 16;
const MOST_PAGES: u64 = 1_000;
/// The name in the state under which the run and the directory are identified: when it began, and a random id.
const NAME: &str = "cluster";

/// A link to a site of another member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SentLink {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    pub(super) is_sitemap: bool,
    pub(super) depth: u32,
    pub(super) hops: u32,
    pub(super) late: bool,
    pub(super) at: i64,
}

impl SentLink {
    pub(super) fn new(url: &NormalUrl, (depth, hops): (u32, u32), at: Timestamp) -> Self {
        let (given, url) = (url.other_spelling().map(str::to_owned), url.as_str().to_owned());
        Self { url, given, is_sitemap: false, depth, hops, late: false, at: at.0 }
    }

    /// The URL, if it is one.
    pub(super) fn url(&self) -> Option<NormalUrl> {
        Some(NormalUrl::stored(&self.url)?.spelt(self.given.as_deref()))
    }
}

/// What a member reports of itself. Claims are those of its last start.
pub(super) fn member_report(counts: Tally, claimed: Option<ClaimTally>) -> String {
    serde_json::json!({ "counts": counts, "claimed": claimed }).to_string()
}

/// The shared crawl, as the engine of a member sees it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) server: Arc<Server>,
    pub(super) run: Run,
    pub(super) member: Member,
    outgoing: BTreeMap<u32, Vec<SentLink>>,
    /// Batches that were received, and are deleted after the next commit.
    received: Vec<i64>,
    poll_at: Instant,
    /// No request is made before: the member may have made one just before this start.
    begin_at: Instant,
    /// Whether the others know that it has nothing to do.
    is_idle: bool,
    /// Pages that it may fetch over all its starts.
    pub(super) granted: u64,
}

impl Cluster {
    /// Opens the crawl that the plan names, if it does, and takes a member of it for the directory of this state.
    pub(super) fn join(
        plan: &Plan,
        roots: &[Root],
        state: &State,
        stop: CancellationToken,
    ) -> Result<Option<Self>, CrawlError> {
        let known: Option<(String, String)> = state.json(NAME)?;
        let Some(options) = &plan.cluster else {
            return match known {
                Some(_) => Err(directory("belongs to a member of a shared crawl: add --cluster")),
                None => Ok(None),
            };
        };
        if plan.crawl.revisit_after.is_some() {
            return Err(directory(
                "cannot be revisited: a shared crawl asks for no page again; leave out crawl.revisit_after and --revisit",
            ));
        }
        let server = Server::new(&options.address.clone().or_named(&plan.name), None, stop);
        let terms = terms(plan, roots, options.members);
        let run = cluster::open(&server, &terms)?;
        let id = match known {
            Some((began, id)) if began == run.began => id,
            Some(_) => {
                return Err(directory(
                    "belongs to another run of this name, which is gone: take another one, or add --fresh",
                ));
            }
            None if state.position()?.is_some() => {
                return Err(directory(
                    "has a crawl that is not shared: take another one, or add --fresh",
                ));
            }
            None => format!("{:016x}", HashSeed::random().0),
        };
        // It is known here before the server knows it.
        state.set_json(NAME, &(&run.began, &id))?;
        let member = Member::join(&server, &run, options.member, &id)?;
        tracing::info!(member = member.number, members = member.members, "the crawl is shared");
        let now = Instant::now();
        let mut this = Self {
            server,
            run,
            member,
            outgoing: BTreeMap::new(),
            received: Vec::new(),
            poll_at: now,
            begin_at: now + plan.politeness.delay,
            is_idle: false,
            granted: 0,
        };
        this.granted = this.member.take_pages(0)?;
        Ok(Some(this))
    }

    /// The member that owns a URL, if it is another one.
    pub(super) fn owner(&self, url: &NormalUrl) -> Option<u32> {
        let host = url.as_url().host_str().unwrap_or_default();
        let owner = member_of(site_of(host), self.member.members);
        (owner != self.member.number).then_some(owner)
    }

    /// Sends a link with the next commit.
    pub(super) fn send(&mut self, receiver: u32, link: SentLink) {
        self.outgoing.entry(receiver).or_default().push(link);
    }

    /// Until when no request may be made, if none may now.
    pub(super) fn wait(&self, now: Instant) -> Result<Option<Instant>, CrawlError> {
        if self.member.lease.is_lost() {
            let member = i32::try_from(self.member.number).unwrap_or(0);
            return Err(ClusterError::Fenced(member).into());
        }
        let at = if self.member.lease.holds() { self.begin_at } else { now + POLL / 4 };
        Ok((at > now).then_some(at))
    }

    /// When links are asked for again, if none wait for a commit.
    pub(super) fn poll_at(&self) -> Option<Instant> {
        self.received.is_empty().then_some(self.poll_at)
    }

    /// Stores the links for others. A local commit follows, which says that they were found.
    pub(super) fn flush(&mut self) -> Result<(), CrawlError> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let json = |links| serde_json::to_vec(links).expect("links are JSON");
        let batches: Vec<_> = self.outgoing.iter().map(|(to, links)| (*to, json(links))).collect();
        self.member.exchange(&batches, &[])?;
        self.outgoing.clear();
        Ok(())
    }

    /// What was received is committed.
    pub(super) fn committed(&mut self) -> Result<(), CrawlError> {
        if !self.received.is_empty() {
            self.member.exchange(&[], &self.received)?;
            self.received.clear();
            self.is_idle = false;
            self.poll_at = Instant::now();
        }
        Ok(())
    }

    /// Links from other members, if it is time to ask for them.
    pub(super) fn receive(&mut self, now: Instant) -> Result<Vec<SentLink>, CrawlError> {
        if self.poll_at().is_none_or(|at| at > now) {
            return Ok(Vec::new());
        }
        self.poll_at = now + POLL;
        let mut links: Vec<SentLink> = Vec::new();
        for (id, batch) in self.member.receive()? {
            let damaged = |_| ClusterError::Damaged("a batch of links cannot be read");
            links.append(&mut serde_json::from_slice(&batch).map_err(damaged)?);
            self.received.push(id);
        }
        Ok(links)
    }

    /// There is nothing to do, and all is committed. Returns whether there is nothing to do for any member.
    pub(super) fn rest(&mut self, report: &str) -> Result<bool, CrawlError> {
        if !self.is_idle {
            self.member.tell(true, report)?;
            self.is_idle = true;
        }
        Ok(self.member.is_over()?)
    }

    /// Keeps the report of the member.
    pub(super) fn report(&mut self, report: &str) -> Result<(), CrawlError> {
        Ok(self.member.tell(self.is_idle, report)?)
    }

    /// Takes more pages of the budget, if there are any. Returns whether it has got some.
    pub(super) fn take_pages(&mut self, pages: u64) -> Result<bool, CrawlError> {
        let before = self.granted;
        let part = pages / (u64::from(self.member.members) * PARTS);
        self.granted = self.member.take_pages(part.clamp(1, MOST_PAGES))?;
        Ok(self.granted > before)
    }
}

fn directory(why: &str) -> CrawlError {
    ClusterError::Refused(format!("the run directory {why}")).into()
}

/// What the members agree on: all that decides what is fetched and how it is judged.
fn terms(plan: &Plan, roots: &[Root], members: u32) -> Terms {
    let dedup = &plan.dedup;
    let compared = (dedup.mode, dedup.radius, dedup.min_features, dedup.article, dedup.similarity);
    let policies = (dedup.same_site, dedup.cross_site, plan.politeness.obey_robots);
    let limits = (plan.crawl.max_depth, &plan.crawl.tracking);
    let seeds = plan.seeds.iter().zip(roots).map(|(seed, (_, urls))| {
        let mut seed = serde_json::to_value(seed).expect("a seed is JSON");
        // Its place differs between machines.
        seed.as_object_mut().map(|table| table.remove("file"));
        (seed, urls.iter().map(NormalUrl::as_str).collect::<Vec<_>>())
    });
    let seeds: Vec<_> = seeds.collect();
    let rules = serde_json::to_vec(&(compared, policies, limits, seeds)).expect("they are JSON");
    Terms {
        scheme: dedup.filter().recipe(HashSeed::PUBLIC).scheme(),
        hash_seed: dedup.seed.seed(),
        new_hash_seed: HashSeed::random(),
        configuration: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&rules)),
        members,
        entries: dedup.window.entries.get(),
        age: dedup.window.age,
        pages: plan.crawl.max_pages,
    }
}
