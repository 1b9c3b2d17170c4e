//! Honest pages whose URLs have a session, in the query or in the path.

use super::{
    addresses::{Addresses, base64},
    plot::Plot,
};
use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// How a session's name looks.
#[derive(Clone, Copy, Debug)]
enum Id {
    Hex,
    Letters,
    Six,
    Uuid,
    Number,
    Seconds,
    Base64,
}

impl Id {
    fn draw(self, dice: &mut Dice) -> String {
        const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        match self {
            Self::Hex => dice.hex(32),
            Self::Letters => dice.letters(&LETTERS[36..], 24),
            Self::Six => dice.letters(LETTERS, 6),
            Self::Uuid => [8, 4, 4, 4, 12].map(|digits| dice.hex(digits)).join("-"),
            Self::Number => (10_000 + dice.roll(90_000_000)).to_string(),
            Self::Seconds => (1_718_409_600 + dice.roll(900_000)).to_string(),
            Self::Base64 => base64(&dice.hex(16)),
        }
    }
}

/// When a link gets a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewal {
    /// Only without one.
    Never,
    Page,
    Link,
    Sometimes,
}

/// Which links get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carriers {
    All,
    Articles,
    Lists,
}

/// What is before the session and after it.
type Marks = (&'static str, &'static str);

pub(crate) fn in_query(host: &str, dice: &mut Dice) -> World {
    let kinds = [
        ("PHPSESSID=", Id::Hex),
        ("sid=", Id::Hex),
        ("s=", Id::Hex),
        ("zenid=", Id::Letters),
        ("SID=", Id::Uuid),
        ("sid=", Id::Six),
        ("CFTOKEN=", Id::Number),
        ("t=", Id::Seconds),
        ("_=", Id::Seconds),
        ("auth_key=", Id::Base64),
        ("vustand=", Id::Hex),
        ("molo=", Id::Number),
    ];
    let (name, id) = *dice.pick(&kinds);
    let is_first = dice.one_in(3);
    sessions(host, (name, ""), id, dice, move |path, session| match path.split_once('?') {
        None => format!("{path}?{session}"),
        Some((path, query)) if is_first => format!("{path}?{session}&{query}"),
        Some(_) => format!("{path}&{session}"),
    })
}

pub(crate) fn in_path(host: &str, dice: &mut Dice) -> World {
    let kinds = [
        (("/(S(", "))"), Id::Letters),
        (("/(A(", "))"), Id::Base64),
        ((";jsessionid=", ""), Id::Hex),
        ((";jsessionid=", ".node1"), Id::Hex),
        ((";sid=", ""), Id::Hex),
        (("/s/", ""), Id::Hex),
        (("/sid-", ""), Id::Number),
        (("/cgi-bin/site.exe/", ""), Id::Six),
        (("/~", "~"), Id::Uuid),
        (("/index.php/sid/", ""), Id::Hex),
        (("/tarent/", ""), Id::Letters),
    ];
    let (marks, id) = *dice.pick(&kinds);
    sessions(host, marks, id, dice, |path, session| match path.split_once('?') {
        _ if session.starts_with('/') => format!("{session}{path}"),
        None => format!("{path}{session}"),
        Some((path, query)) => format!("{path}{session}?{query}"),
    })
}

fn sessions(
    host: &str,
    (before, after): Marks,
    id: Id,
    dice: &mut Dice,
    add: impl Fn(&str, &str) -> String + 'static,
) -> World {
    let plot = Plot::open(host, dice);
    let renewal = *dice.pick(&[
        Renewal::Never,
        Renewal::Page,
        Renewal::Link,
        Renewal::Sometimes,
        Renewal::Sometimes,
    ]);
    let carriers = *dice.pick(&[Carriers::All, Carriers::All, Carriers::Articles, Carriers::Lists]);
    // Whether pages name their session or count their visitors.
    let is_named = dice.one_in(3);
    // A request without a session is redirected to one with it, unless each link would be.
    let redirects = renewal == Renewal::Never && carriers == Carriers::All;
    // The path and the session of each URL.
    let addresses = Addresses::new(&["/"], dice);
    World::new(host, plot.site.pages(), move |_, target| {
        let site = &plot.site;
        let with = |path: &str, session: &str| {
            let url = add(path, &format!("{before}{session}{after}"));
            addresses.keep(url, (path.to_owned(), session.to_owned()))
        };
        let (path, session) = addresses
            .read(target)
            .map_or((target.to_owned(), None), |(path, session)| (path, Some(session)));
        let Some(page) = site.number(&path) else { return Answer::Missing };
        let mut dice = Dice::of(&format!("session {target}"));
        let has_session = session.is_some();
        let kept = session.filter(|_| renewal != Renewal::Page);
        let of_page = kept.unwrap_or_else(|| id.draw(&mut dice));
        if !has_session && redirects {
            return Answer::Redirect(with(&path, &of_page));
        }
        let mut to = |path: &str| {
            let renews = match renewal {
                Renewal::Link => true,
                Renewal::Sometimes => dice.one_in(6),
                Renewal::Never | Renewal::Page => false,
            };
            match carriers {
                Carriers::Articles if site.is_list(path) => path.to_owned(),
                Carriers::Lists if !site.is_list(path) => path.to_owned(),
                _ if renews => with(path, &id.draw(&mut dice)),
                _ => with(path, &of_page),
            }
        };
        let html = site.changed(page, &mut to, &[]);
        let visit = format!("<footer><p>Your visit {of_page}</p>");
        Answer::Honest(page, if is_named { html.replace("<footer>", &visit) } else { html })
    })
}
