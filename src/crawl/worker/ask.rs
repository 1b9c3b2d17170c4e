//! A host's robots.txt.

use std::{sync::Arc, time::Duration};

use super::{Crew, End, RecorderGone, archive};
use crate::{
    crawl::{
        fetch::Limit,
        frontier::{Ask, TaskId},
        recorder::Request,
        robots::{Inquiry, Robots, VALID},
    },
    page::Timestamp,
    state::RobotsRow,
};

impl Crew {
    /// Finds out what a host's robots.txt says: from the state, if it is not too old, or from the host; by one request, for those to
    /// which redirects lead must be polite too.
    pub(super) async fn ask(&self, id: TaskId, mut ask: Ask) -> Result<End, RecorderGone> {
        let origin = format!("{}://{}", ask.scheme.as_str(), ask.name);
        let inquiry = match ask.moved.take() {
            Some(moved) => Ok(moved),
            None => match self.request(|reply| Request::Robots(origin.clone(), reply)).await? {
                Some(RobotsRow { at, body }) if age(at) < VALID => {
                    return Ok(End::Learned(id, self.read(body).await, age(at)));
                }
                _ => Inquiry::new(&origin),
            },
        };
        let Ok(mut inquiry) = inquiry else { return Ok(give_up(id, "its URL is none")) };
        let mut got = self.fetcher.get(inquiry.url(), Limit::Robots).await;
        self.answered(id, &got).await;
        let exchange = archive(inquiry.url(), &mut got);
        let found = inquiry.hear(got);
        let body = found.as_ref().and_then(|found| found.as_ref().ok());
        let robots = body.map(|body| RobotsRow { at: Timestamp::now(), body: body.clone() });
        self.send(Request::KeepRobots { origin, robots, exchange }).await?;
        Ok(match found {
            None => End::Moved(id, inquiry),
            Some(Ok(body)) => End::Learned(id, self.read(body).await, Duration::ZERO),
            Some(Err(_)) if ask.attempt < self.retries => End::AskAgain(id, ask.attempt + 1),
            Some(Err(why)) => give_up(id, &why),
        })
    }

    /// Reads a robots.txt, which may have 500 KiB, off the reactor's threads.
    async fn read(&self, body: Vec<u8>) -> Arc<Robots> {
        let agent = self.agent.clone();
        let read = self.pool.run(move || Robots::parse(&body, &agent)).await;
        Arc::new(read.unwrap_or_else(|_| Robots::unreachable("a thread panicked on reading it")))
    }
}

/// It could not be had.
fn give_up(id: TaskId, why: &str) -> End {
    End::Learned(id, Arc::new(Robots::unreachable(why)), Duration::ZERO)
}

fn age(at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(Timestamp::now().0 - at.0).unwrap_or(0))
}
