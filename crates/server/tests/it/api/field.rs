//! Faults met in the field, again through the API: the arithmetic of time, windows, bursts and
//! costs as a client of the API meets it.

use serde_json::{Value, json};

use super::desk::{DAY, Desk, H, MIN, MS, S};

/// An API to one rule `a`.
fn desk(quota: &str) -> Desk {
    Desk::new(&format!(
        "[[rule]]\nname = \"a\"\nkey = [\"client-ip\"]\n{quota}\n"
    ))
}

fn bucket(rate: &str, burst: u64) -> Desk {
    desk(&format!(
        "algorithm = \"gcra\"\nrate = \"{rate}\"\nburst = {burst}"
    ))
}

fn window(algorithm: &str, limit: u64, window: &str) -> Desk {
    desk(&format!(
        "algorithm = \"{algorithm}\"\nlimit = {limit}\nwindow = \"{window}\""
    ))
}

/// Ten units, by every algorithm.
fn tens() -> Vec<Desk> {
    let windows = ["fixed-window", "sliding-log", "sliding-counter"];
    let windows = windows
        .into_iter()
        .map(|algorithm| window(algorithm, 10, "1m"));
    windows.chain([bucket("10/min", 10)]).collect()
}

#[test]
fn f1_a_clock_that_goes_back_costs_nobody_anything() {
    let desk = bucket("1/s", 5);
    let asked = [10_000, 4_000, 4_000, 4_000, 4_000, 4_000];
    let answers = asked.map(|ms| desk.at(ms * MS).take("k", 1));
    let allowed: Vec<bool> = answers.iter().map(super::desk::Answer::allowed).collect();
    assert_eq!(allowed, [true, true, true, true, true, false]);
    assert!(answers[5].retry_after_ms().expect("a wait") <= 1_000);
}

#[test]
fn f2_an_absurd_cost_is_impossible_and_costs_nothing() {
    let desk = bucket("1/86400s", 1);
    for cost in [200_000_000, u64::MAX] {
        let never = desk.take("k", cost);
        assert!(!never.allowed());
        assert_eq!(
            (&never.body["impossible"], never.retry_after_ms()),
            (&json!(true), None)
        );
    }
    assert!(desk.take("k", 1).allowed());
}

#[test]
fn f3_fast_rates_are_exact() {
    let desk = bucket("65535/s", 65_535);
    for step in 0..20 {
        assert_eq!(desk.at(step * 100 * MS).take("k", 1).remaining(), 65_534);
    }
    let desk = bucket("2000/s", 1);
    let passed = (0..4_000).filter(|step| desk.at(step * S / 4_000).take("k", 1).allowed());
    assert!((1_999..=2_001).contains(&passed.count()));
}

#[test]
fn f4_f20_a_word_says_none_or_all_and_0_is_refused() {
    for (limit, allowed, reason) in [("deny", false, "deny"), ("unlimited", true, "unlimited")] {
        let desk = desk(&format!("limit = \"{limit}\""));
        for _ in 0..3 {
            let answer = desk.take("k", 1);
            assert_eq!(
                (answer.allowed(), &answer.body["reason"]),
                (allowed, &json!(reason))
            );
            assert_eq!(answer.retry_after_ms(), None);
        }
    }
    let wrong = "[[rule]]\nname = \"a\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"0/s\"\n";
    let source = jeton::policy::Source::new("jeton.toml", wrong);
    let refused = jeton::policy::Policy::load(&source, &jeton::policy::NoReferences);
    let report = refused.expect_err("refused").to_string();
    assert!(
        report.contains("deny") && report.contains("unlimited"),
        "{report}"
    );
    let desk = bucket("1/s", 1);
    for setting in [
        json!({ "burst": 0 }),
        json!({ "rate": "0/s" }),
        json!({ "limit": 0 }),
    ] {
        let refused = desk.call(http::Method::PUT, "/v1/overrides/a/k", &setting);
        assert_eq!(refused.status, 400, "{setting}: {}", refused.text);
    }
}

#[test]
fn f5_waits_are_whole_seconds_of_at_least_one() {
    let desk = bucket("5/s", 1);
    assert!(desk.take("k", 1).allowed());
    let body = json!({ "rule": "a", "key": "k" });
    let denied = desk.at(50 * MS).post("/v1/take?deny=429", &body);
    assert_eq!(
        (denied.status, denied.field("retry-after")),
        (429, Some("1"))
    );
    assert_eq!(denied.retry_after_ms(), Some(150));
    for step in 0..150 {
        let denied = desk
            .at(50 * MS + step * 999)
            .post("/v1/check?deny=429", &body);
        if denied.status == 429 {
            assert_eq!(denied.field("retry-after"), Some("1"));
            assert!((1..=150).contains(&denied.retry_after_ms().expect("a wait")));
        }
    }
}

#[test]
fn f6_a_year_is_a_year() {
    let desk = window("sliding-log", 5, "365d");
    assert_eq!(desk.passed(6), 5);
    for (day, allowed) in [(25, false), (50, false), (366, true)] {
        assert_eq!(
            desk.at(day * DAY).check("k", 1).allowed(),
            allowed,
            "day {day}"
        );
    }
}

#[test]
fn f8_numbers_cross_exactly() {
    let desk = bucket("1/400ms", 1);
    assert!(desk.take("k", 1).allowed());
    assert_eq!(desk.take("k", 1).retry_after_ms(), Some(400));
    let desk = window("fixed-window", 1_000_000_000, "1d");
    let taken = desk.take("k", 999_999_998);
    assert_eq!(
        (taken.remaining(), &taken.body["decisions"][0]["limit"]),
        (2, &json!(1_000_000_000))
    );
}

#[test]
fn f9_burst_n_never_admits_one_more() {
    let desk = bucket("5/s", 5);
    assert_eq!(desk.passed(6), 5);
    assert_eq!(desk.at(2 * S).passed(6), 5);
    let desk = bucket("5/s", 1);
    assert_eq!(desk.passed(2), 1);
}

#[test]
fn f10_a_bucket_passes_burst_and_refill_a_log_only_the_limit() {
    let tries = |desk: &Desk| {
        (0..60)
            .filter(|i| desk.at(i * 500 * MS).take("k", 1).allowed())
            .count()
    };
    let passed = tries(&bucket("17/30s", 17));
    assert!((30..=34).contains(&passed), "{passed}");
    assert_eq!(tries(&window("sliding-log", 17, "30s")), 17);
}

#[test]
fn f11_no_fraction_of_a_token_is_lost_or_invented() {
    let desk = bucket("10/30s", 10);
    let denied: Vec<u64> = (0..=18)
        .filter(|s| !desk.at(s * S).take("k", 1).allowed())
        .collect();
    assert_eq!(denied, [14, 16, 17]);
    let desk = bucket("3/s", 3);
    let (mut last, mut passed) = (3, 0);
    for step in 0..100 {
        let answer = desk.at(step * 100 * MS).take("k", 1);
        passed += usize::from(answer.allowed());
        assert!(answer.remaining() <= last + 1);
        last = answer.remaining();
    }
    assert!((31..=33).contains(&passed), "{passed}");
}

#[test]
fn f12_a_sliding_counter_of_one_works() {
    let desk = window("sliding-counter", 1, "10s");
    for (second, allowed) in [(0, true), (5, false), (20, true)] {
        assert_eq!(
            desk.at(second * S).take("k", 1).allowed(),
            allowed,
            "{second} s"
        );
    }
}

#[test]
fn f13_a_hit_leaves_one_window_after_it_came() {
    let desk = window("sliding-log", 10, "1h");
    assert!(desk.take("k", 1).allowed());
    assert!(desk.at(59 * MIN).take("k", 8).allowed());
    assert_eq!(desk.at(61 * MIN).passed(3), 2);
    let desk = window("sliding-log", 5, "10s");
    assert_eq!(desk.passed(5), 5);
    let answer = desk.at(10_001 * MS).take("k", 1);
    assert_eq!((answer.allowed(), answer.remaining()), (true, 4));
}

#[test]
fn f14_only_a_fixed_window_lets_twice_the_limit_pass_its_edge() {
    for (algorithm, expected) in [
        ("fixed-window", 20),
        ("sliding-log", 10),
        ("sliding-counter", 10),
    ] {
        let desk = window(algorithm, 10, "1m");
        let passed = desk.at(59 * S).passed(10) + desk.at(61 * S).passed(10);
        assert_eq!(passed, expected, "{algorithm}");
    }
}

#[test]
fn f15_a_wait_counts_from_now() {
    let desk = window("fixed-window", 2, "20s");
    assert_eq!(desk.passed(2), 2);
    assert_eq!(desk.at(19 * S).take("k", 1).retry_after_ms(), Some(1_000));
    let desk = bucket("1/s", 1);
    assert!(desk.take("k", 1).allowed());
    assert_eq!(desk.at(200 * MS).take("k", 1).retry_after_ms(), Some(800));
}

#[test]
fn f16_the_oldest_entry_tells_the_wait() {
    let desk = window("sliding-log", 3, "60s");
    for second in [0, 20, 40] {
        assert!(desk.at(second * S).take("k", 1).allowed());
    }
    assert_eq!(desk.at(45 * S).take("k", 1).retry_after_ms(), Some(15_000));
}

#[test]
fn f17_a_cost_above_the_limit_is_always_refused() {
    for desk in tens() {
        assert!(desk.take("k", 5).allowed());
        let never = desk.take("k", 100);
        assert_eq!((never.allowed(), never.remaining()), (false, 5));
        assert_eq!(never.body["impossible"], true);
    }
}

#[test]
fn f18_a_refused_request_consumes_nothing() {
    for desk in tens() {
        assert!(desk.take("k", 8).allowed());
        assert!(!desk.take("k", 5).allowed());
        let last = desk.take("k", 1);
        assert_eq!((last.allowed(), last.remaining()), (true, 1));
    }
}

#[test]
fn f19_looking_takes_nothing_and_giving_back_is_bounded() {
    let give = |desk: &Desk, units: u64| {
        desk.post(
            "/v1/refund",
            &json!({ "rule": "a", "key": "k", "cost": units }),
        )
    };
    for desk in tens() {
        assert!(desk.check("nobody", 1).allowed());
        let keys = desk.get("/metrics").text;
        assert!(
            keys.contains("jeton_keys 0\n"),
            "a look creates no key: {keys}"
        );
        assert!(desk.take("k", 10).allowed());
        let look = desk.check("k", 1);
        assert_eq!((look.allowed(), look.remaining()), (false, 0));
        assert!(look.retry_after_ms().expect("a wait") > 0);
        let looked = desk.take("k", 0);
        assert_eq!(
            (looked.allowed(), looked.remaining()),
            (true, 0),
            "0 looks, and is not in debt"
        );
        assert_eq!(give(&desk, 1).remaining(), 1);
        assert!(desk.take("k", 1).allowed());
        assert_eq!(give(&desk, 100).remaining(), 10, "and not 110");
        assert_eq!(desk.passed(11), 10);
    }
}

#[test]
fn f25_a_cancelled_reservation_leaves_what_would_have_been() {
    let desk = bucket("10/s", 20);
    let reserve = |cost: u64| {
        desk.post(
            "/v1/reserve",
            &json!({ "rule": "a", "key": "k", "cost": cost }),
        )
    };
    let first = reserve(15);
    assert_eq!((first.allowed(), first.remaining()), (true, 5));
    assert!(first.body["handle"].is_string());
    let second = reserve(10);
    assert!(!second.allowed());
    assert_eq!(
        second.body["handle"],
        Value::Null,
        "a refused reservation changes nothing"
    );
    assert_eq!(desk.check("k", 1).remaining(), 5);
    let cancel = json!({ "handle": first.body["handle"] });
    assert_eq!(desk.post("/v1/cancel", &cancel).remaining(), 20);
    for again in 0..2 {
        let answer = desk.post("/v1/cancel", &cancel);
        assert_eq!(
            (answer.remaining(), &answer.body["repeated"]),
            (20, &json!(true)),
            "{again}"
        );
    }
    assert_eq!(desk.passed(21), 20);
}

#[test]
fn f31_each_key_and_rule_has_its_own_end() {
    let desk = Desk::new(
        "[[rule]]\nname = \"second\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\nlimit = 10\n\
         window = \"1s\"\n[[rule]]\nname = \"hour\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\n\
         limit = 30\nwindow = \"1h\"\n",
    );
    let charges =
        json!({ "charges": [{ "rule": "second", "key": "k" }, { "rule": "hour", "key": "k" }] });
    let left = (0..10).map(|second| {
        let answer = desk.at(second * S).post("/v1/take", &charges);
        answer.body["decisions"][1]["remaining"]
            .as_u64()
            .expect("a decision")
    });
    assert!(left.eq((20..30).rev()), "29 down to 20");
    assert!(desk.at(H).post("/v1/check", &charges).body["decisions"][1]["remaining"] == 30);
}

#[test]
fn f48_denials_do_not_count_and_a_raised_limit_helps_at_once() {
    let desk = window("fixed-window", 10, "1h");
    assert_eq!(desk.passed(50), 10);
    let raised = desk.call(
        http::Method::PUT,
        "/v1/overrides/a/k",
        &json!({ "limit": 20 }),
    );
    assert_eq!(raised.status, 200, "{}", raised.text);
    assert_eq!(desk.passed(50), 10);
}

#[test]
fn f49_raising_a_rate_refuses_nobody() {
    let desk = bucket("10/20s", 16);
    assert!(desk.take("k", 3).allowed());
    let raised = desk.call(
        http::Method::PUT,
        "/v1/overrides/a/k",
        &json!({ "rate": "1000/20s", "burst": 16 }),
    );
    assert_eq!(raised.status, 200, "{}", raised.text);
    let answer = desk.take("k", 1);
    assert_eq!((answer.allowed(), answer.remaining()), (true, 12));
}

#[test]
fn f51_one_request_charges_one_counter_once() {
    let desk = Desk::new(
        "[[rule]]\nname = \"minute\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\nlimit = 5\n\
         window = \"1m\"\n[[rule]]\nname = \"day\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\n\
         limit = 50\nwindow = \"1d\"\n",
    );
    let request = json!({ "request": { "method": "GET", "path": "/", "client_ip": "192.0.2.1" } });
    let allowed = (0..6)
        .filter(|_| desk.post("/v1/take", &request).allowed())
        .count();
    assert_eq!(allowed, 5);
    let look = desk.post("/v1/check", &request);
    assert_eq!(look.body["decisions"][1]["remaining"], 45);
}
