//! Checksums of the state's pages.
//!
//! Each page ends in eight bytes that SQLite leaves free: the hash of the others, with the number of the page as its seed. It is written and verified between SQLite and the
//! operating system, so a damaged page is an error wherever it is read, and never a wrong row. The log (`-wal`) has checksums of SQLite's own.
//!
//! What is between the two is called a VFS. This one is the system's own, except that pages pass through here.

#![allow(unsafe_code, reason = "functions that SQLite calls; a proof is at each block")]

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    fs::File,
    io::Read,
    ops::Range,
    path::Path,
    ptr, slice,
    sync::Once,
};

use rusqlite::ffi;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The size of a page in bytes, with its checksum.
pub(crate) const PAGE: usize = 4096;
/// The size of a checksum in bytes.
const CHECKSUM: usize = 8;
/// The same, as the header of a file says it.
pub(super) const RESERVED: u8 = 8;
const RESERVED_AT: usize = 20;
/// How a database file begins.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";
/// The name of the VFS.
const NAME: &CStr = c"pagesieve";

/// Whether the page of this number, from 1, is as it was written. Pages that never were, because they are free, consist of zeros. Pages that
/// an earlier version has written have a checksum with seed 0.
pub(crate) fn is_sound(page: &[u8], number: u32) -> bool {
    let is_its =
        |content: &[u8], stored| [number, 0].map(|it| checksum(content, it)).contains(stored);
    page.split_last_chunk().is_some_and(|(content, stored)| is_its(content, stored))
        || is_blank(page)
}

/// Whether the pages of a file have checksums, by its first page: its header says so. A damaged header does not.
pub(super) fn has_checksums(first: &[u8]) -> bool {
    let mut page = first.to_vec();
    match page.get_mut(RESERVED_AT) {
        Some(reserved) if *reserved == 0 => *reserved = RESERVED,
        _ => return true,
    }
    is_sound(&page, 1)
}

/// Whether a file begins like a state, even if one of its first two pages is damaged.
pub(crate) fn is_state(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(2 * PAGE as u64).read_to_end(&mut start));
    let has_header = start.starts_with(MAGIC) || start.get(68..72) == Some(b"psve");
    let second = || start.get(PAGE..).is_some_and(|page| is_sound(page, 2) && !is_blank(page));
    read.is_ok() && (has_header || second())
}

/// Whether a page has only zeros.
pub(crate) fn is_blank(page: &[u8]) -> bool {
    page.iter().all(|byte| *byte == 0)
}

/// Restores bytes of which one at these places was changed: tries every value at each. Returns whether they are sound then; a page of zeros
/// where there was another one is sound before, and cannot be restored.
pub(crate) fn restore(
    bytes: &mut [u8],
    places: Range<usize>,
    is_sound: impl Fn(&[u8]) -> bool,
) -> bool {
    if is_sound(bytes) {
        return false;
    }
    for at in places {
        let was = bytes[at];
        for byte in 0..=u8::MAX {
            bytes[at] = byte;
            if is_sound(bytes) {
                return true;
            }
        }
        bytes[at] = was;
    }
    false
}

fn checksum(content: &[u8], number: u32) -> [u8; CHECKSUM] {
    xxh3_64_with_seed(content, number.into()).to_le_bytes()
}

/// The number of the page at this place of the file.
fn number_at(offset: i64) -> u32 {
    let number = usize::try_from(offset).unwrap_or_default() / PAGE + 1;
    u32::try_from(number).unwrap_or_default()
}

/// The name of the VFS for files whose pages have checksums.
pub(super) fn vfs() -> &'static CStr {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: SQLite returns its default VFS, which is valid for ever, or null. The copy is never freed, and it is valid: `open` finds the
        // original in `pAppData`, and the system's other functions take nothing from the VFS but the longest path.
        unsafe {
            let system = ffi::sqlite3_vfs_find(ptr::null());
            if let Some(original) = system.as_ref() {
                let vfs = ffi::sqlite3_vfs {
                    pNext: ptr::null_mut(),
                    zName: NAME.as_ptr(),
                    pAppData: system.cast(),
                    xOpen: Some(open),
                    ..*original
                };
                // If this fails, SQLite reports that there is no such VFS.
                ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
            }
        }
    });
    NAME
}

/// What can be done with an open file, for SQLite; then what the system does.
#[repr(C)]
struct Methods {
    checked: ffi::sqlite3_io_methods,
    system: *const ffi::sqlite3_io_methods,
}

/// Opens a file as the system does. The pages of a database then pass through `read` and `write`.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: `vfs` is the one registered above, and its original gets the arguments that it would get from SQLite. If it succeeds, `file` has
    // methods. Theirs is a static table; ours starts with a table and is never freed.
    unsafe {
        let system = (*vfs).pAppData.cast::<ffi::sqlite3_vfs>();
        let Some(open) = (*system).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(system, name, file, flags, out);
        if code == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            let system = (*file).pMethods;
            let checked = ffi::sqlite3_io_methods {
                // Version 3 maps files into memory, past `read`.
                iVersion: (*system).iVersion.min(2),
                xRead: Some(read),
                xWrite: Some(write),
                xDeviceCharacteristics: Some(characteristics),
                ..*system
            };
            // One for each connection that a process opens, which are few.
            let methods: &'static Methods = Box::leak(Box::new(Methods { checked, system }));
            (*file).pMethods = &raw const methods.checked;
        }
        code
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: `open` has set the methods. SQLite passes a buffer of `amount` bytes, which the system has filled.
    unsafe {
        let Some(read) = system(file).xRead else { return ffi::SQLITE_IOERR_READ };
        let code = read(file, buffer, amount, offset);
        let length = usize::try_from(amount).unwrap_or_default();
        // Only parts of the header are read by fewer bytes. A page of another size is one of a damaged header.
        let is_page = length >= 512;
        let is_damaged = || {
            let page = slice::from_raw_parts(buffer.cast_const().cast(), length);
            length != PAGE || !is_sound(page, number_at(offset))
        };
        if code == ffi::SQLITE_OK && is_page && is_damaged() {
            return ffi::SQLITE_IOERR_DATA;
        }
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: As above.
    unsafe {
        let Some(write) = system(file).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        if usize::try_from(amount) != Ok(PAGE) {
            return write(file, buffer, amount, offset);
        }
        let mut page = [0; PAGE];
        page.copy_from_slice(slice::from_raw_parts(buffer.cast(), PAGE));
        let (content, stored) = page.split_at_mut(PAGE - CHECKSUM);
        stored.copy_from_slice(&checksum(content, number_at(offset)));
        write(file, page.as_ptr().cast(), amount, offset)
    }
}

/// Those of the system, but SQLite must read whole pages.
unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: As above.
    unsafe {
        let all = system(file).xDeviceCharacteristics.map_or(0, |all| all(file));
        all & !ffi::SQLITE_IOCAP_SUBPAGE_READ
    }
}

/// What the system does with a file that `open` has opened.
unsafe fn system<'a>(file: *mut ffi::sqlite3_file) -> &'a ffi::sqlite3_io_methods {
    // SAFETY: The methods are the first field of ours, which `open` has set.
    unsafe { &*(*(*file).pMethods.cast::<Methods>()).system }
}
