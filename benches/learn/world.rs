//! What a bench serves: hosts, what they answer, and which text is behind each answer.

use std::fmt;

use bytes::Bytes;
use pagesieve::crawl::scope::Reach;

/// What is answered to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Page(Bytes),
    Redirect(String),
    Missing,
}

/// An answer, and the number of the page whose text it has, if it is one that is to be found.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) page: Option<usize>,
    /// How many of the next pages are in it as well, as in the view to print a thread.
    pub(crate) more: usize,
}

impl Answer {
    /// A page that is to be found.
    pub(crate) fn honest(page: usize, html: String) -> Self {
        Self { reply: Reply::Page(Bytes::from(html)), page: Some(page), more: 0 }
    }

    /// A page that nobody needs.
    pub(crate) fn junk(html: String) -> Self {
        Self { reply: Reply::Page(Bytes::from(html)), page: None, more: 0 }
    }

    pub(crate) fn redirect(to: String) -> Self {
        Self { reply: Reply::Redirect(to), page: None, more: 0 }
    }

    pub(crate) fn missing() -> Self {
        Self { reply: Reply::Missing, page: None, more: 0 }
    }
}

type Answering = Box<dyn Fn(&str, &str) -> Answer + Send + Sync>;

/// Some hosts. The same request always gets the same answer.
pub(crate) struct World {
    pub(crate) name: String,
    pub(crate) hosts: Vec<String>,
    pub(crate) seeds: Vec<String>,
    pub(crate) reach: Reach,
    /// How many pages are to be found; they are numbered.
    pub(crate) pages: usize,
    /// What a host answers to a path with its query.
    pub(crate) answer: Answering,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("name", &self.name).finish_non_exhaustive()
    }
}
