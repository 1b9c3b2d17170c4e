//! How a run begins, or goes on.

use std::{fs, sync::Arc, time::Duration};

use super::{
    FIRST_BATCH_TIME, Recorder, Tally,
    again::Changes,
    discover::{Known, Origin},
    finish::judged_by,
    json,
};
use crate::{
    crawl::{
        directory::{STATE, check_owner, check_unclaimed},
        error::CrawlError,
        frontier::Budget,
        options::Plan,
        scope::Scope,
    },
    filter::Documents,
    page::{NormalUrl, Timestamp},
    report::End,
    sink::{Mark, Outputs, warc},
    state::{DurableFilter, Restored, State, StateError, UrlKind},
};

/// What the other parts must know of a run that begins.
#[derive(Debug)]
pub(in crate::crawl) struct Start {
    /// What makes the documents to be judged.
    pub(in crate::crawl) documents: Documents,
    pub(in crate::crawl) budget: Budget,
    pub(in crate::crawl) counts: Tally,
}

impl Recorder {
    /// Opens the run directory, brings back where the run stood, and queues the seeds. `report` is called every two seconds while a large window is restored.
    pub(in crate::crawl) fn begin(
        plan: Arc<Plan>,
        report: impl FnMut(Restored),
    ) -> Result<(Self, Start), CrawlError> {
        let directory = &plan.directory;
        fs::create_dir_all(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        check_unclaimed(directory)?;
        let state = State::open(&directory.join(STATE))?;
        check_owner(&state, directory, &plan.name)?;
        let filter = open_filter(&plan, state, report)?;
        let state = filter.state();
        let sink = open_outputs(&plan, state)?;
        let mut recorder = Self {
            scope: Scope::new(&plan.seeds)?,
            url_options: plan.crawl.url_options(),
            hash_seed: rand::random(),
            counts: stored(state, "counts")?.unwrap_or_default(),
            spent: stored(state, "spent")?.unwrap_or_default(),
            last_seq: state.last_seq()?,
            in_turn: plan.crawl.concurrency.get() == 1,
            known: Known::default(),
            queued: Vec::new(),
            tick: 0,
            batch: 0,
            deadline: None,
            batch_time: FIRST_BATCH_TIME,
            began: std::time::Instant::now(),
            audited: stored(state, "audit")?.unwrap_or_default(),
            worked: stored(state, "worked")?.map_or(Duration::ZERO, Duration::from_secs_f64),
            plan,
            filter,
            sink,
        };
        recorder.go_on()?;
        let (name, counts) = (&recorder.plan.name, recorder.counts);
        tracing::info!(name, fetched = counts.fetched, queued = counts.queued, "the run begins");
        let start = Start {
            documents: recorder.filter.documents(),
            budget: recorder.budget(),
            counts: recorder.counts,
        };
        Ok((recorder, start))
    }

    /// Queues the seeds, and what had been skipped for reasons that no longer hold.
    fn go_on(&mut self) -> Result<(), CrawlError> {
        self.filter.begin()?;
        self.deadline = Some(tokio::time::Instant::now());
        let plan = Arc::clone(&self.plan);
        let ended = stored::<End>(self.state(), "end")?;
        self.note_start()?;
        self.take_back_hosts(ended)?;
        let roots = plan.roots()?;
        let moved = self.follow_seeds()?;
        self.queue_seeds(&roots)?;
        if moved {
            self.rehome()?;
        }
        let changes = Changes::since_last_start(self.state(), &plan, &roots)?;
        self.reconsider(changes)?;
        self.commit()
    }

    /// What a report must know though the run does not come to its end.
    fn note_start(&self) -> Result<(), CrawlError> {
        self.state().set_meta("name", self.plan.name.as_str())?;
        self.state().set_meta("warc", self.plan.store.warc)?;
        self.state().set_meta("end", json(&End::Interrupted))?;
        self.state().set_meta("dedup", json(&self.plan.dedup))?;
        self.state()
            .set_meta("judged_by", json(&judged_by(&self.plan.dedup.filter(), self.state())?))?;
        self.state().set_meta("index", self.filter.plan().to_string())?;
        if self.state().meta::<i64>("started")?.is_none() {
            self.state().set_meta("started", Timestamp::now().0)?;
        }
        self.note_policy()
    }

    /// Seeds are known by their place: if lists were added, removed or moved since the last start, what belongs to them moves too.
    fn follow_seeds(&mut self) -> Result<bool, CrawlError> {
        let lists: Vec<_> = self.plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
        let known = stored::<Vec<String>>(self.state(), "seed_lists")?.unwrap_or_default();
        let moved = !lists.starts_with(&known);
        if moved {
            let place = |list| lists.iter().position(|other| other == list);
            let places: Vec<_> = known.iter().map(place).collect();
            self.state().move_seeds(&places)?;
            let spent = std::mem::replace(&mut self.spent, vec![0; lists.len()]);
            for (place, spent) in places.into_iter().zip(spent) {
                if let Some(place) = place {
                    self.spent[place] += spent;
                }
            }
        }
        self.spent.resize(lists.len(), 0);
        self.state().set_meta("seed_lists", json(&lists))?;
        Ok(moved)
    }

    fn queue_seeds(&mut self, lists: &[(UrlKind, Vec<NormalUrl>)]) -> Result<(), CrawlError> {
        let at = Timestamp::now();
        for (seed, (_, urls)) in lists.iter().enumerate() {
            for url in urls {
                self.scope.add_root(seed, url);
            }
        }
        for (seed, (kind, urls)) in lists.iter().enumerate() {
            let (kind, seed) = (*kind, Some(seed));
            for url in urls {
                let origin =
                    Origin { kind, depth: 0, hops: 0, referrer: None, seed, cause: None, at };
                self.discover(url, &origin)?;
            }
        }
        self.queued.clear();
        Ok(())
    }

    fn budget(&self) -> Budget {
        let limits = self.plan.seeds.iter().map(|seed| seed.max_pages);
        Budget::new(
            self.plan.crawl.max_pages,
            self.counts.fetched,
            limits.zip(self.spent.iter().copied()),
        )
    }
}

fn open_outputs(plan: &Plan, state: &State) -> Result<Outputs, CrawlError> {
    let run = plan.store.warc.then(|| warc::RunFields {
        name: plan.name.clone(),
        user_agent: plan.crawl.user_agent.clone(),
        obey_robots: plan.politeness.obey_robots,
    });
    let files = state.files()?;
    let marks: Vec<Mark> = files.into_iter().map(|(file, offset)| Mark { file, offset }).collect();
    let sink = Outputs::open(&plan.directory, run, &marks)?;
    for mark in sink.positions() {
        state.set_file(&mark.file, mark.offset)?;
    }
    Ok(sink)
}

fn open_filter(
    plan: &Plan,
    state: State,
    report: impl FnMut(Restored),
) -> Result<DurableFilter, CrawlError> {
    DurableFilter::of_crawl(state, &plan.dedup.filter(), report).map_err(|error| match error {
        StateError::Recipe { key, stored, wanted } => {
            CrawlError::Recipe { key, stored, configured: wanted }
        }
        error => error.into(),
    })
}

/// A value that is kept as JSON.
pub(super) fn stored<T: serde::de::DeserializeOwned>(
    state: &State,
    name: &str,
) -> Result<Option<T>, CrawlError> {
    let text: Option<String> = state.meta(name)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
