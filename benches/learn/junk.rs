//! The four development sites behind a server that puts junk on the links of their pages.

use pagesieve::crawl::scope::Reach;
use url::Url;

use crate::{
    four_sites::{FourSites, SITES, seeds},
    prose::Dice,
    target::Target,
    world::{Answer, World},
};

/// What the server adds to links.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each kind of junk is put on links or not")]
pub(crate) struct Junk {
    /// A session id in the path of the sites with an `l` or a `p` at their beginning.
    path_session: bool,
    /// A session id in the query of the others.
    query_session: bool,
    tracking: bool,
    parameter_order: bool,
    print: bool,
    facets: bool,
    calendar: bool,
    mirror: bool,
}

impl Junk {
    /// All junk at once, and each kind alone.
    pub(crate) fn kinds() -> [(&'static str, Self); 9] {
        let none = Self::default();
        let all = Self {
            path_session: true,
            query_session: true,
            tracking: true,
            parameter_order: true,
            print: true,
            facets: true,
            calendar: true,
            mirror: true,
        };
        [
            ("all", all),
            ("session in path", Self { path_session: true, ..none }),
            ("session in query", Self { query_session: true, ..none }),
            ("tracking", Self { tracking: true, ..none }),
            ("parameter order", Self { parameter_order: true, ..none }),
            ("print view", Self { print: true, ..none }),
            ("facets", Self { facets: true, ..none }),
            ("calendar", Self { calendar: true, ..none }),
            ("mirror", Self { mirror: true, ..none }),
        ]
    }

    /// The seed chooses what is put on which link.
    pub(crate) fn world(self, name: &str, sites: FourSites, seed: u64) -> World {
        let mirrors = SITES.map(|site| format!("mirror.{site}.test"));
        World {
            name: name.to_owned(),
            hosts: SITES.map(|site| format!("{site}.test")).into_iter().chain(mirrors).collect(),
            seeds: seeds(),
            reach: Reach::Domain,
            pages: sites.pages.len(),
            answer: Box::new(move |host, target| self.answer(&sites, seed, host, target)),
        }
    }

    fn answer(self, sites: &FourSites, seed: u64, host: &str, target: &str) -> Answer {
        let site = host.trim_start_matches("mirror.").trim_end_matches(".test");
        let (session, asked) = Session::of(target);
        let salt = if seed == 0 { String::new() } else { format!("{seed} ") };
        let dice = Dice::of(&format!("{salt}{host}{target}"));
        let links = Links { junk: self, site, session, dice };
        match asked.path.as_str() {
            "/browse" if self.facets => Answer::junk(links.browse(sites, &asked)),
            "/calendar" if self.calendar => Answer::junk(links.calendar(&asked)),
            path => sites.number(path).map_or_else(Answer::missing, |number| {
                Answer::honest(number, links.page(sites, number, asked.get("print").is_some()))
            }),
        }
    }
}

/// The session of a request, in its path or its query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Session(Option<String>);

impl Session {
    /// And the request without it.
    fn of(target: &str) -> (Self, Target) {
        let mut asked = Target::parse(target);
        if let Some(rest) = asked.path.strip_prefix("/S-") {
            let (session, path) = rest.split_once('/').unwrap_or((rest, ""));
            let (session, path) = (session.to_owned(), format!("/{path}"));
            asked.path = path;
            return (Self(Some(session)), asked);
        }
        (Self(asked.get("sid").map(str::to_owned)), asked)
    }
}

/// Makes the links of one page.
struct Links<'a> {
    junk: Junk,
    site: &'a str,
    session: Session,
    dice: Dice,
}

impl Links<'_> {
    /// An address that leads to a path of this site.
    fn to(&mut self, mut target: Target) -> String {
        let is_mirror = self.junk.mirror && self.dice.roll(4) == 0;
        let host = if is_mirror { "mirror." } else { "" };
        if self.junk.tracking {
            let from = ["nav", "text", "footer", "search"][self.dice.roll(4)];
            target = target.with("from", format!("{from}{}", self.dice.roll(40)));
        }
        if self.junk.parameter_order {
            target = target.with("theme", "light").with("v", "2").with("view", "full");
        }
        let in_path = matches!(self.site, "lohelp" | "pgdoc");
        let has_session = if in_path { self.junk.path_session } else { self.junk.query_session };
        if has_session {
            let session = self.next_session();
            if in_path {
                target.path = format!("/S-{session}{}", target.path);
            } else {
                target = target.with("sid", session);
            }
        }
        if self.junk.parameter_order {
            self.dice.shuffle(&mut target.parameters);
        }
        format!("http://{host}{}.test{}", self.site, target.show())
    }

    /// Sessions end: one link in eight begins another.
    fn next_session(&mut self) -> String {
        match &self.session.0 {
            Some(session) if self.dice.roll(8) > 0 => session.clone(),
            _ => self.dice.hex(24),
        }
    }

    /// A page of the data with its links changed. Dead links lead where they did, and have no junk.
    fn page(mut self, sites: &FourSites, number: usize, is_print: bool) -> String {
        let page = &sites.pages[number];
        let (mut html, mut copied) = (String::with_capacity(page.html.len() * 2), 0);
        for (place, url) in &page.links {
            html += &page.html[copied..place.start];
            html += &match sites.number(url.path()) {
                Some(_) => self.to(Target::new(url.path())) + &fragment(url),
                None => url.to_string(),
            };
            copied = place.end;
        }
        let end = page.html.rfind("</body>").unwrap_or(page.html.len()).max(copied);
        html += &page.html[copied..end];
        html += "<div class=\"footer\">";
        if self.junk.print && !is_print {
            let to = self.to(Target::new(&page.path).with("print", "1"));
            html += &anchor(&to, "Print view");
        }
        if self.junk.facets {
            html += &anchor(&self.to(Target::new("/browse")), "Browse");
        }
        if self.junk.calendar {
            html += &anchor(&self.to(Target::new("/calendar").with("month", 24_322)), "Calendar");
        }
        html + "</div>" + &page.html[end..]
    }

    /// A list of pages by three facets, each of which can be added, changed and removed.
    fn browse(mut self, sites: &FourSites, asked: &Target) -> String {
        const FACETS: [(&str, [&str; 6]); 3] = [
            ("topic", ["install", "tables", "text", "network", "security", "print"]),
            ("length", ["short", "medium", "long", "very-long", "any", "one-page"]),
            ("sort", ["title", "date", "length", "rank", "author", "visits"]),
        ];
        let chosen: Vec<&str> = FACETS.iter().filter_map(|(name, _)| asked.get(name)).collect();
        let mut html = head("Browse the pages");
        html += &format!("<h1>Pages: {}</h1>\n<ul>", chosen.join(", "));
        let prefix = format!("/{}/", self.site);
        let pages: Vec<&str> = sites.pages.iter().map(|page| page.path.as_str()).collect();
        let pages: Vec<&str> = pages.into_iter().filter(|path| path.starts_with(&prefix)).collect();
        let mut matching = Dice::of(&format!("{} {}", self.site, chosen.join(" ")));
        for _ in 0..12 {
            let path = *matching.pick(&pages);
            html += &format!("<li>{}</li>\n", anchor(&self.to(Target::new(path)), path));
        }
        html += "</ul>\n<p>";
        let plain = FACETS
            .iter()
            .filter_map(|(name, _)| Some((name, asked.get(name)?)))
            .fold(Target::new("/browse"), |target, (name, value)| target.with(name, value));
        for (name, values) in FACETS {
            for value in values {
                html += &anchor(&self.to(plain.clone().set(name, value)), value);
            }
            html += &anchor(&self.to(plain.clone().without(name)), "all");
        }
        html + "</p></body></html>"
    }

    fn calendar(mut self, asked: &Target) -> String {
        let month = asked.number("month").unwrap_or(24_322);
        let title = format!("Events in {}/{}", month % 12 + 1, month / 12);
        let mut html = format!("{}<h1>{title}</h1>\n<table>", head(&title));
        for day in 1..=28 {
            html += &format!("<tr><td>{day}</td><td>no event</td></tr>");
        }
        html += "</table>\n<p>";
        for (month, name) in [
            (month.saturating_sub(1), "previous month"),
            (month + 1, "next month"),
            (month.saturating_sub(12), "previous year"),
            (month + 12, "next year"),
        ] {
            html += &anchor(&self.to(Target::new("/calendar").with("month", month)), name);
        }
        html + "</p></body></html>"
    }
}

fn fragment(url: &Url) -> String {
    url.fragment().map_or_else(String::new, |fragment| format!("#{fragment}"))
}

fn anchor(to: &str, name: &str) -> String {
    format!("<a href=\"{}\">{name}</a> ", to.replace('&', "&amp;"))
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head><body>\n"
    )
}
