//! Files of a run that are full, damaged, repaired or copied.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
    thread,
    time::Duration,
};

use bytesize::ByteSize;
use flate2::read::{GzDecoder, MultiGzDecoder};
use pagesieve::{
    crawl::{self, CrawlError, backup, repair, verify},
    sink::{open_part, parts},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use super::site::{Site, lines, page};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Request},
};

/// A site of this many pages, of which every third repeats another.
fn site(pages: usize) -> Site {
    let reply = move |request: &Request, _| {
        let number = request.path.trim_start_matches('/').parse().unwrap_or(0);
        let links: Vec<_> = (1..=2).map(|step| format!("/{}", 2 * number + step)).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        match number % 3 {
            _ if number >= pages => Reply::new(404, "not here"),
            2 => page(&(number - 1).to_string(), &links),
            _ => page(&number.to_string(), &links),
        }
    };
    Site::answering(reply, &["a.test/"]).planned(|plan| {
        plan.crawl.concurrency = 1.try_into().unwrap();
        plan.store.warc = true;
    })
}

/// The text of all files of this name.
fn whole(run: &Path, name: &str) -> String {
    let mut text = String::new();
    for path in parts(run, name).unwrap() {
        open_part(&path).unwrap().read_to_string(&mut text).unwrap();
    }
    text
}

/// The files that are verified, with their content.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = ["state.sqlite", "state.sqlite-wal", "pages.jsonl", "duplicates.jsonl"];
    let names = names.map(str::to_owned).into_iter().chain(["warc/test-00000.warc.gz".to_owned()]);
    names.filter_map(|name| Some((name.clone(), fs::read(run.join(name)).ok()?))).collect()
}

fn copy(files: &BTreeMap<String, Vec<u8>>) -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("warc")).unwrap();
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

fn assert_sound(run: &Path) {
    let found = verify(run).unwrap();
    assert_eq!((found.damage, found.notes), (vec![], vec![]));
}

#[test]
fn full_files_are_renamed_or_compressed_and_still_read() {
    let small = site(60).planned(|plan| plan.store.rotate = ByteSize::kib(8));
    let packed = site(60).planned(|plan| {
        plan.store.rotate = ByteSize::kib(8);
        plan.store.compress = true;
    });
    let one = site(60);
    for site in [&one, &small, &packed] {
        crate::crawl::site::run(site.plan.clone());
        assert_sound(site.path());
    }
    let urls = |text: String| {
        text.lines().map(|line| line.split("\",").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (site, ending) in [(&small, "jsonl"), (&packed, "jsonl.zst")] {
        for name in ["pages.jsonl", "duplicates.jsonl"] {
            assert_eq!(urls(whole(site.path(), name)), urls(whole(one.path(), name)), "{name}");
        }
        let first = site.path().join(format!("pages-00001.{ending}"));
        assert!(first.exists() && site.path().join("warc/test-00001.warc.gz").exists());
        // The next start goes on with the files, and leaves nothing behind.
        crate::crawl::site::run(site.plan.clone());
        assert_sound(site.path());
        assert!(ending == "jsonl" || !site.path().join("pages-00001.jsonl").exists());
        let mut explain = pagesieve();
        explain.current_dir(site.path()).args(["explain", "http://a.test/", "http://a.test/1"]);
        let explained = stdout(&explain.args(["--run", "."]).assert().success());
        assert!(!explained.contains("neither its text"), "{explained}");
        crawl::delete_run(site.path()).unwrap();
        assert_eq!(fs::read_dir(site.path()).unwrap().count(), 0);
    }
}

#[test]
fn copies_made_while_a_crawl_writes_fit_together() {
    for compress in [false, true] {
        let reply = |request: &Request, _| {
            let number: u32 = request.path.trim_start_matches('/').parse().unwrap_or(0);
            let next = format!("/{}", number + 1);
            let links = [next.as_str()];
            let links = if number < 150 { &links[..] } else { &[] };
            page(&request.path, links).after(Duration::from_millis(8))
        };
        let site = Site::answering(reply, &["a.test/"]).planned(|plan| {
            (plan.store.rotate, plan.store.compress) = (ByteSize::kib(6), compress);
        });
        let plan = site.plan.clone();
        let crawl = thread::spawn(|| crate::crawl::site::run(plan));
        let copies = TempDir::new().unwrap();
        let mut sizes = Vec::new();
        while !crawl.is_finished() {
            if !crawl::is_run(site.path()) {
                continue;
            }
            let copy = copies.path().join(sizes.len().to_string());
            match backup(site.path(), &copy) {
                Ok(_) => {
                    assert_sound(&copy);
                    sizes.push(lines(&copy, "pages.jsonl").len());
                }
                // The crawl has just created it.
                Err(error) => assert!(sizes.is_empty(), "{error}"),
            }
        }
        crawl.join().unwrap();
        assert!(sizes.is_sorted() && sizes.len() > 3, "{sizes:?}");
        assert!(sizes.iter().any(|lines| (1..150).contains(lines)), "{sizes:?}");
    }
}

#[test]
fn a_backup_is_a_run_of_its_own() {
    let site = site(40);
    site.run();
    let directory = TempDir::new().unwrap();
    let copy = directory.path().join("copy");
    backup(site.path(), &copy).unwrap();
    assert_sound(&copy);
    assert_eq!(whole(&copy, "pages.jsonl"), whole(site.path(), "pages.jsonl"));
    assert!(matches!(backup(site.path(), &copy), Err(CrawlError::Occupied(_))));
    let mut plan = site.plan.clone();
    plan.directory = copy;
    let requests = site.server.requests().len();
    crate::crawl::site::run(plan);
    assert_eq!(site.server.requests().len(), requests, "nothing is left to be fetched");
}

#[test]
fn files_that_are_missing_are_damage_unless_they_are_full() {
    let (one, many) = (site(10), site(60).planned(|plan| plan.store.rotate = ByteSize::kib(8)));
    one.run();
    many.run();
    let files = fs::read_dir(many.path().join("warc")).unwrap();
    let last = files.map(|file| file.unwrap().file_name().into_string().unwrap()).max().unwrap();
    for (site, name, is_damage) in [
        (&one, "pages.jsonl", true),
        (&many, "pages-00001.jsonl", false),
        (&one, "warc/test-00000.warc.gz", true),
        (&many, "warc/test-00000.warc.gz", false),
        (&many, &format!("warc/{last}"), true),
    ] {
        let (path, aside) = (site.path().join(name), site.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        let found = verify(site.path()).unwrap();
        assert_eq!(found.damage.iter().any(|damage| damage.file == name), is_damage, "{found:?}");
        let pages = pagesieve().arg("pages").arg(site.path()).assert();
        pages.code(i32::from(is_damage && name.starts_with("pages")));
        assert_eq!(found.notes.iter().any(|note| note.contains(name)), !is_damage, "{found:?}");
        fs::rename(aside, path).unwrap();
        assert_sound(site.path());
    }
    fs::remove_file(one.path().join("pages.jsonl")).unwrap();
    let said = repair(one.path()).unwrap().to_string();
    assert!(said.contains("cut       pages.jsonl: ") && said.contains("queued "), "{said}");
    assert!(crawl::standing(one.path()).unwrap().counts.queued > 0, "it is not finished");
}

#[test]
fn pages_are_not_printed_from_a_file_that_was_cut_off() {
    let (one, many) = (site(10), site(60).planned(|plan| plan.store.rotate = ByteSize::kib(8)));
    one.run();
    many.run();
    not_printed_if_cut_off(&one, "pages.jsonl");
    not_printed_if_cut_off(&many, "pages-00001.jsonl");
}

fn not_printed_if_cut_off(site: &Site, file: &str) {
    let path = site.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    let rest = &text[..=text.find('\n').unwrap()];
    fs::write(&path, rest).unwrap();
    let refused = pagesieve().arg("pages").arg(site.path()).assert().code(1);
    assert!(stderr(&refused).contains(file), "{}", stderr(&refused));
    fs::write(&path, text).unwrap();
    pagesieve().arg("pages").arg(site.path()).assert().success();
}

#[test]
fn a_damaged_compressed_file_hides_no_other_damage() {
    let site = site(60).planned(|plan| {
        (plan.store.rotate, plan.store.compress) = (ByteSize::kib(8), true);
    });
    site.run();
    for name in ["pages-00001.jsonl.zst", "warc/test-00000.warc.gz"] {
        write_at(&site.path().join(name), 20, &[0; 200]);
    }
    let found = verify(site.path()).unwrap();
    assert_eq!(found.damage.len(), 2, "{found:?}");
}

#[test]
fn the_state_of_a_filter_is_copied_too() {
    let directory = TempDir::new().unwrap();
    let (state, copy) = (directory.path().join("seen.db"), directory.path().join("copy"));
    let mut filter = pagesieve();
    filter.args(["filter", "--state"]).arg(&state).write_stdin("{\"id\":\"a\",\"text\":\"b\"}\n");
    filter.assert().success();
    backup(&state, &copy).unwrap();
    assert_sound(&copy.join("state.sqlite"));
}

#[test]
fn an_empty_or_foreign_state_of_a_run_is_damage_and_stays() {
    let site = site(10);
    site.run();
    let path = site.path().join("state.sqlite");
    let mut zeroed = fs::read(&path).unwrap();
    zeroed[..4096].fill(0);
    for content in [vec![], zeroed] {
        fs::write(&path, &content).unwrap();
        assert_eq!(verify(site.path()).unwrap().damage[0].file, "state.sqlite");
        let done = repair(site.path()).unwrap();
        assert!(done.kept.is_empty() && done.to_string().contains("backup"), "{done}");
        assert!(fs::read(&path).unwrap() == content, "it stays as it is");
        assert!(backup(site.path(), &site.path().with_extension("copy")).is_err());
    }
    let error = site.try_run().unwrap_err().to_string();
    assert!(error.contains("backup"), "{error}");
    // A file that never was a state is none that is damaged.
    let mut filter = pagesieve();
    filter.args(["filter", "--state"]).arg(site.path().join("pages.jsonl")).write_stdin("{}");
    let output = filter.assert().code(2).get_output().stderr.clone();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("is not a state") && !output.contains("damaged"), "{output}");
}

/// A site of this many pages, all linked from the first one; every third repeats another.
fn flat_site(pages: usize) -> Site {
    let reply = move |request: &Request, _| {
        let number = request.path.trim_start_matches('/').parse().unwrap_or(0);
        let links: Vec<_> = (1..pages).map(|number| format!("/{number}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        match number % 3 {
            0 if number == 0 => page("0", &links),
            2 => page(&(number - 1).to_string(), &[]),
            _ => page(&number.to_string(), &[]),
        }
    };
    Site::answering(reply, &["a.test/"]).planned(|plan| plan.store.warc = true)
}

/// The URLs of the lines that have some of these bytes, each after the name of its file.
fn lines_at(text: &str, name: &str, bytes: Range<usize>) -> Vec<String> {
    let mut end = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        if start < bytes.end && end > bytes.start {
            let url = line.split('"').nth(3).unwrap();
            found.push(format!("{name}: {url}"));
        }
    }
    found
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let site = site(10);
    site.run();
    let path = site.path().join("pages.jsonl");
    fs::remove_file(&path).unwrap();
    std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    let found = verify(site.path()).unwrap();
    assert!(found.damage[0].affected.contains("no regular file"), "{found:?}");
    let done = repair(site.path()).unwrap();
    assert!(done.left[0].contains("no regular file"), "{done}");
    assert!(site.try_run().is_err());
    assert!(backup(site.path(), &site.path().with_extension("copy")).is_err());
}

#[test]
fn a_copy_inside_of_the_run_is_refused() {
    let site = site(10);
    site.run();
    let inside = site.path().join("in");
    assert!(matches!(backup(site.path(), &inside), Err(CrawlError::Inside(_))));
    assert!(!inside.exists());
}

#[test]
fn the_advice_of_verify_and_repair_leads_to_an_end() {
    let site = site(40);
    site.run();
    let said = |command: &str| {
        let assert = pagesieve().arg(command).arg(site.path()).assert();
        let output = assert.get_output();
        let both = [&output.stdout[..], &output.stderr].concat();
        let text = String::from_utf8(both).unwrap();
        (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    // A WARC file with damage in its midst, a state that cannot be repaired, and none.
    write_at(&site.path().join("warc/test-00000.warc.gz"), 20_000, &[0; 100]);
    let (code, text) = said("verify");
    assert!(code == Some(5) && text.contains("pagesieve repair"), "{text}");
    let (code, text) = said("repair");
    assert!(code == Some(5) && text.contains("continue the crawl"), "{text}");
    assert_eq!([said("repair").0, said("verify").0], [Some(0); 2]);
    site.try_run().unwrap();
    let state = site.path().join("state.sqlite");
    write_at(&state, 8_192, &[0x55; 4_096]);
    for (code, command) in [(5, "verify"), (5, "repair"), (2, "verify"), (2, "repair")] {
        if code == 2 && state.exists() {
            fs::remove_file(&state).unwrap();
        }
        let (found, text) = said(command);
        assert!(found == Some(code) && text.contains("backup"), "{command}: {text}");
    }
}

/// The URLs of all lines of pages and duplicates, each once.
fn urls(run: &Path) -> BTreeSet<String> {
    let all = whole(run, "pages.jsonl") + &whole(run, "duplicates.jsonl");
    all.lines().map(|line| line.split('"').nth(3).unwrap().to_owned()).collect()
}

/// Goes on with a run, which is a copy of that of the site.
fn go_on(site: &Site, run: &Path) {
    let mut plan = site.plan.clone();
    run.clone_into(&mut plan.directory);
    crate::crawl::site::run(plan);
}

#[test]
fn every_changed_byte_of_an_output_is_found_and_its_pages_come_again() {
    let site = site(40);
    site.run();
    assert_sound(site.path());
    let (sound, all) = (files(site.path()), urls(site.path()));
    let outputs: Vec<_> = sound.iter().filter(|(name, _)| *name != "state.sqlite").collect();
    assert_eq!(outputs.len(), 3);
    let mut random = StdRng::seed_from_u64(17);
    for number in 0..24 {
        let (name, content) = outputs[number % outputs.len()];
        let at = random.random_range(0..content.len());
        let run = copy(&sound);
        write_at(&run.path().join(name), at as u64, &[content[at] ^ random.random_range(1..=255)]);
        let found = verify(run.path()).unwrap();
        assert_eq!(found.damage.len(), 1, "{name}, byte {at}: {found:?}");
        assert_eq!(found.damage[0].file, *name);
        assert!(found.damage[0].bytes.contains(&(at as u64)), "{name}, byte {at}: {found:?}");
        let done = repair(run.path()).unwrap();
        assert!(done.left.is_empty() && done.cut.len() <= 1, "{name}, byte {at}: {done}");
        assert!(!done.cut.is_empty() || name.starts_with("warc"), "{name}, byte {at}: {done}");
        assert_sound(run.path());
        assert!(run.path().join(format!("{name}.damaged")).exists());
        assert_eq!(repair(run.path()).unwrap().to_string(), "nothing to repair\n");
        go_on(&site, run.path());
        assert_sound(run.path());
        assert_eq!(urls(run.path()), all, "{name}, byte {at}");
    }
}

#[test]
fn damaged_lines_are_cut_out_and_the_others_kept() {
    let site = site(40);
    site.run();
    let (sound, all) = (whole(site.path(), "pages.jsonl"), urls(site.path()));
    write_at(&site.path().join("pages.jsonl"), 5_000, b"\0\0\0\0");
    let expected = lines_at(&sound, "pages.jsonl", 5_000..5_004);
    assert_eq!(verify(site.path()).unwrap().damage.len(), 1);
    let done = repair(site.path()).unwrap();
    assert_eq!((done.cut, done.left, done.queued), (expected, vec![], 1));
    let kept = whole(site.path(), "pages.jsonl");
    assert!(kept.lines().all(|line| sound.contains(line)));
    assert_eq!(kept.lines().count() + 1, sound.lines().count());
    assert_sound(site.path());
    site.run();
    assert_eq!(urls(site.path()), all);
    assert_eq!(lines(site.path(), "changes.jsonl").len(), 0, "it has not changed");

    // A file that is too short loses its last lines only.
    let kept = whole(site.path(), "pages.jsonl");
    let file = OpenOptions::new().write(true).open(site.path().join("pages.jsonl")).unwrap();
    file.set_len(kept.len() as u64 - 10).unwrap();
    assert_eq!(verify(site.path()).unwrap().damage.len(), 1);
    assert_eq!(repair(site.path()).unwrap().cut.len(), 1);
    assert_eq!(whole(site.path(), "pages.jsonl").lines().count() + 1, kept.lines().count());
    assert_sound(site.path());

    // Those of a file that is missing are named all the same.
    let others = lines(site.path(), "duplicates.jsonl").len();
    fs::remove_file(site.path().join("duplicates.jsonl")).unwrap();
    assert_eq!(repair(site.path()).unwrap().cut.len(), others);
    site.run();
    assert_sound(site.path());
    assert_eq!(urls(site.path()), all);
}

#[test]
fn lines_in_a_hole_of_zeros_are_all_named() {
    let site = flat_site(200);
    site.run();
    let (sound, all) = (files(site.path()), urls(site.path()));
    for (name, block, blocks) in [
        ("pages.jsonl", 3, 1),
        ("pages.jsonl", 0, 1),
        ("pages.jsonl", 1, 16),
        ("duplicates.jsonl", 1, 1),
        ("duplicates.jsonl", 0, 16),
    ] {
        let run = copy(&sound);
        let (path, text) = (run.path().join(name), str::from_utf8(&sound[name]).unwrap());
        let at = block * 4096;
        let length = (blocks * 4096).min(text.len() - at);
        write_at(&path, at as u64, &vec![0; length]);
        let mut expected = lines_at(text, name, at..at + length);
        expected.sort();
        assert!(expected.len() > 2, "{name}: {expected:?}");
        let found = verify(run.path()).unwrap();
        assert_eq!(found.damage.len(), 1, "{found:?}");
        let lines = format!("{} lines of http://a.test/", expected.len());
        assert!(found.damage[0].affected.starts_with(&lines), "{found:?}");
        let mut done = repair(run.path()).unwrap();
        done.cut.sort();
        assert_eq!((&done.cut, done.queued), (&expected, expected.len()));
        assert_eq!(whole(run.path(), name).lines().count(), text.lines().count() - expected.len());
        assert_sound(run.path());
        go_on(&site, run.path());
        assert_eq!(urls(run.path()), all);
    }
}

#[test]
fn holes_in_full_files_take_only_their_own_lines() {
    for compress in [false, true] {
        let site = flat_site(400).planned(|plan| {
            (plan.store.rotate, plan.store.compress) = (ByteSize::kib(16), compress);
        });
        site.run();
        let all = urls(site.path());
        let ending = if compress { ".zst" } else { "" };
        let names = ["pages-00001.jsonl", "pages-00002.jsonl"].map(|name| name.to_owned() + ending);
        let texts = names.each_ref().map(|name| whole_file(site.path(), name));
        let mut expected = lines_at(&texts[0], &names[0], 8192..12_288);
        expected.extend(lines_at(&texts[1], &names[1], 0..4096));
        for (text, name, at) in [(&texts[0], &names[0], 8192), (&texts[1], &names[1], 0)] {
            let mut text = text.clone().into_bytes();
            text[at..at + 4096].fill(0);
            let bytes = if compress { zstd::encode_all(&text[..], 0).unwrap() } else { text };
            fs::write(site.path().join(name), bytes).unwrap();
        }
        assert_eq!(verify(site.path()).unwrap().damage.len(), 2);
        let mut done = repair(site.path()).unwrap();
        done.cut.sort();
        expected.sort();
        assert_eq!(done.cut, expected);
        assert_sound(site.path());
        site.run();
        assert_sound(site.path());
        assert_eq!(urls(site.path()), all);
    }
}

fn whole_file(run: &Path, name: &str) -> String {
    let mut text = String::new();
    open_part(&run.join(name)).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_warc_file_keeps_its_other_records_where_they_are() {
    let site = site(40);
    let path = site.path().join("warc/test-00000.warc.gz");
    for left in [usize::MAX, 20_000, 500, 0] {
        site.run();
        let sound = fs::read(&path).unwrap();
        assert!(sound.len() > 25_000, "{}", sound.len());
        let mut damaged = sound.clone();
        damaged.truncate(left);
        if left == usize::MAX {
            damaged[2_000..9_000].fill(0);
        }
        fs::write(&path, &damaged).unwrap();
        let error = site.try_run().err().map(|error| error.to_string());
        assert_eq!(error.is_some(), damaged.len() < sound.len());
        assert!(error.is_none_or(|error| error.contains("pagesieve repair")));
        let done = repair(site.path()).unwrap();
        assert!(done.left.is_empty() && !done.cut.is_empty(), "{done}");
        assert_sound(site.path());
        let kept = fs::read(&path).unwrap();
        assert!(kept.len() <= damaged.len());
        assert!(left < usize::MAX || kept[12_000..] == sound[12_000..]);
        let records = MultiGzDecoder::new(&kept[..]).read_to_end(&mut Vec::new());
        assert!(records.is_ok() || kept.is_empty(), "it ends with a whole record");
        go_on(&site, site.path());
        assert_sound(site.path());
        assert_eq!(repair(site.path()).unwrap().to_string(), "nothing to repair\n");
        let written = fs::read(&path).unwrap();
        for line in lines(site.path(), "pages.jsonl").iter().rev().take(3) {
            let at = usize::try_from(line["warc"]["offset"].as_u64().unwrap()).unwrap();
            let mut record = String::new();
            GzDecoder::new(&written[at..]).read_to_string(&mut record).unwrap();
            assert!(record.contains(line["id"].as_str().unwrap()));
        }
        crawl::delete_run(site.path()).unwrap();
    }
}
