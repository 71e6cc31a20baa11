//! The policies under `examples/policies`, each checked, simulated and started: what their comments
//! and their page promise is what the command does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::support::binary::{Running, jeton, stderr, stdout};
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;
use crate::support::{Folder, curl};

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
    assert!(found.len() >= 12);
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
    upstream: Upstream,
}

impl Example {
    fn start(name: &str) -> Self {
        Self::before(name, Upstream::answering(OK), str::to_owned)
    }

    /// In front of a service of the test's, with a change to the file.
    fn before(name: &str, upstream: Upstream, change: impl FnOnce(&str) -> String) -> Self {
        let policy = fs::read_to_string(folder().join(name)).expect("an example");
        let moved = policy
            .replace("127.0.0.1:8080", "127.0.0.1:0")
            .replace("127.0.0.1:7070", "127.0.0.1:0")
            .replace("http://127.0.0.1:3000", &upstream.url());
        assert_ne!(moved, policy, "{name} names no proxy");
        Self {
            jeton: Running::serve(&change(&moved)),
            upstream,
        }
    }

    /// The head of the last request that reached the service, in lower case.
    fn last_head(&self) -> String {
        let heads = self.upstream.heads();
        heads.last().expect("a request").to_ascii_lowercase()
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

/// A service that answers as its requests say in the field `x-answer`.
fn obedient() -> Upstream {
    Upstream::start(|accepted| {
        while let Some((head, _)) = accepted.read_request() {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            let asked = fields.find(|(name, _)| name.eq_ignore_ascii_case("x-answer"));
            let (_, answer) = asked.expect("what to answer");
            let (status, field) = answer.split_once(' ').unwrap_or((answer, "X-Nothing: 1"));
            accepted.write(&format!(
                "HTTP/1.1 {status} Any\r\n{field}\r\nContent-Length: 0\r\n\r\n"
            ));
        }
    })
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
fn a_call_that_is_billed_outlasts_the_process() {
    let data = Folder::quick();
    let path = data.path().join("jeton-data");
    let start = || {
        Example::before("billed.toml", Upstream::answering(OK), |policy| {
            let here = format!("{:?}", path.display().to_string());
            policy.replace("\"jeton-data\"", &here)
        })
    };
    let key = "X-API-Key: alice";
    let mut billed = start();
    let head = billed.ask("GET", "/", key);
    assert!(head.contains("\"calls\";r=999"), "{head}");
    billed.jeton.signal("-KILL");
    billed.jeton.ends();
    let head = start().ask("GET", "/", key);
    assert!(head.contains("\"calls\";r=998"), "{head}");
    assert!(path.join("states.redb").exists());
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

#[test]
fn a_plan_is_believed_from_the_gateway_and_changes_the_quota_only() {
    let plans = Example::start("plans.toml");
    let ask = |plan: &str| {
        let url = format!("http://{}/", plans.jeton.proxy_address());
        let (key, plan) = ("X-Api-Key: alice", format!("X-Plan: {plan}"));
        let flags = ["-o", "/dev/null", "-w", "%{http_code}", "-H", key, "-H"];
        curl(&[&flags[..], &[&plan, &url]].concat())
    };
    for _ in 0..5 {
        assert_eq!(ask("free"), "200");
    }
    assert_eq!(
        [ask("free"), ask("pro"), ask("staff")],
        ["429", "200", "200"]
    );
    assert_eq!([ask("banned"), ask("free")], ["403", "429"]);

    let stranger = |policy: &str| policy.replace("[\"127.0.0.1\"]", "[\"192.0.2.1\"]");
    let forged = Example::before("plans.toml", Upstream::answering(OK), stranger);
    let url = format!("http://{}/", forged.jeton.proxy_address());
    let flags = [
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-H",
        "X-Api-Key: alice",
    ];
    let ask = || curl(&[&flags[..], &["-H", "X-Plan: staff", &url]].concat());
    for _ in 0..5 {
        assert_eq!(ask(), "200");
        assert!(!forged.last_head().contains("x-plan"), "it is stripped");
    }
    assert_eq!(ask(), "429");
}

#[test]
fn the_login_guard_counts_wrong_guesses_and_no_logins() {
    let guard = Example::before("login-guard.toml", obedient(), str::to_owned);
    for _ in 0..10 {
        assert_eq!(guard.status("POST", "/login", "X-Answer: 200"), 200);
    }
    for wrong in [401, 403, 401, 401, 403] {
        assert_eq!(guard.status("POST", "/login", "X-Answer: 302"), 302);
        let answer = format!("X-Answer: {wrong}");
        assert_eq!(guard.status("POST", "/login", &answer), wrong);
    }
    let reached = guard.upstream.heads().len();
    for answer in ["X-Answer: 401", "X-Answer: 200"] {
        assert_eq!(guard.status("POST", "/login", answer), 429, "{answer}");
    }
    assert_eq!(guard.upstream.heads().len(), reached);
}

#[test]
fn the_token_budget_ends_where_the_sum_does() {
    let budget = Example::before("token-budget.toml", obedient(), str::to_owned);
    let url = format!("http://{}/v1/completions", budget.jeton.proxy_address());
    let took = |units: u64| {
        let answer = format!("X-Answer: 200 X-Tokens-Used: {units}");
        let flags = [
            "-o",
            "/dev/null",
            "-D",
            "-",
            "-X",
            "POST",
            "-H",
            ALICE,
            "-H",
        ];
        let head = curl(&[&flags[..], &[&answer, &url]].concat()).to_ascii_lowercase();
        let status = head.split_whitespace().nth(1).expect("a status").to_owned();
        let left = head.split("\"tokens\";r=").nth(1);
        let left = left.and_then(|rest| rest.split(';').next()?.trim().parse::<u64>().ok());
        (status, left.expect(&head))
    };
    let begun = Instant::now();
    // 10 000 tokens a minute: at most so many have come back by now.
    let back = || 1 + u64::try_from(begun.elapsed().as_millis()).expect("a short test") / 6;
    let (status, left) = took(100);
    assert!(
        status == "200" && (9_900..=9_900 + back()).contains(&left),
        "{left}"
    );
    let (status, left) = took(9_000);
    assert!(
        status == "200" && (900..=900 + back()).contains(&left),
        "{left}"
    );
    // 900 are left: it passes with the estimate of 500, and 3 100 remain to be waited off.
    let (status, left) = took(4_000);
    assert_eq!((status.as_str(), left), ("200", 0));
    let (status, left) = took(1);
    assert_eq!((status.as_str(), left), ("429", 0));
}

#[test]
fn a_rollout_shows_in_metrics_then_to_the_service_then_to_clients() {
    let outcome = |it: &Example, outcome: &str| {
        let name = format!("jeton_decisions_total{{rule=\"search\",outcome=\"{outcome}\"}} ");
        it.jeton.metric(&name)
    };
    let step = |mode: &str| {
        let written = format!("mode      = \"{mode}\"");
        let change = |policy: &str| policy.replace("mode      = \"shadow\"", &written);
        Example::before("rollout.toml", Upstream::answering(OK), change)
    };
    for (mode, ninth) in [("shadow", 200), ("mark", 200), ("enforce", 429)] {
        let search = step(mode);
        for _ in 0..8 {
            assert_eq!(search.status("GET", "/search", NOBODY), 200);
            assert!(!search.last_head().contains("x-jeton-limited"));
        }
        assert_eq!(search.status("GET", "/search", NOBODY), ninth, "{mode}");
        let told = search
            .last_head()
            .contains("\r\nx-jeton-limited: search\r\n");
        assert_eq!(told, mode == "mark", "{mode}");
        assert_eq!(outcome(&search, "trial_allowed"), 5, "{mode}");
        let refused = match mode {
            "shadow" => "shadow_denied",
            "mark" => "marked",
            _ => "denied",
        };
        assert_eq!(
            outcome(&search, refused),
            1,
            "{mode}: {}",
            search.jeton.metrics()
        );
    }
}

#[test]
fn workers_get_three_places_and_the_fourth_waits() {
    let reports = Example::start("concurrency.toml");
    let script = folder().join("concurrency.sh");
    let api = format!("http://{}", reports.jeton.api_address());
    let output = Command::new("sh").arg(script).env("API", api).output();
    let output = output.expect("sh runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let told = "four workers ask for a place\nworker 1: works\nworker 2: works\nworker 3: works\n\
                worker 4: told to come back later\nthe first one is still at it\n\
                the second one is done\nworker 4: works\n";
    assert_eq!(stdout(&output), told);
    // The API and the proxy share the places.
    assert_eq!(reports.status("GET", "/reports/7", "X-Account: acme"), 429);
    assert_eq!(reports.status("GET", "/reports/7", "X-Account: other"), 200);
}
