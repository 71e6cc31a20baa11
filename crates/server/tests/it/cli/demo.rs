//! `jeton demo`: what it prints was counted, and adds up.

use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Instant;

use crate::support::binary::{jeton, stderr, stdout};

/// Both demos of these tests want the same ports.
static STAGE: Mutex<()> = Mutex::new(());

/// All numbers of a line, their groups joined.
fn numbers(line: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut digits = String::new();
    for piece in line.split(' ') {
        let plain = piece.trim_end_matches([',', '.', ';']);
        let grouped = !digits.is_empty() && plain.len() == 3;
        if plain.chars().all(|c| c.is_ascii_digit()) && !plain.is_empty() {
            if !grouped && !digits.is_empty() {
                numbers.push(digits.parse().expect("a number"));
                digits.clear();
            }
            digits.push_str(plain);
        } else if !digits.is_empty() {
            numbers.push(digits.parse().expect("a number"));
            digits.clear();
        }
    }
    numbers
}

#[test]
fn the_numbers_of_the_demo_add_up() {
    let _stage = STAGE.lock();
    let started = Instant::now();
    let output = jeton(&["demo", "--for", "2s"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(started.elapsed().as_secs() < 8, "{:?}", started.elapsed());

    let line = |mark: &str| {
        text.lines()
            .find(|line| line.contains(mark))
            .expect(mark)
            .to_owned()
    };
    assert!(
        line("  proxy ").contains("2/s per client, bursts to 10"),
        "{text}"
    );
    assert!(line("  api ").contains("/metrics"), "{text}");
    let honest = numbers(&line("honest clients"));
    let [9, honest_passed, honest_asked] = honest[..] else {
        panic!("{honest:?}")
    };
    let spammer = numbers(&line("spammer"));
    let [1, spam_passed, spam_asked] = spammer[..] else {
        panic!("{spammer:?}")
    };
    assert_eq!((honest_passed, honest_asked), (18, 18), "{text}");
    assert_eq!(spam_asked, 200, "{text}");
    // Burst 10, and 2/s over the two seconds; a slow machine stretches them a little.
    assert!((13..=20).contains(&spam_passed), "{text}");
    let total = numbers(text.lines().last().expect("a total"));
    let passed = honest_passed + spam_passed;
    assert_eq!(total, [218, passed, 218 - passed], "{text}");
    assert!(text.ends_with("no honest client was refused.\n"), "{text}");
    assert!(
        !text.contains('\u{1b}') && stderr(&output).is_empty(),
        "{}",
        stderr(&output)
    );
}

#[test]
fn busy_ports_are_left_to_others() {
    let _stage = STAGE.lock();
    // Whoever holds them already serves as well.
    let _taken = [8080, 7070].map(|port| TcpListener::bind(("127.0.0.1", port)));
    let output = jeton(&["demo", "--for", "1s"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    for port in [8080, 7070] {
        assert!(
            text.contains(&format!(
                "127.0.0.1:{port} is in use, so a free port is used"
            )),
            "{text}"
        );
    }
    assert!(!text.contains("http://127.0.0.1:8080"), "{text}");
}

#[test]
fn a_duration_without_unit_is_refused() {
    let output = jeton(&["demo", "--for", "10"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("10s"), "{}", stderr(&output));
}
