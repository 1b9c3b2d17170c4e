//! Honest pages whose addresses have a session, in the query or in the path.

use super::{
    Planned,
    plot::{Plot, base64},
    site::Changes,
};
use crate::{prose::Dice, target::Target, world::Answer};

/// How a session's name looks.
#[derive(Clone, Copy, Debug)]
enum Id {
    Hex32,
    Hex32Upper,
    Letters24,
    Six,
    Uuid,
    Number,
    Seconds,
    Base64,
    Fraction,
}

impl Id {
    fn draw(self, dice: &mut Dice) -> String {
        let letters = |from: &[u8], count: usize, dice: &mut Dice| {
            (0..count).map(|_| char::from(*dice.pick(from))).collect::<String>()
        };
        match self {
            Self::Hex32 => dice.hex(32),
            Self::Hex32Upper => dice.hex(32).to_uppercase(),
            Self::Letters24 => letters(b"abcdefghijklmnopqrstuvwxyz012345", 24, dice),
            Self::Six => {
                letters(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 6, dice)
            }
            Self::Uuid => [8, 4, 4, 4, 12].map(|digits| dice.hex(digits)).join("-"),
            Self::Number => (10_000 + dice.roll(90_000_000)).to_string(),
            Self::Seconds => (1_718_409_600 + dice.roll(900_000)).to_string(),
            Self::Base64 => base64(&dice.hex(16)),
            Self::Fraction => format!("0.{}", 1_000_000_000 + dice.roll(9_000_000_000)),
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

const RENEWALS: [Renewal; 5] =
    [Renewal::Never, Renewal::Page, Renewal::Link, Renewal::Sometimes, Renewal::Sometimes];

/// Which links get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carriers {
    All,
    Articles,
    Lists,
}

/// What a server does with sessions.
struct Sessions {
    plot: Plot,
    id: Id,
    renewal: Renewal,
    carriers: Carriers,
    /// Whether a request without a session is redirected to one with it.
    redirects: bool,
    /// Whether pages name their session or count their visitors.
    is_named: bool,
}

impl Sessions {
    fn new(host: &str, id: Id, dice: &mut Dice) -> Self {
        let renewal = *dice.pick(&RENEWALS);
        let carriers =
            *dice.pick(&[Carriers::All, Carriers::All, Carriers::Articles, Carriers::Lists]);
        Self {
            plot: Plot::open(host, dice),
            id,
            renewal,
            carriers,
            // Links without a session would be redirected each.
            redirects: renewal == Renewal::Never && carriers == Carriers::All,
            is_named: dice.roll(3) == 0,
        }
    }

    /// The page `path` for this session; `add` puts a session on a path.
    fn answer(
        &self,
        target: &str,
        path: &str,
        session: Option<&str>,
        add: impl Fn(&str, &str) -> String,
    ) -> Answer {
        let site = &self.plot.site;
        let Some(page) = site.number(path) else { return Answer::missing() };
        let mut dice = Dice::of(&format!("session {target}"));
        let of_page = match (session, self.renewal) {
            (Some(session), Renewal::Never | Renewal::Sometimes | Renewal::Link) => {
                session.to_owned()
            }
            _ => self.id.draw(&mut dice),
        };
        if session.is_none() && self.redirects {
            return Answer::redirect(add(path, &of_page));
        }
        let mut to = |path: &str| {
            let is_list = site.number(path).is_some_and(|page| page < site.articles().start);
            let carries = match self.carriers {
                Carriers::All => true,
                Carriers::Articles => !is_list,
                Carriers::Lists => is_list,
            };
            let renews = match self.renewal {
                Renewal::Link => true,
                Renewal::Sometimes => dice.roll(6) == 0,
                Renewal::Never | Renewal::Page => false,
            };
            if !carries {
                return path.to_owned();
            }
            let session = if renews { self.id.draw(&mut dice) } else { of_page.clone() };
            add(path, &session)
        };
        let changes = Changes { to: &mut to, more: &[], place: self.plot.place };
        let mut html = site.changed(page, changes);
        if self.is_named {
            html = html.replace(
                "<footer>",
                &format!("<footer><p>{} {of_page}</p>", site.prose.say("Your visit", "访客")),
            );
        }
        Answer::honest(page, html)
    }
}

pub(crate) fn in_query(host: &str, dice: &mut Dice) -> Planned {
    let kinds = [
        ("PHPSESSID", Id::Hex32),
        ("sid", Id::Hex32),
        ("s", Id::Hex32),
        ("osCsid", Id::Hex32),
        ("zenid", Id::Letters24),
        ("jsessionid", Id::Hex32Upper),
        ("SID", Id::Uuid),
        ("sid", Id::Six),
        ("CFTOKEN", Id::Number),
        ("t", Id::Seconds),
        ("_", Id::Seconds),
        ("rand", Id::Fraction),
        ("token", Id::Base64),
        ("auth_key", Id::Base64),
        ("vustand", Id::Hex32),
        ("molo", Id::Number),
    ];
    let (name, id) = *dice.pick(&kinds);
    let sessions = Sessions::new(host, id, dice);
    let is_first = dice.roll(3) == 0;
    let pages = sessions.plot.site.pages();
    Planned::new(pages, move |_, target| {
        let asked = Target::parse(target);
        let session = asked.get(name).map(str::to_owned);
        let path = asked.without(name).show();
        sessions.answer(target, &path, session.as_deref(), |path, session| {
            let mut target = Target::parse(path);
            if is_first {
                target.parameters.insert(0, (name.to_owned(), session.to_owned()));
            } else {
                target = target.with(name, session);
            }
            target.show()
        })
    })
}

pub(crate) fn in_path(host: &str, dice: &mut Dice) -> Planned {
    // What is before and after the session, and whether it is put after the path.
    let kinds = [
        ("/(S(", "))", false, Id::Letters24),
        ("/(A(", "))", false, Id::Base64),
        (";jsessionid=", "", true, Id::Hex32Upper),
        (";jsessionid=", ".node1", true, Id::Hex32Upper),
        (";sid=", "", true, Id::Hex32),
        ("/s/", "", false, Id::Hex32),
        ("/sid-", "", false, Id::Number),
        ("/cgi-bin/site.exe/", "", false, Id::Six),
        ("/~", "~", false, Id::Uuid),
        ("/index.php/sid/", "", false, Id::Hex32),
        ("/tarent/", "", false, Id::Letters24),
    ];
    let (before, after, is_last, id) = *dice.pick(&kinds);
    let sessions = Sessions::new(host, id, dice);
    let pages = sessions.plot.site.pages();
    Planned::new(pages, move |_, target| {
        let found =
            if is_last { split_last(target, before) } else { split_first(target, before, after) };
        let (session, path) =
            found.map_or((None, target.to_owned()), |(session, path)| (Some(session), path));
        sessions.answer(target, &path, session.as_deref(), |path, session| {
            if !is_last {
                return format!("{before}{session}{after}{path}");
            }
            let (path, query) = path
                .split_once('?')
                .map_or((path, String::new()), |(path, query)| (path, format!("?{query}")));
            format!("{path}{before}{session}{after}{query}")
        })
    })
}

/// The session and the path, of an address that begins with its session.
fn split_first(target: &str, before: &str, after: &str) -> Option<(String, String)> {
    let (session, path) = target.strip_prefix(before)?.split_once('/')?;
    Some((session.strip_suffix(after)?.to_owned(), format!("/{path}")))
}

/// The same, of one whose path ends with it.
fn split_last(target: &str, before: &str) -> Option<(String, String)> {
    let (path, rest) = target.split_once(before)?;
    let (session, query) = rest
        .split_once('?')
        .map_or((rest, String::new()), |(session, query)| (session, format!("?{query}")));
    let session = session.strip_suffix(".node1").unwrap_or(session);
    Some((session.to_owned(), path.to_owned() + &query))
}
