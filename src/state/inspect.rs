//! Looks for damage in a state's files, without SQLite: a damaged file may not even be one that SQLite opens.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    pages::{PAGE, is_blank, is_sound},
    wal::{Log, word},
};

/// The page with the bytes by which SQLite locks the file: it is never written.
const LOCKS: u32 = (1 << 30) / 4096 + 1;

/// What is wrong with the files of a state.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// The damaged pages of the file, by their numbers from 1.
    pub(crate) pages: Vec<u32>,
    /// The bytes that the file lacks, or has too many.
    pub(crate) end: Option<Range<u64>>,
    /// The log, if there is one.
    pub(crate) log: Option<Log>,
}

impl Inspection {
    /// Reads the files of a state with checksums, which nobody may be writing to.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let log = Log::of(path)?;
        let mut inspection = Self { log, ..Self::default() };
        let logged = inspection.log.iter().flat_map(|log| &log.pages).copied().collect();
        inspection.read_pages(path, &logged)?;
        Ok(inspection)
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        let is_sound = self.log.as_ref().is_none_or(|log| log.damage.is_none());
        is_sound && self.pages.is_empty() && self.end.is_none()
    }

    /// Reads all pages but those that the log replaces.
    fn read_pages(&mut self, path: &Path, logged: &HashSet<u32>) -> io::Result<()> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let (mut page, mut first, mut blank) = (Vec::with_capacity(PAGE), Vec::new(), Vec::new());
        for number in 1.. {
            page.clear();
            (&mut file).take(PAGE as u64).read_to_end(&mut page)?;
            if page.len() < PAGE {
                if number == 1 {
                    self.end = Some(length..PAGE as u64);
                    return Ok(());
                }
                break;
            }
            if number == 1 {
                first.clone_from(&page);
            }
            if logged.contains(&number) || number == LOCKS {
                // The file's page does not count.
            } else if number > 1 && is_blank(&page) {
                blank.push(number);
            } else if is_blank(&page) || !is_sound(&page, number) {
                self.pages.push(number);
            }
        }
        if logged.is_empty() {
            let wanted = u64::from(word(&first, 28)) * PAGE as u64;
            // Of a damaged page, no number counts.
            if wanted != length && self.pages.first() != Some(&1) {
                self.end = Some(wanted.min(length)..wanted.max(length));
                let is_its = |number: &u32| u64::from(number - 1) * (PAGE as u64) < wanted;
                self.pages.retain(is_its);
                blank.retain(is_its);
            }
            if !blank.is_empty() {
                let free = free_pages(path, &first)?;
                self.pages.extend(blank.into_iter().filter(|number| !free.contains(number)));
                self.pages.sort_unstable();
            }
        }
        Ok(())
    }
}

/// The pages that the file's list of free pages names.
fn free_pages(path: &Path, first: &[u8]) -> io::Result<HashSet<u32>> {
    let mut file = File::open(path)?;
    let (mut free, mut trunk) = (HashSet::new(), vec![0; PAGE]);
    let mut next = word(first, 32);
    while next != 0 && free.insert(next) {
        file.seek(SeekFrom::Start(u64::from(next - 1) * PAGE as u64))?;
        if file.read_exact(&mut trunk).is_err() {
            break;
        }
        let leaves = (word(&trunk, 4) as usize).min(PAGE / 4 - 2);
        free.extend((0..leaves).map(|leaf| word(&trunk, 8 + 4 * leaf)));
        next = word(&trunk, 0);
    }
    Ok(free)
}

/// The tables and indexes that have pages, by the numbers of the pages, as far as the file says.
pub(crate) fn owners(path: &Path) -> HashMap<u32, String> {
    let find = || -> rusqlite::Result<HashMap<u32, String>> {
        // Without the checksums, which would end this at the first damaged page.
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.pragma_update(None, "query_only", true)?;
        let mut pages = db.prepare("SELECT pageno, name FROM dbstat")?;
        let pages = pages.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(pages.map_while(Result::ok).collect())
    };
    find().unwrap_or_default()
}
