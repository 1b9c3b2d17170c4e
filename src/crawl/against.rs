//! Other runs whose pages count as seen (`dedup.against`). They are only read, as of their last commit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    directory::state_in,
    plan::{CrawlError, Plan},
};
use crate::{
    filter::{Document, Judgement, Key, Options},
    fingerprint::{HashSeed, HashSeedChoice, Recipe, Segment},
    state::{PastWindow, RecordedRecipe, State, StateError},
};

/// The windows of other runs.
#[derive(Debug, Default)]
pub(super) struct Others {
    windows: Vec<(String, PastWindow)>,
}

/// What a document repeats in another run.
#[derive(Debug)]
pub(super) struct FoundElsewhere {
    /// How it does so. The match has its number there.
    pub(super) judgement: Judgement,
    /// The URL there.
    pub(super) url: String,
    /// The run, as the configuration names it.
    pub(super) run: String,
}

impl Others {
    /// Opens the runs that the plan names. Their fingerprints must be made by this recipe.
    pub(super) fn open(plan: &Plan, recipe: Recipe) -> Result<Self, CrawlError> {
        let options = plan.dedup.filter();
        let open = |path: &PathBuf| {
            let failed = |source| CrawlError::Against { path: path.clone(), source };
            let window =
                PastWindow::open(&state_in(path), &options, recipe, true).map_err(failed)?;
            tracing::info!(run = %path.display(), "pages of another run count as seen");
            Ok((path.display().to_string(), window))
        };
        let windows = plan.dedup.against.iter().map(open).collect::<Result<_, CrawlError>>()?;
        Ok(Self { windows })
    }

    /// What a document repeats in one of them, if it does: also the same URL.
    pub(super) fn find(
        &mut self,
        document: &Document,
    ) -> Result<Option<FoundElsewhere>, CrawlError> {
        if self.windows.is_empty() {
            return Ok(None);
        }
        // There, a page of the same URL would be the document itself, and not what it repeats.
        let stranger = document.clone().with_key(Key::of(""));
        for (run, window) in &mut self.windows {
            if let Some((judgement, url)) = window.peek(&stranger)? {
                return Ok(Some(FoundElsewhere { judgement, url, run: run.clone() }));
            }
        }
        Ok(None)
    }
}

/// The options by which a run is begun: with the hash seed of the first other run, if its own would be drawn. Refuses runs whose fingerprints
/// differ from those of the first, or from what the plan asks for.
pub(super) fn adopt(plan: &Plan) -> Result<Options, CrawlError> {
    let mut options = plan.dedup.filter();
    for (number, path) in plan.dedup.against.iter().enumerate() {
        if is_same(path, &plan.directory) {
            return Err(CrawlError::AgainstItself(path.clone()));
        }
        let failed = |source| CrawlError::Against { path: path.clone(), source };
        let recorded = read(path).map_err(failed)?;
        if number == 0 && options.hash_seed == HashSeedChoice::Secret {
            options.hash_seed = recorded.hash_seed.map_or(options.hash_seed, HashSeedChoice::Fixed);
        }
        if let Some(difference) = recorded.difference(&options) {
            return Err(failed(StateError::Recipe(difference)));
        }
    }
    Ok(options)
}

/// How Chinese is split and folded in the run or state at this path, for keys that a configuration does not set.
///
/// # Errors
/// If it is no run or state, or cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn recipe_of(path: &Path) -> Result<Option<(Segment, bool)>, StateError> {
    Ok(read(path)?.segment_and_folding())
}

/// The hash seed of the run or state at this path, for a filter that has none of its own.
///
/// # Errors
/// If it is no run or state, or cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn hash_seed_of(path: &Path) -> Result<Option<HashSeed>, StateError> {
    Ok(read(path)?.hash_seed)
}

fn read(path: &Path) -> Result<RecordedRecipe, StateError> {
    let state = state_in(path);
    if !state.is_file() {
        return Err(StateError::Foreign { path: path.to_owned() });
    }
    RecordedRecipe::read(&State::read(&state)?)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(a).is_some_and(|a| Some(a) == real(b))
}
