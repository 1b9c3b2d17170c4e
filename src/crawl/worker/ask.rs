//! A host's robots.txt.

use std::{sync::Arc, time::Duration};

use super::{Crew, End, RecorderGone, archive};
use crate::{
    crawl::{
        fetch::Limit,
        frontier::{Ask, TaskId},
        recorder::{Archived, Request},
        robots::{Inquiry, Robots, VALID},
    },
    page::Timestamp,
    state::RobotsRow,
};

impl Crew {
    /// Finds out what a host's robots.txt says: from the state, if it is not too old, or from the host.
    pub(super) async fn ask(&self, id: TaskId, ask: Ask) -> Result<End, RecorderGone> {
        let origin = format!("{}://{}", ask.scheme.as_str(), ask.name);
        let kept = self.request(|reply| Request::Robots(origin.clone(), reply)).await?;
        if let Some(RobotsRow { at, body }) = kept {
            let age = Duration::from_millis(u64::try_from(Timestamp::now().0 - at.0).unwrap_or(0));
            if age < VALID {
                return Ok(End::Learned(id, self.read(body).await, age));
            }
        }
        let mut exchanges = Vec::new();
        let found = self.fetch_robots(id, &origin, &mut exchanges).await;
        let robots =
            found.as_ref().ok().map(|body| RobotsRow { at: Timestamp::now(), body: body.clone() });
        self.send(Request::KeepRobots { origin, robots, exchanges }).await?;
        Ok(match found {
            Ok(body) => End::Learned(id, self.read(body).await, Duration::ZERO),
            Err(_) if ask.attempt < self.retries => End::AskAgain(id, ask.attempt + 1),
            Err(why) => End::Learned(id, Arc::new(Robots::unreachable(&why)), Duration::ZERO),
        })
    }

    /// Reads a robots.txt, which may have 500 KiB, off the reactor's threads.
    async fn read(&self, body: Vec<u8>) -> Arc<Robots> {
        let agent = self.agent.clone();
        let read = self.pool.run(move || Robots::parse(&body, &agent)).await;
        Arc::new(read.unwrap_or_else(|_| Robots::unreachable("a thread panicked on reading it")))
    }

    /// The content of robots.txt, empty if there is none; or why it could not be had.
    async fn fetch_robots(
        &self,
        id: TaskId,
        origin: &str,
        exchanges: &mut Vec<Archived>,
    ) -> Result<Vec<u8>, String> {
        let mut inquiry = Inquiry::new(origin).map_err(|error| error.to_string())?;
        loop {
            let mut got = self.fetcher.get(inquiry.url(), Limit::Robots).await;
            self.answered(id, &got).await;
            exchanges.extend(archive(inquiry.url(), &mut got));
            if let Some(found) = inquiry.hear(got) {
                return found;
            }
        }
    }
}
