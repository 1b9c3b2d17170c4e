//! The address of a server, the password for it, and connections to it.

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
    pin::Pin,
    str::FromStr,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use rustls::{
    ClientConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{
    Client, Config, Socket,
    config::{Host, SslMode, TargetSessionAttrs},
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio_rustls::{TlsConnector, client};

use super::{ClusterError, refused};

/// How long a connection may take, and a server be silent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The address of a window or crawl that is shared: `postgres://USER@HOST:PORT/DATABASE#NAME`. It has no password: that comes from
/// `PGPASSWORD`, or from the file that `PGPASSFILE` names (`~/.pgpass`).
///
/// Other hosts than this one are spoken to by TLS, and their certificates verified; `?sslmode=disable` switches it off, `?sslmode=verify-full` on for
/// this one too, and `PGSSLROOTCERT` names a file of further authorities.
#[derive(Clone, Debug)]
pub struct Address {
    /// As it was given, with the name.
    shown: String,
    config: Config,
    /// Of the schema.
    name: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Whether a text means a server, and no file.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// The same address of what has this name, unless it has one.
    #[must_use]
    pub fn or_named(mut self, name: &str) -> Self {
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
            self.shown = format!("{}#{name}", self.shown);
        }
        self
    }

    /// The schema.
    pub(super) fn schema(&self) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let name = if self.name.is_empty() { "window" } else { &self.name };
        let safe: String = name.chars().map(safe).take(30).collect();
        // Two names may differ in other characters.
        let hash = xxhash_rust::xxh3::xxh3_64(name.as_bytes());
        format!("pagesieve_{safe}_{:08x}", hash >> 32)
    }

    /// The number of the schema among locks.
    pub(super) fn lock(&self) -> i32 {
        let hash = xxhash_rust::xxh3::xxh3_64(self.schema().as_bytes());
        i32::try_from(hash >> 33).unwrap_or(0)
    }

    /// Connects, as a session with these settings. The connection works on the runtime that this is called on.
    pub(super) async fn connect(&self, settings: &str) -> Result<Client, tokio_postgres::Error> {
        let mut config = self.config.clone();
        let options = format!(
            "-c search_path={} -c idle_in_transaction_session_timeout=5s {settings}",
            self.schema()
        );
        config.options(options);
        let (client, connection) = config.connect(Tls).await?;
        // It ends with the client.
        drop(tokio::runtime::Handle::current().spawn(connection));
        Ok(client)
    }
}

impl FromStr for Address {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let (url, name) = text.split_once('#').unwrap_or((text, ""));
        // What libpq calls `verify-full` is what is always done. The error of the parser has nothing of the text.
        let config = url
            .replace("sslmode=verify-full", "sslmode=require")
            .parse::<Config>()
            .ok()
            .filter(|config| Self::is_meant(url) && !config.get_hosts().is_empty());
        let Some(mut config) = config else {
            return refused("the address of the server cannot be read: write postgres://USER@HOST:PORT/DATABASE".to_owned());
        };
        if config.get_password().is_some() {
            return refused("the address has a password, which every user of this machine can read: put it into PGPASSWORD, or into the file that PGPASSFILE names".to_owned());
        }
        if let Some(password) = password(&config) {
            config.password(password);
        }
        let is_given = url.contains("sslmode=");
        if !is_given && !config.get_hosts().iter().all(is_here) {
            config.ssl_mode(SslMode::Require);
        }
        config.connect_timeout(PATIENCE).tcp_user_timeout(2 * PATIENCE).keepalives_idle(PATIENCE);
        config.application_name("pagesieve").target_session_attrs(TargetSessionAttrs::ReadWrite);
        Ok(Self { shown: text.to_owned(), config, name: name.to_owned() })
    }
}

/// Whether a host is this one.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The password of the environment, or of PostgreSQL's file of passwords.
fn password(config: &Config) -> Option<String> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Some(password);
    }
    let home = || Some(env::home_dir()?.join(".pgpass"));
    let file = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    let text = fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.as_str(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost",
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [host, &port, config.get_dbname().unwrap_or(user), user];
    let of_line = |line: &str| {
        let mut fields = line.splitn(5, ':');
        let fits = wanted.iter().all(|it| fields.next().is_some_and(|is| is == "*" || is == *it));
        fits.then(|| fields.next().map(str::to_owned))?
    };
    text.lines().find_map(of_line)
}

fn roots(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let pem = fs::read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    found.map_err(|error| io::Error::other(error.to_string()))
}

/// How certificates are verified, or an error that says why they cannot be. To read the authorities takes longer than to connect, so they are read once, and only
/// if a server speaks TLS.
fn tls() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let roots = env::var_os("PGSSLROOTCERT").map(|file| roots(Path::new(&file)));
    let roots = roots.transpose().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read PGSSLROOTCERT");
        None
    });
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = match roots {
        Some(roots) => Verifier::new_with_extra_roots(roots, Arc::clone(&provider)),
        None => Verifier::new(Arc::clone(&provider)),
    };
    let verifier = Arc::new(verifier.map_err(io::Error::other)?);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::clone(CONFIG.get_or_init(|| Arc::new(config))))
}

/// Makes connections by TLS, if the server speaks it.
#[derive(Clone)]
struct Tls;

struct TlsTo(String);

struct Stream(Box<client::TlsStream<Socket>>);

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = TlsTo;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<TlsTo> {
        Ok(TlsTo(domain.to_owned()))
    }
}

impl TlsConnect<Socket> for TlsTo {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = TlsConnector::from(tls()?);
            let name = ServerName::try_from(self.0).map_err(io::Error::other)?;
            Ok(Stream(Box::new(connector.connect(name, socket).await?)))
        })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_wrong_with_it_and_never_shows_a_password() {
        let refused = |text: &str| text.parse::<Address>().unwrap_err().to_string();
        assert!(refused("mysql://a/b").contains("postgres://"));
        assert!(refused("postgres:///b").contains("postgres://USER@HOST"));
        let with_password = refused("postgres://me:secret@example.org/b");
        assert!(with_password.contains("PGPASSWORD") && !with_password.contains("secret"));
        let address: Address = "postgres://me@127.0.0.1:5433/b#News".parse().unwrap();
        assert!(address.schema().starts_with("pagesieve_news_"), "{}", address.schema());
        let mut config = address.config.clone();
        config.password("secret");
        assert!(!format!("{:?}", Address { config, ..address.clone() }).contains("secret"));
        assert_eq!(format!("{address}"), "postgres://me@127.0.0.1:5433/b#News");
    }

    #[test]
    fn other_hosts_are_spoken_to_by_tls() {
        let mode = |text: &str| text.parse::<Address>().unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://me@db.example.org/b"), SslMode::Require);
        assert_eq!(mode("postgres://me@db.example.org/b?sslmode=disable"), SslMode::Disable);
        assert_ne!(mode("postgres://me@localhost/b"), SslMode::Require);
        assert_eq!(mode("postgres://me@localhost/b?sslmode=verify-full"), SslMode::Require);
    }
}
