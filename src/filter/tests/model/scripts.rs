//! What filters are made to judge.

use std::{
    num::{NonZeroU32, NonZeroU64},
    time::Duration,
};

use proptest::{prelude::*, sample::select};

use super::{Digest, Event, Mode, Options, Radius, Script, Signature, TextSketch, WindowOptions};

/// Few keys, few bodies, few texts; times that go back and forth; windows that roll soon.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    let text = (
        0..3_usize,
        prop::collection::vec(0..64_u32, 0..6),
        // Up to and beyond what each mode confirms.
        prop_oneof![0..9_usize, 7..27_usize]
            .prop_flat_map(|bits| prop::collection::vec(64..256_u32, bits)),
        select(vec![0, 1, 9, 10, 23, 24, 63, 64, 100, 1000]),
    );
    let texts = prop::collection::vec(text, 1..12);
    let window = (
        select(vec![1, 2, 3, 6, 50]),
        select(vec![None, Some(0), Some(5), Some(40)]),
        select(vec![1, 2, 256]),
    );
    let rule = (
        select(vec![Mode::Balanced, Mode::Classic, Mode::Strict]),
        prop::option::of(0..=Radius::MAX.get()),
    );
    let events = prop::collection::vec(event(), 0..90);
    (texts, window, rule, select(vec![0, 1, 10]), events, any::<bool>()).prop_map(
        |(
            texts,
            (entries, age, equal_limit),
            (mode, radius),
            min_features,
            mut events,
            runs_on,
        )| {
            let window = WindowOptions {
                entries: NonZeroU64::new(entries).unwrap(),
                age: age.map(Duration::from_millis),
                future: false,
            };
            let radius = radius.map(|radius| Radius::try_from(radius).unwrap());
            let options = Options { mode, radius, min_features, window, ..Options::default() };
            if runs_on {
                for (number, event) in events.iter_mut().enumerate() {
                    if let Event::Judge { at, .. } = event {
                        *at += number as i64 * 3;
                    }
                }
            }
            let texts =
                texts.into_iter().enumerate().map(|(number, text)| sketch(number, text)).collect();
            let equal_limit = NonZeroU32::new(equal_limit).unwrap();
            Script { options, equal_limit, texts, events }
        },
    )
}

/// Few keys and bodies, and now and then the end of the filter.
fn event() -> impl Strategy<Value = Event> {
    let name = || select(vec!["a", "b", "c", "d", "e", "f", "g", "h"]);
    prop_oneof![
        20 => (name(), prop::option::of(0..8_u8), 0..12_usize, -20..60_i64)
            .prop_map(|(name, body, text, at)| Event::Judge { name, body, text, at }),
        2 => Just(Event::Reopen),
    ]
}

/// A text whose signature differs in these bits from that of its kind.
fn sketch(
    number: usize,
    (kind, near, far, features): (usize, Vec<u32>, Vec<u32>, u32),
) -> TextSketch {
    let mut signature = [[0; 4], [0x00ff_00ff_00ff_00ff; 4], [u64::MAX; 4]][kind];
    for bit in near.into_iter().chain(far) {
        signature[bit as usize / 64] ^= 1 << (bit % 64);
    }
    let digest = (features > 0).then(|| Digest::of(&[b't', number as u8]));
    TextSketch { signature: Signature(signature), features, digest }
}
