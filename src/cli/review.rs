//! `pagesieve review`: a person says which near duplicates were rightly dropped; prints how precise the filter is.

use std::{
    cmp::Reverse,
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Exit, Failure, Out, Result};
use crate::{
    crawl::report,
    page::floored,
    report::{Cluster, Member, Piece, counted},
    sink::VerdictName,
};

/// The file of the answers in the run directory.
const ANSWERS: &str = "review.jsonl";
/// The quantile of the normal distribution for an interval with 95 % confidence.
const Z: f64 = 1.96;

/// Go through near duplicates, and learn how precise the filter is
///
/// Shows near duplicates with what differs from the page that is kept, the least similar first, and asks of each whether it repeats that page. The answers
/// are kept in review.jsonl in the run directory, and the next review goes on after them. At the end prints the share of right ones, and the
/// threshold by which most answers would have been met. Reviews the 100 least similar near duplicates of the report.
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
    /// Whether it does.
    right: bool,
}

pub(super) fn review(args: &Args, out: &mut Out) -> Result<Exit> {
    let (report, _) = report(&args.directory)?;
    let path = args.directory.join(ANSWERS);
    let mut answers = read(&path)?;
    let known: HashSet<_> = answers.iter().map(|it| (it.url.clone(), it.of.clone())).collect();
    let pairs = pairs(&report.clusters);
    let open: Vec<_> = pairs
        .iter()
        .filter(|(of, page)| !known.contains(&(page.url.clone(), of.url.clone())))
        .collect();
    if open.is_empty() && answers.is_empty() {
        let message = "there is no near duplicate whose text is known".to_owned();
        let help = "`store.text` keeps the texts; the report has all duplicates";
        return Err(Failure::refused(Exit::Failed, message, help));
    }
    let mut input = io::stdin().lock();
    for (at, (of, page)) in open.iter().enumerate() {
        show(out, of, page, (at + 1, open.len())).map_err(Failure::Output)?;
        let Some(right) = ask(&mut input, out)? else { break };
        let (url, of) = (page.url.clone(), of.url.clone());
        let answer = Answer { url, of, similarity: page.similarity, right };
        keep(&path, &answer).map_err(|error| {
            let message = format!("cannot write to {}: {error}", path.display());
            Failure::refused(Exit::Failed, message, "the answers before this one are kept")
        })?;
        answers.push(answer);
    }
    summarise(out, &answers, report.fingerprint.similarity).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

/// The near duplicates whose difference is known, the least similar first.
fn pairs(clusters: &[Cluster]) -> Vec<(&Cluster, &Member)> {
    let of_cluster = |cluster| cluster_members(cluster).map(move |member| (cluster, member));
    let mut pairs: Vec<_> = clusters.iter().flat_map(of_cluster).collect();
    pairs.sort_by(|a, b| a.1.similarity.total_cmp(&b.1.similarity));
    pairs
}

fn cluster_members(cluster: &Cluster) -> impl Iterator<Item = &Member> {
    let is_shown = |it: &&Member| it.verdict == VerdictName::Near && !it.difference.is_empty();
    cluster.members.iter().filter(is_shown)
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

fn keep(path: &Path, answer: &Answer) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    writeln!(file, "{}", serde_json::to_string(answer)?)
}

fn show(
    out: &mut impl Write,
    of: &Cluster,
    page: &Member,
    (at, all): (usize, usize),
) -> io::Result<()> {
    writeln!(out, "{at} of {all}, similarity {}", floored(page.similarity, 2))?;
    writeln!(out, "  kept     {}", of.url)?;
    writeln!(out, "  dropped  {}\n", page.url)?;
    for piece in &page.difference {
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

/// Asks whether a page repeats the other; `None` at the end.
fn ask(input: &mut impl BufRead, out: &mut Out) -> Result<Option<bool>> {
    loop {
        write!(out, "Does the dropped page repeat the kept one? [y]es, [n]o, [q]uit: ")
            .and_then(|()| out.flush())
            .map_err(Failure::Output)?;
        let mut line = String::new();
        if input.read_line(&mut line).map_err(Failure::read("standard input"))? == 0 {
            return Ok(None);
        }
        match line.trim() {
            "y" | "Y" | "yes" => return Ok(Some(true)),
            "n" | "N" | "no" => return Ok(Some(false)),
            "q" | "Q" | "quit" => return Ok(None),
            _ => {}
        }
    }
}

fn summarise(out: &mut impl Write, answers: &[Answer], now: Option<f64>) -> io::Result<()> {
    if answers.is_empty() {
        return writeln!(out, "\nno answer");
    }
    let right = answers.iter().filter(|answer| answer.right).count();
    let (low, high) = interval(right, answers.len());
    writeln!(
        out,
        "\nright: {right} of {}; {:.0} to {:.0} % of such pages, with 95 % confidence",
        counted(answers.len(), "near duplicate"),
        100.0 * low,
        100.0 * high,
    )?;
    let met = |threshold: f64| {
        let is_met = |it: &&Answer| (f64::from(it.similarity) >= threshold) == it.right;
        answers.iter().filter(is_met).count()
    };
    // Of equal ones the lowest.
    let best = (0..=100_u32).map(|it| f64::from(it) / 100.0).min_by_key(|&it| Reverse(met(it)));
    if let (Some(now), Some(best)) = (now, best.filter(|&best| now.map_or(0, met) < met(best))) {
        writeln!(
            out,
            "dedup.similarity = {best:.2} would have met {} of the answers, {} has met {}",
            met(best),
            floored(now, 2),
            met(now)
        )?;
    }
    Ok(())
}

/// The score interval of a share (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927).
fn interval(right: usize, all: usize) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "few answers")]
    let (right, all) = (right as f64, all as f64);
    if all < 1.0 {
        return (0.0, 1.0);
    }
    let (share, spread) = (right / all, Z * Z / all);
    let middle = share + spread / 2.0;
    let width = (spread * (share * (1.0 - share) + spread / 4.0)).sqrt();
    ((middle - width) / (1.0 + spread), (middle + width) / (1.0 + spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_wilson() {
        let (low, high) = interval(8, 10);
        assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001, "{low} {high}");
        assert!(interval(10, 10).1 > 0.999 && interval(0, 0) == (0.0, 1.0));
    }

    #[test]
    fn the_threshold_that_meets_most_answers_is_suggested() {
        let answer = |similarity, right| Answer {
            url: "b".to_owned(),
            of: "a".to_owned(),
            similarity,
            right,
        };
        let answers = [answer(0.7, false), answer(0.75, false), answer(0.8, true)];
        let mut out = Vec::new();
        summarise(&mut out, &answers, Some(0.68)).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("right: 1 of 3 near duplicates;"), "{out}");
        let expected = "dedup.similarity = 0.76 would have met 3 of the answers, 0.68 has met 1";
        assert!(out.contains(expected), "{out}");
    }

    #[test]
    fn an_answer_that_was_cut_off_is_asked_for_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(ANSWERS);
        let (of, url) = ("a".to_owned(), "b".to_owned());
        let answer = Answer { url, of, similarity: 0.7, right: true };
        keep(&path, &answer).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..9])).unwrap();
        let is_whole = || read(&path).is_ok_and(|it| it == [answer.clone()]);
        assert!(is_whole() && is_whole());
        keep(&path, &answer).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
    }
}
