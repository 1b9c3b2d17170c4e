//! Asks the learner as the engine of a crawl does (`src/crawl/engine/learn.rs`), without HTTP: what is requested, and which texts are found.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    ops::Range,
    rc::Rc,
};

use url::Url;

use crate::{
    learn::{Learner, Page, Placement, Yielded},
    page::site_of,
    prose::Dice,
};

/// What is at a URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Got {
    Page(Rc<Shown>),
    /// A page that asks not to be indexed, with its links.
    Unindexed(Vec<Rc<str>>),
    /// A file of another type.
    File,
    Dead,
    /// A redirect, to a URL that may be requested.
    Redirect(Option<Rc<str>>),
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    /// Pages whose texts are the same by the filter have one number.
    pub(crate) group: u32,
    /// The same for pages with exactly one text.
    pub(crate) exact: u32,
    /// A sample of the passages of its text, in their order.
    pub(crate) passages: Vec<u32>,
    pub(crate) links: Vec<Rc<str>>,
    pub(crate) canonical: Option<Rc<str>>,
    /// The texts that are found with it.
    pub(crate) found: Range<u32>,
}

/// What is played.
pub(crate) trait Source {
    fn seeds(&self) -> Vec<Rc<str>>;
    /// What is at a URL. The same URL always gets the same.
    fn fetch(&mut self, url: &Rc<str>) -> Got;
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub(crate) requests: usize,
    /// Requests answered with a page.
    pub(crate) pages: usize,
    /// Texts that were found.
    pub(crate) found: HashSet<u32>,
}

/// Why a URL comes after those of its host's queue, as in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Late {
    Waited,
    Page(u32),
    Pattern(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Done,
    Deferred,
}

#[derive(Debug)]
struct Known {
    name: Rc<str>,
    url: Rc<Url>,
    site: Rc<str>,
    host: usize,
    depth: u32,
    hops: u32,
    referrer: Option<usize>,
    state: State,
}

#[derive(Debug, Default)]
struct Host {
    first: VecDeque<usize>,
    late: BTreeMap<Late, VecDeque<usize>>,
    in_flight: usize,
}

/// A crawl.
pub(crate) struct Player<'a> {
    source: &'a mut dyn Source,
    /// Requests in flight.
    flight: usize,
    learner: Learner,
    urls: Vec<Known>,
    numbers: HashMap<Rc<str>, usize>,
    hosts: Vec<Host>,
    host_names: HashMap<String, usize>,
    /// The host whose turn is next.
    turn: usize,
    open: usize,
    released: HashSet<usize>,
    pages_in_flight: HashMap<(usize, u32), bool>,
    urls_in_flight: HashMap<usize, (usize, u32)>,
    since_review: u32,
    groups: HashSet<u32>,
    played: Played,
}

/// Plays a source, up to a number of requests. The seed chooses the order of the starting pages and of the responses; 0 is the order of the source.
pub(crate) fn play(
    source: &mut dyn Source,
    flight: usize,
    seed: u64,
    max_requests: usize,
) -> Played {
    let mut starts = source.seeds();
    if seed > 0 {
        Dice::of(&seed.to_string()).shuffle(&mut starts);
    }
    let mut player = Player {
        source,
        flight,
        learner: Learner::new(&[]),
        urls: Vec::new(),
        numbers: HashMap::new(),
        hosts: Vec::new(),
        host_names: HashMap::new(),
        turn: 0,
        open: 0,
        released: HashSet::new(),
        pages_in_flight: HashMap::new(),
        urls_in_flight: HashMap::new(),
        since_review: 0,
        groups: HashSet::new(),
        played: Played::default(),
    };
    for start in starts {
        player.discover(&start, None, 0, 0, false);
    }
    player.run(Dice::of(&format!("responses {seed}")), max_requests);
    player.played
}

impl Player<'_> {
    fn run(&mut self, mut dice: Dice, max_requests: usize) {
        let mut in_flight: VecDeque<usize> = VecDeque::new();
        loop {
            while in_flight.len() < self.flight {
                let Some(url) = self.next() else { break };
                if !self.is_put_off(url) {
                    self.hosts[self.urls[url].host].in_flight += 1;
                    in_flight.push_back(url);
                }
            }
            if in_flight.is_empty() {
                (0..self.hosts.len()).for_each(|host| self.release_late(host));
                if self.hosts.iter().all(|host| host.first.is_empty()) {
                    return;
                }
                continue;
            }
            let place = dice.roll(in_flight.len().min(3));
            let url = in_flight.remove(place).expect("it is one of them");
            self.receive(url);
            if self.played.requests >= max_requests {
                return;
            }
        }
    }

    /// The next URL, of the hosts in turn.
    fn next(&mut self) -> Option<usize> {
        let count = self.hosts.len();
        let host = (0..count).map(|it| (self.turn + it) % count);
        let host = host.into_iter().find(|host| !self.hosts[*host].first.is_empty())?;
        self.turn = host + 1;
        self.hosts[host].first.pop_front()
    }

    fn discover(
        &mut self,
        name: &Rc<str>,
        referrer: Option<usize>,
        depth: u32,
        hops: u32,
        late: bool,
    ) {
        if self.numbers.contains_key(name) {
            return;
        }
        let Ok(url) = Url::parse(name) else { return };
        let host_name = url.host_str().unwrap_or_default().to_owned();
        let site: Rc<str> = site_of(&host_name).into();
        let count = self.hosts.len();
        let host = *self.host_names.entry(host_name).or_insert(count);
        if host == count {
            self.hosts.push(Host::default());
        }
        let number = self.urls.len();
        self.numbers.insert(Rc::clone(name), number);
        let (url, name) = (Rc::new(url), Rc::clone(name));
        let state = State::Open;
        self.urls.push(Known { name, url, site, host, depth, hops, referrer, state });
        self.open += 1;
        if late {
            let group = self.group(number);
            self.put_late(number, Late::Pattern(group));
        } else {
            self.hosts[host].first.push_back(number);
        }
    }

    fn group(&mut self, number: usize) -> u32 {
        let known = &self.urls[number];
        self.learner.group(&known.url, &known.site)
    }

    fn put_late(&mut self, number: usize, late: Late) {
        let host = self.urls[number].host;
        self.hosts[host].late.entry(late).or_default().push_back(number);
    }

    fn decide(&mut self, number: usize) -> Placement {
        let known = &self.urls[number];
        self.learner.meet(&known.url, &known.site);
        self.learner.decide(&known.url, &known.site)
    }

    fn is_put_off(&mut self, number: usize) -> bool {
        if self.urls[number].depth == 0 {
            return false;
        }
        let host = self.urls[number].host;
        match self.decide(number) {
            Placement::Deferred(..) => {
                self.finish(number, State::Deferred);
                return true;
            }
            Placement::Late(group) if !self.released.contains(&number) => {
                self.put_late(number, Late::Pattern(group));
            }
            Placement::Late(_) | Placement::Now => {
                if !self.waits(number) {
                    return false;
                }
            }
        }
        self.end_flight(number);
        self.release_late(host);
        true
    }

    /// Whether a URL waits for another one of the same page, which is in flight.
    fn waits(&mut self, number: usize) -> bool {
        let known = &self.urls[number];
        let host = known.host;
        let reduced = self.learner.reduced(&known.url, &known.site);
        let place = (host, reduced.number);
        self.end_flight_of(number);
        match self.pages_in_flight.get(&place) {
            Some(by_rule) if *by_rule || reduced.is_by_rule => {
                self.put_late(number, Late::Page(reduced.number));
                true
            }
            Some(_) => false,
            None => {
                self.pages_in_flight.insert(place, reduced.is_by_rule);
                self.urls_in_flight.insert(number, place);
                false
            }
        }
    }

    fn end_flight_of(&mut self, number: usize) -> Option<(usize, u32)> {
        let place = self.urls_in_flight.remove(&number)?;
        self.pages_in_flight.remove(&place);
        Some(place)
    }

    fn end_flight(&mut self, number: usize) {
        self.released.remove(&number);
        if let Some((host, page)) = self.end_flight_of(number)
            && let Some(mut waited) = self.hosts[host].late.remove(&Late::Page(page))
        {
            self.hosts[host].late.entry(Late::Waited).or_default().append(&mut waited);
        }
    }

    fn finish(&mut self, number: usize, state: State) {
        self.urls[number].state = state;
        self.open -= 1;
        self.end_flight(number);
        let host = self.urls[number].host;
        self.release_late(host);
    }

    fn release_late(&mut self, host: usize) {
        (0..self.hosts.len()).for_each(|it| {
            if it == host || self.hosts[it].first.is_empty() {
                self.release_late_of(it);
            }
        });
        if self.since_review >= 100 || self.open <= 1 {
            self.since_review = 0;
            self.review();
        }
    }

    fn release_late_of(&mut self, host: usize) {
        while self.hosts[host].first.len() + self.hosts[host].in_flight < self.flight {
            let Some((number, group, estimate)) = self.next_late(host) else { return };
            match self.decide(number) {
                Placement::Deferred(..) => {
                    self.urls[number].state = State::Deferred;
                    self.open -= 1;
                    self.end_flight(number);
                }
                Placement::Late(now)
                    if Late::Pattern(now) != group
                        && self.learner.estimated_yield(&self.urls[number].site, now)
                            < estimate * 0.9 =>
                {
                    self.put_late(number, Late::Pattern(now));
                }
                _ => {
                    if !self.waits(number) {
                        self.hosts[host].first.push_back(number);
                        self.released.insert(number);
                    }
                }
            }
        }
    }

    fn next_late(&mut self, host: usize) -> Option<(usize, Late, f32)> {
        let groups = &self.hosts[host].late;
        let of_any = *groups.values().find_map(|urls| urls.front())?;
        let site = &self.urls[of_any].site;
        let estimate = |group: Late| match group {
            Late::Pattern(number) => self.learner.estimated_yield(site, number),
            Late::Waited | Late::Page(_) => self.learner.estimated_yield(site, 0),
        };
        let open = groups.iter().filter(|(group, _)| !matches!(group, Late::Page(_)));
        let open =
            open.filter_map(|(group, urls)| Some((estimate(*group), *group, *urls.front()?)));
        let (estimate, group, _) = open.max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)))?;
        let urls = self.hosts[host].late.get_mut(&group)?;
        let number = urls.pop_front()?;
        if urls.is_empty() {
            self.hosts[host].late.remove(&group);
        }
        Some((number, group, estimate))
    }

    /// Queues deferred URLs again that are wanted by now.
    fn review(&mut self) {
        let sites = self.learner.take_sites_to_requeue();
        if sites.is_empty() {
            return;
        }
        for number in 0..self.urls.len() {
            let known = &self.urls[number];
            if known.state != State::Deferred || !sites.contains(&*known.site) {
                continue;
            }
            let group = match self.decide(number) {
                Placement::Deferred(..) => continue,
                Placement::Late(group) => group,
                Placement::Now => self.group(number),
            };
            self.urls[number].state = State::Open;
            self.open += 1;
            self.put_late(number, Late::Pattern(group));
        }
        (0..self.hosts.len()).for_each(|host| self.release_late_of(host));
    }

    fn receive(&mut self, number: usize) {
        let name = Rc::clone(&self.urls[number].name);
        let host = self.urls[number].host;
        self.hosts[host].in_flight -= 1;
        self.played.requests += 1;
        let got = self.source.fetch(&name);
        let depth = self.urls[number].depth;
        match &got {
            Got::Page(shown) => {
                self.played.pages += 1;
                self.played.found.extend(shown.found.clone());
                let is_new = self.groups.insert(shown.group);
                self.learn(
                    number,
                    Some(shown),
                    if is_new { Yielded::New } else { Yielded::KnownText },
                );
                self.follow(number, shown.canonical.iter(), depth + 1, true);
                let late = !is_new && depth > 0;
                self.follow(number, shown.links.iter(), depth + 1, late);
            }
            Got::Unindexed(links) => {
                self.played.pages += 1;
                self.learn(number, None, Yielded::Nothing);
                self.follow(number, links.iter(), depth + 1, false);
            }
            Got::File => self.learn(number, None, Yielded::Nothing),
            Got::Dead => {
                let known = &self.urls[number];
                self.learner.dead(&known.url, &known.site);
            }
            Got::Redirect(to) => self.redirect(number, to.as_ref()),
        }
        self.finish(number, State::Done);
    }

    fn follow<'b>(
        &mut self,
        from: usize,
        links: impl Iterator<Item = &'b Rc<str>>,
        depth: u32,
        late: bool,
    ) {
        for link in links {
            self.discover(link, Some(from), depth, 0, late);
        }
    }

    fn redirect(&mut self, number: usize, to: Option<&Rc<str>>) {
        let hops = self.urls[number].hops;
        let leads_on = hops < 3
            && to.is_some_and(|to| {
                !self.numbers.contains_key(to)
                    && Url::parse(to).is_ok_and(|url| {
                        let site = site_of(url.host_str().unwrap_or_default()).to_owned();
                        !matches!(self.learner.decide(&url, &site), Placement::Deferred(..))
                    })
            });
        let yielded = if leads_on { Yielded::RedirectUndecided } else { Yielded::RedirectToKnown };
        self.learn(number, None, yielded);
        if let Some(to) = to.filter(|_| hops < 10) {
            let depth = self.urls[number].depth;
            self.discover(to, Some(number), depth, hops + 1, false);
        }
    }

    fn learn(&mut self, number: usize, shown: Option<&Rc<Shown>>, yielded: Yielded) {
        let known = &self.urls[number];
        let from = known.referrer.map(|from| &self.urls[from]);
        let yielded = match shown {
            Some(shown)
                if !self.learner.add_passages(&shown.passages).are_many
                    && yielded == Yielded::New =>
            {
                Yielded::KnownPassages
            }
            _ => yielded,
        };
        self.learner.judged(&Page {
            url: &known.url,
            site: &known.site,
            text: shown.map(|shown| shown.group),
            hash: shown.map_or(0, |shown| u16::try_from(shown.exact % 65_535 + 1).unwrap_or(1)),
            yielded,
            is_redirected: known.hops > 0,
            from: from.map(|from| &*from.url),
            links_back: from
                .is_some_and(|from| shown.is_some_and(|it| it.links.contains(&from.name))),
        });
        self.since_review += 1;
    }
}
