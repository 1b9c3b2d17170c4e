use proptest::prelude::*;

use super::{segment::Run, *};

fn sketch(text: &str) -> Sketch {
    Fingerprinter::new(Recipe::default()).sketch(text)
}

fn ngrams(text: &str) -> Sketch {
    Fingerprinter::new(Recipe { segment: Segment::Ngrams, ..Recipe::default() }).sketch(text)
}

#[test]
fn white_space_and_punctuation_do_not_count() {
    let plain = sketch("Chapter 3 The installer asks again 安装程序 インストーラ").digest;
    for text in [
        "  Chapter 3. \"The\u{a0}installer\" (asks\nagain)! 安装，程序。インスト・ーラ",
        "Chapter\t3—The installer asks again…安装 程序\u{3000}インストーラ",
    ] {
        assert_eq!(sketch(text).digest, plain, "{text}");
        assert_eq!(
            ngrams(text),
            ngrams("Chapter 3 The installer asks again 安装程序 インストーラ"),
            "{text}"
        );
    }
    assert_ne!(sketch("ab c").digest, sketch("a bc").digest);
}

#[test]
fn case_width_and_invisible_characters_do_not_count() {
    for (a, b) in [
        ("Max_WAL_Size 3.14", "Ｍａｘ＿ＷＡＬ＿Ｓｉｚｅ\u{3000}３．１４"),
        ("STRASSE ΣΊΣΥΦΟΣ", "straße σίσυφος"),
        ("soft hyphen", "\u{feff}so\u{ad}ft hy\u{200d}ph\u{1}en"),
        ("ガイド", "ｶﾞｲﾄﾞ"),
        ("café", "cafe\u{301}"),
        ("office", "oﬃce"),
    ] {
        assert_eq!(sketch(a), sketch(b), "{a}");
    }
}

#[test]
fn traditional_and_simplified_chinese_are_one_if_folded() {
    let (traditional, simplified) =
        ("資料庫系統開發說明：電視裡的圖書館", "资料库系统开发说明：电视里的图书馆");
    assert_eq!(sketch(traditional), sketch(simplified));
    let keeping = Fingerprinter::new(Recipe { fold_chinese: false, ..Recipe::default() });
    assert_ne!(keeping.sketch(traditional).digest, keeping.sketch(simplified).digest);
}

#[test]
fn the_digest_knows_neither_seed_nor_segmenter() {
    let text = "我喜欢看电视 and 3.14";
    let secret =
        Fingerprinter::new(Recipe { hash_seed: HashSeed(1), ..Recipe::default() }).sketch(text);
    assert_eq!(secret.digest, ngrams(text).digest);
    assert_ne!(secret.signature, sketch(text).signature);
}

#[test]
fn a_text_without_words_has_no_digest() {
    for text in ["", " \n", "— … !", "\u{0}\u{ad}", "😀"] {
        assert_eq!(
            sketch(text),
            Sketch { signature: Signature::default(), features: 0, digest: None },
            "{text:?}"
        );
    }
}

#[test]
fn features_and_sketch_agree() {
    let fingerprinter = Fingerprinter::new(Recipe::default());
    let text = "数据库系统 the cat sat on the mat, the cat データ";
    let features = fingerprinter.features(text);
    assert_eq!(features.len(), fingerprinter.sketch(text).features as usize);
    assert_eq!((features[0].text.as_str(), features[0].count, features[0].weight), ("the", 3, 34));
    assert!(features.iter().any(|feature| feature.text == "the cat" && feature.count == 2));
}

#[test]
fn a_digest_of_many_tokens_is_that_of_the_joined_tokens() {
    let words: Vec<_> = (0..10_000).map(|n| format!("word{n}")).collect();
    let expected = words
        .iter()
        .fold(Vec::new(), |bytes, word| [bytes, word.as_bytes().to_vec(), vec![0]].concat());
    assert_eq!(sketch(&words.join(", ")).digest, Some(Digest::of(&expected)));
}

#[test]
fn long_texts_without_spaces_or_ends_are_sketched() {
    for (text, features) in [
        ("a".repeat(1 << 20), 1),
        ("中".repeat(350_000), 2),
        ("é".repeat(500_000), 1),
        ("\u{301}".repeat(500_000), 0),
        (format!("a{}", "\u{301}\u{323}".repeat(250_000)), 1),
        ("か".repeat(350_000), 2),
        (format!("{}{}", "a".repeat(500_000), "中か".repeat(100_000)), 6),
        (format!("{}{}", "a,".repeat(250_000), "é中".repeat(100_000)), 7),
        ("a.".repeat(500_000), 1),
        ("a'\u{301}".repeat(250_000), 1),
        ("，".repeat(350_000), 0),
        ("a，".repeat(250_000), 2),
        ("The quick brown fox. ".repeat(500_000), 8),
    ] {
        let start: String = text.chars().take(8).collect();
        assert_eq!(ngrams(&text).features, features, "{start}");
    }
}

#[test]
fn one_fingerprinter_serves_many_threads() {
    let fingerprinter = Fingerprinter::new(Recipe::default());
    let texts = ["one two three", "数据库系统", "", "Straße データ"];
    std::thread::scope(|scope| {
        for text in texts {
            let fingerprinter = &fingerprinter;
            scope.spawn(move || {
                for _ in 0..100 {
                    assert_eq!(fingerprinter.sketch(text), sketch(text));
                }
            });
        }
    });
}

#[test]
fn a_seed_is_never_printed() {
    let seed = HashSeed(1_234_567);
    let choice = HashSeedChoice::Fixed(seed);
    for text in [
        format!("{seed:?}"),
        format!("{choice:?}"),
        format!("{:?}", Recipe { hash_seed: seed, ..Recipe::default() }),
        seed.id(),
    ] {
        assert!(!text.contains("1234567") && !text.contains("12d687"), "{text}");
    }
    assert_eq!(HashSeed::PUBLIC.id(), "d57e26c0");
    assert_ne!(HashSeed(0).id(), HashSeed(1).id());
}

#[test]
fn a_seed_is_secret_public_or_a_number() {
    let parse = |text: &str| serde_json::from_str::<HashSeedChoice>(text);
    assert_eq!(parse(r#""secret""#).unwrap().seed(), None);
    assert_eq!(parse(r#""public""#).unwrap().seed(), Some(HashSeed::PUBLIC));
    assert_eq!(parse("7").unwrap().seed(), Some(HashSeed(7)));
    assert!(
        parse("-1")
            .unwrap_err()
            .to_string()
            .contains(r#"expected "secret", "public" or a number of 0 or more"#)
    );
    assert!(parse(r#""hidden""#).is_err());
    for choice in
        [HashSeedChoice::Secret, HashSeedChoice::Public, HashSeedChoice::Fixed(HashSeed(u64::MAX))]
    {
        assert_eq!(parse(&serde_json::to_string(&choice).unwrap()).unwrap(), choice);
    }
}

#[test]
fn a_scheme_tells_what_alters_fingerprints() {
    let scheme = |segment, fold_chinese| {
        Recipe { segment, fold_chinese, hash_seed: HashSeed(9) }.scheme().to_string()
    };
    assert_eq!(scheme(Segment::Jieba, true), "2:jieba:fold");
    assert_eq!(scheme(Segment::Ngrams, false), "2:ngrams:keep");
}

proptest! {
    #[test]
    fn equal_digests_mean_equal_signatures_without_a_dictionary(text in "[ab中か,. ]{0,12}", other in "[ab中か,. ]{0,12}") {
        let (a, b) = (ngrams(&text), ngrams(&other));
        prop_assert_eq!(a.digest == b.digest, a == b);
    }

    #[test]
    fn any_text_has_a_sketch(text in any::<String>()) {
        let features = Fingerprinter::new(Recipe::default()).features(&text);
        prop_assert_eq!(features.len(), sketch(&text).features as usize);
    }

    #[test]
    fn normalising_twice_changes_nothing(text in "\\PC{0,30}") {
        let normal = |text: &str| {
            let mut all = String::new();
            normalise::normalised(text, &mut String::new(), |part| all.push_str(part));
            all
        };
        let runs = |text: &str| {
            let mut all = Vec::new();
            segment::runs(text, None, &mut segment::Buffers::default(), |run| {
                all.push(match run { Run::Word(run) | Run::Han(run) | Run::Unspaced(run) => run.to_owned() });
            });
            all
        };
        prop_assert_eq!(runs(&normal(&text)), runs(&text));
    }
}
