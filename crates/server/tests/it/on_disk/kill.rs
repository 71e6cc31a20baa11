//! kill -9 under load over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::{Data, PATIENT, left};
use crate::support::binary::Running;
use crate::support::is_full;

const THREADS: usize = 16;
const KEYS: usize = 4;
const LIMIT: u64 = 1_000_000_000;

const MANY: &str = r#"
[[rule]]
name = "user"
key = ["header:x-user"]
algorithm = "fixed-window"
limit = 1_000_000_000
window = "1d"
anchor = "first-request"
"#;

fn rounds() -> u64 {
    if is_full() { 40 } else { 4 }
}

/// Takes one after the other on one connection, until it breaks; when each was answered.
fn drive(api: SocketAddr, key: &str) -> Vec<Instant> {
    let body = format!("{{\"rule\":\"user\",\"key\":\"{key}\"}}");
    let request = format!(
        "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut answers = Vec::new();
    let Ok(mut stream) = TcpStream::connect(api) else {
        return answers;
    };
    stream.set_nodelay(true).expect("no delay");
    let mut buffer = [0; 4096];
    while stream.write_all(request.as_bytes()).is_ok() {
        let mut text = String::new();
        while !text.ends_with("]}") {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return answers,
                Ok(count) => text += &String::from_utf8_lossy(&buffer[..count]),
            }
        }
        assert!(
            text.contains("\"allowed\":true") && !text.contains("degraded"),
            "{text}"
        );
        answers.push(Instant::now());
    }
    answers
}

/// What each thread was answered, until the process was killed.
fn until_killed(node: &mut Running, after: Duration) -> Vec<(usize, Vec<Instant>)> {
    let api = node.api_address();
    thread::scope(|scope| {
        let drivers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let key = thread % KEYS;
                (key, scope.spawn(move || drive(api, &format!("k{key}"))))
            })
            .collect();
        thread::sleep(after);
        node.signal("-KILL");
        node.ends();
        let heard = |(key, driver): (usize, thread::ScopedJoinHandle<'_, Vec<Instant>>)| {
            (key, driver.join().expect("it ends"))
        };
        drivers.into_iter().map(heard).collect()
    })
}

/// Kills a process under load, and looks at what it left, again and again in one folder.
fn kill_again_and_again(sync: &str, may_be_lost: Option<Duration>) {
    let data = Data::new();
    let store = format!("sync = \"{sync}\"\n{PATIENT}\non_failure = \"deny\"");
    let total = AtomicU64::new(0);
    let mut base = [0; KEYS];
    for round in 0..rounds() {
        let mut node = data.serve(&store, MANY);
        let after = Duration::from_millis(150 + 170 * (round % 4));
        let answers = until_killed(&mut node, after);
        let node = data.serve(&store, MANY);
        let last = answers.iter().filter_map(|(_, heard)| heard.last()).max();
        let last = *last.expect("some answers");
        for (key, base) in base.iter_mut().enumerate() {
            let of_key = answers.iter().filter(|(of, _)| *of == key);
            let mut heard: Vec<Instant> = of_key.flat_map(|(_, heard)| heard.clone()).collect();
            heard.sort();
            total.fetch_add(heard.len() as u64, Relaxed);
            let used = LIMIT - left(&node, &format!("k{key}"));
            let kept = usize::try_from(used - *base).expect("few");
            // Each connection may have had one on its way.
            let most = heard.len() + THREADS / KEYS;
            assert!(kept <= most, "{round}: {kept} of {}", heard.len());
            match (heard.get(kept), may_be_lost) {
                (None, _) => {}
                (Some(first), Some(span)) => {
                    let missing = last - *first;
                    assert!(
                        missing <= span,
                        "{round}: {missing:?} of answers are missing"
                    );
                }
                (Some(_), None) => panic!("{round}: {kept} of {} answers", heard.len()),
            }
            *base = used;
        }
        drop(node);
    }
    let total = total.into_inner();
    assert!(total > 100 * rounds(), "only {total} answers");
}

#[test]
fn with_always_every_answer_outlasts_kill_9() {
    kill_again_and_again("always", None);
}

#[test]
fn with_a_span_no_more_than_that_is_lost_to_kill_9() {
    // Between an answer and its being heard of.
    let grace = Duration::from_millis(30);
    kill_again_and_again("100ms", Some(Duration::from_millis(100) + grace));
}
