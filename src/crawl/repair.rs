//! Repairs a damaged run: cuts damaged lines and records out, and queues their URLs to be fetched again.
//!
//! Nothing is changed in place: a file that was damaged stays, as `<name>.damaged`. A state is not repaired; it comes back from a backup.

use std::{
    collections::HashSet,
    fmt,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};

use super::{
    plan::CrawlError,
    verify::{Known, read_sound, rows, state_of},
};
use crate::{
    fingerprint::Digest,
    page::Validators,
    report::counted,
    sink::{Checksum, Checksums, compress},
    state::{State, UrlIndex, UrlRow, UrlState, Visit, WriteLock},
};

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
        if self.kept.is_empty() && self.left.is_empty() {
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
        let no_text = Some(Digest([0; 16]));
        state.set_visit(
            row.id,
            &Visit { text: no_text, validators: Validators::default(), ..visit },
        )?;
        urls.requeue(state, &row, row.seed.unwrap_or_default(), None)?;
        done.queued += 1;
    }
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
