//! Nodes in processes of their own, whose clocks are half a minute ahead and behind: the server's clock
//! is the one they go by.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, NamedCharge, Verb};
use jeton_testkit::redis_server::{Server, Version};

use crate::server::{RUNTIME, open, settings};

/// Where a node finds the server: its URL.
const TOLD: &str = "JETON_TEST_NODE";
const SHIFTS_S: [i64; 3] = [0, 30, -30];
const TAKES: usize = 80;

/// Moves the wall clock of a process by `SHIFT_S` seconds, as `faketime` does.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    const char *shift = getenv("SHIFT_S");
    if (!failed && clock == CLOCK_REALTIME && shift) now->tv_sec += atoll(shift);
    return failed;
}
"#;

const POLICY: &str = r#"
[api]
listen = "127.0.0.1:0"

[store]
timeout = "20s"

[[rule]]
name = "bucket"
key = "global"
algorithm = "token-bucket"
rate = "1/day"
burst = 100

[[rule]]
name = "log"
key = "global"
algorithm = "sliding-log"
limit = 100
window = "20s"

[[rule]]
name = "window"
key = "global"
algorithm = "fixed-window"
limit = 1000
window = "1d"
"#;

/// What one node says at its end.
#[derive(Debug)]
struct Said {
    granted: [usize; 2],
    /// Until the window ends, and the time it was decided at.
    reset_us: i64,
    at_us: i64,
    /// What it took the time to be.
    own_us: i64,
}

/// What this process takes the time to be.
#[allow(clippy::disallowed_methods)] // the wall clock is what is tested
fn wall_us() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(wall.as_micros()).unwrap()
}

fn act_as_node(url: &str) -> Said {
    let mut settings = settings(url.to_owned());
    "clocks:".clone_into(&mut settings.prefix);
    let store = open(&settings);
    RUNTIME.block_on(store.ready()).unwrap();
    let Ok(loaded) = Policy::load(&Source::new("jeton.toml", POLICY), &NoReferences) else {
        panic!("a policy")
    };
    let gate = Gate::new(loaded.policy, Arc::new(store), Clock::system());
    let take = |rule| {
        let charge = NamedCharge::new(rule, &[] as &[&str]);
        let answered = gate.charge(Verb::Take, &[charge]).unwrap();
        let answered = RUNTIME.block_on(answered.wait());
        assert!(!answered.is_degraded());
        answered
    };
    let granted = ["bucket", "log"].map(|rule| (0..TAKES).filter(|_| take(rule).allowed()).count());
    let answered = take("window");
    let decision = answered.decisions().next().unwrap().decision;
    let signed = |us: u64| i64::try_from(us).unwrap();
    Said {
        granted,
        reset_us: signed(decision.reset_after.as_micros()),
        at_us: signed(decision.at.get()),
        own_us: wall_us(),
    }
}

/// A node, for the test below; by itself it is the only one there is.
#[test]
fn one_of_several_nodes() {
    let Ok(url) = std::env::var(TOLD) else {
        let server = Server::start(Version::V7_0, &[]);
        let said = act_as_node(&server.url());
        assert_eq!(said.granted, [TAKES; 2]);
        return;
    };
    let said = act_as_node(&url);
    let [bucket, log] = said.granted;
    println!(
        "\nnode: {bucket} {log} {} {} {}",
        said.reset_us, said.at_us, said.own_us
    );
}

fn start(server: &Server, shim: &Path, shift_s: i64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "clocks::one_of_several_nodes", "--nocapture"])
        .env(TOLD, server.url())
        .env("LD_PRELOAD", shim)
        .env("SHIFT_S", shift_s.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(node: Child) -> Said {
    let output = node.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("node: "));
    let numbers: Vec<i64> = line
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let [bucket, log, reset_us, at_us, own_us] = numbers[..] else {
        panic!("{text}")
    };
    Said {
        granted: [bucket, log].map(|count| usize::try_from(count).unwrap()),
        reset_us,
        at_us,
        own_us,
    }
}

/// F7: nodes whose clocks are a minute apart decide as one, and tell the same reset.
#[test]
fn f7_nodes_whose_clocks_differ_decide_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let (source, shim) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&shim, &source])
        .status();
    assert!(built.unwrap().success());
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let (begun_us, start_of_it) = (wall_us(), Instant::now());
        let nodes = SHIFTS_S.map(|shift_s| start(&server, &shim, shift_s));
        let said = nodes.map(said);
        let took_us = i64::try_from(start_of_it.elapsed().as_micros()).unwrap();
        for (said, shift_s) in said.iter().zip(SHIFTS_S) {
            let since_us = begun_us..=begun_us + took_us;
            assert!(since_us.contains(&said.at_us), "{said:?}: whose clock?");
            let own_us = said.own_us - shift_s * 1_000_000;
            assert!(since_us.contains(&own_us), "{said:?}: no other clock");
        }
        // The same window, and what is left of it is told from the same clock.
        let ends_us = said.each_ref().map(|said| said.at_us + said.reset_us);
        assert!(
            ends_us.iter().all(|end_us| *end_us == ends_us[0]),
            "{said:?}"
        );
        let granted = |rule: usize| said.iter().map(|said| said.granted[rule]).sum::<usize>();
        assert_eq!(granted(0), 100, "{said:?}");
        // Those within the window of the log; nobody forgot what another one had seen.
        assert!(took_us > 20_000_000 || granted(1) == 100, "{said:?}");
    }
}
