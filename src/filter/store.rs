//! Where the filter keeps the documents that it knows: what a store does, and the store in memory.

use serde::{Deserialize, Serialize};

use super::{
    document::Document,
    sketch::{Content, Key},
    template::{Template, TemplateChange},
    thresholds::Thresholds,
    verdict::{Facts, Judgement, Match, Step, Verdict},
    window::{Horizon, IncrementalQueue, Representative},
};
use crate::{fingerprint::Digest, page::DocId};

/// A judgement, and what it adds to what is known.
#[derive(Clone, Debug)]
pub struct Change {
    pub(crate) judgement: Judgement,
    /// The digests by which the document is known from now on.
    pub(crate) digests: Vec<Digest>,
    /// Its number among aliases, if it is a duplicate with such digests.
    pub(crate) alias: Option<u64>,
    /// The document's entry in the window, if it is unique.
    pub(crate) representative: Option<Representative>,
    pub(crate) template: Option<TemplateChange>,
}

impl Change {
    /// What a store finds by the digests.
    pub(crate) fn known(&self, document: &Document) -> Known {
        let Judgement { id, verdict, facts, .. } = self.judgement;
        let facts = document.sketch.body.map(|_| facts);
        Known { id, key: document.key, verdict, alias: self.alias, facts }
    }

    /// The content of the document, if later ones are compared with it.
    pub(crate) fn content_of<'a>(&self, document: &'a Document) -> Option<&'a Content> {
        let is_kept = self.representative.is_some_and(|representative| representative.has_content);
        document.sketch.content.as_ref().filter(|_| is_kept)
    }
}

/// A document that is known by the digest of its body or of its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Its number.
    #[serde(skip)]
    pub(crate) id: DocId,
    /// Its key.
    pub(crate) key: Key,
    /// Unique if it is a representative, otherwise what it is an alias of.
    pub(crate) verdict: Verdict,
    /// The number of the alias among aliases, from 0; `None` for a representative.
    pub(crate) alias: Option<u64>,
    /// The facts about its text, which a document with the same body gets; `None` if it has no body.
    pub(crate) facts: Option<Facts>,
}

impl Known {
    /// The representative that a document with the same digest repeats.
    pub(crate) fn representative(&self) -> DocId {
        self.verdict.matched().map_or(self.id, |matched| matched.of)
    }

    /// The match of a document that has this one's digest.
    pub(super) fn matched_at(&self, step: Step) -> Match {
        let of_alias = self.verdict.matched().map(|&of_alias| Match { step, ..of_alias });
        of_alias.unwrap_or_else(|| Match::exact(self.id, step))
    }
}

/// By what a document is compared with those of others that share the window.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub(crate) thresholds: &'a Thresholds,
    /// That of its origin.
    pub(crate) template: &'a Template,
    pub(crate) thin: bool,
}

/// Where a [`Filter`](super::Filter) keeps the documents that later ones may repeat: [`Memory`], or a file. The filter decides what is
/// remembered and when it leaves; a store keeps it and finds it again. Only this crate implements it.
#[expect(private_interfaces, reason = "only this crate calls its methods")]
pub trait Store {
    /// Why a document could not be judged.
    type Error: std::error::Error + From<JudgeError>;

    /// The document of this number, if it was remembered under this digest. It may have left the window.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn known(&self, id: DocId, digest: Digest) -> Result<Option<Known>, Self::Error>;

    /// The content of a page in the window.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn content(&self, id: DocId) -> Result<Option<Content>, Self::Error>;

    /// Remembers a document that was judged. Its number is larger than those before; so is that of an alias.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remember(&mut self, document: &Document, change: &Change) -> Result<(), Self::Error>;

    /// Keeps the ids of unique documents from now on, if the store does not anyway.
    fn keep_names(&mut self) {}

    /// The id of a document of the window, if it is kept.
    ///
    /// # Errors
    /// If the store cannot be read, or an earlier change failed.
    fn name_of(&self, id: DocId) -> Result<Option<String>, Self::Error>;

    /// Forgets a unique document that was taken out of the window, unless what is known of it leaves with the window.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget(&mut self, _: DocId) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Claims a document that is unique in this window among those who share it. If another one has a document that it repeats, returns the match;
    /// otherwise others find it from now on, unless it is only looked at. Most stores are not shared.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn claim(
        &mut self,
        _: &Document,
        _: &Ground<'_>,
        _is_looked_at: bool,
    ) -> Result<Option<Match>, Self::Error> {
        Ok(None)
    }

    /// Announces what will not be matched again. The store may drop it at any later time.
    fn expire(&mut self, _: Horizon) {}

    /// Refuses to be read after a change that failed.
    ///
    /// # Errors
    /// If one did.
    fn check(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a change. A store with transactions makes it in the open one, and refuses all that follows unless the change is [done](Self::end).
    ///
    /// # Errors
    /// If an earlier one failed, or the store cannot be written.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The change is complete.
    fn end(&mut self) {}
}

/// A document that cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// It was made by another recipe than the filter's: another seed, for instance.
    #[error(
        "the document was made by another recipe than the filter's: make it with the filter's `documents()`"
    )]
    Recipe,
}

/// Documents that leave at a time: many more than arrive.
const AT_ONCE: usize = 64;

/// The store in memory. Of a text it takes some 60 bytes, of a duplicate that is remembered 80, and of a page its content.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(super) representatives: Rows,
    pub(super) aliases: Rows,
    /// The number of the first alias.
    first_alias: u64,
    /// Whether the ids of unique documents are kept.
    keeps_names: bool,
    contents: Rows,
    /// Bytes of the contents.
    pub(crate) contents_size: usize,
}

/// What is kept of documents in order of arrival, as bytes.
type Rows = IncrementalQueue<(DocId, Box<[u8]>)>;

/// What is known of a document, its digests, and its id if that is kept.
type Row<Name> = (Known, Vec<Digest>, Option<Name>);

impl Memory {
    fn row(&self, id: DocId) -> Option<Row<String>> {
        let rows = [&self.representatives, &self.aliases];
        let (_, row) = rows.iter().find_map(|rows| rows.find(&id, |(id, _)| *id))?;
        let (known, digests, name): Row<String> =
            postcard::from_bytes(row).expect("memory keeps what was written");
        Some((Known { id, ..known }, digests, name))
    }
}

#[expect(private_interfaces, reason = "only this crate calls its methods")]
impl Store for Memory {
    type Error = JudgeError;

    fn known(&self, id: DocId, digest: Digest) -> Result<Option<Known>, JudgeError> {
        let row = self.row(id).filter(|(_, digests, _)| digests.contains(&digest));
        Ok(row.map(|(known, ..)| known))
    }

    fn content(&self, id: DocId) -> Result<Option<Content>, JudgeError> {
        let found = self.contents.find(&id, |(id, _)| *id);
        Ok(found.and_then(|(_, packed)| Content::from_bytes(packed)))
    }

    fn remember(&mut self, document: &Document, change: &Change) -> Result<(), JudgeError> {
        let Change { judgement, digests, alias, representative, .. } = change;
        let rows = match (representative, alias) {
            (Some(_), _) => &mut self.representatives,
            (_, Some(_)) => &mut self.aliases,
            // What is known by nothing is never found.
            _ => return Ok(()),
        };
        let name = Some(&*document.id).filter(|_| self.keeps_names && representative.is_some());
        let row: Row<&str> = (change.known(document), digests.clone(), name);
        let row = postcard::to_allocvec(&row).expect("memory takes all bytes");
        // A copy has no room to grow.
        rows.push((judgement.id, Box::from(&*row)));
        if let Some(content) = change.content_of(document) {
            let packed: Box<[u8]> = Box::from(&*content.to_bytes());
            self.contents_size += size_of::<(DocId, Box<[u8]>)>() + packed.len();
            self.contents.push((judgement.id, packed));
        }
        Ok(())
    }

    fn keep_names(&mut self) {
        self.keeps_names = true;
    }

    fn name_of(&self, id: DocId) -> Result<Option<String>, JudgeError> {
        Ok(self.row(id).and_then(|(.., name)| name))
    }

    /// Drops some at a time, so that no document waits for many others.
    fn expire(&mut self, horizon: Horizon) {
        let is_past = |(id, _): &mut (DocId, _)| *id < horizon.representative;
        for _ in 0..AT_ONCE {
            let row = self.representatives.pop_if(is_past);
            let content = self.contents.pop_if(is_past);
            let alias = self.aliases.pop_if(|_| self.first_alias < horizon.alias);
            self.first_alias += u64::from(alias.is_some());
            if let Some((_, packed)) = &content {
                self.contents_size -= size_of::<(DocId, Box<[u8]>)>() + packed.len();
            }
            if row.or(content).or(alias).is_none() {
                break;
            }
        }
    }
}
