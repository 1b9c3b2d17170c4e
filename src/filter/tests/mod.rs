pub(crate) mod model;

use std::num::{NonZeroU32, NonZeroU64};

use proptest::prelude::*;

use super::{digests::Digests, engine::Change, *};
use crate::{
    fingerprint::{Digest, Signature, Sketch as TextSketch},
    index::{BlockIndex, Index},
    page::Timestamp,
};
use model::{Judge, script};

/// An engine with digests in memory. Reopened, it takes over the digests, and window and templates are restored.
struct InMemory {
    options: Options,
    equal_limit: NonZeroU32,
    engine: Engine,
    digests: MemoryDigests,
}

fn engine(options: &Options, equal_limit: NonZeroU32) -> Engine {
    let index = options.index().unwrap().with_equal_limit(equal_limit);
    Engine::new(options, Recipe::default(), index).bounded(equal_limit)
}

impl Judge for InMemory {
    fn judge(&mut self, document: &Document) -> Judgement {
        let Ok(Change { judgement, .. }) = self.engine.judge(&mut self.digests, document);
        judgement
    }

    fn reopen(&mut self) {
        let mut next = engine(&self.options, self.equal_limit);
        next.restore(|take| self.engine.representatives().for_each(take));
        next.resume(self.engine.position());
        self.engine = next;
    }

    fn len(&self) -> usize {
        self.engine.len()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_filter_judges_as_the_design_says(script in script()) {
        let (options, equal_limit) = (script.options.clone(), script.equal_limit);
        let (engine, digests) = (engine(&options, equal_limit), MemoryDigests::default());
        script.play(&mut InMemory { options, equal_limit, engine, digests })?;
    }
}

fn filter(options: &Options) -> Filter {
    Filter::of_recipe(options, Recipe::default()).unwrap()
}

fn subject(key: u64, number: u64) -> Document {
    let word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Document {
        id: key.to_string(),
        key: Key(key),
        sketch: Sketch {
            body: Some(Digest::of(&number.to_le_bytes())),
            ..Sketch::of_text(
                TextSketch {
                    signature: Signature([word; 4]),
                    features: 100,
                    digest: Some(Digest::of(&word.to_le_bytes())),
                },
                None,
            )
        },
        searched: Vec::new(),
        chars: 1,
        lang: None,
        at: Timestamp(0),
        recipe: Recipe::default(),
    }
}

#[test]
fn versions_of_one_document_that_never_change_are_not_all_looked_at() {
    let mut filter = filter(&Options::default());
    for _ in 0..2_000 {
        assert!(filter.judge(&subject(1, 7)).verdict.is_unique());
    }
    for digest in [subject(1, 7).sketch.body, subject(1, 7).sketch.text.digest] {
        let mut known = Vec::new();
        let Ok(()) = filter.digests.find(digest.unwrap(), &mut known);
        assert_eq!(known.len(), BlockIndex::EQUAL_LIMIT as usize);
    }
    let found = filter.judge(&subject(2, 7)).verdict.matched().copied().unwrap();
    assert_eq!(found.of, DocId(1), "the oldest is matched");
}

#[test]
fn memory_stays_bounded_over_many_windows() {
    let window = WindowOptions { entries: NonZeroU64::new(100).unwrap(), age: None };
    let mut filter = filter(&Options { window, ..Options::default() });
    for number in 0..10_000 {
        filter.judge(&subject(number, number));
        // Another body with the same text: an alias.
        let body = Digest::of(format!("alias {number}").as_bytes());
        let alias = subject(number + 1, number).with_body(body);
        let judgement = filter.judge(&alias);
        assert_eq!(judgement.verdict.matched().map(|found| found.step), Some(Step::Text));
        let (representatives, aliases) = filter.digests.counts();
        assert!(
            representatives <= 202 && aliases <= 102,
            "{representatives} and {aliases} digests are kept"
        );
    }
    assert_eq!((filter.len(), filter.engine.index().len()), (100, 100));
}

#[test]
fn nothing_repeats_a_document_that_was_removed() {
    let mut filter = filter(&Options::default());
    let first = filter.judge(&subject(1, 1));
    assert!(filter.remove(first.id) && !filter.remove(first.id));
    assert_eq!((filter.len(), filter.engine.index().len()), (0, 0));
    let again = filter.judge(&subject(2, 1));
    assert!(again.verdict.is_unique());
    let third = filter.judge(&subject(3, 1));
    assert_eq!(third.verdict.matched().map(|found| found.of), Some(again.id));
}

#[test]
fn a_hit_on_an_alias_repeats_its_verdict_with_the_step_at_which_it_was_found() {
    let mut filter = filter(&Options::default());
    let unique = filter.judge(&subject(1, 1));
    let mut near = subject(2, 2);
    near.sketch.text.signature =
        Signature(subject(1, 1).sketch.text.signature.0.map(|word| word ^ 0b11));
    let by_near = *filter.judge(&near).verdict.matched().unwrap();
    let again = filter.judge(&Document { key: Key(3), ..near.clone() });
    assert_eq!((by_near.of, by_near.distance, by_near.signature_distance), (unique.id, 2, 8));
    assert_eq!(again.verdict, Verdict::Duplicate(Match { step: Step::Body, ..by_near }));
    near.sketch.body = None;
    let by_text = filter.judge(&Document { key: Key(4), ..near });
    assert_eq!(by_text.verdict, Verdict::Duplicate(Match { step: Step::Text, ..by_near }));
}

#[test]
fn a_new_version_of_a_page_stays_beside_the_old_one() {
    let mut filter = filter(&Options::default());
    for _ in 0..2 {
        assert!(filter.judge(&subject(1, 1)).verdict.is_unique());
    }
    assert_eq!(
        filter.judge(&subject(2, 1)).verdict.matched().map(|found| found.of),
        Some(DocId(1))
    );
}

#[test]
#[should_panic(expected = "recipe of its filter")]
fn a_document_made_by_another_recipe_is_refused() {
    let options = Options::default();
    let [mut a, b] = [(); 2].map(|()| Filter::new(&options).unwrap());
    a.judge(&b.documents().text("a", "Their seeds are drawn and differ."));
}
