//! The clusters that a report shows: a unique page, and those that repeat it.

use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
};

use url::Url;

use super::{CLUSTERS, Cluster, MEMBERS, Member, fair};
use crate::{
    page::{DocId, Lang, site_of},
    state::{JudgedDocument, State, StateError},
};

/// A unique page that others repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) document: DocId,
    /// How many pages repeat it, and how many of them are near duplicates.
    pub(super) count: u64,
    pub(super) near: u64,
    /// The least similarity of these.
    pub(super) least: Option<f32>,
    /// The language of the first of them.
    pub(super) lang: Option<Lang>,
}

/// Takes the clusters that a report shows: half the room is for the most doubtful, half for the largest of the others.
pub(super) fn choose(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by(doubtful_first);
    let mut rest = groups.split_off(groups.len().min(CLUSTERS / 2));
    rest.sort_by_key(|group| (Reverse(group.count), group.document));
    rest.truncate(CLUSTERS - groups.len());
    groups.append(&mut rest);
    groups.sort_by(doubtful_first);
    groups
}

/// Near duplicates come first, the least similar of all before the others; then clusters of equal pages, the largest first.
fn doubtful_first(a: &Group, b: &Group) -> Ordering {
    let least = |group: &Group| group.least.unwrap_or(f32::INFINITY);
    let size = |group: &Group| (Reverse(group.count), group.document);
    least(a).total_cmp(&least(b)).then_with(|| size(a).cmp(&size(b)))
}

/// The clusters with the least similar of their pages.
pub(super) fn clusters(state: &State, groups: &[Group]) -> Result<Vec<Cluster>, StateError> {
    let count = |group: &Group| usize::try_from(group.count).unwrap_or(usize::MAX);
    let most = fair(MEMBERS, groups.iter().map(count).collect());
    let mut members: HashMap<_, Vec<_>> =
        groups.iter().map(|group| (group.document, Vec::new())).collect();
    state.for_each_document(|document| {
        let Some(found) = document.judgement.verdict.matched().copied() else { return Ok(()) };
        if let Some(members) = members.get_mut(&found.of) {
            let at = members.partition_point(|(similarity, _)| *similarity <= found.similarity);
            if at < most {
                members.truncate(most - 1);
                members.insert(at, (found.similarity, document));
            }
        }
        Ok(())
    })?;
    let cluster = |group: &Group| {
        let missing = StateError::Damaged("a page of a cluster is no document");
        let kept = state.document(group.document)?.ok_or(missing)?;
        let members = members.remove(&group.document).unwrap_or_default();
        let members = members.into_iter().filter_map(|(_, document)| member(document, &kept));
        Ok(Cluster {
            members: members.collect(),
            url: kept.name,
            title: kept.title,
            lang: group.lang.map(|lang| lang.as_str().to_owned()),
            count: group.count,
            near: group.near,
            least: group.least,
        })
    };
    groups.iter().map(cluster).collect()
}

fn member(document: JudgedDocument, kept: &JudgedDocument) -> Option<Member> {
    let found = *document.judgement.verdict.matched()?;
    let (url, of) = (Url::parse(&document.name).ok(), Url::parse(&kept.name).ok());
    Some(Member {
        same_site: site(url.as_ref()) == site(of.as_ref()),
        url: document.name,
        title: document.title,
        verdict: (&document.judgement).into(),
        step: Some(found.step),
        distance: found.distance,
        signature_distance: found.signature_distance,
        similarity: found.similarity,
        difference: Vec::new(),
    })
}

/// The site of a page: its registrable domain.
pub(super) fn site(url: Option<&Url>) -> Option<&str> {
    url.and_then(Url::host_str).map(site_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(number: u64, count: u64, least: Option<f32>) -> Group {
        Group { document: DocId(number), count, near: least.is_some().into(), least, lang: None }
    }

    #[test]
    fn the_most_doubtful_come_first_and_then_the_largest() {
        let chosen = choose(vec![
            group(1, 9, None),
            group(2, 1, Some(0.9)),
            group(3, 90, None),
            group(4, 2, Some(0.7)),
            group(5, 9, None),
        ]);
        let order: Vec<u64> = chosen.iter().map(|group| group.document.0).collect();
        assert_eq!(order, [4, 2, 3, 1, 5]);
    }

    #[test]
    fn of_too_many_the_largest_are_shown_too() {
        let doubtful = (0..2 * CLUSTERS as u64).map(|number| group(number, 1, Some(0.8)));
        let large = (0..10).map(|number| group(1_000_000 + number, 100, None));
        let chosen = choose(doubtful.chain(large).collect());
        assert_eq!(chosen.len(), CLUSTERS);
        assert_eq!(chosen.iter().filter(|group| group.count == 100).count(), 10);
    }
}
