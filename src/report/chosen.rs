//! Which clusters a report shows, and in which order.
//!
//! The largest first. But of a crawl in several languages, or with a mirror, the largest are all of one sort: so part of the room is
//! given to the largest of each sort (language, and whether they are near or exact) in turn.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
};

use crate::report::{Cluster, Omitted};

/// A sort of clusters: their language, and whether a member is a near duplicate.
type Sort = (Option<String>, bool);

/// The largest first, and those of one size by URL.
pub(super) fn largest_first(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    clusters.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.url.cmp(&b.url)));
    clusters
}

/// Takes `room` of the clusters, which come the largest first, and says what is left out.
pub(super) fn choose(mut clusters: Vec<Cluster>, room: usize) -> (Vec<Cluster>, Omitted) {
    let rest = clusters.split_off(clusters.len().min(room / 2));
    let mut rest = mixed(rest);
    let omitted = rest.split_off(rest.len().min(room - clusters.len()));
    clusters.append(&mut rest);
    let omitted = Omitted {
        clusters: omitted.len() as u64,
        near: omitted.iter().filter(|cluster| cluster.near > 0).count() as u64,
        pages: omitted.iter().map(|cluster| cluster.count).sum(),
        largest: omitted.iter().map(|cluster| cluster.count).max().unwrap_or_default(),
    };
    (in_order(largest_first(clusters)), omitted)
}

/// The largest first, and those of one size with their sorts mixed.
fn in_order(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut sizes = BTreeMap::<_, Vec<Cluster>>::new();
    for cluster in clusters {
        sizes.entry(Reverse(cluster.count)).or_default().push(cluster);
    }
    sizes.into_values().flat_map(mixed).collect()
}

/// One of each sort in turn, near ones first; within a sort the order stays.
fn mixed(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut sorts = BTreeMap::<Reverse<bool>, BTreeMap<Sort, VecDeque<Cluster>>>::new();
    let whole = clusters.len();
    for cluster in clusters {
        let sort = (cluster.lang.clone(), cluster.near > 0);
        sorts.entry(Reverse(sort.1)).or_default().entry(sort).or_default().push_back(cluster);
    }
    let mut queues: Vec<_> = sorts.into_values().flat_map(BTreeMap::into_values).collect();
    let mut mixed = Vec::with_capacity(whole);
    while mixed.len() < whole {
        mixed.extend(queues.iter_mut().filter_map(VecDeque::pop_front));
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(lang: &str, near: u64, count: u64, name: usize) -> Cluster {
        let (url, lang) = (format!("http://{lang}.test/{name:03}"), Some(lang.to_owned()));
        Cluster { url, lang, count, near, ..Cluster::default() }
    }

    #[test]
    fn every_sort_is_shown_though_the_largest_are_all_of_one() {
        let english = (0..100).map(|name| cluster("en", 0, 9, name));
        let others = [cluster("zh", 1, 3, 0), cluster("zh", 0, 2, 1), cluster("en", 2, 4, 2)];
        let (chosen, omitted) = choose(largest_first(english.chain(others.clone()).collect()), 50);
        assert_eq!(chosen.len(), 50);
        for other in &others {
            assert!(chosen.contains(other), "{}", other.url);
        }
        assert!(chosen.is_sorted_by_key(|cluster| Reverse(cluster.count)));
        assert_eq!(omitted, Omitted { clusters: 53, near: 0, pages: 53 * 9, largest: 9 });
    }

    #[test]
    fn the_largest_are_shown_whatever_their_sort() {
        let large = (0..25).map(|name| cluster("en", 0, 100, name));
        let small = (0..99).map(|name| cluster(["zh", "ja", "ko"][name % 3], 1, 1, name));
        let (chosen, _) = choose(largest_first(small.chain(large).collect()), 50);
        assert_eq!(chosen.iter().filter(|cluster| cluster.count == 100).count(), 25);
    }

    #[test]
    fn those_of_one_size_are_mixed() {
        let all =
            (0..6).map(|name| cluster(["en", "zh"][name / 3], u64::from(name % 3 == 2), 1, name));
        let (chosen, omitted) = choose(largest_first(all.collect()), 50);
        let sorts: Vec<_> =
            chosen.iter().map(|it| (it.lang.as_deref().unwrap(), it.near)).collect();
        let first = [("en", 1), ("zh", 1), ("en", 0), ("zh", 0)];
        assert_eq!(sorts[..4], first);
        assert_eq!(omitted, Omitted::default());
    }
}
