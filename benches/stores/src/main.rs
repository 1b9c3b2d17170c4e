//! What a store costs that holds the known URLs of a crawl and its queue. Needs Linux.
//!
//!     cargo run --release -- STORE URLS DIRECTORY
//!
//! Each page has 100 links, of which 100 are new until `URLS` are known, then ten. For each link: is it known? If not, it gets a row and waits
//! in the queue of its host. For each page a URL of a random host is taken from the queue, and its row changed. 100 pages are a commit, which
//! is durable.

mod indexed;
mod kv;
#[cfg(feature = "rusqlite")]
mod memory;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Instant,
};

use crate::kv::{Kv, Op, Table};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Links of a page.
const LINKS: u64 = 100;
/// Pages of a commit.
const BATCH: u64 = 100;
/// Pages of the last part, for which ten links are new.
const LATER: u64 = 20_000;

/// The known URLs and the queue.
trait Store {
    /// Enters a URL unless it is known. Returns whether it is new.
    fn link(&mut self, link: &Link) -> Result<bool>;
    /// Takes the first URL out of the queue of a host and settles it. Returns whether there was one.
    fn take(&mut self, host: u32) -> Result<bool>;
    /// Makes what has changed durable.
    fn commit(&mut self) -> Result<()>;
}

struct Link {
    hash: u64,
    host: u32,
    url: String,
}

impl Link {
    fn new(number: u64, hosts: u64) -> Self {
        let host = host_of(number, hosts);
        let url =
            format!("http://h{host}.example/articles/{:x}/page-{number}.html", mix(!number) >> 40);
        Self { hash: hash(url.as_bytes()), host, url }
    }
}

fn hash(url: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    hasher.finish()
}

fn host_of(number: u64, hosts: u64) -> u32 {
    (mix(number) % hosts) as u32
}

fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The row of a URL: its state, its host, 18 bytes for what else is known of it, the URL.
fn row(link: &Link) -> Vec<u8> {
    [&[QUEUED][..], &link.host.to_le_bytes(), &[0x5a; 18], link.url.as_bytes()].concat()
}

const QUEUED: u8 = 0;
const JUDGED: u8 = 255;
const URL: usize = 23;

/// The rows of the URLs, which are added in the order of their numbers.
struct Rows<K> {
    kv: K,
    last: u32,
    changed: BTreeMap<u32, Vec<u8>>,
}

impl<K: Kv> Rows<K> {
    fn push(&mut self, link: &Link) -> u32 {
        self.last += 1;
        self.changed.insert(self.last, row(link));
        self.last
    }

    fn settle(&mut self, id: u32) -> Result<()> {
        let row = match self.changed.remove(&id) {
            Some(row) => Some(row),
            None => self.kv.get(Table::Urls, id.into())?,
        };
        let mut row = row.ok_or("a row is missing")?;
        row[0] = JUDGED;
        self.changed.insert(id, row);
        Ok(())
    }

    /// Writes the changed rows, and more.
    fn commit(&mut self, more: impl IntoIterator<Item = Op>) -> Result<()> {
        let rows = std::mem::take(&mut self.changed).into_iter();
        let rows = rows.map(|(id, row)| (Table::Urls, id.into(), Some(row)));
        self.kv.write(rows.chain(more).collect())
    }
}

fn open(store: &str, path: &Path) -> Result<Box<dyn Store>> {
    Ok(match store {
        #[cfg(feature = "rusqlite")]
        "sqlite" => Box::new(indexed::Indexed::open(kv::sqlite::Sqlite::open(path)?, 0)?),
        #[cfg(feature = "rusqlite")]
        "sqlite-batches" => {
            Box::new(indexed::Indexed::open(kv::sqlite::Sqlite::open(path)?, 100_000)?)
        }
        #[cfg(feature = "rusqlite")]
        "sqlite-log" => Box::new(memory::Memory::open(kv::sqlite::Sqlite::open(path)?)?),
        #[cfg(feature = "fjall")]
        "fjall" => Box::new(indexed::Indexed::open(kv::fjall::Fjall::open(path)?, 0)?),
        #[cfg(feature = "redb")]
        "redb" => Box::new(indexed::Indexed::open(kv::redb::Redb::open(path)?, 0)?),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Box::new(indexed::Indexed::open(kv::rocksdb::Rocks::open(path)?, 0)?),
        _ => return Err(format!("no store is named {store}, or its feature is not enabled").into()),
    })
}

struct Web {
    hosts: u64,
    known: u64,
    fetched: u64,
}

impl Web {
    fn links(&self, new: u64) -> impl Iterator<Item = Link> {
        let (hosts, known, number) = (self.hosts, self.known, mix(self.fetched + 1));
        let old = (new..LINKS).map(move |link| mix(number ^ (link << 32)) % known);
        (known..known + new).chain(old).map(move |number| Link::new(number, hosts))
    }

    fn page(&mut self, store: &mut dyn Store, new: u64) -> Result<()> {
        let hosts = (0..).map(|turn| mix(mix(self.fetched + 1) + turn) % self.known);
        for number in hosts {
            if store.take(host_of(number, self.hosts))? {
                break;
            }
        }
        for (number, link) in (0..).zip(self.links(new)) {
            if store.link(&link)? != (number < new) {
                return Err(format!("{} was known, and is not, or the reverse", link.url).into());
            }
        }
        self.known += new;
        self.fetched += 1;
        if self.fetched.is_multiple_of(BATCH) { store.commit() } else { Ok(()) }
    }

    /// Records pages while `goes_on`. Prints what each costs.
    fn crawl(
        &mut self,
        store: &mut dyn Store,
        what: &str,
        new: u64,
        goes_on: impl Fn(&Self) -> bool,
    ) -> Result<()> {
        let (began, first, used, wrote) = (Instant::now(), self.fetched, cpu_micros(), written());
        while goes_on(self) {
            self.page(store, new)?;
        }
        store.commit()?;
        let pages = self.fetched - first;
        println!(
            "{what}: {pages} pages, {} URLs known, {} bytes written a page, {} us CPU a page, {} us a page, {} MiB of memory",
            self.known,
            (written() - wrote) / pages,
            (cpu_micros() - used) / pages,
            began.elapsed().as_micros() as u64 / pages,
            resident() >> 20,
        );
        Ok(())
    }
}

/// A number of this process in a file of `/proc/self`.
fn of_process(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn written() -> u64 {
    of_process("io", "write_bytes:")
}

fn resident() -> u64 {
    of_process("status", "VmRSS:") * 1024
}

/// User and system time of all threads, in steps of 10 ms.
fn cpu_micros() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.split_whitespace().skip(13).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10_000
}

/// What the files of a directory occupy.
fn size(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let data = entry.metadata()?;
        sum += if data.is_dir() { size(&entry.path())? } else { data.blocks() * 512 };
    }
    Ok(sum)
}

fn main() -> Result<()> {
    let [_, name, urls, directory] = &env::args().collect::<Vec<_>>()[..] else {
        return Err("give the store, the number of URLs and a directory that does not exist".into());
    };
    let (urls, path) = (urls.parse::<u64>()?, Path::new(directory));
    if urls < 1_000 {
        return Err("give at least 1000 URLs".into());
    }
    fs::create_dir(path)?;
    let mut web = Web { hosts: (urls / 100).max(1), known: 1, fetched: 0 };
    let used = cpu_micros();
    let bytes = (0..urls).map(|number| row(&Link::new(number, web.hosts)).len() as u64);
    let bytes = bytes.sum::<u64>() / urls;
    let made = (cpu_micros() - used) * LINKS / urls;
    println!("{name}: a row has {bytes} bytes; to make a page takes {made} us of the CPU time");
    let mut store = open(name, path)?;
    store.link(&Link::new(0, web.hosts))?;
    web.crawl(&mut *store, "first half, all links new", LINKS, |web| web.known < urls / 2)?;
    web.crawl(&mut *store, "second half, all links new", LINKS, |web| web.known < urls)?;
    let end = web.fetched + LATER;
    web.crawl(&mut *store, "ten links new", 10, |web| web.fetched < end)?;
    let (began, before) = (Instant::now(), written());
    drop(store);
    println!(
        "closed in {} ms, {} bytes written; {} bytes a URL on the disk; {} bytes written a page in all",
        began.elapsed().as_millis(),
        written() - before,
        size(path)? / web.known,
        written() / web.fetched,
    );
    let (began, used) = (Instant::now(), cpu_micros());
    let mut store = open(name, path)?;
    web.page(&mut *store, 0)?;
    let used = (cpu_micros() - used) / 1000;
    println!("opened in {} ms, {used} ms CPU", began.elapsed().as_millis());
    Ok(())
}
