//! Paths that grow, because the server answers to any and its links are relative.

use super::{
    addresses::Addresses,
    plot::{NOISE, Plot, named},
    site::{Link, links},
};
use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// What is put after the base, before each part and after the last one.
const STYLES: [[&str; 3]; 4] =
    [["", "/", "/"], ["", "/", "/index.html"], ["", "/index.php/", ""], ["?dir=", "/", ""]];

const PARTS: [&[&str]; 7] = [
    &["news", "archive", "press", "media"],
    &["en", "de", "fr", "zh"],
    &["current", "latest"],
    &["pub"],
    &["About", "Contact", "Products", "NEWS"],
    &["2021", "2022", "2023"],
    &["about-us", "our-team", "jobs", "imprint", "privacy", "sitemap"],
];

/// The text depends on the last part only.
pub(crate) fn growing(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::open(host, dice);
    planned(plot, false, dice)
}

/// Each page has some noise of its own in a frame that depends on the last part.
pub(crate) fn with_noise(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::open(host, dice).saying(*dice.pick(&NOISE));
    planned(plot, true, dice)
}

/// A tree of directories that contain each other.
fn planned(plot: Plot, has_noise: bool, dice: &mut Dice) -> World {
    let count = 2 + dice.roll(5);
    let own = dice.made_up(count);
    let known = dice.pick(&PARTS).iter().map(|it| (*it).to_owned()).collect();
    let parts: Vec<String> = if dice.one_in(4) { own } else { known };
    // Whether the last part stands for a page of its own, which is to be found; and whether a part may follow itself.
    let is_real = !has_noise && dice.one_in(2);
    let repeats = parts.len() == 1 || dice.one_in(4);
    let [start, before, after] = *dice.pick(&STYLES);
    let base = *dice.pick(&["/archive", "/files", "/pub", "/static", "/old", "/docs2"]);
    let addresses = Addresses::new(&["/"], dice);
    let pages = plot.site.pages();
    let texts = if is_real { parts.len() } else { 0 };
    let host = plot.site.host.clone();
    World::new(&host, pages + texts, move |host, target| {
        let (site, prose) = (&plot.site, &plot.site.prose);
        let link = |path: &[usize], name: &str| {
            let all: String = path.iter().map(|it| [before, &parts[*it]].concat()).collect();
            named(addresses.keep(format!("{base}{start}{all}{after}"), path.to_vec()), name)
        };
        let entry = link(&[], "Archive");
        let grown = |path: &[usize]| {
            let last = path.last().map_or("", |it| &parts[*it]);
            let next = (0..parts.len()).filter(|it| repeats || path.last() != Some(it));
            let onward = next.map(|it| link(&[path, &[it]].concat(), &parts[it]));
            let onward: Vec<Link> = onward.collect();
            let title = prose.title(&format!("grown {last}"));
            match path.last() {
                Some(number) if is_real => {
                    let text = prose.paragraphs(&format!("grown {host} {last}"), 4);
                    let html = site.other(&title, &(text + &links(&onward)));
                    Answer::Honest(pages + number, html)
                }
                _ if has_noise => {
                    let text = prose.paragraphs(&format!("grown {last}"), 1);
                    plot.junk(target, &target.replace('/', " / "), &text, &onward)
                }
                _ => plot.junk(last, &title, "", &onward),
            }
        };
        let trap = || addresses.read(target).map_or(Answer::Missing, |path| grown(&path));
        plot.beside(target, |_| vec![entry], trap)
    })
}

/// Which links lack their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    All,
    Articles,
    Lists,
}

/// Links lack their first slash or their scheme, so that the directory of the page is put before them; the server looks at the end of a
/// path only, or says that there is no such page.
pub(crate) fn nested(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::open(host, dice);
    let in_root = plot.site.path(plot.site.articles().start).matches('/').count() < 2;
    let (has_host, is_soft) = (in_root || dice.one_in(4), dice.one_in(3));
    let any = *dice.pick(&[Broken::All, Broken::Articles, Broken::Lists]);
    let broken = if is_soft { Broken::Lists } else { any };
    World::new(host, plot.site.pages(), move |host, target| {
        let site = &plot.site;
        let to = |path: &str| match broken {
            _ if path == "/" => path.to_owned(),
            Broken::Articles if site.is_list(path) => path.to_owned(),
            Broken::Lists if !site.is_list(path) => path.to_owned(),
            _ if has_host => format!("{host}{path}"),
            _ => path[1..].to_owned(),
        };
        let ends = target.match_indices('/').map(|(at, _)| &target[at..]);
        match ends.clone().find_map(|end| site.number(end)) {
            Some(page) if !is_soft || site.number(target).is_some() => {
                Answer::Honest(page, site.changed(page, &mut { to }, &[]))
            }
            Some(_) => {
                let onward = site.lists().map(|list| (to(site.path(list)), site.link(list).1));
                plot.junk(target, "Page not found", "", &onward.collect::<Vec<_>>())
            }
            None => Answer::Missing,
        }
    })
}
