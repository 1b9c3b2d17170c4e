//! Where what was learnt is kept: the learner does no I/O, so its site comes from the state before it is used, and goes back there.

use std::collections::HashSet;

use crate::{
    learn::{Known, Learner, LearntRule, Page, Yielded},
    page::{DocId, NormalUrl},
    state::{State, StateError, UrlRow, UrlState, is_of_another_run},
};

/// The last pages of earlier starts that a start remembers. Those that are not part of what was kept are learnt from again.
const REPLAYED: u64 = 100_000;

/// Reads what is kept of a site.
fn read(state: &State, site: &str) -> Result<Option<Known>, StateError> {
    let known = state.learnt(site)?;
    let known = known.map(|json| serde_json::from_str(&json)).transpose();
    known.map_err(|_| StateError::Damaged("what was learnt of a site cannot be read"))
}

/// What speaks for deferring a URL that is deferred, as of the last time that it was kept.
pub(super) fn evidence(state: &State, row: &UrlRow) -> Result<Option<String>, StateError> {
    let (UrlState::Skipped(reason), Some(why)) = (row.state, &row.detail) else { return Ok(None) };
    let known = if reason.is_learnt() { read(state, row.url.site())? } else { None };
    Ok(known.and_then(|known| known.evidence(why)))
}

/// Brings the learner to where an earlier start of the run stopped. Nothing is written.
pub(super) fn restore(state: &State, learner: &mut Learner) -> Result<(), StateError> {
    let sites = state.learnt_sites()?;
    learner.set_kept(sites.iter().map(String::as_str));
    if let Some(passages) = state.passages()? {
        learner.restore_passages(&passages);
    }
    // A page that has changed is no trial: it was learnt from when it was judged first.
    let (mut seen, mut others) = (HashSet::new(), HashSet::new());
    for (name, id, text) in state.last_judged(REPLAYED)? {
        if let Some(url) = NormalUrl::stored(&name)
            && seen.insert(xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
        {
            recall(state, learner, url.site())?;
            let is_new = text.is_none_or(|of| is_of_another_run(of) && others.insert(of));
            learner.judged(&Page {
                url: url.as_url(),
                site: url.site(),
                document: Some(id),
                text: Some(number_of(text.unwrap_or(id))),
                hash: 0,
                yielded: if is_new { Yielded::New } else { Yielded::KnownText },
                is_redirected: false,
                from: None,
                links_back: false,
            });
        }
    }
    learner.take_sites_to_requeue();
    learner.take_changed_rules();
    Ok(())
}

/// Makes sure that the learner has what is kept of a site.
pub(super) fn recall(state: &State, learner: &mut Learner, site: &str) -> Result<(), StateError> {
    if learner.needs(site) {
        if learner.has_evicted() {
            keep(state, learner, false)?;
        }
        learner.restore(site, read(state, site)?.unwrap_or_default());
    }
    Ok(())
}

/// Keeps what the learner does not have in memory any more, and what is due; or all.
pub(super) fn keep(state: &State, learner: &mut Learner, all: bool) -> Result<(), StateError> {
    let unsaved = learner.take_unsaved(all);
    if let Some(passages) = unsaved.passages {
        state.keep_passages(&passages)?;
    }
    for (site, known) in unsaved.sites {
        let known = serde_json::to_string(&known).expect("numbers and names are JSON");
        state.keep_learnt(&site, &known)?;
    }
    Ok(())
}

/// All rules, in the order of their sites and parts: of the sites that the learner has in memory, and of those that are kept.
pub(super) fn rules(state: &State, learner: &Learner) -> Result<Vec<LearntRule>, StateError> {
    let mut rules = learner.rules();
    for site in state.learnt_sites()? {
        if !learner.has(&site) {
            rules.extend(read(state, &site)?.unwrap_or_default().rules(&site));
        }
    }
    rules.sort_by(|a, b| (&a.rule.site, &a.rule.part).cmp(&(&b.rule.site, &b.rule.part)));
    Ok(rules)
}

/// The number by which the learner knows a text.
pub(super) fn number_of(text: DocId) -> u32 {
    u32::try_from(text.0 % u64::from(u32::MAX)).unwrap_or(0)
}
