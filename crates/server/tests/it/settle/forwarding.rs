//! What the upstream is told of limits, and whose word about plans and costs stands.

use super::{Behind, remaining};

fn plans(client_ip: &str) -> Behind {
    Behind::by(&format!(
        r#"{client_ip}
[[rule]]
name      = "user"
key       = ["header:x-user"]
algorithm = "sliding-log"
limit     = 2
window    = "1h"
plan      = "header:x-plan"
plans     = {{ pro = {{ limit = 5 }}, staff = "unlimited", banned = "deny" }}
"#
    ))
}

const TRUSTING: &str = "[client_ip]\nheader = \"x-forwarded-for\"\ntrusted = [\"127.0.0.0/8\"]\n";

fn passed(service: &Behind, requests: usize, fields: &str) -> usize {
    let mut client = service.client();
    let asked = (0..requests).map(|_| client.ask("/", fields).status());
    asked.filter(|status| *status == 200).count()
}

/// The lines of the last head that begin so.
fn forwarded(service: &Behind, name: &str) -> Vec<String> {
    let heads = service.upstream.heads();
    let lines = heads.last().expect("a request").lines();
    let found = lines.filter(|line| line.to_ascii_lowercase().starts_with(name));
    found.map(str::to_owned).collect()
}

#[test]
fn a_plan_that_a_client_claims_is_taken_away() {
    let service = plans("");
    for claim in [
        "X-Plan: staff\r\n",
        "X-Plan: pro\r\nX-Plan: staff\r\n",
        "Connection: X-Plan\r\nX-Plan: staff\r\n",
    ] {
        let user = format!("X-User: {}\r\n", claim.len());
        assert_eq!(passed(&service, 4, &format!("{claim}{user}")), 2, "{claim}");
        assert_eq!(forwarded(&service, "x-plan"), [""; 0]);
        assert_eq!(forwarded(&service, "x-user").len(), 1);
    }
}

#[test]
fn a_plan_that_a_trusted_peer_names_holds_and_goes_on() {
    let service = plans(TRUSTING);
    // Naming a field in `Connection` hides it from nobody.
    let pro = "X-User: a\r\nX-Plan: pro\r\nConnection: X-Plan\r\n";
    assert_eq!(passed(&service, 8, pro), 5);
    assert_eq!(forwarded(&service, "x-plan"), ["x-plan: pro"]);
    assert_eq!(passed(&service, 8, "X-User: a\r\nX-Plan: staff\r\n"), 8);
    let banned = service.ask("/", "X-User: a\r\nX-Plan: banned\r\n");
    assert_eq!(banned.status(), 403);
}

#[test]
fn plans_that_change_from_request_to_request_keep_what_is_owed() {
    let service = plans(TRUSTING);
    let (base, pro) = ("X-User: a\r\n", "X-User: a\r\nX-Plan: pro\r\n");
    assert_eq!(passed(&service, 3, base), 2);
    assert_eq!(passed(&service, 2, pro), 2);
    assert_eq!(passed(&service, 1, base), 0);
    let last = service.ask("/", pro);
    assert_eq!((last.status(), remaining(&last)), (200, 0));
    assert_eq!(passed(&service, 1, pro), 0);
}

#[test]
fn a_cost_is_believed_of_trusted_peers_only() {
    let rule = "[[rule]]\nname = \"units\"\nkey = [\"header:x-user\"]\nalgorithm = \"sliding-log\"\n\
                limit = 10\nwindow = \"1h\"\ncost = \"header:x-cost\"\n";
    let service = Behind::by(rule);
    let reply = service.ask("/", "X-Cost: 0\r\n");
    assert_eq!((reply.status(), remaining(&reply)), (200, 9));
    assert_eq!(forwarded(&service, "x-cost"), [""; 0]);

    let service = Behind::by(&format!("{TRUSTING}{rule}"));
    let reply = service.ask("/", "X-Cost: 7\r\n");
    assert_eq!((reply.status(), remaining(&reply)), (200, 3));
    assert_eq!(forwarded(&service, "x-cost"), ["x-cost: 7"]);
    assert_eq!(service.ask("/", "X-Cost: 4\r\n").status(), 429);
    let reached = service.reached();
    for cost in ["-1", "1.5", "many", ""] {
        let refused = service.ask("/", &format!("X-Cost: {cost}\r\n"));
        assert_eq!(refused.status(), 400, "{cost}: {}", refused.text);
    }
    assert_eq!(service.reached(), reached);
}

#[test]
fn a_rule_that_marks_tells_the_upstream_and_nobody_else() {
    let rule = |name: &str, limit: u32| {
        format!(
            "[[rule]]\nname = \"{name}\"\nkey = [\"header:x-user\"]\nalgorithm = \"sliding-log\"\n\
             limit = {limit}\nwindow = \"1h\"\nmode = \"mark\"\n"
        )
    };
    let service = Behind::by(&format!("{}{}", rule("first", 1), rule("second", 2)));
    let mut client = service.client();
    let mut answers = Vec::new();
    for marks in ["", "first", "first, second"] {
        let reply = client.ask("/", "X-Jeton-Limited: made-up\r\n");
        assert_eq!(reply.status(), 200);
        assert!(reply.field("ratelimit").is_none(), "{}", reply.text);
        let lines = reply.text.lines().filter(|line| !line.starts_with("date:"));
        answers.push(lines.map(str::to_owned).collect::<Vec<_>>());
        let told = forwarded(&service, "x-jeton-limited");
        match marks {
            "" => assert_eq!(told, [""; 0]),
            marks => assert_eq!(told, [format!("x-jeton-limited: {marks}")]),
        }
    }
    assert_eq!(answers[0], answers[2], "no client can tell");
    for (rule, marked) in [("first", 2), ("second", 1)] {
        let name = format!("jeton_decisions_total{{rule=\"{rule}\",outcome=\"marked\"}}");
        assert_eq!(service.jeton.metric(&name), marked);
    }
}
