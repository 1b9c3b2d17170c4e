//! A forum by the numbers of its threads, and a parameter that changes a few pages.

use super::{
    Planned,
    plot::{Plot, made_up},
    site::{Changes, Link, Place, Size, links},
};
use crate::{prose::Dice, target::Target, world::Answer};

/// How a forum addresses a list or a thread, with the page of each.
type Address = (fn(usize, usize) -> String, fn(usize, usize) -> String);

const ADDRESSES: [Address; 8] = [
    (
        |forum, page| format!("/forum-{forum}-{page}.html"),
        |thread, page| format!("/thread-{thread}-{page}-1.html"),
    ),
    (
        |forum, page| format!("/viewforum.php?f={forum}&start={}", page * 25),
        |thread, page| format!("/viewtopic.php?t={thread}&start={}", page * 15),
    ),
    (
        |forum, page| format!("/forumdisplay.php?fid={forum}&page={page}"),
        |thread, page| format!("/showthread.php?tid={thread}&page={page}"),
    ),
    (|forum, page| format!("/f/{forum}/{page}"), |thread, page| format!("/t/{thread}/{page}")),
    (
        |forum, page| format!("/index.php/board,{forum}.{page}.html"),
        |thread, page| format!("/index.php/topic,{thread}.{page}.html"),
    ),
    (
        |forum, page| format!("/dispbbs.asp?boardid={forum}&page={page}"),
        |thread, page| format!("/dispbbs.asp?boardid=1&id={thread}&star={page}"),
    ),
    (
        |forum, page| format!("/?board={forum}.{page}"),
        |thread, page| format!("/?topic={thread}.{page}"),
    ),
    (
        |forum, page| format!("/bbs/list;forum={forum};page={page}"),
        |thread, page| format!("/bbs/read;thread={thread};page={page}"),
    ),
];

/// A forum.
struct Forum {
    plot: Plot,
    address: Address,
    forums: usize,
    threads: usize,
    first: usize,
    step: usize,
    posts: usize,
    has_next: bool,
    has_reply: bool,
}

/// Threads with posts of their own, some with a second page.
pub(crate) fn forum(host: &str, dice: &mut Dice) -> Planned {
    let forum = Forum {
        plot: Plot::new(host, Size { listed: 40 + dice.roll(60), hidden: 0 }, dice).everywhere(),
        address: *dice.pick(&ADDRESSES),
        forums: 2 + dice.roll(5),
        threads: 220 + dice.roll(60),
        first: 1 + dice.roll(90_000),
        step: 1 + dice.roll(12),
        posts: 2 + dice.roll(4),
        has_next: dice.roll(2) == 0,
        has_reply: dice.roll(2) == 0,
    };
    let pages = forum.plot.site.pages() + forum.threads * 2;
    let missing = (0..forum.threads).filter(|thread| !forum.has_second(*thread)).count();
    Planned::new(pages - missing, move |_, target| {
        let name = forum.plot.site.prose.say("Forum", "论坛");
        let entry = |_: &mut Dice| {
            (1..=forum.forums)
                .map(|number| ((forum.address.0)(number, 1), name.to_owned()))
                .collect()
        };
        forum.plot.beside(target, entry, || forum.answer(target))
    })
}

impl Forum {
    fn has_second(&self, thread: usize) -> bool {
        (thread + self.first).is_multiple_of(5)
    }

    fn thread(&self, thread: usize, page: usize) -> Link {
        let number = self.first + thread * self.step;
        (
            (self.address.1)(number, page),
            self.plot.site.prose.title(&format!("{} thread {thread}", self.plot.site.host)),
        )
    }

    fn answer(&self, target: &str) -> Answer {
        let site = &self.plot.site;
        for thread in 0..self.threads {
            for page in 1..=1 + usize::from(self.has_second(thread)) {
                if self.thread(thread, page).0 == target {
                    return self.posts(thread, page);
                }
            }
        }
        for forum in 1..=self.forums {
            let of: Vec<usize> =
                (0..self.threads).filter(|thread| thread % self.forums == forum - 1).collect();
            for (page, threads) in of.chunks(20).enumerate() {
                if (self.address.0)(forum, page + 1) == target {
                    let mut all: Vec<Link> =
                        threads.iter().map(|thread| self.thread(*thread, 1)).collect();
                    all.extend(
                        (1..=of.chunks(20).len())
                            .map(|page| ((self.address.0)(forum, page), page.to_string())),
                    );
                    let title =
                        format!("{} {forum} - {}", site.prose.say("Forum", "论坛"), page + 1);
                    return Answer::junk(site.other(&title, &links(&all), &[], Place::Body));
                }
            }
        }
        if target.starts_with("/reply?") {
            let text = site.prose.say("Please log in.", "请先登录。");
            return Answer::junk(site.other(text, "", &[], Place::Body));
        }
        Answer::missing()
    }

    fn posts(&self, thread: usize, page: usize) -> Answer {
        let (site, mut body) = (&self.plot.site, String::new());
        for post in 0..self.posts {
            let key = format!("{} thread {thread} {page} {post}", site.host);
            let user = Dice::of(&key).roll(60);
            let who = site.prose.title(&format!("user {user}"));
            // Everybody signs with a saying.
            let signature = site.prose.teaser(&format!("signature {user}"));
            body += &format!(
                "<div><b>{who}</b>{}<hr><i>{signature}</i></div>",
                site.prose.paragraphs(&key, 1)
            );
        }
        let mut all = Vec::new();
        if self.has_second(thread) {
            all.extend((1..=2).map(|page| self.thread(thread, page)));
        }
        if self.has_next {
            let near = [thread.wrapping_sub(1), thread + 1]
                .into_iter()
                .filter(|near| *near < self.threads);
            all.extend(near.map(|near| self.thread(near, 1)));
        }
        if self.has_reply {
            let to = Target::new("/reply").with("tid", self.first + thread * self.step).show();
            all.push((to, site.prose.say("Reply", "回复").to_owned()));
        }
        let seconds = (0..thread).filter(|thread| self.has_second(*thread)).count();
        let number = site.pages() + thread + seconds + page - 1;
        Answer::honest(
            number,
            site.other(&self.thread(thread, page).1, &(body + &links(&all)), &[], Place::Body),
        )
    }
}

/// One page in a hundred has another text with the parameter.
pub(crate) fn parameter(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::new(host, Size { listed: 600 + dice.roll(400), hidden: 0 }, dice);
    let own = made_up(2, dice);
    let known = [
        ("lang", "de"),
        ("print", "1"),
        ("currency", "EUR"),
        ("version", "2.1"),
        ("region", "cn"),
        ("amp", "1"),
        ("format", "long"),
        ("VIEW", "ALL"),
    ];
    let (name, value) =
        if dice.roll(4) == 0 { (own[0].as_str(), own[1].as_str()) } else { *dice.pick(&known) };
    let (name, value) = (name.to_owned(), value.to_owned());
    // Whether the links of a page with the parameter have it too.
    let (is_kept, place) = (dice.roll(2) == 0, plot.place);
    let site = plot.site;
    let mut changed: Vec<usize> = site.articles().collect();
    dice.shuffle(&mut changed);
    changed.truncate(site.pages().div_ceil(100));
    Planned::new(site.pages() + changed.len(), move |_, target| {
        let asked = Target::parse(target);
        let has = asked.get(&name).is_some();
        let path = asked.without(&name).show();
        let Some(page) = site.number(&path) else { return Answer::missing() };
        let with = |path: &str| Target::parse(path).with(&name, &value).show();
        if let (true, Some(number)) = (has, changed.iter().position(|known| *known == page)) {
            let text = site.prose.paragraphs(&format!("changed {} {path}", site.host), 4);
            return Answer::honest(
                site.pages() + number,
                site.other(site.title(page), &text, &[], place),
            );
        }
        let more = [(
            if has { path.clone() } else { with(&path) },
            site.prose.say("Version", "版本").to_owned(),
        )];
        let mut to = |path: &str| if has && is_kept { with(path) } else { path.to_owned() };
        Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &more, place }))
    })
}
