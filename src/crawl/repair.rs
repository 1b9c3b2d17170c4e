//! Repairs a damaged run.
//!
//! A block in which one byte was changed is restored: no other change makes it match its checksum again. Lines in other damaged blocks are
//! dropped, and the others kept. A WARC file whose end is missing ends with its last whole record. Nothing is changed in place: a file that was damaged stays, as `<name>.damaged`.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use flate2::bufread::GzDecoder;

use super::{
    directory::keep_marks,
    plan::CrawlError,
    verify::{Known, bytes_of, check, inspect, joined, state_of},
    verify::{Lost, Part, each_line, gaps, has_lines, hit},
};
use crate::{
    report::counted,
    sink::{Checksums, Mark, open_part},
    state::{Inspection, Log, State, StateError, WriteLock, is_sound, restore},
};

/// In a file with more damaged blocks than this, more than single bytes were changed: to try to restore each would take long.
const TRIED: usize = 16;

/// What to do about a state that cannot be restored.
const ADVICE: &str = "it cannot be repaired: restore a backup, or begin anew with another directory or file; the other files of this one stay";

/// What to do about a file of records, or one that is compressed.
const NO_LINES: &str =
    "it cannot be repaired: restore it from a backup; the crawl can go on without";

/// What a repair has done.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// How many blocks were restored.
    pub restored: usize,
    /// What was dropped: the file, and the URL of the line as far as it can be read.
    pub dropped: Vec<String>,
    /// Files that may have lost more lines than those, which cannot be named, and why.
    pub unnamed: Vec<String>,
    /// WARC files that were cut after their last whole record, and which bytes they have lost.
    pub cut: Vec<String>,
    /// Where the damaged files are now.
    pub kept: Vec<PathBuf>,
    /// What is still damaged.
    pub left: Vec<String>,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kept.is_empty() && self.left.is_empty() {
            return writeln!(f, "nothing to repair");
        }
        writeln!(f, "restored  {}", counted(self.restored, "block"))?;
        if !self.dropped.is_empty() {
            writeln!(f, "lost      {}", counted(self.dropped.len(), "line"))?;
        }
        self.dropped.iter().try_for_each(|what| writeln!(f, "dropped   {what}"))?;
        self.unnamed.iter().try_for_each(|what| writeln!(f, "unnamed   {what}"))?;
        self.cut.iter().try_for_each(|what| writeln!(f, "cut       {what}"))?;
        self.kept.iter().try_for_each(|path| writeln!(f, "kept      {}", path.display()))?;
        self.left.iter().try_for_each(|what| writeln!(f, "damaged   {what}"))
    }
}

/// Repairs a run, or the state of a filter.
///
/// # Errors
/// If there is no run, a crawl is running, or a file cannot be read or written.
pub fn repair(run: &Path) -> Result<Repair, CrawlError> {
    let path = state_of(run)?;
    let mut done = Repair::default();
    match repair_all(run, &path, &mut done) {
        // Each page is as it was written, but not what they say together.
        Err(CrawlError::State(StateError::Damaged(why))) => {
            done.left.push(format!("{}: {why}: {ADVICE}", path.display()));
        }
        result => result?,
    }
    Ok(done)
}

fn repair_all(run: &Path, path: &Path, done: &mut Repair) -> Result<(), CrawlError> {
    let lock = WriteLock::take(path)?;
    if inspect(path)?.log.is_some_and(|log| log.damage.is_some()) {
        let log = Log::path(path);
        repair_log(&log, done).map_err(CrawlError::file(&log))?;
    }
    let state = inspect(path)?;
    if !state.is_sound() {
        repair_state(path, &state, done).map_err(CrawlError::file(path))?;
    }
    drop(lock);
    if !done.left.is_empty() {
        return Ok(());
    }
    let state = State::open(path)?;
    let broken = state.structure()?.map(|what| format!("{}: {what}: {ADVICE}", path.display()));
    done.left.extend(broken);
    if run.is_dir() {
        repair_outputs(run, &state, done)?;
    }
    Ok(())
}

/// Restores what can be restored of the output files, and then drops the lines that cannot be: only whole lines say which are lost.
fn repair_outputs(run: &Path, state: &State, done: &mut Repair) -> Result<(), CrawlError> {
    let files = Known::all(state)?;
    let parts = files.iter().map(|known| restore_file(run, known, state, done));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut lost = Lost::read(state)?;
    let gaps = gaps(state, &parts, &lost)?;
    for (known, part) in files.iter().zip(&parts) {
        let path = run.join(&known.file);
        if part.path.as_ref() != Some(&new(&path)) {
            continue;
        }
        let size = drop_lines(&path, &part.damaged).map_err(CrawlError::file(&path))?;
        state.begin()?;
        for gap in gaps.iter().filter(|gap| gap.file == known.file) {
            lost.add(gap);
            let before = state.meta::<i64>("lost")?.unwrap_or_default();
            let more = i64::try_from(gap.count()).unwrap_or(i64::MAX);
            state.set_meta("lost", before.saturating_add(more))?;
            done.dropped.extend(gap.urls().iter().map(|url| format!("{}: {url}", gap.file)));
            done.unnamed.extend(gap.remark().map(|remark| format!("{}: {remark}", gap.file)));
        }
        lost.keep(state)?;
        replace_shorter(&path, known, size, state, done)?;
    }
    Ok(())
}

/// Restores frames of the log. Behind one that cannot be restored, nothing counts.
fn repair_log(path: &Path, done: &mut Repair) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    while let Log { damage: Some(_), committed, .. } = Log::parse(&bytes) {
        if Log::restore(&mut bytes) {
            done.restored += 1;
        } else {
            let lost = "the last commits: the crawl repeats their requests";
            done.dropped.push(format!("{}: {lost}", path.display()));
            bytes.truncate(usize::try_from(committed).unwrap_or_default());
        }
    }
    fs::write(new(path), bytes)?;
    replace(path, done)
}

/// Restores pages of the state, unless there is one that cannot be restored.
fn repair_state(path: &Path, state: &Inspection, done: &mut Repair) -> io::Result<()> {
    let copy = copied(path)?;
    let is_tried = state.pages.len() <= TRIED;
    for &page in &state.pages {
        let bytes = bytes_of(page);
        if is_tried && restore_block(&copy, &bytes, |block| is_sound(block, page))? {
            done.restored += 1;
        } else {
            done.left.push(format!("{}: bytes {bytes:?}: {ADVICE}", path.display()));
        }
    }
    match &state.end {
        Some(end) if copy.metadata()?.len() == end.end => copy.set_len(end.start)?,
        Some(end) => {
            done.left.push(format!("{}: bytes {end:?} are missing: {ADVICE}", path.display()));
        }
        None => {}
    }
    if done.left.is_empty() { replace(path, done) } else { fs::remove_file(new(path)) }
}

/// Restores what can be restored of an output file. What is returned has a new version if lines are to be dropped.
fn restore_file(
    run: &Path,
    known: &Known,
    state: &State,
    done: &mut Repair,
) -> Result<Part, CrawlError> {
    let path = run.join(&known.file);
    let failed = CrawlError::file(&path);
    if !path.exists() {
        if known.is_full || known.size == 0 {
            return Ok(known.part(run, None));
        }
        File::create(&path).map_err(&failed)?;
    } else if !path.is_file() {
        done.left.push(format!("{}: it is no regular file: move it away", path.display()));
        return Ok(known.part(run, None));
    }
    let wrong = check(run, known, state)?;
    if wrong.blocks.is_empty() && wrong.length == known.size {
        return Ok(known.part(run, Some((Vec::new(), known.size))));
    }
    let copy = copied(&path).map_err(&failed)?;
    let damaged = restore_blocks(&copy, wrong.blocks, done).map_err(&failed)?;
    if wrong.length > known.size {
        copy.set_len(known.size).map_err(&failed)?;
    }
    let is_whole = damaged.is_empty() && wrong.length >= known.size;
    let part = known.part(run, Some((damaged, wrong.length)));
    if is_whole {
        replace(&path, done).map_err(&failed)?;
    } else if has_lines(&path) {
        return Ok(Part { path: Some(new(&path)), ..part });
    } else if wrong.length < known.size && known.file.ends_with(".warc.gz") {
        cut_records(&path, known, state, done)?;
    } else {
        for bytes in joined(part.damaged.iter().cloned()) {
            let (file, end) = (path.display(), bytes.end.saturating_sub(1));
            done.left.push(format!("{file}: bytes {} to {end}: {NO_LINES}", bytes.start));
        }
        fs::remove_file(new(&path)).map_err(&failed)?;
    }
    Ok(part)
}

/// Replaces a file by its new version, which has this size.
fn replace_shorter(
    path: &Path,
    known: &Known,
    size: u64,
    state: &State,
    done: &mut Repair,
) -> Result<(), CrawlError> {
    let failed = CrawlError::file(path);
    let checksums = Checksums::of_file(&new(path), 0..size).map_err(&failed)?;
    let checksums: Vec<_> = checksums.into_iter().map(|part| (known.name.clone(), part)).collect();
    state.begin()?;
    state.drop_checksums(&known.name)?;
    keep_marks(state, &[Mark { file: known.file.clone(), offset: size }], &checksums)?;
    replace(path, done).map_err(&failed)?;
    Ok(state.commit()?)
}

/// Cuts a WARC file after its last whole record, so that a crawl can go on with it.
fn cut_records(
    path: &Path,
    known: &Known,
    state: &State,
    done: &mut Repair,
) -> Result<(), CrawlError> {
    let failed = CrawlError::file(path);
    let size = whole_members(&new(path)).map_err(&failed)?;
    let copy = OpenOptions::new().write(true).open(new(path)).map_err(&failed)?;
    copy.set_len(size).map_err(&failed)?;
    replace_shorter(path, known, size, state, done)?;
    let last = known.size.saturating_sub(1);
    done.cut.push(format!("{}: bytes {size} to {last}, with their records", path.display()));
    Ok(())
}

/// The length of the whole members of gzip at the beginning of a file.
fn whole_members(path: &Path) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut end = 0;
    while !file.fill_buf()?.is_empty() {
        // Also what lies beyond the end of the file, or is damaged, is no whole member.
        if io::copy(&mut GzDecoder::new(&mut file), &mut io::sink()).is_err() {
            break;
        }
        end = file.stream_position()?;
    }
    Ok(end)
}

/// Writes the new version without the lines that have some of these bytes, or no end. Returns its length.
fn drop_lines(path: &Path, damaged: &[Range<u64>]) -> io::Result<u64> {
    let whole = path.with_added_extension("whole");
    fs::rename(new(path), &whole)?;
    let mut lines = BufWriter::new(File::create(new(path))?);
    let (mut written, mut failed) = (0, None);
    each_line(open_part(&whole)?, |at, line| {
        if hit(line, at, damaged).is_none() {
            written += line.len() as u64;
            failed = failed.take().or(lines.write_all(line).err());
        }
    })?;
    fs::remove_file(whole)?;
    lines.flush()?;
    failed.map_or(Ok(written), Err)
}

/// Restores blocks in place by their hashes. Returns those that cannot be restored.
fn restore_blocks(
    file: &File,
    blocks: Vec<(Range<u64>, u64)>,
    done: &mut Repair,
) -> io::Result<Vec<Range<u64>>> {
    let (mut damaged, is_tried) = (Vec::new(), blocks.len() <= TRIED);
    for (bytes, hash) in blocks {
        if is_tried && restore_block(file, &bytes, |block| Checksums::hash(block) == hash)? {
            done.restored += 1;
        } else {
            damaged.push(bytes);
        }
    }
    Ok(damaged)
}

/// Restores a block in place, if one byte of it was changed. Returns whether it did.
fn restore_block(
    mut file: &File,
    bytes: &Range<u64>,
    is_sound: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    let mut block = Vec::new();
    file.seek(SeekFrom::Start(bytes.start))?;
    file.take(bytes.end - bytes.start).read_to_end(&mut block)?;
    let whole = 0..block.len();
    if !restore(&mut block, whole, is_sound) {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(bytes.start))?;
    file.write_all(&block).map(|()| true)
}

/// Where the new version of a file is written.
fn new(path: &Path) -> PathBuf {
    path.with_added_extension("repaired")
}

/// A copy of a file, to be the new version.
fn copied(path: &Path) -> io::Result<File> {
    fs::copy(path, new(path))?;
    OpenOptions::new().read(true).write(true).open(new(path))
}

/// Replaces a file by its new version, and keeps the old one under another name.
fn replace(path: &Path, done: &mut Repair) -> io::Result<()> {
    let mut kept = path.with_added_extension("damaged");
    for number in 2.. {
        if !kept.exists() {
            break;
        }
        kept = path.with_added_extension(format!("damaged-{number}"));
    }
    // It must not be lost when the old one has another name.
    OpenOptions::new().write(true).open(new(path))?.sync_all()?;
    fs::rename(path, &kept)?;
    fs::rename(new(path), path)?;
    done.kept.push(kept);
    Ok(())
}
