//! A PostgreSQL server of a test's own, on loopback: it can be killed, frozen and started again.

use std::{
    env, fs,
    io::Read,
    net::TcpListener,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::data::skip;

/// It ends when this is dropped, or the process of the test.
pub(crate) struct Postgres {
    directory: TempDir,
    port: u16,
    user: Option<u32>,
    running: Option<Child>,
}

/// A server that all tests share which do it no harm; `None` after a loud note if there can be none.
pub(crate) fn postgres() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let server = SERVER.get_or_init(Postgres::start).as_ref();
    if server.is_none() {
        skip_without_server();
    }
    server
}

pub(crate) fn skip_without_server() {
    skip("no PostgreSQL server: install the package `postgresql`");
}

impl Postgres {
    /// Starts a server; `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        Self::start_in(directory)
    }

    pub(crate) fn start_in(directory: TempDir) -> Option<Self> {
        binary("initdb")?;
        // It does not run as root.
        let is_root = id(&[]) == Some(0);
        let user =
            if is_root { Some(id(&["postgres"]).or_else(|| id(&["nobody"]))?) } else { None };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut this = Self { directory, port, user, running: None };
        if let Some(user) = user {
            std::os::unix::fs::chown(this.directory.path(), Some(user), None).unwrap();
        }
        let made = this
            .command("initdb")
            .args(["--username=test", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(this.data())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        this.resume();
        Some(this)
    }

    /// The address of what has this name.
    pub(crate) fn address(&self, name: &str) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres#{name}", self.port)
    }

    /// Speaks TLS from now on, with this certificate and key (PEM).
    pub(crate) fn secure(&self, certificate: &str, key: &str) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&path, self.user, None).unwrap();
        }
        self.sql("ALTER SYSTEM SET ssl = on").unwrap();
        self.sql("SELECT pg_reload_conf()").unwrap();
        let began = Instant::now();
        while self.sql("SELECT bool_or(ssl) FROM pg_stat_ssl").as_deref() != Some("t") {
            assert!(began.elapsed() < Duration::from_mins(1), "{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills all of its processes.
    pub(crate) fn kill(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let all = self.processes();
        for pid in &all {
            signal("-KILL", pid);
        }
        drop(running.stdin.take());
        running.wait().unwrap();
        while all.iter().any(|pid| Path::new("/proc").join(pid).exists()) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it in order, though not for those who use it.
    pub(crate) fn stop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        signal("-INT", &self.pid().to_string());
        // The end of the pipe would end it at once, as a crash does. It removes this file last.
        while self.data().join("postmaster.pid").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(running.stdin.take());
        running.wait().unwrap();
    }

    /// Starts it again, and waits until it answers.
    pub(crate) fn resume(&mut self) {
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        // It ends when the pipe closes, also if the test is killed.
        let script = "\"$@\" & server=$!; cat > /dev/null; kill -QUIT $server; wait $server";
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(binary("postgres").unwrap())
            .arg("-D")
            .arg(self.data());
        let settings = [
            format!("port={}", self.port),
            format!("unix_socket_directories={}", self.directory.path().display()),
            "listen_addresses=127.0.0.1".to_owned(),
            "fsync=off".to_owned(),
            "max_connections=64".to_owned(),
            "shared_buffers=64MB".to_owned(),
        ];
        for setting in settings {
            command.args(["-c", &setting]);
        }
        if let Some(user) = self.user {
            command.uid(user);
        }
        let log = fs::File::create(self.directory.path().join("log")).unwrap();
        command.current_dir("/").stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        self.running = Some(command.spawn().unwrap());
        let began = Instant::now();
        while self.sql("SELECT 1").as_deref() != Some("1") {
            assert!(began.elapsed() < Duration::from_mins(1), "{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops or continues all of its processes.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        let how = if is_frozen { "-STOP" } else { "-CONT" };
        for pid in self.processes() {
            signal(how, &pid);
        }
    }

    /// The server first, which then makes no more of them when it is stopped.
    fn processes(&self) -> Vec<String> {
        let postmaster = self.pid().to_string();
        let children = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let children = children.split_whitespace().map(str::to_owned);
        std::iter::once(postmaster).chain(children).collect()
    }

    /// The first value that a query gives; `None` if it fails.
    pub(crate) fn sql(&self, sql: &str) -> Option<String> {
        let output = Command::new(binary("psql")?)
            .args(["-h", "127.0.0.1", "-U", "test", "-XAtq", "-d", "postgres", "-c", sql, "-p"])
            .arg(self.port.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| text.trim().to_owned())
    }

    /// The seconds of CPU time of all its processes.
    pub(crate) fn cpu(&self) -> f64 {
        let ticks = |pid: &str, from: usize| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            fields.skip(from).take(2).map(|it| it.parse::<f64>().unwrap_or(0.0)).sum::<f64>()
        };
        let postmaster = self.pid().to_string();
        let children = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let alive: f64 = children.split_whitespace().map(|pid| ticks(pid, 11)).sum();
        // Those that have ended count for their parent.
        (alive + ticks(&postmaster, 11) + ticks(&postmaster, 13)) / 100.0
    }

    fn log(&self) -> String {
        let mut text = String::new();
        let log = fs::File::open(self.directory.path().join("log"));
        log.and_then(|mut log| log.read_to_string(&mut text)).unwrap();
        text
    }

    fn pid(&self) -> u32 {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(binary(name).unwrap());
        command.current_dir("/");
        if let Some(user) = self.user {
            command.uid(user);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.stdin.take());
            running.wait().unwrap();
        }
    }
}

/// A program of PostgreSQL: of the newest version that is installed, or of the path.
fn binary(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> =
        versions.filter_map(|it| Some(it.ok()?.path().join("bin").join(name))).collect();
    found.sort();
    let path = env::var_os("PATH").unwrap_or_default();
    let of_path = env::split_paths(&path).map(|it| it.join(name)).collect::<Vec<_>>();
    found.into_iter().rev().chain(of_path).find(|it: &PathBuf| Path::exists(it))
}

/// The number of a user.
fn id(name: &[&str]) -> Option<u32> {
    let output = Command::new("id").arg("-u").args(name).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

pub(crate) fn signal(how: &str, pid: &str) {
    // It may be gone.
    let _ = Command::new("kill").args([how, pid]).stderr(Stdio::null()).status();
}
