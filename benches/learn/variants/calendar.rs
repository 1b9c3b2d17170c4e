//! A calendar without an end, and a dated archive that has one. Months have 28 days.

use super::{
    addresses::Addresses,
    plot::{Plot, named},
    site::{Link, links},
};
use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// 15 June 2024.
const TODAY: i64 = 2024 * 336 + 5 * 28 + 14;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A part of a calendar, by the number of its month or first day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Month(i64),
    Day(i64),
}

/// How a date is made of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Year, month and day.
    Parts,
    /// The same, with the names of months.
    Names,
    /// `2024-06-15`
    Word,
    /// Seconds.
    Count,
}

/// How dates are written in URLs.
struct Dates {
    addresses: Addresses<Span>,
    format: Format,
    names: [&'static str; 4],
}

impl Dates {
    fn new(bases: &[&str], dice: &mut Dice) -> Self {
        let names = [
            ["year", "month", "day", "view"],
            ["y", "m", "d", "mode"],
            ["Year", "Month", "Day", "View"],
            ["nian", "yue", "ri", "type"],
            ["cal[y]", "cal[m]", "cal[d]", "cal[view]"],
        ];
        let formats = [Format::Parts, Format::Names, Format::Word, Format::Count];
        let (addresses, names) = (Addresses::new(bases, dice), *dice.pick(&names));
        Self { addresses, format: *dice.pick(&formats), names }
    }

    fn link(&self, span: Span) -> Link {
        let (kind, first) = match span {
            Span::Month(month) => ("month", month * 28),
            Span::Day(day) => ("day", day),
        };
        let (year, month, day) = (first / 336, first / 28 % 12, first % 28 + 1);
        let [y, m, d, view] = self.names;
        let name_of_month = match self.format {
            Format::Names => MONTHS[usize::try_from(month).unwrap_or_default()].to_owned(),
            _ => format!("{:02}", month + 1),
        };
        let mut values = vec![(y, year.to_string()), (m, name_of_month)];
        if kind != "month" {
            values.push((d, format!("{day:02}")));
        }
        let parts: Vec<&str> = values.iter().map(|it| it.1.as_str()).collect();
        let word = parts.join("-");
        let name = if kind == "day" { day.to_string() } else { word.clone() };
        match self.format {
            Format::Word => values = vec![(d, word)],
            Format::Count => {
                values = vec![(view, kind.to_owned()), (d, (first * 86_400).to_string())];
            }
            Format::Parts | Format::Names => {}
        }
        (self.addresses.write(&values, span), name)
    }
}

/// What a calendar has.
struct Calendar {
    plot: Plot,
    dates: Dates,
    /// Whether days have pages, too.
    has_days: bool,
    has_years: bool,
    /// Whether it goes back as well.
    goes_back: bool,
    /// How many days a month leads to.
    days_shown: i64,
}

/// Months and days without an end; some have events with a page of their own.
pub(crate) fn calendar(host: &str, dice: &mut Dice) -> World {
    let bases = ["/calendar", "/events", "/cal.php", "/index.php", "/rili", "/whatson/all"];
    let calendar = Calendar {
        plot: Plot::usual(host, dice),
        dates: Dates::new(&bases, dice),
        has_days: !dice.one_in(4),
        has_years: dice.one_in(2),
        goes_back: !dice.one_in(3),
        days_shown: if dice.one_in(3) { 7 } else { 28 },
    };
    World::new(host, calendar.plot.site.pages(), move |_, target| {
        let mut entry = vec![calendar.dates.link(Span::Month(TODAY / 28))];
        if calendar.has_days {
            entry.push(calendar.dates.link(Span::Day(TODAY)));
        }
        calendar.plot.beside(target, |_| entry, || calendar.answer(target))
    })
}

impl Calendar {
    fn answer(&self, target: &str) -> Answer {
        let Some(span) = self.dates.addresses.read(target) else { return Answer::Missing };
        let (first, days) = match span {
            Span::Month(month) => (month * 28, 28),
            Span::Day(day) => (day, 1),
        };
        let onward: Vec<Link> =
            self.onward(span).into_iter().map(|it| self.dates.link(it)).collect();
        // Events are in the next months.
        let day_of = |number: i64| (TODAY / 28 + number % 3) * 28 + 1 + number * 2;
        let events = (0..).zip(self.plot.site.hidden());
        let events = events.filter(|(number, _)| (first..first + days).contains(&day_of(*number)));
        let events: Vec<Link> = events.map(|(_, page)| self.plot.site.link(page)).collect();
        let body = if events.is_empty() { "<p>No events.</p>".to_owned() } else { links(&events) };
        self.plot.junk(target, &self.dates.link(span).1, &body, &onward)
    }

    fn onward(&self, span: Span) -> Vec<Span> {
        let (this, near): (i64, fn(i64) -> Span) = match span {
            Span::Month(month) => (month, Span::Month),
            Span::Day(day) => (day, Span::Day),
        };
        let (mut all, steps): (Vec<Span>, &[i64]) = match span {
            Span::Month(month) => {
                let days = if self.has_days { self.days_shown } else { 0 };
                let days = (0..days).map(|day| Span::Day(month * 28 + day));
                (days.collect(), if self.has_years { &[1, 12] } else { &[1] })
            }
            Span::Day(day) => (vec![Span::Month(day / 28)], &[1]),
        };
        all.extend(steps.iter().map(|step| near(this + step)));
        all.extend(steps.iter().filter(|_| self.goes_back).map(|step| near(this - step)));
        all
    }
}

/// Days with news of their own, by months, from a first to a last.
pub(crate) fn archive(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::new(host, 60 + dice.roll(60), 0, dice);
    let bases = ["/archive", "/news", "/press", "/archives.php", "/index.php", "/diary", "/zt/rb"];
    let dates = Dates::new(&bases, dice);
    let (every, stories) = (1 + i64::try_from(dice.roll(3)).unwrap_or_default(), 1 + dice.roll(5));
    let has_months = !dice.one_in(3);
    let days: Vec<i64> = (0..240).map(|number| TODAY - number * every).collect();
    let pages = plot.site.pages();
    World::new(host, pages + days.len(), move |host, target| {
        let to = |span| named(dates.link(span).0, "Archive");
        let entry = to(if has_months { Span::Month(TODAY / 28) } else { Span::Day(TODAY) });
        let shown = || match dates.addresses.read(target) {
            Some(Span::Day(day)) => {
                let number = days.iter().position(|it| *it == day).expect("it has a link");
                let near = [day - every, day + every].into_iter().filter(|it| days.contains(it));
                let near: Vec<Link> = near.map(|day| to(Span::Day(day))).collect();
                let story = |it| plot.site.prose.paragraphs(&format!("{host} {day} {it}"), 1);
                let text: String = (0..stories).map(story).collect();
                let title = plot.site.prose.title(&format!("{host} {day}"));
                Answer::Honest(pages + number, plot.site.other(&title, &(text + &links(&near))))
            }
            Some(Span::Month(month)) => {
                let of = days.iter().filter(|day| **day / 28 == month);
                let mut onward: Vec<Link> = of.map(|day| to(Span::Day(*day))).collect();
                if days.last().is_some_and(|last| *last / 28 < month) {
                    onward.push(to(Span::Month(month - 1)));
                }
                Answer::Junk(plot.site.other(&format!("Archive {month}"), &links(&onward)))
            }
            _ => Answer::Missing,
        };
        plot.beside(target, |_| vec![entry], shown)
    })
}
