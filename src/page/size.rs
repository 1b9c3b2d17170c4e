//! Sizes as configurations write them.

use bytesize::{ByteSize, GIB, KIB, MIB};
use serde::Serializer;

/// Writes a size in the largest unit that holds it without a remainder, so that it is read back as it was.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
pub(crate) fn serialize<S: Serializer>(size: &ByteSize, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = size.as_u64();
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)).unwrap_or((1, "B"));
    serializer.collect_str(&format_args!("{} {name}", bytes / unit))
}
