//! URLs that wait, and the rotation of their hosts.

use std::time::Duration;

use super::super::*;
use crate::page::Timestamp;

pub(super) fn new_url(url: &str, host: HostId) -> NewUrl<'_> {
    NewUrl {
        url,
        given: None,
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
fn urls_wait_in_the_order_in_which_they_were_queued() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let [a, b] = ["a:80", "b:80"].map(|name| urls.host(&state, name).unwrap());
    for (host, url) in [(a, "http://a/1"), (b, "http://b/1"), (a, "http://a/2"), (a, "http://a/3")]
    {
        assert_eq!(urls.find(url), None);
        urls.add(&state, &new_url(url, host), None).unwrap();
    }
    let waiting = |urls: &mut UrlIndex, host| drain(urls, &state, host);
    let first = urls.take(&state, a).unwrap().unwrap();
    assert_eq!(first.url.url.as_str(), "http://a/1");
    urls.queue.push_front(a, first.url.id);
    let second = urls.find("http://a/2").unwrap();
    settle(&mut urls, &state, second.id, Reason::Failure);
    urls.dequeue_settled();
    let state_of_second = UrlState::Skipped(Reason::Failure);
    assert_eq!(urls.open(), 3);
    for mut urls in [urls.reloaded(&state), UrlIndex::load(&state).unwrap()] {
        assert_eq!(urls.open(), 3);
        assert_eq!(waiting(&mut urls, a), ["http://a/1", "http://a/3"]);
        assert_eq!(waiting(&mut urls, b), ["http://b/1"]);
        assert_eq!(urls.open(), 3, "they have no outcome");
        assert_eq!(urls.find("http://a/2").unwrap().state, state_of_second);
    }
}

/// Takes all URLs of a host out.
fn drain(urls: &mut UrlIndex, state: &State, host: HostId) -> Vec<String> {
    std::iter::from_fn(|| urls.take(state, host).unwrap())
        .map(|it| it.url.url.to_string())
        .collect()
}

#[test]
fn urls_that_got_no_answer_come_first_after_a_start() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let host = urls.host(&state, "a:80").unwrap();
    let ids = ["http://a/1", "http://a/2", "http://a/3"]
        .map(|url| urls.add(&state, &new_url(url, host), None).unwrap());
    for (attempts, why) in [(1, "timeout"), (2, "status 503")] {
        state.set_attempts(ids[1], attempts, why).unwrap();
    }
    state.set_attempts(ids[2], 1, "timeout").unwrap();
    state.end_attempts(ids[2]).unwrap();
    assert_eq!(state.attempts().unwrap(), [(ids[1], 2, "status 503".to_owned())]);
    let mut urls = urls.reloaded(&state);
    assert_eq!(drain(&mut urls, &state, host), ["http://a/2", "http://a/1", "http://a/3"]);
}

#[test]
fn a_url_that_is_queued_again_comes_last_also_after_a_start() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let host = urls.host(&state, "a:80").unwrap();
    let ids = ["http://a/1", "http://a/2"]
        .map(|url| urls.add(&state, &new_url(url, host), None).unwrap());
    for id in [ids[0], ids[0]] {
        let queued = loop {
            let queued = urls.take(&state, host).unwrap().unwrap();
            if queued.url.id == id {
                break queued;
            }
            urls.queue.push(host, queued.url.id);
        };
        settle(&mut urls, &state, id, Reason::Depth);
        urls.requeue(&state, &UrlRow { depth: 7, ..queued.url }, 3, None).unwrap();
    }
    let last = urls.add(&state, &new_url("http://a/3", host), None).unwrap();
    urls.set_depth(ids[1], 70_000).unwrap();
    let expected = [(ids[1], Some(0), 65_535), (ids[0], Some(3), 7), (last, Some(0), 0)];
    let mut urls = urls.reloaded(&state);
    assert_eq!(ids.map(|id| urls.depth(id).unwrap()), [7, 65_535]);
    let queued = std::iter::from_fn(|| urls.take(&state, host).unwrap());
    let order: Vec<_> = queued.map(|it| (it.url.id, it.url.seed, it.url.depth)).collect();
    assert_eq!(order, expected);
}

pub(super) fn settle(urls: &mut UrlIndex, state: &State, id: UrlId, reason: Reason) {
    let skipped = UrlState::Skipped(reason);
    let at = Timestamp(9);
    let outcome = UrlOutcome { state: skipped, cause: None, detail: None, status: None, at };
    urls.record_outcome(state, id, &outcome).unwrap();
}

#[test]
fn hosts_with_urls_rotate_unless_they_are_suspended() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let hosts = ["a:80", "b:80", "c:80", "d:80"].map(|name| urls.host(&state, name).unwrap());
    for (seq, host) in (1..).zip(&hosts[..3]) {
        urls.add(&state, &new_url(&format!("http://x/{seq}"), *host), None).unwrap();
    }
    let waiting = |urls: &UrlIndex| urls.queue.rotation().collect::<Vec<_>>();
    assert_eq!(waiting(&urls), hosts[..3]);
    urls.move_to_back(&state, hosts[0], true).unwrap();
    assert_eq!(waiting(&urls), [hosts[1], hosts[2], hosts[0]]);
    assert_eq!(urls.queue.next_host(), Some(hosts[1]));
    assert_eq!(waiting(&urls), [hosts[2], hosts[0]], "it has its turn");
    urls.queue.put_back(hosts[1]);
    urls.suspend_host(&state, hosts[1], SuspendCause::Unanswered(10), Timestamp(7)).unwrap();
    let mut urls = urls.reloaded(&state);
    assert!(urls.queue.is_suspended(hosts[1]));
    assert_eq!(waiting(&urls), [hosts[2], hosts[0]]);
    state.resume_host(&state.suspended_hosts().unwrap()[0]).unwrap();
    urls.queue.set_suspended(hosts[1], false);
    assert_eq!(waiting(&urls), [hosts[1], hosts[2], hosts[0]]);
    assert_eq!(waiting(&urls.reloaded(&state)), [hosts[1], hosts[2], hosts[0]]);
}

#[test]
fn the_cause_of_a_suspension_is_stored_and_a_pause_outlives_it() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let causes = [
        SuspendCause::CrawlDelay(Duration::from_millis(61_500)),
        SuspendCause::RetryAfter(Duration::from_hours(24)),
        SuspendCause::Unanswered(10),
        SuspendCause::Alarm,
    ];
    for (name, cause) in ["a:80", "b:80", "c:80", "d:80"].into_iter().zip(causes) {
        let host = urls.host(&state, name).unwrap();
        state.suspend_host(host, cause, Timestamp(99)).unwrap();
    }
    let suspended = state.suspended_hosts().unwrap();
    assert_eq!(suspended.iter().map(|suspended| suspended.cause).collect::<Vec<_>>(), causes);
    assert_eq!((&*suspended[1].name, suspended[1].until), ("b:80", Timestamp(99)));
    for suspended in &suspended {
        state.resume_host(suspended).unwrap();
    }
    assert_eq!(state.suspended_hosts().unwrap(), []);
    let rests = ["a:80", "b:80", "c:80"].map(|name| {
        let host = urls.host(&state, name).unwrap();
        state.host_by_id(host).unwrap().not_before
    });
    assert_eq!(rests, [None, Some(Timestamp(99)), None]);
}
