//! Where what was learnt is kept: the learner does no I/O, so its site comes from the state before it is used, and goes back there.
//!
//! What it observed since all was kept last is in a log, so that a start after a kill goes on with exactly what was known at the last commit.

use serde::{Deserialize, Serialize};

use crate::{
    learn::{self, Learner, LearntRule, Page, Rule, RulePart, Yielded},
    page::{DocId, NormalUrl},
    state::{State, StateError, UrlId, UrlRow, UrlState},
};

const UNREADABLE: StateError = StateError::Damaged("what was learnt of a site cannot be read");

/// What became of a URL.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Received {
    /// It yielded this.
    Answer(Yielded),
    /// Nothing is there.
    Nothing,
    /// It was not requested: whether to do so was asked.
    Question,
}

/// What was received for a URL, as the learner is told of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Observation {
    /// The numbers of the URL, and of the one where it was found first.
    pub(super) url: i64,
    pub(super) from: Option<i64>,
    /// What was received.
    pub(super) received: Received,
    /// The number and a hash of the text that a page has or repeats, and its passages that no page before had.
    pub(super) text: Option<(u32, u16, Vec<u32>)>,
    /// A redirect led to it.
    pub(super) is_redirected: bool,
    /// It has a link to where its URL was found.
    pub(super) links_back: bool,
}

impl Observation {
    /// An observation of a URL, found there, that gave no text.
    pub(super) fn new(url: &UrlRow, from: Option<&UrlRow>, received: Received) -> Self {
        Self {
            url: url.id.0,
            from: from.map(|from| from.id.0),
            received,
            text: None,
            is_redirected: url.hops > 0,
            links_back: false,
        }
    }
}

/// Tells the learner of an observation.
pub(super) fn teach(
    learner: &mut Learner,
    observation: &Observation,
    url: &NormalUrl,
    from: Option<&NormalUrl>,
) {
    let Observation { received, text, is_redirected, links_back, .. } = observation;
    let yielded = match *received {
        Received::Answer(yielded) => yielded,
        Received::Nothing => return learner.dead(url.as_url(), url.site()),
        Received::Question => return learner.met(url.as_url(), url.site()),
    };
    learner.judged(&Page {
        url: url.as_url(),
        site: url.site(),
        text: text.as_ref().map(|it| it.0),
        hash: text.as_ref().map_or(0, |it| it.1),
        yielded,
        is_redirected: *is_redirected,
        from: from.map(NormalUrl::as_url),
        links_back: *links_back,
    });
}

/// What speaks for deferring a URL that is deferred, as of the last commit.
pub(super) fn evidence(state: &State, row: &UrlRow) -> Result<Option<String>, StateError> {
    match (row.state, &row.detail) {
        (UrlState::Skipped(reason), Some(why)) if reason.is_learnt() => {
            Ok(learnt(state, Some(row.url.site()))?.evidence(row.url.site(), why))
        }
        _ => Ok(None),
    }
}

/// What a run has learnt, of one site or of all.
fn learnt(state: &State, site: Option<&str>) -> Result<Learner, StateError> {
    let imported: Option<Vec<Rule>> = state.json("rules")?;
    let mut learner = Learner::unlimited(&imported.unwrap_or_default());
    restore(state, &mut learner, site)?;
    Ok(learner)
}

/// Brings the learner to where an earlier start of the run stopped, for one site or for all. Nothing is written unless the learner has too little memory.
pub(super) fn restore(
    state: &State,
    learner: &mut Learner,
    only: Option<&str>,
) -> Result<(), StateError> {
    let sites = state.learnt_sites()?;
    learner.set_kept(sites.iter().map(String::as_str).filter(|it| only.is_none_or(|of| of == *it)));
    if let Some(common) = state.learnt_common()?
        && !learner.restore_common(&common)
    {
        return Err(UNREADABLE);
    }
    if let Some(site) = only {
        recall(state, learner, site)?;
    }
    for packed in state.observations()? {
        let observed: Vec<Observation> = postcard::from_bytes(&packed).map_err(|_| UNREADABLE)?;
        for observation in observed {
            let url = state.url(UrlId(observation.url))?.url;
            if only.is_some_and(|site| site != url.site()) {
                learner.skip();
                continue;
            }
            let from = observation.from.map(|from| state.url(UrlId(from))).transpose()?;
            recall(state, learner, url.site())?;
            if let Some((.., passages)) = &observation.text {
                learner.add_passages(passages);
            }
            teach(learner, &observation, &url, from.as_ref().map(|from| &from.url));
        }
    }
    learner.take_sites_to_requeue();
    learner.take_changed_rules();
    Ok(())
}

/// Makes sure that the learner has what is kept of a site.
pub(super) fn recall(state: &State, learner: &mut Learner, site: &str) -> Result<(), StateError> {
    if learner.needs(site) {
        keep_evicted(state, learner)?;
        if let Some(kept) = state.learnt(site)?
            && !learner.restore(site, &kept)
        {
            return Err(UNREADABLE);
        }
    }
    Ok(())
}

/// Keeps the sites that the learner does not have in memory any more.
fn keep_evicted(state: &State, learner: &mut Learner) -> Result<(), StateError> {
    let sites = learner.take_evicted();
    sites.iter().try_for_each(|(site, known)| state.keep_learnt(site, known))
}

/// Keeps what was observed since the last commit; from time to time, or if `all`, all that was learnt instead.
pub(super) fn keep(
    state: &State,
    learner: &mut Learner,
    observed: &mut Vec<Observation>,
    all: bool,
) -> Result<(), StateError> {
    if all || learner.is_due() {
        let (sites, common) = learner.take_unsaved();
        sites.iter().try_for_each(|(site, known)| state.keep_learnt(site, known))?;
        state.keep_learnt_common(&common)?;
        state.forget_observations()?;
    } else {
        keep_evicted(state, learner)?;
        if !observed.is_empty() {
            let packed = postcard::to_allocvec(&*observed).expect("memory takes all bytes");
            state.add_observations(learner.observations(), &packed)?;
        }
    }
    observed.clear();
    Ok(())
}

/// All rules of a run, in the order of their sites and parts.
#[cfg(feature = "cli")]
pub(super) fn rules_of(state: &State) -> Result<Vec<LearntRule>, StateError> {
    rules(state, &learnt(state, None)?)
}

/// All rules, in the order of their sites and parts: of the sites that the learner has in memory, and of those that are kept.
pub(super) fn rules(state: &State, learner: &Learner) -> Result<Vec<LearntRule>, StateError> {
    fn key(it: &LearntRule) -> (&String, &RulePart, bool) {
        (&it.rule.site, &it.rule.part, it.is_dead)
    }
    let mut rules = learner.rules();
    for site in state.learnt_sites()? {
        if !learner.has(&site)
            && let Some(kept) = state.learnt(&site)?
        {
            rules.extend(learn::rules_of(&site, &kept).ok_or(UNREADABLE)?);
        }
    }
    rules.sort_by(|a, b| key(a).cmp(&key(b)));
    Ok(rules)
}

/// The number by which the learner knows a text.
pub(super) fn number_of(text: DocId) -> u32 {
    u32::try_from(text.0 % u64::from(u32::MAX)).unwrap_or(0)
}
