//! Which rules apply, and what they are charged.

use super::{BEHIND_A_PROXY, Guarded};

#[test]
fn f50_without_a_burst_a_whole_period_may_come_at_once() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"a\"\nkey = [\"client-ip\"]\nalgorithm = \"gcra\"\nrate = \"6000/min\"\n",
    );
    assert_eq!(guarded.client().passes(154, "/", ""), 154);
}

#[test]
fn f51_one_request_charges_each_counter_once() {
    let guarded = Guarded::by(
        r#"
[[rule]]
name = "minute"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1min"

[[rule]]
name = "day"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 50
window = "1d"
"#,
    );
    let mut client = guarded.client();
    assert_eq!(client.passes(6, "/", ""), 5);
    let refused = client.ask("GET", "/", "");
    let limits = refused.field("ratelimit").expect("limits");
    assert!(limits.contains("\"day\";r=45;"), "{limits}");
    assert_eq!(guarded.nginx.log().len(), 5);
    let metrics = guarded.jeton.metrics();
    for line in [
        "jeton_decisions_total{rule=\"minute\",outcome=\"allowed\"} 5\n",
        "jeton_decisions_total{rule=\"minute\",outcome=\"denied\"} 2\n",
        "jeton_decisions_total{rule=\"day\",outcome=\"allowed\"} 5\n",
        "jeton_decisions_total{rule=\"day\",outcome=\"withheld\"} 2\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn f53_preflights_are_not_charged_and_no_free_flood() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"ten\"\nkey = [\"client-ip\"]\nalgorithm = \"sliding-log\"\nlimit = 10\nwindow = \"10min\"\n",
    );
    let mut client = guarded.client();
    let preflight = "Origin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n";
    let statuses: Vec<u16> = (0..101)
        .map(|_| client.ask("OPTIONS", "/", preflight).status())
        .collect();
    assert_eq!(
        statuses.iter().filter(|status| **status != 429).count(),
        100
    );
    assert_eq!(statuses.last(), Some(&429));
    assert_eq!(client.passes(9, "/", ""), 9);
    // One that is no preflight is charged like everything else.
    assert_ne!(client.ask("OPTIONS", "/", "").status(), 429);
    assert_eq!(client.passes(1, "/", ""), 0);
}

#[test]
fn f55_probes_are_never_limited_and_never_charged() {
    let guarded = Guarded::by(
        r#"
[lists]
exempt = ["127.0.0.9"]

[[rule]]
name = "probes"
match = { path = "/204" }
limit = "unlimited"
replaces = ["everyone"]

[[rule]]
name = "everyone"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 3
window = "10min"
"#,
    );
    let mut client = guarded.client();
    assert_eq!(client.passes(4, "/", ""), 3);
    let probe = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ready = probe.replace("healthz", "readyz");
    let mut api = crate::support::raw::Raw::connect(guarded.jeton.api_address());
    for _ in 0..500 {
        assert_eq!(api.send(probe).read_response().status(), 200);
        assert_eq!(api.send(&ready).read_response().status(), 200);
        // The upstream's own probe path.
        assert_eq!(client.ask("GET", "/204", "").status(), 204);
    }
    let metrics = guarded.jeton.metrics();
    for line in [
        "jeton_decisions_total{rule=\"everyone\",outcome=\"allowed\"} 3\n",
        "jeton_decisions_total{rule=\"everyone\",outcome=\"denied\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    // A prober by its address.
    let url = format!("http://{}/", guarded.address());
    for _ in 0..5 {
        let status = crate::support::curl(&[
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "--interface",
            "127.0.0.9",
            &url,
        ]);
        assert_eq!(status, "200");
    }
}

#[test]
fn f20_both_words_mean_what_they_say() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"open\"\nmatch = { path = \"/open\" }\nlimit = \"unlimited\"\n\
         [[rule]]\nname = \"shut\"\nmatch = { path = \"/shut\" }\nlimit = \"deny\"\n",
    );
    let mut client = guarded.client();
    assert_eq!(client.passes(300, "/open", ""), 300);
    for _ in 0..3 {
        assert_eq!(client.ask("GET", "/shut", "").status(), 403);
    }
}

#[test]
fn the_block_list_is_stronger_than_the_exempt_list() {
    let guarded = Guarded::by(&format!(
        "{BEHIND_A_PROXY}[lists]\nexempt = [\"10.0.0.0/8\"]\nblock = [\"10.9.0.0/16\"]\n[[rule]]\nname = \"one\"\n\
         key = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\n"
    ));
    let mut client = guarded.client();
    let mut ask = |from: &str| {
        client
            .ask("GET", "/", &format!("X-Forwarded-For: {from}\r\n"))
            .status()
    };
    assert_eq!(
        [ask("10.1.1.1"), ask("10.1.1.1"), ask("10.9.1.1")],
        [200, 200, 403]
    );
    assert_eq!([ask("11.1.1.1"), ask("11.1.1.1")], [200, 429]);
}
