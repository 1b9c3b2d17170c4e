//! The web of the simulated month: what each host answers at which hour. Pure.

use std::{fmt::Write, sync::LazyLock, time::Duration};

/// A page: host and number.
pub(super) type Page = (usize, usize);

/// How a host behaves. One in ten is not [`Good`](Self::Good).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Good,
    /// It accepts connections and never answers.
    Silent,
    /// It takes three seconds for each response.
    Slow,
    /// 503 for four of twelve hours.
    Failing,
    /// It closes connections without an answer for four of twelve hours.
    Down,
    /// From some hour on, everything redirects to another host.
    Moving,
    /// Every fifth request is refused with 429.
    Busy,
    /// Every seventh response breaks off.
    Torn,
    /// Its first page leads to pages that do harm.
    Hostile,
}

const BAD: [Kind; 8] = [
    Kind::Silent,
    Kind::Slow,
    Kind::Failing,
    Kind::Down,
    Kind::Moving,
    Kind::Busy,
    Kind::Torn,
    Kind::Hostile,
];

/// What is sent in return for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A response that is complete; whether it is the page's text.
    Whole {
        bytes: Vec<u8>,
        after: Duration,
        is_page: bool,
    },
    /// A response that breaks off.
    Torn(Vec<u8>),
    /// A head, then the same bytes without end.
    Endless(Vec<u8>, Vec<u8>),
    /// The same bytes again and again, a moment apart.
    Dripping(&'static [u8]),
    Closed,
    Silence,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct World {
    pub(super) hosts: usize,
    /// Of each host.
    pub(super) pages: usize,
    /// How many hours the crawl is expected to take: hosts move in this time.
    pub(super) hours: u64,
}

pub(super) fn kind(host: usize) -> Kind {
    if host % 10 == 3 { BAD[host / 10 % BAD.len()] } else { Kind::Good }
}

/// A number that looks like a random one.
pub(super) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ number >> 32
}

/// A number below a limit, by these bits.
fn below(limit: usize, bits: u64) -> usize {
    usize::try_from(bits % limit as u64).expect("it is below the limit")
}

impl World {
    /// The page whose article this page repeats, word by word or with one other word.
    pub(super) fn original((host, page): Page) -> Option<Page> {
        match page % 10 {
            9 => Some((host, page - 1)),
            7 if host % 2 == 1 => Some((host - 1, page)),
            _ => None,
        }
    }

    /// Whether every request for a page of this host is answered at some time. Then each has to be fetched.
    pub(super) fn is_reachable(host: usize) -> bool {
        !matches!(kind(host), Kind::Silent | Kind::Hostile)
    }

    /// The names of all hosts, with those to which some move.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let moving = (0..self.hosts).filter(|&host| kind(host) == Kind::Moving);
        let moved = moving.map(|host| format!("moved{host}.test"));
        (0..self.hosts).map(|host| format!("h{host}.test")).chain(moved)
    }

    /// The page of this URL, and whether it is at the host to which it has moved.
    pub(super) fn page_of(&self, name: &str, path: &str) -> Option<(Page, bool)> {
        let name = name.strip_suffix(".test")?;
        let (number, moved) = match name.strip_prefix("moved") {
            Some(number) => (number, true),
            None => (name.strip_prefix('h')?, false),
        };
        let page = match path.strip_prefix('/')? {
            "" => 0,
            number => number.parse().ok().filter(|&page| page > 0)?,
        };
        let host = number.parse().ok()?;
        (host < self.hosts && page < self.pages).then_some(((host, page), moved))
    }

    /// The answer to the `count`-th request to a host, at this hour.
    pub(super) fn answer(&self, name: &str, path: &str, count: u32, hour: u64) -> Answer {
        let Some((first, moved)) = self.page_of(name, "/") else { return Answer::Closed };
        let host = first.0;
        let kind = if moved { Kind::Good } else { kind(host) };
        let is_bad_time = (hour + host as u64 / 10) % 12 < 4;
        let moves_at = mixed(host as u64) % self.hours;
        match kind {
            Kind::Silent => return Answer::Silence,
            Kind::Down if is_bad_time => return Answer::Closed,
            Kind::Failing if is_bad_time => return whole(503, "", b"not now"),
            Kind::Busy if count % 5 == 4 => return whole(429, "Retry-After: 5\r\n", b"too many"),
            Kind::Moving if hour >= moves_at && path != "/robots.txt" => {
                let to = format!("Location: http://moved{host}.test{path}\r\n");
                return whole(301, &to, b"moved");
            }
            Kind::Hostile if path.starts_with("/bad/") => {
                return hostile((host + 80) % self.hosts, &path[5..]);
            }
            _ => {}
        }
        let answer = match self.page_of(name, path) {
            _ if path == "/robots.txt" => whole(404, "", b"no rules"),
            Some((page, _)) => match whole(200, "", self.html(page).as_bytes()) {
                Answer::Whole { bytes, after, .. } => Answer::Whole { bytes, after, is_page: true },
                other => other,
            },
            None => whole(404, "", b"not here"),
        };
        match (kind, answer) {
            (Kind::Slow, Answer::Whole { bytes, is_page, .. }) => {
                Answer::Whole { bytes, is_page, after: Duration::from_secs(3) }
            }
            (Kind::Torn, Answer::Whole { bytes, .. }) if count % 7 == 6 => {
                Answer::Torn(bytes[..bytes.len() - 3].to_vec())
            }
            (_, answer) => answer,
        }
    }

    fn html(&self, page: Page) -> String {
        let (host, number) = page;
        let article = Self::original(page).unwrap_or(page);
        let (words, title) = (words(article, 160), words(article, 4));
        let mut paragraphs = String::new();
        for (place, chunk) in words.chunks(40).enumerate() {
            let mut chunk = chunk.join(separator(article.0));
            if place == 2 && article.0 != host {
                chunk.push_str(" Corrected.");
            }
            writeln!(paragraphs, "<p>{chunk}.</p>").expect("a string takes all");
        }
        let links: String =
            self.links(page).iter().map(|to| format!("<a href='{to}'>{to}</a>\n")).collect();
        let title = title.join(separator(article.0));
        format!(
            "<!doctype html><html><head><title>{title}</title></head><body>\n\
             <nav>Host {host} Home News Archive Contact About</nav>\n\
             <article><h1>{title}</h1>\n{paragraphs}</article>\n\
             <div>{links}</div><footer>Host {host}. All rights reserved. Page {number}.</footer></body></html>"
        )
    }

    /// The pages of a host are a tree. Each also leads to three pages of other hosts.
    fn links(&self, (host, page): Page) -> Vec<String> {
        let children = [2 * page + 1, 2 * page + 2].into_iter().filter(|&child| child < self.pages);
        let bad = (0..12).filter(|_| kind(host) == Kind::Hostile && page == 0);
        let far = (0..3).map(|far| {
            let to = mixed((host * self.pages + page) as u64 * 3 + far);
            let (host, page) = (below(self.hosts, to), below(self.pages, to >> 32));
            format!(
                "http://h{host}.test/{}",
                if page == 0 { String::new() } else { page.to_string() }
            )
        });
        let near = children.map(|child| format!("/{child}"));
        near.chain(bad.map(|number| format!("/bad/{number}"))).chain(far).collect()
    }
}

fn separator(host: usize) -> &'static str {
    if host.is_multiple_of(4) { "" } else { " " }
}

/// The words of an article. Every fourth host is Chinese.
fn words((host, page): Page, count: u64) -> Vec<String> {
    const SYLLABLES: [&str; 32] = [
        "ba", "cor", "den", "el", "fi", "gar", "hu", "il", "jo", "kan", "lu", "mer", "no", "ol",
        "pra", "qui", "ri", "sto", "ta", "ul", "ven", "wi", "xan", "yor", "zel", "bri", "cla",
        "dro", "fle", "gre", "plo", "tra",
    ];
    const CHARACTERS: &str = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严";
    static EACH: LazyLock<Vec<char>> = LazyLock::new(|| CHARACTERS.chars().collect());
    let seed = mixed((host as u64) << 32 | page as u64);
    let word = |number: u64| -> String {
        let bits = mixed(seed.wrapping_add(number));
        if host.is_multiple_of(4) {
            [0, 24].map(|shift| EACH[below(EACH.len(), bits >> shift)]).iter().collect()
        } else {
            let syllables = 2 + (bits >> 40) % 2;
            (0..syllables).map(|place| SYLLABLES[below(32, bits >> (8 * place))]).collect()
        }
    };
    (0..count).map(word).collect()
}

fn whole(status: u16, headers: &str, body: &[u8]) -> Answer {
    let mut bytes = head(status, &format!("{headers}Content-Length: {}\r\n", body.len()));
    bytes.extend_from_slice(body);
    Answer::Whole { bytes, after: Duration::ZERO, is_page: false }
}

fn head(status: u16, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Because\r\nContent-Type: text/html; charset=utf-8\r\n{headers}\r\n")
        .into_bytes()
}

/// A page that does harm; `next` is another host that does.
fn hostile(next: usize, number: &str) -> Answer {
    let endless =
        |repeated: &str| Answer::Endless(head(200, "Connection: close\r\n"), repeated.into());
    match number {
        "0" => endless("<p>again and again "),
        "1" => endless("<div><a href='/bad/5'>"),
        "2" => Answer::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-More: and more\r\n".to_vec()),
        "3" => Answer::Dripping(b"HTTP/1.1 100 Continue\r\n\r\n"),
        "4" => whole(302, "Location: /bad/4\r\n", b""),
        "5" => whole(302, &format!("Location: http://h{next}.test/bad/5\r\n"), b""),
        "6" => whole(200, "Content-Encoding: gzip\r\n", b"no gzip"),
        "7" => whole(200, "", &vec![0; 100_000]),
        "8" => whole(200, "", "<a href='/bad/".repeat(1_000).as_bytes()),
        "9" => Answer::Torn(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        ),
        "10" => Answer::Torn(vec![0xff; 1_000]),
        _ => {
            let links: String = (100..300).map(|page| format!("<a href='/bad/{page}'>")).collect();
            if number == "11" { whole(200, "", links.as_bytes()) } else { whole(404, "", b"no") }
        }
    }
}
