//! Twelve traps, each beside an honest site that links to it from all of its pages.

use pagesieve::crawl::scope::Reach;

use crate::{
    honest::{Changes, Honest, anchor},
    prose::{Dice, Language},
    target::Target,
    world::{Answer, World},
};

/// What the host of a trap answers.
type Trap = fn(&Honest, &str, &str) -> Answer;

const TRAPS: [(&str, Trap); 12] = [
    ("calendar", calendar),
    ("facets in any order", facets),
    ("session in query", session_in_query),
    ("session in path", session_in_path),
    ("growing path", growing_path),
    ("growing path with noise", growing_noise),
    ("nested relative links", nested_links),
    ("soft 404", soft_404),
    ("parameter order", parameter_order),
    ("redirects that count", redirects),
    ("endless pager", pager),
    ("unlimited subdomains", subdomains),
];

const ARTICLES: usize = 300;
const SUBDOMAINS: usize = 12_000;

/// The twelve worlds, in turn English and Chinese.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    TRAPS.into_iter().enumerate().map(|(number, (name, trap))| {
        let language = [Language::English, Language::Chinese][number % 2];
        world(name, language, trap)
    })
}

/// A trap beside an honest site.
pub(crate) fn world(name: &str, language: Language, trap: Trap) -> World {
    let host = format!("{}.test", name.replace(' ', "-"));
    let site = Honest::new(&host, language, ARTICLES);
    let mut hosts = vec![host.clone()];
    let mut reach = Reach::Host;
    if name.contains("subdomains") {
        hosts.extend((0..SUBDOMAINS).map(|number| format!("{}.{host}", subdomain(number))));
        reach = Reach::Domain;
    }
    World {
        name: name.to_owned(),
        seeds: vec![format!("http://{host}/")],
        hosts,
        reach,
        pages: site.pages(),
        answer: Box::new(move |host, target| trap(&site, host, target)),
    }
}

/// An honest page with one more link in its navigation, or else what `trap` has.
fn beside(
    site: &Honest,
    target: &str,
    more: &[(String, &str)],
    trap: impl FnOnce() -> Answer,
) -> Answer {
    site.number(target).map_or_else(trap, |page| Answer::honest(page, site.html(page, more)))
}

/// Months and days without an end, most of them empty.
fn calendar(site: &Honest, _: &str, target: &str) -> Answer {
    let show = |month: usize| format!("/calendar/{}/{:02}/", month / 12, month % 12 + 1);
    let more = [(show(24_322), site.prose.say("Calendar", "日历"))];
    beside(site, target, &more, || {
        let parts: Vec<usize> = target.split('/').filter_map(|part| part.parse().ok()).collect();
        let (month, day) = match parts[..] {
            [year, month] => (year * 12 + month.saturating_sub(1), None),
            [year, month, day] => (year * 12 + month.saturating_sub(1), Some(day)),
            _ => return Answer::missing(),
        };
        let title = format!(
            "{} {}-{:02}{}",
            site.prose.say("Events in", "活动"),
            month / 12,
            month % 12 + 1,
            day.map_or_else(String::new, |day| format!("-{day:02}"))
        );
        let mut body = String::new();
        if let Some(day) = day {
            let has_event = Dice::of(target).roll(20) == 0;
            body += site.prose.say("<p>No events on this day.</p>", "<p>这一天没有活动。</p>");
            if has_event {
                body += &format!("<p>{}</p>", site.prose.teaser(&format!("event {target}")));
            }
            body += &anchor(&format!("{}{:02}/", show(month), day % 28 + 1), "next");
        } else {
            body += "<table>";
            for day in 1..=28 {
                let to = format!("{}{day:02}/", show(month));
                body += &format!("<td>{}</td>", anchor(&to, &day.to_string()));
            }
            body += "</table>";
            for month in [month.saturating_sub(1), month + 1, month.saturating_sub(12), month + 12]
            {
                body += &anchor(&show(month), &show(month));
            }
        }
        Answer::junk(site.other(&title, &body, &more))
    })
}

const FACETS: [[&str; 6]; 5] = [
    ["red", "green", "blue", "black", "white", "grey"],
    ["small", "medium", "large", "x-large", "tiny", "one-size"],
    ["cotton", "wool", "linen", "silk", "leather", "denim"],
    ["new", "used", "sale", "outlet", "rare", "classic"],
    ["asc", "desc", "rank", "price", "name", "date"],
];

/// Lists of articles by facets that are parts of the path, in the order in which they were chosen.
fn facets(site: &Honest, _: &str, target: &str) -> Answer {
    let more = [("/list/".to_owned(), site.prose.say("All articles", "全部文章"))];
    beside(site, target, &more, || {
        let Some(rest) = target.strip_prefix("/list/") else { return Answer::missing() };
        let chosen: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let mut sorted = chosen.clone();
        sorted.sort_unstable();
        let mut dice = Dice::of(&sorted.join("/"));
        let pages: Vec<usize> = (0..8).map(|_| site.any_article(&mut dice)).collect();
        let mut body = site.teasers(&pages) + "<aside>";
        for facet in FACETS {
            let kept: Vec<&str> =
                chosen.iter().copied().filter(|value| !facet.contains(value)).collect();
            for value in facet {
                let all: Vec<&str> = kept.iter().copied().chain([value]).collect();
                body += &anchor(&format!("/list/{}/", all.join("/")), value);
            }
        }
        body += "</aside>";
        let title = format!("{} {}", site.prose.say("Articles", "文章"), chosen.join(", "));
        Answer::junk(site.other(&title, &body, &more))
    })
}

/// The session of a link: sessions end now and then.
fn next_session(
    session: Option<&str>,
    dice: &mut Dice,
    id: impl Fn(&mut Dice) -> String,
) -> String {
    match session {
        Some(session) if dice.roll(6) > 0 => session.to_owned(),
        _ => id(dice),
    }
}

fn session_in_query(site: &Honest, _: &str, target: &str) -> Answer {
    let (asked, mut dice) = (Target::parse(target), Dice::of(target));
    let session = asked.get("PHPSESSID");
    let mut to = |path: &str| {
        let session = next_session(session, &mut dice, |dice| dice.hex(32));
        Target::new(path).with("PHPSESSID", session).show()
    };
    site.number(&asked.path).map_or_else(Answer::missing, |page| {
        Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &[] }))
    })
}

fn session_in_path(site: &Honest, _: &str, target: &str) -> Answer {
    let rest = target.strip_prefix("/(S(").and_then(|rest| rest.split_once("))"));
    let (session, path) = rest.map_or((None, target), |(session, path)| (Some(session), path));
    let mut dice = Dice::of(target);
    let id = |dice: &mut Dice| {
        let letters = b"abcdefghijklmnopqrstuvwxyz012345";
        (0..24).map(|_| char::from(*dice.pick(letters))).collect()
    };
    let mut to = |path: &str| format!("/(S({})){path}", next_session(session, &mut dice, id));
    site.number(path).map_or_else(Answer::missing, |page| {
        Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &[] }))
    })
}

/// Any path below `/archive/` is answered, with relative links that lengthen it; the text depends on the last part only.
fn growing_path(site: &Honest, _: &str, target: &str) -> Answer {
    grow(site, target, |last| site.prose.paragraphs(&format!("grown {last}"), 4))
}

/// The same, but each page has a text of its own.
fn growing_noise(site: &Honest, _: &str, target: &str) -> Answer {
    grow(site, target, |last| {
        site.prose.paragraphs(&format!("grown {last}"), 1)
            + &site.prose.paragraphs(&format!("noise {target}"), 3)
    })
}

fn grow(site: &Honest, target: &str, text: impl FnOnce(&str) -> String) -> Answer {
    const PARTS: [&str; 4] = ["news", "archive", "press", "media"];
    let more = [("/archive/".to_owned(), site.prose.say("Archive", "存档"))];
    beside(site, target, &more, || {
        let parts: Vec<&str> = target.split('/').filter(|part| !part.is_empty()).collect();
        if !parts.iter().all(|part| PARTS.contains(part)) {
            return Answer::missing();
        }
        let last = parts.last().copied().unwrap_or_default();
        let mut body = text(last);
        for part in PARTS.into_iter().filter(|part| *part != last) {
            body += &anchor(&format!("{part}/"), part);
        }
        Answer::junk(site.other(last, &body, &more))
    })
}

/// The links of articles lack their first slash, so that the directory of the article is put before them; the server looks at the
/// last two parts of a path only.
fn nested_links(site: &Honest, _: &str, target: &str) -> Answer {
    let parts: Vec<&str> = target.split('/').collect();
    let tail = parts.len().saturating_sub(2);
    let path = format!("/{}", parts[tail.max(1)..].join("/"));
    let Some(page) = site.number(&path) else { return Answer::missing() };
    let is_article = !path.ends_with('/');
    let mut to = |to: &str| {
        if is_article && !to.ends_with('/') { to[1..].to_owned() } else { to.to_owned() }
    };
    Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &[] }))
}

/// What does not exist is answered like a page, and names other pages that do not exist.
fn soft_404(site: &Honest, _: &str, target: &str) -> Answer {
    let broken = |dice: &mut Dice| {
        let section = site.path(1 + dice.roll(8));
        let name = dice.hex(5);
        format!("{section}{name}.html")
    };
    let mut dice = Dice::of(target);
    let more: Vec<(String, &str)> =
        (0..3).map(|_| (broken(&mut dice), site.prose.say("More", "更多"))).collect();
    beside(site, target, &more, || {
        let mut dice = Dice::of(target);
        let pages: Vec<usize> = (0..5).map(|_| site.any_article(&mut dice)).collect();
        let body = format!(
            "<p>{} <b>{target}</b></p><h2>{}</h2>{}",
            site.prose.say("We could not find the page", "找不到页面"),
            site.prose.say("You may have looked for", "您要找的可能是"),
            site.teasers(&pages)
        );
        Answer::junk(site.other(site.prose.say("Page not found", "页面不存在"), &body, &more))
    })
}

/// Pages are addressed by five parameters, which each link has in another order.
fn parameter_order(site: &Honest, _: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    let Some(page) = (match asked.path.as_str() {
        "/" => Some(0),
        "/show" => asked.number("id").filter(|page| *page < site.pages()),
        _ => None,
    }) else {
        return Answer::missing();
    };
    let mut dice = Dice::of(target);
    let mut to = |path: &str| {
        let id = site.number(path).unwrap_or_default();
        let section = path.split('/').nth(1).unwrap_or_default();
        let all = [
            ("id", id.to_string()),
            ("section", section.to_owned()),
            ("view", "full".to_owned()),
            ("lang", "en".to_owned()),
            ("theme", "blue".to_owned()),
        ];
        let mut left = all.to_vec();
        let mut target = Target::new("/show");
        while !left.is_empty() {
            let (name, value) = left.remove(dice.roll(left.len()));
            target = target.with(name, value);
        }
        target.show()
    };
    Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &[] }))
}

/// Links to articles lead through a counter, which is put on the address of the article and counts on; another counts for ever.
fn redirects(site: &Honest, _: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    let count = asked.number("n").unwrap_or_default();
    match asked.path.as_str() {
        "/go" => {
            let to = asked.get("to").unwrap_or("/").to_owned();
            let next = asked.set("n", count + 1);
            Answer::redirect(
                if count % 3 == 2 { Target::new(to).with("n", count + 1) } else { next }.show(),
            )
        }
        "/count" => Answer::redirect(asked.set("n", count + 1).show()),
        path => {
            let mut to = |path: &str| {
                if path.ends_with('/') {
                    path.to_owned()
                } else {
                    Target::new("/go").with("to", path).with("n", count).show()
                }
            };
            let more = [(
                Target::new("/count").with("n", count * 40).show(),
                site.prose.say("Statistics", "统计"),
            )];
            site.number(path).map_or_else(Answer::missing, |page| {
                Answer::honest(page, site.changed(page, Changes { to: &mut to, more: &more }))
            })
        }
    }
}

/// A list of all articles whose pager does not end with them: what follows are articles that were listed before.
fn pager(site: &Honest, _: &str, target: &str) -> Answer {
    let more = [("/news?page=1".to_owned(), site.prose.say("News", "新闻"))];
    beside(site, target, &more, || {
        let asked = Target::parse(target);
        let Some(number) = asked.number("page").filter(|_| asked.path == "/news") else {
            return Answer::missing();
        };
        let mut dice = Dice::of(target);
        let pages: Vec<usize> = (0..10)
            .map(|place| {
                let page = number.saturating_sub(1) * 10 + place;
                if page < site.pages() { page } else { site.any_article(&mut dice) }
            })
            .collect();
        let mut body = site.teasers(&pages);
        for page in [number.saturating_sub(1).max(1), number + 1, number + 2, number + 10] {
            body += &anchor(&Target::new("/news").with("page", page).show(), &page.to_string());
        }
        let title = format!("{} {number}", site.prose.say("News, page", "新闻 第"));
        Answer::junk(site.other(&title, &body, &more))
    })
}

fn subdomain(number: usize) -> String {
    let mut dice = Dice::of(&format!("subdomain {number}"));
    let place = ["spring", "lake", "mill", "oak", "stone", "river", "ash", "north"];
    let end = ["field", "ton", "ville", "ford", "port", "bury", "wick", "dale"];
    format!("{}{}-{number}", dice.pick(&place), dice.pick(&end))
}

/// Every town has a host of its own, whose page names its town and links to other towns.
fn subdomains(site: &Honest, host: &str, target: &str) -> Answer {
    let town = |number: usize| format!("http://{}.{}/", subdomain(number), site.host);
    let mut dice = Dice::of(host);
    let more: Vec<(String, &str)> = (0..5)
        .map(|_| (town(dice.roll(SUBDOMAINS)), site.prose.say("Near you", "您的附近")))
        .collect();
    if host == site.host {
        return beside(site, target, &more, Answer::missing);
    }
    if target != "/" {
        return Answer::missing();
    }
    let name = host.split('-').next().unwrap_or_default();
    let body = format!(
        "<p>{} {name}.</p>{}",
        site.prose.say("The best offers in", "最好的优惠在"),
        site.prose.paragraphs("offers", 3)
    );
    Answer::junk(site.other_host(name, &body, &more))
}
