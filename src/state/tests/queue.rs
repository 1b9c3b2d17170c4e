//! URLs that wait, and the rotation of their hosts.

use std::time::Duration;

use super::super::*;
use crate::page::Timestamp;

pub(super) fn new_url(url: &str, host: HostId) -> NewUrl<'_> {
    NewUrl {
        url,
        host,
        kind: UrlKind::Page,
        state: UrlState::Queued,
        cause: None,
        seed: Some(0),
        depth: 0,
        hops: 0,
        referrer: None,
        at: Timestamp(5),
    }
}

#[test]
fn urls_wait_in_the_order_of_their_places() {
    let state = State::in_memory().unwrap();
    let (host, _) = state.host("a:80").unwrap();
    for (seq, url) in [(3, "http://a/3"), (1, "http://a/1"), (2, "http://a/2")] {
        let id = state.add_url(&new_url(url, host.id)).unwrap();
        state.enqueue(host.id, seq, id).unwrap();
    }
    let places = |after, limit| {
        let queued = state.queued(host.id, after, limit).unwrap();
        queued.iter().map(|queued| (queued.seq, queued.url.url.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(places(0, 2), [(1, "http://a/1".to_owned()), (2, "http://a/2".to_owned())]);
    assert_eq!(places(2, 9), [(3, "http://a/3".to_owned())]);
    state.dequeue(host.id, 1).unwrap();
    assert_eq!(
        (places(0, 9).len(), state.last_seq().unwrap(), state.queue_len().unwrap()),
        (2, 3, 2)
    );
}

#[test]
fn hosts_with_urls_rotate_unless_they_are_deferred() {
    let state = State::in_memory().unwrap();
    let hosts = ["a:80", "b:80", "c:80", "d:80"].map(|name| state.host(name).unwrap().0.id);
    for (seq, host) in (1..).zip(&hosts[..3]) {
        let id = state.add_url(&new_url(&format!("http://x/{seq}"), *host)).unwrap();
        state.enqueue(*host, seq, id).unwrap();
    }
    let waiting =
        |limit| state.waiting_hosts(limit).unwrap().iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(waiting(9), hosts[..3]);
    state.move_to_back(hosts[0]).unwrap();
    assert_eq!(waiting(9), [hosts[1], hosts[2], hosts[0]]);
    assert_eq!(waiting(1), [hosts[1]]);
    state.defer_host(hosts[1], DeferCause::Unanswered(10), Timestamp(7)).unwrap();
    assert!(state.host("b:80").unwrap().1);
    assert_eq!(waiting(9), [hosts[2], hosts[0]]);
    state.resume_host(&state.deferred_hosts().unwrap()[0]).unwrap();
    assert_eq!(waiting(9), [hosts[1], hosts[2], hosts[0]]);
}

#[test]
fn the_cause_of_a_deferral_is_stored_and_a_pause_outlives_it() {
    let state = State::in_memory().unwrap();
    let causes = [
        DeferCause::CrawlDelay(Duration::from_millis(61_500)),
        DeferCause::RetryAfter(Duration::from_hours(24)),
        DeferCause::Unanswered(10),
    ];
    for (name, cause) in ["a:80", "b:80", "c:80"].into_iter().zip(causes) {
        let host = state.host(name).unwrap().0.id;
        state.defer_host(host, cause, Timestamp(99)).unwrap();
    }
    let deferred = state.deferred_hosts().unwrap();
    assert_eq!(deferred.iter().map(|deferred| deferred.cause).collect::<Vec<_>>(), causes);
    assert_eq!((&*deferred[1].name, deferred[1].until), ("b:80", Timestamp(99)));
    for deferred in &deferred {
        state.resume_host(deferred).unwrap();
    }
    assert_eq!(state.deferred_hosts().unwrap(), []);
    let rests = ["a:80", "b:80", "c:80"].map(|name| state.host(name).unwrap().0.not_before);
    assert_eq!(rests, [None, Some(Timestamp(99)), None]);
}
