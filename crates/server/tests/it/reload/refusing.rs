//! A file that is no good, or asks for what only a start can do, changes nothing.

use std::time::Instant;

use super::{Changing, NOTICED, five_per_hour};
use crate::support::binary::{command, stdout};
use crate::support::eventually;

const OK: &str = "jeton_config_ok";

fn is_refused(file: &Changing) -> bool {
    super::metric(&file.metrics(), OK) == 0
}

fn times(file: &Changing, what: &str) -> usize {
    file.jeton.log().matches(what).count()
}

#[test]
fn a_bad_file_changes_nothing_and_is_told_once_with_its_place() {
    let file = Changing::by(&five_per_hour(2));
    let mut client = file.client("a");
    assert_eq!(client.passes(1), 1);

    // A limit of 0 on line 10, an unknown setting on line 12.
    file.write(&format!("{}lmit = 9\n", five_per_hour(0)));
    eventually("the file is refused", || is_refused(&file));
    assert_eq!(file.generation(), 1);
    assert_eq!(client.passes(3), 1, "the policy before it still decides");

    let ready = file.call("/readyz");
    assert_eq!(ready.status(), 200);
    for place in ["jeton.toml:10:9", "jeton.toml:12:1", "lmit"] {
        assert!(ready.body().contains(place), "{place}: {}", ready.body());
    }

    // What `jeton check` says is in the log, and said once.
    let path = file.jeton.folder().path().join("jeton.toml");
    let path = path.to_str().expect("a path");
    let check = command(&["check", "--config", path]).output();
    let checked = stdout(&check.expect("jeton check"));
    std::thread::sleep(NOTICED);
    let log = file.jeton.log();
    let errors: Vec<&str> = checked
        .lines()
        .filter(|line| line.contains("error["))
        .collect();
    assert_eq!(errors.len(), 2, "{checked}");
    for line in errors {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    assert_eq!(times(&file, "was refused"), 1, "{log}");

    file.after(|| file.write(&five_per_hour(4)));
    assert!(!is_refused(&file));
    assert_eq!(file.call("/readyz").body(), "ready\n");
    file.jeton.logs("is good again");
    assert_eq!(client.passes(5), 2, "two of four were used before");
}

#[test]
fn a_file_that_is_gone_changes_nothing() {
    let file = Changing::by(&five_per_hour(2));
    let path = file.jeton.folder().path().join("jeton.toml");
    std::fs::remove_file(&path).expect("removed");
    eventually("the file is missed", || is_refused(&file));
    let ready = file.call("/readyz");
    assert!(
        ready.body().contains("there is no file"),
        "{}",
        ready.body()
    );
    std::fs::write(&path, b"\xff\xfe").expect("written");
    eventually("no text", || {
        file.call("/readyz").body().contains("not text in UTF-8")
    });
    assert_eq!(file.client("a").passes(3), 2);
    file.after(|| file.write(&five_per_hour(2)));
    assert!(!is_refused(&file));
    assert_eq!(times(&file, "was refused"), 2, "{}", file.jeton.log());
}

#[test]
fn what_only_a_start_can_do_is_refused_whole_and_by_name() {
    let file = Changing::by(&five_per_hour(2));
    let asks = file
        .text(&format!("[store]\nmax_keys = 77\n{}", five_per_hour(9)))
        .replacen("127.0.0.1:0", "127.0.0.2:0", 1);
    file.jeton.folder().file("jeton.toml", asks.as_bytes());
    eventually("the file is refused", || is_refused(&file));
    let ready = file.call("/readyz");
    assert_eq!(ready.status(), 200);
    for name in ["[proxy] listen", "[store] max_keys", "restart"] {
        assert!(ready.body().contains(name), "{name}: {}", ready.body());
        file.jeton.logs(name);
    }
    let rules = file.call("/v1/rules");
    assert!(rules.body().contains("\"reload\":null"), "{}", rules.body());
    assert!(
        rules.body().contains("[store] max_keys"),
        "{}",
        rules.body()
    );
    // Not even what could have been changed was.
    assert_eq!(file.client("a").passes(5), 2);
    assert_eq!(file.generation(), 1);

    // Asked for again: told again.
    file.hang_up();
    eventually("the refusal is told again", || {
        times(&file, "was refused") == 2
    });
    let since = Instant::now();
    file.write(&five_per_hour(9));
    file.reaches(2, since);
    assert!(!is_refused(&file));
}
