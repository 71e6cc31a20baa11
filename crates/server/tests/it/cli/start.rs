//! Starting and stopping: what is wrong is said with the fix, and nothing in flight is lost.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Folder;
use crate::support::binary::{Running, command, jeton, jeton_in, stderr, stdout};
use crate::support::nginx::Nginx;
use crate::support::raw::{Raw, exchange};
use crate::support::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn without_or_with_wrong_arguments_the_usage_is_shown() {
    for arguments in [
        &[][..],
        &["rule"],
        &["proxy"],
        &[
            "proxy",
            "--upstream",
            "http://a",
            "--limit",
            "1/s",
            "--burst",
            "1",
            "--strict",
        ],
        &["serve", "--port", "1"],
        &["simulate", "--svg", "out.svg"],
    ] {
        let output = jeton(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains("Usage: jeton"),
            "{}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["proxy", "--help"],
    ] {
        assert_eq!(jeton(arguments).status.code(), Some(0), "{arguments:?}");
    }
    assert_eq!(
        stdout(&jeton(&["--version"])),
        format!("jeton {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(stdout(&jeton(&["--help"])).contains("Exit status: 0 done, 1 failed"));
}

#[test]
fn wrong_flags_of_the_proxy_are_named_with_their_fix() {
    for (flags, said) in [
        (
            ["--upstream", "127.0.0.1:3000", "--limit", "1/s"],
            "\"http://127.0.0.1:3000\"",
        ),
        (
            ["--upstream", "https://a", "--limit", "1/s"],
            "plain HTTP only",
        ),
        (
            ["--upstream", "http://a/b", "--limit", "1/s"],
            "\"http://a\"",
        ),
        (["--upstream", "http://a", "--limit", "100"], "--limit"),
        (["--upstream", "http://a", "--limit", "0.5/s"], "\"1/2s\""),
        (
            ["--upstream", "unix:/x.sock", "--limit", "1/s"],
            "\"http://HOST:PORT\"",
        ),
        (
            ["--upstream", "http://a", "--limit", "0/s"],
            "--limit 1/min",
        ),
    ] {
        let output = jeton(&[&["proxy"], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(
            stderr(&output).contains(said),
            "{flags:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_burst_that_is_no_number_is_told_in_our_words() {
    let flags = ["proxy", "--upstream", "http://a", "--limit", "1/s"];
    for burst in ["x", "-1", "1.5"] {
        let output = jeton(&[&flags[..], &[&format!("--burst={burst}")]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("write --burst 20"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn the_proxy_tells_what_becomes_of_requests_without_its_key() {
    let nginx = Nginx::start();
    let flags = ["--upstream", &nginx.url(), "--limit", "9/s", "--key"];
    let proxy = Running::proxy(&[&flags[..], &["header:x-api-key"]].concat());
    crate::support::eventually("what becomes of them", || {
        proxy
            .banner()
            .contains("requests without it: one counter together")
    });
}

/// `script` gives a command a terminal.
#[test]
fn simulate_says_what_it_waits_for() {
    let folder = Folder::new();
    folder.file("jeton.toml", b"");
    let line = format!("{} simulate </dev/tty", env!("CARGO_BIN_EXE_jeton"));
    let output = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::null())
        .output();
    let said = stdout(&output.expect("script runs"));
    assert!(
        said.contains("reading events from standard input") && said.contains("Ctrl-D"),
        "{said}"
    );
    let piped = stderr(&jeton_in(folder.path(), &["simulate"], ""));
    assert_eq!(piped, "");
}

#[test]
fn a_policy_that_cannot_be_served_says_why() {
    for (policy, said) in [
        (
            "[[rule]]\nname = \"a\"\nlimit = \"deny\"\n",
            "names nothing to serve; add [proxy]",
        ),
        ("[api]\nlisten = \"0.0.0.0:0\"\n", "`token`"),
        (
            "[api]\nlisten = \"192.0.2.1:0\"\n",
            "whoever reaches it may spend",
        ),
        ("[api]\nlisten = \"127.0.0.1:0\"\ntoken = \"\"\n", "`token`"),
        ("[queue]\n", "queue"),
        ("nonsense", "jeton.toml:1"),
    ] {
        let folder = Folder::new();
        folder.file("jeton.toml", policy.as_bytes());
        let output = jeton_in(folder.path(), &["serve"], "");
        assert_eq!(output.status.code(), Some(1), "{policy}");
        assert!(
            stderr(&output).contains(said),
            "{policy}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "", "{policy}");
    }
    let output = jeton_in(Folder::new().path(), &["serve"], "");
    assert!(
        stderr(&output).contains("there is no file jeton.toml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_busy_port_is_named_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = taken.local_addr().expect("its address").to_string();
    let output = jeton(&[
        "proxy",
        "--upstream",
        "http://a",
        "--limit",
        "1/s",
        "--listen",
        &address,
    ]);
    assert_eq!(output.status.code(), Some(1));
    let said = format!(
        "cannot listen on {address}: it is in use; stop the program that listens there, or choose \
         another with --listen\n"
    );
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn the_proxy_says_what_it_does_and_how_to_get_strict() {
    let nginx = Nginx::start();
    let proxy = Running::proxy(&["--upstream", &nginx.url(), "--limit", "100/min"]);
    let reply = exchange(proxy.proxy_address(), GET);
    assert_eq!(
        (reply.status(), reply.field("ratelimit")),
        (200, Some("\"default\";r=99;t=1"))
    );
    assert_eq!(
        reply.field("ratelimit-policy"),
        Some("\"default\";q=100;w=60")
    );
    proxy.logs("");
    let banner = proxy.banner();
    for words in [
        &nginx.url(),
        "100/min per address, bursts to 100",
        "at most 200 in any 1 min",
        "one per 600 ms",
    ] {
        assert!(banner.contains(words), "{words}: {banner}");
    }
    crate::support::eventually("the way to strict", || {
        proxy
            .banner()
            .contains("--strict makes it at most 100 in any 1 min")
    });

    let strict = Running::proxy(&["--upstream", &nginx.url(), "--limit", "100/min", "--strict"]);
    assert!(
        strict
            .banner()
            .contains("worst    at most 100 in any 1 min"),
        "{}",
        strict.banner()
    );
}

#[test]
fn sigterm_and_sigint_finish_what_is_in_flight() {
    for signal in ["-TERM", "-INT"] {
        let may_answer = Arc::new(AtomicBool::new(false));
        let going = Arc::clone(&may_answer);
        let upstream = Upstream::start(move |accepted| {
            while accepted.read_request().is_some() {
                while !going.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(5));
                }
                accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate");
            }
        });
        let policy = format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n[api]\nlisten = \"127.0.0.1:0\"\n",
            upstream.url()
        );
        let mut jeton = Running::serve(&policy);
        let (proxy, api) = (jeton.proxy_address(), jeton.api_address());
        let mut client = Raw::connect(proxy);
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        crate::support::eventually("the request is in flight", || !upstream.heads().is_empty());
        jeton.signal(signal);
        jeton.logs("finishing what is in flight");
        // While the proxy drains, the API still tells how it goes.
        let ready = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        crate::support::eventually("readiness is withdrawn", || {
            exchange(api, ready).status() == 503
        });
        may_answer.store(true, Ordering::Release);
        let reply = client.read_response();
        assert_eq!((reply.status(), reply.body()), (200, "late"));
        assert_eq!(jeton.ends().code(), Some(0), "{}", jeton.log());
        assert!(jeton.log().contains("stopped"), "{}", jeton.log());
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        thread::sleep(Duration::from_secs(15));
    });
    let mut jeton = Running::proxy(&["--upstream", &upstream.url(), "--limit", "1/s"]);
    let mut client = Raw::connect(jeton.proxy_address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    crate::support::eventually("the request is in flight", || !upstream.heads().is_empty());
    let started = Instant::now();
    jeton.signal("-TERM");
    jeton.logs("finishing what is in flight");
    jeton.signal("-TERM");
    assert_eq!(jeton.ends().code(), Some(1));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn sighup_is_logged_and_ends_nothing() {
    let nginx = Nginx::start();
    let jeton = Running::proxy(&["--upstream", &nginx.url(), "--limit", "10/s"]);
    jeton.signal("-HUP");
    jeton.logs("there is no policy file to read again");
    assert_eq!(exchange(jeton.proxy_address(), GET).status(), 200);
}

#[test]
fn the_level_of_the_log_is_set_by_a_variable() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = taken.local_addr().expect("its address").to_string();
    let flags = [
        "proxy",
        "--upstream",
        "http://a",
        "--limit",
        "1/s",
        "--listen",
        &address,
    ];
    let output = command(&flags)
        .env("JETON_LOG", "loud")
        .output()
        .expect("jeton runs");
    assert!(
        stderr(&output).contains("JETON_LOG=\"loud\" is no level"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_service_serves_though_nobody_reads_its_banner() {
    let nginx = Nginx::start();
    let free = TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a free port");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let listen = free.to_string();
    let flags = [
        "proxy",
        "--upstream",
        &nginx.url(),
        "--limit",
        "9/s",
        "--listen",
        &listen,
    ];
    let mut child = command(&flags)
        .stdout(writer)
        .spawn()
        .expect("jeton starts");
    crate::support::eventually("it listens", || std::net::TcpStream::connect(free).is_ok());
    assert_eq!(exchange(free, GET).status(), 200);
    assert!(
        child.try_wait().expect("its state").is_none(),
        "still there"
    );
    child.kill().and_then(|()| child.wait()).expect("its end");
}

/// `script` gives a command a terminal.
#[test]
fn colour_is_for_terminals_and_no_color_is_heard() {
    let folder = Folder::new();
    folder.file("jeton.toml", b"nonsense\n");
    let shown = |variables: &str| {
        let line = format!("{variables} {} check", env!("CARGO_BIN_EXE_jeton"));
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(folder.path())
            .env_remove("NO_COLOR")
            .output();
        stdout(&output.expect("script runs"))
    };
    assert!(
        shown("").contains("\u{1b}[1;31merror[E001]"),
        "{}",
        shown("")
    );
    assert!(shown("NO_COLOR=").contains('\u{1b}'));
    assert!(!shown("NO_COLOR=1").contains('\u{1b}'));
    assert!(shown("NO_COLOR=1").contains("error[E001]"));
}
