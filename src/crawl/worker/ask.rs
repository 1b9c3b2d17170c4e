//! A host's robots.txt.

use std::{sync::Arc, time::Duration};

use url::Url;

use super::{Crew, End, RecorderGone, archive};
use crate::{
    crawl::{
        fetch::Limit,
        frontier::{Ask, TaskId},
        recorder::{Archived, Request},
        robots::{Availability, Robots},
    },
    page::Timestamp,
    state::RobotsRow,
};

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const MAX_ROBOTS_HOPS: usize = 5;
/// For how long a robots.txt is valid (RFC 9309, section 2.4).
const ROBOTS_VALID: Duration = Duration::from_hours(24);

impl Crew {
    /// Finds out what a host's robots.txt says: from the state, if it is not too old, or from the host.
    pub(super) async fn ask(&self, id: TaskId, ask: Ask) -> Result<End, RecorderGone> {
        let origin = format!("{}://{}", ask.scheme.as_str(), ask.name);
        let kept = self.request(|reply| Request::Robots(origin.clone(), reply)).await?;
        if let Some(RobotsRow { at, body }) = kept {
            let age = Duration::from_millis(u64::try_from(Timestamp::now().0 - at.0).unwrap_or(0));
            if age < ROBOTS_VALID {
                return Ok(End::Learned(id, Arc::new(Robots::parse(&body, &self.agent)), age));
            }
        }
        let mut exchanges = Vec::new();
        let found = self.fetch_robots(id, &origin, &mut exchanges).await;
        let robots =
            found.as_ref().ok().map(|body| RobotsRow { at: Timestamp::now(), body: body.clone() });
        self.send(Request::KeepRobots { origin, robots, exchanges }).await?;
        Ok(match found {
            Ok(body) => {
                End::Learned(id, Arc::new(Robots::parse(&body, &self.agent)), Duration::ZERO)
            }
            Err(_) if ask.attempt < self.retries => End::AskAgain(id, ask.attempt + 1),
            Err(why) => End::Learned(id, Arc::new(Robots::unreachable(&why)), Duration::ZERO),
        })
    }

    /// The content of robots.txt, empty if there is none; or why it could not be had.
    async fn fetch_robots(
        &self,
        id: TaskId,
        origin: &str,
        exchanges: &mut Vec<Archived>,
    ) -> Result<Vec<u8>, String> {
        let mut url =
            Url::parse(&format!("{origin}/robots.txt")).map_err(|error| error.to_string())?;
        for _ in 0..=MAX_ROBOTS_HOPS {
            let got = self.fetcher.get(&url, Limit::Robots).await;
            self.answered(id, &got).await;
            let mut answer = got.map_err(|error| error.explain())?;
            exchanges.extend(archive(&url, &mut answer));
            if let Some(target) = answer.redirect_target(&url) {
                url = target;
                continue;
            }
            let status = answer.status.as_u16();
            return match Availability::of_status(status) {
                Availability::Found => Ok(answer.body),
                Availability::Unavailable => Ok(Vec::new()),
                Availability::Unreachable => Err(format!("status {status}")),
            };
        }
        Ok(Vec::new())
    }
}
