//! Examples from the literature, and sketches that must never change.

use std::collections::HashSet;

use pagesieve::fingerprint::{Accumulator, Fingerprint, Fingerprinter, Recipe, Segment, java};
use proptest::prelude::*;

/// The cosine of two vectors of counts.
fn cosine(a: &[u32], b: &[u32]) -> f64 {
    let dot = |a: &[u32], b: &[u32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn two_terms_weighted_4_and_5_give_the_sums_and_signs_of_the_textbook() {
    let mut accumulator = Accumulator::new();
    accumulator.add([0b10_0101], 4);
    accumulator.add([0b10_1011], 5);
    let sums = accumulator.finish();
    assert_eq!([5, 4, 3, 2, 1, 0].map(|bit| sums.sum(bit)), [9, -9, 1, -1, 1, 9]);
    assert_eq!(sums.signs(), [0b10_1011]);
}

#[test]
fn the_textbook_numbers_differ_in_two_bits() {
    assert_eq!(Fingerprint(0b101_1101).distance(Fingerprint(0b100_1001)), 2);
}

/// Cut as in the tutorials; by jieba ([`Segment::Jieba`]), 看電視 is one word.
#[test]
fn the_two_sentences_have_cosine_0_938() {
    let tokens = ["我", "喜歡", "看", "電視", "電影", "不", "也"];
    let counts = |sentence: &str| {
        tokens.map(|token| sentence.split(' ').map(|word| u32::from(word == token)).sum())
    };
    let (a, b) = (
        counts("我 喜歡 看 電視 ， 不 喜歡 看 電影"),
        counts("我 不 喜歡 看 電視 ， 也 不 喜歡 看 電影"),
    );
    assert_eq!(a, [1, 2, 2, 1, 1, 1, 0]);
    assert_eq!(b, [1, 2, 2, 1, 1, 2, 1]);
    assert_eq!(format!("{:.3}", cosine(&a, &b)), "0.938");
    let features = Fingerprinter::new(Recipe::default()).features("我喜歡看電視，不喜歡看電影");
    assert!(
        ["我", "喜欢", "看电视", "不", "电影"]
            .iter()
            .all(|word| features.iter().any(|feature| feature.text == *word))
    );
}

#[test]
fn a_ball_of_radius_3_has_43_745_members() {
    let centre = Fingerprint(0x0123_4567_89ab_cdef);
    let flips: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([0]).collect();
    let mut ball = HashSet::new();
    for a in &flips {
        for b in &flips {
            ball.extend(flips.iter().map(|c| Fingerprint(centre.0 ^ (a | b | c))));
        }
    }
    assert!(ball.iter().all(|&member| centre.distance(member) <= 3));
    assert_eq!(ball.len(), 43_745);
}

proptest! {
    #[test]
    fn signs_of_sums_are_signs_of_dot_products_with_the_hyperplanes(terms in prop::collection::vec(any::<(u64, u16)>(), 0..50)) {
        let mut accumulator = Accumulator::new();
        for &(hash, weight) in &terms {
            accumulator.add([hash], weight.into());
        }
        let weights: Vec<i64> = terms.iter().map(|term| term.1.into()).collect();
        let signs = accumulator.finish().signs()[0];
        for bit in 0..64 {
            // Bit i of all hashes is hyperplane i: +1 in the direction of a term whose bit is 1, else -1.
            let hyperplane = terms.iter().map(|term| if term.0 >> bit & 1 == 1 { 1 } else { -1 });
            let dot: i64 = hyperplane.zip(&weights).map(|(direction, weight)| direction * weight).sum();
            prop_assert_eq!(signs >> bit & 1 == 1, dot > 0);
        }
    }
}

/// The values without jieba were confirmed by a program in another language that follows the recipe in the module's documentation.
#[test]
fn known_texts_keep_their_sketches() {
    let english = "Near-duplicate pages differ in a date: 3.14, max_wal_size, Straße ΣΊΣΥΦΟΣ";
    let chinese = "我喜歡看電視，不喜歡看電影";
    let mixed = "数据库系统的安装：在 Debian 12（bookworm）上运行 apt install。データベースをインストールする";
    let signs = "It’s -5 °C in C++: a && b != c, 50 €; l´été";
    for (segment, text, signature, features, digest) in [
        (
            Segment::Jieba,
            english,
            "099bc88a7e3d6cee49cd5a04ddf3a087489db24cad306f1371c529a9c02e4664",
            21,
            "f377ff71b936cfce872880122c0ed006",
        ),
        (
            Segment::Jieba,
            signs,
            "1c932cb2411534cc4c891d7e2b42f39aebea356cb934b2382e6c93d3ebf912d7",
            17,
            "b081f4e050e385e36dbe5776d67fefe7",
        ),
        (
            Segment::Jieba,
            chinese,
            "fa9d0983262f33a6b4b813ae50dbf91c7eb631409b60cd3e3777d63ac929588f",
            21,
            "96d44b85b026a54eda332b62a18e20be",
        ),
        (
            Segment::Jieba,
            mixed,
            "ea29a197eeb8cb22fbaa7b10115f7287f631eeed2379e3cbf2001551e2c0b244",
            63,
            "5ad5ba0f35d90e0aece58793555a1a02",
        ),
        (
            Segment::Ngrams,
            chinese,
            "e8b72dc33363b376b53103ae964bb91d7e323140df76092a0b36d2a8d9eb9103",
            16,
            "96d44b85b026a54eda332b62a18e20be",
        ),
        (
            Segment::Ngrams,
            mixed,
            "ee29a597ee38db22fbba1b1011df7a83f672eeed2359e389a2011401e2c86254",
            60,
            "5ad5ba0f35d90e0aece58793555a1a02",
        ),
    ] {
        let sketch = Fingerprinter::new(Recipe { segment, ..Recipe::default() }).sketch(text);
        let found =
            (sketch.signature.to_string(), sketch.features, sketch.digest.unwrap().to_string());
        assert_eq!(
            found,
            (signature.to_owned(), features, digest.to_owned()),
            "{segment:?} {text}"
        );
    }
}

/// The expected values come from a Java program with `BigInteger`, written from the description.
#[test]
fn the_java_hash_equals_that_of_the_java_program() {
    for (token, expected) in [
        ("", 0),
        ("a", 0x2_e40d_b1e0),
        ("simhash", 0x9067_15e6_9d07_9fba),
        ("喜歡", 0x26ee_4d7d_d069_36b7),
        ("電視", 0x44a8_8b91_ba59_c9a5),
        ("😀", 0x6255_9996_2c4b_ca75),
    ] {
        assert_eq!(java::hash(token), expected, "{token}");
    }
}

#[test]
fn java_fingerprints_digits_and_blocks_equal_those_of_the_java_program() {
    let sentence = "我 喜歡 看 電視 不 喜歡 看 電影";
    let fingerprint = java::fingerprint(sentence.split(' '));
    assert_eq!(fingerprint, Fingerprint(0x04a8_0bdd_ba7b_9f86));
    assert_eq!(
        java::to_digits(fingerprint),
        "0110000111111001110111100101110110111011110100000001010100100000"
    );
    let blocks: [&[u64]; 4] = [
        &[0x61f9, 0xde5d, 0xbbd0, 0x1520],
        &[0x61f, 0x9de, 0x5db, 0xbd0, 0x152],
        &[0x187, 0x39d, 0x397, 0x1bb, 0x340, 0x152],
        &[0xc3, 0x1e7, 0xf2, 0x1db, 0x17a, 0x5, 0x90],
    ];
    for (radius, expected) in (3..).zip(blocks) {
        assert_eq!(java::blocks(fingerprint, radius), expected, "radius {radius}");
    }
    assert_eq!(
        java::fingerprint("我 不 喜歡 看 電視 也 不 喜歡 看 電影".split(' ')),
        Fingerprint(0x3dd_fa6b_bf8e)
    );
    assert_eq!(
        java::fingerprint("the cat sat on the mat".split(' ')),
        Fingerprint(0xfabb_ff6b_39cf_adff)
    );
    assert_eq!(java::fingerprint([]), Fingerprint(u64::MAX));
}
