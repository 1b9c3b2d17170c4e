//! How a run begins, or goes on.

use std::{fs, num::NonZeroUsize, sync::Arc, time::Duration};

use super::{
    Counts, Recorder,
    discover::{Known, Origin, reason},
    json,
    settle::{CROSS_SITE, SAME_SITE},
};
use crate::{
    crawl::{
        directory::STATE,
        error::CrawlError,
        frontier::Budget,
        options::Plan,
        robots::{NOT_HAD, product_token},
        scope::{Scope, Source, read_seed_file},
    },
    filter::{Filter, Links, Position},
    fingerprint::{Recipe, Seed},
    index::BlockIndex,
    page::{NormalUrl, Timestamp, UrlOptions},
    sink::{Mark, Outputs, warc},
    state::{DigestTable, Reason, SignatureLog, State, UrlKind, UrlRow, UrlState},
};

/// Digests kept in memory in front of the state's table.
const CACHED_DIGESTS: usize = 1 << 16;

/// What the other parts must know of a run that begins.
#[derive(Debug)]
pub(in crate::crawl) struct Start {
    /// How texts are fingerprinted.
    pub(in crate::crawl) recipe: Recipe,
    pub(in crate::crawl) budget: Budget,
    pub(in crate::crawl) counts: Counts,
}

impl Recorder {
    /// Opens the run directory, brings back where the run stood, and queues the seeds.
    pub(in crate::crawl) fn begin(plan: Arc<Plan>) -> Result<(Self, Start), CrawlError> {
        let directory = &plan.directory;
        fs::create_dir_all(directory)
            .map_err(|source| CrawlError::Directory { path: directory.clone(), source })?;
        let state = State::open(&directory.join(STATE))?;
        let recipe = recipe(&plan, &state)?;
        let sink = open_outputs(&plan, &state)?;
        let (filter, signatures) = open_filter(&plan, &state)?;
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
            began: std::time::Instant::now(),
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
        self.state.take_back_hosts()?;
        let plan = Arc::clone(&self.plan);
        let roots = plan.seeds.iter().map(|seed| roots(&seed.source, &self.url_options));
        let roots: Vec<_> = roots.collect::<Result<_, _>>()?;
        let moved = self.follow_seeds()?;
        self.queue_seeds(&roots)?;
        if moved {
            self.rehome()?;
        }
        let changes = Changes {
            admission: self.has_changed("policy", &admission(&plan, &roots))?,
            robots: self.has_changed("robots", &robots_policy(&plan))?,
        };
        self.reconsider(changes)?;
        self.commit()
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

    /// URLs that wait and whose seed is gone go to another that admits them, or are skipped.
    fn rehome(&mut self) -> Result<(), CrawlError> {
        let mut homeless = Vec::new();
        self.state.for_each_url(
            |state| state == UrlState::Queued,
            |row| {
                homeless.extend(Some(row).filter(|row| row.seed.is_none()));
                Ok::<_, CrawlError>(())
            },
        )?;
        for row in homeless {
            let url = NormalUrl::parse(&row.url, &self.url_options)?;
            match self.admit(&url, row.kind, row.depth, None) {
                Ok(seed) => self.state.revive_url(row.id, seed, row.depth)?,
                Err(refusal) => {
                    let state = UrlState::Skipped(reason(refusal));
                    self.state.settle_url(row.id, state, None, None, Timestamp::now())?;
                }
            }
        }
        self.state.dequeue_skipped()?;
        self.counts.queued = self.state.queue_len()?;
        Ok(())
    }

    /// Whether the value of this name is another than at the last start, if there was one. It is kept for the next.
    fn has_changed(&mut self, name: &str, value: &str) -> Result<bool, CrawlError> {
        let known = self.state.meta::<String>(name)?;
        self.state.set_meta(name, value)?;
        Ok(known.is_some_and(|known| known != value))
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

    /// Queues again what was skipped because robots.txt could not be had; and what scope, budgets or policies admit now, if they
    /// have changed.
    fn reconsider(&mut self, changes: Changes) -> Result<(), CrawlError> {
        let mut revived = Vec::new();
        let wanted = |state| match state {
            UrlState::Skipped(Reason::Robots) => true,
            UrlState::Skipped(
                Reason::Scope | Reason::Depth | Reason::Budget | Reason::DuplicateLinks,
            ) => changes.admission,
            _ => false,
        };
        self.state.for_each_url(wanted, |row| {
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
                changes.robots
                    || row.detail.as_deref().is_some_and(|detail| detail.starts_with(NOT_HAD))
            }
            UrlState::Skipped(Reason::DuplicateLinks) => {
                let policy = match row.detail.as_deref() {
                    Some(SAME_SITE) => self.plan.dedup.same_site,
                    Some(CROSS_SITE) => self.plan.dedup.cross_site,
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

    fn budget(&self) -> Budget {
        let limits = self.plan.seeds.iter().map(|seed| seed.max_pages);
        Budget::new(
            self.plan.crawl.max_pages,
            self.counts.fetched,
            limits.zip(self.spent.iter().copied()),
        )
    }
}

/// The URLs that a seed list names, and what they lead to.
fn roots(source: &Source, options: &UrlOptions) -> Result<(UrlKind, Vec<NormalUrl>), CrawlError> {
    Ok(match source {
        Source::Url(url) => (UrlKind::Page, vec![NormalUrl::new(url, options)?]),
        Source::Sitemap(url) => (UrlKind::Sitemap, vec![NormalUrl::new(url, options)?]),
        Source::File(path) => {
            let open = |source| CrawlError::SeedFile { path: path.clone(), source };
            let file = fs::read(path).map_err(open)?;
            let lines = |errors| CrawlError::SeedLines { path: path.clone(), errors };
            (UrlKind::Page, read_seed_file(&file, options).map_err(lines)?)
        }
    })
}

/// The recipe of the run's fingerprints: as configured at its first start, and the same ever after.
fn recipe(plan: &Plan, state: &State) -> Result<Recipe, CrawlError> {
    let known = state.meta::<i64>("seed")?.map(|seed| Seed(seed.cast_unsigned()));
    let configured = plan.dedup.seed.seed();
    let seed = configured.or(known).unwrap_or_else(|| Seed(rand::random()));
    let recipe =
        Recipe { segment: plan.dedup.segment, fold_chinese: plan.dedup.fold_chinese, seed };
    let scheme = recipe.scheme().to_string();
    if let Some(stored) = state.meta::<String>("scheme")?
        && stored != scheme
    {
        return Err(CrawlError::Recipe {
            key: "segment or fold_chinese",
            stored,
            configured: scheme,
        });
    }
    let drawn = state.meta::<bool>("seed_drawn")?;
    if configured.is_none() && drawn == Some(false) {
        let stored = known.map_or_else(String::new, Seed::id);
        return Err(CrawlError::Recipe { key: "seed", stored, configured: "secret".to_owned() });
    }
    if drawn.is_none() {
        state.set_meta("seed_drawn", configured.is_none())?;
    }
    if known.is_some_and(|known| known != seed) {
        let stored = known.map_or_else(String::new, Seed::id);
        return Err(CrawlError::Recipe { key: "seed", stored, configured: seed.id() });
    }
    state.set_meta("seed", seed.0.cast_signed())?;
    state.set_meta("scheme", scheme)?;
    if state.meta::<i64>("started")?.is_none() {
        state.set_meta("started", Timestamp::now().0)?;
    }
    Ok(recipe)
}

fn open_outputs(plan: &Plan, state: &State) -> Result<Outputs, CrawlError> {
    let origin = plan.store.warc.then(|| warc::Origin {
        run: plan.name.clone(),
        user_agent: plan.crawl.user_agent.clone(),
        obey_robots: plan.politeness.obey_robots,
    });
    let files = state.files()?;
    let marks: Vec<Mark> = files.into_iter().map(|(file, offset)| Mark { file, offset }).collect();
    let sink = Outputs::open(&plan.directory, origin, &marks)?;
    for mark in sink.positions() {
        state.set_file(&mark.file, mark.offset)?;
    }
    Ok(sink)
}

type DurableFilter = Filter<BlockIndex, DigestTable>;

fn open_filter(plan: &Plan, state: &State) -> Result<(DurableFilter, SignatureLog), CrawlError> {
    let index = plan.dedup.index()?;
    let cached = NonZeroUsize::new(CACHED_DIGESTS).expect("not zero");
    let mut filter = Filter::with(&plan.dedup, index, DigestTable::new(state.clone(), cached));
    let signatures = SignatureLog::read(state, |representative| filter.restore(representative))?;
    if let Some(position) = stored::<Position>(state, "position")? {
        filter.resume(position);
    }
    Ok((filter, signatures))
}

/// A value that is kept as JSON.
fn stored<T: serde::de::DeserializeOwned>(
    state: &State,
    name: &str,
) -> Result<Option<T>, CrawlError> {
    let text: Option<String> = state.meta(name)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Which of the rules by which URLs had been skipped are others than at the last start.
#[derive(Clone, Copy, Debug)]
struct Changes {
    admission: bool,
    robots: bool,
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
