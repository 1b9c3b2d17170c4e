use std::num::{NonZeroU32, NonZeroU64};

use proptest::prelude::*;

use super::{
    model::{Judge, script},
    *,
};
use crate::fingerprint::{Signature, Sketch};

/// A filter in memory; reopened, it takes over the digests and reads the window back.
struct InMemory {
    options: Options,
    equal_limit: NonZeroU32,
    bounds: Bounds,
    filter: Filter,
    lessons: Vec<Lesson>,
}

impl InMemory {
    fn keep_lesson(&mut self) {
        if let Some(taught) = self.filter.taught() {
            self.lessons.push(taught.lesson.clone());
            for outdated in &taught.outdated {
                self.lessons
                    .retain(|lesson| lesson.site != outdated.site || lesson.id >= outdated.before);
            }
        }
        let most = 2 * self.bounds.epoch * self.bounds.sites.get();
        assert!(self.lessons.len() < most, "{} lessons are kept", self.lessons.len());
    }
}

fn filter(options: &Options, equal_limit: NonZeroU32, digests: MemoryDigests) -> Filter {
    let index = options.index().unwrap().with_equal_limit(equal_limit);
    Filter::with(options, index, digests)
}

impl Judge for InMemory {
    fn judge(&mut self, _: &str, subject: &Document) -> Judgement {
        let peeked = subject
            .body
            .and_then(|body| self.filter.peek_body(subject.key, body, subject.at).unwrap());
        let mut plain = self.filter.clone();
        plain.templates = None;
        let plain = plain.judge(subject).unwrap();
        let judgement = self.filter.judge(subject).unwrap();
        let law = "templates make a verdict stricter, or leave it as it is";
        let step = plain.verdict.matched().map(|found| found.step);
        assert!(
            judgement == plain || step == Some(Step::Near),
            "{law}, and only of near duplicates"
        );
        self.keep_lesson();
        let by_body = judgement.verdict.matched().filter(|found| found.step == Step::Body);
        assert_eq!(peeked.as_ref(), by_body, "a look at the body foretells its step");
        judgement
    }

    fn judge_body(&mut self, name: &str, body: Digest, at: Timestamp) -> Option<Judgement> {
        self.filter.judge_body(Key::of(name), body, at).unwrap()
    }

    fn reopen(&mut self) {
        let mut next = filter(&self.options, self.equal_limit, self.filter.digests.clone());
        next = next.bounded(self.bounds, self.equal_limit);
        next.restore(|take| self.filter.representatives().for_each(take));
        self.lessons.iter().for_each(|lesson| next.relearn(lesson));
        next.resume(self.filter.position());
        self.filter = next;
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
        let bounds = script.bounds;
        let filter = filter(&options, equal_limit, MemoryDigests::default()).bounded(bounds, equal_limit);
        script.play(&mut InMemory { options, equal_limit, bounds, filter, lessons: Vec::new() })?;
    }
}

fn subject(key: u64, number: u64) -> Document {
    let word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Document {
        key: Key(key),
        body: Some(Digest::of(&number.to_le_bytes())),
        sketch: Sketch {
            signature: Signature([word; 4]),
            features: 100,
            digest: Some(Digest::of(&word.to_le_bytes())),
        },
        chars: 1,
        lang: None,
        at: Timestamp(0),
        blocks: None,
    }
}

#[test]
fn versions_of_one_document_that_never_change_are_not_all_looked_at() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    for _ in 0..2_000 {
        assert!(filter.judge(&subject(1, 7)).unwrap().verdict.is_unique());
    }
    for digest in [Some(subject(1, 7).body.unwrap()), subject(1, 7).sketch.digest] {
        let mut known = Vec::new();
        filter.digests.find(digest.unwrap(), &mut known).unwrap();
        assert_eq!(known.len(), EQUAL_LIMIT);
    }
    let found = filter.judge(&subject(2, 7)).unwrap().verdict.matched().copied().unwrap();
    assert_eq!(found.of, DocId(1), "the oldest is matched");
}

#[test]
fn memory_stays_bounded_over_many_windows() {
    let window = WindowOptions {
        entries: NonZeroU64::new(100).unwrap(),
        age: None,
        ..WindowOptions::default()
    };
    let mut filter = Filter::new(&Options { window, ..Options::default() }).unwrap();
    for number in 0..10_000 {
        filter.judge(&subject(number, number)).unwrap();
        // Another body with the same text: an alias.
        let alias = Document {
            body: Some(Digest::of(format!("alias {number}").as_bytes())),
            ..subject(number + 1, number)
        };
        let judgement = filter.judge(&alias).unwrap();
        assert_eq!(judgement.verdict.matched().map(|found| found.step), Some(Step::Text));
        let (representatives, aliases) = filter.digests.counts();
        assert!(
            representatives <= 202 && aliases <= 102,
            "{representatives} and {aliases} digests are kept"
        );
    }
    assert_eq!((filter.len(), filter.index.len()), (100, 100));
}

#[test]
fn nothing_repeats_a_document_that_was_removed() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    let first = filter.judge(&subject(1, 1)).unwrap();
    assert!(filter.remove(first.id) && !filter.remove(first.id));
    assert_eq!((filter.len(), filter.index.len()), (0, 0));
    let again = filter.judge(&subject(2, 1)).unwrap();
    assert!(again.verdict.is_unique());
    let third = filter.judge(&subject(3, 1)).unwrap();
    assert_eq!(third.verdict.matched().map(|found| found.of), Some(again.id));
}

#[test]
fn a_hit_on_an_alias_repeats_its_verdict_with_the_step_at_which_it_was_found() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    let unique = filter.judge(&subject(1, 1)).unwrap();
    let mut near = subject(2, 2);
    near.sketch.signature = Signature(subject(1, 1).sketch.signature.0.map(|word| word ^ 0b11));
    let by_near = *filter.judge(&near).unwrap().verdict.matched().unwrap();
    let again = filter.judge(&Document { key: Key(3), ..near.clone() }).unwrap();
    assert_eq!((by_near.of, by_near.distance, by_near.signature_distance), (unique.id, 2, 8));
    assert_eq!(again.verdict, Verdict::Duplicate(Match { step: Step::Body, ..by_near }));
    let by_text = filter.judge(&Document { key: Key(4), body: None, ..near }).unwrap();
    assert_eq!(by_text.verdict, Verdict::Duplicate(Match { step: Step::Text, ..by_near }));
}

#[test]
fn a_new_version_of_a_page_stays_beside_the_old_one() {
    let mut filter = Filter::new(&Options::default()).unwrap();
    for _ in 0..2 {
        assert!(filter.judge(&subject(1, 1)).unwrap().verdict.is_unique());
    }
    assert_eq!(
        filter.judge(&subject(2, 1)).unwrap().verdict.matched().map(|found| found.of),
        Some(DocId(1))
    );
}

#[test]
fn mode_classic_learns_no_templates() {
    for (mode, learns) in [(Mode::Balanced, true), (Mode::Strict, true), (Mode::Classic, false)] {
        let mut filter = Filter::new(&Options { mode, ..Options::default() }).unwrap();
        let blocks = Some(Blocks::of(Site::of("a.test"), "one line\nanother"));
        filter.judge(&Document { blocks, ..subject(1, 1) }).unwrap();
        assert_eq!(filter.taught().is_some(), learns, "{mode:?}");
    }
}
