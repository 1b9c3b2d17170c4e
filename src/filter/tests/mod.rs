pub(crate) mod content;
pub(crate) mod model;

use std::num::{NonZeroU32, NonZeroU64};

use proptest::prelude::*;

use super::*;
use crate::{
    fingerprint::{Digest, Signature, Sketch as TextSketch},
    index::{BlockIndex, Index},
    page::{Outline, Timestamp},
};
use model::{Judge, script};

/// Callers move filters between threads.
const fn assert_send<T: Send>() {}
const _: () = assert_send::<Filter>();
const _: () = assert_send::<Documents>();

impl Memory {
    /// How many representatives and aliases are kept.
    fn counts(&self) -> (usize, usize) {
        (self.representatives.len(), self.aliases.len())
    }
}

/// A filter in memory. Reopened, it takes over the store, and the window is restored.
struct InMemory {
    options: Options,
    equal_limit: NonZeroU32,
    filter: Filter,
}

fn engine(options: &Options, equal_limit: NonZeroU32) -> Engine {
    let index = options.index(options::IN_MEMORY).unwrap().with_equal_limit(equal_limit);
    Engine::new(options, Recipe::default(), index).bounded(equal_limit)
}

impl Engine {
    /// The same with another limit of the representatives that are known by one digest.
    pub(crate) fn bounded(mut self, equal_limit: NonZeroU32) -> Self {
        self.equal_limit = equal_limit.get() as usize;
        self
    }
}

impl Judge for InMemory {
    fn judge(&mut self, document: &Document) -> Judgement {
        self.filter.judge(document).unwrap()
    }

    fn reopen(&mut self) {
        let mut next = engine(&self.options, self.equal_limit);
        let former = &self.filter.engine;
        former.window.iter().for_each(|it| next.restore(&it));
        next.digests = former.digests.clone();
        next.resume(former.position(), || false);
        self.filter.engine = next;
    }

    fn len(&self) -> usize {
        self.filter.len()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_filter_judges_as_the_design_says(script in script()) {
        let (options, equal_limit) = (script.options.clone(), script.equal_limit);
        let filter = Filter { engine: engine(&options, equal_limit), store: Memory::default() };
        script.play(&mut InMemory { options, equal_limit, filter })?;
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
        read: Vec::new(),
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
        assert!(filter.judge(&subject(1, 7)).unwrap().verdict.is_unique());
    }
    for digest in [subject(1, 7).sketch.body, subject(1, 7).sketch.text.digest] {
        let known = filter.engine.known_by(digest.unwrap());
        assert_eq!(known.len(), BlockIndex::EQUAL_LIMIT as usize);
    }
    let found = filter.judge(&subject(2, 7)).unwrap().verdict.matched().copied().unwrap();
    assert_eq!(found.of, DocId(1), "the oldest is matched");
}

#[test]
fn memory_stays_bounded_over_many_windows() {
    let window = WindowOptions { entries: NonZeroU64::new(100).unwrap(), age: None, future: false };
    let mut filter = filter(&Options { window, ..Options::default() });
    for number in 0..10_000 {
        filter.judge(&subject(number, number)).unwrap();
        // Another body with the same text: an alias.
        let body = Digest::of(format!("alias {number}").as_bytes());
        let alias = subject(number + 1, number).with_body(body);
        let judgement = filter.judge(&alias).unwrap();
        assert_eq!(judgement.verdict.matched().map(|found| found.step), Some(Step::Text));
        let (representatives, aliases) = filter.store.counts();
        assert!(
            representatives <= 101 && aliases <= 102,
            "{representatives} and {aliases} documents are kept"
        );
    }
    assert_eq!((filter.len(), filter.engine.index.len()), (100, 100));
}

#[test]
fn nothing_repeats_a_document_that_was_removed() {
    let mut filter = filter(&Options::default());
    let first = filter.judge(&subject(1, 1)).unwrap();
    assert_eq!([first.id; 2].map(|id| filter.remove(id)), [Ok(true), Ok(false)]);
    assert_eq!((filter.len(), filter.engine.index.len()), (0, 0));
    let again = filter.judge(&subject(2, 1)).unwrap();
    assert!(again.verdict.is_unique());
    let third = filter.judge(&subject(3, 1)).unwrap();
    assert_eq!(third.verdict.matched().map(|found| found.of), Some(again.id));
}

#[test]
fn a_hit_on_an_alias_repeats_its_verdict_with_the_step_at_which_it_was_found() {
    let mut filter = filter(&Options::default());
    let unique = filter.judge(&subject(1, 1)).unwrap();
    let mut near = subject(2, 2);
    near.sketch.text.signature =
        Signature(subject(1, 1).sketch.text.signature.0.map(|word| word ^ 0b11));
    let by_near = *filter.judge(&near).unwrap().verdict.matched().unwrap();
    let again = filter.judge(&Document { key: Key(3), ..near.clone() }).unwrap();
    assert_eq!((by_near.of, by_near.distance, by_near.signature_distance), (unique.id, 2, 8));
    assert_eq!(again.verdict, Verdict::Duplicate(Match { step: Step::Body, ..by_near }));
    near.sketch.body = None;
    let by_text = filter.judge(&Document { key: Key(4), ..near }).unwrap();
    assert_eq!(by_text.verdict, Verdict::Duplicate(Match { step: Step::Text, ..by_near }));
}

#[test]
fn a_new_version_of_a_page_stays_beside_the_old_one() {
    let mut filter = filter(&Options::default());
    for _ in 0..2 {
        assert!(filter.judge(&subject(1, 1)).unwrap().verdict.is_unique());
    }
    assert_eq!(
        filter.judge(&subject(2, 1)).unwrap().verdict.matched().map(|found| found.of),
        Some(DocId(1))
    );
}

#[test]
fn a_document_made_by_another_recipe_is_refused() {
    let options = Options::default();
    let [mut a, b] = [(); 2].map(|()| Filter::new(&options).unwrap());
    let foreign = b.documents().text("a", "Their seeds are drawn and differ.");
    assert_eq!(a.judge(&foreign), Err(JudgeError::Recipe));
    assert_eq!((a.len(), a.judged()), (0, 0));
    let own = a.documents().text("a", "One of its own.");
    assert!(a.judge(&own).is_ok());
}

#[test]
fn a_judgement_is_read_back_as_it_was_written() {
    let mut filter = filter(&Options::default());
    for key in 1..3 {
        let mut document = subject(key, 1);
        document.lang = crate::page::Lang::new("en");
        let judgement = filter.judge(&document).unwrap();
        let written = postcard::to_allocvec(&judgement).unwrap();
        assert_eq!(postcard::from_bytes::<Judgement>(&written).unwrap(), judgement);
    }
}

#[cfg(feature = "state")]
proptest! {
    /// Keys are found as a look at the whole window finds them, a version without change leaves the window as it is, and what is sent again is new
    /// no second time.
    #[test]
    fn a_key_leads_to_the_latest_version_in_the_window(
        steps in prop::collection::vec((1..6_u64, 1..4_u64, 0..8_u8), 0..60),
    ) {
        let window = WindowOptions { entries: NonZeroU64::new(4).unwrap(), age: None, future: false };
        let mut filter = filter(&Options { window, ..Options::default() });
        filter.index_keys();
        for (key, text, removes) in steps {
            if removes == 0 {
                for id in filter.versions(Key(key)) {
                    filter.remove(id).unwrap();
                }
            } else {
                let document = subject(key, text);
                let (before, latest) = (filter.len(), filter.find(Key(key)).map(|held| held.id));
                let looked_at = filter.peek(&document).unwrap();
                let judgement = filter.judge(&document).unwrap();
                prop_assert_eq!(looked_at.previous, judgement.previous);
                prop_assert!(!filter.peek(&document).unwrap().is_new());
                match judgement.previous {
                    None => prop_assert!(latest.is_none() || !judgement.verdict.is_unique()),
                    Some(previous) if previous.is_unchanged => {
                        prop_assert!(filter.versions(Key(key)).contains(&previous.id));
                        prop_assert_eq!(filter.find(Key(key)).map(|held| held.id), latest);
                        prop_assert_eq!(filter.len(), before);
                    }
                    Some(previous) => {
                        prop_assert_eq!(latest, Some(previous.id));
                        prop_assert_eq!(filter.find(Key(key)).map(|held| held.id), Some(judgement.id));
                    }
                }
            }
            for key in 1..6 {
                let found = filter.find(Key(key)).map(|held| held.id);
                prop_assert_eq!(found, filter.versions(Key(key)).last().copied());
            }
        }
    }
}

#[test]
fn a_page_has_the_same_passages_whether_its_content_is_kept_or_not() {
    let lines: Vec<String> = (0..40)
        .map(|line| format!("line {line} has {} words of its own, and so on", line * 7))
        .collect();
    let mut outline = Outline::new("Lines");
    for line in &lines {
        outline.line(Outline::PAGE, line, 0, true);
    }
    let passages = |outline: &Outline, text: &str| {
        let [kept, left] = [true, false].map(|reads| {
            let documents = Documents::new(Recipe::default(), reads);
            documents.outlined("a", None, text, outline).passages().to_vec()
        });
        assert_eq!(kept, left);
        kept
    };
    let text = lines.join("\n");
    let without_links = passages(&outline, &text);
    assert!((20..200).contains(&without_links.len()), "{}", without_links.len());
    // Links name other pages.
    let others = outline.block(Outline::PAGE);
    for name in ["The next month, with all of its days", "The month before this one"] {
        outline.line(others, name, name.len(), true);
    }
    let text = text + "\nThe next month, with all of its days\nThe month before this one";
    assert_eq!(passages(&outline, &text), without_links);
}
