//! Addresses of months and days.

use super::plot::{base64, encoded, from_base64, made_up};
use crate::{prose::Dice, target::Target};

/// A part of a calendar; days are counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Month(i64, i64),
    Week(i64),
    Day(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Path,
    Query,
    Iso,
    View,
    Compact,
    Matrix,
    Seconds,
    Words,
    File,
    Base64,
    Chinese,
    Count,
}

const STYLES: [Style; 12] = [
    Style::Path,
    Style::Query,
    Style::Iso,
    Style::View,
    Style::Compact,
    Style::Matrix,
    Style::Seconds,
    Style::Words,
    Style::File,
    Style::Base64,
    Style::Chinese,
    Style::Count,
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Parameters that calendars have beside the date.
const FIXED: [&[(&str, &str)]; 3] = [
    &[],
    &[("option", "com_jevents"), ("task", "cal.show")],
    &[("Itemid", "new"), ("tmpl", "component")],
];

/// How dates are written.
#[derive(Debug)]
pub(crate) struct Dates {
    style: Style,
    /// What the addresses begin with.
    base: String,
    /// Year, month, day, view.
    names: [String; 4],
    /// Parameters that are always there.
    fixed: Vec<(String, String)>,
    is_upper: bool,
}

impl Dates {
    pub(crate) fn new(bases: &[&str], dice: &mut Dice) -> Self {
        let own = made_up(5, dice);
        let base =
            if dice.roll(4) == 0 { format!("/{}", own[4]) } else { (*dice.pick(bases)).to_owned() };
        let known = [
            ["year", "month", "day", "view"],
            ["y", "m", "d", "v"],
            ["yr", "mo", "dy", "mode"],
            ["Year", "Month", "Day", "View"],
            ["nian", "yue", "ri", "type"],
            ["cal[y]", "cal[m]", "cal[d]", "cal[view]"],
        ];
        let names = if dice.roll(5) == 0 {
            [own[0].clone(), own[1].clone(), own[2].clone(), own[3].clone()]
        } else {
            dice.pick(&known).map(str::to_owned)
        };
        let fixed = *dice.pick(&FIXED);
        let fixed = fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            style: *dice.pick(&STYLES),
            base,
            names,
            fixed: fixed.collect(),
            is_upper: dice.roll(6) == 0,
        }
    }

    pub(crate) fn show(&self, span: Span) -> String {
        let (year, month, day) = match span {
            Span::Month(year, month) => (year, month, None),
            Span::Week(day) | Span::Day(day) => {
                let (year, month, of_month) = civil(day);
                (year, month, Some(of_month))
            }
        };
        let is_week = matches!(span, Span::Week(_));
        let base = &self.base;
        let dashed = |between: &str| {
            let day = day.map_or_else(String::new, |day| format!("{between}{day:02}"));
            format!("{year}{between}{month:02}{day}")
        };
        let week = |end: &str| if is_week { format!("/week{end}") } else { end.to_owned() };
        match self.style {
            Style::Path => format!("{base}{}/{}/", week(""), dashed("/")),
            Style::Iso => format!("{base}{}/{}/", week(""), dashed("-")),
            Style::Compact => format!("{base}{}/{}", week(""), dashed("")),
            Style::File => {
                format!("{base}-{}{}.html", if is_week { "week-" } else { "" }, dashed("-"))
            }
            Style::Words => {
                let name = MONTHS[usize::try_from(month - 1).unwrap_or_default()];
                let name = if self.is_upper { name.to_uppercase() } else { name.to_owned() };
                let day = day.map_or_else(String::new, |day| format!("/{day}"));
                format!("{base}{}/{year}/{name}{day}", week(""))
            }
            Style::Chinese => {
                let day = day.map_or_else(String::new, |day| format!("/{day}日"));
                encoded(&format!("{base}{}/{year}年{month}月{day}", week("")))
            }
            Style::Matrix => {
                let day = day.map_or_else(String::new, |day| format!(";{}={day}", self.names[2]));
                let week = if is_week { ";week" } else { "" };
                format!("{base};{}={year};{}={month}{day}{week}", self.names[0], self.names[1])
            }
            Style::Base64 => {
                let key = format!("{}{}", if is_week { "week:" } else { "d:" }, dashed("-"));
                self.query(&[(&self.names[2], base64(&key))])
            }
            Style::Query => {
                let mut all =
                    vec![(&self.names[0], year.to_string()), (&self.names[1], month.to_string())];
                all.extend(day.map(|day| (&self.names[2], day.to_string())));
                all.extend(is_week.then(|| (&self.names[3], "week".to_owned())));
                self.query(&all)
            }
            Style::View | Style::Seconds | Style::Count => {
                let view =
                    ["month", "day", "week"][usize::from(day.is_some()) + usize::from(is_week)];
                let days = days_of(year, month, day.unwrap_or(1));
                let date = match self.style {
                    Style::View => format!("{year}-{month:02}-{:02}", day.unwrap_or(1)),
                    Style::Seconds => (days * 86_400).to_string(),
                    _ => (days - 10_957).to_string(),
                };
                self.query(&[(&self.names[3], view.to_owned()), (&self.names[2], date)])
            }
        }
    }

    fn query(&self, all: &[(&String, String)]) -> String {
        let mut target = Target::new(self.base.as_str());
        for (name, value) in &self.fixed {
            target = target.with(name, value);
        }
        for (name, value) in all {
            target = target.with(name, value);
        }
        target.show()
    }

    /// The part that an address names.
    pub(crate) fn read(&self, target: &str) -> Option<Span> {
        let rest = target.strip_prefix(&self.base)?;
        let asked = Target::parse(target);
        let rest = match self.style {
            Style::Base64 => from_base64(asked.get(&self.names[2])?)?,
            Style::Chinese => {
                rest.replace("%E5%B9%B4", "-").replace("%E6%9C%88", "-").replace("%E6%97%A5", "")
            }
            Style::Words => numbered(rest),
            _ => rest.to_owned(),
        };
        let groups = groups(&rest);
        let is_week = rest.contains("week");
        let span = |day| if is_week { Span::Week(day) } else { Span::Day(day) };
        match (self.style, groups.as_slice()) {
            (Style::Seconds | Style::Count | Style::View, _) => {
                let day = match (self.style, groups.as_slice()) {
                    (Style::View, [year, month, day]) => days_of(*year, *month, *day),
                    (Style::Seconds, [seconds]) => seconds / 86_400,
                    (_, [days]) => days + 10_957,
                    _ => return None,
                };
                let (year, month, _) = civil(day);
                let is_month = rest.contains("=month");
                Some(if is_month { Span::Month(year, month) } else { span(day) })
            }
            (Style::Compact, [number]) if *number > 1_000_000 => {
                Some(span(days_of(number / 10_000, number / 100 % 100, number % 100)))
            }
            (Style::Compact, [number]) => valid(number / 100, number % 100),
            (_, [year, month]) => valid(*year, *month),
            (_, [year, month, day]) => {
                valid(*year, *month)?;
                Some(span(days_of(*year, *month, *day)))
            }
            _ => None,
        }
    }
}

fn valid(year: i64, month: i64) -> Option<Span> {
    ((1..=9999).contains(&year) && (1..=12).contains(&month)).then_some(Span::Month(year, month))
}

/// The names of months as numbers.
fn numbered(text: &str) -> String {
    let mut text = text.to_lowercase();
    for (number, name) in MONTHS.iter().enumerate() {
        text = text.replace(name, &(number + 1).to_string());
    }
    text
}

fn groups(text: &str) -> Vec<i64> {
    text.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

/// The month that is so many months later.
pub(crate) fn later(year: i64, month: i64, months: i64) -> Span {
    let all = year * 12 + month - 1 + months;
    Span::Month(all.div_euclid(12), all.rem_euclid(12) + 1)
}

/// The number of a day (Howard Hinnant, *chrono-compatible low-level date algorithms*).
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, the month and the day of a number.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let part = (5 * of_year + 2) / 153;
    let month = if part < 10 { part + 3 } else { part - 9 };
    let year = shifted.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2);
    (year, month, of_year - (153 * part + 2) / 5 + 1)
}
