//! Explanations of counters that have been used: the same as a running process would give.

use std::sync::Arc;

use jeton::policy::{Alternative, Mode, NoReferences, Policy, Source};
use jeton::{Clock, Gate, Micros, Settings, Span, Table};
use jeton_server::explain::{Counters, Document, Mark, Question, Written, write_text};

const POLICY: &str = r#"
client_ip = { header = "x-forwarded-for", trusted = ["10.0.0.0/8"] }

[[rule]]
name = "login"
match = { method = "POST", path = "/login" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1m"

[[rule]]
name = "anonymous"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "20/s"
burst = 100

[[rule]]
name = "tenant"
match = { with = "header:x-tenant" }
key = ["header:x-tenant"]
algorithm = "fixed-window"
limit = 10
window = "1h"
cost = "header:x-cost"
plan = "header:x-plan"
plans = { pro = { limit = 100 } }
trial = { limit = 2 }
mode = "shadow"
"#;

/// 2026-11-30 12:02:26 UTC.
const NOW: Micros = Micros::new(1_796_040_146_000_000);

struct Desk {
    gate: Gate,
    table: Arc<Table>,
}

impl Desk {
    fn new() -> Self {
        let source = Source::new("jeton.toml", POLICY);
        let policy = Policy::load(&source, &NoReferences)
            .unwrap_or_else(|report| panic!("{report}"))
            .policy;
        let table = Arc::new(Table::new(&Settings::default()).expect("a table"));
        let gate = Gate::new(policy, Arc::clone(&table) as Arc<_>, Clock::fixed(NOW));
        Self { gate, table }
    }

    fn question(request: &str, headers: &[&str]) -> Question {
        let written = Written {
            request: Some(request.to_owned()),
            ip: Some("1.2.3.4".to_owned()),
            headers: headers.iter().map(|line| (*line).to_owned()).collect(),
            ..Written::default()
        };
        Question::read(&written).expect("a question")
    }

    async fn explain(&self, question: &Question) -> Document {
        let explained = self.gate.explain(&question.facts()).await;
        Document::new(question, &explained, Counters::OfProcess { generation: 7 })
    }

    async fn take(&self, question: &Question) -> bool {
        self.gate.take(&question.facts()).wait().await.allowed()
    }
}

fn text(document: &Document) -> String {
    let mut text = String::new();
    let paint = |_, word: &str| word.to_owned();
    write_text(document, &mut text, &paint).expect("text");
    text
}

#[tokio::test]
async fn a_denial_says_by_whom_and_until_when() {
    let desk = Desk::new();
    let login = Desk::question("POST /login", &["accept: text/plain"]);
    for _ in 0..5 {
        assert!(desk.take(&login).await);
    }
    let document = desk.explain(&login).await;
    assert_eq!(
        text(&document),
        "DENIED by login, retry in 60 s. Nothing was charged. State of 12:02:26 UTC, policy \
         generation 7.
  ✕ login      0 of 5 left     key 1.2.3.4  denies, fits in 60 s at 12:03:26 UTC; 5 in any 1 min
  ● anonymous  95 of 100 left  key 1.2.3.4  keeps them: all rules are charged, or none; 20/s, \
         bursts to 100; at most 120 in any 1 s
  – tenant     not matched: no x-tenant header
The client would see: 429 · content-type: text/plain; charset=utf-8 · retry-after: 60 · \
         ratelimit-policy: \"login\";q=5;w=60, \"anonymous\";q=100;w=5 · ratelimit: \
         \"login\";r=0;t=60, \"anonymous\";r=95;t=1 · cache-control: no-store
  429 Too Many Requests. More was asked for than the limit allows. Try again in 60 seconds.
"
    );
    assert_eq!(document.denied_by, ["login"]);
    assert_eq!(
        (document.allowed, document.retry_after_ms),
        (false, Some(60_000))
    );
    assert_eq!(
        (document.at_ms, document.generation),
        (NOW.get() / 1_000, 7)
    );
}

#[tokio::test]
async fn the_client_is_told_exactly_what_a_refusal_would_be() {
    let desk = Desk::new();
    let login = Desk::question("POST /login", &["accept: application/json"]);
    while desk.take(&login).await {}
    let client = desk.explain(&login).await.client;
    let answered = desk.gate.take(&login.facts()).wait().await;
    let format = jeton::wire::problem::Format::Json;
    let response = answered.refusal().expect("a refusal").response(format);
    assert_eq!(client.status, Some(response.status().as_u16()));
    assert_eq!(&client.body, response.body());
    let fields: Vec<(&str, &[u8])> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let told = client.headers.iter();
    let told: Vec<(&str, &[u8])> = told
        .map(|field| (&field.name[..], field.value.as_bytes()))
        .collect();
    assert_eq!(told, fields);
}

#[tokio::test]
async fn explaining_charges_nothing() {
    let desk = Desk::new();
    let login = Desk::question("POST /login", &[]);
    let tenant = Desk::question("GET /", &["x-tenant: acme"]);
    assert!(desk.take(&login).await);
    let before = (desk.table.stats(), format!("{:?}", desk.gate.tally()));
    let first = desk.explain(&login).await;
    for _ in 0..1_000 {
        assert_eq!(desk.explain(&login).await, first);
        desk.explain(&tenant).await;
    }
    let after = (desk.table.stats(), format!("{:?}", desk.gate.tally()));
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    for left in (0..4).rev() {
        let answered = desk.gate.take(&login.facts()).wait().await;
        let remaining = answered
            .decisions()
            .next()
            .map(|one| one.decision.remaining);
        assert_eq!(remaining, Some(left));
    }
}

#[tokio::test]
async fn plans_costs_and_trials_are_told_beside_what_is_left() {
    let desk = Desk::new();
    let fields = ["x-tenant: acme", "x-cost: 11"];
    let plain = desk.explain(&Desk::question("GET /", &fields)).await;
    let told = text(&plain);
    assert!(told.starts_with("ALLOWED. "), "{told}");
    let line = "  ◇ tenant     10 of 10 left    key acme     would deny, can never hold 11; 10 per \
                clock hour; at most 20 in any 1 h; no plan named; mode shadow; cost by header:x-cost\n";
    assert!(told.contains(line), "{told}");
    assert!(told.contains("◇ tenant     2 of 2 left"), "{told}");
    assert!(told.contains("on trial"), "{told}");
    let preflight = ["origin: https://a", "access-control-request-method: POST"];
    let preflight = desk.explain(&Desk::question("OPTIONS /", &preflight)).await;
    let line = "● anonymous  1 000 of 1 000 left  key 1.2.3.4  takes 1; 20/s, bursts to 100; \
                preflights have 10 times as much, on a counter of their own\n";
    assert!(text(&preflight).contains(line), "{}", text(&preflight));
    let fields = ["x-tenant: acme", "x-cost: 11", "x-plan: pro"];
    let pro = desk.explain(&Desk::question("GET /", &fields)).await;
    let told = text(&pro);
    let line = "● tenant     100 of 100 left  key acme     takes 11; 100 per clock hour; at most \
                200 in any 1 h; plan pro;";
    assert!(told.contains(line), "{told}");
    assert_eq!(pro.rules[2].counters.len(), 1, "no trial beside a plan");
    let odd = desk
        .explain(&Desk::question("GET /", &["x-tenant: a", "x-plan: gold"]))
        .await;
    assert!(text(&odd).contains("plan gold is unknown, so the rule's own terms"));
}

#[tokio::test]
async fn what_operators_set_is_told() {
    let desk = Desk::new();
    let (gate, home) = (&desk.gate, Desk::question("GET /", &[]));
    let settings = Alternative::new([("rate", "40/s"), ("burst", "400")]).expect("settings");
    let hour = Span::from_micros(3_600_000_000).ok();
    let done = gate
        .set_override("anonymous", &["1.2.3.4"], settings, hour)
        .await;
    done.expect("an override");
    gate.set_mode("anonymous", Some(Mode::Mark))
        .await
        .expect("a mode");
    let told = text(&desk.explain(&home).await);
    let line = "400 of 400 left  key 1.2.3.4  takes 1; 40/s, bursts to 400; at most 440 in any \
                1 s; by an override, until \
                13:02:26 UTC; mode mark, set by an operator\n";
    assert!(told.contains(line), "{told}");
    let settings = Alternative::new([("limit", "deny")]).expect("a word");
    let done = gate
        .set_override("anonymous", &["1.2.3.4"], settings, hour)
        .await;
    done.expect("an override");
    let told = text(&desk.explain(&home).await);
    assert!(told.starts_with("ALLOWED"), "{told}");
    let line = "◇ anonymous  would refuse, and has no vote: an operator's override is \"deny\"";
    assert!(told.contains(line), "{told}");
    let line = "\nThe service would be told x-jeton-limited: anonymous\n";
    assert!(told.contains(line), "{told}");
    gate.set_mode("anonymous", None).await.expect("a mode");
    gate.block(
        "anonymous",
        &["1.2.3.4"],
        Span::from_micros(86_400_000_000).ok(),
    )
    .await
    .expect("a block");
    let document = desk.explain(&home).await;
    let told = text(&document);
    assert!(told.starts_with("DENIED by anonymous"), "{told}");
    let line = "✕ anonymous  refuses: an operator blocks the key until 2026-12-01 12:02:26 UTC";
    assert!(told.contains(line), "{told}");
    assert_eq!(document.client.status, Some(429));
    assert_eq!(document.denied_by, ["anonymous"]);
}

#[tokio::test]
async fn marks_are_handed_to_whoever_colours_them() {
    let desk = Desk::new();
    let document = desk.explain(&Desk::question("GET /", &[])).await;
    let mut text = String::new();
    let paint = |mark: Mark, word: &str| format!("<{mark:?} {word}>");
    write_text(&document, &mut text, &paint).expect("text");
    assert!(text.starts_with("<Allows ALLOWED>."), "{text}");
    assert!(text.contains("\n  <Silent –> login"), "{text}");
    assert!(text.contains("\n  <Allows ●> anonymous"), "{text}");
}

#[tokio::test]
async fn a_document_reads_back_as_it_was_written() {
    let desk = Desk::new();
    for headers in [&[][..], &["x-tenant: acme", "x-plan: gold"]] {
        let document = desk.explain(&Desk::question("POST /login", headers)).await;
        let json = serde_json::to_string(&document).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Document>(&json).expect("a document"),
            document
        );
    }
}
