//! The texts to measure with: main texts of the development data, or else the bundled ones.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

/// Four texts near the mean length of a page.
pub(crate) const ENGLISH: [&str; 2] = [
    include_str!("../../tests/data/fingerprint/en-1.txt"),
    include_str!("../../tests/data/fingerprint/en-2.txt"),
];
pub(crate) const CHINESE: [&str; 2] = [
    include_str!("../../tests/data/fingerprint/zh-1.txt"),
    include_str!("../../tests/data/fingerprint/zh-2.txt"),
];

/// A page of the development data.
#[derive(serde::Deserialize)]
struct MainText {
    lang: String,
    main_text: String,
}

/// Texts by language.
pub(crate) struct Texts {
    /// Where they are from.
    pub(crate) origin: &'static str,
    by_language: BTreeMap<String, Vec<String>>,
}

impl Texts {
    /// Reads them beside the checkout, or in `PAGESIEVE_DATA`.
    pub(crate) fn load() -> Self {
        fs::read_to_string(data().join("main_text.jsonl")).map_or_else(
            |_| Self::bundled(),
            |lines| {
                let mut by_language = BTreeMap::<_, Vec<_>>::new();
                for line in lines.lines() {
                    let page: MainText =
                        serde_json::from_str(line).expect("the data is as its README says");
                    let language = page.lang.chars().take(2).collect();
                    by_language.entry(language).or_default().push(page.main_text);
                }
                Self { origin: "main texts of the development data", by_language }
            },
        )
    }

    fn bundled() -> Self {
        let texts = [("en", ENGLISH), ("zh", CHINESE)];
        let owned = |(language, texts): (&str, [&str; 2])| {
            (language.to_owned(), texts.map(str::to_owned).to_vec())
        };
        Self {
            origin: "PAGESIEVE_DATA is absent: four bundled texts",
            by_language: texts.map(owned).into(),
        }
    }

    /// The texts in a language; none if there are none.
    pub(crate) fn of(&self, language: &str) -> &[String] {
        self.by_language.get(language).map_or(&[], Vec::as_slice)
    }
}

/// The directory of the development data.
pub(crate) fn data() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    env::var_os("PAGESIEVE_DATA").map_or_else(|| beside.into(), PathBuf::from)
}
