//! kill -9 under load.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use jeton_core::Micros;
use jeton_disk::{DiskStore, Sync};
use jeton_testkit::random::Random;

use crate::load::{PAIRS, THREADS, charged, drive};
use crate::media::Small;
use crate::support::{START, open, quick_folder, settings};

const CHILD: &str = "JETON_DISK_TEST_CHILD";
const SPAN: Duration = Duration::from_millis(200);
/// Between an answer and its being heard of.
const GRACE: Duration = Duration::from_millis(30);

fn rounds() -> u64 {
    if jeton_testkit::laws::full_size() {
        200
    } else {
        20
    }
}

/// The process that is killed: this very test, told so by its environment.
#[test]
fn child() {
    let Some(told) = std::env::var_os(CHILD) else {
        return;
    };
    let told = told.into_string().unwrap();
    let (sync, path) = told.split_once(' ').unwrap();
    let sync = if sync == "always" {
        Sync::Always
    } else {
        Sync::Every(SPAN)
    };
    let at = settings(Path::new(path), sync);
    let store = DiskStore::open_on(Arc::new(Small), &at, Micros::new(START)).unwrap();
    drive(
        &store,
        sync != Sync::Always,
        &AtomicBool::new(false),
        &|pair| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nanswered {pair}")
                .and_then(|()| out.flush())
                .unwrap();
        },
    );
}

fn start(sync: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture"])
        .env(CHILD, format!("{sync} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// When each answer was heard of.
fn listen(child: &mut Child) -> thread::JoinHandle<Vec<(usize, Instant)>> {
    let out = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || {
        let pair = |line: &str| line.strip_prefix("answered ")?.parse().ok();
        let lines = out.lines().map_while(Result::ok);
        lines
            .filter_map(|line| Some((pair(&line)?, Instant::now())))
            .collect()
    })
}

fn heard_last(answers: &[(usize, Instant)]) -> Instant {
    answers.iter().map(|&(_, at)| at).max().unwrap()
}

/// Kills a process under load, and looks at what it left, again and again in one folder.
fn kill_again_and_again(word: &str, sync: Sync, may_be_lost: Duration) {
    let folder = quick_folder();
    let mut random = Random::new(5);
    let (mut base, mut heard) = ([0; PAIRS], 0);
    for round in 0..rounds() {
        let mut child = start(word, folder.path());
        let listener = listen(&mut child);
        // Some are killed while they start.
        let most = if round % 4 == 0 { 40 } else { 700 };
        thread::sleep(Duration::from_millis(random.between(1, most)));
        child.kill().unwrap();
        child.wait().unwrap();
        let answers = listener.join().unwrap();
        heard += answers.len();
        let found = charged(&open(folder.path(), sync, START));
        for pair in 0..PAIRS {
            let of_pair: Vec<Instant> = answers
                .iter()
                .filter(|(one, _)| *one == pair)
                .map(|&(_, at)| at)
                .collect();
            let kept = found[pair] - base[pair];
            assert!(
                kept <= of_pair.len() as u64 + THREADS,
                "round {round}: {found:?}"
            );
            // All that is missing was answered within the span.
            let first_lost = of_pair.get(usize::try_from(kept).unwrap());
            let lost = first_lost.map_or(Duration::ZERO, |at| heard_last(&answers) - *at);
            assert!(
                lost <= may_be_lost,
                "round {round}: {lost:?} of answers are missing"
            );
            if may_be_lost.is_zero() {
                assert!(first_lost.is_none(), "round {round}: an answer is missing");
            }
        }
        base = found;
    }
    assert!(heard > 1000, "only {heard} answers");
}

#[test]
fn with_always_every_answer_outlasts_kill_9() {
    kill_again_and_again("always", Sync::Always, Duration::ZERO);
}

#[test]
fn with_a_span_no_more_than_that_is_lost_to_kill_9() {
    kill_again_and_again("every", Sync::Every(SPAN), SPAN + GRACE);
}
