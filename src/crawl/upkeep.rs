//! Looks for damage in a run, repairs it, and copies a run.
//!
//! SQLite checks the structure of the state. Of each line and each record the state has a checksum, with the hash of its URL: so a damaged one
//! is named even if nothing of it is left. A compressed file is checked by what it decompresses to. The reports have no checksums:
//! `pagesieve report` writes them again.
//!
//! A repair cuts damaged lines and records out, and queues their URLs to be fetched again. Nothing is changed in place: a file that was damaged
//! stays, as `<name>.damaged`. A state is not repaired; it comes back from a backup.
//!
//! A backup is as of one commit, also while a crawl writes. The state is copied as one snapshot. It says how long each output file was; files
//! only grow, so the bytes up to there are those of the snapshot.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};

use super::{
    control::Tally,
    directory::{DERIVED, check_unclaimed, is_run},
    plan::{CrawlError, STATE},
};
use crate::{
    report::counted,
    sink::{Checksum, Checksums, check_regular, checksums_name, compress, open_part},
    state::{State, StateError, UrlId, UrlIndex, UrlRow, UrlState, WriteLock},
};

/// URLs that a damage is shown with, at most.
const SHOWN: usize = 10;

/// A part of a file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the run directory.
    pub file: String,
    /// The damaged bytes; of a compressed file, of what it decompresses to.
    pub bytes: Range<u64>,
    /// What is affected.
    pub affected: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, bytes, affected } = self;
        write!(f, "{file}: bytes {} to {}: {affected}", bytes.start, bytes.end.saturating_sub(1))
    }
}

/// What a look at all files of a run has found.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// The damage.
    pub damage: Vec<Damage>,
    /// What could not be verified, and why.
    pub notes: Vec<String>,
    /// Bytes that were verified.
    pub bytes: u64,
}

/// Reads all files of a run, or the state of a filter, and compares them with their checksums.
///
/// # Errors
/// If there is no run, a crawl is running, or a file cannot be read.
pub fn verify(run: &Path) -> Result<Verification, CrawlError> {
    let path = state_of(run)?;
    // Where there can be no lock, nobody writes.
    let _lock = match WriteLock::take(&path) {
        Err(error @ StateError::Busy { .. }) => return Err(error.into()),
        lock => lock.ok(),
    };
    let length = path.metadata().map_or(0, |file| file.len());
    let mut found = Verification { bytes: length, ..Verification::default() };
    match read_sound(run, &path)? {
        Ok(state) => found.add_outputs(run, &state)?,
        Err(why) => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            found.damage.push(Damage { file: file.into(), bytes: 0..length, affected: why });
            let note =
                "the output files were not verified: their checksums are in the damaged state";
            found.notes.extend(run.is_dir().then(|| note.to_owned()));
        }
    }
    Ok(found)
}

/// The state's file of a run directory, or of a filter.
fn state_of(run: &Path) -> Result<PathBuf, CrawlError> {
    let path = if run.is_file() { run.to_owned() } else { run.join(STATE) };
    // Beside output files, an empty state is a damaged one.
    let is_there = is_run(run) || run.is_file() || check_unclaimed(run).is_err();
    if path.is_file() && is_there {
        // Nothing is made beside a file of something else.
        if run.is_file()
            && let Err(error @ StateError::Foreign { .. }) = State::read(run)
        {
            return Err(error.into());
        }
        return Ok(path);
    }
    Err(if is_there { CrawlError::NoState } else { CrawlError::NoRun }(run.to_owned()))
}

/// Opens a state to read it, or says how it is damaged. What is in the place of a run's state is a damaged one, whatever it is.
fn read_sound(run: &Path, path: &Path) -> Result<Result<State, String>, CrawlError> {
    let read = State::read(path).and_then(|state| Ok((state.structure()?, state)));
    match read {
        Ok((None, state)) => Ok(Ok(state)),
        Ok((Some(why), _)) => Ok(Err(format!("the state: {why}"))),
        Err(error @ StateError::Damaged(_)) => Ok(Err(error.to_string())),
        Err(error @ StateError::Foreign { .. }) if run.is_dir() => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// An output file, and what its state says of it.
#[derive(Debug)]
struct Known {
    file: String,
    /// The name that it has when it is full, without the ending of a compressed one.
    name: String,
    size: u64,
    /// Whether it is full: it may have been moved away.
    is_full: bool,
}

impl Known {
    /// All output files of a run.
    fn all(state: &State) -> Result<Vec<Self>, StateError> {
        let (files, writes_warc) = (state.files()?, state.meta("warc")?.unwrap_or(false));
        let known = |(place, (file, size)): (usize, &(String, u64))| {
            let name = checksums_name(file, files.iter().map(|(file, _)| file.as_str()));
            // By name, the current WARC file is the last of all files.
            let is_current = writes_warc && place + 1 == files.len();
            let is_full = file.starts_with(&name) && !is_current;
            Self { file: file.clone(), name, size: *size, is_full }
        };
        Ok(files.iter().enumerate().map(known).collect())
    }

    fn is_compressed(&self) -> bool {
        self.file.len() > self.name.len() && self.is_full
    }

    fn has_records(&self) -> bool {
        self.file.ends_with(".warc.gz")
    }

    /// The checksums of its lines or records, each with the place where it begins.
    fn checksums(&self, state: &State) -> Result<Vec<(u64, Checksum)>, StateError> {
        let mut all = Vec::new();
        for (start, packed) in state.checksums(&self.name)? {
            let mut at = start;
            for one in Checksums::unpack(start, &packed).each {
                all.push((at, one));
                at += u64::from(one.length);
            }
        }
        Ok(all)
    }

    /// Reads the file, and calls `visit` with each line or record that it should have, and its bytes if they are as they were written. Returns
    /// how many bytes it has beyond.
    fn check(
        &self,
        run: &Path,
        checksums: &[(u64, Checksum)],
        mut visit: impl FnMut(u64, Checksum, Option<&[u8]>) -> io::Result<()>,
    ) -> io::Result<u64> {
        let path = run.join(&self.file);
        let mut file: Box<dyn Read> =
            if path.exists() { Box::new(open_part(&path)?) } else { Box::new(io::empty()) };
        let mut bytes = Vec::new();
        for &(at, one) in checksums {
            bytes.clear();
            match (&mut file).take(one.length.into()).read_to_end(&mut bytes) {
                // What cannot be decompressed is damaged.
                Err(error) if !self.is_compressed() => return Err(error),
                _ => {}
            }
            visit(at, one, (Checksum::of(&bytes, one.url) == one).then_some(&*bytes))?;
        }
        let more = io::copy(&mut file, &mut io::sink());
        if self.is_compressed() { Ok(more.unwrap_or(1)) } else { more }
    }
}

/// Damaged lines or records in a row: their bytes, how many they are, and the hashes of their URLs.
struct Gap {
    bytes: Range<u64>,
    count: usize,
    urls: Vec<u64>,
}

impl Verification {
    fn add_outputs(&mut self, run: &Path, state: &State) -> Result<(), CrawlError> {
        let files = Known::all(state)?;
        let mut gaps = Vec::new();
        for known in files.iter().filter(|_| run.is_dir()) {
            let path = run.join(&known.file);
            if known.is_full && !path.exists() {
                self.notes.push(format!("{} is not there: moved away?", known.file));
            } else if path.exists() && !path.is_file() {
                self.add(known, 0..known.size, "it is no regular file: move it away".to_owned());
            } else {
                let found = self.check(run, state, known)?;
                gaps.extend(found.into_iter().map(|gap| (known, gap)));
            }
        }
        let urls = gaps.iter().flat_map(|(_, gap)| gap.urls.iter().copied()).collect();
        let rows = rows(state, &urls)?;
        for (known, gap) in gaps {
            let named: Vec<_> = gap.urls.iter().filter_map(|url| rows.get(url)).collect();
            let what = if known.has_records() { "record" } else { "line" };
            let affected = format!("{} of {}", counted(gap.count, what), shown(&named));
            self.add(known, gap.bytes, affected);
        }
        Ok(())
    }

    fn add(&mut self, known: &Known, bytes: Range<u64>, affected: String) {
        self.damage.push(Damage { file: known.file.clone(), bytes, affected });
    }

    fn check(&mut self, run: &Path, state: &State, known: &Known) -> Result<Vec<Gap>, CrawlError> {
        let mut gaps: Vec<Gap> = Vec::new();
        let (checksums, mut end) = (known.checksums(state)?, 0);
        let more = known.check(run, &checksums, |at, one, sound| {
            end = at + u64::from(one.length);
            if sound.is_some() {
                return Ok(());
            }
            if gaps.last().is_none_or(|gap| gap.bytes.end != at) {
                gaps.push(Gap { bytes: at..at, count: 0, urls: Vec::new() });
            }
            if let Some(gap) = gaps.last_mut() {
                (gap.bytes.end, gap.count) = (end, gap.count + 1);
                gap.urls.extend((!gap.urls.contains(&one.url)).then_some(one.url));
            }
            Ok(())
        });
        let more = more.map_err(CrawlError::file(&run.join(&known.file)))?;
        self.bytes += end;
        if more > 0 && known.is_full && gaps.is_empty() {
            self.add(known, end..end + more, "bytes that do not belong to it".to_owned());
        } else if more > 0 && !known.is_full {
            let file = &known.file;
            self.notes
                .push(format!("{file}: {more} bytes behind its end: the next start cuts them off"));
        }
        Ok(gaps)
    }
}

/// The URLs that have these hashes.
fn rows(state: &State, hashes: &HashSet<u64>) -> Result<HashMap<u64, UrlRow>, StateError> {
    let mut found = HashMap::new();
    // Their numbers have no gap.
    for id in 1.. {
        if found.len() == hashes.len() {
            break;
        }
        let Some(row) = state.url_by_id(UrlId(id))? else { break };
        // Records have the spelling that was requested.
        for url in [row.url.as_str(), row.url.requested().as_str()] {
            let hash = Checksum::hash_of(url);
            if hashes.contains(&hash) {
                found.insert(hash, row.clone());
            }
        }
    }
    Ok(found)
}

fn shown(urls: &[&UrlRow]) -> String {
    let first = urls.iter().take(SHOWN).map(|row| row.url.as_str()).collect::<Vec<_>>().join(", ");
    match urls.len() {
        0 => "robots.txt, or the head of the file".to_owned(),
        1..=SHOWN => first,
        all => format!("{first} and {} more", all - SHOWN),
    }
}

/// What to do about a state that is damaged.
const ADVICE: &str = "it cannot be repaired: restore a backup, or begin anew with another directory or file; the other files of this one stay";

/// What a repair has done.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// The lines and records that were cut out: the file, and the URL.
    pub cut: Vec<String>,
    /// How many URLs are queued to be fetched again.
    pub queued: usize,
    /// Where the damaged files are now.
    pub kept: Vec<PathBuf>,
    /// What is still damaged.
    pub left: Vec<String>,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cut.is_empty() && self.left.is_empty() {
            return writeln!(f, "nothing to repair");
        }
        self.cut.iter().try_for_each(|what| writeln!(f, "cut       {what}"))?;
        if self.queued > 0 {
            let urls = counted(self.queued, "URL");
            writeln!(f, "queued    {urls}: continue the crawl to fetch them again")?;
        }
        self.kept.iter().try_for_each(|path| writeln!(f, "kept      {}", path.display()))?;
        self.left.iter().try_for_each(|what| writeln!(f, "damaged   {what}"))
    }
}

/// Repairs a run. The state of a filter has nothing that could be repaired.
///
/// # Errors
/// If there is no run, a crawl is running, or a file cannot be read or written.
pub fn repair(run: &Path) -> Result<Repair, CrawlError> {
    let path = state_of(run)?;
    let mut done = Repair::default();
    let lock = WriteLock::take(&path)?;
    if let Err(why) = read_sound(run, &path)? {
        done.left.push(format!("{}: {why}: {ADVICE}", path.display()));
        return Ok(done);
    }
    drop(lock);
    let state = State::open(&path)?;
    for known in Known::all(&state)?.iter().filter(|_| run.is_dir()) {
        repair_file(run, &state, known, &mut done)?;
    }
    Ok(done)
}

fn repair_file(
    run: &Path,
    state: &State,
    known: &Known,
    done: &mut Repair,
) -> Result<(), CrawlError> {
    let path = run.join(&known.file);
    let failed = CrawlError::file(&path);
    if known.is_full && !path.exists() {
        return Ok(());
    } else if path.exists() && !path.is_file() {
        done.left.push(format!("{}: it is no regular file: move it away", path.display()));
        return Ok(());
    }
    let checksums = known.checksums(state)?;
    let mut lost = HashSet::new();
    let more = known.check(run, &checksums, |_, one, sound| {
        lost.extend(sound.is_none().then_some(one.url));
        Ok(())
    });
    if lost.is_empty() && (more.map_err(&failed)? == 0 || !known.is_full) {
        return Ok(());
    }
    let new = path.with_added_extension("repaired");
    let kept = write_sound(run, known, &checksums, &new).map_err(&failed)?;
    if known.is_compressed() {
        let plain = path.with_added_extension("plain");
        fs::rename(&new, &plain).map_err(&failed)?;
        compress(&plain, &new)?;
        fs::remove_file(plain).map_err(&failed)?;
    }
    state.begin()?;
    state.set_file(&known.file, new.metadata().map_err(&failed)?.len())?;
    state.drop_checksums(&known.name)?;
    if !kept.each.is_empty() {
        state.set_checksums(&known.name, kept.start, &kept.pack())?;
    }
    queue_again(state, known, &lost, done)?;
    replace(&path, &new, done).map_err(failed)?;
    Ok(state.commit()?)
}

/// Writes the lines or records that are as they were written, decompressed, to a new file. Returns their checksums.
fn write_sound(
    run: &Path,
    known: &Known,
    checksums: &[(u64, Checksum)],
    new: &Path,
) -> io::Result<Checksums> {
    let (mut each, mut blank) = (Vec::new(), Vec::new());
    let mut file = BufWriter::new(File::create(new)?);
    known.check(run, checksums, |_, one, sound| {
        let Some(bytes) = sound else {
            blank.extend(known.has_records().then_some(one));
            return Ok(());
        };
        // Records behind damaged ones stay where the lines of their pages say.
        for Checksum { length, url, .. } in blank.drain(..) {
            let member = blank_member(length)?;
            each.push(Checksum::of(&member, url));
            file.write_all(&member)?;
        }
        each.push(one);
        file.write_all(bytes)
    })?;
    file.into_inner()?.sync_all()?;
    Ok(Checksums { start: 0, each })
}

/// Queues the pages whose lines or records are lost. Their texts are forgotten, so that each is judged and stored again, in its former place.
fn queue_again(
    state: &State,
    known: &Known,
    lost: &HashSet<u64>,
    done: &mut Repair,
) -> Result<(), CrawlError> {
    let mut urls = UrlIndex::load(state)?;
    let mut counts: Tally = state.json("counts")?.unwrap_or_default();
    let rows = rows(state, lost)?;
    if rows.len() < lost.len() {
        done.cut.push(format!("{}: robots.txt, or the head of the file", known.file));
    }
    let mut rows: Vec<UrlRow> = rows.into_values().collect();
    rows.sort_by_key(|row| row.id.0);
    for row in rows {
        done.cut.push(format!("{}: {}", known.file, row.url));
        // A change cannot be seen again.
        let is_page = row.state == UrlState::Judged && !known.name.starts_with("changes-");
        let Some(visit) = state.visit(row.id)?.filter(|_| is_page) else { continue };
        if !known.has_records() {
            state.lose_line(visit.document)?;
        }
        state.set_visit(row.id, &visit.without_line())?;
        urls.requeue(state, &row, row.seed.unwrap_or_default(), None)?;
        done.queued += 1;
        counts.queued += 1;
    }
    state.set_json("counts", &counts)?;
    Ok(urls.commit(state)?)
}

/// A member of gzip of this length, with nothing in it.
fn blank_member(length: u32) -> io::Result<Vec<u8>> {
    let blank = |comment: usize| {
        let member = GzBuilder::new().comment(vec![b' '; comment]);
        member.write(Vec::new(), Compression::default()).finish()
    };
    blank((length as usize).saturating_sub(blank(0)?.len()))
}

/// Replaces a file by its new version, and keeps the old one under another name.
fn replace(path: &Path, new: &Path, done: &mut Repair) -> io::Result<()> {
    let names = (2..).map(|number| path.with_added_extension(format!("damaged-{number}")));
    let mut names = std::iter::once(path.with_added_extension("damaged")).chain(names);
    let kept = names.find(|name| !name.exists()).unwrap_or_default();
    match fs::rename(path, &kept) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        renamed => {
            renamed?;
            done.kept.push(kept);
        }
    }
    fs::rename(new, path)
}

/// Copies a run, or the state of a filter, into a directory, which must be empty or not exist. Returns the number of bytes copied.
///
/// # Errors
/// If there is no run, the directory has files, or a file cannot be read or written.
pub fn backup(run: &Path, directory: &Path) -> Result<u64, CrawlError> {
    let path = state_of(run)?;
    let failed = CrawlError::file(directory);
    let absolute = |path| std::path::absolute(path).map_err(&failed);
    if absolute(directory)?.starts_with(absolute(run)?) {
        return Err(CrawlError::Inside(directory.to_owned()));
    }
    fs::create_dir_all(directory).map_err(&failed)?;
    if fs::read_dir(directory).map_err(&failed)?.next().is_some() {
        return Err(CrawlError::Occupied(directory.to_owned()));
    }
    let copied = copy_run(run, &path, directory);
    if copied.is_err() {
        // Half a copy is useless. The first error is reported, not one of this.
        drop(fs::remove_dir_all(directory));
    }
    copied
}

fn copy_run(run: &Path, state: &Path, directory: &Path) -> Result<u64, CrawlError> {
    let copy = directory.join(STATE);
    State::copy(state, &copy)?;
    let mut bytes = copy.metadata().map_or(0, |file| file.len());
    let state = State::read(&copy)?;
    for known in Known::all(&state)? {
        let target = directory.join(&known.file);
        bytes += copy_file(run, &known, &target).map_err(CrawlError::file(&target))?;
    }
    // The state of a filter has none.
    for name in DERIVED.into_iter().filter(|_| run.is_dir()) {
        match fs::copy(run.join(name), directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CrawlError::file(&run.join(name))(error));
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// Copies an output file up to the length that it had. It may have become full, and have another name since; a full one may have been moved away.
fn copy_file(run: &Path, known: &Known, target: &Path) -> io::Result<u64> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    let current = run.join(&known.file);
    let full = run.join(&known.name);
    let compressed = full.with_added_extension("zst");
    let opened = check_regular(&current).and_then(|()| File::open(&current));
    // If it has another name by now, the one that was opened may be the next one.
    let is_elsewhere = !known.is_full && full != current;
    let mut source: Box<dyn Read> = if is_elsewhere && full.exists() {
        Box::new(File::open(&full)?)
    } else if is_elsewhere && compressed.exists() {
        Box::new(open_part(&compressed)?)
    } else {
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_elsewhere => {
                return Ok(0);
            }
            opened => Box::new(opened?),
        }
    };
    let mut file = File::create(target)?;
    let copied = io::copy(&mut (&mut source).take(known.size), &mut file)?;
    file.sync_all()?;
    if copied == known.size { Ok(copied) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
