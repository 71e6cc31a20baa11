//! One server.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{Version, wait_until};

/// Ends the server when this process is gone, however that comes about.
const KEEPER: &str = r#""$@" >redis.log 2>&1 & echo $!; cat >/dev/null; kill -9 $!"#;

/// A server of this test's own.
#[derive(Debug)]
pub struct Server {
    socket: PathBuf,
    keeper: Child,
    pid: u32,
    folder: TempDir,
}

impl Server {
    /// Starts a server with these settings beside the usual ones: no port, nothing kept on disk.
    pub fn start(version: Version, settings: &[&str]) -> Self {
        let folder = folder();
        let socket = folder.path().join("redis.sock");
        Self::start_in(folder, version, &socket, settings)
    }

    /// Starts a server in the place of another one that was killed.
    pub fn start_at(version: Version, socket: &Path) -> Self {
        std::fs::remove_file(socket).expect("the other one left its socket");
        Self::start_in(folder(), version, socket, &[])
    }

    fn start_in(folder: TempDir, version: Version, socket: &Path, settings: &[&str]) -> Self {
        let path = socket.to_str().expect("a plain path");
        let usual = ["--port", "0", "--save", "", "--unixsocket", path];
        let arguments = [&usual, settings].concat();
        Self::run(folder, version, socket.to_owned(), &arguments)
    }

    /// Starts a sentinel that watches the primary at this port under the name `mine`.
    pub fn sentinel(version: Version, port: u16, primary: u16) -> Self {
        let folder = folder();
        let socket = folder.path().join("redis.sock");
        let settings = format!(
            "port {port}\nunixsocket {}\nsentinel monitor mine 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds mine 500\nsentinel failover-timeout mine 3000\n",
            socket.display()
        );
        let file = folder.path().join("sentinel.conf");
        std::fs::write(file, settings).expect("the folder is ours");
        Self::run(folder, version, socket, &["sentinel.conf", "--sentinel"])
    }

    fn run(folder: TempDir, version: Version, socket: PathBuf, arguments: &[&str]) -> Self {
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(version.program())
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut pid = String::new();
        let mut said = keeper.stdout.take().expect("it was piped");
        let mut byte = [0];
        while matches!(said.read(&mut byte), Ok(1)) && byte != *b"\n" {
            pid.push(char::from(byte[0]));
        }
        let server = Self {
            socket,
            pid: pid.parse().expect("a process id"),
            folder,
            keeper,
        };
        wait_until("the server is up", || server.is_up());
        server
    }

    fn is_up(&self) -> bool {
        UnixStream::connect(&self.socket).is_ok()
    }

    /// The socket at which it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The same as a URL: `unix://PATH`.
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Its process.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it runs; its log is there.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it without a word.
    pub fn kill(&self) {
        self.signal("-KILL");
    }

    /// Stops it in the middle of what it does.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.pid.to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "{signal}");
    }

    /// The answer to a command.
    pub fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, rest) = words.split_first().expect("a command has a name");
        let mut command = redis::cmd(name);
        let answer = command.arg(rest).query(&mut self.client());
        answer.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// A connection beside those of whom is tested.
    pub fn client(&self) -> redis::Connection {
        let client = redis::Client::open(self.url()).expect("a URL");
        client.get_connection().expect("it is up")
    }

    /// The number in a field of its `INFO`: up to the first character that is no digit.
    pub fn info(&self, section: &str, field: &str) -> u64 {
        let info: String = self.ask(&["INFO", section]);
        let value = info.split_once(field).map(|(_, rest)| rest);
        let value = value.unwrap_or_else(|| panic!("no {field} in {info}"));
        let end = value.find(|c: char| !c.is_ascii_digit());
        let digits = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
        digits.parse().expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for a while")
}
