//! Checksums of output files: the hash of every block of 4 KiB. They are kept in the state, apart from the files.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes that have a hash in common.
pub(crate) const BLOCK: usize = 4096;
/// Blocks of a part of a file, at most.
const BLOCKS: usize = 64;

/// The hashes of a part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    /// Where the part begins in the file, in bytes.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The hash of each block of 4096 bytes from `start`; the last one may be shorter.
    pub hashes: Vec<u64>,
}

impl Checksums {
    /// The blocks, each with the hash that it should have.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Range<u64>, u64)> {
        let end = self.start + self.length;
        let starts = (self.start..end).step_by(BLOCK);
        starts
            .map(move |start| start..(start + BLOCK as u64).min(end))
            .zip(self.hashes.iter().copied())
    }

    /// The hash of a block.
    pub(crate) fn hash(block: &[u8]) -> u64 {
        xxh3_64(block)
    }

    /// The checksums of these bytes of a file as it is.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter.
    pub(crate) fn of_file(path: &Path, bytes: Range<u64>) -> io::Result<Vec<Self>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(bytes.start))?;
        let mut running = Running::new(bytes.start);
        let mut block = Vec::new();
        for start in bytes.clone().step_by(BLOCK) {
            let length = (BLOCK as u64).min(bytes.end - start);
            block.clear();
            if (&mut file).take(length).read_to_end(&mut block)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            running.update(&block);
        }
        Ok(running.take())
    }
}

/// The checksums of a file that grows.
#[derive(Debug)]
pub(super) struct Running {
    full: Vec<Checksums>,
    part: Checksums,
    /// The last block, if it is not whole.
    block: Vec<u8>,
    is_new: bool,
}

impl Running {
    /// Those of the bytes from `start` on.
    pub(super) fn new(start: u64) -> Self {
        let part = Checksums { start, ..Checksums::default() };
        Self { full: Vec::new(), part, block: Vec::new(), is_new: false }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BLOCK - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            self.part.length += now.len() as u64;
            self.is_new = true;
            if now.len() == room {
                self.part.hashes.push(Checksums::hash(&self.block));
                self.block.clear();
            }
            if self.part.hashes.len() == BLOCKS {
                let start = self.part.start + self.part.length;
                let next = Checksums { start, ..Checksums::default() };
                self.full.push(std::mem::replace(&mut self.part, next));
                self.is_new = false;
            }
            bytes = later;
        }
    }

    /// The parts that have grown since the last call; each replaces the one with the same start.
    pub(super) fn take(&mut self) -> Vec<Checksums> {
        let mut parts = std::mem::take(&mut self.full);
        if std::mem::take(&mut self.is_new) {
            let mut part = self.part.clone();
            if !self.block.is_empty() {
                part.hashes.push(Checksums::hash(&self.block));
            }
            parts.push(part);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_do_not_depend_on_how_the_bytes_arrive() {
        let bytes: Vec<u8> = (0..=250).cycle().take(700_000).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        for step in [1_000, 4_096, 300_000] {
            let mut running = Running::new(100);
            let mut parts = std::collections::BTreeMap::new();
            for piece in bytes[100..].chunks(step) {
                running.update(piece);
                parts.extend(running.take().into_iter().map(|part| (part.start, part)));
            }
            let parts: Vec<_> = parts.into_values().collect();
            assert_eq!(parts, Checksums::of_file(&path, 100..700_000).unwrap());
            let blocks: Vec<_> = parts.iter().flat_map(Checksums::blocks).collect();
            assert_eq!((blocks[0].0.start, blocks.last().unwrap().0.end), (100, 700_000));
            for (range, hash) in blocks {
                let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
                assert_eq!(Checksums::hash(&bytes[start..end]), hash);
            }
        }
    }
}
