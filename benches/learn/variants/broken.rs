//! Pages that do not exist, and redirects that count.

use super::{
    addresses::base64,
    plot::{Plot, plain},
    site::{Link, links},
};
use crate::{
    prose::Dice,
    target::Target,
    world::{Answer, World},
};

/// How the address of a page that does not exist looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dead {
    /// `/section/3fa0c.html`
    Hex,
    /// `/section/barock-lolen`
    Words,
    /// `/section/48213`
    Number,
    /// `/search?q=barock`
    Search,
    /// The address of an article with something behind it.
    Behind,
}

const DEAD: [Dead; 5] = [Dead::Hex, Dead::Words, Dead::Number, Dead::Search, Dead::Behind];

/// What does not exist is answered like a page, and often names more of the like.
pub(crate) fn soft_404(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::usual(host, dice).everywhere();
    let (dead, name) = (*dice.pick(&DEAD), dice.word());
    // Without further ones the trap is as large as the site.
    let (onward, on_page) = (dice.roll(5), 1 + dice.roll(4));
    World::new(host, plot.site.pages(), move |_, target| {
        let site = &plot.site;
        let one = |dice: &mut Dice| {
            let number = 40_000 + dice.roll(1_000_000);
            let word = dice.word();
            plain(match dead {
                Dead::Hex => format!("/{name}/{}.html", dice.hex(5)),
                Dead::Words => format!("/{name}/{word}-{}", dice.word()),
                Dead::Number => format!("/{name}/{number}"),
                Dead::Search => format!("/search?q={word}"),
                Dead::Behind => {
                    let path = Target::parse(site.path(site.any(dice))).path;
                    format!("{}/{word}", path.trim_end_matches('/'))
                }
            })
        };
        let draw = |count, dice: &mut Dice| (0..count).map(|_| one(dice)).collect::<Vec<_>>();
        let trap = || {
            let more = draw(onward, &mut Dice::of(&format!("dead {target}")));
            let popular: Vec<Link> = site.hidden().map(|page| site.link(page)).collect();
            let body = format!("<h2>Popular</h2>{}", links(&popular));
            let label = target.rsplit(['/', '=']).find(|part| !part.is_empty());
            plot.junk(target, label.unwrap_or_default(), &body, &more)
        };
        plot.beside(target, |dice| draw(on_page, dice), trap)
    })
}

/// A counter without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endless {
    /// `/count?n=8` leads to `/count?n=9`.
    Query,
    /// `/count/8` leads to `/count/9`.
    Path,
    /// `/login?next=/login%3Fnext=…`: a page that leads to itself.
    Login,
    /// A page after each third redirect, which leads on.
    Pages,
}

/// The script that counts clicks.
struct Clicks {
    plot: Plot,
    endless: Endless,
    go: &'static str,
    /// The parameter with the URL, and that of the count.
    to: &'static str,
    count: &'static str,
    is_coded: bool,
    /// How many redirects there are before the page.
    steps: usize,
    /// Whether the URL of a page has the count in the end.
    keeps: bool,
    /// Whether the navigation of articles leads through it too.
    all: bool,
}

/// The links of articles lead through a counter, while those of lists are plain; another counter counts for ever.
pub(crate) fn redirects(host: &str, dice: &mut Dice) -> World {
    let names = [("to", "n"), ("u", "hits"), ("url", "c"), ("target", "click"), ("goto", "r")];
    let (to, count) = *dice.pick(&names);
    let endless = [Endless::Query, Endless::Path, Endless::Login, Endless::Pages];
    let clicks = Clicks {
        plot: Plot::usual(host, dice).everywhere(),
        endless: *dice.pick(&endless),
        go: ["/go", "/out.php", "/jump.asp", "/link", "/plus/download.php"][dice.roll(5)],
        to,
        count,
        is_coded: dice.one_in(2),
        steps: 1 + dice.roll(3),
        keeps: dice.one_in(2),
        all: dice.one_in(2),
    };
    World::new(host, clicks.plot.site.pages(), move |_, target| clicks.answer(target))
}

impl Clicks {
    fn answer(&self, target: &str) -> Answer {
        let (site, asked) = (&self.plot.site, Target::parse(target));
        let count = asked.number(self.count).unwrap_or_default();
        if asked.path == self.go {
            return self.counted(asked, count);
        }
        if let Some(answer) = self.endless(target, &asked) {
            return answer;
        }
        let path = asked.without(self.count).show();
        let Some(page) = site.number(&path) else { return Answer::Missing };
        let mut place = 0;
        let mut to = |path: &str| {
            if !self.counts(page, path) {
                return path.to_owned();
            }
            place += 1;
            self.link(path, (count + place * self.steps) / self.steps * self.steps)
        };
        let number = Dice::of(target).roll(10_000) * 40;
        let mut more = vec![plain(match self.endless {
            Endless::Query | Endless::Pages => format!("/count?n={number}"),
            Endless::Path => format!("/count/{number}"),
            Endless::Login => format!("/login?next={}", escaped(target)),
        })];
        if page == 0 {
            more.extend(site.hidden().map(|page| (to(site.path(page)), site.link(page).1)));
        }
        Answer::Honest(page, site.changed(page, &mut to, &more))
    }

    /// The redirect to the next count, or to the page.
    fn counted(&self, asked: Target, count: usize) -> Answer {
        if count % self.steps < self.steps - 1 {
            return Answer::Redirect(asked.set(self.count, count + 1).show());
        }
        let value = asked.get(self.to).unwrap_or_default();
        let is_it = |page: &usize| {
            [self.plot.site.path(*page), &base64(self.plot.site.path(*page))].contains(&value)
        };
        let page = (0..self.plot.site.pages()).find(is_it).unwrap_or_default();
        let end = Target::parse(self.plot.site.path(page));
        let end = if self.keeps { end.with(self.count, count + 1) } else { end };
        Answer::Redirect(end.show())
    }

    /// Whether the link of a page to a path leads through the counter.
    fn counts(&self, from: usize, path: &str) -> bool {
        let site = &self.plot.site;
        let Some(to) = site.number(path) else { return false };
        let first = site.articles().start;
        if from < first { site.hidden().contains(&to) } else { to >= first || self.all }
    }

    fn link(&self, path: &str, count: usize) -> String {
        // A query within the parameter needs the coded form.
        let is_coded = self.is_coded || path.contains('?');
        let value = if is_coded { base64(path) } else { path.to_owned() };
        Target::new(self.go).with(self.to, value).with(self.count, count).show()
    }

    /// What the counter without an end answers.
    fn endless(&self, target: &str, asked: &Target) -> Option<Answer> {
        let after = |mark: &str| target.strip_prefix("/count")?.strip_prefix(mark)?.parse().ok();
        let next = |count: usize, mark: &str| format!("/count{mark}{}", count + 1);
        match self.endless {
            Endless::Query => Some(Answer::Redirect(next(after("?n=")?, "?n="))),
            Endless::Path => Some(Answer::Redirect(next(after("/")?, "/"))),
            Endless::Pages => {
                let count = after("?n=")?;
                let next = next(count, "?n=");
                Some(if count % 3 == 2 {
                    self.plot.junk(target, &count.to_string(), "", &[plain(next)])
                } else {
                    Answer::Redirect(next)
                })
            }
            Endless::Login => {
                let next = format!("/login?next={}", escaped(target));
                let is_it = asked.path == "/login";
                is_it.then(|| self.plot.junk("login", "Log in", "", &[plain(next)]))
            }
        }
    }
}

fn escaped(target: &str) -> String {
    target.replace('%', "%25").replace('?', "%3F").replace('&', "%26").replace('=', "%3D")
}
