//! The policies under `examples/policies`, each checked, simulated and started: what their comments
//! and their page promise is what the command does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::support::binary::{Running, jeton, stderr, stdout};
use crate::support::curl;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies")
}

/// Every policy file.
fn policies() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the examples");
    let paths = entries.map(|entry| entry.expect("one").path());
    let toml = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "toml");
    let found: Vec<PathBuf> = paths.filter(toml).collect();
    assert!(found.len() >= 7);
    found
}

/// `JETON_BLESS=1` writes what comes out anew: read the difference.
#[test]
fn their_traces_come_out_as_promised() {
    for policy in policies() {
        let text = |path: &Path| path.to_str().expect("a path").to_owned();
        let trace = policy.with_extension("jsonl");
        let (config, trace) = (text(&policy), text(&trace));
        let output = jeton(&["simulate", "--config", &config, "--trace", &trace]);
        assert!(output.status.success(), "{config}: {}", stderr(&output));
        let golden = policy.with_extension("expected.jsonl");
        if std::env::var_os("JETON_BLESS").is_some() {
            fs::write(&golden, stdout(&output)).expect("written");
        }
        let expected = fs::read_to_string(&golden).expect("what must come out");
        assert_eq!(stdout(&output), expected, "{config}");
    }
}

#[test]
fn they_are_checked_without_an_error() {
    for policy in policies() {
        let output = jeton(&["check", "--config", policy.to_str().expect("a path")]);
        let text = stdout(&output);
        assert!(
            output.status.success() && text.contains("\n0 errors, "),
            "{text}"
        );
    }
}

/// An example in force, before a service that answers everything.
struct Example {
    jeton: Running,
    _upstream: Upstream,
}

impl Example {
    fn start(name: &str) -> Self {
        let policy = fs::read_to_string(folder().join(name)).expect("an example");
        let upstream = Upstream::answering(OK);
        let moved = policy
            .replace("127.0.0.1:8080", "127.0.0.1:0")
            .replace("http://127.0.0.1:3000", &upstream.url());
        assert_ne!(moved, policy, "{name} names no proxy");
        Self {
            jeton: Running::serve(&moved),
            _upstream: upstream,
        }
    }

    /// The head of the answer, in lower case.
    fn ask(&self, method: &str, path: &str, field: &str) -> String {
        let url = format!("http://{}{path}", self.jeton.proxy_address());
        let flags = ["--path-as-is", "-o", "/dev/null", "-D", "-"];
        let request = ["-X", method, "-H", field, &url];
        curl(&[&flags[..], &request].concat()).to_ascii_lowercase()
    }

    fn status(&self, method: &str, path: &str, field: &str) -> u16 {
        let head = self.ask(method, path, field);
        let status = head.split_whitespace().nth(1);
        status
            .and_then(|status| status.parse().ok())
            .expect("a status")
    }
}

const ALICE: &str = "Authorization: Bearer alice";
const NOBODY: &str = "X-Nothing: 1";

#[test]
fn the_login_form_counts_every_spelling_and_no_reader() {
    let login = Example::start("login-form.toml");
    for path in ["/login", "/LOGIN", "//login/", "/%6Cogin", "/login?next=/"] {
        assert_eq!(login.status("POST", path, NOBODY), 200, "{path}");
    }
    assert_eq!(login.status("POST", "/login", NOBODY), 429);
    assert_eq!(login.status("GET", "/login", NOBODY), 200);
}

#[test]
fn github_tells_the_end_of_the_hour_in_its_own_fields() {
    let github = Example::start("github.toml");
    let head = github.ask("GET", "/user", ALICE);
    assert!(head.contains("x-ratelimit-limit: 5000\r\n"), "{head}");
    assert!(head.contains("x-ratelimit-remaining: 4999\r\n"), "{head}");
    assert!(head.contains("x-ratelimit-reset: 1"), "an instant: {head}");
    let head = github.ask("GET", "/zen", NOBODY);
    assert!(head.contains("x-ratelimit-remaining: 59\r\n"), "{head}");
}

#[test]
fn openai_tells_in_two_dialects() {
    let openai = Example::start("openai-free-tier.toml");
    let head = openai.ask("POST", "/v1/chat/completions", ALICE);
    assert!(
        head.contains("ratelimit-policy: \"key\";q=200;w=86400"),
        "{head}"
    );
    assert!(head.contains("x-ratelimit-limit: 200\r\n"), "{head}");
}

#[test]
fn stripe_and_cloudflare_let_their_bursts_through() {
    let stripe = Example::start("stripe.toml");
    let cloudflare = Example::start("cloudflare.toml");
    for _ in 0..20 {
        assert_eq!(stripe.status("POST", "/v1/charges", ALICE), 200);
        assert_eq!(cloudflare.status("GET", "/", NOBODY), 200);
    }
}

#[test]
fn invented_credentials_meet_the_address() {
    let layers = Example::start("two-layers.toml");
    let mut client = Raw::connect(layers.jeton.proxy_address());
    let mut ask = |user: &str| {
        client.send(&format!(
            "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {user}\r\n\r\n"
        ));
        client.read_response().status()
    };
    let begun = Instant::now();
    let passed = (0..1_000)
        .filter(|number| ask(&format!("invented-{number}")) == 200)
        .count();
    let bound = 100.0 + 20.0 * begun.elapsed().as_secs_f64();
    assert!(
        passed >= 100 && f64::from(u16::try_from(passed).expect("few")) <= bound,
        "{passed}"
    );
}

#[test]
fn there_is_no_export_without_a_credential() {
    let export = Example::start("expensive-endpoint.toml");
    assert_eq!(export.status("GET", "/reports/7/export", NOBODY), 403);
    assert_eq!(export.status("GET", "/reports/7/export", ALICE), 200);
    assert_eq!(export.status("GET", "/reports/7", NOBODY), 200);
}
