//! The rules of the filter: an independent slow reference implementation, written from the design and not from the code.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the numbers are small"
)]

mod scripts;

use std::num::NonZeroU32;

use proptest::prelude::*;

use crate::{
    filter::{
        Document, Facts, Judgement, Key, Kind, Match, Mode, Options, Radius, Sketch, Step, Verdict,
        WindowOptions,
    },
    fingerprint::{Digest, Recipe, Signature, Sketch as TextSketch, similarity},
    page::{DocId, Timestamp},
};

pub(crate) use scripts::script;

/// What happens to a filter.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Judge {
        name: &'static str,
        body: Option<u8>,
        text: usize,
        at: i64,
    },
    /// The filter is dropped, and another goes on where it stood.
    Reopen,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) options: Options,
    /// How many representatives with one fingerprint the index is to hold, and with one digest the table.
    pub(crate) equal_limit: NonZeroU32,
    texts: Vec<TextSketch>,
    pub(crate) events: Vec<Event>,
}

/// What is to obey the model.
pub(crate) trait Judge {
    fn judge(&mut self, document: &Document) -> Judgement;
    fn reopen(&mut self);
    /// Representatives in the window.
    fn len(&self) -> usize;
}

/// Everything that ever arrived.
struct Model {
    options: Options,
    equal_limit: NonZeroU32,
    clock: i64,
    all: Vec<Arrived>,
    aliases: u64,
}

struct Arrived {
    id: DocId,
    key: Key,
    at: i64,
    /// By which it is known.
    digests: Vec<Digest>,
    signature: Option<Signature>,
    /// `None`: it is a representative.
    alias_of: Option<Match>,
    /// Its number among those that are known as aliases.
    alias: u64,
    facts: Facts,
}

impl Model {
    /// The unique documents of the window: the latest, and none that is too old.
    fn window(&self) -> impl Iterator<Item = &Arrived> {
        let entries = usize::try_from(self.options.window.entries.get()).unwrap();
        let oldest = self
            .options
            .window
            .age
            .map_or(i64::MIN, |age| self.clock.saturating_sub(age.as_millis() as i64));
        let unique = self.all.iter().filter(|document| document.alias_of.is_none());
        unique.rev().take(entries).filter(move |document| document.at >= oldest)
    }

    /// Equal by a digest: representatives of the window, and the latest aliases of these; never of the same key. The oldest.
    fn equal(&self, key: Key, digest: Digest, step: Step) -> Option<(Match, Facts)> {
        let found = self
            .all
            .iter()
            .filter(|document| document.digests.contains(&digest) && document.key != key);
        let mut matches = found.filter_map(|document| {
            let of = document.alias_of.map_or(document.id, |found| found.of);
            let representative = self.window().find(|representative| representative.id == of)?;
            let bound = self.aliases.saturating_sub(self.options.window.entries.get());
            let is_late = document.alias_of.is_none() || document.alias >= bound;
            let exact = Match {
                of,
                kind: Kind::Exact,
                step,
                distance: 0,
                signature_distance: 0,
                similarity: 1.0,
            };
            let found = document.alias_of.map_or(exact, |found| Match { step, ..found });
            (is_late && representative.key != key).then_some((found, document.facts))
        });
        matches.next()
    }

    fn near(&self, subject: &Document) -> Option<Match> {
        let signature = self.comparable(&subject.sketch.text)?;
        let near =
            self.window().filter(|document| document.key != subject.key).filter_map(|document| {
                let other = document.signature?;
                let distance = (signature.0[0] ^ other.0[0]).count_ones();
                let signature_distance =
                    (0..4).map(|i| (signature.0[i] ^ other.0[i]).count_ones()).sum();
                let most = self.most_bits(subject.sketch.text.features);
                let found = Match {
                    of: document.id,
                    kind: Kind::Near,
                    step: Step::Near,
                    distance,
                    signature_distance,
                    similarity: similarity(signature_distance),
                };
                let order = match self.options.mode {
                    Mode::Classic => (distance, document.id),
                    Mode::Balanced | Mode::Strict => (signature_distance, document.id),
                };
                let accepted = distance <= self.options.radius() && signature_distance <= most;
                accepted.then_some((order, found))
            });
        near.min_by_key(|(order, _)| *order).map(|(_, found)| found)
    }

    /// The number of bits, of 256, in which a text with this many features may differ from what it repeats.
    fn most_bits(&self, features: u32) -> u32 {
        match (self.options.mode, features) {
            (Mode::Classic, _) => 256,
            (_, 0..24) => 0,
            (Mode::Strict, _) => 12,
            (Mode::Balanced, 24..64) => 23,
            (Mode::Balanced, _) => 26,
        }
    }

    /// Whether the index holds fewer of this fingerprint than it may.
    fn has_room(&self, signature: &Signature) -> bool {
        let indexed = self.window().filter_map(|document| document.signature);
        let equal = indexed.filter(|other| other.0[0] == signature.0[0]).count();
        equal < self.equal_limit.get() as usize
    }

    /// The digests by which there are fewer representatives than may be.
    fn below_limit(&self, mut digests: Vec<Digest>) -> Vec<Digest> {
        digests.retain(|digest| {
            let equal = self.window().filter(|document| document.digests.contains(digest));
            equal.count() < self.equal_limit.get() as usize
        });
        digests
    }

    fn comparable(&self, sketch: &TextSketch) -> Option<Signature> {
        let is_long = sketch.features > 0 && sketch.features >= self.options.min_features;
        is_long.then_some(sketch.signature)
    }

    fn judge(&mut self, subject: &Document) -> Judgement {
        self.clock = self.clock.max(subject.at.0);
        if let Some(body) = subject.sketch.body
            && let Some((found, facts)) = self.equal(subject.key, body, Step::Body)
        {
            return self.enter(subject.key, Vec::new(), None, Some(found), facts);
        }
        let facts = Facts {
            fingerprint: (subject.sketch.text.features > 0)
                .then(|| subject.sketch.text.signature.fingerprint()),
            chars: subject.chars,
            features: subject.sketch.text.features,
            lang: subject.lang,
            thin: subject.sketch.text.features == 0,
        };
        let mut digests: Vec<_> = subject.sketch.body.into_iter().collect();
        let text = subject.sketch.text.digest;
        let by_text = text.and_then(|text| self.equal(subject.key, text, Step::Text));
        if by_text.is_none() {
            digests.extend(text);
        }
        let found = by_text.map(|(found, _)| found).or_else(|| self.near(subject));
        let digests = if found.is_some() { digests } else { self.below_limit(digests) };
        let signature = self.comparable(&subject.sketch.text);
        self.enter(subject.key, digests, signature, found, facts)
    }

    fn enter(
        &mut self,
        key: Key,
        digests: Vec<Digest>,
        signature: Option<Signature>,
        alias_of: Option<Match>,
        facts: Facts,
    ) -> Judgement {
        let id = DocId(self.all.len() as u64 + 1);
        let (at, alias) = (self.clock, self.aliases);
        self.aliases += u64::from(alias_of.is_some() && !digests.is_empty());
        let signature =
            signature.filter(|signature| alias_of.is_some() || self.has_room(signature));
        self.all.push(Arrived { id, key, at, digests, signature, alias_of, alias, facts });
        let verdict = alias_of.map_or(Verdict::Unique, Verdict::Duplicate);
        Judgement { id, at: Timestamp(at), verdict, facts, nearest: None, previous: None }
    }
}

impl Script {
    fn subject(&self, name: &str, body: Option<u8>, text: usize, at: i64) -> Document {
        let text = text % self.texts.len();
        Document {
            id: name.to_owned(),
            key: Key::of(name),
            sketch: Sketch {
                body: body.map(digest_of_body),
                ..Sketch::of_text(self.texts[text].clone(), None)
            },
            searched: Vec::new(),
            read: Vec::new(),
            chars: text as u32 * 10,
            lang: None,
            at: Timestamp(at),
            recipe: Recipe::default(),
        }
    }

    /// Plays the script to `judge` and to the model.
    pub(crate) fn play(&self, judge: &mut impl Judge) -> Result<(), TestCaseError> {
        let mut model = Model {
            options: self.options.clone(),
            equal_limit: self.equal_limit,
            clock: i64::MIN,
            all: Vec::new(),
            aliases: 0,
        };
        for event in &self.events {
            match *event {
                Event::Judge { name, body, text, at } => {
                    let subject = self.subject(name, body, text, at);
                    prop_assert_eq!(judge.judge(&subject), model.judge(&subject));
                    prop_assert_eq!(judge.len(), model.window().count());
                }
                Event::Reopen => judge.reopen(),
            }
        }
        Ok(())
    }
}

fn digest_of_body(body: u8) -> Digest {
    Digest::of(&[b'b', body])
}
