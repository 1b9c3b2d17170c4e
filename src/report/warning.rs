//! What in a run deserves a look, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::report::{Cluster, Host, shown, thousands};

/// The least number of pages of which a host is suspected to be a mirror.
const MIRROR_PAGES: u64 = 20;
/// A kept page with more duplicates than this is suspected to be no content.
const ABSORBED: u64 = 100;

/// Something that looks as if pages were lost or wasted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// More than half of a host's pages (at least 20) are duplicates of other hosts.
    Mirror {
        /// The host.
        host: String,
        /// Its pages that were judged.
        pages: u64,
        /// Those of them that repeat other hosts' pages.
        duplicates: u64,
    },
    /// One kept page has more than 100 duplicates.
    Absorbing {
        /// The kept page.
        url: String,
        /// How many pages repeat it.
        duplicates: u64,
    },
}

impl Warning {
    pub(super) fn of_host(host: &Host) -> Option<Self> {
        let pages = host.judged();
        (pages >= MIRROR_PAGES && 2 * host.other_host > pages).then(|| Self::Mirror {
            host: host.host.clone(),
            pages,
            duplicates: host.other_host,
        })
    }

    pub(super) fn of_cluster(cluster: &Cluster) -> Option<Self> {
        (cluster.count > ABSORBED)
            .then(|| Self::Absorbing { url: cluster.url.clone(), duplicates: cluster.count })
    }
}

/// What was seen, and what to do next.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mirror { host, pages, duplicates } => write!(
                f,
                "{} of {} pages of {} repeat pages of other hosts. If it is a mirror, exclude it from the seeds; \
                 if its pages are wanted, set dedup.cross_site.store = \"keep\" (dedup.same_site for hosts of one domain).",
                thousands(*duplicates),
                thousands(*pages),
                shown(host, 200),
            ),
            Self::Absorbing { url, duplicates } => write!(
                f,
                "{} pages repeat one kept page. If it is an error, login or empty page served at many addresses, exclude \
                 those addresses; if the pages differ in substance, set a smaller dedup.radius or a larger dedup.min_features. \
                 The page: {}",
                thousands(*duplicates),
                shown(url, 2000),
            ),
        }
    }
}
