//! What was used stays used, whatever the policy is called now.

use super::{Changing, five_per_hour, metric, rule};

#[test]
fn f47_a_hundred_reloads_refill_nothing() {
    let file = Changing::by(&five_per_hour(5));
    let mut client = file.client("a");
    assert_eq!(client.passes(6), 5);
    for generation in 2..=101 {
        file.hang_up();
        file.reaches(generation, std::time::Instant::now());
    }
    assert_eq!(client.passes(5), 0);
    assert_eq!(file.client("another").passes(6), 5);
}

#[test]
fn units_owed_are_kept_when_the_limit_changes() {
    let file = Changing::by(&five_per_hour(10));
    let mut client = file.client("a");
    // Denials count for nothing (F48).
    assert_eq!(client.passes(50), 10);
    file.after(|| file.write(&five_per_hour(20)));
    assert_eq!(client.passes(30), 10);
    file.after(|| file.write(&five_per_hour(3)));
    let denied = client.ask();
    assert_eq!(denied.status(), 429);
    let remaining = denied.field("ratelimit").expect("a limit");
    assert!(remaining.contains("r=0"), "{remaining}");
    file.after(|| file.write(&five_per_hour(25)));
    assert_eq!(client.passes(30), 5);
}

#[test]
fn f49_a_raised_rate_denies_nobody() {
    let bucket = |rate: &str| {
        format!(
            "[[rule]]\nname = \"five\"\nkey = [\"header:x-user\"]\nalgorithm = \"gcra\"\n\
             rate = \"{rate}\"\nburst = 16\n"
        )
    };
    let file = Changing::by(&bucket("10/20s"));
    let mut client = file.client("a");
    assert_eq!(client.passes(3), 3);
    file.after(|| file.write(&bucket("1000/20s")));
    assert_eq!(client.passes(13), 13);
}

#[test]
fn what_became_of_each_rule_is_told() {
    let by = |key: &str| rule("c", "limit = 5\nwindow = \"1h\"").replace("header:x-user", key);
    let before = [
        rule("a", "limit = 5\nwindow = \"1h\""),
        rule("b", "limit = 5\nwindow = \"1h\""),
    ]
    .concat()
        + &by("header:x-user")
        + &rule("d", "limit = 5\nwindow = \"1h\"");
    let after = [
        rule("a", "limit = 5\nwindow = \"1h\""),
        rule("b", "limit = 6\nwindow = \"1h\""),
    ]
    .concat()
        + &by("client-ip")
        + &rule("e", "limit = 5\nwindow = \"1h\"");
    let file = Changing::by(&before);
    assert_eq!(file.client("x").passes(4), 4);
    file.after(|| file.write(&after));
    file.jeton.logs("rule d: removed");
    let log = file.jeton.log();
    for line in [
        "1 rule: kept",
        "rule b: changed, counters kept: ",
        "rule c: new counters, because of ",
        "rule d: removed",
        "rule e: added",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    assert!(!log.contains("rule a:"), "{log}");
    let rules = file.call("/v1/rules");
    for told in [
        r#""generation":2,"kept":["a"],"changed":["b"],"anew":["c","e"],"removed":["d"]"#,
        r#""refused":null"#,
    ] {
        assert!(rules.body().contains(told), "{}", rules.body());
    }
    // One unit of the old counter of `a`, two of `b`, all of `c` and `e`.
    assert_eq!(file.client("x").passes(3), 1);
}

#[test]
fn counters_never_go_down() {
    let file = Changing::by(&five_per_hour(5));
    let counter = |rule: &str, outcome: &str| {
        let name = format!("jeton_decisions_total{{rule=\"{rule}\",outcome=\"{outcome}\"}}");
        metric(&file.metrics(), &name)
    };
    assert_eq!(file.client("a").passes(8), 5);
    assert_eq!(
        (counter("five", "allowed"), counter("five", "denied")),
        (5, 3)
    );
    // In another place of the file.
    let first = rule("first", "limit = 100\nwindow = \"1h\"");
    file.after(|| file.write(&format!("{first}{}", five_per_hour(6))));
    assert_eq!(
        (counter("five", "allowed"), counter("five", "denied")),
        (5, 3)
    );
    assert_eq!(file.client("a").passes(8), 1);
    assert_eq!(
        (counter("five", "allowed"), counter("five", "denied")),
        (6, 10)
    );
    assert_eq!(
        (counter("first", "allowed"), counter("first", "withheld")),
        (1, 7)
    );
}

#[test]
fn every_section_but_those_of_the_start_is_the_new_ones() {
    let file = Changing::by(&five_per_hour(50));
    let told = file.client("a").ask();
    assert!(told.field("ratelimit").is_some() && told.field("x-ratelimit-limit").is_none());

    let legacy = "[answer]\nheaders = \"legacy-delta\"\n";
    file.after(|| file.write(&format!("{legacy}{}", five_per_hour(50))));
    let told = file.client("a").ask();
    assert!(told.field("ratelimit").is_none() && told.field("x-ratelimit-limit").is_some());

    let blocked = "[lists]\nblock = [\"127.0.0.0/8\"]\n";
    file.after(|| file.write(&format!("{blocked}{}", five_per_hour(50))));
    assert_eq!(file.client("a").ask().status(), 403);

    // Whose word about the client is believed, on a connection that is there already.
    let by_address = "[[rule]]\nname = \"five\"\nkey = [\"client-ip\"]\nalgorithm = \
                      \"sliding-log\"\nlimit = 1\nwindow = \"1h\"\n";
    file.after(|| file.write(by_address));
    let mut client = file.client("a");
    client.head = client.head.replace(
        "X-User",
        "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\nX-User",
    );
    assert_eq!(client.passes(2), 1, "known by its own address");
    let trusting = "[client_ip]\nheader = \"x-forwarded-for\"\ntrusted = [\"127.0.0.0/8\"]\n";
    file.after(|| file.write(&format!("{trusting}{by_address}")));
    assert_eq!(client.passes(2), 1, "known by what it says");
    let heads = file.upstream.heads();
    let schemes: Vec<bool> = heads
        .iter()
        .map(|head| head.contains("x-forwarded-proto: https"))
        .collect();
    assert_eq!(schemes[schemes.len() - 2..], [false, true], "{heads:?}");
}
