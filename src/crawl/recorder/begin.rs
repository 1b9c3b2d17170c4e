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
        recipe::{Difference, Recorded},
        scope::Scope,
    },
    filter::Filter,
    fingerprint::{HashSeed, Recipe},
    index::BlockIndex,
    page::{NormalUrl, Timestamp},
    report::End,
    sink::{Mark, Outputs, warc},
    state::{CACHED_DIGESTS, DigestTable, Restored, SignatureLog, State, UrlKind},
};

/// What the other parts must know of a run that begins.
#[derive(Debug)]
pub(in crate::crawl) struct Start {
    /// How texts are fingerprinted.
    pub(in crate::crawl) recipe: Recipe,
    pub(in crate::crawl) budget: Budget,
    pub(in crate::crawl) counts: Tally,
}

impl Recorder {
    /// Opens the run directory, brings back where the run stood, and queues the seeds. `tell` is told how far a large window is.
    pub(in crate::crawl) fn begin(
        plan: Arc<Plan>,
        tell: impl FnMut(Restored),
    ) -> Result<(Self, Start), CrawlError> {
        let directory = &plan.directory;
        fs::create_dir_all(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        check_unclaimed(directory)?;
        let state = State::open(&directory.join(STATE))?;
        check_owner(&state, directory, &plan.name)?;
        let recipe = recipe(&plan, &state)?;
        let sink = open_outputs(&plan, &state)?;
        let (filter, signatures) = open_filter(&plan, &state, tell)?;
        let mut recorder = Self {
            scope: Scope::new(&plan.seeds)?,
            url_options: plan.crawl.url_options(),
            hash_seed: rand::random(),
            counts: stored(&state, "counts")?.unwrap_or_default(),
            spent: stored(&state, "spent")?.unwrap_or_default(),
            last_seq: state.last_seq()?,
            in_turn: plan.crawl.concurrency.get() == 1,
            known: Known::default(),
            queued: Vec::new(),
            tick: 0,
            batch: 0,
            deadline: None,
            batch_time: FIRST_BATCH_TIME,
            began: std::time::Instant::now(),
            audited: stored(&state, "audit")?.unwrap_or_default(),
            worked: stored(&state, "worked")?.map_or(Duration::ZERO, Duration::from_secs_f64),
            plan,
            state,
            filter,
            signatures,
            sink,
        };
        recorder.go_on()?;
        let (name, counts) = (&recorder.plan.name, recorder.counts);
        tracing::info!(name, fetched = counts.fetched, queued = counts.queued, "the run begins");
        let start = Start { recipe, budget: recorder.budget(), counts: recorder.counts };
        Ok((recorder, start))
    }

    /// Queues the seeds, and what had been skipped for reasons that no longer hold.
    fn go_on(&mut self) -> Result<(), CrawlError> {
        self.state.begin()?;
        self.deadline = Some(tokio::time::Instant::now());
        let plan = Arc::clone(&self.plan);
        let ended = stored::<End>(&self.state, "end")?;
        self.note_start()?;
        self.take_back_hosts(ended)?;
        let roots = plan.roots()?;
        let moved = self.follow_seeds()?;
        self.queue_seeds(&roots)?;
        if moved {
            self.rehome()?;
        }
        let changes = Changes::since_last_start(&self.state, &plan, &roots)?;
        self.reconsider(changes)?;
        self.commit()
    }

    /// What a report must know though the run does not come to its end.
    fn note_start(&self) -> Result<(), CrawlError> {
        self.state.set_meta("name", self.plan.name.as_str())?;
        self.state.set_meta("warc", self.plan.store.warc)?;
        self.state.set_meta("end", json(&End::Interrupted))?;
        self.state.set_meta("dedup", json(&self.plan.dedup))?;
        self.state.set_meta("judged_by", json(&judged_by(&self.plan.dedup, &self.state)?))?;
        self.state.set_meta("index", self.filter.index().plan().to_string())?;
        if self.state.meta::<i64>("started")?.is_none() {
            self.state.set_meta("started", Timestamp::now().0)?;
        }
        self.note_policy()
    }

    /// Seeds are known by their place: if lists were added, removed or moved since the last start, what belongs to them moves too.
    fn follow_seeds(&mut self) -> Result<bool, CrawlError> {
        let lists: Vec<_> = self.plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
        let known = stored::<Vec<String>>(&self.state, "seed_lists")?.unwrap_or_default();
        let moved = !lists.starts_with(&known);
        if moved {
            let place = |list| lists.iter().position(|other| other == list);
            let places: Vec<_> = known.iter().map(place).collect();
            self.state.move_seeds(&places)?;
            let spent = std::mem::replace(&mut self.spent, vec![0; lists.len()]);
            for (place, spent) in places.into_iter().zip(spent) {
                if let Some(place) = place {
                    self.spent[place] += spent;
                }
            }
        }
        self.spent.resize(lists.len(), 0);
        self.state.set_meta("seed_lists", json(&lists))?;
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
                    Origin { kind, depth: 0, hops: 0, referrer: None, seed, withheld: None, at };
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

/// The recipe of the run's fingerprints: as configured at its first start, and the same ever after.
fn recipe(plan: &Plan, state: &State) -> Result<Recipe, CrawlError> {
    let recorded = Recorded::read(state)?;
    if let Some(Difference { key, stored, wanted }) = recorded.difference(&plan.dedup) {
        return Err(CrawlError::Recipe { key, stored, configured: wanted });
    }
    let configured = plan.dedup.seed.seed();
    let seed = configured.or(recorded.seed).unwrap_or_else(|| HashSeed(rand::random()));
    let recipe = plan.dedup.recipe(seed);
    recorded.write(state, recipe, configured.is_none())?;
    Ok(recipe)
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

type DurableFilter = Filter<BlockIndex, DigestTable>;

fn open_filter(
    plan: &Plan,
    state: &State,
    tell: impl FnMut(Restored),
) -> Result<(DurableFilter, SignatureLog), CrawlError> {
    let index = plan.dedup.index()?;
    let table = DigestTable::new(state.clone(), CACHED_DIGESTS);
    let mut filter = Filter::with(&plan.dedup, index, table);
    let signatures = state.restore(&mut filter, tell)?;
    Ok((filter, signatures))
}

/// A value that is kept as JSON.
pub(super) fn stored<T: serde::de::DeserializeOwned>(
    state: &State,
    name: &str,
) -> Result<Option<T>, CrawlError> {
    let text: Option<String> = state.meta(name)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
