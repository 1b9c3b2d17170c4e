//! A calendar without an end, and a dated archive that has one.

use super::{
    Planned,
    dates::{Dates, Span, civil, days_of, later},
    plot::{Plot, paragraph},
    site::{Link, Size, links},
};
use crate::{prose::Dice, world::Answer};

/// 15 June 2024.
const TODAY: i64 = 19_889;

/// Which pages a calendar has beside those of months.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Views {
    Months,
    Days,
    /// Days and weeks.
    Weeks,
}

/// What a calendar has.
struct Calendar {
    plot: Plot,
    dates: Dates,
    views: Views,
    has_years: bool,
    /// Whether it goes back as well.
    goes_back: bool,
    /// How many days a month leads to.
    days_shown: i64,
}

/// Months and days without an end; some have events with a page of their own.
pub(crate) fn calendar(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice);
    let bases = [
        "/calendar",
        "/events",
        "/cal.php",
        "/index.php",
        "/rili",
        "/calendar/view.php",
        "/whatson/all",
    ];
    let calendar = Calendar {
        dates: Dates::new(&bases, dice),
        views: *dice.pick(&[Views::Months, Views::Days, Views::Days, Views::Weeks]),
        has_years: dice.roll(2) == 0,
        goes_back: dice.roll(3) > 0,
        days_shown: if dice.roll(3) == 0 { 7 } else { 28 },
        plot,
    };
    let pages = calendar.plot.site.pages();
    Planned::new(pages, move |_, target| {
        let entry = |_: &mut Dice| calendar.entry();
        calendar.plot.beside(target, entry, || calendar.answer(target))
    })
}

impl Calendar {
    fn link(&self, span: Span) -> Link {
        let name = match span {
            Span::Month(year, month) => format!("{year}-{month:02}"),
            Span::Day(day) => civil(day).2.to_string(),
            Span::Week(_) => self.plot.site.prose.say("Week", "周").to_owned(),
        };
        (self.dates.show(span), name)
    }

    fn entry(&self) -> Vec<Link> {
        let (year, month, _) = civil(TODAY);
        let mut all = vec![self.link(Span::Month(year, month))];
        if self.views != Views::Months {
            all.push(self.link(Span::Day(TODAY)));
        }
        all
    }

    fn answer(&self, target: &str) -> Answer {
        let Some(span) = self.dates.read(target) else { return Answer::missing() };
        let (onward, first, last) = match span {
            Span::Month(year, month) => {
                let first = days_of(year, month, 1);
                (self.of_month(year, month), first, first + 27)
            }
            Span::Week(day) => (self.of_days(day, 7), day, day + 6),
            Span::Day(day) => (self.of_days(day, 1), day, day),
        };
        let (year, month, day) = civil(first);
        let events: String = self
            .plot
            .site
            .hidden()
            .enumerate()
            .filter(|(number, _)| (first..=last).contains(&event_day(*number)))
            .map(|(_, page)| paragraph(&self.plot.site.link(page)))
            .collect();
        let label = match span {
            Span::Month(..) => format!("{year}-{month:02}"),
            Span::Week(_) => format!("{year}-{month:02}-{day:02} +7"),
            Span::Day(_) => format!("{year}-{month:02}-{day:02}"),
        };
        let body = if events.is_empty() {
            let none = self.plot.site.prose.say("No events.", "没有活动。");
            format!("<p>{none}</p>")
        } else {
            events
        };
        self.plot.junk(target, &label, &body, &onward)
    }

    fn of_month(&self, year: i64, month: i64) -> Vec<Link> {
        let mut all = Vec::new();
        let first = days_of(year, month, 1);
        if self.views != Views::Months {
            all.extend((0..self.days_shown).map(|day| self.link(Span::Day(first + day))));
        }
        if self.views == Views::Weeks {
            all.extend((0..4).map(|week| self.link(Span::Week(first + 7 * week))));
        }
        let steps: &[i64] = if self.has_years { &[1, 12, -1, -12] } else { &[1, -1] };
        for months in steps.iter().filter(|months| self.goes_back || **months > 0) {
            if let Span::Month(year @ 1..=9998, month) = later(year, month, *months) {
                all.push(self.link(Span::Month(year, month)));
            }
        }
        all
    }

    fn of_days(&self, day: i64, days: i64) -> Vec<Link> {
        let (year, month, _) = civil(day);
        let mut all = vec![self.link(Span::Month(year, month))];
        let span = |day| if days == 1 { Span::Day(day) } else { Span::Week(day) };
        all.push(self.link(span(day + days)));
        if self.goes_back {
            all.push(self.link(span(day - days)));
        }
        if days > 1 {
            all.extend((0..days).map(|of| self.link(Span::Day(day + of))));
        }
        all
    }
}

/// Events are in the next months.
fn event_day(number: usize) -> i64 {
    let number = i64::try_from(number).unwrap_or_default();
    days_of(2024, 6 + number % 3, 2 + number * 2)
}

/// Days with news of their own, by months, from a first to a last.
pub(crate) fn archive(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::new(host, Size { listed: 60 + dice.roll(60), hidden: 0 }, dice);
    let bases = ["/archive", "/news", "/press", "/archives.php", "/index.php", "/diary", "/zt/rb"];
    let dates = Dates::new(&bases, dice);
    let (every, stories) = (1 + i64::try_from(dice.roll(3)).unwrap_or_default(), 1 + dice.roll(5));
    let has_months = dice.roll(3) > 0;
    let days: Vec<i64> = (0..240).map(|number| TODAY - number * every).collect();
    let pages = plot.site.pages();
    Planned::new(pages + days.len(), move |host, target| {
        let site = &plot.site;
        let named = |span| (dates.show(span), site.prose.say("Archive", "存档").to_owned());
        let (year, month, _) = civil(TODAY);
        let entry = if has_months { Span::Month(year, month) } else { Span::Day(TODAY) };
        plot.beside(
            target,
            |_| vec![named(entry)],
            || {
                let around = |day: i64| {
                    let near =
                        [day - every, day + every].into_iter().filter(|day| days.contains(day));
                    near.map(|day| named(Span::Day(day))).collect::<Vec<_>>()
                };
                match dates.read(target) {
                    Some(Span::Day(day)) => {
                        let Some(number) = days.iter().position(|known| *known == day) else {
                            return Answer::missing();
                        };
                        let text: String = (0..stories)
                            .map(|story| site.prose.paragraphs(&format!("{host} {day} {story}"), 1))
                            .collect();
                        let title = site.prose.title(&format!("{host} {day}"));
                        let html =
                            site.other(&title, &(text + &links(&around(day))), &[], plot.place);
                        Answer::honest(pages + number, html)
                    }
                    Some(Span::Month(year, month)) => {
                        let of = |day: &&i64| civil(**day).0 == year && civil(**day).1 == month;
                        let mut onward: Vec<Link> =
                            days.iter().filter(of).map(|day| named(Span::Day(*day))).collect();
                        if onward.is_empty() {
                            return Answer::missing();
                        }
                        if days.last().is_some_and(|last| *last < days_of(year, month, 1)) {
                            onward.push(named(later(year, month, -1)));
                        }
                        let title =
                            format!("{} {year}-{month:02}", site.prose.say("Archive", "存档"));
                        Answer::junk(site.other(&title, &links(&onward), &[], plot.place))
                    }
                    _ => Answer::missing(),
                }
            },
        )
    })
}
