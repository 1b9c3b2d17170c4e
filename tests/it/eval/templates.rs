//! How templates of origins change decisions: on real pages, and on pages with little content of their own.
#![allow(clippy::print_stdout, reason = "the tables are for whoever runs the experiment")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::BufReader,
};

use pagesieve::{
    eval::{Corpus, Text, Unlisted, evaluate, hash_seeds, read_texts},
    extract::{self, Extractor, Rules},
    filter::{Filter, Options},
    fingerprint::{
        Accumulator, Feature, Fingerprinter, HashSeed, HashSeedChoice, Recipe, Signature, Sketch,
        Sums,
    },
    page::Page,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::data::shared;

const SEEDS: usize = 5;

/// The main texts in a shuffled order, as in a crawl of several lists.
fn main_texts() -> Option<Vec<Text>> {
    let file = File::open(shared("main_text.jsonl")?).unwrap();
    let mut texts = read_texts(BufReader::new(file)).unwrap();
    texts.sort_by_key(|text| xxh3_64(text.id.as_bytes()));
    Some(texts)
}

/// The same pages, extracted from their HTML with these rules.
fn read_by(rules: &[Rules], texts: &[Text]) -> Vec<Text> {
    let pages = shared("pages").unwrap();
    let mut options = extract::Options::default();
    options.rules = rules.to_vec();
    let extractor = Extractor::new(options);
    let read = |text: &Text| {
        let url = format!("http://example.org/{}", text.id).parse().ok();
        let body = fs::read(pages.join(&text.id)).unwrap();
        let document = extractor.extract(&Page { url, body, ..Page::default() });
        Text { text: document.text, ..text.clone() }
    };
    texts.iter().map(read).collect()
}

#[test]
#[ignore = "an experiment: cargo test --release --test it templates_by_experiment -- --ignored --nocapture"]
fn templates_by_experiment_on_pages_as_they_are() {
    let Some(texts) = main_texts() else { return };
    let all: Rules = serde_json::from_str(r#"{"site": "example.org", "keep": ["body"]}"#).unwrap();
    let (extracted, whole) = (read_by(&[], &texts), read_by(&[all], &texts));
    println!(
        "| texts | templates | near pairs found | of these not equal (least) | ≥ 0.5 of reported | wrong | template: texts, mean share | stream: caught | wrongly dropped |"
    );
    for (name, texts) in [("main", texts), ("extracted", extracted), ("whole page", whole)] {
        let pairs = BufReader::new(File::open(shared("pairs.jsonl").unwrap()).unwrap());
        let corpus = Corpus::new(texts, pairs, Unlisted::Different).unwrap();
        for templates in [false, true] {
            let mut options = Options::default();
            options.templates = templates;
            let quality = evaluate(&corpus, &options, &hash_seeds(SEEDS));
            let (all, stream) = (quality.all(), &quality.stream[0].counts);
            let share = |share: Option<f64>| share.unwrap_or_default();
            println!(
                "| {name} | {} | {:.4} | {:.4} ({:.3}) | {:.4} | {} | {}, {:.2} | {} of {} | {} |",
                if templates { "on" } else { "off" },
                share(all.recall),
                share(all.recall_not_equal),
                share(all.least_recall_not_equal),
                share(all.precision_50),
                all.wrong,
                quality.templates.texts,
                share(quality.templates.mean_share),
                stream.caught,
                stream.repeated,
                stream.wrong
            );
        }
    }
}

/// Pages of a site: the lines of each, and the number of the earlier page that it is an altered copy of, if any.
struct Shop {
    template: Vec<String>,
    pages: Vec<(String, Option<usize>)>,
}

impl Shop {
    /// Pages with passages of `length` characters from real texts, in a template of other passages that is this share of each page.
    fn new(passages: &[String], length: usize, share: f64, pages: usize) -> Self {
        let wanted = (length as f64 * share / (1.0 - share)).round();
        let mut template = Vec::new();
        let (mut chars, mut used) = (0, 0);
        for passage in passages.iter().rev() {
            used += 1;
            for line in passage.lines().filter(|_| (chars as f64) < wanted) {
                template.push(line.to_owned());
            }
            chars += passage.chars().count();
            if chars as f64 >= wanted {
                break;
            }
        }
        let own = &passages[..(passages.len() - used).min(pages)];
        let mut pages = Vec::new();
        let mut originals = Vec::new();
        for (number, passage) in own.iter().enumerate() {
            originals.push(pages.len());
            pages.push((passage.clone(), None));
            if number % 4 == 3 {
                let of = number - (number / 4) % 4;
                pages.push((altered(&own[of]), Some(originals[of])));
            }
        }
        Self { template, pages }
    }

    fn text(&self, page: usize) -> String {
        let (above, below) = self.template.split_at(self.template.len() / 2);
        format!("{}\n{}\n{}", above.join("\n"), self.pages[page].0.trim(), below.join("\n"))
    }
}

/// Replaces one word in 130 (or one character of a Chinese text), which keeps nine in ten of the shingles.
fn altered(passage: &str) -> String {
    let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    if passage.chars().filter(|&c| is_han(c)).count() > passage.chars().count() / 4 {
        let other = |(place, c)| if place % 130 == 65 && is_han(c) { '改' } else { c };
        return passage.chars().enumerate().map(other).collect();
    }
    let word = |(place, word)| if place % 130 == 65 { "altered" } else { word };
    passage.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Passages of this many characters from the texts of a language, without repeated lines.
fn passages(texts: &[Text], language: &str, length: usize) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut passages = Vec::new();
    for text in texts.iter().filter(|text| text.lang.as_deref() == Some(language)) {
        let mut passage = String::new();
        for line in text.text.lines().filter(|line| line.chars().count() > 20) {
            if seen.insert(xxh3_64(line.as_bytes())) {
                passage += line;
                passage.push('\n');
            }
            if passage.chars().count() >= length {
                passages.push(std::mem::take(&mut passage));
            }
        }
    }
    passages.sort_by_key(|passage| xxh3_64(passage.as_bytes()));
    passages
}

/// How many pages that repeat no other were dropped, of how many; and how many altered copies of kept pages, of how many.
#[derive(Clone, Copy, Default)]
struct Score([usize; 4]);

impl Score {
    fn count(&mut self, shop: &Shop, is_dropped: &[bool]) {
        for (page, (_, of)) in shop.pages.iter().enumerate() {
            let (slot, counts) = match of {
                None => (0, true),
                Some(of) => (2, !is_dropped[*of]),
            };
            self.0[slot] += usize::from(counts && is_dropped[page]);
            self.0[slot + 1] += usize::from(counts);
        }
    }

    fn cell(self) -> String {
        let [dropped, pages, found, copies] = self.0;
        format!("{:.3}, {:.3}", dropped as f64 / pages as f64, found as f64 / copies.max(1) as f64)
    }
}

fn filtered(shop: &Shop, seed: HashSeed, templates: bool) -> Vec<bool> {
    let seed = HashSeedChoice::Fixed(seed);
    let mut options = Options::default();
    (options.hash_seed, options.templates) = (seed, templates);
    let mut filter = Filter::new(&options).unwrap();
    let documents = filter.documents();
    let judge = |page| {
        let id = format!("http://shop.example.org/{page}");
        let document = documents.text_from("shop.example.org", &id, &shop.text(page));
        !filter.judge(&document).verdict.is_unique()
    };
    (0..shop.pages.len()).map(judge).collect()
}

/// Drops pages that the plain rule matches with an earlier page and that other 64-bit fingerprints put within nine bits of it.
fn confirmed(sketches: &[Sketch], others: &[Signature]) -> Vec<bool> {
    let mut kept: Vec<usize> = Vec::new();
    let mut is_dropped = Vec::new();
    for (page, sketch) in sketches.iter().enumerate() {
        let is_near = |a: &Signature, b: &Signature| a.fingerprint().distance(b.fingerprint()) <= 9;
        let near = kept.iter().any(|&earlier| {
            let earlier_sketch = &sketches[earlier].signature;
            is_near(earlier_sketch, &sketch.signature)
                && earlier_sketch.distance(&sketch.signature) <= 26
                && is_near(&others[earlier], &others[page])
        });
        if !near {
            kept.push(page);
        }
        is_dropped.push(near);
    }
    is_dropped
}

/// The sums of features, with a hash of their own.
fn sums<'a>(features: impl Iterator<Item = &'a Feature>) -> Sums<4> {
    let mut accumulator = Accumulator::new();
    for feature in features {
        let hash = |word| xxh3_64_with_seed(feature.text.as_bytes(), word);
        accumulator.add([1, 2, 3, 4].map(hash), feature.weight);
    }
    accumulator.finish()
}

/// The signatures of the sums after subtracting the mean sums of the first pages.
fn less_mean(features: &[Vec<Feature>], first: usize) -> Vec<Signature> {
    let sums: Vec<_> = features.iter().map(|features| sums(features.iter())).collect();
    let mean = |bit| sums[..first].iter().map(|sums| sums.sum(bit)).sum::<i64>();
    let means: Vec<_> = (0..256).map(mean).collect();
    let scale = i64::try_from(first).unwrap();
    let signs = |sums: &Sums<4>| {
        let mut signs = [0; 4];
        for bit in (0..256).filter(|&bit| sums.sum(bit) * scale > means[bit]) {
            signs[bit / 64] |= 1 << (bit % 64);
        }
        Signature(signs)
    };
    sums.iter().map(signs).collect()
}

/// The signatures of the features that occur in less than a quarter of the first pages.
fn less_frequent(features: &[Vec<Feature>], first: usize) -> Vec<Signature> {
    let mut holders: HashMap<&str, usize> = HashMap::new();
    for feature in features[..first].iter().flatten() {
        *holders.entry(&feature.text).or_default() += 1;
    }
    let is_rare =
        |feature: &&Feature| holders.get(feature.text.as_str()).is_none_or(|&n| 4 * n < first);
    let signs = |features: &Vec<Feature>| Signature(sums(features.iter().filter(is_rare)).signs());
    features.iter().map(signs).collect()
}

#[test]
#[ignore = "an experiment: cargo test --release --test it templates_by_experiment -- --ignored --nocapture"]
fn templates_by_experiment_where_pages_have_little_of_their_own() {
    let Some(texts) = main_texts() else { return };
    println!(
        "| characters | template | off | on | own part, 64 bits | less the mean sums, 64 bits | less frequent features, 64 bits |"
    );
    for (language, length) in [("en", 700), ("en", 2000), ("zh", 700)] {
        let passages = passages(&texts, language, length);
        for share in [0.3, 0.5, 0.7, 0.8, 0.9, 0.95] {
            let mut scores = [Score::default(); 5];
            for (place, seed) in hash_seeds(SEEDS).into_iter().enumerate() {
                let shop = Shop::new(&passages[29 * place..], length, share, 200);
                let fingerprinter =
                    Fingerprinter::new(Recipe { hash_seed: seed, ..Recipe::default() });
                let texts: Vec<_> = (0..shop.pages.len()).map(|page| shop.text(page)).collect();
                let sketch = |text: &String| fingerprinter.sketch(text);
                let sketches: Vec<_> = texts.iter().map(sketch).collect();
                let own: Vec<_> =
                    shop.pages.iter().map(|(own, _)| fingerprinter.signature(own)).collect();
                let features: Vec<_> =
                    texts.iter().map(|text| fingerprinter.features(text)).collect();
                let drops = [
                    filtered(&shop, seed, false),
                    filtered(&shop, seed, true),
                    confirmed(&sketches, &own),
                    confirmed(&sketches, &less_mean(&features, 32)),
                    confirmed(&sketches, &less_frequent(&features, 32)),
                ];
                for (score, drops) in scores.iter_mut().zip(&drops) {
                    score.count(&shop, drops);
                }
            }
            let cells = scores.map(Score::cell).join(" | ");
            println!("| {language}, {length} | {:.0} % | {cells} |", share * 100.0);
        }
    }
}

#[test]
fn different_pages_in_one_template_are_kept_and_copies_dropped() {
    let Some(texts) = main_texts() else { return };
    let passages = passages(&texts, "en", 700);
    let shop = Shop::new(&passages, 700, 0.85, 120);
    let [off, on] = [false, true].map(|templates| {
        let mut score = Score::default();
        score.count(&shop, &filtered(&shop, HashSeed::PUBLIC, templates));
        score.0
    });
    assert!(off[0] >= 10, "without templates different pages are dropped: {off:?}");
    assert!(on[0] <= 2, "with templates they are kept: {on:?}");
    assert!(on[2] + 2 >= on[3], "and copies are dropped all the same: {on:?}");
}
