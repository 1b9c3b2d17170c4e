//! Eighteen more traps, each beside an honest site with a sidebar, and with the site's own pages inside some of them.

use std::fmt::Display;

use pagesieve::crawl::scope::Reach;
use url::form_urlencoded;

use crate::{
    honest::{Changes, Honest, anchor},
    more_false_traps,
    prose::{Dice, Language, Prose},
    target::Target,
    traps,
    world::{Answer, World},
};

/// What the host of a trap answers.
type Trap = fn(&Honest, &str, &str) -> Answer;

const TRAPS: [(&str, Language, Trap); 18] = [
    ("searches in paths", Language::English, searches),
    ("searches in a query", Language::English, searches),
    ("comparisons of products", Language::Chinese, comparisons),
    ("weather by day", Language::English, weather),
    ("languages and currencies", Language::Chinese, currencies),
    ("spellings of a path", Language::English, spellings),
    ("ids that wrap around", Language::Chinese, wrapped),
    ("slugs at random", Language::English, slugs),
    ("mobile, print and share", Language::Chinese, companions),
    ("members without posts", Language::English, members),
    ("pages through a proxy", Language::Chinese, proxy),
    ("ranges of dates", Language::English, ranges),
    ("directories in a loop", Language::English, directories),
    ("branches on a map", Language::Chinese, branches),
    ("marked links and teasers", Language::Chinese, marked),
    ("citations of articles", Language::English, citations),
    ("page it came from", Language::Chinese, came_from),
    ("machine translations", Language::English, translations),
];

/// The traps, then the honest sites.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let traps = TRAPS.into_iter().map(|(name, language, trap)| {
        let mut world = traps::world(&name.replace(',', ""), language, trap);
        if name.starts_with("mobile") {
            world.hosts.push(format!("m.{}", world.hosts[0]));
            world.reach = Reach::Domain;
        }
        world.pages += match name {
            "directories in a loop" => DIRECTORIES * FILES,
            "branches on a map" => BRANCHES,
            _ => 0,
        };
        world
    });
    traps.chain(more_false_traps::worlds())
}

/// A list of links with a heading.
pub(crate) fn block(
    heading: impl Display,
    links: impl Iterator<Item = (String, String)>,
) -> String {
    let links: String =
        links.map(|(to, name)| format!("<li>{}</li>\n", anchor(&to, &name))).collect();
    format!("<section><h4>{heading}</h4><ul>{links}</ul></section>\n")
}

/// What a trap adds to a page.
#[derive(Default)]
struct More {
    /// At the end of the text.
    body: String,
    /// In the sidebar.
    aside: String,
}

impl More {
    fn aside(aside: String) -> Self {
        Self { aside, ..Self::default() }
    }
}

fn title(site: &Honest, page: usize) -> String {
    site.prose.title(&format!("{}{}", site.host, site.path(page)))
}

/// The page in its frame with a sidebar: the same five links on each page, a letter to subscribe to, and what the trap adds.
fn with_sidebar(
    site: &Honest,
    html: &str,
    to: &mut dyn FnMut(&str) -> String,
    more: &More,
) -> String {
    let mut dice = Dice::of(&site.host);
    let read: Vec<(String, String)> = (0..5)
        .map(|_| site.any_article(&mut dice))
        .map(|page| (to(site.path(page)), title(site, page)))
        .collect();
    let letter = site.prose.say(
        "<p>Our letter comes every Friday. Give us your address, and leave at any time.</p>",
        "<p>每周五发送电子报，请留下您的邮箱地址，您可以随时退订。</p>",
    );
    let aside = block(site.prose.say("Most read", "热门文章"), read.into_iter());
    html.replacen("</article>", &format!("{}</article>", more.body), 1).replacen(
        "<footer>",
        &format!("<aside>{aside}{letter}{}</aside>\n<footer>", more.aside),
        1,
    )
}

/// A page that is to be found, with changed links.
fn changed(site: &Honest, page: usize, to: &mut dyn FnMut(&str) -> String, more: &More) -> Answer {
    let html = site.changed(page, Changes { to, more: &[] });
    Answer::honest(page, with_sidebar(site, &html, to, more))
}

/// A page of the trap.
fn junk(site: &Honest, title: &str, body: &str, more: &More) -> Answer {
    let html = site.other(title, body, &[]);
    Answer::junk(with_sidebar(site, &html, &mut str::to_owned, more))
}

/// An honest page with more in its sidebar, or else what `trap` has.
fn beside(site: &Honest, path: &str, aside: &str, trap: impl FnOnce() -> Answer) -> Answer {
    site.number(path).map_or_else(trap, |page| {
        changed(site, page, &mut str::to_owned, &More::aside(aside.to_owned()))
    })
}

fn word(number: usize) -> String {
    let words = Prose { language: Language::English, words: Vec::new() };
    words.own_word(&mut Dice::of(&format!("query {number}")))
}

/// The words and the number of a list of results.
fn searched(target: &str) -> Option<(Vec<String>, usize)> {
    let asked = Target::parse(target);
    let of_query = asked.get("q").map(|query| (query, asked.get("p")));
    let (query, list) = of_query.or_else(|| {
        let rest = asked.path.strip_prefix("/s/")?.strip_suffix(".html")?;
        let parts = rest.split_once("/p");
        Some(parts.map_or((rest, None), |(query, list)| (query, Some(list))))
    })?;
    let words = query.split(['-', '+']).map(str::to_owned).collect();
    Some((words, list.and_then(|list| list.parse().ok()).unwrap_or(1)))
}

/// Results for some words, which lead to searches for other words, for one more, and to more results.
fn searches(site: &Honest, _: &str, target: &str) -> Answer {
    let is_query = site.host.contains("query");
    let address = |words: &[String], list: usize| match (is_query, list) {
        (true, 1) => format!("/s?q={}", words.join("+")),
        (true, _) => format!("/s?q={}&p={list}", words.join("+")),
        (false, 1) => format!("/s/{}.html", words.join("-")),
        (false, _) => format!("/s/{}/p{list}.html", words.join("-")),
    };
    let mut dice = Dice::of(&format!("searches {target}"));
    let popular = (0..5).map(|_| vec![word(dice.roll(400)), word(dice.roll(400))]);
    let popular = block(
        site.prose.say("Popular searches", "热门搜索"),
        popular.map(|words| (address(&words, 1), words.join(" "))),
    );
    beside(site, target, &popular, || {
        let Some((words, list)) = searched(target) else { return Answer::missing() };
        let mut sorted = words.clone();
        sorted.sort_unstable();
        let mut dice = Dice::of(&format!("{} {list}", sorted.join(" ")));
        let found = 20 + dice.roll(60);
        let pages: Vec<usize> = (0..8).map(|_| site.any_article(&mut dice)).collect();
        let related = (0..8).map(|place| {
            let mut other = words.clone();
            if place % 2 == 0 && other.len() < 4 {
                other.push(word(dice.roll(400)));
            } else {
                let end = other.len() - 1;
                other[end] = word(dice.roll(400));
            }
            (address(&other, 1), other.join(" "))
        });
        let related = block("Related searches", related);
        let lists = (1..=4).map(|list| (address(&words, list), list.to_string()));
        let name = words.join(" ");
        let body = format!(
            "<p>{found} results for <b>{name}</b></p>{}{related}{}",
            site.teasers(&pages),
            block("Pages", lists)
        );
        junk(site, &format!("{name}: results, page {list}"), &body, &More::aside(popular.clone()))
    })
}

/// Two to four products beside each other, in the order in which they were chosen.
fn comparisons(site: &Honest, _: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    let address = |ids: &[usize]| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        Target::new("/compare").with("ids", ids.join(",")).show()
    };
    let own = site.number(target).map_or_else(String::new, |page| {
        let mut dice = Dice::of(&format!("rivals {page}"));
        let rivals = (0..3).map(|_| site.any_article(&mut dice));
        let links = rivals.map(|other| (address(&[page, other]), title(site, other)));
        block("与同类产品对比", links)
    });
    beside(site, target, &own, || {
        let ids = asked.get("ids").filter(|_| asked.path == "/compare").unwrap_or_default();
        let ids: Vec<usize> = ids.split(',').filter_map(|id| id.parse().ok()).collect();
        if ids.is_empty() || ids.iter().any(|id| *id >= site.pages()) {
            return Answer::missing();
        }
        let mut body = site.teasers(&ids) + "<table>";
        for feature in ["价格", "重量", "尺寸", "保修", "颜色"] {
            body += &format!("<tr><th>{feature}</th>");
            for id in &ids {
                let mut dice = Dice::of(&format!("{feature} {id}"));
                body += &format!("<td>{}</td>", dice.roll(900));
            }
            body += "</tr>";
        }
        let without = |id: &usize| {
            let left: Vec<usize> = ids.iter().copied().filter(|other| other != id).collect();
            (address(&left), "删除".to_owned())
        };
        body += "</table>";
        if ids.len() > 1 {
            body += &block("移除", ids.iter().map(without));
        }
        if ids.len() < 4 {
            let mut dice = Dice::of(target);
            let other = (0..6).map(|_| site.any_article(&mut dice));
            let added = other
                .map(|other| (address(&[ids.as_slice(), &[other]].concat()), title(site, other)));
            body += &block("添加产品", added);
        }
        let names: Vec<String> = ids.iter().map(|id| title(site, *id)).collect();
        junk(site, &(names.join(" 与 ") + " 对比"), &body, &More::default())
    })
}

/// A date whose months have 28 days.
fn date(day: usize) -> String {
    format!("{}-{:02}-{:02}", day / 336, day / 28 % 12 + 1, day % 28 + 1)
}

fn day(date: &str) -> Option<usize> {
    let parts: Vec<usize> = date.split('-').map_while(|part| part.parse().ok()).collect();
    match parts[..] {
        [year, month @ 1..=12, day @ 1..=28] => Some(year * 336 + (month - 1) * 28 + day - 1),
        _ => None,
    }
}

/// A sentence and eight rows of numbers for a day; a table of the days of a week or month.
fn forecast(city: &str, view: &str, day: usize) -> String {
    let (days, step) = match view {
        "day" => (1, 1),
        "week" => (7, 1),
        _ => (28, 1),
    };
    let mut body = String::new();
    for at in (day..day + days).step_by(step) {
        let mut dice = Dice::of(&format!("{city} {at}"));
        let sky = ["sunny", "cloudy", "overcast", "light rain", "heavy rain", "snow", "fog"];
        let summary = format!("{}, {} degrees", *dice.pick(&sky), dice.roll(30));
        if days == 1 {
            body += &format!("<p>The weather in {city} on this day: {summary}.</p><table>");
            for hour in 0..8 {
                let (degrees, wind, rain) = (dice.roll(30), dice.roll(60), dice.roll(100));
                body += &format!(
                    "<tr><td>{:02}:00</td><td>{}</td><td>{degrees} °C</td><td>{wind} km/h</td><td>{rain} %</td></tr>",
                    hour * 3,
                    dice.pick(&sky)
                );
            }
            body += "</table>";
        } else {
            let to = format!("/weather/{city}/day/{}", date(at));
            body += &format!("<p>{}: {summary}</p>", anchor(&to, &date(at)));
        }
    }
    body
}

/// The weather of any day, week and month in 25 towns, with a calendar file for each.
fn weather(site: &Honest, _: &str, target: &str) -> Answer {
    const TODAY: usize = 2_024 * 336 + 150;
    let address =
        |city: &str, view: &str, day: usize| format!("/weather/{city}/{view}/{}", date(day));
    let mut dice = Dice::of(&format!("city {target}"));
    let cities = (0..3).map(|_| word(dice.roll(25)));
    let aside = block("Weather", cities.map(|city| (address(&city, "day", TODAY), city)));
    beside(site, target, &aside, || {
        let parts: Vec<&str> = target.split('/').skip(1).collect();
        let ["weather", city, view @ ("day" | "week" | "month"), at] = parts[..] else {
            return Answer::missing();
        };
        if at.strip_suffix(".ics").is_some_and(|at| day(at).is_some()) {
            return Answer::file("text/calendar");
        }
        let Some(day) = day(at) else { return Answer::missing() };
        let step = match view {
            "day" => 1,
            "week" => 7,
            _ => 28,
        };
        let near = [
            ("previous", day.saturating_sub(step)),
            ("next", day + step),
            ("a year ago", day.saturating_sub(336)),
        ];
        let mut body = forecast(city, view, day);
        let near = near.map(|(name, day)| (address(city, view, day), name.to_owned()));
        body += &block("Other days", near.into_iter());
        let views = ["day", "week", "month"].map(|it| (address(city, it, day), it.to_owned()));
        body += &block("Views", views.into_iter());
        let file = (address(city, view, day) + ".ics", "Add to calendar".to_owned());
        body += &block("Files", [file].into_iter());
        let name = format!("Weather in {city}, {view} of {at}");
        junk(site, &name, &body, &More::aside(aside.clone()))
    })
}

/// A page can be shown in six languages and eight currencies: they change its frame and a price. Links keep what was chosen.
fn currencies(site: &Honest, _: &str, target: &str) -> Answer {
    const LANGUAGES: [&str; 6] = ["zh", "en", "ja", "ko", "de", "fr"];
    const CURRENCIES: [&str; 8] = ["CNY", "USD", "EUR", "GBP", "JPY", "KRW", "HKD", "CHF"];
    let asked = Target::parse(target);
    let Some(page) = site.number(&asked.path) else { return Answer::missing() };
    let choices = |name: &'static str, all: &'static [&'static str]| {
        block(name, all.iter().map(|it| (asked.clone().set(name, it).show(), (*it).to_owned())))
    };
    let lang = asked.get("lang").unwrap_or("zh");
    let currency = asked.get("currency").unwrap_or("CNY");
    let mut dice = Dice::of(lang);
    let words: Vec<String> = (0..20).map(|_| site.prose.own_word(&mut dice)).collect();
    let price = Dice::of(&format!("{page} {currency}")).roll(9_000);
    let more = More {
        body: format!("<p>{price} {currency}</p>"),
        aside: choices("lang", &LANGUAGES)
            + &choices("currency", &CURRENCIES)
            + &format!("<p>{}</p>", words.join(site.prose.say(" ", ""))),
    };
    let mut to = |path: &str| Target { path: path.to_owned(), ..asked.clone() }.show();
    changed(site, page, &mut to, &more)
}

/// Each link spells its path in another way: capitals, escapes, doubled slashes, a parameter of the path.
fn spellings(site: &Honest, _: &str, target: &str) -> Answer {
    let mut plain = String::new();
    let mut letters = target.split(';').next().unwrap_or_default().chars();
    while let Some(letter) = letters.next() {
        let letter = if letter == '%' {
            let code: String = letters.by_ref().take(2).collect();
            u8::from_str_radix(&code, 16).map_or('?', char::from)
        } else {
            letter
        };
        if !(letter == '/' && plain.ends_with('/')) {
            plain.push(letter.to_ascii_lowercase());
        }
    }
    let Some(page) = site.number(&plain) else { return Answer::missing() };
    let mut to = |path: &str| {
        let mut dice = Dice::of(&format!("{target} to {path}"));
        match dice.roll(9) {
            0 => path.to_ascii_uppercase(),
            1 => path.replacen('/', "//", 2).replacen("//", "/", 1),
            2 => format!("{path};v={}", dice.roll(9)),
            3 => {
                let at = 1 + dice.roll(path.len().saturating_sub(1).max(1));
                let (before, after) = path.split_at(at.min(path.len()));
                let mut after = after.chars();
                let code =
                    after.next().map_or_else(String::new, |it| format!("%{:02X}", it as u32));
                format!("{before}{code}{}", after.as_str())
            }
            4 => path
                .split_inclusive(['/', '-'])
                .map(|word| word[..1].to_ascii_uppercase() + &word[1..])
                .collect(),
            _ => path.to_owned(),
        }
    };
    changed(site, page, &mut to, &More::default())
}

/// Pages by number; a number above the last shows what its remainder has. Each page leads to the next and the one before.
fn wrapped(site: &Honest, _: &str, target: &str) -> Answer {
    let address = |id: usize| format!("/view/{id}.html");
    let id = Target::parse(target).number_below("/view/", ".html");
    let Some(id) = id.or((target == "/").then_some(0)) else { return Answer::missing() };
    let near = [("上一篇", id.saturating_sub(1)), ("下一篇", id + 1), ("下十篇", id + 10)];
    let near = near.map(|(name, id)| (address(id), name.to_owned()));
    let more = More { body: block("更多", near.into_iter()), aside: String::new() };
    let mut to = |path: &str| address(site.number(path).unwrap_or_default());
    changed(site, id % site.pages(), &mut to, &more)
}

/// The id of a page alone selects it; links to articles have three words besides, which depend on the page that they are on.
fn slugs(site: &Honest, _: &str, target: &str) -> Answer {
    let id = target.strip_prefix("/p/").and_then(|rest| rest.split('-').next()?.parse().ok());
    let id = id.or((target == "/").then_some(0)).filter(|id| *id < site.pages());
    let Some(page) = id else { return Answer::missing() };
    let mut to = |path: &str| {
        let id = site.number(path).unwrap_or_default();
        let from = if path.ends_with('/') { 0 } else { page };
        let mut dice = Dice::of(&format!("from {from} to {id}"));
        let words: Vec<String> = (0..3).map(|_| word(dice.roll(4_000))).collect();
        format!("/p/{id}-{}", words.join("-"))
    };
    changed(site, page, &mut to, &More::default())
}

fn escaped(url: &str) -> String {
    form_urlencoded::byte_serialize(url.as_bytes()).collect()
}

fn unescaped(value: &str) -> String {
    form_urlencoded::parse(value.as_bytes()).next().map_or_else(String::new, |it| it.0.into_owned())
}

/// Each page has a copy for phones at a host of its own, a copy to print, one for a reader's application, a form to send it, and four to share it.
fn companions(site: &Honest, host: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    if ["/share", "/mail"].contains(&asked.path.as_str()) {
        let path = unescaped(asked.get("u").unwrap_or_default());
        let Some(page) = site.number(&path) else { return Answer::missing() };
        let form = "<p>请登录后分享。请输入好友的邮箱地址和留言，然后点击发送。</p>";
        let body = format!("{form}{}", anchor(&path, &title(site, page)));
        return junk(site, &format!("分享 {}", title(site, page)), &body, &More::default());
    }
    let path = asked.path.strip_prefix("/print").or(asked.path.strip_prefix("/app"));
    let path = path.unwrap_or(&asked.path);
    let Some(page) = site.number(path) else { return Answer::missing() };
    if path != asked.path {
        let mut to = str::to_owned;
        let html = site.changed(page, Changes { to: &mut to, more: &[] });
        return Answer::honest(page, html);
    }
    if host.starts_with("m.") {
        let desktop = [(format!("http://{}{path}", site.host), "电脑版")];
        let html = site.html(page, &desktop);
        return Answer::honest(page, html);
    }
    let share = ["weibo", "qq", "weixin", "douban"].map(|to| {
        (Target::new("/share").with("to", to).with("u", escaped(path)).show(), to.to_owned())
    });
    let other = [
        (format!("http://m.{}{path}", site.host), "手机版"),
        (format!("/print{path}"), "打印"),
        (format!("/app{path}"), "客户端"),
        (Target::new("/mail").with("u", escaped(path)).show(), "发送"),
    ];
    let other = other.map(|(to, name)| (to, name.to_owned()));
    let more = More { body: block("分享", share.into_iter().chain(other)), aside: String::new() };
    changed(site, page, &mut str::to_owned, &more)
}

/// Ten million members, most of whom have written nothing; each has followers, and three tabs.
fn members(site: &Honest, _: &str, target: &str) -> Answer {
    const MEMBERS: usize = 10_000_000;
    let name = |id: usize| [word(id % 3_001), word(id % 4_003)].join(" ");
    let link = |id: usize| (format!("/member/{id}"), name(id));
    let mut dice = Dice::of(&format!("online {target}"));
    let online = block("Members online", (0..4).map(|_| link(dice.roll(MEMBERS))));
    beside(site, target, &online, || {
        let asked = Target::parse(target);
        let Some(id) = asked.number_below("/member/", "").filter(|id| *id < MEMBERS) else {
            return Answer::missing();
        };
        let mut dice = Dice::of(&format!("member {id}"));
        let (since, followers) = (2_005 + dice.roll(19), dice.roll(90));
        let name = name(id);
        let none = match asked.get("tab") {
            Some("likes") => "has not liked anything yet",
            Some("photos") => "has not shared any photos",
            _ => "has not written anything yet",
        };
        let mut body = format!(
            "<p>{name} has been a member since {since} and has {followers} followers.</p><p>{name} {none}.</p>"
        );
        let tabs = ["posts", "likes", "photos"]
            .map(|tab| (Target::new(asked.path.clone()).with("tab", tab).show(), tab.to_owned()));
        body += &block("Profile", tabs.into_iter());
        body += &block("Followers", (0..6).map(|_| link(dice.roll(MEMBERS))));
        junk(site, &name, &body, &More::aside(online.clone()))
    })
}

/// Any page of the site through a proxy, whose links lead through it again, and so does the link to the proxy itself.
fn proxy(site: &Honest, _: &str, target: &str) -> Answer {
    let through = |path: &str| {
        let url = escaped(&format!("http://{}{path}", site.host));
        Target::new("/proxy").with("u", url).show()
    };
    let aside = block("工具", [(through(target), "通过代理查看".to_owned())].into_iter());
    let mut path = target.to_owned();
    while let Some(inner) = path.strip_prefix("/proxy?u=") {
        let inner = unescaped(inner);
        let origin = format!("http://{}", site.host);
        path = inner.strip_prefix(&origin).map(str::to_owned).unwrap_or_default();
    }
    let Some(page) = site.number(&path) else { return Answer::missing() };
    let more = More::aside(aside);
    if path == target {
        changed(site, page, &mut str::to_owned, &more)
    } else {
        changed(site, page, &mut |path| through(path), &more)
    }
}

/// Articles of any range of days, with links to ranges earlier, later, longer and shorter.
fn ranges(site: &Honest, _: &str, target: &str) -> Answer {
    const FIRST: usize = 2_021 * 336;
    const DAYS: usize = 3 * 336;
    let range = |from: usize, to: usize| {
        Target::new("/archive").with("from", date(from)).with("to", date(to))
    };
    let own = site.number(target).map_or_else(String::new, |page| {
        let day = FIRST + Dice::of(&format!("day of {page}")).roll(DAYS);
        let ranges = [0, 7, 28].map(|days| range(day - days, day + days).show());
        block("Of these days", ranges.map(|to| (to.clone(), to)).into_iter())
    });
    beside(site, target, &own, || {
        let asked = Target::parse(target);
        let (Some(from), Some(to)) =
            (asked.get("from").and_then(day), asked.get("to").and_then(day))
        else {
            return Answer::missing();
        };
        let mut pages: Vec<usize> = (9..site.pages())
            .filter(|page| {
                let day = FIRST + Dice::of(&format!("day of {page}")).roll(DAYS);
                (from..=to).contains(&day)
            })
            .collect();
        if asked.get("order") == Some("oldest") {
            pages.reverse();
        }
        let found = pages.len();
        pages.truncate(10);
        let none = "<p>Nothing was published in this time. Choose other days.</p>";
        let mut body = if pages.is_empty() { none.to_owned() } else { site.teasers(&pages) };
        let length = to.saturating_sub(from) + 1;
        let other = [
            ("earlier", range(from.saturating_sub(length), to.saturating_sub(length))),
            ("later", range(from + length, to + length)),
            ("longer", range(from.saturating_sub(length / 2 + 1), to + length / 2 + 1)),
            ("shorter", range(from + length / 4, to - length / 4)),
            ("the last week", range(to.saturating_sub(6), to)),
            ("oldest first", asked.clone().set("order", "oldest")),
        ];
        body += &block("Change", other.into_iter().map(|(name, to)| (to.show(), name.to_owned())));
        let title = format!("{found} articles from {} to {}", date(from), date(to));
        junk(site, &title, &body, &More::default())
    })
}

const DIRECTORIES: usize = 12;
const FILES: usize = 10;

/// Listings of twelve directories in eight orders. In each directory, `current` is a link to the first. The files are to be found.
fn directories(site: &Honest, _: &str, target: &str) -> Answer {
    let aside = block("Files", [("/pub/".to_owned(), "Download area".to_owned())].into_iter());
    beside(site, target, &aside, || {
        let asked = Target::parse(target);
        let Some(rest) = asked.path.strip_prefix("/pub/") else { return Answer::missing() };
        let rest = rest.rsplit("current/").next().unwrap_or_default();
        let (directory, file) = rest.split_once('/').unwrap_or(("", rest));
        let number = (0..DIRECTORIES).find(|it| word(*it) == directory);
        if (number.is_none() && !directory.is_empty()) || (number.is_none() && !file.is_empty()) {
            return Answer::missing();
        }
        let start = number.unwrap_or_default() * FILES;
        let name = |file: usize| format!("{}-{file}.html", word(100 + file));
        if !file.is_empty() {
            let Some(file) = (start..start + FILES).find(|it| name(*it) == file) else {
                return Answer::missing();
            };
            let text = site.prose.paragraphs(&format!("file {file}"), 6);
            return Answer::honest(
                site.pages() + file,
                format!(
                    "<html><head><title>{}</title></head><body><pre>{text}</pre></body></html>",
                    name(file)
                ),
            );
        }
        let mut entries: Vec<String> = match number {
            Some(_) => (start..start + FILES).map(name).collect(),
            None => (0..DIRECTORIES).map(|it| word(it) + "/").collect(),
        };
        entries.push("current/".to_owned());
        let query = target.split_once('?').map_or("", |(_, query)| query);
        entries.sort_by_key(|it| Dice::of(&format!("{query} {it}")).roll(1 << 30));
        let mut html = format!(
            "<html><head><title>Index of {0}</title></head><body><h1>Index of {0}</h1><table><tr>",
            asked.path
        );
        for (column, key) in
            [("Name", 'N'), ("Last modified", 'M'), ("Size", 'S'), ("Description", 'D')]
        {
            let order = if query == format!("C={key};O=A") { 'D' } else { 'A' };
            html += &format!("<th>{}</th>", anchor(&format!("?C={key};O={order}"), column));
        }
        html += "</tr><tr><td><a href=\"../\">Parent Directory</a></td></tr>";
        for entry in entries {
            let kilobytes = Dice::of(&entry).roll(90);
            html += &format!(
                "<tr><td>{}</td><td>2019-04-12 10:22</td><td>{kilobytes}K</td></tr>",
                anchor(&entry, &entry)
            );
        }
        Answer::junk(html + "</table><address>Apache/2.4 Server at port 80</address></body></html>")
    })
}

const BRANCHES: usize = 60;

/// The four branches nearest to any place of a map, which moves and zooms. The branches are to be found, and a list has them all.
fn branches(site: &Honest, _: &str, target: &str) -> Answer {
    let place = |branch: usize| {
        let mut dice = Dice::of(&format!("branch {branch}"));
        (2_000 + dice.roll(2_000), 9_000 + dice.roll(3_000))
    };
    let decimal = |it: usize| format!("{}.{:02}", it / 100, it % 100);
    let map = |lat: usize, lng: usize, zoom: usize| {
        Target::new("/map")
            .with("lat", decimal(lat))
            .with("lng", decimal(lng))
            .with("z", zoom)
            .show()
    };
    let branch = |it: usize| (format!("/branch/{it}"), site.prose.title(&format!("branch {it}")));
    let aside = block("服务", [("/branches".to_owned(), "全部网点".to_owned())].into_iter());
    beside(site, target, &aside, || {
        let (asked, more) = (Target::parse(target), More::aside(aside.clone()));
        if asked.path == "/branches" {
            return junk(site, "全部网点", &block("网点", (0..BRANCHES).map(branch)), &more);
        }
        if let Some(number) = asked.number_below("/branch/", "").filter(|it| *it < BRANCHES) {
            let (lat, lng) = place(number);
            let near = [(map(lat, lng, 12), "在地图上查看".to_owned())];
            let name = format!("branch {number}");
            let body = site.prose.paragraphs(&name, 2) + &block("地图", near.into_iter());
            let html = with_sidebar(
                site,
                &site.other(&site.prose.title(&name), &body, &[]),
                &mut str::to_owned,
                &more,
            );
            return Answer::honest(site.pages() + number, html);
        }
        let number =
            |name| asked.get(name).and_then(|it| it.replace('.', "").parse::<usize>().ok());
        let (Some(lat), Some(lng), Some(zoom)) = (number("lat"), number("lng"), number("z")) else {
            return Answer::missing();
        };
        let mut near: Vec<usize> = (0..BRANCHES).collect();
        near.sort_by_key(|it| {
            place(*it).0.abs_diff(lat).pow(2) + place(*it).1.abs_diff(lng).pow(2)
        });
        let step = 1 << (16_usize.saturating_sub(zoom)).min(10);
        let moves = [
            ("北", map(lat + step, lng, zoom)),
            ("南", map(lat.saturating_sub(step), lng, zoom)),
            ("东", map(lat, lng + step, zoom)),
            ("西", map(lat, lng.saturating_sub(step), zoom)),
            ("放大", map(lat, lng, (zoom + 1).min(18))),
            ("缩小", map(lat, lng, zoom.saturating_sub(1).max(4))),
        ];
        let mut body = format!("<p>您附近的网点（{}，{}）：</p>", decimal(lat), decimal(lng));
        body += &block("网点", near.into_iter().take(4).map(branch));
        body += &block("移动", moves.into_iter().map(|(name, to)| (to, name.to_owned())));
        junk(site, "网点地图", &body, &more)
    })
}

/// Each link is marked with the page and the place that it is on; below each text are ten teasers, others for each mark.
fn marked(site: &Honest, _: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    let Some(page) = site.number(&asked.path) else { return Answer::missing() };
    let mut place = 0;
    let mut to = |path: &str| {
        place += 1;
        let mark =
            format!("c{}i{place}_{}", 11_000 + page, Dice::of(&format!("{target} {place}")).hex(8));
        Target::new(path).with("log_from", mark).show()
    };
    let mut dice = Dice::of(&format!("teasers {target}"));
    let mut body = String::new();
    for _ in 0..10 {
        let other = site.any_article(&mut dice);
        let name = format!("{}{}", site.host, site.path(other));
        let link = anchor(&to(site.path(other)), &title(site, other));
        body += &format!("<h3>{link}</h3><p>{}</p>", site.prose.teaser(&name));
    }
    changed(site, page, &mut to, &More { body, aside: String::new() })
}

/// Each article can be cited in eight styles, and saved in six formats.
fn citations(site: &Honest, _: &str, target: &str) -> Answer {
    const STYLES: [&str; 8] =
        ["apa", "mla", "chicago", "harvard", "ieee", "ama", "acs", "vancouver"];
    const FORMATS: [&str; 6] = ["ris", "bib", "enw", "xml", "csv", "txt"];
    let asked = Target::parse(target);
    let cite = |page: usize, style: &str| {
        Target::new("/cite").with("id", page).with("style", style).show()
    };
    if let Some(page) = asked.number("id").filter(|page| *page < site.pages()) {
        if asked.path == "/export" {
            return Answer::file("application/x-research-info-systems");
        }
        let style = asked.get("style").unwrap_or_default();
        let mut dice = Dice::of(&format!("author {page}"));
        let author = [word(dice.roll(900)), word(dice.roll(900))].join(", ");
        let body = format!(
            "<p>Cited in the style {style}:</p><p>{author} ({}). {}. {}, {}, {}-{}.</p>",
            1990 + dice.roll(34),
            title(site, page),
            title(site, 0),
            dice.roll(80),
            dice.roll(400),
            400 + dice.roll(400),
        ) + &block("Styles", STYLES.iter().map(|it| (cite(page, it), (*it).to_owned())));
        return junk(site, &format!("Cite {}", title(site, page)), &body, &More::default());
    }
    let Some(page) = site.number(target) else { return Answer::missing() };
    let export = |it: &&str| {
        (Target::new("/export").with("id", page).with("format", it).show(), (*it).to_owned())
    };
    let links = block("Cite as", [(cite(page, "apa"), "APA".to_owned())].into_iter())
        + &block("Save as", FORMATS.iter().map(export));
    changed(site, page, &mut str::to_owned, &More { body: links, aside: String::new() })
}

/// Each link names the page that it is on.
fn came_from(site: &Honest, _: &str, target: &str) -> Answer {
    let asked = Target::parse(target);
    let Some(page) = site.number(&asked.path) else { return Answer::missing() };
    let back = unescaped(asked.get("back").unwrap_or_default());
    let mut more = More::default();
    if site.number(&back).is_some() {
        more.body = block("返回", [(back, "返回上一页".to_owned())].into_iter());
    }
    let mut to = |path: &str| Target::new(path).with("back", escaped(&asked.path)).show();
    changed(site, page, &mut to, &more)
}

/// Any page in twelve languages by machine, with links that keep the language: their texts are all new, but nobody needs them.
fn translations(site: &Honest, _: &str, target: &str) -> Answer {
    const LANGUAGES: [&str; 12] =
        ["fr", "de", "it", "es", "nl", "pt", "sv", "pl", "tr", "cs", "fi", "hu"];
    let address = |path: &str, lang: &str| {
        Target::new("/translate").with("u", escaped(path)).with("tl", lang).show()
    };
    let asked = Target::parse(target);
    let in_all = |path: &str| {
        block("Languages", LANGUAGES.iter().map(|lang| (address(path, lang), (*lang).to_owned())))
    };
    beside(site, target, &in_all(target), || {
        let path = unescaped(asked.get("u").unwrap_or_default());
        let (Some(page), Some(lang)) = (site.number(&path), asked.get("tl")) else {
            return Answer::missing();
        };
        let name = format!("{lang} {path}");
        let mut dice = Dice::of(&format!("related {path}"));
        let related = (0..6).map(|_| site.any_article(&mut dice));
        let related = related.map(|it| (address(site.path(it), lang), title(site, it)));
        let body = site.prose.paragraphs(&name, 5) + &block("Related", related);
        junk(
            site,
            &format!("{} ({lang} {page})", site.prose.title(&name)),
            &body,
            &More::aside(in_all(&path)),
        )
    })
}
