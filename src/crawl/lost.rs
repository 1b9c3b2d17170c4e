//! Names the lines that damage has taken from the output files.
//!
//! Zeros over several lines leave no trace of those in the middle. The state knows all documents, and their lines were written in the order
//! of their numbers: the documents between the last whole line before the damage and the first one behind it are those whose lines are lost.

use std::{
    borrow::Cow,
    io::{self, BufRead},
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::plan::CrawlError;
use crate::{
    page::DocId,
    sink::{CHANGES, Checksums, DUPLICATES, LINES, PAGES, open_part},
    state::{State, StateError},
};

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
