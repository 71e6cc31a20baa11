//! Costs that the upstream tells: a budget of units, end to end.

use std::thread;
use std::time::{Duration, Instant};

use super::{Behind, remaining};
use crate::support::eventually;

fn budget(from: &str, settings: &str) -> Behind {
    Behind::by(&format!(
        "[[rule]]\nname = \"tokens\"\nkey = [\"header:x-user\"]\n{settings}\n\
         cost = {{ response = \"{from}:x-units\", estimate = 5 }}\n"
    ))
}

const HUNDRED: &str = "algorithm = \"sliding-log\"\nlimit = 100\nwindow = \"1h\"";

#[test]
fn a_budget_ends_where_the_sum_does_within_the_debt_of_one_request() {
    for from in ["header", "trailer"] {
        let word = if from == "header" { "units" } else { "trailer" };
        for units in [1, 7, 30, 60] {
            let service = budget(from, HUNDRED);
            let mut client = service.client();
            let mut passed = 0;
            while client.ask(&format!("/?{word}={units}"), "").status() == 200 {
                passed += 1;
                assert!(passed <= 100, "the budget does not end");
            }
            // The last that passed found room for its estimate, and none would have found it.
            let before_last = (passed - 1) * units;
            assert!(before_last + 5 <= 100, "{from}, {units}: {passed}");
            assert!(passed * units + 5 > 100, "{from}, {units}: {passed}");
            assert_eq!(service.reached(), passed);
        }
    }
}

#[test]
fn what_is_left_is_told_as_it_is_once_the_cost_is_known() {
    let service = budget("header", HUNDRED);
    for (target, left) in [
        ("/?units=30", 70),
        ("/?units=0", 70),
        ("/?units=5", 65),
        ("/?units=300", 0),
    ] {
        let reply = service.ask(target, "");
        assert_eq!((reply.status(), remaining(&reply)), (200, left), "{target}");
    }
    assert_eq!(service.ask("/?units=0", "").status(), 429);
}

#[test]
fn an_answer_that_names_no_cost_costs_its_estimate() {
    let service = budget("header", HUNDRED);
    let mut left = 100;
    for target in [
        "/",
        "/?units=",
        "/?units=-1",
        "/?units=1.5",
        "/?units=many",
        "/?trailer=50",
    ] {
        let reply = service.ask(target, "");
        left -= 5;
        assert_eq!((reply.status(), remaining(&reply)), (200, left), "{target}");
    }
    // A client cannot say it either.
    assert_eq!(remaining(&service.ask("/", "X-Units: 0\r\n")), left - 5);
}

#[test]
fn whatever_breaks_off_leaves_the_estimate() {
    let service = budget("trailer", HUNDRED);
    assert_eq!(service.ask("/?die=head", "").status(), 502);
    let mut client = service.client();
    client.send("/?die=body&trailer=1", "").read_to_end();
    let mut client = service.client();
    client
        .send("/?pause=400&trailer=1", "")
        .read_until(|text| text.ends_with("ab\r\n"));
    client.reset();
    thread::sleep(Duration::from_millis(600));
    // Three estimates, and that of the request that asks.
    let reply = service.ask("/?trailer=2", "");
    assert_eq!(remaining(&reply), 100 - 4 * 5);
    eventually("the last one is settled", || {
        remaining(&service.ask("/?trailer=0", "")) == 100 - 3 * 5 - 2 - 5
    });
}

#[test]
fn estimates_count_while_they_are_out() {
    let service = budget(
        "header",
        "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1h\"",
    );
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reply = service.ask("/?delay=2000&units=1", "");
                assert_eq!(reply.status(), 200);
            });
        }
        eventually("both are out", || service.reached() == 2);
        assert_eq!(service.ask("/?units=1", "").status(), 429);
    });
    let reply = service.ask("/?units=1", "");
    assert_eq!((reply.status(), remaining(&reply)), (200, 7));
}

#[test]
fn debt_is_clipped_at_one_limit_or_at_what_the_rule_says() {
    let bucket = "algorithm = \"token-bucket\"\nrate = \"1/s\"\nburst = 100";
    for (settings, most_s) in [
        // A whole burst owed, and room for the estimate.
        (bucket.to_owned(), 105_u64),
        (format!("{bucket}\nmax_debt = 10"), 15),
        (format!("{bucket}\nmax_debt = 0"), 5),
    ] {
        let service = budget("header", &settings);
        let begun = Instant::now();
        assert_eq!(service.ask("/?units=1000000", "").status(), 200);
        assert_eq!(service.jeton.metric("jeton_settled_total"), 1);
        let clipped = service.jeton.metric("jeton_clipped_units_total");
        let denied = service.ask("/?units=0", "");
        // Whole seconds that have begun: what was earned back meanwhile.
        let earned = begun.elapsed().as_secs() + 1;
        // A full bucket and the debt that was taken on: 100 to 200 units.
        assert!(
            (999_800 - earned..1_000_000).contains(&clipped),
            "{clipped}"
        );
        assert_eq!(denied.status(), 429);
        let wait_s: u64 = denied.field("retry-after").unwrap().parse().unwrap();
        let expected = u64::saturating_sub(most_s, earned)..=most_s;
        assert!(expected.contains(&wait_s), "{wait_s}, not {expected:?}");
    }
}
