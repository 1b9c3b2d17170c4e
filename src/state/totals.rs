//! What a report counts, kept up to date with each page and URL so that it needs no scan: pages by host, clusters of duplicates, and the
//! seeds that could not be reached.

use super::{
    State, StateError, signed, unsigned,
    urls::{UrlId, UrlRow},
};
use crate::page::DocId;

/// How many pages of a host had which outcome, or how these numbers change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostCounts {
    pub(crate) fetched: i64,
    pub(crate) unique: i64,
    pub(crate) same_site: i64,
    pub(crate) cross_site: i64,
    pub(crate) other_host: i64,
    pub(crate) failed: i64,
}

/// A unique page that others repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRow {
    /// The unique page.
    pub(crate) document: DocId,
    /// How many pages repeat it, and how many of them are near duplicates.
    pub(crate) count: u64,
    pub(crate) near: u64,
    /// The language of the first of them.
    pub(crate) lang: Option<String>,
    /// The first of them, in order of arrival.
    pub(crate) members: Vec<DocId>,
}

/// The clusters of one language, with or without near duplicates.
#[derive(Clone, Debug)]
pub(crate) struct ClusterKind {
    pub(crate) has_near: bool,
    pub(crate) lang: Option<String>,
    pub(crate) clusters: u64,
    /// Duplicates in them.
    pub(crate) pages: u64,
}

/// The tables of what is counted.
const TABLES: [&str; 3] = ["host_counts", "clusters", "unreachable_seeds"];

impl State {
    /// Counts in copies of the tables from now on, so that nothing is written to the file.
    ///
    /// # Errors
    /// If SQLite fails, for instance because there is no room for temporary files.
    pub(crate) fn count_in_copies(&self) -> Result<(), StateError> {
        let mut copies = "PRAGMA query_only = FALSE;".to_owned();
        for table in TABLES {
            let sql = "SELECT sql FROM main.sqlite_schema WHERE name = ?";
            let create = self.value::<String>(sql, [table])?;
            let create = create.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1);
            let fill = format!("INSERT INTO temp.{table} SELECT * FROM main.{table}");
            copies.extend([create.as_str(), ";", &fill, ";"]);
        }
        copies += "CREATE INDEX temp.by_size ON clusters (near > 0, lang, count DESC)";
        self.db.execute_batch(&copies).map_err(StateError::of_sqlite)
    }

    /// Changes the numbers of a host.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn count_host(&self, name: &str, change: &HostCounts) -> Result<(), StateError> {
        let sql = "INSERT INTO host_counts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
                   fetched = fetched + excluded.fetched, unique_pages = unique_pages + excluded.unique_pages, \
                   same_site = same_site + excluded.same_site, cross_site = cross_site + excluded.cross_site, \
                   other_host = other_host + excluded.other_host, failed = failed + excluded.failed";
        let &HostCounts { fetched, unique, same_site, cross_site, other_host, failed } = change;
        self.execute(sql, (name, fetched, unique, same_site, cross_site, other_host, failed))
    }

    /// The hosts with fetched pages or failures, the one with the most pages first.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn host_counts(&self) -> Result<Vec<(String, HostCounts)>, StateError> {
        let sql =
            "SELECT * FROM host_counts WHERE fetched > 0 OR failed > 0 ORDER BY fetched DESC, name";
        self.all(sql, [], |row| {
            let (fetched, unique, same_site) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let (cross_site, other_host, failed) = (row.get(4)?, row.get(5)?, row.get(6)?);
            let counts = HostCounts { fetched, unique, same_site, cross_site, other_host, failed };
            Ok((row.get(0)?, counts))
        })
    }

    /// Adds a duplicate to the cluster of a unique page, which keeps the first `limit` numbers of its members.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn add_to_cluster(
        &self,
        document: DocId,
        member: DocId,
        is_near: bool,
        lang: Option<&str>,
        limit: usize,
    ) -> Result<(), StateError> {
        let sql = "INSERT INTO clusters VALUES (?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET \
                   count = count + 1, near = near + excluded.near, \
                   members = CASE WHEN count < ? THEN members || ',' || excluded.members ELSE members END";
        let parameters = (signed(document.0), is_near, lang, member.0.to_string(), count(limit));
        self.execute(sql, parameters)
    }

    /// How many clusters there are of each kind.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn cluster_kinds(&self) -> Result<Vec<ClusterKind>, StateError> {
        let sql =
            "SELECT near > 0, lang, count(*), sum(count) FROM clusters GROUP BY near > 0, lang";
        self.all(sql, [], |row| {
            let (has_near, lang) = (row.get(0)?, row.get(1)?);
            let (clusters, pages) = (unsigned(row.get(2)?), unsigned(row.get(3)?));
            Ok(ClusterKind { has_near, lang, clusters, pages })
        })
    }

    /// The largest clusters of one language, with or without near duplicates; of equally large ones, the oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn largest_clusters(
        &self,
        has_near: bool,
        lang: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ClusterRow>, StateError> {
        let sql = "SELECT document, count, near, lang, members FROM clusters \
                   WHERE (near > 0) = ? AND lang IS ? ORDER BY count DESC, document LIMIT ?";
        let rows = self.all(sql, (has_near, lang, count(limit)), |row| {
            let members = row.get_ref(4)?.as_str()?.split(',').map(str::parse);
            let members = members.map(|id| id.map(DocId)).collect::<Result<_, _>>().ok();
            let (document, lang) = (DocId(unsigned(row.get(0)?)), row.get(3)?);
            let (count, near) = (unsigned(row.get(1)?), unsigned(row.get(2)?));
            Ok(members.map(|members| ClusterRow { document, count, near, lang, members }))
        })?;
        let rows: Option<_> = rows.into_iter().collect();
        rows.ok_or(StateError::Damaged("a member of a cluster is no number"))
    }

    /// Adds a URL to the seeds that could not be reached, if it is a seed or its redirects led there.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn add_unreachable_seed(&self, url: UrlId) -> Result<(), StateError> {
        // Redirects of a seed have its depth.
        let sql = "INSERT OR IGNORE INTO unreachable_seeds SELECT id FROM urls \
                   WHERE id = ? AND (referrer IS NULL OR depth = 0 AND hops > 0)";
        self.execute(sql, [url.0])
    }

    /// A URL that could not be reached is fetched again.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn drop_unreachable_seed(&self, url: UrlId) -> Result<(), StateError> {
        self.execute("DELETE FROM unreachable_seeds WHERE url = ?", [url.0])
    }

    /// How many seeds could not be reached, and the first of them, at most `limit`.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn unreachable_seeds(&self, limit: usize) -> Result<(u64, Vec<UrlRow>), StateError> {
        let all = self.value("SELECT count(*) FROM unreachable_seeds", []).map(unsigned)?;
        let sql = "SELECT url FROM unreachable_seeds ORDER BY url LIMIT ?";
        let ids = self.all(sql, [count(limit)], |row| row.get(0).map(UrlId))?.into_iter();
        let missing = StateError::Damaged("a seed is no URL");
        let rows = ids.map(|id| self.url_by_id(id)).collect::<Result<Option<_>, _>>()?;
        Ok((all, rows.ok_or(missing)?))
    }
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
