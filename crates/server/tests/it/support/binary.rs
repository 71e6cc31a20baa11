//! The real `jeton` command, run to its end or kept running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Folder, eventually};

/// The command with its arguments, without anything of this terminal's.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jeton"));
    command
        .args(arguments)
        .env_remove("JETON_LOG")
        .env_remove("NO_COLOR");
    command
}

/// Runs it to its end.
pub(crate) fn jeton(arguments: &[&str]) -> Output {
    command(arguments).output().expect("jeton runs")
}

/// Runs it in a folder, with a text on its standard input.
pub(crate) fn jeton_in(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = command(arguments);
    command.current_dir(folder).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("jeton starts");
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_owned();
    // A run that stops at a bad line reads no further.
    let writing = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().expect("jeton ends");
    writing.join().expect("the input is written");
    output
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A `jeton` that keeps running. Killed at the end, unless it was told to stop.
pub(crate) struct Running {
    child: Child,
    output: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    folder: Folder,
}

/// Starts `serve`, which must end by itself; gives what it says.
pub(crate) fn refused(policy: &str) -> String {
    let folder = Folder::new();
    folder.file("jeton.toml", policy.as_bytes());
    let start = Instant::now();
    let output = jeton_in(folder.path(), &["serve"], "");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

impl Running {
    /// `jeton serve` with this policy.
    pub(crate) fn serve(policy: &str) -> Self {
        let folder = Folder::new();
        let path = folder.file("jeton.toml", policy.as_bytes());
        let arguments = ["serve", "--config", path.to_str().expect("a path")];
        Self::start(command(&arguments), folder, "  policy")
    }

    /// The same with these variables.
    pub(crate) fn serve_with(policy: &str, environment: &[(&str, &str)]) -> Self {
        let folder = Folder::new();
        let path = folder.file("jeton.toml", policy.as_bytes());
        let mut command = command(&["serve", "--config", path.to_str().expect("a path")]);
        command.envs(environment.iter().copied());
        Self::start(command, folder, "  policy")
    }

    /// `jeton serve` with the policy that stands at `path` in `folder`.
    pub(crate) fn serve_from(folder: Folder, path: &str) -> Self {
        let path = folder.path().join(path);
        let arguments = ["serve", "--config", path.to_str().expect("a path")];
        Self::start(command(&arguments), folder, "  policy")
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The same in a process that may open no more than `files`.
    pub(crate) fn serve_within(files: u32, policy: &str) -> Self {
        Self::serve_limited("-n", files, policy)
    }

    /// The same where the process itself could raise that.
    pub(crate) fn serve_with_soft_limit(files: u32, policy: &str) -> Self {
        Self::serve_limited("-S -n", files, policy)
    }

    fn serve_limited(which: &str, files: u32, policy: &str) -> Self {
        let folder = Folder::new();
        let path = folder.file("jeton.toml", policy.as_bytes());
        let script = format!("ulimit {which} {files}; exec \"$0\" serve --config \"$1\"");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_jeton")])
            .arg(path);
        shell.env_remove("JETON_LOG").env("NO_COLOR", "1");
        Self::start(shell, folder, "  policy")
    }

    /// Sets the soft limit of open files while it runs.
    pub(crate) fn limit_files(&self, files: u32) {
        self.limit(&format!("--nofile={files}:"));
    }

    /// From now on it may write to no file beyond so many bytes: to the process that is a disk without
    /// room.
    pub(crate) fn limit_file_size(&self, bytes: Option<u64>) {
        let bytes = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        self.limit(&format!("--fsize={bytes}:"));
    }

    fn limit(&self, what: &str) {
        let pid = format!("--pid={}", self.child.id());
        let status = Command::new("prlimit").args([&pid, what]).status();
        assert!(status.expect("prlimit runs").success());
    }

    /// `jeton proxy` with these flags, on a free port.
    pub(crate) fn proxy(flags: &[&str]) -> Self {
        let arguments = [&["proxy", "--listen", "127.0.0.1:0"], flags].concat();
        Self::start(command(&arguments), Folder::new(), "  worst")
    }

    /// Waits for the line that ends the banner.
    fn start(mut command: Command, folder: Folder, last: &str) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("jeton starts");
        let (output, log) = (Arc::default(), Arc::default());
        let readers = vec![
            collect(child.stdout.take().expect("its output"), &output),
            collect(child.stderr.take().expect("its log"), &log),
        ];
        let running = Self {
            child,
            output,
            log,
            readers,
            folder,
        };
        let told = || running.banner().lines().any(|line| line.starts_with(last));
        let deadline = Instant::now() + Duration::from_secs(10);
        while !told() {
            assert!(
                Instant::now() < deadline,
                "no banner: {}{}",
                running.banner(),
                running.log()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        running
    }

    /// What it has printed.
    pub(crate) fn banner(&self) -> String {
        self.output.lock().expect("output").clone()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    /// Where clients of the proxy connect.
    pub(crate) fn proxy_address(&self) -> SocketAddr {
        self.address("  proxy ")
    }

    /// Where clients of the API connect.
    pub(crate) fn api_address(&self) -> SocketAddr {
        self.address("  api ")
    }

    /// Where Redis clients connect.
    pub(crate) fn resp_address(&self) -> SocketAddr {
        self.address("  resp ")
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where Envoy connects.
    pub(crate) fn rls_address(&self) -> SocketAddr {
        self.address("  rls ")
    }

    fn address(&self, line: &str) -> SocketAddr {
        let banner = self.banner();
        let rest = banner
            .lines()
            .find_map(|found| found.strip_prefix(line))
            .expect("a line");
        let url = rest.split_whitespace().next().expect("an address");
        url.split_once("://")
            .and_then(|(_, it)| it.parse().ok())
            .expect("an address")
    }

    /// A whole value of `/metrics`: the first line that begins so.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {metrics}"))
    }

    pub(crate) fn metrics(&self) -> String {
        super::curl(&[&format!("http://{}/metrics", self.api_address())])
    }

    /// What it holds of memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.expect("a size") * 1024
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end; fails after twenty seconds.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                self.readers
                    .drain(..)
                    .for_each(|reader| reader.join().expect("read"));
                return status;
            }
            assert!(Instant::now() < deadline, "still running: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn logs(&self, what: &str) {
        eventually(what, || self.log().contains(what));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        let log = self.log();
        let clean = !log.contains("panicked");
        assert!(clean || std::thread::panicking(), "jeton panicked: {log}");
    }
}

fn collect(from: impl Read + Send + 'static, to: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let to = Arc::clone(to);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            to.lock()
                .expect("output")
                .push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}
