//! More sites of well-known software, written without regard to what is learnt from them.
//!
//! Each is `as shipped`: its robots tags, its `rel=nofollow`, its canonical links, and none of the links that its robots.txt disallows.

use std::ops::Range;

use bytes::Bytes;

use crate::{
    confluence::confluence,
    dedecms::dedecms,
    drupal::drupal,
    gitlab::gitlab,
    magento::{magento, magento_with_sessions},
    prose::{Dice, Prose},
    serve::Reply,
    smf::{smf, smf_with_sessions},
    software::{as_shipped, item, without_robots_tags},
    target::Target,
    trac::trac,
    vbulletin::{vbulletin, vbulletin_without_archive},
    world::World,
};

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let shipped = [
        drupal,
        trac,
        gitlab,
        magento,
        magento_with_sessions,
        dedecms,
        smf,
        smf_with_sessions,
        vbulletin,
        vbulletin_without_archive,
        confluence,
    ];
    let open = [drupal, trac, smf, vbulletin];
    let without_nofollow = [smf, vbulletin, vbulletin_without_archive];
    let shipped = shipped.into_iter().map(|world| as_shipped(world()));
    let open = open.into_iter().map(|world| without_robots_tags(world()));
    let without_nofollow = without_nofollow.into_iter().map(|world| without_nofollow_of(world()));
    shipped.chain(open).chain(without_nofollow)
}

/// In a theme that keeps the robots tags and forgets `rel=nofollow`.
fn without_nofollow_of(world: World) -> World {
    let world = as_shipped(world);
    let World { answer, name, .. } = world;
    let answer = Box::new(move |host: &str, target: &str| {
        let mut given = answer(host, target);
        if let Reply::Page(html) = &mut given.reply {
            let text = String::from_utf8_lossy(html).replace(" rel=\"nofollow\"", "");
            *html = Bytes::from(text);
        }
        given
    });
    World { answer, name: format!("{name} without nofollow"), ..world }
}

/// A page with a header, a sidebar and a footer.
pub(crate) fn frame(prose: &Prose, title: &str, menu: &str, body: &str, side: &str) -> String {
    let lang = prose.say("en", "zh-CN");
    let home = prose.say("Home of the project", "网站首页");
    let rights = prose.say(
        "Copyright. All rights reserved. Terms of use. Privacy. Contact.",
        "版权所有。使用条款。隐私政策。联系我们。",
    );
    format!(
        "<!DOCTYPE html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{title} | {home}</title></head>\n<body>\
         <header><a href=\"/\">{home}</a>\n<nav><ul>\n{menu}</ul></nav></header>\n<main><article><h1>{title}</h1>\n{body}</article></main>\n\
         <aside>\n{side}</aside>\n<footer>{rights}</footer></body></html>"
    )
}

/// From one to seven paragraphs.
pub(crate) fn text(prose: &Prose, name: &str) -> String {
    prose.paragraphs(name, 1 + Dice::of(&format!("length of {name}")).roll(7))
}

/// The first words of a text.
pub(crate) fn beginning(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').take(20).collect();
    words.join(" ") + "</p>"
}

/// Links to the pages of a list near one, and to its first and last.
pub(crate) fn pager(at: usize, pages: Range<usize>, to: impl Fn(usize) -> Target) -> String {
    let near = |it: &usize| it.abs_diff(at) < 5 || *it == pages.start || *it + 1 == pages.end;
    pages.clone().filter(near).filter(|it| *it != at).map(|it| item(it, &to(it))).collect()
}

/// What a list shows on one of its pages, counted from 0.
pub(crate) fn shown(all: &[usize], at: usize, listed: usize) -> Vec<usize> {
    all.iter().copied().skip(at * listed).take(listed).collect()
}

/// Without the links that these rules of robots.txt disallow. Each link is in a line of its own.
pub(crate) fn obeying(world: World, rules: &'static [&'static str]) -> World {
    let World { answer, .. } = world;
    let answer = Box::new(move |host: &str, target: &str| {
        let mut given = answer(host, target);
        if let Reply::Page(html) = &mut given.reply {
            let text = String::from_utf8_lossy(html).into_owned();
            let is_allowed = |line: &&str| {
                let to = line.split("href=\"").nth(1).and_then(|it| it.split('"').next());
                to.is_none_or(|to| !rules.iter().any(|rule| disallows(rule, to)))
            };
            let kept: Vec<&str> = text.lines().filter(is_allowed).collect();
            *html = Bytes::from(kept.join("\n"));
        }
        given
    });
    World { answer, ..world }
}

/// A `*` stands for any text.
fn disallows(rule: &str, path: &str) -> bool {
    let mut parts = rule.split('*');
    let Some(mut rest) = parts.next().and_then(|it| path.strip_prefix(it)) else { return false };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}
