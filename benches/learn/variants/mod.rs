//! Random variants of traps, and of honest sites that look like them.

mod broken;
mod calendar;
mod dates;
mod facets;
mod growing;
mod hosts;
mod lookalikes;
mod pagers;
mod plot;
mod rearranged;
mod sessions;
mod site;

use std::fmt;

use pagesieve::crawl::scope::Reach;

use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// What a host answers to a path with its query.
type Answering = Box<dyn Fn(&str, &str) -> Answer + Send + Sync>;

/// What a kind makes of a host.
struct Planned {
    /// How many pages are to be found.
    pages: usize,
    /// Further hosts.
    hosts: Vec<String>,
    reach: Reach,
    answer: Answering,
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl Planned {
    fn new(pages: usize, answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> Self {
        Self { pages, hosts: Vec::new(), reach: Reach::Host, answer: Box::new(answer) }
    }
}

/// A variant for a host, as the dice wants it.
type Kind = fn(&str, &mut Dice) -> Planned;

/// Thirteen traps and five that look like them.
const KINDS: [(&str, Kind); 18] = [
    ("calendar", calendar::calendar),
    ("facets", facets::facets),
    ("session in query", sessions::in_query),
    ("session in path", sessions::in_path),
    ("growing path", growing::growing),
    ("growing path with noise", growing::with_noise),
    ("nested relative links", growing::nested),
    ("soft 404", broken::soft_404),
    ("parameter order", broken::parameters),
    ("redirects that count", broken::redirects),
    ("endless pager", pagers::endless),
    ("unlimited subdomains", hosts::subdomains),
    ("rearranged", rearranged::rearranged),
    ("paginated list", pagers::long_list),
    ("dated archive", calendar::archive),
    ("catalogue", facets::catalogue),
    ("forum threads", lookalikes::forum),
    ("parameter of one in a hundred", lookalikes::parameter),
];

/// How many kinds there are.
pub(crate) const COUNT: usize = KINDS.len();

/// The variant of a kind with this seed.
pub(crate) fn world(kind: usize, seed: u64) -> World {
    let (name, kind) = KINDS[kind];
    named(&format!("{name} {seed}"), kind)
}

fn named(name: &str, kind: Kind) -> World {
    let host = format!("{}.test", name.replace(' ', "-"));
    let planned = kind(&host, &mut Dice::of(name));
    let mut hosts = vec![host.clone()];
    hosts.extend(planned.hosts);
    World {
        name: name.to_owned(),
        seeds: vec![format!("http://{host}/")],
        hosts,
        reach: planned.reach,
        pages: planned.pages,
        answer: planned.answer,
    }
}
