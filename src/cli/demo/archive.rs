//! The bundled archive: a tar of pages, compressed with zstd.
//!
//! `make_archive.py` makes it; `NOTICES.md` says whose the pages are.

use std::{
    collections::HashMap,
    io::{self, Read},
};

use bytes::Bytes;

static PAGES: &[u8] = include_bytes!("pages.tar.zst");

/// Unpacks the whole archive into memory (less than 8 MB): path in the archive to content.
pub(super) fn unpack() -> io::Result<HashMap<String, Bytes>> {
    tar::Archive::new(zstd::Decoder::new(PAGES)?)
        .entries()?
        .map(|entry| {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            Ok((path, content.into()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo::NOTICES;

    #[test]
    fn the_archive_stays_within_its_bounds() {
        let files = unpack().unwrap();
        assert!((300..=450).contains(&(files.len() - 1)), "{} pages", files.len() - 1);
        assert!(files.values().map(Bytes::len).sum::<usize>() <= 8_000_000);
    }

    #[test]
    fn the_archive_carries_the_notices_that_lie_beside_it() {
        assert_eq!(unpack().unwrap()["NOTICES.md"], NOTICES);
    }

    #[test]
    fn every_page_declares_the_charset_it_is_served_with() {
        for (path, content) in unpack().unwrap() {
            let page = std::str::from_utf8(&content).unwrap().to_ascii_lowercase();
            assert!(path == "NOTICES.md" || page.contains("charset=utf-8"), "{path}");
        }
    }
}
