//! Text and numbers as people read them. Text from strangers is made safe to print.

use std::time::Duration;

use askama::PrimitiveType;
use bytesize::ByteSize;

use crate::page::thousands;

/// A number with its thousands apart.
pub(super) fn grouped(number: impl PrimitiveType<Value: Into<u64>>) -> String {
    thousands(number.get().into())
}

/// A number of bytes.
pub(super) fn size(bytes: impl PrimitiveType<Value = u64>) -> String {
    ByteSize(bytes.get()).display().si().to_string()
}

/// Makes text from strangers safe to print: escapes control characters and marks that change the direction of writing, turns white
/// space into spaces, and cuts what is longer than `limit` characters.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(4 * limit));
    for (place, c) in text.chars().enumerate() {
        match c {
            _ if place == limit => {
                shown.push('…');
                break;
            }
            _ if c.is_whitespace() => shown.push(' '),
            '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' => {
                shown.extend(c.escape_unicode());
            }
            _ if c.is_control() => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// A time to the minute.
pub(crate) fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// A share, such as `81.3 %`.
pub(super) fn percent(part: impl PrimitiveType<Value = u64>, whole: u64) -> String {
    let part = part.get();
    let per_mille = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole.max(1));
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// A duration: `3.2 s`, `1 min 3 s` or `2 h 5 min`.
pub(super) fn duration(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.round()).unwrap_or_default().as_secs();
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}
