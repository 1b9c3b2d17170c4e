//! Configurations: what is accepted, what is refused, and with which message.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use pagesieve::{
    config::{Config, DEFAULT, Draft},
    crawl::scope::Source,
};
use tempfile::TempDir;

use crate::cli::{pagesieve, stderr, stdout};

const SMALL: &str = "\
[crawl]
user_agent = \"bot/1.0 (+https://example.org/bot)\"

[[seeds]]
url = \"https://docs.example.org/\"
";

/// A directory with this configuration in it.
fn written(toml: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("docs.toml"), toml).unwrap();
    directory
}

fn check(toml: &str, flags: &[&str]) -> assert_cmd::assert::Assert {
    let directory = written(toml);
    let flags = flags.iter().flat_map(|flag| ["--set", flag]);
    pagesieve().current_dir(&directory).args(["check", "docs.toml"]).args(flags).assert()
}

/// The message for a configuration that is refused.
fn refusal(toml: &str, flags: &[&str]) -> String {
    stderr(&check(toml, flags).code(2).stdout(""))
}

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(name)
}

#[test]
fn the_bundled_defaults_are_those_of_the_code() {
    assert_eq!(toml::from_str::<Config>(DEFAULT).unwrap(), Config::default());
}

#[test]
fn the_bundled_defaults_name_every_key() {
    let example = "[[seeds]]\nurl = 'http://a/'\n[dedup]\nradius = 1\nagainst = ['r']\n[fetch]\nproxy = 'http://p'\nca_file = 'c'\n[learn]\nrules_file = 'r'\n[fetch.resolve]\nx = '127.0.0.1:1'";
    let mut config: Config = toml::from_str(example).unwrap();
    config.name = Some("docs".to_owned());
    config.output = Some("runs/docs".into());
    let table = toml::Table::try_from(config).unwrap();
    let inline = ["window", "same_site", "cross_site", "resolve"];
    let mut missing = Vec::new();
    let mut look = |key: &str| {
        let is_line = |line: &str| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            line.starts_with(&format!("{key} = "))
                || line == format!("[{key}]")
                || line == format!("[[{key}]]")
        };
        if !DEFAULT.lines().any(is_line) {
            missing.push(key.to_owned());
        }
    };
    for (key, value) in &table {
        look(key);
        let rows = value.as_array().into_iter().flatten().filter_map(toml::Value::as_table);
        for (key, value) in value.as_table().into_iter().chain(rows).flatten() {
            look(key);
            assert!(!value.is_table() || inline.contains(&key.as_str()), "{key}");
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_bundled_crawls_need_only_a_contact() {
    for name in ["docs.toml", "news-zh.toml"] {
        let path = bundled(name);
        let error = Draft::read(&path, &[]).unwrap().check().unwrap_err().to_string();
        assert!(error.starts_with("`user_agent` must name a contact"), "{name}: {error}");
        let contact = ["crawl.user_agent=bot/1.0 (+https://example.org/bot)".to_owned()];
        Draft::read(&path, &contact).unwrap().check().unwrap();
    }
}

#[test]
fn a_program_may_map_all_seeds_of_a_bundled_configuration() {
    let address: SocketAddr = "127.0.0.1:8080".parse().unwrap();
    let toml = fs::read_to_string(bundled("demo.toml")).unwrap();
    let mut draft = Draft::parse(Path::new("demo.toml"), toml, &[]).unwrap();
    for seed in &draft.config.seeds {
        let Source::Url(url) = &seed.source else { continue };
        draft.config.fetch.resolve.insert(url.domain().unwrap().to_owned(), address);
    }
    let plan = draft.check().unwrap().into_plan();
    assert_eq!((plan.name.as_str(), plan.directory.as_path()), ("demo", Path::new("runs/demo")));
    assert!(plan.crawl.user_agent.starts_with("pagesieve/"));
}

#[test]
fn check_shows_the_whole_configuration() {
    let shown = stdout(
        &check(SMALL, &["crawl.tracking=[]", "dedup.memory=1500 MiB", "dedup.window.entries=1000"])
            .success(),
    );
    insta::assert_snapshot!(shown, @r#"
    name = "docs"
    output = "runs/docs"

    [crawl]
    user_agent = "bot/1.0 (+https://example.org/bot)"
    concurrency = 64
    max_pages = 100000
    max_depth = 100000
    max_outage = "1day"
    tracking = []

    [politeness]
    delay = "1s"
    share_delay = "address"
    adaptive = 0
    per_host = 1
    per_address = 4
    obey_robots = true
    max_crawl_delay = "1m"
    max_retry_after = "10m"
    pause_on_alarm = false

    [fetch]
    timeout = "30s"
    retries = 3
    give_up_after = "1m"
    max_body = "8 MiB"
    cookies = true
    allow_private = []

    [fetch.resolve]

    [dedup]
    mode = "balanced"
    seed = "secret"
    segment = "jieba"
    fold_chinese = true
    min_features = 10
    article = true
    similarity = 0.68
    memory = "1500 MiB"
    audit = 0

    [dedup.window]
    entries = 1000
    age = "90d"
    future = false

    [dedup.same_site]
    store = "skip"
    links = "learn"

    [dedup.cross_site]
    store = "skip"
    links = "learn"

    [store]
    text = true
    warc = false
    rotate = "4 GiB"
    compress = false

    [[seeds]]
    url = "https://docs.example.org/"
    scope = "host"
    include = []
    exclude = []
    max_pages = 100000
    sitemaps = false
    learn = true
    tags = []
    "#);
}

#[test]
fn what_check_shows_means_the_same() {
    let directory =
        written(&SMALL.replace("url = \"https://docs.example.org/\"", "file = 'seeds.txt'"));
    fs::write(directory.path().join("seeds.txt"), "https://a.example/\n").unwrap();
    let path = directory.path().join("docs.toml");
    let flags = [
        "fetch.max_body=1000001B",
        "dedup.window.age=36h",
        "dedup.seed=7",
        "dedup.radius=2",
        r#"fetch.resolve."a.example"="127.0.0.1:1""#,
    ];
    let flags = flags.map(str::to_owned);
    let config = Draft::read(&path, &flags).unwrap().check().unwrap();
    let flags = flags.iter().flat_map(|flag| ["--set", flag]);
    let shown = stdout(&pagesieve().arg("check").arg(&path).args(flags).assert().success());
    let elsewhere = written(&shown);
    let again = Draft::read(&elsewhere.path().join("docs.toml"), &[]).unwrap().check().unwrap();
    assert_eq!(again, config);
    assert_eq!(again.into_plan().seeds[0].source, Source::File(directory.path().join("seeds.txt")));
}

#[test]
fn flags_override_the_file_and_may_be_bare() {
    let flags = [
        "politeness.delay=2s",
        "name=other",
        "store.warc=true",
        "dedup.window={entries = 5}",
        "crawl.max_depth = 3",
    ];
    let directory = written(SMALL);
    let draft =
        Draft::read(&directory.path().join("docs.toml"), &flags.map(str::to_owned)).unwrap();
    let config = draft.check().unwrap();
    assert_eq!(config.politeness.delay.as_secs(), 2);
    assert_eq!(config.output.as_deref(), Some(Path::new("runs/other")));
    assert!(config.store.warc);
    assert_eq!(config.dedup.window.entries.get(), 5);
    assert!(config.dedup.window.age.is_some());
    assert_eq!(config.crawl.max_depth, 3);
    assert_eq!(config.crawl.user_agent, "bot/1.0 (+https://example.org/bot)");
}

#[test]
fn an_unknown_key_is_pointed_at_with_the_one_that_was_meant() {
    insta::assert_snapshot!(refusal("[crawl]\nmax_dept = 3\n", &[]), @"
     × unknown key `max_dept` in [crawl]
      ╭─[docs.toml:2:1]
    1 │ [crawl]
    2 │ max_dept = 3
      · ────┬───
      ·     ╰── unknown
      ╰────
     help: did you mean `max_depth`?
    ");
}

#[test]
fn a_key_in_the_wrong_table_is_reported_with_the_right_table() {
    insta::assert_snapshot!(refusal("max_pages = 3\n", &[]), @"
     × unknown key `max_pages` at the top of the file
      ╭─[docs.toml:1:1]
    1 │ max_pages = 3
      · ────┬────
      ·     ╰── unknown
      ╰────
     help: `max_pages` belongs in [crawl] or in [[seeds]]
    ");
    for (toml, help) in [
        ("cookies = true\n", "`cookies` belongs in [fetch]"),
        ("[crawl]\ncookies = true\n", "`cookies` belongs in [fetch]"),
        ("[politeness]\nentries = 3\n", "`entries` belongs in [dedup.window]"),
        ("[fetch]\nheaders = {}\n", "`headers` belongs in [[fetch.access]]"),
        ("[store]\nsegments = 3\n", "the keys in [store] are"),
        ("[fetch]\nfailures = 3\n", "`failures` belongs in [[learn.rules]]"),
        ("[fetch]\nlearn = {}\n", "`learn` belongs at the top of the file or in [[seeds]]"),
        // A key like one that is known here, and one that stands elsewhere.
        ("[[seed]]\nurl = 'http://a.test/'\n", "did you mean `seeds`? `seed` belongs in [dedup]"),
    ] {
        let refused = refusal(toml, &[]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(refused.contains(help), "{refused}");
    }
}

#[test]
fn an_unknown_key_like_no_other_is_reported_with_all_keys() {
    insta::assert_snapshot!(refusal("[store]\ncolour = 1\n", &[]), @"
     × unknown key `colour` in [store]
      ╭─[docs.toml:2:1]
    1 │ [store]
    2 │ colour = 1
      · ───┬──
      ·    ╰── unknown
      ╰────
     help: the keys in [store] are `text`, `warc`, `rotate`, `compress`
    ");
}

#[test]
fn values_of_the_wrong_type_are_reported_with_an_example() {
    for (config, help) in [
        ("crawl = 3\n", "write `[crawl]` and its keys on the lines below"),
        ("seeds = 3\n", "write `[[seeds]]` and its keys on the lines below"),
        ("[dedup]\nwindow = 5\n", "expected a table of keys"),
        ("[dedup]\nsame_site = 5\n", "expected a table of keys"),
        ("[dedup]\naudit = 5000000000\n", "integer `5000000000`, expected at most 4294967295"),
        ("[dedup]\naudit = -2\n", "integer `-2`, expected a whole number of 0 or more"),
    ] {
        let message = refusal(config, &[]);
        let words: Vec<_> = message.split_whitespace().filter(|word| *word != "│").collect();
        assert!(words.join(" ").contains(help) && !message.contains("struct"), "{message}");
    }
    insta::assert_snapshot!(refusal("[crawl]\nmax_depth = \"3\"\n", &[]), @r#"
     × `max_depth`: invalid type: string "3", expected a whole number of 0 or
     │ more
      ╭─[docs.toml:2:13]
    1 │ [crawl]
    2 │ max_depth = "3"
      ·             ─┬─
      ·              ╰── here
      ╰────
     help: example: `max_depth = 100000`
    "#);
    insta::assert_snapshot!(refusal("[fetch]\ntimeout = \"3 lightyears\"\n", &[]), @r#"
     × `timeout`: invalid value: string "3 lightyears", expected a duration
      ╭─[docs.toml:2:11]
    1 │ [fetch]
    2 │ timeout = "3 lightyears"
      ·           ───────┬──────
      ·                  ╰── here
      ╰────
     help: example: `timeout = "30s"`
    "#);
    insta::assert_snapshot!(refusal("[fetch]\nmax_body = \"8 MX\"\n", &[]), @r#"
     × `max_body`: invalid value: string "8 MX", expected a size
      ╭─[docs.toml:2:12]
    1 │ [fetch]
    2 │ max_body = "8 MX"
      ·            ───┬──
      ·               ╰── here
      ╰────
     help: example: `max_body = "8 MiB"`
    "#);
    insta::assert_snapshot!(refusal("[fetch]\nallow_private = [\"127.0.0.0/8\", \"10.1\"]\n", &[]), @r#"
     × `allow_private`: not a network (address/bits)
      ╭─[docs.toml:2:33]
    1 │ [fetch]
    2 │ allow_private = ["127.0.0.0/8", "10.1"]
      ·                                 ───┬──
      ·                                    ╰── here
      ╰────
     help: example: `allow_private = ["127.0.0.0/8", "10.1.0.0/16"]`
    "#);
    insta::assert_snapshot!(refusal("[crawl]\nconcurrency = 0\n", &[]), @"
     × `concurrency`: invalid value: integer `0`, expected a whole number of 1 or
     │ more
      ╭─[docs.toml:2:15]
    1 │ [crawl]
    2 │ concurrency = 0
      ·               ┬
      ·               ╰── here
      ╰────
     help: example: `concurrency = 64`
    ");
    insta::assert_snapshot!(refusal("[[seeds]]\nurl = \"docs.example.org\"\n", &[]), @r#"
     × `url`: relative URL without a base: "docs.example.org"
      ╭─[docs.toml:2:7]
    1 │ [[seeds]]
    2 │ url = "docs.example.org"
      ·       ─────────┬────────
      ·                ╰── here
      ╰────
     help: example: `url = "https://docs.example.org/index.html"`
    "#);
}

#[test]
fn unknown_values_are_reported_with_the_known_ones() {
    insta::assert_snapshot!(refusal("[dedup]\nsegment = \"jeiba\"\n", &[]), @r#"
     × `segment` has no value "jeiba"
      ╭─[docs.toml:2:11]
    1 │ [dedup]
    2 │ segment = "jeiba"
      ·           ───┬───
      ·              ╰── unknown
      ╰────
     help: did you mean "jieba"?
    "#);
    insta::assert_snapshot!(refusal("[dedup]\nradius = 12\n", &[]), @"
     × `radius`: radius 12 is too large: write 0 to 11
      ╭─[docs.toml:2:10]
    1 │ [dedup]
    2 │ radius = 12
      ·          ─┬
      ·           ╰── here
      ╰────
     help: example: `radius = 9`
    ");
    insta::assert_snapshot!(refusal("[dedup]\nseed = \"hidden\"\n", &[]), @r#"
     × `seed`: expected "secret", "public" or a number of 0 or more
      ╭─[docs.toml:2:8]
    1 │ [dedup]
    2 │ seed = "hidden"
      ·        ────┬───
      ·            ╰── here
      ╰────
     help: example: `seed = "secret"`
    "#);
}

#[test]
fn an_error_points_at_what_is_not_toml() {
    insta::assert_snapshot!(refusal("[crawl\nmax_depth = 3\n", &[]), @"
     × unclosed table, expected `]`
      ╭─[docs.toml:1:7]
    1 │ [crawl
      ·       ▲
      ·       ╰── here
    2 │ max_depth = 3
      ╰────
     help: write `[crawl]`
    ");
    // A key of a table that follows is not to blame.
    insta::assert_snapshot!(refusal("[fetch # how\nretries = 3\n\n[[seeds]]\nurl = 'http://a.org/'\n", &[]), @"
     × unclosed table, expected `]`
      ╭─[docs.toml:1:7]
    1 │ [fetch # how
      ·       ▲
      ·       ╰── here
    2 │ retries = 3
      ╰────
     help: write `[fetch]`
    ");
    insta::assert_snapshot!(refusal("[[seeds]]\nurl = http://a.org/ # bare\n", &[]), @r#"
     × `url`: string values must be quoted, expected literal string
      ╭─[docs.toml:2:7]
    1 │ [[seeds]]
    2 │ url = http://a.org/ # bare
      ·       ──────┬──────
      ·             ╰── here
      ╰────
     help: write `url = "http://a.org/"`
    "#);
    insta::assert_snapshot!(refusal("[crawl]\nuser_agent = \"bot\nmax_depth = 3\n", &[]), @r#"
     × `user_agent`: invalid basic string, expected `"`
      ╭─[docs.toml:2:18]
    1 │ [crawl]
    2 │ user_agent = "bot
      ·                  ▲
      ·                  ╰── here
    3 │ max_depth = 3
      ╰────
     help: close the string with `"` on the same line
    "#);
    insta::assert_snapshot!(refusal("[crawl]\nmax_depth: 3\n", &[]), @"
     × key with no value, expected `=`
      ╭─[docs.toml:2:12]
    1 │ [crawl]
    2 │ max_depth: 3
      ·            ▲
      ·            ╰── here
      ╰────
     help: a line is `key = value`, a header such as `[crawl]` or `[[seeds]]`, or
           a comment that starts with `#`
    ");
}

#[test]
fn a_duplicate_key_is_reported_with_its_first_line() {
    insta::assert_snapshot!(refusal("[fetch]\nretries = 1\n[crawl]\nmax_depth = 3\n# or\nmax_depth = 4\n", &[]), @"
     × `max_depth` appears twice
      ╭─[docs.toml:6:1]
    5 │ # or
    6 │ max_depth = 4
      · ────┬────
      ·     ╰── second time
      ╰────
     help: keep one of the two; the first is on line 4
    ");
    insta::assert_snapshot!(refusal("[crawl] # who\nmax_depth = 3\n[crawl]\nmax_pages = 1\n", &[]), @"
     × [crawl] appears twice
      ╭─[docs.toml:3:2]
    2 │ max_depth = 3
    3 │ [crawl]
      ·  ──┬──
      ·    ╰── second time
    4 │ max_pages = 1
      ╰────
     help: put all its keys under one header; the first is on line 1
    ");
}

#[test]
fn a_seed_list_has_one_source() {
    insta::assert_snapshot!(refusal(&format!("{SMALL}[[seeds]]\nfile = 'a.txt'\ntags = []\nurl = 'http://a.org/'\n"), &[]), @"
     × a seed list has both `file` and `url`
      ╭─[docs.toml:9:1]
    8 │ tags = []
    9 │ url = 'http://a.org/'
      · ─┬─
      ·  ╰── `file` is set already
      ╰────
     help: keep one, and put the other into a `[[seeds]]` of its own
    ");
    insta::assert_snapshot!(refusal(&format!("{SMALL}[[seeds]]\nscope = 'any'\n"), &[]), @r#"
     × a seed list has no source
      ╭─[docs.toml:6:1]
    5 │ url = "https://docs.example.org/"
    6 │ [[seeds]]
      · ────┬────
      ·     ╰── `url`, `file` or `sitemap` is missing
    7 │ scope = 'any'
      ╰────
     help: add one below it, such as `url = "https://docs.example.org/"`
    "#);
}

#[test]
fn resolve_maps_a_name_to_an_address_with_a_port() {
    insta::assert_snapshot!(refusal("[fetch]\nresolve = { \"docs.test\" = \"127.0.0.1\" }\n", &[]), @r#"
     × `resolve`: the value of "docs.test" is not an address with a port
      ╭─[docs.toml:2:27]
    1 │ [fetch]
    2 │ resolve = { "docs.test" = "127.0.0.1" }
      ·                           ─────┬─────
      ·                                ╰── here
      ╰────
     help: example: `"docs.test" = "127.0.0.1:8080"`
    "#);
}

#[test]
fn an_error_points_at_bytes_that_are_not_utf8() {
    let directory = written("");
    fs::write(directory.path().join("docs.toml"), b"[[seeds]]\ntags = [\"caf\xe9\"]\n").unwrap();
    let check = pagesieve().current_dir(&directory).args(["check", "docs.toml"]).assert();
    insta::assert_snapshot!(stderr(&check.code(2)), @r#"
     × the configuration is not UTF-8
      ╭─[docs.toml:2:13]
    1 │ [[seeds]]
    2 │ tags = ["caf�"]
      ·             ┬
      ·             ╰── the byte 0xE9
      ╰────
     help: save the file as UTF-8
    "#);
}

#[test]
fn an_error_points_at_the_rule_that_is_wrong() {
    let toml = "[[learn.rules]]\nsite = 'a.org'\nparameter = 'sid'\n\n[[learn.rules]]\nsite = 'www.a.org'\nparameter = 'sid'\n";
    insta::assert_snapshot!(refusal(toml, &[]), @r#"
     × `rules`: a rule holds for a site, a registrable domain: write `site =
     │ "a.org"`, not "www.a.org"
      ╭─[docs.toml:5:1]
    4 │ 
    5 │ [[learn.rules]]
      · ───────┬───────
      ·        ╰── here
    6 │ site = 'www.a.org'
      ╰────
     help: write `[[learn.rules]]` and its keys on the lines below
    "#);
}

#[test]
fn an_error_points_into_a_flag_as_into_a_file() {
    insta::assert_snapshot!(refusal(SMALL, &["crawl.max_dept=3"]), @"
     × unknown key `max_dept` in [crawl]
      ╭─[--set:1:7]
    1 │ crawl.max_dept = 3
      ·       ────┬───
      ·           ╰── unknown
      ╰────
     help: did you mean `max_depth`?
    ");
    insta::assert_snapshot!(refusal(SMALL, &["crawl.max_depth"]), @"
     × `--set crawl.max_depth` has no value
      ╭─[--set:1:15]
    1 │ crawl.max_depth
      ·               ┬
      ·               ╰── `=` is missing
      ╰────
     help: example: `--set crawl.max_depth=3`
    ");
    insta::assert_snapshot!(refusal(SMALL, &["fetch.allow_private=[10"]), @"
     × `fetch.allow_private`: unclosed array, expected `]`
      ╭─[--set:1:25]
    1 │ fetch.allow_private = [10
      ·                         ┬
      ·                         ╰── here
      ╰────
     help: close a list with `]`, an inline table with `}`
    ");
}

#[test]
fn whoever_crawls_must_name_a_contact() {
    insta::assert_snapshot!(refusal("[crawl]\nuser_agent = \"bot/1.0\"\n[[seeds]]\nurl = \"http://a.org/\"\n", &[]), @r#"
     × `user_agent` must name a contact (an email address or an http URL), unless
     │ fetch.resolve maps every seed
      ╭─[docs.toml:2:14]
    1 │ [crawl]
    2 │ user_agent = "bot/1.0"
      ·              ────┬────
      ·                  ╰── no contact
    3 │ [[seeds]]
      ╰────
     help: example:
           [crawl]
           user_agent = "examplebot/1.0 (+https://example.org/bot)"
    "#);
    for contact in ["bot (me@example.org)", "bot +http://a.org", "bot (mailto:a.b@c)"] {
        check(SMALL, &[&format!("crawl.user_agent={contact}")]).success();
    }
    for none in ["bot @ home", "bot http://", "", "@", "bot https"] {
        assert!(
            refusal(SMALL, &[&format!("crawl.user_agent={none}")]).contains("must name a contact"),
            "{none}"
        );
    }
    check(SMALL, &["crawl.user_agent=", r#"fetch.resolve."docs.example.org"="127.0.0.1:80""#])
        .success();
}

#[test]
fn a_configuration_without_seeds_is_invalid() {
    insta::assert_snapshot!(refusal("[crawl]\nmax_depth = 3\n", &[]), @r#"
     × there are no seeds
      ╭─[docs.toml:2:13]
    1 │ [crawl]
    2 │ max_depth = 3
      ·             ┬
      ·             ╰── `[[seeds]]` is missing
      ╰────
     help: add one:
           [[seeds]]
           url = "https://docs.example.org/"
    "#);
    insta::assert_snapshot!(refusal("", &[]), @r#"
    × there are no seeds
     ╭─[docs.toml:1:1]
     ╰────
    help: add one:
          [[seeds]]
          url = "https://docs.example.org/"
    "#);
    insta::assert_snapshot!(refusal("[[seeds]]\nscope = \"any\"\n", &[]), @r#"
     × a seed list has no source
      ╭─[docs.toml:1:1]
    1 │ [[seeds]]
      · ────┬────
      ·     ╰── `url`, `file` or `sitemap` is missing
    2 │ scope = "any"
      ╰────
     help: add one below it, such as `url = "https://docs.example.org/"`
    "#);
    insta::assert_snapshot!(refusal("[[seeds]]\nurl = \"ftp://a.org/\"\n", &[]), @r#"
     × `url`: the scheme is ftp, only http and https can be fetched
      ╭─[docs.toml:2:7]
    1 │ [[seeds]]
    2 │ url = "ftp://a.org/"
      ·       ───────┬──────
      ·              ╰── here
      ╰────
     help: example: `url = "https://docs.example.org/"`
    "#);
}

#[test]
fn patterns_memory_names_and_timeouts_are_checked() {
    insta::assert_snapshot!(refusal(&format!("{SMALL}exclude = ['a', '(b']\n"), &[]), @r#"
     × `exclude`: "(b" is not a regular expression
      ╭─[docs.toml:6:17]
    5 │ url = "https://docs.example.org/"
    6 │ exclude = ['a', '(b']
      ·                 ──┬─
      ·                   ╰── unclosed group
      ╰────
     help: `\` escapes a special character; in TOML, put patterns into single
           quotes: '\.pdf$'
    "#);
    let shown_at_the_cause = refusal(SMALL, &["dedup.memory=1 MiB", "dedup.seed=public"]);
    assert!(shown_at_the_cause.contains("dedup.memory = \"1 MiB\""), "{shown_at_the_cause}");
    let nearest = refusal(SMALL, &["crawl.user_agent=me", "crawl.max_pages=5"]);
    assert!(nearest.contains("crawl.user_agent = "), "{nearest}");
    let too_large = refusal(SMALL, &["dedup.window={ entries = 20_000_000_000 }"]);
    assert!(too_large.contains("is larger than any index"), "{too_large}");
    assert!(too_large.contains("too many") && !too_large.contains("EiB"), "{too_large}");
    insta::assert_snapshot!(refusal(SMALL, &["dedup.memory=512 MiB"]), @r#"
     × a window of 5,000,000 entries at radius 9 needs 1.9 GiB; `memory` is 512.0
     │ MiB, which has room for 1,324,409
      ╭─[--set:1:16]
    1 │ dedup.memory = "512 MiB"
      ·                ────┬────
      ·                    ╰── too little
      ╰────
     help: write `memory = "1.9 GiB"`, or `entries = 1300000` in `window`
    "#);
    insta::assert_snapshot!(refusal(SMALL, &["name=a/b"]), @r#"
     × `name`: "a/b" is not a directory name
      ╭─[--set:1:8]
    1 │ name = "a/b"
      ·        ──┬──
      ·          ╰── here
      ╰────
     help: example: `name = "docs"`; `output` may be any path
    "#);
    insta::assert_snapshot!(refusal(SMALL, &["fetch.timeout=0s"]), @r#"
     × `timeout` must be longer than zero
      ╭─[--set:1:17]
    1 │ fetch.timeout = "0s"
      ·                 ──┬─
      ·                   ╰── here
      ╰────
     help: example: `timeout = "30s"`
    "#);
    insta::assert_snapshot!(refusal(SMALL, &["fetch.resolve.\"a b\"=\"127.0.0.1:80\""]), @r#"
     × `resolve`: "a b" is not a host name
      ╭─[--set:1:23]
    1 │ fetch.resolve."a b" = "127.0.0.1:80"
      ·                       ───────┬──────
      ·                              ╰── value of this key
      ╰────
     help: example: `"docs.test" = "127.0.0.1:8080"`
    "#);
}

#[test]
fn an_error_points_at_invalid_lines_of_a_seed_file() {
    let directory = written("[crawl]\nuser_agent = \"a@b\"\n[[seeds]]\nfile = \"seeds.txt\"\n");
    let refusal = || {
        let check =
            pagesieve().current_dir(&directory).args(["check", "docs.toml"]).assert().code(2);
        let path = directory.path().display().to_string();
        stderr(&check).replace(&path, "DIR")
    };
    let message = refusal();
    assert!(message.contains("cannot read the seed file DIR/seeds.txt: No such"), "{message}");
    assert!(
        message.contains("docs.toml:4:8")
            && message.contains("relative to the configuration's directory")
    );
    fs::write(directory.path().join("seeds.txt"), "# none\n").unwrap();
    assert!(refusal().contains("contains no URLs"));
    fs::write(
        directory.path().join("seeds.txt"),
        b"http://a.org/\nexample.org\n\xff\nftp://a.org/\n",
    )
    .unwrap();
    let message = refusal();
    assert!(message.contains("3 invalid lines in the seed file"), "{message}");
    assert!(message.contains("seeds.txt:2:1") && message.contains("4 │ ftp://a.org/"), "{message}");
    for why in ["not a URL", "invalid utf-8", "the scheme is ftp"] {
        assert!(message.contains(&format!("╰── {why}")), "{message}");
    }
}

#[test]
fn a_missing_configuration_is_reported() {
    let assert = pagesieve().args(["check", "absent.toml"]).assert().code(2);
    assert!(stderr(&assert).contains("cannot read the configuration absent.toml"));
}

#[test]
fn check_refuses_private_seeds_by_name_and_warns_of_unknown_ones() {
    let config = |seed: &str| {
        let more = "[fetch]\nresolve = { 'a.test' = '127.0.0.1:1' }\n";
        format!("{more}[crawl]\nuser_agent = 'bot/1 (+https://example.org/bot)'\n{seed}")
    };
    let seed = |url: &str| config(&format!("[[seeds]]\nurl = '{url}'\n"));
    for url in ["http://10.1.2.3/", "http://[::1]:8080/a", "http://a.test:99/"] {
        let message = refusal(&seed(url), &[]);
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(url) && message.contains("fetch.allow_private"), "{message}");
    }
    check(&seed("http://10.1.2.3/"), &["fetch.allow_private=[\"10.0.0.0/8\"]"]).success();
    let lost = seed("http://no.such.name.invalid/");
    let warned = stderr(&check(&lost, &[]).success());
    assert!(warned.contains("warning: ") && warned.contains("no.such.name.invalid"), "{warned}");
    assert_eq!(stderr(&check(&seed("http://a.test/"), &[]).success()), "");
}
