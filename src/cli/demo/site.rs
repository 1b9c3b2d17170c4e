//! Which host of the demo has which pages, and what it answers.

use std::collections::HashMap;

use bytes::Bytes;

use super::{DemoError, archive};

/// Origin and licences of the bundled pages, as Markdown. They go wherever the pages or their texts go.
pub const NOTICES: &str = include_str!("NOTICES.md");

/// The pages of the office help link to many that are not bundled, nearly all in one directory.
const ROBOTS: Option<&str> = Some(include_str!("robots.txt"));

/// In the order in which their names are told.
const HOSTS: [Host; 5] = [
    Host {
        name: "docs.postgresql.test",
        root: "/15/",
        directory: "postgresql-15/",
        start: "/15/tutorial.html",
        robots: None,
    },
    Host {
        name: "archive.postgresql.test",
        root: "/13/",
        directory: "postgresql-13/",
        start: "/13/tutorial.html",
        robots: None,
    },
    Host {
        name: "help.libreoffice.test",
        root: "/7.4/",
        directory: "libreoffice-7.4/",
        start: "/7.4/zh-CN/text/swriter/guide/main.html",
        robots: ROBOTS,
    },
    Host {
        name: "libreoffice-help.test",
        root: "/7.0/",
        directory: "libreoffice-7.0/",
        start: "/7.0/zh-CN/text/swriter/guide/main.html",
        robots: ROBOTS,
    },
    Host {
        name: "mirror.test",
        root: "/postgresql/15/",
        directory: "postgresql-15/",
        start: "/postgresql/15/tutorial.html",
        robots: None,
    },
];

/// One host name and the directory of the archive that it shows.
struct Host {
    name: &'static str,
    /// The path under which the directory's pages stand.
    root: &'static str,
    directory: &'static str,
    /// The page that stands in for the title page, which is not bundled.
    start: &'static str,
    robots: Option<&'static str>,
}

/// The demo's hosts and pages, in memory.
#[derive(Debug)]
pub struct Site {
    files: HashMap<String, Bytes>,
}

/// What a host has to say to one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Page(Bytes),
    Robots(&'static str),
    /// Look at this path of the same host instead.
    Moved(&'static str),
    Missing,
}

impl Site {
    /// Unpacks the bundled pages, about 4 MB.
    ///
    /// # Errors
    ///
    /// If the archive in the binary is damaged.
    pub fn unpack() -> Result<Self, DemoError> {
        archive::unpack().map(|files| Self { files }).map_err(DemoError::Unpack)
    }

    /// The host names, all under `.test` (RFC 6761): no name server knows them, `fetch.resolve` must.
    pub fn hosts() -> impl Iterator<Item = &'static str> {
        HOSTS.iter().map(|host| host.name)
    }

    /// The answer of host `name` (without port, in lower case) to a request for `path`.
    pub(super) fn answer(&self, name: &str, path: &str) -> Answer {
        let Some(host) = HOSTS.iter().find(|host| host.name == name) else {
            return Answer::Missing;
        };
        match (path.strip_prefix(host.root), host.robots) {
            (Some("" | "index.html"), _) => Answer::Moved(host.start),
            (Some(page), _) => self.page(host.directory, page),
            (None, Some(robots)) if path == "/robots.txt" => Answer::Robots(robots),
            (None, _) if path == "/" => Answer::Moved(host.start),
            (None, _) => Answer::Missing,
        }
    }

    fn page(&self, directory: &str, page: &str) -> Answer {
        let content = self.files.get(&format!("{directory}{page}"));
        content.map_or(Answer::Missing, |content| Answer::Page(content.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_starts_at_a_page() {
        let site = Site::unpack().unwrap();
        for host in &HOSTS {
            assert!(matches!(site.answer(host.name, host.start), Answer::Page(_)), "{}", host.name);
            assert_eq!(site.answer(host.name, "/"), Answer::Moved(host.start));
            assert_eq!(site.answer(host.name, host.root), Answer::Moved(host.start));
        }
    }

    #[test]
    fn a_mirror_repeats_pages_byte_for_byte() {
        let site = Site::unpack().unwrap();
        let original = site.answer("docs.postgresql.test", "/15/ddl.html");
        assert_eq!(original, site.answer("mirror.test", "/postgresql/15/ddl.html"));
        assert_ne!(original, site.answer("archive.postgresql.test", "/13/ddl.html"));
    }
}
