//! A server that speaks TLS only.
#![cfg(feature = "tls")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jeton_core::{Cost, Fit, Op, Plan, Quota, RuleId, Span, When};
use jeton_redis::{RedisStore, Settings, TroubleKind};
use jeton_testkit::redis_server::{Cluster, Server, Version, free_port};

use crate::server::{RUNTIME, submit};

fn openssl(folder: &Path, arguments: &str) {
    let done = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    assert!(done.unwrap().success(), "openssl {arguments}");
}

/// A root of our own, and a certificate for localhost that it has signed.
fn certificates(folder: &Path) {
    openssl(
        folder,
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=root -keyout root.key -out root.pem",
    );
    openssl(
        folder,
        "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr",
    );
    std::fs::write(
        folder.join("names"),
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
    )
    .unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 \
         -extfile names -out server.pem",
    );
}

/// What a server needs to speak TLS.
fn speak(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    [
        ("--tls-cert-file", path("server.pem")),
        ("--tls-key-file", path("server.key")),
        ("--tls-ca-cert-file", path("root.pem")),
        ("--tls-auth-clients", "no".to_owned()),
    ]
    .into_iter()
    .flat_map(|(name, value)| [name.to_owned(), value])
    .collect()
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn a_server_is_believed_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let port = free_port().to_string();
    let speak = speak(folder.path());
    let own = ["--tls-port", &port, "--requirepass", "secret"];
    let _server = Server::start(Version::V7_0, &[&texts(&speak), &own[..]].concat());
    let mut settings = Settings::new(format!("rediss://:secret@localhost:{port}"));
    settings.timeout = Duration::from_secs(5);
    settings.tls_root = Some(
        std::fs::read(folder.path().join("root.pem"))
            .unwrap()
            .into(),
    );
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    let quota = Quota::sliding_log(1, Span::SECOND).unwrap();
    let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
    let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
    assert_eq!(answers.plan(0).1[0].fit, Fit::Allowed);

    // Nobody else has signed it.
    settings.tls_root = None;
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    let trouble = RUNTIME.block_on(store.ready()).unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Unreachable, "{trouble}");
}

/// All lines to a cluster speak it too, and so do its nodes among themselves.
#[test]
fn a_cluster_is_believed_by_its_certificates() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let speak = speak(folder.path());
    let own = ["--tls-cluster", "yes", "--tls-replication", "yes"];
    let settings = [&texts(&speak), &own[..]].concat();
    let cluster = Cluster::start_with(Version::V7_0, 30_000, "--tls-port", &settings);
    let mut settings = Settings::new(format!("rediss-cluster://{}", cluster.hosts()));
    settings.timeout = Duration::from_secs(5);
    settings.tls_root = Some(
        std::fs::read(folder.path().join("root.pem"))
            .unwrap()
            .into(),
    );
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    let quota = Quota::sliding_log(1, Span::SECOND).unwrap();
    for number in 0..20_u64 {
        let name = number.to_be_bytes();
        let op = Op::take(RuleId::new(1), &name, &quota, Cost::ONE);
        let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
        assert_eq!(answers.plan(0).1[0].fit, Fit::Allowed);
    }
    settings.tls_root = None;
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    assert!(RUNTIME.block_on(store.ready()).is_err());
}
