//! Servers, clients and files for the tests.

pub(crate) mod admissions;
pub(crate) mod binary;
pub(crate) mod calls;
pub(crate) mod nginx;
pub(crate) mod proxy;
pub(crate) mod raw;
pub(crate) mod tools;
pub(crate) mod upstream;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Whether the sizes the project promises are asked for.
pub(crate) fn is_full() -> bool {
    std::env::var_os("JETON_FULL").is_some_and(|it| it == "1")
}

/// A folder of its own, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// For what need not outlast the machine: in memory, where there is such a place.
    pub(crate) fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::within(memory)
        } else {
            Self::new()
        }
    }

    fn within(folder: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("jeton-it-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Bytes without a pattern that a lost or doubled block could hide in.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ len as u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Waits until `is_so`; fails with `what` after five seconds.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Recovery is promised within 3 s.
pub(crate) fn within_three_seconds(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_millis(3_030), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a program the tests need, which the Makefile installs.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let ran = Command::new(program).args(arguments).output();
    ran.unwrap_or_else(|error| {
        panic!("{program}: {error}; install it, on Debian: apt-get install nginx wrk curl")
    })
}

/// What curl prints; fails if curl does.
pub(crate) fn curl(arguments: &[&str]) -> String {
    let output = run("curl", &[&["-sS", "--max-time", "60"], arguments].concat());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "curl {arguments:?}: {complaint}{printed}"
    );
    printed
}
