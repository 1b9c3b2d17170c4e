//! Pages that do not exist, parameters in any order, and redirects that count.

use super::{
    Planned,
    plot::{Plot, base64, from_base64, made_up, plain},
    site::{Changes, Link},
};
use crate::{prose::Dice, target::Target, world::Answer};

/// How the address of a page that does not exist looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dead {
    /// `/section/3fa0c.html`
    Hex,
    /// `/section/barock-lolen`
    Words,
    /// `/item/48213`
    Number,
    /// `/search?q=barock`
    Search,
    /// `/tag/barock/`
    Tag,
    /// `/index.php?id=48213`
    Script,
    /// The address of an article with something behind it.
    Behind,
    /// `/download/uuid`
    Uuid,
    /// `/javascript:open('48213')`
    Code,
    /// `/BAROCK.ASPX`
    Upper,
}

const DEAD: [Dead; 10] = [
    Dead::Hex,
    Dead::Words,
    Dead::Number,
    Dead::Search,
    Dead::Tag,
    Dead::Script,
    Dead::Behind,
    Dead::Uuid,
    Dead::Code,
    Dead::Upper,
];

/// What does not exist is answered like a page, and often names more of the like.
pub(crate) fn soft_404(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice).everywhere();
    let (dead, name) = (*dice.pick(&DEAD), made_up(1, dice).remove(0));
    // Without further ones the trap is as large as the site.
    let (onward, on_page) = (dice.roll(5), 1 + dice.roll(4));
    let pages = plot.site.pages();
    Planned::new(pages, move |_, target| {
        let site = &plot.site;
        let draw = |count: usize, dice: &mut Dice| -> Vec<Link> {
            (0..count).map(|_| plain(dead_link(&plot, dead, &name, dice))).collect()
        };
        plot.beside(
            target,
            |dice| draw(on_page, dice),
            || {
                let mut dice = Dice::of(&format!("dead {target}"));
                let more = draw(onward, &mut dice);
                let popular: Vec<Link> = site.hidden().map(|page| site.link(page)).collect();
                let body = format!("<h2>{}</h2>", site.prose.say("Popular", "热门"))
                    + &super::site::links(&popular);
                let label =
                    target.rsplit(['/', '=']).find(|part| !part.is_empty()).unwrap_or_default();
                plot.junk(target, label, &body, &more)
            },
        )
    })
}

fn dead_link(plot: &Plot, dead: Dead, name: &str, dice: &mut Dice) -> String {
    let site = &plot.site;
    let number = 40_000 + dice.roll(1_000_000);
    let words = made_up(2, dice);
    match dead {
        Dead::Hex => format!("/{name}/{}.html", dice.hex(5)),
        Dead::Words => format!("/{name}/{}-{}", words[0], words[1]),
        Dead::Number => format!("/{name}/{number}"),
        Dead::Search => Target::new("/search").with("q", &words[0]).show(),
        Dead::Tag => format!("/tag/{}/", words[0]),
        Dead::Script => format!("/{name}.php?id={number}"),
        Dead::Behind => {
            let path = Target::parse(site.path(site.any(dice))).path;
            format!("{}/{}", path.trim_end_matches('/'), words[0])
        }
        Dead::Uuid => {
            format!("/{name}/{}", [8, 4, 4, 4, 12].map(|digits| dice.hex(digits)).join("-"))
        }
        Dead::Code => format!("/{name}/javascript:show({number})"),
        Dead::Upper => format!("/{}/{}.ASPX", name.to_uppercase(), words[0].to_uppercase()),
    }
}

/// The parameters beside the one that counts, and their values.
const BESIDE: [(&str, &[&str]); 10] = [
    ("section", &["main"]),
    ("view", &["full"]),
    ("lang", &["en", "en", "en", "zh"]),
    ("theme", &["blue"]),
    ("ref", &["home", "list", "mail", "side"]),
    ("Itemid", &["12"]),
    ("mod", &["view"]),
    ("pos", &["1", "2", "3", "4", "5", "6"]),
    ("utm_source", &["feed", "mail"]),
    ("print", &["", "0"]),
];

/// Pages are addressed by parameters that each link has in another order, and some of which do nothing.
pub(crate) fn parameters(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::open(host, dice);
    let key = (*dice.pick(&["id", "aid", "ID", "articleid", "p", "tid", "doc", "wd"])).to_owned();
    let script = (*dice.pick(&[
        "/show",
        "/view.php",
        "/article.asp",
        "/Default.aspx",
        "/a",
        "/servlet/Show",
    ]))
    .to_owned();
    let mut beside = BESIDE.to_vec();
    dice.shuffle(&mut beside);
    beside.truncate(2 + dice.roll(4));
    let (leaves_out, varies) = (dice.roll(2) == 0, dice.roll(2) == 0);
    let mask = if dice.roll(4) == 0 { 0x5a_5a5a } else { 0 };
    let pages = plot.site.pages();
    Planned::new(pages, move |_, target| {
        let (site, asked) = (&plot.site, Target::parse(target));
        let page = if target == "/" {
            Some(0)
        } else if asked.path == script {
            asked.number(&key).map(|id| id ^ mask)
        } else {
            None
        };
        let Some(page) = page.filter(|page| *page < site.pages()) else { return Answer::missing() };
        let mut dice = Dice::of(&format!("order {target}"));
        let mut to = |path: &str| {
            let id = site.number(path).unwrap_or_default() ^ mask;
            let mut left = vec![(key.as_str(), id.to_string())];
            for (name, values) in &beside {
                let value = if varies { *dice.pick(values) } else { values[0] };
                if !leaves_out || dice.roll(3) > 0 {
                    left.push((name, value.to_owned()));
                }
            }
            dice.shuffle(&mut left);
            left.into_iter()
                .fold(Target::new(script.as_str()), |target, (name, value)| {
                    target.with(name, value)
                })
                .show()
        };
        Answer::honest(
            page,
            site.changed(page, Changes { to: &mut to, more: &[], place: plot.place }),
        )
    })
}

/// A counter without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endless {
    /// `/count?n=8` leads to `/count?n=9`.
    Query,
    /// `/r/8` leads to `/r/9`.
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
    /// The parameter with the address, and that of the count.
    to: &'static str,
    count: &'static str,
    is_coded: bool,
    /// How many redirects there are before the page.
    steps: usize,
    /// Whether the address of a page has the count in the end.
    keeps: bool,
    /// Whether the navigation of articles leads through it too.
    all: bool,
}

const SCRIPTS: [&str; 6] =
    ["/go", "/out.php", "/jump.asp", "/link", "/redirect.php", "/plus/download.php"];

/// The links of articles lead through a counter, while those of lists are plain; another counter counts for ever.
pub(crate) fn redirects(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice).everywhere();
    let endless = *dice.pick(&[Endless::Query, Endless::Path, Endless::Login, Endless::Pages]);
    let go = *dice.pick(&SCRIPTS);
    let (to, count) =
        *dice.pick(&[("to", "n"), ("u", "hits"), ("url", "c"), ("target", "click"), ("goto", "r")]);
    let (is_coded, steps) = (dice.roll(2) == 0, 1 + dice.roll(3));
    let (keeps, all) = (dice.roll(2) == 0, dice.roll(2) == 0);
    let clicks = Clicks { plot, endless, go, to, count, is_coded, steps, keeps, all };
    Planned::new(clicks.plot.site.pages(), move |_, target| clicks.answer(target))
}

impl Clicks {
    fn answer(&self, target: &str) -> Answer {
        let (site, asked) = (&self.plot.site, Target::parse(target));
        let count = asked.number(self.count).unwrap_or_default();
        if asked.path == self.go {
            return self.counted(asked, count);
        }
        if let Some(answer) = counted(&self.plot, self.endless, target) {
            return answer;
        }
        let path = asked.without(self.count).show();
        let Some(page) = site.number(&path) else { return Answer::missing() };
        let mut place = 0;
        let mut to = |path: &str| {
            if !self.counts(page, path) {
                return path.to_owned();
            }
            place += 1;
            self.link(path, (count + place * self.steps) / self.steps * self.steps)
        };
        let mut more = vec![plain(self.entry(target))];
        if page == 0 {
            let named =
                site.hidden().map(|page| (to(site.path(page)), site.title(page).to_owned()));
            more.extend(named.collect::<Vec<_>>());
        }
        let changes = Changes { to: &mut to, more: &more, place: self.plot.place };
        Answer::honest(page, site.changed(page, changes))
    }

    /// The redirect to the next count, or to the page.
    fn counted(&self, asked: Target, count: usize) -> Answer {
        let to = asked.get(self.to).unwrap_or("/").to_owned();
        if count % self.steps < self.steps - 1 {
            return Answer::redirect(asked.set(self.count, count + 1).show());
        }
        let end = Target::parse(&from_base64(&to).unwrap_or(to));
        let end = if self.keeps { end.with(self.count, count + 1) } else { end };
        Answer::redirect(end.show())
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

    /// The link to the counter without an end.
    fn entry(&self, target: &str) -> String {
        let number = Dice::of(target).roll(10_000) * 40;
        match self.endless {
            Endless::Query | Endless::Pages => format!("/count?n={number}"),
            Endless::Path => format!("/r/{number}"),
            Endless::Login => format!("/login?next={}", escaped(target)),
        }
    }
}

/// What the counter without an end answers.
fn counted(plot: &Plot, endless: Endless, target: &str) -> Option<Answer> {
    let asked = Target::parse(target);
    match endless {
        Endless::Query | Endless::Pages if asked.path == "/count" => {
            let count = asked.number("n").unwrap_or_default();
            let next = Target::new("/count").with("n", count + 1).show();
            Some(if endless == Endless::Pages && count % 3 == 2 {
                plot.junk(target, &count.to_string(), "", &[plain(next)])
            } else {
                Answer::redirect(next)
            })
        }
        Endless::Path => {
            let count = asked.number_below("/r/", "")?;
            Some(Answer::redirect(format!("/r/{}", count + 1)))
        }
        Endless::Login if asked.path == "/login" => {
            let next = format!("/login?next={}", escaped(target));
            Some(plot.junk("login", plot.site.prose.say("Log in", "登录"), "", &[plain(next)]))
        }
        _ => None,
    }
}

fn escaped(target: &str) -> String {
    target.replace('%', "%25").replace('?', "%3F").replace('&', "%26").replace('=', "%3D")
}
