//! Looks for damage in a run: in its state, and in the files that it has written.
//!
//! Everything is compared with checksums that were committed with it: pages of the state, frames of its log, and blocks of 4 KiB of each output
//! file. The reports have none: `pagesieve report` writes them again.
//!
//! Lines that damage has taken are named. Zeros over several lines leave no trace of those in the middle. But the state knows all documents,
//! and their lines were written in the order of their numbers: the documents between the last whole line before the damage and the first one
//! behind it are those whose lines are lost.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    directory::{STATE, check_unclaimed, is_run},
    plan::CrawlError,
};
use crate::{
    page::DocId,
    report::counted,
    sink::{
        CHANGES, Checksums, DUPLICATES, LINES, PAGES, RecordPosition, checksums_name, open_part,
        parts,
    },
    state::{
        Inspection, Log, PAGE, State, StateError, WriteLock, is_state, owners,
        refuse_without_checksums,
    },
};

/// URLs that a damage is shown with, at most.
const SHOWN: usize = 10;

/// A part of a file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the run directory.
    pub file: String,
    /// The bytes among which the damaged ones are.
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
    let mut found = Verification::default();
    // Where there can be no lock, nobody writes.
    let _lock = match WriteLock::take(&path) {
        Err(error @ StateError::Busy { .. }) => return Err(error.into()),
        lock => lock.ok(),
    };
    let state = inspect(&path)?;
    for file in [&path, &Log::path(&path)] {
        found.bytes += file.metadata().map_or(0, |file| file.len());
    }
    found.add_state(&path, &state);
    let is_damaged = !found.damage.is_empty();
    match found.add_outputs(run, &path, state.log.is_some()) {
        Err(CrawlError::State(_)) if is_damaged => {
            let note = "the output files were not verified, because their checksums are in the damaged state";
            found.notes.push(note.to_owned());
            Ok(found)
        }
        // Its checksums are right, but not what it says.
        Err(CrawlError::State(StateError::Damaged(why))) => {
            let end = path.metadata().map_or(0, |file| file.len());
            found.add(&name_of(&path), 0..end, format!("the state: {why}"));
            Ok(found)
        }
        result => result.map(|()| found),
    }
}

/// The state's file of a run directory, or of a filter.
pub(super) fn state_of(run: &Path) -> Result<PathBuf, CrawlError> {
    let path = if run.is_file() { run.to_owned() } else { run.join(STATE) };
    if run.is_file() && !is_state(run) {
        return Err(StateError::Foreign { path }.into());
    }
    // Beside output files, an empty state is a damaged one.
    let is_there = is_run(run) || run.is_file() || check_unclaimed(run).is_err();
    if path.is_file() && is_there {
        return Ok(path);
    }
    Err(if is_there { CrawlError::NoState } else { CrawlError::NoRun }(run.to_owned()))
}

pub(super) fn inspect(path: &Path) -> Result<Inspection, CrawlError> {
    refuse_without_checksums(path)?;
    Inspection::of(path).map_err(CrawlError::file(path))
}

/// An output file, and what its state says of it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) file: String,
    /// The name of its checksums.
    pub(super) name: String,
    pub(super) size: u64,
    /// Whether it is full: it may have been moved away.
    pub(super) is_full: bool,
}

impl Known {
    /// All output files of a run.
    pub(super) fn all(state: &State) -> Result<Vec<Self>, StateError> {
        let (files, writes_warc) = (state.files()?, state.meta("warc")?.unwrap_or(false));
        let known = |(place, (file, size)): (usize, &(String, u64))| {
            let name = checksums_name(file, files.iter().map(|(file, _)| file.as_str()));
            // By name, the current WARC file is the last of all files.
            let is_current = writes_warc && place + 1 == files.len();
            let is_full = *file == name && !is_current;
            Self { file: file.clone(), name, size: *size, is_full }
        };
        Ok(files.iter().enumerate().map(known).collect())
    }

    /// Its lines, if it has any, and its damage: the damaged bytes, and its length. `None` if there is no such file.
    pub(super) fn part(&self, run: &Path, found: Option<(Vec<Range<u64>>, u64)>) -> Part {
        let (path, is_there) = (run.join(&self.file), found.is_some());
        let (blocks, length) = found.unwrap_or_default();
        let mut damaged = joined(blocks.into_iter());
        damaged.extend((length < self.size).then_some(length..self.size));
        let is_packed = !has_lines(&path);
        let is_elsewhere = !is_there && (self.is_full || path.exists());
        let is_unknown = is_elsewhere || (is_packed && !damaged.is_empty());
        let size = if is_packed { u64::MAX } else { self.size };
        Part { file: self.file.clone(), path: (!is_unknown).then_some(path), damaged, size }
    }

    fn checksums(&self, state: &State) -> Result<Vec<Checksums>, StateError> {
        let parts = state.checksums(&self.name)?.into_iter();
        Ok(parts.map(|(start, length, hashes)| Checksums { start, length, hashes }).collect())
    }
}

/// What is wrong with an output file.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// The damaged blocks, and the hashes that they should have.
    pub(super) blocks: Vec<(Range<u64>, u64)>,
    /// Its length in bytes.
    pub(super) length: u64,
}

/// Compares a file with its checksums. Blocks that it lacks are none of the damaged ones.
pub(super) fn check(run: &Path, known: &Known, state: &State) -> Result<Wrong, CrawlError> {
    let checksums = known.checksums(state)?;
    let path = run.join(&known.file);
    compare(&path, &checksums).map_err(CrawlError::file(&path))
}

fn compare(path: &Path, checksums: &[Checksums]) -> io::Result<Wrong> {
    let file = File::open(path)?;
    let mut wrong = Wrong { length: file.metadata()?.len(), ..Wrong::default() };
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut block = Vec::new();
    for (bytes, hash) in checksums.iter().flat_map(Checksums::blocks) {
        block.clear();
        (&mut file).take(bytes.end - bytes.start).read_to_end(&mut block)?;
        if bytes.end > wrong.length {
            break;
        }
        if Checksums::hash(&block) != hash {
            wrong.blocks.push((bytes, hash));
        }
    }
    Ok(wrong)
}

impl Verification {
    fn add(&mut self, file: &str, bytes: Range<u64>, affected: String) {
        self.damage.push(Damage { file: file.to_owned(), bytes, affected });
    }

    fn add_state(&mut self, path: &Path, state: &Inspection) {
        let name = name_of(path);
        // To ask SQLite would apply the log.
        let ask = state.log.is_none() && !state.pages.is_empty();
        let owners = if ask { owners(path) } else { HashMap::new() };
        for page in &state.pages {
            let owner = owners.get(page).map_or("structure or free space", String::as_str);
            self.add(&name, bytes_of(*page), format!("a page of the state: {owner}"));
        }
        if let Some(end) = &state.end {
            let is_short = path.metadata().is_ok_and(|file| file.len() == end.start);
            let what = if is_short { "are missing" } else { "do not belong to it" };
            self.add(&name, end.clone(), format!("the end of the state: these bytes {what}"));
        }
        if let Some(damage) = state.log.as_ref().and_then(|log| log.damage.clone()) {
            let what = "what was committed last, and not yet moved to the state's file";
            self.add(&format!("{name}-wal"), damage, what.to_owned());
        }
    }

    /// Adds what only the state knows: whether it is one as a whole, and the output files.
    fn add_outputs(&mut self, run: &Path, path: &Path, was_killed: bool) -> Result<(), CrawlError> {
        let state = State::read(path)?;
        if self.damage.is_empty()
            && let Some(what) = state.structure()?
        {
            self.add(&name_of(path), 0..self.bytes, what);
        }
        let files = if run.is_dir() { Known::all(&state)? } else { Vec::new() };
        let check = |known: &Known| {
            let is_there = run.join(&known.file).is_file();
            is_there.then(|| check(run, known, &state)).transpose()
        };
        let wrong = files.iter().map(check).collect::<Result<Vec<_>, _>>()?;
        let part = |(known, wrong): (&Known, &Option<Wrong>)| {
            let found = wrong.as_ref().map(|wrong| {
                (wrong.blocks.iter().map(|(bytes, _)| bytes.clone()).collect(), wrong.length)
            });
            known.part(run, found)
        };
        let parts: Vec<_> = files.iter().zip(&wrong).map(part).collect();
        let gaps = gaps(&state, &parts, &Lost::read(&state)?)?;
        let mut files = files.iter().zip(wrong);
        files.try_for_each(|(known, wrong)| self.add_file(run, known, wrong, &gaps, was_killed))
    }

    fn add_file(
        &mut self,
        run: &Path,
        known: &Known,
        wrong: Option<Wrong>,
        gaps: &[Gap],
        was_killed: bool,
    ) -> Result<(), CrawlError> {
        let (file, path) = (&known.file, run.join(&known.file));
        let Some(wrong) = wrong else {
            if path.exists() {
                self.add(file, 0..known.size, "it is no regular file: move it away".to_owned());
            } else if known.is_full {
                self.notes.push(format!("{file} is not there: moved away?"));
            } else if known.size > 0 {
                let lines = lines_in(gaps, file, 0).map(|lines| format!(", with {lines}"));
                let missing = format!("the file is missing{}", lines.unwrap_or_default());
                self.add(file, 0..known.size, missing);
            }
            return Ok(());
        };
        self.bytes += wrong.length;
        for bytes in joined(wrong.blocks.into_iter().map(|(bytes, _)| bytes)) {
            let affected = affected(run, file, &bytes, gaps).map_err(CrawlError::file(&path))?;
            self.add(file, bytes, affected);
        }
        if wrong.length < known.size {
            let lines = lines_in(gaps, file, wrong.length);
            let lines = lines.unwrap_or_else(|| "the lines or records that it had".to_owned());
            let lost = format!("its end is missing, with {lines}");
            self.add(file, wrong.length..known.size, lost);
        } else if wrong.length > known.size && !was_killed {
            let more = "these bytes do not belong to it; the next start cuts them off";
            self.add(file, known.size..wrong.length, more.to_owned());
        }
        Ok(())
    }
}

/// The lines that damage beginning at this byte has taken.
fn lines_in(gaps: &[Gap], file: &str, at: u64) -> Option<String> {
    let gap = gaps.iter().find(|gap| gap.file == file && gap.at == at)?;
    let urls = gap.urls();
    let lines = counted(urls.len(), "line");
    let more = gap.remark().map(|remark| format!("; {remark}")).unwrap_or_default();
    Some(format!("{lines} from line {}: {}{more}", gap.line, shown(&urls, "no URL is left")))
}

fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// The bytes of a page of the state.
pub(super) fn bytes_of(page: u32) -> Range<u64> {
    let end = u64::from(page) * PAGE as u64;
    end - PAGE as u64..end
}

/// Ranges in order, those that touch as one.
pub(super) fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// The lines or records that have some of these bytes.
fn affected(run: &Path, file: &str, bytes: &Range<u64>, gaps: &[Gap]) -> io::Result<String> {
    let path = run.join(file);
    if path.extension().is_some_and(|ending| ending == "zst") {
        return Ok("the lines that are compressed there, and perhaps all after them".to_owned());
    }
    if has_lines(&path) {
        let before = || "the same lines as of the damage before it".to_owned();
        return Ok(lines_in(gaps, file, bytes.start).unwrap_or_else(before));
    }
    let mut urls = Vec::new();
    for name in [PAGES, DUPLICATES] {
        for path in parts(run, name)? {
            let read = open_part(&path).and_then(|lines| {
                each_line(lines, |_, line| urls.extend(archived(line, file, bytes)))
            });
            // What cannot be read there is damage of its own.
            drop(read);
        }
    }
    Ok(format!("records of {}", shown(&urls, "a redirect, an error or robots.txt")))
}

fn shown(urls: &[String], none: &str) -> String {
    let mut text = urls.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if urls.is_empty() {
        text.push_str(none);
    } else if urls.len() > SHOWN {
        return format!("{text} and {} more", urls.len() - SHOWN);
    }
    text
}

/// The URL of a line whose record has some of these bytes of a WARC file.
fn archived(line: &[u8], file: &str, bytes: &Range<u64>) -> Option<String> {
    #[derive(Deserialize)]
    struct StoredLine<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        warc: Option<RecordPosition>,
    }
    let line: StoredLine<'_> = serde_json::from_slice(line).ok()?;
    let position = line.warc.filter(|position| position.file == file)?;
    let is_hit = position.offset < bytes.end && position.offset + position.length > bytes.start;
    is_hit.then(|| line.id.into_owned())
}

/// The documents whose lines are lost and were listed: the kind of their file, and the first and the last of them in a row.
#[derive(Debug, Default)]
pub(super) struct Lost(Vec<(String, DocId, DocId)>);

impl Lost {
    /// The name of its value in the state.
    const NAME: &str = "lost_lines";

    pub(super) fn read(state: &State) -> Result<Self, StateError> {
        Ok(Self(state.json(Self::NAME)?.unwrap_or_default()))
    }

    pub(super) fn keep(&self, state: &State) -> Result<(), StateError> {
        state.set_json(Self::NAME, &self.0)
    }

    /// Adds the documents whose lines damage has taken.
    pub(super) fn add(&mut self, gap: &Gap) {
        for &(id, _) in &gap.documents {
            match self.0.last_mut() {
                Some((kind, _, last)) if *kind == gap.kind && last.0 + 1 == id.0 => *last = id,
                _ => self.0.push((gap.kind.to_owned(), id, id)),
            }
        }
    }

    /// Whether the line of this document in a file of this kind was lost.
    pub(super) fn has(&self, kind: &str, id: DocId) -> bool {
        self.0.iter().any(|(of, first, last)| of == kind && (*first..=*last).contains(&id))
    }
}

/// What the lines of a file are about: the name of the current file of its kind. `None` for a file of records.
pub(super) fn kind(file: &str) -> Option<&'static str> {
    LINES.into_iter().find(|name| file.starts_with(name.trim_end_matches(".jsonl")))
}

/// The kind of the file that a document has its line in.
pub(super) fn kind_of_line(is_stored: bool) -> &'static str {
    if is_stored { PAGES } else { DUPLICATES }
}

/// A file of lines, and its damage.
#[derive(Debug)]
pub(super) struct Part {
    /// Its name in the run.
    pub(super) file: String,
    /// Where it is read; `None` if its lines cannot be known: it was moved away, or cannot be decompressed.
    pub(super) path: Option<PathBuf>,
    /// The damaged bytes in order, also those that are missing at its end.
    pub(super) damaged: Vec<Range<u64>>,
    /// How long it should be, in bytes.
    pub(super) size: u64,
}

/// What one piece of damage has taken, or several with no whole line between.
#[derive(Debug)]
pub(super) struct Gap {
    kind: &'static str,
    /// The file in which it begins.
    pub(super) file: String,
    /// The first byte of its first damage.
    pub(super) at: u64,
    /// The number of the first line that is damaged, from 1.
    pub(super) line: u64,
    /// The documents whose lines are lost, as far as they are known.
    documents: Vec<(DocId, String)>,
    /// What is left of the names in these lines.
    remains: Vec<String>,
    /// Whether more lines may be lost that nothing can name.
    is_open: bool,
}

impl Gap {
    /// The URLs of the lines.
    pub(super) fn urls(&self) -> Vec<String> {
        if self.is_open || self.documents.is_empty() {
            return self.remains.clone();
        }
        self.documents.iter().map(|(_, name)| name.clone()).collect()
    }

    /// Why there may be more, if there may.
    pub(super) fn remark(&self) -> Option<&'static str> {
        match self.kind {
            CHANGES => Some("perhaps further lines, which the state does not know"),
            _ if self.is_open => Some(
                "perhaps further lines, which cannot be distinguished from those of a file that cannot be read or was moved away",
            ),
            _ => None,
        }
    }

    /// How many lines of pages and duplicates are lost.
    pub(super) fn count(&self) -> usize {
        if self.kind == CHANGES { 0 } else { self.urls().len() }
    }
}

/// What the damage of these files, of each kind the oldest first, has taken. Lines that were lost before are not among them.
pub(super) fn gaps(state: &State, parts: &[Part], lost: &Lost) -> Result<Vec<Gap>, CrawlError> {
    let mut found = Vec::new();
    for kind in LINES {
        let parts: Vec<_> =
            parts.iter().filter(|part| self::kind(&part.file) == Some(kind)).collect();
        if parts.iter().any(|part| part.path.is_some() && !part.damaged.is_empty()) {
            found.extend(gaps_of(state, kind, &parts, lost)?);
        }
    }
    Ok(found)
}

fn gaps_of(
    state: &State,
    kind: &'static str,
    parts: &[&Part],
    lost: &Lost,
) -> Result<Vec<Gap>, CrawlError> {
    let mut order = Vec::new();
    if kind != CHANGES {
        state.for_each_document(DocId(0), |document| {
            let hash = Checksums::hash(document.name.as_bytes());
            let (id, kind) = (document.judgement.id, kind_of_line(document.stored));
            order.push(Written { id, kind, hash });
            Ok(())
        })?;
    }
    let mut search = Search { kind, order, next: 0, gap: None, is_open: false, found: Vec::new() };
    for part in parts {
        let Some(path) = &part.path else {
            search.leave_open();
            continue;
        };
        match search.read(path, part) {
            Err(_) if !has_lines(Path::new(&part.file)) => search.leave_open(),
            read => read.map_err(CrawlError::file(path))?,
        }
    }
    let end = search.order.len();
    search.close(end);
    let Search { order, found, .. } = search;
    found.into_iter().map(|(gap, places)| Ok(named(state, gap, &order[places], lost)?)).collect()
}

/// Adds the documents to a gap whose lines it has taken: those of its kind among these.
fn named(state: &State, mut gap: Gap, between: &[Written], lost: &Lost) -> Result<Gap, StateError> {
    for written in between.iter().filter(|it| it.kind == gap.kind && !lost.has(gap.kind, it.id)) {
        gap.documents.push((written.id, state.name_of(written.id)?));
    }
    if gap.is_open {
        let Gap { documents, remains, .. } = &mut gap;
        documents.retain(|(_, name)| remains.contains(name));
    }
    Ok(gap)
}

/// A document whose line was written: its number, the kind of the file, and the hash of its name.
#[derive(Debug)]
struct Written {
    id: DocId,
    kind: &'static str,
    hash: u64,
}

/// Follows the lines of the files and the documents of the state at the same time.
#[derive(Debug)]
struct Search {
    kind: &'static str,
    /// All documents in order.
    order: Vec<Written>,
    /// The place in `order` behind the document of the last whole line.
    next: usize,
    /// The damage since the last whole line.
    gap: Option<Gap>,
    /// Whether a file that cannot be read came after the last whole line.
    is_open: bool,
    /// The damage, and the places of the documents between the whole lines around it.
    found: Vec<(Gap, Range<usize>)>,
}

impl Search {
    fn read(&mut self, path: &Path, part: &Part) -> io::Result<()> {
        let (mut number, mut end) = (0, 0);
        if path.is_file() {
            each_line(open_part(path)?, |at, line| {
                if at >= part.size {
                    return;
                }
                number += 1;
                end = at + line.len() as u64;
                match hit(line, at, &part.damaged) {
                    Some(damage) => self.damaged(part, damage.start, number, Some(url_in(line))),
                    None => self.whole(line),
                }
            })?;
        }
        if let Some(missing) = part.damaged.last().filter(|bytes| bytes.end > end) {
            self.damaged(part, missing.start, number + 1, None);
        }
        Ok(())
    }

    /// The lines of a file cannot be known.
    fn leave_open(&mut self) {
        self.is_open = true;
        if let Some(gap) = &mut self.gap {
            gap.is_open = true;
        }
    }

    fn damaged(&mut self, part: &Part, at: u64, line: u64, remains: Option<String>) {
        let (kind, is_open) = (self.kind, self.is_open);
        let gap = self.gap.get_or_insert_with(|| Gap {
            kind,
            file: part.file.clone(),
            at,
            line,
            documents: Vec::new(),
            remains: Vec::new(),
            is_open,
        });
        gap.remains.extend(remains);
    }

    fn whole(&mut self, line: &[u8]) {
        let Some(hash) = id_in(line).map(|id| Checksums::hash(id.as_bytes())) else { return };
        let rest = &self.order[self.next..];
        let own = rest.iter().position(|it| it.hash == hash && it.kind == self.kind);
        if let Some(place) = own.or_else(|| rest.iter().position(|it| it.hash == hash)) {
            self.close(self.next + place);
            self.next += place + 1;
        }
    }

    /// The next whole line is that of the document at this place.
    fn close(&mut self, place: usize) {
        self.is_open = false;
        self.found.extend(self.gap.take().map(|gap| (gap, self.next..place)));
    }
}

/// The first damage that a line has a part of, if it has one. A line without end is damaged by what is missing.
pub(super) fn hit<'a>(line: &[u8], at: u64, damaged: &'a [Range<u64>]) -> Option<&'a Range<u64>> {
    let end = at + line.len() as u64;
    let next = damaged.get(damaged.partition_point(|bytes| bytes.end <= at));
    next.filter(|bytes| bytes.start < end || !line.ends_with(b"\n"))
}

/// Whether a file has lines as they are.
pub(super) fn has_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

/// Calls `visit` with the position and the bytes of each line.
pub(super) fn each_line(
    mut file: impl BufRead,
    mut visit: impl FnMut(u64, &[u8]),
) -> io::Result<()> {
    let (mut at, mut line) = (0, Vec::new());
    while file.read_until(b'\n', &mut line)? > 0 {
        visit(at, &line);
        at += line.len() as u64;
        line.clear();
    }
    Ok(())
}

/// The id of a whole line.
fn id_in(line: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    serde_json::from_slice::<Named<'_>>(line).ok().map(|line| line.id)
}

/// The URL of a line, as far as it can be read.
fn url_in(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    // Lines of `changes.jsonl` have no id.
    let named = |name| line.split_once(name).map(|(_, rest)| rest);
    let id = named("\"id\":\"").or_else(|| named("\"url\":\""));
    let url = id.and_then(|rest| rest.split('"').next()).unwrap_or("a URL that cannot be read");
    url.chars().take(2_000).collect()
}
