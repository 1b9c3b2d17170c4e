//! `pagesieve serve`: the filter over HTTP.
#![allow(clippy::print_stdout, reason = "the figures are for whoever runs the measurement")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// A service that runs. It is killed when it is dropped.
#[derive(Debug)]
struct Service {
    child: Child,
    address: SocketAddr,
}

/// An answer: its status, head and body.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

fn program(state: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagesieve"));
    command.args(["serve", "--state"]).arg(state).args(more);
    if !more.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command.env_remove("PAGESIEVE_TOKEN").stderr(Stdio::piped());
    command
}

impl Service {
    fn start(state: &Path, more: &[&str]) -> Self {
        let service = Self::listening(state, more);
        service.wait();
        service
    }

    /// A service that listens; its window may not be restored yet.
    fn listening(state: &Path, more: &[&str]) -> Self {
        let mut child = program(state, more).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let address = line.strip_prefix("listening on http://").expect(&line).parse().unwrap();
        // What it says later must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Waits until the service is ready.
    fn wait(&self) {
        while self.get("/readyz").status != 200 {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        // Else a head and a body that are written apart take 40 ms.
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn send(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        write!(
            stream,
            "{head} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        drop(stream.write_all(body));
        answer(&mut stream)
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), b"")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        self.send(&format!("POST {path}"), body.as_bytes())
    }

    fn judge(&self, document: &Value) -> Value {
        let answer = self.post("/v1/judge", &document.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads to the end of the connection. Chunks stay as they are framed.
fn answer(stream: &mut TcpStream) -> Answer {
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// A text of a hundred words, the same for the same number.
fn text(number: usize) -> String {
    let mixed = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let word = |place: usize| format!("w{}", mixed(number * 100 + place));
    (0..100).map(word).collect::<Vec<_>>().join(" ")
}

/// Documents of which every third repeats an earlier one, with another word or as it is.
fn documents(count: usize) -> Vec<Value> {
    let document = |number: usize| match number % 6 {
        3 => json!({ "id": number, "text": text(number - 1) }),
        5 => json!({ "id": number, "text": format!("{} changed", text(number - 3)) }),
        _ => json!({ "id": number, "text": text(number) }),
    };
    (0..count).map(document).collect()
}

fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// What `filter` decides.
fn by_filter(directory: &TempDir, documents: &[Value]) -> Vec<Value> {
    let file = directory.path().join("documents.jsonl");
    fs::write(&file, lines(documents)).unwrap();
    let ended =
        Command::new(env!("CARGO_BIN_EXE_pagesieve")).arg("filter").arg(file).output().unwrap();
    String::from_utf8(ended.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn decisions_are_those_of_the_filter_however_documents_are_sent() {
    let directory = tempdir().unwrap();
    let documents = documents(120);
    let expected = by_filter(&directory, &documents);
    let state = directory.path().join("seen.db");
    let service = Service::start(&state, &[]);
    let single: Vec<_> = documents[..30].iter().map(|document| service.judge(document)).collect();
    let array = service.judge(&json!(documents[30..80]));
    // Another process goes on with what was acknowledged.
    service.kill();
    let service = Service::start(&state, &[]);
    let streamed = service.post("/v1/judge.ndjson", &lines(&documents[80..]));
    let streamed = streamed.body.lines().filter_map(|line| serde_json::from_str(line).ok());
    let streamed = streamed.filter(Value::is_object);
    let found: Vec<_> =
        single.into_iter().chain(array.as_array().unwrap().clone()).chain(streamed).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_dry_judgement_is_not_remembered() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let document = json!({ "id": "a", "text": text(1) }).to_string();
    for _ in 0..2 {
        assert_eq!(service.post("/v1/judge?dry=1", &document).json()["verdict"], "unique");
    }
    assert_eq!(service.post("/v1/judge?dry", &document).json()["verdict"], "unique");
    assert_eq!(service.get("/v1/stats").json()["documents"], 0);
    service.judge(&json!({ "id": "b", "text": text(1) }));
    assert_eq!(service.send("DELETE /v1/documents/b?dry=true", b"").status, 400);
    assert_eq!(service.get("/v1/documents/b?dry=true").status, 400);
    let found = service.post("/v1/judge?dry=1", &document).json();
    assert_eq!((&found["verdict"], &found["match"]["id"]), (&json!("exact"), &json!("b")));
}

#[test]
fn a_request_that_is_repeated_is_safe_and_emits_nothing_twice() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let of = |number| json!({ "id": "a", "text": text(number) });
    let verdict = |answer: &Value| answer["verdict"].as_str().unwrap().to_owned();
    let since = |answer: &Value| -> jiff::Timestamp {
        answer["previous"]["time"].as_str().unwrap().parse().unwrap()
    };
    // As if the answer had been lost: what it says since when is known is not before the request.
    let sent = jiff::Timestamp::now().as_millisecond();
    assert_eq!(verdict(&service.judge(&of(1))), "unique");
    let again = service.judge(&of(1));
    assert_eq!(verdict(&again), "unchanged");
    assert!(since(&again).as_millisecond() >= sent, "{again}");
    let dry = service.post("/v1/judge?dry=1", &of(2).to_string()).json();
    assert_eq!((verdict(&dry), since(&dry)), ("changed".to_owned(), since(&again)));
    let changed = service.judge(&of(2));
    assert!(changed["previous"]["signature_distance"].as_u64().unwrap() > 26, "{changed}");
    let again = service.judge(&of(2));
    assert!(since(&again) >= since(&changed), "{again}");
    let metrics = service.get("/metrics").body;
    assert!(metrics.contains("documents_judged_total{verdict=\"unchanged\"} 2"), "{metrics}");
    assert_eq!(service.send("DELETE /v1/documents/a", b"").status, 204);
    assert_eq!(service.get("/v1/documents/a").status, 404, "no version of it is left");
    assert_eq!(verdict(&service.judge(&of(1))), "unique");
}

#[test]
fn documents_are_compared_found_and_removed() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let of = |id: &str, number| json!({ "id": id, "text": text(number) });
    service.judge(&json!([of("https://a.test/x y", 1), of("b", 2), of("c", 1)]));
    let pair =
        json!({ "a": of("same", 1), "b": { "id": "same", "text": format!("{} end", text(1)) } });
    let explained = service.post("/v1/explain", &pair.to_string()).json();
    assert_eq!(
        (&explained["decision"]["verdict"], &explained["features"][0]),
        (&json!("near"), &json!(199))
    );

    let found = service.post("/v1/lookup?limit=1", &of("d", 2).to_string()).json();
    assert_eq!(
        (&found["nearest"][0]["id"], &found["nearest"][0]["similarity"]),
        (&json!("b"), &json!(1.0))
    );
    assert_eq!((&found["compared"], found["nearest"].as_array().unwrap().len()), (&json!(2), 1));

    // Too short for a signature, but equal.
    service.judge(&json!([{ "id": "short", "text": "Two words." }]));
    let short = json!({ "id": "d", "text": "two words" }).to_string();
    let found = service.post("/v1/lookup?limit=2", &short).json();
    assert_eq!(found["nearest"][0]["id"], "short", "{found}");

    let path = "/v1/documents/https:%2F%2Fa.test%2Fx%20y";
    assert_eq!(service.get(path).json()["verdict"], "unique");
    assert_eq!(service.get("/v1/documents/c").json()["match"]["id"], "https://a.test/x y");
    assert_eq!(service.send("DELETE /v1/documents/c", b"").status, 409);
    assert_eq!(service.send(&format!("DELETE {path}"), b"").status, 204);
    assert_eq!(service.send("DELETE /v1/documents/none", b"").status, 404);
    assert!(service.send("DELETE /v1/documents/%ff", b"").error().contains("the id in the URL"));
    assert_eq!(service.get("/v1/documents/c").json()["match"]["id"], json!(null));
    assert_eq!(service.judge(&of("e", 1))["verdict"], "unique", "nothing repeats what was removed");
}

#[test]
fn a_removed_document_leaves_its_duplicates_and_takes_its_versions_along() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(&directory.path().join("state.sqlite"), &[]);
    let judge = |id: &str| {
        let judged = service.judge(&json!({ "id": id, "text": "The tide is high." }));
        judged["verdict"].as_str().unwrap().to_owned()
    };
    let remove = |id: &str| service.send(&format!("DELETE /v1/documents/{id}"), b"").status;
    // The oldest document of the window: what repeated it is still known.
    assert_eq!([judge("a"), judge("b"), judge("c")], ["unique", "exact", "exact"]);
    assert_eq!(remove("a"), 204);
    let held = service.get("/v1/documents/c").json();
    assert_eq!((&held["verdict"], &held["match"]["id"]), (&json!("exact"), &Value::Null));
    // A document that was a duplicate before.
    assert_eq!([judge("b"), judge("c")], ["unique", "exact"]);
    assert_eq!((remove("c"), remove("b")), (409, 204));
    assert_eq!(service.get("/v1/documents/b").status, 404);
    assert_eq!(service.get("/v1/documents/c").status, 200);
}

#[test]
fn a_wrong_request_is_told_what_is_wrong() {
    let directory = tempdir().unwrap();
    let service = Service::start(
        &directory.path().join("seen.db"),
        &["--max-body", "4 KiB", "--max-batch", "3"],
    );
    let said = |path: &str, body: &str| {
        let answer = service.post(path, body);
        format!("{} {}", answer.status, answer.error())
    };
    let long = json!({ "id": "a", "text": "word ".repeat(2_000) }).to_string();
    let many = json!(documents(4)).to_string();
    let second = json!([{ "id": "a", "text": "" }, { "id": "b" }]);
    insta::assert_snapshot!(
        [
            said("/v1/judge", "{"),
            said("/v1/judge", "{\"id\": 1, \"text\": \"\"}\n{\"id\": 2, \"text\": \"\"}\n"),
            said("/v1/judge", "[{]"),
            said("/v1/judge", r#"{"id": 1.5, "text": ""}"#),
            said("/v1/judge", &second.to_string()),
            said("/v1/judge", &long),
            said("/v1/judge", &many),
            said("/v1/explain", r#"{"a": 1}"#),
            said("/v1/lookup", ""),
            said("/v2", ""),
            said("/v1/stats", ""),
    ].join("\n"), @r#"
    422 column 1: EOF while parsing an object
    422 documents on lines go to /v1/judge.ndjson
    422 the body is not JSON: key must be a string at line 1 column 3
    422 column 10: `id` must be a string or an integer of 64 bits, not 1.5
    422 `text` and `html` are both missing: give one of them
    413 the body is longer than 4096 bytes; send fewer documents at a time, use /v1/judge.ndjson, or start the service with a larger --max-body
    413 4 documents are more than the 3 of one request; send them in several, or to /v1/judge.ndjson
    422 the body must be {"a": DOCUMENT, "b": DOCUMENT}: missing field `b` at line 1 column 8
    422 a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    404 no such route; see /openapi.json
    405 this route has other methods; see /openapi.json
    "#);
    assert_eq!(service.post("/v1/judge", &second.to_string()).json()["document"], 1);
    assert_eq!(
        service.get("/v1/stats").json()["judged"],
        0,
        "nothing of a wrong request is judged"
    );
    let body = format!("{{\n\n{}\n{long}\n{{}}\n", json!({ "id": 7, "text": "seven" }));
    let answers = service.post("/v1/judge.ndjson", &body);
    let answers: Vec<Value> = answers
        .body
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(Value::is_object)
        .collect();
    assert_eq!(answers[0]["line"], 1);
    assert_eq!((&answers[1]["id"], &answers[1]["verdict"]), (&json!("7"), &json!("unique")));
    assert_eq!(
        (answers.len(), &answers[2]["line"]),
        (3, &json!(4)),
        "nothing is read after a line without end"
    );
}

#[test]
fn a_full_queue_is_429_and_the_next_request_is_served() {
    let directory = tempdir().unwrap();
    let service =
        Service::start(&directory.path().join("seen.db"), &["--queue", "40", "--max-batch", "40"]);
    let batch = json!(documents(40)).to_string();
    let statuses: Vec<Answer> = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..16).map(|_| scope.spawn(|| service.post("/v1/judge", &batch))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let refused: Vec<_> = statuses.iter().filter(|answer| answer.status == 429).collect();
    assert!(statuses.iter().all(|answer| [200, 429].contains(&answer.status)), "{statuses:?}");
    assert!(!refused.is_empty() && refused.len() < 16, "{}", refused.len());
    assert!(refused.iter().all(|answer| answer.head.to_lowercase().contains("retry-after: 1")));
    assert_eq!(service.post("/v1/judge", &batch).status, 200);
}

#[test]
fn nothing_is_judged_before_the_window_is_restored() {
    let directory = tempdir().unwrap();
    let state = directory.path().join("window.sqlite");
    let document = json!({ "id": "a", "text": text(1) });
    let service = Service::start(&state, &[]);
    assert_eq!(service.judge(&document)["verdict"], "unique");
    service.kill();
    // Restoring begins a transaction, and waits while another one is open.
    let other = rusqlite::Connection::open(&state).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let service = Service::listening(&state, &[]);
    assert_eq!(service.get("/livez").status, 200);
    let again = json!({ "id": "b", "text": text(1) }).to_string();
    let answers = [
        service.get("/readyz"),
        service.post("/v1/judge", &again),
        service.post("/v1/judge.ndjson", &again),
        service.get("/v1/documents/a"),
    ];
    for answer in answers {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.error().starts_with("the window is being restored"), "{answer:?}");
    }
    other.execute_batch("COMMIT").unwrap();
    service.wait();
    let answer = service.post("/v1/judge", &again).json();
    assert_eq!(
        (&answer["verdict"], &answer["match"]["id"]),
        (&json!("exact"), &json!("a")),
        "{answer}"
    );
}

#[test]
fn a_token_is_required_where_others_can_reach_the_service() {
    let directory = tempdir().unwrap();
    let (state, token) = (directory.path().join("seen.db"), directory.path().join("token"));
    let refused = program(&state, &["--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("PAGESIEVE_TOKEN"));
    fs::write(&token, "\n").unwrap();
    let file = token.to_str().unwrap();
    assert_eq!(program(&state, &["--token-file", file]).output().unwrap().status.code(), Some(2));
    fs::write(&token, "one;two\n").unwrap();
    assert_eq!(program(&state, &["--token-file", file]).output().unwrap().status.code(), Some(2));
    fs::write(&token, "a secret\n").unwrap();
    let service = Service::start(&state, &["--token-file", file]);
    let with = |token: &str| {
        service
            .send(&format!("GET /v1/stats HTTP/1.1\r\nAuthorization: Bearer {token}\r\nX: y"), b"")
    };
    // The request line ends early here, so the rest of it is a header.
    assert_eq!(service.get("/v1/stats").status, 401);
    assert_eq!(with("a secre").status, 401);
    assert_eq!(with("a secret").status, 200);
    assert_eq!((service.get("/livez").status, service.get("/metrics").status), (200, 401));
}

#[test]
fn a_signal_ends_the_service_beside_open_streams() {
    let directory = tempdir().unwrap();
    let state = directory.path().join("seen.db");
    let mut service = Service::start(&state, &[]);
    let mut stream = service.connect();
    write!(
        stream,
        "POST /v1/judge.ndjson HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    .unwrap();
    let line = format!("{}\n", json!({ "id": "a", "text": "one" }));
    write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut read = String::new();
    while !read.contains("unique") {
        assert!(reader.read_line(&mut read).unwrap() > 0, "{read}");
    }
    // Beside it, one that sends nothing, and one that has sent half a request.
    let _idle = service.connect();
    let mut half = service.connect();
    write!(half, "POST /v1/judge HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{{").unwrap();
    let began = Instant::now();
    Command::new("kill").args(["-TERM", &service.child.id().to_string()]).status().unwrap();
    let status = service.child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(143));
    reader.read_to_string(&mut read).unwrap();
    assert!(read.contains("the service is stopping") && read.contains("\"line\":2"), "{read}");
    let service = Service::start(&state, &[]);
    assert_eq!(service.judge(&json!({ "id": "b", "text": "One!" }))["verdict"], "exact");
}

#[test]
fn slow_clients_hold_up_nobody() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &["--connections", "64"]);
    let mut slow: Vec<_> = (0..40).map(|_| service.connect()).collect();
    for (place, stream) in slow.iter_mut().enumerate() {
        match place % 3 {
            0 => drop(stream.write_all(b"POST /v1/judge HTTP/1.1\r\nHost")),
            1 => drop(stream.write_all(
                b"POST /v1/judge HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n{",
            )),
            // It reads none of its answers.
            _ => {
                let lines = lines(&documents(2_000));
                write!(
                    stream,
                    "POST /v1/judge.ndjson HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                    lines.len()
                )
                .unwrap();
                stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
                drop(stream.write_all(lines.as_bytes()));
            }
        }
    }
    let began = Instant::now();
    for document in documents(20) {
        service.judge(&document);
    }
    // Whoever waited for them would have waited until they were dropped.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn what_was_acknowledged_survives_ten_kills() {
    acknowledged_survives(10);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it acknowledged_survives -- --ignored`"]
fn what_was_acknowledged_survives_two_hundred_kills() {
    acknowledged_survives(200);
}

/// No acknowledged document is forgotten, and none repeats itself when it is sent again.
fn acknowledged_survives(kills: usize) {
    let directory = tempdir().unwrap();
    let state = directory.path().join("seen.db");
    let (mut next, mut acknowledged) = (0, Vec::new());
    // The document that was sent last and not answered, and when it was sent first.
    let mut lost: Option<(usize, jiff::Timestamp)> = None;
    for kill in 0..kills {
        let service = Service::start(&state, &[]);
        let pid = service.child.id().to_string();
        let killer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20 + kill as u64 * 7 % 60));
            Command::new("kill").args(["-KILL", &pid]).status().unwrap();
        });
        loop {
            let document = json!({ "id": next, "text": text(next) });
            let Ok(mut stream) = TcpStream::connect(service.address) else { break };
            let body = document.to_string();
            if lost.is_none_or(|(number, _)| number != next) {
                let now = jiff::Timestamp::now().as_millisecond();
                lost = Some((next, jiff::Timestamp::from_millisecond(now).unwrap()));
            }
            drop(write!(
                stream,
                "POST /v1/judge HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
            let answer = answer(&mut stream);
            if answer.status != 200 || !answer.body.ends_with('}') {
                break;
            }
            let answer = answer.json();
            match lost {
                // It may have been judged before the kill. It is known since it was sent for the first time then.
                Some((_, sent)) if answer["verdict"] == "unchanged" => {
                    let known = answer["previous"]["time"].as_str().unwrap();
                    assert!(known.parse::<jiff::Timestamp>().unwrap() >= sent, "{next}");
                }
                _ => assert_eq!(answer["verdict"], "unique", "{next}"),
            }
            acknowledged.push(next);
            next += 1;
        }
        killer.join().unwrap();
    }
    let service = Service::start(&state, &[]);
    for number in acknowledged.iter().rev().take(500) {
        let repeated =
            service.judge(&json!({ "id": format!("again {number}"), "text": text(*number) }));
        assert_eq!(repeated["match"]["id"], number.to_string());
    }
    println!("{} documents acknowledged, {kills} kills", acknowledged.len());
}

/// As curl does with `-T`: it sends the body a second later if nothing answers.
#[test]
fn a_client_that_waits_until_it_may_send_lines_is_asked_for_them() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let mut stream = BufReader::new(service.connect());
    let line = json!({ "id": "a", "text": "some words" }).to_string();
    let head = format!(
        "POST /v1/judge.ndjson HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        line.len()
    );
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let mut first = String::new();
    stream.read_line(&mut first).unwrap();
    assert_eq!(first, "HTTP/1.1 100 Continue\r\n");
    stream.get_mut().write_all(line.as_bytes()).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("HTTP/1.1 200 OK") && rest.contains("unique"), "{rest}");
}

#[test]
fn no_line_of_a_compressed_body_is_lost_without_a_word() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let lines = lines(&documents(4));
    let middle = lines.match_indices('\n').nth(1).unwrap().0 + 1;
    let frames = [&lines[..middle], &lines[middle..]]
        .map(|part| zstd::encode_all(part.as_bytes(), 3).unwrap());
    let whole = frames.concat();
    let damaged = [&*frames[0], b"this is no frame of zstd"].concat();
    let (cut, _) = whole.split_at(whole.len() - 9);
    // A member of gzip with a block that is not the last (RFC 1951, 3.2.4).
    let length = u16::try_from(middle).unwrap();
    let mut gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\0".to_vec();
    gzip.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
    gzip.extend(&lines.as_bytes()[..middle]);
    let judge = |coding: &str, body: &[u8]| {
        let mut stream = service.connect();
        write!(
            stream,
            "POST /v1/judge.ndjson HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        stream.write_all(body).unwrap();
        answer(&mut stream)
    };
    let count = |answer: &Answer, what: &str| answer.body.matches(what).count();
    let all = judge("ZSTD", &whole);
    assert_eq!((all.status, count(&all, "\"verdict\"")), (200, 4), "{all:?}");
    for (coding, body, judged) in [
        ("zstd", &*damaged, 2),
        ("zstd", cut, 2),
        ("gzip", &*gzip, 2),
        ("gzip", b"this is no member of gzip", 0),
        ("zstd", b"this is no frame of zstd", 0),
    ] {
        let cut = judge(coding, body);
        assert_eq!(count(&cut, "\"verdict\""), judged, "{cut:?}");
        assert_eq!(count(&cut, "the body broke off"), 1, "{cut:?}");
        assert_eq!(count(&cut, &format!("\"line\":{}", judged + 1)), 1, "{cut:?}");
    }
}

#[test]
fn mutated_requests_are_4xx_and_nothing_breaks() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    let valid = json!([{ "id": "a", "text": "some words" }, { "id": 2, "html": "<p>some words</p>", "url": "https://a.test/", "time": 0 }]).to_string();
    let mut stream = BufReader::new(service.connect());
    let mut random = 1_u64;
    for round in 0..10_000 {
        let mut body = valid.clone().into_bytes();
        for _ in 0..=round % 3 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (at, byte) = ((random >> 33) as usize % body.len(), random.to_be_bytes()[4]);
            match round % 4 {
                0 => body[at] = byte,
                1 => drop(body.remove(at)),
                2 => body.insert(at, byte),
                _ => body.truncate(at.max(1)),
            }
        }
        let socket = stream.get_mut();
        write!(
            socket,
            "POST /v1/judge HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        socket.write_all(&body).unwrap();
        let (status, answer) = next_answer(&mut stream);
        assert!(
            [200, 413, 422].contains(&status),
            "{status} {answer} to {:?}",
            String::from_utf8_lossy(&body)
        );
    }
    for garbage in [
        "GET",
        "\r\n\r\n\r\n",
        "POST /v1/judge HTTP/9.9\r\n\r\n",
        "POST /v1/judge HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let mut stream = service.connect();
        stream.write_all(garbage.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let status = answer(&mut stream).status;
        assert!([0, 400, 505].contains(&status), "{status} to {garbage:?}");
    }
    assert_eq!(service.get("/readyz").status, 200);
}

/// The next answer of a connection that stays open.
fn next_answer(stream: &mut BufReader<TcpStream>) -> (u16, String) {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
        if let Some(value) = head[start..].to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from_utf8(body).unwrap())
}

/// The metrics that the board for Grafana shows.
pub(crate) fn names_of_the_board() -> impl Iterator<Item = String> {
    let board = include_str!("../../docs/operations/grafana.json");
    let is_of_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let names = board.split(|c| !is_of_name(c)).filter(|word| word.starts_with("pagesieve_"));
    names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>().into_iter()
}

/// The labels by which the board divides metrics of a crawl.
pub(crate) fn labels_of_the_board() -> impl Iterator<Item = &'static str> {
    let board = include_str!("../../docs/operations/grafana.json");
    let lines = board.lines().filter(|line| line.contains("pagesieve_crawl_"));
    let lists = lines.filter_map(|line| Some(line.split_once("by (")?.1.split_once(')')?.0));
    lists.flat_map(|list| list.split(", "))
}

/// The next event of the live page.
fn event(stream: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// What a browser asks for.
fn browse(service: &Service, path: &str, headers: &str) -> BufReader<TcpStream> {
    let mut stream = service.connect();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

const HERE: &str = "Host: 127.0.0.1\r\n";

#[cfg(unix)]
#[test]
fn the_live_page_shows_what_the_metrics_count_and_ends_with_the_service() {
    let directory = tempdir().unwrap();
    let mut service = Service::start(&directory.path().join("seen.db"), &[]);
    let page = answer(browse(&service, "/", HERE).get_mut());
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{page:?}");
    let mut events = browse(&service, "/events", HERE);
    let begun = event(&mut events);
    assert_eq!((&begun["phase"], &begun["counts"]["window"]), (&json!("running"), &json!(0)));
    service.judge(&json!(documents(12)));
    for id in [json!(7), json!(7), json!("b")] {
        service.judge(&json!({ "id": id, "text": "The tide is high." }));
    }
    let shown = loop {
        let shown = event(&mut events);
        if shown["done"] == 15 {
            break shown;
        }
    };
    let metrics = service.get("/metrics").body;
    assert_eq!(shown["counts"]["unchanged"], 1);
    let judged = |verdict: &str| {
        let start = format!("pagesieve_documents_judged_total{{verdict=\"{verdict}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u64>().ok());
        count.unwrap_or(0)
    };
    for verdict in ["exact", "near", "unchanged"] {
        assert_eq!(shown["counts"][verdict], judged(verdict), "{verdict} {metrics}");
    }
    // A version with another text is new.
    assert_eq!(shown["counts"]["unique"], judged("unique") + judged("changed"), "{metrics}");
    assert_eq!(shown["counts"]["window"], shown["counts"]["unique"]);
    let last = &shown["judged"][0];
    assert_eq!(
        (&last["url"], &last["verdict"], &last["match"]),
        (&json!("b"), &json!("exact"), &json!("7"))
    );
    // A name that an attacker lets lead to this machine.
    assert_eq!(answer(browse(&service, "/", "Host: evil.test\r\n").get_mut()).status, 403);
    let pid = service.child.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert_eq!(service.child.wait().unwrap().code(), Some(143));
}

#[test]
fn the_live_page_needs_the_token_and_its_cookie_opens_nothing_else() {
    let directory = tempdir().unwrap();
    let token = directory.path().join("token");
    fs::write(&token, "a secret").unwrap();
    let more = ["--token-file", token.to_str().unwrap()];
    let service = Service::listening(&directory.path().join("seen.db"), &more);
    let get = |path: &str, headers: &str| answer(browse(&service, path, headers).get_mut());
    assert_eq!([get("/", HERE).status, get("/events", HERE).status], [401, 401]);
    let login = get("/?token=a%20secret", HERE);
    assert!(login.head.contains("set-cookie: pagesieve=a secret; HttpOnly"), "{login:?}");
    let cookie = format!("{HERE}Cookie: pagesieve=a secret\r\n");
    assert_eq!([get("/", &cookie).status, get("/v1/stats", &cookie).status], [200, 401]);
}

#[test]
fn metrics_and_the_description_of_the_routes_can_be_read() {
    let directory = tempdir().unwrap();
    let service = Service::start(&directory.path().join("seen.db"), &[]);
    service.judge(&json!(documents(12)));
    let metrics = service.get("/metrics").body;
    for name in names_of_the_board().filter(|name| !name.starts_with("pagesieve_crawl_")) {
        assert!(metrics.contains(&format!("\n{name}")), "{name}");
    }
    let plain = "# TYPE pagesieve_documents_judged_total counter";
    for (accepted, is_plain) in [
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
            false,
        ),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.7", true),
        ("text/plain", true),
        ("text/*;q=0.9, */*;q=0.8", true),
        ("*/*", false),
        ("application/openmetrics-text;q=0, */*", true),
    ] {
        let mut stream = service.connect();
        let head = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
        write!(stream, "{head}Accept: {accepted}\r\n\r\n").unwrap();
        let metrics = answer(&mut stream);
        assert_eq!(metrics.body.contains(plain), is_plain, "{accepted}");
    }
    for line in [
        "pagesieve_documents_judged_total{verdict=\"unique\"} 8",
        "pagesieve_window_documents 8",
        "pagesieve_queue_documents 0",
        "pagesieve_http_requests_total{route=\"/v1/judge\",status=\"200\"} 1",
        "# UNIT pagesieve_http_request_duration_seconds seconds",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let description = service.get("/openapi.json").json();
    let paths: Vec<_> = description["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(paths.len(), 9, "{paths:?}");
}
