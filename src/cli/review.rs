//! `pagesieve review`: a person says which near duplicates were rightly dropped; estimates how precise the filter is.
//!
//! A stratified sample (W. G. Cochran, "Sampling Techniques", 1977, chapter 5): near duplicates are divided by their similarity, and of each range as many are
//! asked about, in a random order, as the square root of its size. So the few doubtful ones are asked about more often than others, and each range counts by
//! its size.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, OpenOptions},
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{Exit, Failure, Out, Result};
use crate::{
    crawl::{NearDuplicate, PastRun},
    page::{floored, nearness},
    report::{Piece, counted},
    sink::replace,
};

/// The file of the answers in the run directory.
const ANSWERS: &str = "review.jsonl";
/// The quantile of the normal distribution for an interval with 95 % confidence.
const Z: f64 = 1.96;
/// Ranges of similarity.
const STRATA: usize = 5;
/// How a difference is written.
const NOTATION: &str = "Only the kept page has [-this-], only the dropped one has {+this+}; … is a part that is left out.";
/// Questions of a round, about, and of a review.
const ROUND: f64 = 10.0;
const QUESTIONS: usize = 100;

/// Go through near duplicates, and learn how precise the filter is
///
/// Shows near duplicates with what differs from the page that is kept, and asks of each whether it repeats that page. They are a random sample of each of
/// five ranges of similarity, in rounds that begin with the least similar. Doubtful ones are asked about more often than their share; the estimate of the
/// precision makes up for that, so that it is that of the filter in this run. Those of which you are unsure count neither as right nor as wrong. It can be
/// ended at any time: the answers are kept in review.jsonl in the run directory, and the next review goes on after them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve review runs/docs")]
pub(super) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    directory: PathBuf,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    url: String,
    /// The page that it repeats.
    of: String,
    similarity: f32,
    /// Whether it does; `None` if the person could not say.
    right: Option<bool>,
}

/// A near duplicate of the sample.
#[derive(Clone, Debug)]
struct Pair {
    url: String,
    of: String,
    similarity: f32,
    /// In what it differs; empty if a text is not known, so that nobody can be asked.
    difference: Vec<Piece>,
}

/// Near duplicates of a range of similarity.
#[derive(Debug)]
struct Stratum {
    /// How many there are.
    size: usize,
    /// The first of them in their random order, which does not change.
    sample: Vec<Pair>,
}

/// The answers about the sample of a stratum: how many say whether a page repeats the other, and how many do not.
#[derive(Clone, Copy, Debug, Default)]
struct Answered {
    size: usize,
    decided: usize,
    right: usize,
    unsure: usize,
}

impl Answered {
    fn asked(&self) -> usize {
        self.decided + self.unsure
    }

    /// How many of the stratum a person could decide, by the sample.
    fn decidable(&self) -> f64 {
        number(self.size) * number(self.decided) / number(self.asked()).max(1.0)
    }
}

pub(super) fn review(args: &Args, out: &mut Out) -> Result<Exit> {
    let run = PastRun::open(&args.directory)?;
    let options = run.options()?.filter();
    let threshold = options.compares_content().then_some(options.rule.similarity);
    let path = args.directory.join(ANSWERS);
    let mut answers = read(&path)?;
    let (strata, open) = sample(&run, &args.directory, threshold, &answers)?;
    if open.is_empty() && answers.is_empty() {
        let message = "there is no near duplicate whose text is known".to_owned();
        let help = "`store.text` keeps the texts; the report has all duplicates";
        return Err(Failure::refused(Exit::Failed, message, help));
    }
    // The answer before the first one may be taken back, too.
    let is_last =
        |pair: &&Pair| answers.last().is_some_and(|it| (&it.url, &it.of) == (&pair.url, &pair.of));
    let before = strata.iter().flat_map(|it| &it.sample).find(is_last).cloned();
    let begin = usize::from(before.is_some());
    let pairs: Vec<Pair> = before.into_iter().chain(open).collect();
    let (mut input, mut at) = (io::stdin().lock(), begin);
    if at < pairs.len() {
        writeln!(out, "{NOTATION}\n").map_err(Failure::Output)?;
    }
    while at < pairs.len() || at > begin {
        let pair = pairs.get(at);
        if let Some(pair) = pair {
            show(out, pair, (at + 1, pairs.len())).map_err(Failure::Output)?;
        }
        match (ask(&mut input, out, pair)?, pair) {
            (Asked::End, _) => break,
            (Asked::Undo, _) if at > 0 => {
                at -= 1;
                answers.pop();
                take_back(&path, &answers)?;
            }
            (Asked::Answered(right), Some(pair)) => {
                let Pair { url, of, similarity, .. } = pair.clone();
                answers.push(Answer { url, of, similarity, right });
                keep(&path, &answers[answers.len() - 1..]).map_err(|error| {
                    let message = format!("cannot write to {}: {error}", path.display());
                    Failure::refused(Exit::Failed, message, "the answers before this one are kept")
                })?;
                at += 1;
            }
            (Asked::Undo | Asked::Answered(_), _) => {}
        }
    }
    summarise(out, &strata, &answers, threshold).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

/// The strata with the sample so far and what is asked next, and of that what is to be asked, in its order.
fn sample(
    run: &PastRun,
    directory: &Path,
    threshold: Option<f64>,
    answers: &[Answer],
) -> Result<(Vec<Stratum>, Vec<Pair>)> {
    let known: HashSet<_> = answers.iter().map(|it| (&*it.url, &*it.of)).collect();
    let strata = stratify(run.near_duplicates()?, threshold);
    let mut found: Vec<Stratum> =
        strata.iter().map(|all| Stratum { size: all.len(), sample: Vec::new() }).collect();
    let quotas = quotas(&found);
    let mut asked = Vec::new();
    while asked.len() < QUESTIONS && found.iter().any(|it| it.sample.len() < it.size) {
        for (at, (all, of)) in strata.iter().zip(&mut found).enumerate() {
            let begin = of.sample.len();
            for page in all.iter().skip(begin).take(quotas[at]) {
                let (url, of_page) = (run.name_of(page.id)?, run.name_of(page.of)?);
                if !known.contains(&(&*url, &*of_page)) {
                    asked.push((at, of.sample.len()));
                }
                let similarity = page.similarity;
                of.sample.push(Pair { url, of: of_page, similarity, difference: Vec::new() });
            }
        }
    }
    let pairs = found.iter().flat_map(|it| &it.sample);
    let pairs: Vec<_> = pairs.map(|pair| (&*pair.of, &*pair.url)).collect();
    let texts = run.texts(directory, &pairs)?.map_err(Failure::read(directory))?;
    for pair in found.iter_mut().flat_map(|it| &mut it.sample) {
        pair.difference = texts.between(&pair.of, &pair.url).unwrap_or_default();
    }
    let pairs = asked.into_iter().map(|(stratum, at)| found[stratum].sample[at].clone());
    let open = pairs.filter(|pair| !pair.difference.is_empty()).collect();
    Ok((found, open))
}

/// Divides near duplicates by their similarity, the least similar first, each in a random order that is the same the next time.
fn stratify(all: Vec<NearDuplicate>, threshold: Option<f64>) -> Vec<Vec<NearDuplicate>> {
    let least = all.iter().map(|it| it.similarity).fold(1.0, f32::min);
    #[expect(clippy::cast_possible_truncation, reason = "a similarity is a small number")]
    let from = threshold.map_or(least, |threshold| threshold as f32).min(least);
    let mut strata = vec![Vec::new(); STRATA];
    for page in all {
        let share = (page.similarity - from) / (1.0 - from).max(f32::EPSILON);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a cast from float saturates"
        )]
        let at = (share * STRATA as f32) as usize;
        strata[at.min(STRATA - 1)].push(page);
    }
    for stratum in &mut strata {
        stratum.sort_by_cached_key(|page| (xxh3_64(&page.id.0.to_le_bytes()), page.id));
    }
    strata.retain(|stratum| !stratum.is_empty());
    strata
}

/// How many of each stratum are asked about in a round.
fn quotas(strata: &[Stratum]) -> Vec<usize> {
    let root = |it: &Stratum| number(it.size).sqrt();
    let all: f64 = strata.iter().map(root).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a round")]
    let quota = |it: &Stratum| ((ROUND * root(it) / all).round() as usize).max(1);
    strata.iter().map(quota).collect()
}

fn read(path: &Path) -> Result<Vec<Answer>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(Failure::read(path))?,
    };
    // What was asked last is asked again if its answer was cut off.
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        let cut = OpenOptions::new().write(true).open(path);
        cut.and_then(|file| file.set_len(whole as u64)).map_err(Failure::read(path))?;
    }
    let answers = text[..whole].lines().map(serde_json::from_str).collect::<Result<_, _>>();
    answers.map_err(|error: serde_json::Error| Failure::read(path)(error.into()))
}

/// Writes these answers after those that are kept.
fn keep(path: &Path, answers: &[Answer]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    answers.iter().try_for_each(|answer| file.write_all(line(answer).as_bytes()))
}

fn line(answer: &Answer) -> String {
    serde_json::to_string(answer).expect("an answer can be written as JSON") + "\n"
}

/// Takes back the last answer: leaves only these.
fn take_back(path: &Path, answers: &[Answer]) -> Result<()> {
    let text: String = answers.iter().map(line).collect();
    let replaced = replace(path, text.as_bytes());
    replaced.map_err(|error| {
        let message = format!("cannot take back the answer: {error}");
        Failure::refused(Exit::Failed, message, "all answers are kept")
    })
}

fn show(out: &mut impl Write, pair: &Pair, (at, all): (usize, usize)) -> io::Result<()> {
    writeln!(out, "{at} of {all}, similarity {}", nearness(pair.similarity))?;
    writeln!(out, "  kept     {}", pair.of)?;
    writeln!(out, "  dropped  {}\n", pair.url)?;
    for piece in &pair.difference {
        match piece {
            Piece::Both(text) => write!(out, "{}", printable(text))?,
            Piece::Kept(text) => write!(out, "[-{}-]", printable(text))?,
            Piece::Repeat(text) => write!(out, "{{+{}+}}", printable(text))?,
            Piece::Omitted(_) => write!(out, " … ")?,
        }
    }
    writeln!(out, "\n")
}

/// A text without the characters by which it could control a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// What was answered.
enum Asked {
    /// Whether it is right, unless the person is unsure.
    Answered(Option<bool>),
    /// The answer before is to be given again.
    Undo,
    End,
}

/// Asks whether a page repeats the other; after the last one, whether its answer holds.
fn ask(input: &mut impl BufRead, out: &mut Out, pair: Option<&Pair>) -> Result<Asked> {
    let question = match pair {
        // Above them may be a long text.
        Some(Pair { url, of, .. }) => format!(
            "Does    {url}\nrepeat  {of} ?\n[y]es, [n]o, [u]nsure, [b]ack to the one before, [q]uit: "
        ),
        None => "That was the last one. [b]ack to it, [q]uit: ".to_owned(),
    };
    loop {
        write!(out, "{question}").and_then(|()| out.flush()).map_err(Failure::Output)?;
        let mut line = String::new();
        if input.read_line(&mut line).map_err(Failure::read("standard input"))? == 0 {
            return Ok(Asked::End);
        }
        match line.trim() {
            "y" | "Y" | "yes" => return Ok(Asked::Answered(Some(true))),
            "n" | "N" | "no" => return Ok(Asked::Answered(Some(false))),
            "u" | "U" | "unsure" => return Ok(Asked::Answered(None)),
            "b" | "B" | "back" | "undo" => return Ok(Asked::Undo),
            "q" | "Q" | "quit" => return Ok(Asked::End),
            _ => {}
        }
    }
}

/// The answers that count, and those of them that decide, each with its weight, by stratum: those before the first of its sample to which there is none.
/// Later ones may be of a sample that was not random.
fn count(strata: &[Stratum], answers: &[Answer]) -> (Vec<Answered>, Vec<(Answer, f64)>) {
    let known: HashMap<_, _> = answers.iter().map(|it| ((&*it.url, &*it.of), it)).collect();
    let (mut counts, mut weighted) = (Vec::new(), Vec::new());
    for Stratum { size, sample } in strata {
        let answer = |pair: &Pair| known.get(&(&*pair.url, &*pair.of)).copied();
        let can_be_asked = sample.iter().filter(|pair| !pair.difference.is_empty());
        let found: Vec<&Answer> = can_be_asked.map_while(answer).collect();
        let of = |right| found.iter().filter(|it| it.right == right).count();
        let (right, wrong, unsure) = (of(Some(true)), of(Some(false)), of(None));
        counts.push(Answered { size: *size, decided: right + wrong, right, unsure });
        let weight = number(*size) / number(found.len().max(1));
        let decided = found.into_iter().filter(|it| it.right.is_some());
        weighted.extend(decided.map(|it| (it.clone(), weight)));
    }
    (counts, weighted)
}

fn summarise(
    out: &mut impl Write,
    strata: &[Stratum],
    answers: &[Answer],
    now: Option<f64>,
) -> io::Result<()> {
    let (counts, weighted) = count(strata, answers);
    let sum = |of: fn(&Answered) -> usize| counts.iter().map(of).sum::<usize>();
    let (size, decided, right) = (sum(|it| it.size), sum(|it| it.decided), sum(|it| it.right));
    let unsure = sum(|it| it.unsure);
    if decided + unsure == 0 {
        return writeln!(out, "\nno answer");
    }
    writeln!(out, "\nright: {right} of {} asked about", counted(decided, "near duplicate"))?;
    if unsure > 0 {
        writeln!(out, "unsure: {unsure} more, counted neither as right nor as wrong")?;
    }
    if answers.len() > decided + unsure {
        let others = counted(answers.len() - decided - unsure, "answer");
        writeln!(out, "{others} not counted: not of this sample, or after one that was left out")?;
    }
    let Some([precision, low, high]) = precision(&counts) else {
        let open = counts.iter().filter(|it| it.asked() == 0).count();
        let all = counts.len();
        if open == 0 {
            return writeln!(out, "no estimate of the precision: every answer is unsure");
        }
        return writeln!(
            out,
            "no estimate of the precision: {open} of {all} ranges of similarity have no answer yet"
        );
    };
    writeln!(
        out,
        "precision: {precision:.1} %, {low:.1} to {high:.1} % with 95 % confidence, of the {} of this run;\n  \
         estimated from a random sample of {} of similarity, each weighted by its size",
        counted(size, "near duplicate"),
        counted(counts.len(), "range"),
    )?;
    let met = |threshold: f64| -> f64 {
        let is_met = |it: &Answer| Some(f64::from(it.similarity) >= threshold) == it.right;
        let met: f64 = weighted.iter().filter(|(it, _)| is_met(it)).map(|(_, weight)| weight).sum();
        100.0 * met / counts.iter().map(Answered::decidable).sum::<f64>()
    };
    // Of equal ones the lowest.
    let best = (0..=100_u32).map(|it| f64::from(it) / 100.0);
    let best = best.map(|it| (it, met(it))).reduce(|a, b| if b.1 > a.1 + 1e-9 { b } else { a });
    if let (Some(now), Some((best, most))) = (now, best)
        && met(now) + 1e-9 < most
    {
        writeln!(
            out,
            "dedup.similarity = {best:.2} would decide {most:.1} % of them as answered, {} decides {:.1} %",
            floored(now, 2),
            met(now)
        )?;
    }
    Ok(())
}

/// The share of right ones in all strata together, among those that a person can decide (a domain of study), and the limits of its interval with
/// 95 % confidence, in per cent; `None` while a stratum has no answer, or if nothing is decided. How many can be decided is taken as known.
///
/// The limits are those of the strata, weighted, by the method of variance estimates recovery (G. Y. Zou and A. Donner, "Construction of confidence limits
/// about effect measures", 2008).
fn precision(strata: &[Answered]) -> Option<[f64; 3]> {
    let all: f64 = strata.iter().map(Answered::decidable).sum();
    if all <= 0.0 || strata.iter().any(|it| it.asked() == 0) {
        return None;
    }
    let (mut share, mut below, mut above) = (0.0, 0.0, 0.0);
    for stratum in strata.iter().filter(|it| it.decided > 0) {
        let weight = stratum.decidable() / all;
        let right = number(stratum.right) / number(stratum.decided);
        let (low, high) = interval(stratum);
        share += weight * right;
        below += (weight * (right - low)).powi(2);
        above += (weight * (high - right)).powi(2);
    }
    Some([share, share - below.sqrt(), share + above.sqrt()].map(|it| 100.0 * it.clamp(0.0, 1.0)))
}

/// The score interval of a share (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927). Of the part of a stratum that was
/// asked about everything is known, so that it counts as more answers.
fn interval(stratum: &Answered) -> (f64, f64) {
    let (Answered { size, decided, right, .. }, asked) = (*stratum, stratum.asked());
    let share = number(right) / number(decided).max(1.0);
    if asked >= size {
        return (share, share);
    }
    let answers = number(decided) * number(size - 1) / number(size - asked);
    if answers <= 0.0 {
        return (0.0, 1.0);
    }
    let spread = Z * Z / answers;
    let middle = share + spread / 2.0;
    let width = (spread * (share * (1.0 - share) + spread / 4.0)).sqrt();
    ((middle - width) / (1.0 + spread), (middle + width) / (1.0 + spread))
}

#[expect(clippy::cast_precision_loss, reason = "a count of pages")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(size: usize, decided: usize, right: usize) -> Answered {
        Answered { size, decided, right, unsure: 0 }
    }

    #[test]
    fn the_interval_of_a_small_part_is_that_of_wilson() {
        let (low, high) = interval(&answered(1_000_000, 10, 8));
        assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001, "{low} {high}");
        assert!(interval(&answered(1_000_000, 10, 10)).1 > 0.999);
        assert_eq!(interval(&answered(10, 0, 0)), (0.0, 1.0));
        assert_eq!(interval(&answered(10, 10, 8)), (0.8, 0.8), "all were asked about");
    }

    #[test]
    fn each_range_counts_by_its_size() {
        let [share, low, high] = precision(&[answered(10, 5, 0), answered(990, 20, 20)]).unwrap();
        assert!((share - 99.0).abs() < 1e-9 && low > 80.0 && high > share, "{share} {low} {high}");
        assert!(precision(&[answered(10, 0, 0), answered(990, 20, 20)]).is_none());
    }

    fn pair(number: usize, similarity: f32) -> Pair {
        let difference = vec![Piece::Kept("x".to_owned())];
        Pair { url: number.to_string(), of: "a".to_owned(), similarity, difference }
    }

    fn answer(pair: &Pair, right: bool) -> Answer {
        let Pair { url, of, similarity, .. } = pair.clone();
        Answer { url, of, similarity, right: Some(right) }
    }

    #[test]
    fn what_nobody_can_decide_counts_neither_as_right_nor_as_wrong() {
        let unsure = |size, decided, right, unsure| Answered { size, decided, right, unsure };
        let [share, low, high] = precision(&[unsure(100, 5, 5, 15), answered(25, 20, 0)]).unwrap();
        // A quarter of the hundred can be decided.
        assert!((share - 50.0).abs() < 1e-9 && low < 50.0 && high > 50.0, "{share} {low} {high}");
        let share = precision(&[unsure(10, 0, 0, 3), answered(10, 10, 8)]).unwrap();
        assert!(share.iter().all(|it| (it - 80.0).abs() < 1e-9), "{share:?}");
        assert!(precision(&[unsure(10, 0, 0, 3)]).is_none());
        assert!(precision(&[unsure(10, 0, 0, 0), answered(10, 10, 8)]).is_none());

        let sample: Vec<_> = (0..4_u8).map(|it| pair(it.into(), 0.8)).collect();
        let mut answers: Vec<_> = sample.iter().map(|it| answer(it, true)).collect();
        answers[1].right = None;
        let strata = [Stratum { size: 8, sample }];
        let (counts, weighted) = count(&strata, &answers);
        assert_eq!((counts[0].decided, counts[0].right, counts[0].unsure), (3, 3, 1));
        assert!(weighted.len() == 3 && (weighted[0].1 - 2.0).abs() < 1e-9, "{weighted:?}");
        let mut out = Vec::new();
        summarise(&mut out, &strata, &answers, Some(0.5)).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.contains("right: 3 of 3 near duplicates asked about\nunsure: 1 more,"),
            "{out}"
        );
        let kept: Answer = serde_json::from_str(line(&answers[1]).trim()).unwrap();
        assert_eq!(kept, answers[1]);
    }

    /// Pseudo-random numbers below one (splitmix64).
    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut at = seed;
        move || {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (at ^ at >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            f64::from(u32::try_from((mixed ^ mixed >> 31) >> 32).unwrap()) / f64::from(u32::MAX)
        }
    }

    #[test]
    fn the_estimate_is_that_of_all_however_many_are_doubtful() {
        // Most are hardly doubtful, and of the doubtful most are wrong: the plain share of right answers is far too low.
        let sizes = [40, 60, 100, 800, 4_000];
        let truth = [0.2, 0.5, 0.8, 0.95, 0.99];
        let rights: Vec<Vec<bool>> = sizes
            .iter()
            .zip(truth)
            .map(|(&size, share)| (0..size).map(|it| number(it) < share * number(size)).collect())
            .collect();
        let all: usize = rights.iter().flatten().filter(|it| **it).count();
        let exact = 100.0 * number(all) / 5_000.0;
        let (mut sum, mut covered, mut plain) = (0.0, 0, 0.0);
        let runs = 400_u32;
        for run in 0..runs {
            let mut random = random(run.into());
            let strata: Vec<Stratum> =
                sizes.iter().map(|&size| Stratum { size, sample: Vec::new() }).collect();
            let asked = quotas(&strata).into_iter().map(|quota| 9 * quota);
            let counts: Vec<Answered> = rights
                .iter()
                .zip(asked)
                .map(|(rights, asked)| {
                    let mut order: Vec<_> = rights.iter().map(|it| (random(), *it)).collect();
                    order.sort_by(|a, b| a.0.total_cmp(&b.0));
                    let asked = asked.min(order.len());
                    let right = order[..asked].iter().filter(|it| it.1).count();
                    answered(rights.len(), asked, right)
                })
                .collect();
            let [share, low, high] = precision(&counts).unwrap();
            sum += share;
            covered += u32::from((low..=high).contains(&exact));
            let sum_of = |of: fn(&Answered) -> usize| number(counts.iter().map(of).sum());
            plain += 100.0 * sum_of(|it| it.right) / sum_of(|it| it.decided);
        }
        let (mean, plain) = (sum / f64::from(runs), plain / f64::from(runs));
        assert!((mean - exact).abs() < 0.3, "{mean} of {exact}");
        assert!(plain < exact - 5.0, "{plain}");
        assert!(covered > runs * 9 / 10, "{covered} of {runs} intervals");
    }

    #[test]
    fn answers_after_one_that_is_missing_do_not_count() {
        let sample: Vec<Pair> = (0..4).map(|it| pair(it, 0.9)).collect();
        let mut answers: Vec<Answer> = sample.iter().map(|it| answer(it, true)).collect();
        answers.remove(2);
        let strata = [Stratum { size: 9, sample }];
        let (counts, weighted) = count(&strata, &answers);
        assert_eq!((counts[0].decided, weighted.len()), (2, 2));
        assert!((weighted[0].1 - 4.5).abs() < 1e-9);
    }

    #[test]
    fn the_threshold_that_meets_most_answers_is_suggested() {
        let sample = [0.7, 0.75, 0.8].iter().enumerate().map(|(at, it)| pair(at, *it));
        let strata = [Stratum { size: 3, sample: sample.collect() }];
        let answers: Vec<_> =
            strata[0].sample.iter().map(|it| answer(it, it.similarity > 0.79)).collect();
        let mut out = Vec::new();
        summarise(&mut out, &strata, &answers, Some(0.68)).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("right: 1 of 3 near duplicates asked about"), "{out}");
        assert!(out.contains("precision: 33.3 %, 33.3 to 33.3 %"), "{out}");
        let expected =
            "dedup.similarity = 0.76 would decide 100.0 % of them as answered, 0.68 decides 33.3 %";
        assert!(out.contains(expected), "{out}");
    }

    #[test]
    fn an_answer_that_was_cut_off_is_asked_for_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(ANSWERS);
        let answer = answer(&pair(1, 0.7), true);
        keep(&path, std::slice::from_ref(&answer)).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..9])).unwrap();
        let is_whole = || read(&path).is_ok_and(|it| it == [answer.clone()]);
        assert!(is_whole() && is_whole());
        keep(&path, std::slice::from_ref(&answer)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        take_back(&path, &[]).unwrap();
        assert_eq!(read(&path).unwrap(), []);
    }
}
