//! How numbers are written for people: grouped digits, sizes with a unit.

use bytesize::{ByteSize, GIB, KIB, MIB};
use serde::Serializer;

/// Writes 4920 as `4,920`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Serialises a size in the largest unit that divides it, so that a configuration reads back the same value.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
pub(crate) fn serialize_size<S: Serializer>(
    size: &ByteSize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes = size.as_u64();
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)).unwrap_or((1, "B"));
    serializer.collect_str(&format_args!("{} {name}", bytes / unit))
}
