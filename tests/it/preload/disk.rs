//! A disk that fails.
//!
//! Counts the calls that change files below the directory `PAGESIEVE_DISK`. `PAGESIEVE_FAULT` is `KIND AT SEED`; from the call with the number
//! `AT` on,
//!
//! - `eio` or `full`: a call fails; `dead` or `no-room`: all do. A write may have written a part, and a sync may have lost what it was to sync.
//! - `slow`: calls are interrupted, and writes write only a part.
//! - `cut`: the power fails, at the end of the process if it ends before. Of what was not synced, a random part is lost: each block of a file
//!   has the content that it had at some time since its sync, the file has such a length, and changes of a directory are lost in any
//!   combination.
//! - `lie` or `lies`: a sync, or each one, succeeds and does nothing; the power fails up to a hundred calls later.
//! - `count`: prints the number of calls at the end.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
    env,
    ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void},
    fs::{self, File, Metadata},
    mem::{self, ManuallyDrop},
    os::{
        fd::FromRawFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf, absolute},
    slice,
    sync::{Mutex, MutexGuard, OnceLock},
};

/// The exit code after a power cut.
const CUT: c_int = 99;
const EINTR: c_int = 4;
const EIO: c_int = 5;
const ENOSPC: c_int = 28;
const CREATE: c_int = 0o100;
const TRUNCATE: c_int = 0o1000;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn lseek64(file: c_int, offset: i64, whence: c_int) -> i64;
    fn __errno_location() -> *mut c_int;
    fn _exit(code: c_int) -> !;
}

/// What libc itself does.
macro_rules! original {
    ($name:literal, $($argument:ty),* => $result:ty) => {{
        let name: &CStr = $name;
        unsafe {
            let found = dlsym(-1_isize as *mut c_void, name.as_ptr());
            mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(found)
        }
    }};
}

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Open,
    Write,
    Truncate,
    Sync,
    Rename,
    Unlink,
    Mkdir,
}

/// What becomes of a call.
#[derive(Clone, Copy)]
enum Outcome {
    Done,
    /// A write writes this many bytes less.
    Short(u64),
    /// This error; what is done before depends on the number.
    Failed(c_int, u64),
    /// It only seems to be done.
    Lied,
}

/// A change of a file that is not synced.
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Default)]
struct Content {
    synced: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
enum Node {
    Directory,
    File(usize),
}

/// What a change of directories makes of names: they all change, or none.
type Renamed = Vec<(PathBuf, Option<Node>)>;

struct Disk {
    root: PathBuf,
    kind: String,
    at: u64,
    seed: u64,
    calls: u64,
    lied_at: Option<u64>,
    has_failed: bool,
    device: u64,
    contents: Vec<Content>,
    /// Places in `contents`, by the numbers of inodes.
    files: HashMap<u64, usize>,
    directories: HashMap<u64, PathBuf>,
    names: BTreeMap<PathBuf, Node>,
    renamed: Vec<Renamed>,
}

/// A random number for each place.
fn random(seed: u64, place: usize) -> u64 {
    let mut mixed = seed ^ (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ mixed >> 30).wrapping_mul(factor);
    }
    mixed ^ mixed >> 31
}

impl Content {
    /// The content after the power has failed. `synced` has all changes, or none.
    fn after(&self, seed: u64) -> Vec<u8> {
        let all = self.changes.len();
        let changes_of = |place: usize| match seed % 4 {
            0 => 0,
            1 => all,
            _ => random(seed.wrapping_add(all as u64), place) as usize % (all + 1),
        };
        let (kept, block) = (changes_of(usize::MAX), if seed & 8 == 0 { 512 } else { 4096 });
        let (mut bytes, mut length) = (self.synced.clone(), self.synced.len());
        for (number, change) in self.changes.iter().enumerate() {
            match change {
                // Nothing can be written to blocks that the file has not got.
                Change::Length(_) if number >= kept => break,
                Change::Length(new) => {
                    length = *new;
                    bytes.truncate(length);
                }
                Change::Write(at, written) => {
                    let end = at + written.len();
                    length = if number < kept { length.max(end) } else { length };
                    bytes.resize(bytes.len().max(end), 0);
                    for place in (*at..end).filter(|place| number < changes_of(place / block)) {
                        bytes[place] = written[place - at];
                    }
                }
            }
        }
        bytes.resize(length, 0);
        bytes
    }

    fn sync(&mut self) {
        self.synced = self.after(1);
        self.changes.clear();
    }
}

thread_local! {
    /// Whether this thread is in here, where files are used as they are.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The disk while one call changes it.
struct Guard(MutexGuard<'static, Disk>);

impl Drop for Guard {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// The disk, and what `find` finds on it. None for anything that is not on it.
fn on_disk<T>(find: impl FnOnce(&mut Disk) -> Option<T>) -> Option<(Guard, T)> {
    static DISK: OnceLock<Option<Mutex<Disk>>> = OnceLock::new();
    if INSIDE.replace(true) {
        return None;
    }
    let disk = DISK.get_or_init(|| Disk::new().map(Mutex::new)).as_ref();
    let Some(disk) = disk else {
        INSIDE.set(false);
        return None;
    };
    let mut guard = Guard(disk.lock().expect("no thread panics here"));
    let found = find(&mut guard.0)?;
    Some((guard, found))
}

fn on_disk_at(path: *const c_char) -> Option<(Guard, PathBuf)> {
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    on_disk(|disk| absolute(path).ok().filter(|path| path.starts_with(&disk.root)))
}

fn metadata(file: c_int) -> Option<Metadata> {
    if file < 0 {
        return None;
    }
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    file.metadata().ok()
}

impl Disk {
    fn new() -> Option<Self> {
        let root = PathBuf::from(env::var_os("PAGESIEVE_DISK")?);
        let fault = env::var("PAGESIEVE_FAULT").expect("PAGESIEVE_FAULT is set");
        let words: Vec<_> = fault.split(' ').collect();
        let number = |word: &str| word.parse().expect("KIND AT SEED");
        let mut disk = Self {
            kind: words[0].to_owned(),
            at: number(words[1]),
            seed: number(words[2]),
            calls: 0,
            lied_at: None,
            has_failed: false,
            device: root.metadata().expect("the directory exists").dev(),
            contents: Vec::new(),
            files: HashMap::new(),
            directories: HashMap::new(),
            names: BTreeMap::new(),
            renamed: Vec::new(),
            root: root.clone(),
        };
        disk.scan(&root);
        Some(disk)
    }

    /// All that is there when the process starts is synced.
    fn scan(&mut self, directory: &Path) {
        self.directories.insert(directory.metadata().expect("it is there").ino(), directory.into());
        for entry in fs::read_dir(directory).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                self.scan(&path);
                self.names.insert(path, Node::Directory);
            } else {
                let synced = fs::read(&path).expect("it can be read");
                self.enter(path.metadata().expect("it is there").ino(), synced);
                self.names.insert(path, Node::File(self.contents.len() - 1));
            }
        }
    }

    fn enter(&mut self, inode: u64, synced: Vec<u8>) {
        self.files.insert(inode, self.contents.len());
        self.contents.push(Content { synced, changes: Vec::new() });
    }

    fn file(&self, file: c_int) -> Option<usize> {
        let found = metadata(file).filter(|found| found.is_file() && found.dev() == self.device)?;
        self.files.get(&found.ino()).copied()
    }

    fn node(&self, path: &Path) -> Option<Node> {
        let found = path.metadata().ok()?;
        let file = || self.files.get(&found.ino()).copied().map(Node::File);
        if found.is_dir() { Some(Node::Directory) } else { file() }
    }

    /// Counts a call and decides what becomes of it.
    fn outcome(&mut self, call: Call) -> Outcome {
        self.calls += 1;
        if self.calls < self.at {
            return Outcome::Done;
        }
        let number = random(self.seed, self.calls as usize);
        let grows = !matches!(call, Call::Unlink | Call::Truncate);
        match &*self.kind {
            "eio" if !self.has_failed => self.fail(EIO, number),
            "full" if !self.has_failed && grows => self.fail(ENOSPC, number),
            "dead" => self.fail(EIO, number),
            "no-room" if grows => self.fail(ENOSPC, number),
            "slow"
                if matches!(call, Call::Open | Call::Write | Call::Truncate) && number & 1 == 0 =>
            {
                Outcome::Failed(EINTR, 0)
            }
            "slow" => Outcome::Short(number >> 1),
            "lie" | "lies" if self.lied_at.is_some_and(|at| self.calls > at + self.seed % 100) => {
                self.cut("")
            }
            "lie" if call == Call::Sync && self.lied_at.is_none() => self.lie(),
            "lies" if call == Call::Sync => self.lie(),
            "cut" => self.cut(""),
            _ => Outcome::Done,
        }
    }

    fn fail(&mut self, error: c_int, number: u64) -> Outcome {
        self.has_failed = true;
        Outcome::Failed(error, number)
    }

    fn lie(&mut self) -> Outcome {
        self.lied_at.get_or_insert(self.calls);
        Outcome::Lied
    }

    /// A write by `original`, which writes the beginning of the bytes.
    fn write(
        &mut self,
        (file, at): (usize, i64),
        bytes: &[u8],
        original: impl FnOnce(usize) -> isize,
    ) -> isize {
        let all = bytes.len();
        let outcome = self.outcome(Call::Write);
        let length = match outcome {
            Outcome::Short(number) if all > 1 => all - number as usize % all,
            Outcome::Failed(EINTR, _) => 0,
            Outcome::Failed(_, number) => number as usize % (all + 1),
            _ => all,
        };
        let written = if length > 0 { original(length) } else { 0 };
        if written > 0 {
            let bytes = bytes[..written as usize].to_vec();
            self.contents[file].changes.push(Change::Write(at as usize, bytes));
        }
        if let Outcome::Failed(error, _) = outcome { failed(error) } else { written }
    }

    /// Does what changes names by `original`.
    fn rename(&mut self, call: Call, renamed: Renamed, original: impl FnOnce() -> c_int) -> c_int {
        if let Outcome::Failed(error, _) = self.outcome(call) {
            return failed(error) as c_int;
        }
        let code = original();
        if code == 0 {
            self.renamed.push(renamed);
        }
        code
    }

    fn sync(&mut self, file: c_int, original: impl FnOnce() -> c_int) -> c_int {
        match (self.outcome(Call::Sync), self.file(file)) {
            (Outcome::Failed(error, number), Some(place)) if number & 1 == 0 => {
                self.contents[place].synced = self.contents[place].after(number >> 1);
                self.contents[place].changes.clear();
                let path = format!("/proc/self/fd/{file}");
                fs::write(path, &self.contents[place].synced).expect("it can be written");
                failed(error) as c_int
            }
            (Outcome::Failed(error, _), _) => failed(error) as c_int,
            (Outcome::Lied, _) => 0,
            (_, Some(place)) => {
                self.contents[place].sync();
                original()
            }
            (_, None) => {
                let inode = metadata(file).map(|found| found.ino());
                let directory = inode.and_then(|inode| self.directories.get(&inode)).cloned();
                let is_in = |renamed: &mut Renamed| renamed[0].0.parent() == directory.as_deref();
                let synced: Vec<_> = self.renamed.extract_if(.., is_in).collect();
                synced.into_iter().for_each(|renamed| apply(&mut self.names, renamed));
                original()
            }
        }
    }

    /// Leaves the files as they are after the power has failed, and ends the process.
    fn cut(&mut self, when: &str) -> ! {
        let mut names = mem::take(&mut self.names);
        for (number, renamed) in mem::take(&mut self.renamed).into_iter().enumerate() {
            let is_lost = match self.seed >> 4 & 3 {
                0 => true,
                1 => false,
                _ => random(self.seed, number) & 1 == 0,
            };
            if !is_lost {
                apply(&mut names, renamed);
            }
        }
        for entry in fs::read_dir(&self.root).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                .expect("it can be removed");
        }
        for (path, node) in names {
            if path.parent().is_some_and(Path::is_dir) {
                match node {
                    Node::Directory => fs::create_dir(path),
                    Node::File(place) => fs::write(path, self.contents[place].after(self.seed)),
                }
                .expect("it can be written");
            }
        }
        eprintln!("disk: the power fails{when}");
        unsafe { _exit(CUT) }
    }
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, renamed: Renamed) {
    for (path, node) in renamed {
        match node {
            Some(node) => names.insert(path, node),
            None => names.remove(&path),
        };
    }
}

fn failed(error: c_int) -> isize {
    unsafe { *__errno_location() = error };
    -1
}

extern "C" fn at_exit() {
    if let Some((mut disk, ())) = on_disk(|_| Some(())) {
        match &*disk.0.kind {
            "count" => eprintln!("disk: {} calls", disk.0.calls),
            "cut" | "lie" | "lies" => disk.0.cut(" at the end"),
            _ => {}
        }
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
    let original = original!(c"write", c_int, *const c_void, usize => isize);
    let original = |length| unsafe { original(file, bytes, length) };
    let Some((mut disk, found)) = on_disk(|disk| disk.file(file)) else { return original(length) };
    let (at, slice) = unsafe { (lseek64(file, 0, 1), slice::from_raw_parts(bytes.cast(), length)) };
    disk.0.write((found, at), slice, original)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    let original = original!(c"pwrite64", c_int, *const c_void, usize, i64 => isize);
    let original = |length| unsafe { original(file, bytes, length, at) };
    let Some((mut disk, found)) = on_disk(|disk| disk.file(file)) else { return original(length) };
    let slice = unsafe { slice::from_raw_parts(bytes.cast(), length) };
    disk.0.write((found, at), slice, original)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(file: c_int, length: i64) -> c_int {
    let original = original!(c"ftruncate64", c_int, i64 => c_int);
    let found = on_disk(|disk| disk.file(file));
    let Some((mut disk, found)) = found else { return unsafe { original(file, length) } };
    if let Outcome::Failed(error, _) = disk.0.outcome(Call::Truncate) {
        return failed(error) as c_int;
    }
    disk.0.contents[found].changes.push(Change::Length(length as usize));
    unsafe { original(file, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(file: c_int) -> c_int {
    let original = original!(c"fsync", c_int => c_int);
    let find = |disk: &mut Disk| {
        let is_directory = || disk.directories.contains_key(&metadata(file)?.ino()).then_some(());
        disk.file(file).map(drop).or_else(is_directory)
    };
    // Nothing needs to reach the disk in a test.
    match on_disk(find) {
        Some((mut disk, ())) => disk.0.sync(file, || 0),
        None => unsafe { original(file) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    unsafe { fsync(file) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let original = original!(c"open64", *const c_char, c_int, c_uint => c_int);
    let original = || unsafe { original(path, flags, mode) };
    if flags & (CREATE | TRUNCATE) == 0 {
        return original();
    }
    let Some((mut disk, name)) = on_disk_at(path) else { return original() };
    if let Outcome::Failed(error, _) = disk.0.outcome(Call::Open) {
        return failed(error) as c_int;
    }
    let is_new = !name.exists();
    let file = original();
    if let Some(found) = metadata(file) {
        if is_new {
            disk.0.enter(found.ino(), Vec::new());
            let node = Node::File(disk.0.contents.len() - 1);
            disk.0.renamed.push(vec![(name, Some(node))]);
        } else if flags & TRUNCATE != 0
            && let Some(place) = disk.0.file(file)
        {
            disk.0.contents[place].changes.push(Change::Length(0));
        }
    }
    file
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { open64(path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let original = original!(c"rename", *const c_char, *const c_char => c_int);
    let original = || unsafe { original(from, to) };
    let Some((disk, target)) = on_disk_at(to) else { return original() };
    drop(disk);
    let Some((mut disk, name)) = on_disk_at(from) else { return original() };
    let node = disk.0.node(&name);
    disk.0.rename(Call::Rename, vec![(target, node), (name, None)], original)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    let original = original!(c"unlink", *const c_char => c_int);
    let original = || unsafe { original(path) };
    let Some((mut disk, name)) = on_disk_at(path) else { return original() };
    disk.0.rename(Call::Unlink, vec![(name, None)], original)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    let original = original!(c"mkdir", *const c_char, c_uint => c_int);
    let original = || unsafe { original(path, mode) };
    let Some((mut disk, name)) = on_disk_at(path) else { return original() };
    let code = disk.0.rename(Call::Mkdir, vec![(name.clone(), Some(Node::Directory))], original);
    if let Some(found) = name.metadata().ok().filter(|_| code == 0) {
        disk.0.directories.insert(found.ino(), name);
    }
    code
}
