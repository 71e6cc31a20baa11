//! What `/openapi.json` promises is held to by somebody who knows nothing else: schemathesis makes
//! calls from it, right ones and wrong ones, and reads every answer against it.

use std::process::Command;

use crate::support::binary::Running;
use crate::support::tools::tool;
use crate::support::{Folder, is_full};

/// Keys of one and of two parts, every kind of state, every mode. `hooks.py` knows their names.
const RULES: &str = r#"
gateways = ["127.0.0.1"]

[client_ip]
header = "x-forwarded-for"
trusted = ["127.0.0.1"]

[[rule]]
name = "api"
key = "client-ip"
algorithm = "token-bucket"
rate = "100/s"
burst = 1000
plan = "header:x-plan"
plans = { pro = { burst = 2000 }, staff = "unlimited", banned = "deny" }

[[rule]]
name = "login"
match = { method = "POST", path = "/login" }
key = ["client-ip", "header:x-user"]
algorithm = "sliding-log"
limit = 5
window = "1m"
mode = "shadow"

[[rule]]
name = "export"
match = { path = "/reports/{id}/export" }
key = "client-ip"
algorithm = "fixed-window"
limit = 100
window = "1s"
trial = { limit = 80 }

[[rule]]
name = "jobs"
match = { path = "/jobs" }
key = "header:x-account"
algorithm = "concurrency"
limit = 3
lease = "1s"
"#;

const TOKENS: &str =
    "token = { env = \"JETON_TOKEN\" }\nadmin_token = { env = \"JETON_ADMIN_TOKEN\" }\n";

fn serve(tokens: &str) -> Running {
    let policy = format!("[api]\nlisten = \"127.0.0.1:0\"\n{tokens}{RULES}");
    let environment = [
        ("JETON_TOKEN", "a-token"),
        ("JETON_ADMIN_TOKEN", "another-token"),
    ];
    Running::serve_with(&policy, &environment)
}

/// Without the long list of edges that is the same with tokens.
const FUZZING: [&str; 2] = ["--phases", "examples,fuzzing"];

/// Fails with schemathesis' report if it found anything.
fn examine(jeton: &Running, examples: u32, flags: &[&str]) {
    let folder = Folder::new();
    let config = folder.file("schemathesis.toml", include_bytes!("schemathesis.toml"));
    folder.file("hooks.py", include_bytes!("hooks.py"));
    let examples = (examples * if is_full() { 50 } else { 1 }).to_string();
    // Other tests watch the clock meanwhile.
    let output = Command::new("nice")
        .args(["-n", "19"])
        .arg(tool("schemathesis"))
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(config)
        .args([
            "run",
            &format!("http://{}/openapi.json", jeton.api_address()),
        ])
        .args([
            "--generation-deterministic",
            "--no-color",
            "--max-examples",
            &examples,
        ])
        .args(flags)
        .output()
        .expect("schemathesis runs");
    let report = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{report}{complaint}\n{}",
        jeton.log()
    );
}

#[test]
fn every_answer_is_the_one_that_is_described() {
    let jeton = serve("");
    examine(&jeton, 5, &[]);
    // Calls must have met the rules, not only the checks before them.
    let told = jeton.metrics();
    for rule in ["api", "login", "export", "jobs"] {
        let of_rule = format!("jeton_decisions_total{{rule=\"{rule}\"");
        let mut counts = told.lines().filter(|line| line.starts_with(&of_rule));
        assert!(counts.any(|line| !line.ends_with(" 0")), "{rule}: {told}");
    }
}

#[test]
fn an_operator_is_answered_as_described() {
    let jeton = serve(TOKENS);
    let operator = ["--header", "Authorization: Bearer another-token"];
    examine(&jeton, 3, &[&operator[..], &FUZZING].concat());
    assert!(jeton.metric("jeton_decisions_total{rule=\"api\",outcome=\"allowed\"} ") > 0);
}

#[test]
fn a_stranger_is_answered_as_described() {
    let jeton = serve(TOKENS);
    examine(&jeton, 2, &FUZZING);
    let made = jeton.metric("jeton_decisions_total{rule=\"api\",outcome=\"allowed\"} ");
    let told = jeton.metrics();
    assert!(made > 0, "gateways show no token: {told}");
}
