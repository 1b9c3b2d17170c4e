//! Every document judged, with its verdict.
//!
//! Pages of other runs that pages of this one repeat have numbers too, so that each match is a number, and a row of their own.

use std::num::NonZeroU64;

use rusqlite::{Row, params};

use super::{State, StateError, packed, signed, unknown_code, unsigned};
use crate::{
    filter::{Facts, Judgement, Key, Kind, Known, Match, OriginKey, Representative, Step, Verdict},
    fingerprint::{Digest, Fingerprint, Signature},
    page::{DocId, Lang, Timestamp},
};

/// A document and what was found about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedDocument {
    /// The caller's id; the normal URL in a crawl.
    pub name: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether its body is stored.
    pub stored: bool,
    /// Number, time, verdict and facts.
    pub judgement: Judgement,
    /// How it stands in the WARC files, if they are written.
    pub capture: Option<Capture>,
    /// Whether it shows hardly anything until its scripts run.
    pub needs_scripts: bool,
}

/// A body as received, by which it is found in WARC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The body's SHA-1.
    pub payload: [u8; 20],
    /// When it was asked for.
    pub at: Timestamp,
}

/// What is remembered of a document in its row, if later ones may repeat it: it is an alias or a representative.
#[derive(Clone, Debug)]
pub(crate) struct Entered<'a> {
    pub(super) digests: &'a [Digest],
    pub(super) key: Key,
    pub(super) alias: Option<u64>,
    pub(super) representative: Option<&'a Representative>,
}

/// The same as it comes back.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub(crate) id: DocId,
    pub(crate) digests: Vec<Digest>,
    pub(crate) alias: Option<u64>,
    pub(crate) representative: Option<Representative>,
    pub(crate) is_near: bool,
}

/// Flags of the column `thin`.
const THIN: u8 = 1;
const NEEDS_SCRIPTS: u8 = 2;
const HAS_CONTENT: u8 = 4;

pub(super) const COLUMNS: &str = "d.id, d.name, d.title, d.at, d.stored, d.kind, d.step, d.match, d.distance, \
                                  d.signature_distance, d.fingerprint, d.chars, d.features, d.lang, d.payload, d.asked, d.similarity, d.thin, \
                                  d.nearest";

impl State {
    /// The documents that were judged last, at most this many, the last one first.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn last_documents(&self, most: u64) -> Result<Vec<JudgedDocument>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM documents d ORDER BY d.id DESC LIMIT ?");
        self.all(&sql, [signed(most)], read_document)
    }

    /// Adds a document.
    ///
    /// # Errors
    /// If SQLite fails, or there is one of this number.
    pub(crate) fn add_document(
        &self,
        name: &str,
        judgement: &Judgement,
        entered: Option<&Entered<'_>>,
    ) -> Result<(), StateError> {
        let Judgement { id, at, verdict, facts, nearest, .. } = judgement;
        let found = verdict.matched();
        let similarity =
            found.map(|found| found.similarity).or(nearest.map(|(_, similarity)| similarity));
        let representative = entered.and_then(|entered| entered.representative);
        let has_content = representative.is_some_and(|it| it.has_content);
        let sql = "INSERT INTO documents VALUES (?, ?, NULL, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?, ?, ?, ?, ?, ?)";
        let parameters = params![
            signed(id.0),
            name,
            at.0,
            found.map_or(0, |found| found.kind as u8),
            found.map(|found| found.step as u8),
            found.map(|found| signed(found.of.0)),
            found.map(|found| found.distance),
            found.map(|found| found.signature_distance),
            facts.fingerprint.map(|fingerprint| signed(fingerprint.0)),
            facts.chars,
            facts.features,
            facts.lang.as_ref().map(Lang::as_str),
            similarity.map(f64::from),
            (u8::from(facts.thin) * THIN) | (u8::from(has_content) * HAS_CONTENT),
            entered.map(|entered| entered.digests.iter().flat_map(|it| it.0).collect::<Vec<_>>()),
            entered.and_then(|entered| entered.alias).map(signed),
            entered.map(|entered| signed(entered.key.0)),
            nearest.map(|(of, _)| signed(of.0)),
            representative.and_then(|it| it.origin).map(|origin| signed(origin.0.get())),
            representative
                .and_then(Representative::signature)
                .map(|signature| packed(&signature.0)),
        ];
        self.execute(sql, parameters)
    }

    /// Adds what a crawl knows of a document.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn describe_document(
        &self,
        id: DocId,
        title: Option<&str>,
        stored: bool,
        capture: Option<Capture>,
        needs_scripts: bool,
    ) -> Result<(), StateError> {
        let sql = "UPDATE documents SET title = ?, stored = ?, payload = ?, asked = ?, thin = thin | ? WHERE id = ?";
        let flag = if needs_scripts { NEEDS_SCRIPTS } else { 0 };
        let (payload, asked) = capture.map(|capture| (capture.payload, capture.at.0)).unzip();
        self.execute(sql, (title, stored, payload, asked, flag, signed(id.0)))
    }

    /// The document of this number.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<JudgedDocument>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM documents d WHERE d.id = ?");
        if is_of_another_run(id) {
            return self.other_document(id);
        }
        self.find(&sql, [signed(id.0)], read_document)
    }

    /// The document of this number as the filter knows it, if it was entered under this digest.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(super) fn known(&self, id: DocId, digest: Digest) -> Result<Option<Known>, StateError> {
        let sql =
            format!("SELECT {COLUMNS}, d.alias, d.key, d.digests FROM documents d WHERE d.id = ?");
        let row = self.find(&sql, [signed(id.0)], |row| {
            let Judgement { id, verdict, facts, .. } = read_document(row)?.judgement;
            let (alias, key): (Option<i64>, Option<i64>) = (row.get("alias")?, row.get("key")?);
            let key = Key(key.map_or(0, unsigned));
            let known = Known { id, key, verdict, alias: alias.map(unsigned), facts: Some(facts) };
            Ok((known, row.get::<_, Option<Vec<u8>>>("digests")?.unwrap_or_default()))
        })?;
        let has = |digests: &[u8]| digests.as_chunks::<16>().0.contains(&digest.0);
        Ok(row.filter(|(_, digests)| has(digests)).map(|(known, _)| known))
    }

    /// The latest document of this name.
    ///
    /// # Errors
    /// If SQLite fails or the row makes no sense.
    pub(crate) fn document_named(&self, name: &str) -> Result<Option<JudgedDocument>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM documents d WHERE d.name = ? ORDER BY d.id DESC LIMIT 1"
        );
        self.find(&sql, [name], read_document)
    }

    /// The numbers of all documents of this name or key, in order: versions of one.
    ///
    /// # Errors
    /// If SQLite fails.
    #[cfg(feature = "html")]
    pub(crate) fn documents_of(
        &self,
        of: &crate::submission::Identity,
    ) -> Result<Vec<DocId>, StateError> {
        let sql = "SELECT id FROM documents WHERE name = ? OR key = ? ORDER BY id";
        self.all(sql, (&*of.name, signed(of.key.0)), |row| Ok(DocId(unsigned(row.get(0)?))))
    }

    /// The numbers of all versions of the first of these documents that is known.
    ///
    /// # Errors
    /// If SQLite fails.
    #[cfg(feature = "cli")]
    pub(crate) fn first_of(
        &self,
        meant: &[crate::submission::Identity],
    ) -> Result<Vec<DocId>, StateError> {
        for identity in meant {
            let found = self.documents_of(identity)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// The name of the document of this number.
    ///
    /// # Errors
    /// If SQLite fails or there is none.
    pub(crate) fn name_of(&self, id: DocId) -> Result<String, StateError> {
        if let Some((url, ..)) = self.other(id)? {
            return Ok(url);
        }
        let sql = "SELECT name FROM documents WHERE id = ?";
        let name = self.find(sql, [signed(id.0)], |row| row.get(0))?;
        name.ok_or(StateError::Damaged("a match is no document"))
    }

    /// Drops the documents before the horizon: they will not be matched again.
    pub(super) fn drop_documents(&self, horizon: DocId) -> Result<(), StateError> {
        self.execute("DELETE FROM documents WHERE id < ?", [signed(horizon.0)])
    }

    /// Calls `visit` with every document from `oldest` on that later ones may repeat, oldest first.
    ///
    /// # Errors
    /// If SQLite fails or a row is damaged.
    pub(crate) fn for_each_remembered(
        &self,
        oldest: DocId,
        mut visit: impl FnMut(Remembered),
    ) -> Result<(), StateError> {
        let sql = "SELECT id, at, thin, digests, alias, key, origin, signature, kind FROM documents \
                   WHERE id >= ? AND digests IS NOT NULL ORDER BY id";
        self.each(sql, [signed(oldest.0)], read_remembered, |remembered| {
            visit(remembered);
            Ok(())
        })
    }

    /// Nothing repeats a document any more: its row stays, without what is kept of its article.
    pub(super) fn release_document(&self, id: DocId) -> Result<(), StateError> {
        self.execute("UPDATE documents SET digests = NULL WHERE id = ?", [signed(id.0)])?;
        self.drop_article(id)
    }

    /// Drops a document and what is kept of its article.
    pub(super) fn drop_document(&self, id: DocId) -> Result<(), StateError> {
        self.execute("DELETE FROM documents WHERE id = ?", [signed(id.0)])?;
        self.drop_article(id)
    }

    /// Drops what is kept of a document's article.
    pub(super) fn drop_article(&self, id: DocId) -> Result<(), StateError> {
        self.execute("DELETE FROM contents WHERE document = ?", [signed(id.0)])?;
        self.execute("DELETE FROM keys WHERE document = ?", [signed(id.0)])
    }

    /// Says that the line of a document is lost: it does not count any more.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn lose_line(&self, id: DocId) -> Result<(), StateError> {
        self.execute("UPDATE documents SET stored = -1 WHERE id = ?", [signed(id.0)])
    }

    /// Calls `visit` with every document whose line is not lost, in order of arrival.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_document(
        &self,
        visit: impl FnMut(JudgedDocument) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let sql = format!("SELECT {COLUMNS} FROM documents d WHERE d.stored >= 0 ORDER BY d.id");
        self.each(&sql, [], read_document, visit)
    }

    /// Calls `visit` with every duplicate, or those of one document: by the document that they repeat, then in order of arrival. Of the versions
    /// of a duplicate, the latest counts. What does not fit in memory is sorted in a file.
    ///
    /// # Errors
    /// If SQLite fails, a row makes no sense, or `visit` fails.
    pub(crate) fn for_each_duplicate<E: From<StateError>>(
        &self,
        of: Option<DocId>,
        visit: impl FnMut(JudgedDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT {COLUMNS}, max(d.id) FROM documents d WHERE d.match IS NOT NULL AND d.match = ifnull(?, d.match) \
             GROUP BY d.match, d.name ORDER BY d.match, d.id"
        );
        self.each(&sql, [of.map(|of| signed(of.0))], read_document, visit)
    }
}

/// Reads the [`COLUMNS`].
pub(super) fn read_document(row: &Row<'_>) -> rusqlite::Result<JudgedDocument> {
    let flags: u8 = row.get(17)?;
    let facts = Facts {
        fingerprint: row.get::<_, Option<i64>>(10)?.map(|bits| Fingerprint(unsigned(bits))),
        chars: row.get(11)?,
        features: row.get(12)?,
        lang: row.get_ref(13)?.as_str_or_null()?.and_then(Lang::new),
        thin: flags & THIN != 0,
    };
    let (id, at) = (DocId(unsigned(row.get(0)?)), Timestamp(row.get(3)?));
    let (payload, asked): (Option<_>, Option<_>) = (row.get(14)?, row.get(15)?);
    let nearest = row.get::<_, Option<i64>>(18)?.map(|of| DocId(unsigned(of)));
    let similarity: Option<f32> = row.get(16)?;
    let nearest = nearest.zip(similarity);
    Ok(JudgedDocument {
        name: row.get(1)?,
        title: row.get(2)?,
        stored: row.get(4)?,
        judgement: Judgement {
            id,
            at,
            verdict: read_verdict(row)?,
            facts,
            nearest,
            previous: None,
        },
        capture: payload.zip(asked).map(|(payload, at)| Capture { payload, at: Timestamp(at) }),
        needs_scripts: flags & NEEDS_SCRIPTS != 0,
    })
}

fn read_remembered(row: &Row<'_>) -> rusqlite::Result<Remembered> {
    let (id, alias) = (DocId(unsigned(row.get(0)?)), row.get::<_, Option<i64>>(4)?);
    let (digests, rest) = row.get_ref(3)?.as_blob()?.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(unknown_code(3, 0));
    }
    let origin = row.get::<_, Option<i64>>(6)?.map(unsigned);
    let signature = row.get::<_, Option<[u8; 32]>>(7)?;
    let (at, key) = (Timestamp(row.get(1)?), Key(unsigned(row.get(5)?)));
    let signature = signature.map(|packed| {
        let words = packed.as_chunks::<8>().0;
        Signature(std::array::from_fn(|word| u64::from_le_bytes(words[word])))
    });
    let mut representative = Representative::new(id, at, key, signature);
    representative.origin = origin.and_then(NonZeroU64::new).map(OriginKey);
    representative.has_content = row.get::<_, u8>(2)? & HAS_CONTENT != 0;
    Ok(Remembered {
        id,
        digests: digests.iter().copied().map(Digest).collect(),
        alias: alias.map(unsigned),
        representative: alias.is_none().then_some(representative),
        is_near: row.get::<_, u8>(8)? == Kind::Near as u8,
    })
}

fn read_verdict(row: &Row<'_>) -> rusqlite::Result<Verdict> {
    let kind = match row.get(5)? {
        0 => return Ok(Verdict::Unique),
        1 => Kind::Exact,
        2 => Kind::Near,
        code => return Err(unknown_code(5, code)),
    };
    let step = match row.get(6)? {
        1 => Step::Body,
        2 => Step::Text,
        3 => Step::Near,
        code => return Err(unknown_code(6, code)),
    };
    let (of, distance, signature_distance, similarity) =
        (DocId(unsigned(row.get(7)?)), row.get(8)?, row.get(9)?, row.get(16)?);
    Ok(Verdict::Duplicate(Match { of, kind, step, distance, signature_distance, similarity }))
}

/// The number of the first page of another run. A run judges fewer documents than that.
const FIRST_OTHER: u64 = 1 << 62;
/// A filter remembers so many.
const MOST_OTHERS: i64 = 100_000;

/// Whether this is the number of a page of another run.
fn is_of_another_run(id: DocId) -> bool {
    id.0 >= FIRST_OTHER
}

impl State {
    /// One more page repeats the document of this number and URL in another run. Returns its number here.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn repeat_other(
        &self,
        run: &str,
        document: DocId,
        url: &str,
    ) -> Result<DocId, StateError> {
        let sql = "INSERT INTO others (id, run, document, url, pages) \
                   VALUES ((SELECT ifnull(max(id) + 1, ?) FROM others), ?, ?, ?, 1) \
                   ON CONFLICT (run, document) DO UPDATE SET pages = pages + 1 RETURNING id";
        let parameters = (signed(FIRST_OTHER), run, signed(document.0), url);
        self.value(sql, parameters).map(|id: i64| DocId(unsigned(id)))
    }

    /// Drops the oldest pages of others that documents repeat, if there are very many.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn drop_others(&self) -> Result<(), StateError> {
        self.execute(
            "DELETE FROM others WHERE id < (SELECT max(id) FROM others) - ?",
            [MOST_OTHERS],
        )
    }

    /// The key of a document that is known by its digests.
    ///
    /// # Errors
    /// If SQLite fails.
    #[cfg(feature = "cluster")]
    pub(super) fn key_of(&self, id: DocId) -> Result<Option<Key>, StateError> {
        let sql = "SELECT key FROM documents WHERE id = ? AND key IS NOT NULL";
        let key: Option<i64> = self.find(sql, [signed(id.0)], |row| row.get(0))?;
        Ok(key.map(|key| Key(unsigned(key))))
    }

    /// The page of another run that has this number: its URL, its run, and how many pages repeat it here.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn other(&self, id: DocId) -> Result<Option<(String, String, u64)>, StateError> {
        if !is_of_another_run(id) {
            return Ok(None);
        }
        let sql = "SELECT url, run, pages FROM others WHERE id = ?";
        self.find(sql, [signed(id.0)], |row| Ok((row.get(0)?, row.get(1)?, unsigned(row.get(2)?))))
    }

    /// The same as a document, of which nothing else is known.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(super) fn other_document(&self, id: DocId) -> Result<Option<JudgedDocument>, StateError> {
        let (verdict, facts, at) = (Verdict::Unique, Facts::default(), Timestamp(0));
        Ok(self.other(id)?.map(|(name, ..)| JudgedDocument {
            name,
            title: None,
            stored: false,
            judgement: Judgement { id, at, verdict, facts, nearest: None, previous: None },
            capture: None,
            needs_scripts: false,
        }))
    }

    /// How many pages repeat pages of each other run, by the names of the runs.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn repeated_others(&self) -> Result<Vec<(String, u64)>, StateError> {
        let sql = "SELECT run, sum(pages) FROM others GROUP BY run ORDER BY run";
        self.all(sql, [], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))
    }
}
