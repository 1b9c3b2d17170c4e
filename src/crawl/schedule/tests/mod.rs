//! The schedule in a simulated world.

mod world;

use std::net::Ipv4Addr;

use proptest::{prelude::*, sample::select};

use super::*;
use crate::crawl::politeness::ShareDelay;
use world::{Load, Outcome, PATIENCE, Scenario, World};

const SECOND: Duration = Duration::from_secs(1);
const RESPONSE: RequestEnd = RequestEnd::Response(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));

fn two_hosts() -> Scenario {
    Scenario { hosts: 2, seeds: vec![(0, 0), (1, 0)], ..Scenario::default() }
}

/// A task that a test ends itself: its request has ended so.
fn end(world: &mut World, task: &Task, end: RequestEnd, now: Instant) {
    world.schedule.responded(task.id, end, now);
    world.end(task, now);
}

#[test]
fn an_empty_state_is_done_after_one_query() {
    let mut world = World::new(Scenario { seeds: Vec::new(), ..two_hosts() });
    world.run();
    assert_eq!(world.log.hosts_loaded, 1);
}

#[test]
fn a_suspended_host_gets_no_more_requests() {
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    let start = world.start_time();
    world.suspend(0, SuspendCause::RetryAfter(SECOND));
    world.queue(0, start);
    world.run();
    assert!(world.log.fetched.iter().all(|&(host, _)| host == 1));
}

#[test]
fn the_pause_of_a_suspended_host_does_not_delay_the_end() {
    let mut world = World::new(Scenario { obey_robots: false, per_host: 2, ..two_hosts() });
    let start = world.start_time();
    let retry_after = Some(500 * SECOND);
    let overload = RequestEnd::Overload { address: IpAddr::from([192, 0, 2, 1]), retry_after };
    while let Ok(Start::Fetch(task)) = world.next(start) {
        end(&mut world, &task, overload, start);
    }
    assert_eq!(world.next(start).unwrap_err(), Idle::Done);
}

#[test]
fn a_host_that_asks_for_too_long_a_pause_is_to_be_suspended() {
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    let start = world.start_time();
    let task = world.fetched(start);
    let pause = Duration::from_mins(11);
    let address = IpAddr::from([192, 0, 2, 1]);
    let overload = RequestEnd::Overload { address, retry_after: Some(pause) };
    let suspended = world.schedule.responded(task.id, overload, start);
    assert_eq!(suspended, Some((task.queued.url.host, SuspendCause::RetryAfter(pause))));
}

#[test]
fn a_page_is_not_delayed_by_another_one_that_waits_for_a_further_attempt() {
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let mut world = World::new(Scenario { seeds: vec![(0, 0)], ..scenario });
    let start = world.start_time();
    let task = world.fetched(start);
    world.schedule.responded(task.id, RequestEnd::Broken, start);
    world.schedule.later(HostId(0), task.queued.url.id, start + SECOND);
    world.schedule.finished(&task, false, start);
    assert_eq!(world.next(start).unwrap_err(), Idle::Until(start + SECOND));
    assert_eq!(world.schedule.wait(), Some(Wait::Attempts { urls: 1 }));
    world.queue(0, start);
    assert!(matches!(world.next(start), Ok(Start::Fetch(..))));
    assert_eq!(
        world.schedule.next(start + SECOND),
        Step::Due(HostId(0), task.queued.url.id),
        "and then it is queued again"
    );
}

#[test]
fn robots_txt_is_fetched_again_after_a_day() {
    let day = Duration::from_hours(24);
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (0, 0), (0, 0)], ..two_hosts() });
    let start = world.start_time();
    let mut asked = Vec::new();
    for now in [start, start + day / 2, start + day + SECOND] {
        let mut step = world.next(now);
        asked.push(matches!(step, Ok(Start::Robots(..))));
        if let Ok(Start::Robots(task)) = step {
            world.schedule.responded(task.id, RequestEnd::Broken, now);
            world.allow_all(&task, now);
            step = world.next(now + SECOND);
        }
        let Ok(Start::Fetch(task)) = step else { panic!("a page") };
        end(&mut world, &task, RequestEnd::Broken, now + SECOND);
    }
    assert_eq!(asked, [true, false, true]);
}

#[test]
fn robots_txt_is_not_fetched_for_a_seed_whose_budget_is_spent() {
    let mut world =
        World::new(Scenario { seeds: vec![(0, 1)], seed_limits: vec![9, 0], ..two_hosts() });
    world.run();
    assert_eq!((world.log.asked.len(), world.log.over_budget), (0, 1));
}

#[test]
fn many_hosts_of_one_address_are_released_one_by_one() {
    let scenario = Scenario {
        hosts: 40,
        seeds: (0..40).flat_map(|host| [(host, 0), (host, 0)]).collect(),
        limits: Limits { hosts: 64, urls: 4, requests: 64 },
        addresses: 1,
        delay: Duration::ZERO,
        obey_robots: false,
        ..Scenario::default()
    };
    let mut world = World::new(scenario);
    world.run();
    assert_eq!(world.log.fetched.len(), 80);
}

#[test]
fn idle_hosts_make_room_when_their_delay_is_over() {
    let hosts = (0..3).map(|host| (host, 0)).collect();
    let limits = Limits { hosts: 4, urls: 2, requests: 64 };
    let scenario = Scenario { obey_robots: false, limits, ..Scenario::default() };
    let mut world = World::new(Scenario { hosts: 5, seeds: hosts, ..scenario });
    let start = world.start_time();
    let first = world.fetched(start);
    world.queue(3, start);
    let others = std::iter::from_fn(|| match world.next(start) {
        Ok(Start::Fetch(task)) => Some(task),
        _ => None,
    });
    let tasks: Vec<_> = others.chain([first]).collect();
    for task in tasks {
        end(&mut world, &task, RequestEnd::Broken, start);
    }
    world.queue(4, start);
    assert_eq!(world.next(start).unwrap_err(), Idle::Until(start + SECOND));
    assert!(matches!(world.next(start + SECOND), Ok(Start::Fetch(..))));
}

#[test]
fn a_host_makes_room_for_others_after_its_share() {
    let limits = Limits { hosts: 1, urls: 2, requests: 64 };
    let scenario = Scenario { obey_robots: false, limits, ..two_hosts() };
    let seeds = (0..10).map(|n| (n % 2, 0)).collect();
    let mut world = World::new(Scenario { seeds, ..scenario });
    world.run();
    let hosts: Vec<_> = world.log.fetched.iter().map(|(host, _)| *host).collect();
    assert_eq!(hosts, [0, 0, 1, 1, 0, 0, 1, 1, 0, 1]);
}

/// Pages of one host that has answered the first of them, and what follows the requests without an answer after that: the instants of these, in
/// seconds since the answer, until the run ends.
fn stopped(others: bool) -> (World, Vec<u64>, Instant) {
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let mut world = World::new(Scenario { seeds: vec![(0, 0); 4], ..scenario });
    let mut now = world.start_time();
    let first = world.fetched(now);
    end(&mut world, &first, RESPONSE, now);
    let (start, mut asked) = (now, Vec::new());
    loop {
        match world.next(now) {
            Ok(Start::Fetch(task)) => {
                asked.push((now - start).as_secs());
                world.silent(&task, now);
                if others && asked.len() == 1 {
                    // It was not the last one to answer.
                    world.schedule.network.answered(now + SECOND / 2);
                    world.schedule.useful_answer(now);
                }
            }
            Err(Idle::Until(at)) => now = at,
            Err(Idle::Done) => return (world, asked, now),
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_host_that_stopped_answering_while_others_did_not_is_given_up_after_a_minute() {
    let (world, asked, end) = stopped(true);
    assert_eq!(asked, [0, 1, 3, 7, 15, 31]);
    assert_eq!(end, world.start_time() + PATIENCE.give_up_after);
    assert!(!world.schedule.is_out());
    let failing: Vec<_> = world.schedule.failing().map(|(id, it)| (id, it.failures)).collect();
    assert_eq!(failing, [(HostId(0), 6)]);
}

#[test]
fn a_host_that_stops_alone_after_others_are_done_is_no_outage() {
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (0, 0), (1, 0)], ..scenario });
    let start = world.start_time();
    let (mut now, mut answers) = (start, 0);
    loop {
        match world.next(now) {
            Ok(Start::Fetch(task)) if answers < 2 => {
                answers += 1;
                end(&mut world, &task, RESPONSE, now);
            }
            Ok(Start::Fetch(task)) => world.silent(&task, now),
            Err(Idle::Until(at)) => now = at,
            Err(Idle::Done) => break,
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(now, start + PATIENCE.give_up_after);
    assert!(!world.schedule.is_out());
}

#[test]
fn an_outage_is_waited_for_as_long_as_configured_and_asked_every_minute() {
    let (world, asked, end) = stopped(false);
    let pauses: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(end, world.start_time() + PATIENCE.max_outage);
    assert!(world.schedule.is_out());
}

#[test]
fn hosts_that_never_answer_are_given_up_after_a_minute() {
    let scenario = Scenario { obey_robots: false, ..two_hosts() };
    let mut world = World::new(Scenario { seeds: vec![(0, 0); 40], ..scenario });
    let (mut now, mut asked) = (world.start_time(), 0);
    loop {
        match world.next(now) {
            Ok(Start::Fetch(task)) => {
                asked += 1;
                world.silent(&task, now);
            }
            Err(Idle::Until(at)) => {
                let until = world.start_time() + PATIENCE.give_up_after;
                assert_eq!(world.schedule.wait(), Some(Wait::Hosts { hosts: 1, until }));
                now = at;
            }
            Err(Idle::Done) => break,
            step => panic!("{step:?}"),
        }
    }
    assert_eq!((asked, now), (6, world.start_time() + PATIENCE.give_up_after));
}

#[test]
fn requests_in_flight_together_that_get_no_answer_are_one_failure() {
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let seeds = vec![(0, 0); 9];
    let mut world = World::new(Scenario { seeds, per_host: 8, loopback: true, ..scenario });
    let start = world.start_time();
    let tasks: Vec<_> = (0..8).map(|_| world.fetched(start)).collect();
    for task in &tasks {
        world.silent(task, start + SECOND);
    }
    let (_, health) = world.schedule.failing().next().unwrap();
    assert_eq!(health.failures, 1);
    let again = world.fetched(start + 2 * SECOND);
    assert_eq!(world.next(start + 2 * SECOND).unwrap_err(), Idle::Blocked, "one at a time");
    end(&mut world, &again, RequestEnd::Response(Ipv4Addr::LOCALHOST.into()), start + 2 * SECOND);
    for _ in 0..8 {
        world.fetched(start + 2 * SECOND);
    }
}

/// The end of an outage of four hosts by the answer of one, which had failed before or not. Returns how many hosts are failing then.
fn failing_after_outage(by_suspect: bool) -> usize {
    let hosts = 5;
    let seeds = (0..4 * hosts).map(|n| (n % hosts, 0)).collect();
    let scenario =
        Scenario { obey_robots: false, delay: Duration::ZERO, addresses: 5, ..two_hosts() };
    let mut world = World::new(Scenario { hosts, seeds, ..scenario });
    let mut now = world.start_time();
    let first: Vec<_> = (0..hosts).map(|_| world.fetched(now)).collect();
    for task in &first {
        end(&mut world, task, RESPONSE, now);
    }
    now += SECOND;
    while !world.schedule.is_out() {
        match world.next(now) {
            Ok(Start::Fetch(task)) if task.queued.url.host == HostId(4) => {
                // It takes long.
                world.schedule.pause_until(HostId(4), now + 100 * SECOND);
                world.schedule.finished(&task, false, now);
            }
            Ok(Start::Fetch(task)) => world.silent(&task, now),
            Err(Idle::Until(at)) => now = at,
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(world.schedule.failing().count(), 4);
    if !by_suspect {
        now += 100 * SECOND;
    }
    let task = loop {
        match world.next(now) {
            Ok(Start::Fetch(task)) => break task,
            Err(Idle::Until(at)) => now = at,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(task.queued.url.host == HostId(4), !by_suspect);
    assert!(
        matches!(world.next(now), Err(Idle::Blocked | Idle::Until(_))),
        "one request at a time"
    );
    end(&mut world, &task, RESPONSE, now);
    assert!(!world.schedule.is_out());
    world.schedule.failing().count()
}

#[test]
fn an_outage_that_ends_was_no_host_s_fault_unless_others_went_on() {
    assert_eq!(failing_after_outage(true), 0);
    assert_eq!(failing_after_outage(false), 4);
}

#[test]
fn faults_of_this_machine_close_the_gate_for_a_time() {
    let start = Instant::now();
    let mut network = Network::new(start);
    (0..50).for_each(|_| network.faulted(20, start));
    assert_eq!(network.gate(0, start), Gate::Wait(start + SECOND));
    assert_eq!(network.gate(0, start + SECOND), Gate::Open);
    assert_eq!(network.gate(10, start + SECOND), Gate::Blocked, "half as many at a time");
    network.faulted(20, start + SECOND);
    assert_eq!(network.gate(0, start + SECOND), Gate::Wait(start + 3 * SECOND));
    (0..10).for_each(|_| _ = network.answered(start + 3 * SECOND));
    assert_eq!(network.gate(10, start + 3 * SECOND), Gate::Open);
}

#[test]
fn a_host_that_asked_for_a_pause_before_the_start_is_waited_for() {
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    let start = world.start_time();
    let row = HostRow { not_before: Some(Timestamp(5_000)), ..world.row(0) };
    world.schedule.add(&row, start);
    world.schedule.no_more_hosts();
    assert_eq!(world.next(start).unwrap_err(), Idle::Until(start + 5 * SECOND));
}

/// The delay after which the robots.txt of the first host is requested at `target`, to which it redirects.
fn delay_of_redirect(order: Order, target: &str) -> Duration {
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (1, 0)], order, ..two_hosts() });
    let start = world.start_time();
    let (mut now, mut requested) = (start, Vec::new());
    loop {
        match world.next(now) {
            Ok(Start::Robots(task)) if &*task.name == "h0:80" => {
                requested.push(now - start);
                world.schedule.responded(task.id, RequestEnd::Broken, now);
                if task.request.is_redirected() {
                    assert_eq!(task.request.url().as_str(), target);
                    return requested[1];
                }
                world.redirect_robots(&task, target, now);
            }
            Ok(Start::Robots(task)) => {
                // The other host responds slowly.
                now += SECOND / 2;
                world.schedule.responded(task.id, RequestEnd::Broken, now);
                world.allow_all(&task, now);
            }
            Err(Idle::Until(at)) => now = at,
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_redirected_robots_txt_is_requested_a_delay_later() {
    assert_eq!(delay_of_redirect(Order::Earliest, "http://h0/new/robots.txt"), SECOND);
    assert_eq!(delay_of_redirect(Order::RoundRobin, "http://h0/new/robots.txt"), SECOND);
}

#[test]
fn a_robots_txt_redirected_to_another_host_waits_for_that_host_s_delay() {
    assert_eq!(delay_of_redirect(Order::Earliest, "http://h1/robots.txt"), SECOND + SECOND / 2);
    assert_eq!(
        delay_of_redirect(Order::RoundRobin, "http://h1/robots.txt"),
        SECOND,
        "it has had no request yet"
    );
}

#[test]
fn in_round_robin_a_redirected_robots_txt_waits_for_a_pausing_host() {
    let scenario = Scenario { seeds: vec![(0, 0)], order: Order::RoundRobin, ..two_hosts() };
    let mut world = World::new(scenario);
    let start = world.start_time();
    let pausing = HostRow { not_before: Some(Timestamp(5_000)), ..world.row(1) };
    world.schedule.add(&pausing, start);
    world.schedule.end_turn();
    let Ok(Start::Robots(task)) = world.next(start) else { panic!("robots.txt") };
    world.schedule.responded(task.id, RequestEnd::Broken, start);
    world.redirect_robots(&task, "http://h1/robots.txt", start);
    for (now, then) in [(start, start + SECOND), (start + SECOND, start + 5 * SECOND)] {
        assert_eq!(world.next(now).unwrap_err(), Idle::Until(then));
    }
    let Ok(Start::Robots(task)) = world.next(start + 5 * SECOND) else { panic!("robots.txt") };
    assert!(task.request.is_redirected());
}

const HOSTS: usize = 7;

fn pause(seconds: u64) -> Load {
    Load::Overload { retry_after: Some(Duration::from_secs(seconds)) }
}

fn load() -> impl Strategy<Value = Load> {
    prop_oneof![
        10 => Just(Load::Fine),
        1 => Just(Load::Overload { retry_after: None }),
        1 => (0..20_u64).prop_map(pause),
        1 => Just(pause(10_000)),
    ]
}

prop_compose! {
    fn outcome()(
        latency in (0..3000_u64, 0..500_u64),
        load in load(),
        silent in prop::bool::weighted(0.2),
        retry in prop::bool::weighted(0.2),
        fetched in prop::bool::weighted(0.7),
        unanswered in prop::bool::weighted(0.2),
        links in [(); 3].map(|()| prop::option::of((0..HOSTS, 0..2_usize))),
    ) -> Outcome {
        Outcome { latency, load, silent, retry, fetched: fetched && !retry, unanswered, links }
    }
}

prop_compose! {
    fn scenario()(
        seeds in prop::collection::vec((0..HOSTS, 0..2_usize), 0..12),
        outcomes in prop::collection::vec(outcome(), 1..12),
        (hosts, urls) in (1..6_usize, 1..5_usize),
        order in select(vec![Order::Earliest, Order::Earliest, Order::RoundRobin]),
        delay in select(vec![0, 1, 100, 1000, 20_000]),
        (per_host, concurrency, addresses) in (1..4_usize, 1..9_usize, 1..5_usize),
        (loopback, obey_robots) in (prop::bool::weighted(0.2), any::<bool>()),
        crawl_delays in prop::collection::vec((select(vec![0, 0, 2, 30, 600]), 0..3_u32), 1..4),
        max_pages in select(vec![1, 5, 1000]),
        seed_limits in prop::collection::vec(select(vec![0, 1, 4, 1000]), 2),
        max_urls in 0..60_usize,
        (sites, adaptive) in (0..4_usize, select(vec![0, 0, 5])),
        share in select(vec![ShareDelay::Host, ShareDelay::Address, ShareDelay::Site]),
        robots_redirects in prop::collection::vec(prop::option::weighted(0.3, 0..HOSTS + 2), 1..4),
    ) -> Scenario {
        Scenario {
            hosts: HOSTS, seeds, outcomes, limits: Limits { hosts, urls, requests: 64 }, order,
            delay: Duration::from_millis(delay), per_host, concurrency, addresses, loopback, obey_robots,
            crawl_delays, max_pages, seed_limits, max_urls, sites, adaptive, share, robots_redirects,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Every URL is fetched once, politely and within the budgets, and the crawl ends.
    #[test]
    fn every_url_is_fetched_once_and_everything_ends(scenario in scenario()) {
        World::new(scenario).run();
    }

    /// In round-robin order, neither latencies nor the room in memory change the order of URLs.
    #[test]
    fn the_round_robin_order_does_not_depend_on_latencies_or_room(
        scenario in scenario(),
        latency in (0..3000_u64, 0..500_u64),
        (hosts, urls) in (1..9_usize, 1..9_usize),
    ) {
        let calm = |mut outcome: Outcome| {
            outcome.unanswered = false;
            if matches!(outcome.load, Load::Overload { retry_after: Some(_) }) {
                outcome.load = Load::Fine;
            }
            outcome
        };
        let outcomes: Vec<_> = scenario.outcomes.iter().copied().map(calm).collect();
        let scenario = Scenario { order: Order::RoundRobin, outcomes, concurrency: 1, ..scenario };
        let others = scenario.outcomes.iter().map(|&outcome| Outcome { latency, ..outcome }).collect();
        let other = Scenario { outcomes: others, limits: Limits { hosts, urls, requests: 64 }, ..scenario.clone() };
        let mut worlds = [World::new(scenario), World::new(other)];
        worlds.iter_mut().for_each(World::run);
        prop_assert_eq!(&worlds[0].log.fetched, &worlds[1].log.fetched);
    }
}

/// The answers of a world in which much goes wrong, also many requests in a row.
fn mishaps() -> Vec<Outcome> {
    let outcome = |n: u64| Outcome {
        latency: (n * 37 % 3000, n % 50),
        load: match n {
            5 | 6 => Load::Overload { retry_after: None },
            11 => pause(3),
            12 => pause(0),
            _ => Load::Fine,
        },
        retry: n.is_multiple_of(13),
        unanswered: n.is_multiple_of(17) || (60..90).contains(&n),
        ..Outcome::default()
    };
    (0..997).map(outcome).collect()
}

#[test]
fn a_hundred_thousand_requests_with_a_thousand_in_flight_keep_each_delay() {
    const HOSTS: usize = 10_000;
    let mut world = World::new(Scenario {
        hosts: HOSTS,
        seeds: (0..9 * HOSTS).map(|n| (n % HOSTS, 0)).collect(),
        outcomes: mishaps(),
        limits: Limits { hosts: 4096, urls: 32, requests: 1000 },
        concurrency: 1000,
        addresses: 250,
        sites: 5000,
        crawl_delays: vec![(0, 0), (0, 1), (2, 0), (0, 0), (30, 0), (0, 2)],
        robots_redirects: vec![None, Some(7), None, Some(HOSTS + 1), None, None, None],
        ..Scenario::default()
    });
    world.run();
    let log = &world.log;
    assert!(log.requests >= 100_000, "{} requests", log.requests);
    assert_eq!(log.most_in_flight, 1000);
    assert!(log.outages > 0 && log.redirected > 1000, "{} {}", log.outages, log.redirected);
}

/// The tasks that a schedule of these hosts starts at once, with `requests` slots. The hosts below `answering` have answered.
fn started(hosts: usize, requests: usize, answering: usize) -> (World, Vec<Task>) {
    let seeds = (0..hosts).map(|host| (host, 0)).collect();
    let limits = Limits { hosts: 2 * hosts, urls: 4, requests };
    let scenario = Scenario { hosts, seeds, limits, obey_robots: false, ..two_hosts() };
    let mut world = World::new(scenario);
    let start = world.start_time();
    for host in 0..hosts {
        let row = HostRow { has_answered: host < answering, ..world.row(host) };
        world.schedule.add(&row, start);
    }
    world.schedule.no_more_hosts();
    if answering > 0 {
        world.schedule.network.answered(start);
    }
    let mut tasks = Vec::new();
    while tasks.len() < requests {
        match world.next(start) {
            Ok(Start::Fetch(task)) => tasks.push(task),
            step => {
                assert!(matches!(step, Err(Idle::Blocked | Idle::Until(_))), "{step:?}");
                break;
            }
        }
    }
    (world, tasks)
}

fn slow(tasks: &[Task]) -> usize {
    tasks.iter().filter(|task| task.head_timeout == Some(HEAD_TIMEOUT)).count()
}

#[test]
fn requests_that_may_wait_long_hold_at_most_a_quarter_of_the_slots() {
    for requests in [1, 4, 16, 64, 256] {
        let (_, tasks) = started(requests * 2, requests, 0);
        assert_eq!(tasks.len(), requests, "no slot is left empty");
        assert!(slow(&tasks) <= (requests / 4).max(1), "{} of {requests}", slow(&tasks));
        assert!(tasks.iter().all(|task| task.head_timeout.is_some()), "none has answered");
    }
}

#[test]
fn hosts_that_answer_keep_slots_beside_any_number_of_others() {
    for requests in [4, 16, 64] {
        for (answering, kept) in [(1, requests / 4), (requests, requests / 2)] {
            let (_, tasks) = started(requests * 3, requests, answering);
            let doubtful = tasks.iter().filter(|task| task.head_timeout.is_some()).count();
            assert!(doubtful <= requests - kept, "{doubtful} of {requests}");
            assert!(slow(&tasks) <= (requests / 8).max(1));
        }
        let (_, tasks) = started(requests * 2, requests, requests * 2);
        assert!(tasks.iter().all(|task| task.head_timeout.is_none()), "all have answered");
    }
}

#[test]
fn a_silent_host_waits_for_room_and_gets_more_time_then() {
    let (mut world, tasks) = started(16, 16, 0);
    let start = world.start_time();
    let brief = tasks.iter().find(|task| task.head_timeout == Some(SHORT_HEAD_TIMEOUT)).unwrap();
    let later = start + SHORT_HEAD_TIMEOUT;
    world.silent(brief, later);
    let again = later + 2 * SECOND;
    assert_eq!(
        world.next(again).unwrap_err(),
        Idle::Blocked,
        "a quarter of the slots may wait long"
    );
    let slow = tasks.iter().find(|task| task.head_timeout == Some(HEAD_TIMEOUT)).unwrap();
    world.schedule.responded(slow.id, RequestEnd::Unanswered, again);
    world.end(slow, again);
    let task = world.fetched(again);
    assert_eq!(
        (task.queued.url.host, task.head_timeout),
        (brief.queued.url.host, Some(HEAD_TIMEOUT))
    );
}

#[test]
fn hosts_that_need_long_for_what_is_queued_are_named_with_the_reason() {
    let seeds = vec![(0, 0), (0, 0)];
    let slowest = |end: RequestEnd, urls: usize| {
        let scenario = Scenario { obey_robots: false, seeds: seeds.clone(), ..Scenario::default() };
        let mut world = World::new(scenario);
        let start = world.start_time();
        let task = world.fetched(start);
        world.schedule.responded(task.id, end, start);
        world.schedule.slowest(|_| urls, start).unwrap().first().map(|host| (host.cause, host.left))
    };
    assert_eq!(slowest(RESPONSE, 10), None, "ten seconds are not long");
    assert_eq!(slowest(RESPONSE, 100), Some((SlowCause::Delay, 101 * SECOND)));
    let address = IpAddr::from([192, 0, 2, 1]);
    let pause = RequestEnd::Overload { address, retry_after: Some(90 * SECOND) };
    assert_eq!(slowest(pause, 10), Some((SlowCause::Pause, 100 * SECOND)));
    assert_eq!(slowest(RequestEnd::Unanswered, 100).unwrap().0, SlowCause::Unanswered(1));

    let mut world = World::new(Scenario { seeds: seeds.clone(), ..Scenario::default() });
    let start = world.start_time();
    let Ok(Start::Robots(task)) = world.next(start) else { panic!("its robots.txt comes first") };
    world.schedule.responded(task.id, RESPONSE, start);
    let robots = Robots::parse(b"User-agent: *\nCrawl-delay: 20\n", "a");
    world.schedule.set_robots(&task, Arc::new(robots), Duration::ZERO, start);
    let slow = world.schedule.slowest(|_| 30, start).unwrap();
    let said = slow[0].to_string();
    assert!(said.contains("30 URLs, about 10 min, because its robots.txt asks"), "{said}");
    assert_eq!(world.schedule.slowest(|_| 30, start), None, "not again so soon");
}

#[test]
fn a_host_whose_delay_is_all_that_is_waited_for_is_named() {
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (0, 0)], ..two_hosts() });
    let start = world.start_time();
    let Ok(Start::Robots(task)) = world.next(start) else { panic!("its robots.txt comes first") };
    world.schedule.responded(task.id, RESPONSE, start);
    let robots = Robots::parse(b"User-agent: *\nCrawl-delay: 5\n", "a");
    world.schedule.set_robots(&task, Arc::new(robots), Duration::ZERO, start);
    let slow = world.schedule.slowest(|_| 2, start).unwrap();
    assert_eq!(slow.iter().map(|it| it.cause).collect::<Vec<_>>(), [SlowCause::CrawlDelay]);
    assert!(slow[0].left < HOLDS_UP, "{slow:?}");
    world.queue(1, start);
    let slow = world.schedule.slowest(|_| 2, start + SECOND).unwrap();
    assert_eq!(slow, [], "there is another host to ask");
}

#[test]
fn a_host_that_refuses_again_and_again_is_named() {
    let seeds = vec![(0, 0); 5];
    let mut world = World::new(Scenario { obey_robots: false, seeds, ..two_hosts() });
    let refused = RequestEnd::Refused(IpAddr::from([192, 0, 2, 1]));
    let mut now = world.start_time();
    let mut named = Vec::new();
    for how in [refused, refused, refused, RESPONSE] {
        let task = world.fetched(now);
        end(&mut world, &task, how, now);
        now += 2 * SECOND;
        let slow = world.schedule.slowest(|_| 1, now).unwrap();
        named.extend(slow.iter().map(|it| (it.cause, it.to_string())));
    }
    let [(cause, said)] = &named[..] else { panic!("{named:?}") };
    assert_eq!(*cause, SlowCause::Refused(REFUSALS));
    assert!(said.ends_with("and it refuses: the last 3 answers had status 401 or 403"), "{said}");
}

#[test]
fn a_host_that_has_asked_for_a_pause_is_named_until_that_is_over() {
    let seeds = vec![(0, 0)];
    let mut world = World::new(Scenario { obey_robots: false, seeds, ..two_hosts() });
    let start = world.start_time();
    let task = world.fetched(start);
    let address = IpAddr::from([192, 0, 2, 1]);
    let overload = RequestEnd::Overload { address, retry_after: Some(30 * SECOND) };
    world.schedule.responded(task.id, overload, start);
    // Nothing else of it is queued.
    world.schedule.later(HostId(0), task.queued.url.id, start + 2 * SECOND);
    world.schedule.finished(&task, false, start);
    let slow = world.schedule.slowest(|_| 0, start).unwrap();
    let [host] = &slow[..] else { panic!("{slow:?}") };
    assert_eq!((host.cause, host.urls, host.waits), (SlowCause::Pause, 1, 30 * SECOND));
    let said = host.to_string();
    assert!(said.contains("it has asked for a pause, of which 30 s are left: until "), "{said}");
    assert_eq!(world.schedule.slowest(|_| 0, start + 31 * SECOND).unwrap(), []);
}
