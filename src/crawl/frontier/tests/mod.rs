//! The frontier against a clock, a state and hosts that are made up.

mod fake;
mod laws;
mod scenario;
mod world;

use std::time::Duration;

use super::*;
use crate::{crawl::politeness::Signal, state::HostRow};
use scenario::{Fate, Scenario};
use world::World;

const SECOND: Duration = Duration::from_secs(1);

fn two_hosts() -> Scenario {
    Scenario { hosts: 2, seeds: vec![(0, 0), (1, 0)], ..Scenario::default() }
}

#[test]
fn an_empty_state_is_done_after_one_look() {
    let mut world = World::new(Scenario { seeds: Vec::new(), ..two_hosts() });
    world.run();
    assert_eq!(world.log.hosts_loaded, 1);
}

#[test]
fn links_reported_in_the_wrong_order_are_all_fetched() {
    let start = Instant::now();
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    let Step::Fetch(first, _) = world.next(start) else { panic!("a page") };
    let early = world.queue(0);
    let late = world.queue(0);
    world.frontier.queued(&world.row(0), late, start);
    world.frontier.queued(&world.row(0), early, start);
    world.forget_running(first, start);
    world.run();
    assert_eq!(world.log.fetched.len(), 4);
}

#[test]
fn a_host_set_aside_does_not_come_back_by_a_late_report() {
    let start = Instant::now();
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    world.frontier.set_aside(HostId(0), Cause::Unanswered(10));
    world.frontier.set_aside(HostId(0), Cause::Unanswered(10));
    let tick = world.queue(0);
    world.frontier.queued(&world.row(0), tick, start);
    world.run();
    assert_eq!(world.log.set_aside, [HostId(0)]);
    assert!(world.log.fetched.iter().all(|&(host, _)| host == 1));
}

#[test]
fn a_pause_of_a_host_set_aside_does_not_hold_up_the_end() {
    let start = Instant::now();
    let fates = vec![Fate {
        signal: Signal::Overload { retry_after: Some(500 * SECOND) },
        ..Fate::default()
    }];
    let mut world = World::new(Scenario { obey_robots: false, fates, per_host: 2, ..two_hosts() });
    while let Step::Fetch(id, _) = world.next(start) {
        world.frontier.answered(
            id,
            None,
            Signal::Overload { retry_after: Some(500 * SECOND) },
            start,
        );
        world.forget_running(id, start);
    }
    world.frontier.set_aside(HostId(0), Cause::Unanswered(10));
    world.frontier.set_aside(HostId(1), Cause::Unanswered(10));
    let ends = std::iter::from_fn(|| Some(world.frontier.next(start)));
    let steps: Vec<_> = ends.take(3).collect();
    assert!(matches!(steps[..], [Step::SetAside(..), Step::SetAside(..), Step::Done]), "{steps:?}");
}

#[test]
fn a_page_that_comes_while_its_host_waits_for_a_retry_is_not_held_up() {
    let start = Instant::now();
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let mut world = World::new(Scenario { seeds: vec![(0, 0)], ..scenario });
    let Step::Fetch(id, _) = world.next(start) else { panic!("a page") };
    world.frontier.answered(id, None, Signal::Fine, start);
    world.frontier.finished(id, Ending::Retry { chance: 0.0 }, start);
    assert!(matches!(world.next(start), Step::Wait(at) if at == start + SECOND));
    let tick = world.queue(0);
    world.frontier.queued(&world.row(0), tick, start);
    assert!(matches!(world.next(start), Step::Fetch(..)));
}

#[test]
fn robots_is_asked_for_again_after_a_day() {
    let day = Duration::from_hours(24);
    let start = Instant::now();
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (0, 0), (0, 0)], ..two_hosts() });
    let mut asked = Vec::new();
    for now in [start, start + day / 2, start + day + SECOND] {
        let mut step = world.next(now);
        asked.push(matches!(step, Step::Ask(..)));
        if let Step::Ask(id, _) = step {
            world.frontier.answered(id, None, Signal::Fine, now);
            world.frontier.learned(id, Arc::new(Robots::allow_all()), Duration::ZERO, now);
            step = world.next(now + SECOND);
        }
        let Step::Fetch(id, _) = step else { panic!("a page") };
        world.frontier.answered(id, None, Signal::Fine, now + SECOND);
        world.forget_running(id, now + SECOND);
    }
    assert_eq!(asked, [true, false, true]);
}

#[test]
fn the_host_of_a_seed_whose_budget_is_spent_is_not_asked_for_robots() {
    let mut world =
        World::new(Scenario { seeds: vec![(0, 1)], seed_limits: vec![9, 0], ..two_hosts() });
    world.run();
    assert_eq!((world.log.asked.len(), world.log.over_budget), (0, 1));
}

#[test]
fn many_hosts_of_one_address_are_let_go_one_by_one() {
    let scenario = Scenario {
        hosts: 40,
        seeds: (0..40).flat_map(|host| [(host, 0), (host, 0)]).collect(),
        limits: Limits { hosts: 64, urls: 4 },
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
fn a_host_that_rests_while_hosts_are_looked_for_is_looked_for_again() {
    let start = Instant::now();
    let scenario = Scenario { obey_robots: false, delay: Duration::ZERO, ..two_hosts() };
    let limits = Limits { hosts: 2, urls: 4 };
    let mut world = World::new(Scenario { seeds: vec![(0, 0)], limits, ..scenario });
    assert!(matches!(world.frontier.next(start), Step::LoadHosts { .. }));
    world.frontier.loaded_hosts(&[world.row(0)], 1, false, start);
    assert!(matches!(world.frontier.next(start), Step::LoadHosts { .. }));
    let looked = 2;
    world.state.tick = looked;
    let Step::Fetch(id, _) = world.next(start) else { panic!("a page") };
    let tick = world.queue(0);
    world.frontier.queued(&world.row(0), tick, start);
    world.forget_running(id, start);
    assert!(matches!(world.frontier.next(start), Step::Blocked));
    world.frontier.loaded_hosts(&[], looked, true, start);
    world.run();
    assert_eq!(world.log.fetched.len(), 2);
}

#[test]
fn reports_that_overtake_one_another_do_not_hide_the_latest() {
    let start = Instant::now();
    let scenario = Scenario {
        obey_robots: false,
        limits: Limits { hosts: 2, urls: 2 },
        ..Scenario::default()
    };
    let mut world = World::new(Scenario { hosts: 4, seeds: vec![(0, 0), (1, 0)], ..scenario });
    let Step::LoadHosts { .. } = world.frontier.next(start) else { panic!("hosts") };
    let known = [world.row(0), world.row(1)].to_vec();
    let (of_host, of_stranger) = (world.queue(0), world.queue(3));
    world.frontier.loaded_hosts(&known, 1, true, start);
    let Step::LoadUrls { host, .. } = world.frontier.next(start) else { panic!("URLs") };
    for tick in [of_host + 2, of_host] {
        world.frontier.hosts.get_mut(&host).unwrap().left(tick);
        world.frontier.queued(&world.row(3), of_stranger + tick, start);
    }
    world.frontier.loaded_urls(host, Vec::new(), of_host + 1, true);
    assert!(!world.frontier.hosts[&host].is_idle());
    world.frontier.loaded_hosts(&[], of_stranger + of_host + 1, true, start);
    assert!(world.frontier.dormant);
}

#[test]
fn hosts_that_idle_through_their_delay_make_room_when_it_is_over() {
    let start = Instant::now();
    let hosts = (0..3).map(|host| (host, 0)).collect();
    let scenario = Scenario {
        obey_robots: false,
        limits: Limits { hosts: 4, urls: 2 },
        ..Scenario::default()
    };
    let mut world = World::new(Scenario { hosts: 5, seeds: hosts, ..scenario });
    assert!(matches!(world.next(start), Step::Fetch(..)));
    let tick = world.queue(3);
    world.frontier.queued(&world.row(3), tick, start);
    let tasks: Vec<_> = std::iter::from_fn(|| match world.next(start) {
        Step::Fetch(id, _) => Some(id),
        _ => None,
    })
    .collect();
    for &id in &tasks {
        world.frontier.answered(id, None, Signal::Fine, start);
        world.forget_running(id, start);
    }
    let tick = world.queue(4);
    world.frontier.queued(&world.row(4), tick, start);
    assert!(matches!(world.next(start), Step::Wait(at) if at == start + SECOND));
    assert!(matches!(world.next(start + SECOND), Step::Fetch(..)));
}

/// Forty pages of one host of which `answers` say how it goes, one after the other.
fn doubtful(answers: Vec<Fate>) -> World {
    let scenario = Scenario { seeds: vec![(0, 0); 40], fates: answers, per_host: 8, ..two_hosts() };
    let limits = Limits { hosts: 8, urls: 40 };
    World::new(Scenario { obey_robots: false, delay: Duration::ZERO, limits, ..scenario })
}

#[test]
fn a_host_that_never_answers_is_asked_ten_times_whatever_may_be_in_flight() {
    let mut world = doubtful(vec![Fate { unanswered: true, counted: false, ..Fate::default() }]);
    world.run();
    assert_eq!((world.log.fetched.len(), &*world.log.set_aside), (10, &[HostId(0)][..]));
}

#[test]
fn a_host_that_stops_answering_is_asked_no_more_than_was_in_flight() {
    let dead = Fate { unanswered: true, counted: false, ..Fate::default() };
    let fates = [vec![Fate::default(); 12], vec![dead; 28]].concat();
    let mut world = doubtful(fates);
    world.run();
    assert_eq!(world.log.set_aside, [HostId(0)]);
    assert_eq!(world.log.fetched.len(), 12 + 10, "eight in flight are fewer than ten");
}

#[test]
fn a_host_that_was_taken_back_rests_as_long_as_it_had_asked() {
    let mut world = World::new(Scenario { obey_robots: false, ..two_hosts() });
    let start = world.frontier.clock.instant;
    let Step::LoadHosts { .. } = world.frontier.next(start) else { panic!("hosts") };
    let row = HostRow { rests_until: Some(Timestamp(5_000)), ..world.row(0) };
    world.frontier.loaded_hosts(&[row], 1, true, start);
    assert!(matches!(world.next(start), Step::Wait(at) if at == start + 5 * SECOND));
}

/// Asks for the robots.txt of the first host, which has moved to `target`, and says when that is asked for.
fn moved(order: Order, target: &str) -> Duration {
    let mut world = World::new(Scenario { seeds: vec![(0, 0), (1, 0)], order, ..two_hosts() });
    let start = Instant::now();
    let (mut now, mut asked) = (start, Vec::new());
    loop {
        match world.next(now) {
            Step::Ask(id, ask) if &*ask.name == "h0:80" => {
                asked.push(now - start);
                world.frontier.answered(id, None, Signal::Fine, now);
                let Some(moved) = ask.moved else {
                    let moved = Inquiry::new(target).unwrap();
                    world.frontier.moved(id, moved, now);
                    continue;
                };
                assert_eq!(moved.url().as_str(), format!("{target}/robots.txt"));
                return asked[1];
            }
            Step::Ask(id, _) => {
                // The other host answers slowly.
                now += SECOND / 2;
                world.frontier.answered(id, None, Signal::Fine, now);
                world.frontier.learned(id, Arc::new(Robots::allow_all()), Duration::ZERO, now);
            }
            Step::Wait(at) => now = at,
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_robots_txt_that_has_moved_is_asked_for_a_delay_later_there() {
    assert_eq!(moved(Order::Clock, "http://h0/new"), SECOND);
    assert_eq!(moved(Order::Turn, "http://h0/new"), SECOND);
}

#[test]
fn a_robots_txt_that_has_moved_to_another_host_waits_for_that_host_s_delay() {
    assert_eq!(moved(Order::Clock, "http://h1"), SECOND + SECOND / 2);
    assert_eq!(moved(Order::Turn, "http://h1"), SECOND, "it has not been asked yet");
}

#[test]
fn in_turn_a_robots_txt_that_has_moved_waits_for_another_host_that_rests() {
    let scenario = Scenario { seeds: vec![(0, 0)], order: Order::Turn, ..two_hosts() };
    let mut world = World::new(scenario);
    let start = world.frontier.clock.instant;
    let Step::LoadHosts { .. } = world.frontier.next(start) else { panic!("hosts") };
    let resting = HostRow { rests_until: Some(Timestamp(5_000)), ..world.row(1) };
    world.frontier.loaded_hosts(&[world.row(0), resting], 1, true, start);
    let Step::Ask(id, _) = world.next(start) else { panic!("robots.txt") };
    world.frontier.answered(id, None, Signal::Fine, start);
    world.frontier.moved(id, Inquiry::new("http://h1").unwrap(), start);
    for (now, then) in [(start, start + SECOND), (start + SECOND, start + 5 * SECOND)] {
        assert!(matches!(world.next(now), Step::Wait(at) if at == then));
    }
    let Step::Ask(_, ask) = world.next(start + 5 * SECOND) else { panic!("robots.txt") };
    assert!(ask.moved.is_some());
}
