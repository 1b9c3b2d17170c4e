//! What had been given up and is asked again when a run goes on.
//!
//! A finished run has little of it: what seeds, budgets, policies or limits admit now that they did not, hosts whose time has come, and
//! what was skipped for want of a robots.txt, which was never decided.

use std::time::Duration;

use super::{Recorder, discover::reason, json, settle::same_site};
use crate::{
    crawl::{
        error::CrawlError,
        options::{Links, Plan, Store},
        robots::{self, product_token},
    },
    page::{NormalUrl, Timestamp},
    report::End,
    state::{Aside, Cause, Reason, SkipCause, State, UrlKind, UrlRow, UrlState},
};

/// For how long a host that gave no answer is left alone once its run is finished.
const DEAD_FOR: Duration = Duration::from_hours(24);

/// Which of the rules by which URLs had been skipped are others than at the last start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    admission: bool,
    robots: bool,
}

impl Changes {
    /// Compares the plan with that of the last start, and keeps it for the next.
    pub(super) fn since_last_start(
        state: &State,
        plan: &Plan,
        roots: &[(UrlKind, Vec<NormalUrl>)],
    ) -> Result<Self, CrawlError> {
        Ok(Self {
            admission: has_changed(state, "policy", &admission(plan, roots))?,
            robots: has_changed(state, "robots", &robots_policy(plan))?,
        })
    }
}

/// Until when a host is left alone that is set aside now, unless the cause no longer holds: for the pause that it asked for; as long as
/// its robots.txt is valid; or a day.
pub(super) fn aside_until(cause: Cause, now: Timestamp) -> Timestamp {
    let pause = match cause {
        Cause::CrawlDelay(_) => robots::VALID,
        Cause::RetryAfter(pause) => pause,
        Cause::Unanswered(_) => DEAD_FOR,
    };
    Timestamp(now.0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)))
}

impl Recorder {
    /// Takes back the hosts that were set aside and may be asked again, after a run that ended so.
    pub(super) fn take_back_hosts(&mut self, ended: Option<End>) -> Result<(), CrawlError> {
        let now = Timestamp::now();
        for aside in self.state().hosts_aside()? {
            if self.may_be_asked(&aside, ended, now) {
                tracing::info!(host = aside.name, cause = %aside.cause, "host taken back");
                self.state().take_back(&aside)?;
            }
        }
        Ok(())
    }

    fn may_be_asked(&self, aside: &Aside, ended: Option<End>, now: Timestamp) -> bool {
        let limits = &self.plan.politeness;
        let admitted = match aside.cause {
            Cause::CrawlDelay(delay) => !limits.obey_robots || delay <= limits.max_crawl_delay,
            Cause::RetryAfter(pause) => pause <= limits.max_retry_after,
            Cause::Unanswered(_) => ended != Some(End::Done),
        };
        admitted || aside.until <= now
    }

    /// Keeps what is done with duplicates, for the report; and says if others were recorded under another policy: their pages were
    /// not kept, and a URL has one line.
    pub(super) fn note_policy(&self) -> Result<(), CrawlError> {
        let dedup = &self.plan.dedup;
        let keeps = [dedup.same_site, dedup.cross_site].map(|policy| policy.store == Store::Keep);
        if !has_changed(self.state(), "keeps", &json(&keeps))? {
            return Ok(());
        }
        let (mut unkept, mut failure) = (0_u64, None);
        self.state().for_each_document(|document| {
            let of = document.judgement.verdict.matched().map(|matched| matched.of);
            let Some(of) = of.filter(|_| !document.stored) else { return };
            match self.state().name_of(of) {
                Ok(of) => unkept += u64::from(keeps[usize::from(!same_site(&document.name, &of))]),
                Err(error) => failure = Some(error),
            }
        })?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        if unkept > 0 {
            tracing::warn!(
                duplicates = unkept,
                "duplicates found before `store = \"keep\"` stay recorded without their pages; to have these, start over with --fresh"
            );
        }
        Ok(())
    }

    /// URLs that wait and whose seed is gone go to another that admits them, or are skipped.
    pub(super) fn rehome(&mut self) -> Result<(), CrawlError> {
        let mut homeless = Vec::new();
        self.state().for_each_url(
            |state| state == UrlState::Queued,
            |row| {
                homeless.extend(Some(row).filter(|row| row.seed.is_none()));
                Ok::<_, CrawlError>(())
            },
        )?;
        for row in homeless {
            let url = NormalUrl::parse(&row.url, &self.url_options)?;
            match self.admit(&url, row.kind, row.depth, None) {
                Ok(seed) => self.state().revive_url(row.id, seed, row.depth)?,
                Err(refusal) => {
                    let state = UrlState::Skipped(reason(refusal));
                    self.state().settle_url(row.id, state, None, None, Timestamp::now())?;
                }
            }
        }
        self.state().dequeue_skipped()?;
        self.counts.queued = self.state().queue_len()?;
        Ok(())
    }

    /// Queues again what was skipped because robots.txt could not be had; and what scope, budgets or policies admit now, if they
    /// have changed.
    pub(super) fn reconsider(&mut self, changes: Changes) -> Result<(), CrawlError> {
        let mut revived = Vec::new();
        let wanted = |state| match state {
            UrlState::Skipped(Reason::Robots) => true,
            UrlState::Skipped(
                Reason::Scope | Reason::Depth | Reason::Budget | Reason::DuplicateLinks,
            ) => changes.admission,
            _ => false,
        };
        self.state().for_each_url(wanted, |row| {
            revived.extend(self.revivable(row, changes)?);
            Ok::<_, CrawlError>(())
        })?;
        for (row, seed) in revived {
            self.revive(&row, seed)?;
        }
        self.queued.clear();
        Ok(())
    }

    fn revivable(
        &self,
        row: UrlRow,
        changes: Changes,
    ) -> Result<Option<(UrlRow, usize)>, CrawlError> {
        let admits = match row.state {
            UrlState::Skipped(Reason::Robots) => {
                changes.robots || row.cause == Some(SkipCause::RobotsNotReceived)
            }
            UrlState::Skipped(Reason::DuplicateLinks) => {
                let policy = match row.cause {
                    Some(SkipCause::SameSite) => self.plan.dedup.same_site,
                    Some(SkipCause::CrossSite) => self.plan.dedup.cross_site,
                    _ => return Ok(None),
                };
                policy.links == Links::Follow
            }
            _ => true,
        };
        if !admits {
            return Ok(None);
        }
        let url = NormalUrl::parse(&row.url, &self.url_options)?;
        Ok(self.admit(&url, row.kind, row.depth, None).ok().map(|seed| (row, seed)))
    }
}

/// Whether the value of this name is another than at the last start, if there was one. It is kept for the next.
fn has_changed(state: &State, name: &str, value: &str) -> Result<bool, CrawlError> {
    let known = state.meta::<String>(name)?;
    state.set_meta(name, value)?;
    Ok(known.is_some_and(|known| known != value))
}

/// Changes when what seeds, budgets and policies admit may have changed.
fn admission(plan: &Plan, roots: &[(UrlKind, Vec<NormalUrl>)]) -> String {
    let Plan { crawl, dedup, seeds, .. } = plan;
    let policies = (dedup.same_site, dedup.cross_site);
    let rules = (crawl.max_pages, crawl.max_depth, &crawl.tracking, policies, seeds);
    let roots: Vec<_> = roots.iter().flat_map(|(_, urls)| urls).map(NormalUrl::as_str).collect();
    let digest = xxhash_rust::xxh3::xxh3_128(json(&(rules, roots)).as_bytes());
    format!("{digest:032x}")
}

/// Changes when what robots.txt forbids may have changed though it has not.
fn robots_policy(plan: &Plan) -> String {
    json(&(plan.politeness.obey_robots, product_token(&plan.crawl.user_agent)))
}
