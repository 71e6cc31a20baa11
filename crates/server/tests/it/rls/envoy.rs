//! Real Envoy before a real service, with the very files of `examples/envoy`; only addresses are put in
//! place.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::binary::Running;
use crate::support::nginx::Nginx;
use crate::support::tools::tool;
use crate::support::{Folder, curl, eventually};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/envoy");
    let path: PathBuf = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Port 0 of another socket: free a moment ago, and unlikely to be taken since.
fn free() -> SocketAddr {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    address.expect("a free port")
}

/// Limits of the example are by the hour: what is counted here must not fall into two of them.
fn within_an_hour() {
    let now = jeton::Clock::system().now().get() / 1_000_000;
    let left = 3600 - now % 3600;
    if left < 45 {
        std::thread::sleep(std::time::Duration::from_secs(left));
    }
}

/// A service, Envoy before it, and Jeton beside Envoy.
struct Setup {
    service: Nginx,
    jeton: Option<Running>,
    rls: SocketAddr,
    web: SocketAddr,
    envoy: Child,
    folder: Folder,
}

fn jeton(rls: SocketAddr) -> Running {
    let policy = example("jeton.toml")
        .replace("127.0.0.1:7070", "127.0.0.1:0")
        .replace("127.0.0.1:8081", &rls.to_string());
    let folder = Folder::new();
    fs::create_dir(folder.path().join("ratelimit")).expect("a folder");
    folder.file(
        "ratelimit/edge.yaml",
        example("ratelimit/edge.yaml").as_bytes(),
    );
    folder.file("jeton.toml", policy.as_bytes());
    Running::serve_from(folder, "jeton.toml")
}

impl Setup {
    fn start() -> Self {
        within_an_hour();
        let (service, web, rls) = (Nginx::start(), free(), free());
        let jeton = jeton(rls);
        let port = |url: &str| url.rsplit(':').next().expect("a port").to_owned();
        let config = example("envoy.yaml")
            .replace("port_value: 8080", &format!("port_value: {}", web.port()))
            .replace("port_value: 8081", &format!("port_value: {}", rls.port()))
            .replace(
                "port_value: 3000",
                &format!("port_value: {}", port(&service.url())),
            );
        let folder = Folder::new();
        let config = folder.file("envoy.yaml", config.as_bytes());
        let log = File::create(folder.path().join("log")).expect("a log");
        let envoy = Command::new(tool("envoy"))
            .args([
                "--use-dynamic-base-id",
                "--concurrency",
                "1",
                "-l",
                "warn",
                "-c",
            ])
            .arg(config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("envoy: {error}; install it with `make prereqs`"));
        let jeton = Some(jeton);
        let setup = Self {
            service,
            jeton,
            rls,
            web,
            envoy,
            folder,
        };
        setup.comes_up();
        setup
    }

    fn comes_up(&self) {
        let begun = std::time::Instant::now();
        while TcpStream::connect(self.web).is_err() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed().as_secs() < 30, "{log}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // Envoy finds Jeton well before it asks.
        eventually("Envoy asks Jeton", || {
            self.get("/quiet", "probe").contains("x-ratelimit-limit")
        });
    }

    fn jeton(&self) -> &Running {
        self.jeton.as_ref().expect("Jeton runs")
    }

    /// The head of the answer, in lower case.
    fn get(&self, path: &str, user: &str) -> String {
        self.get_from(path, user, "198.51.100.7")
    }

    fn get_from(&self, path: &str, user: &str, address: &str) -> String {
        let user = format!("x-user: {user}");
        let from = format!("x-forwarded-for: {address}");
        let url = format!("http://{}{path}", self.web);
        let head = curl(&["-o", "/dev/null", "-D", "-", "-H", &user, "-H", &from, &url]);
        head.to_ascii_lowercase()
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        drop(self.envoy.kill());
        drop(self.envoy.wait());
    }
}

/// The value of a field.
fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn status(head: &str) -> &str {
    head.split_whitespace().nth(1).expect("a status")
}

/// What the page tells to run, on the ports of this test.
#[test]
fn the_page_of_the_example_is_true() {
    let setup = Setup::start();
    let page = example("README.md");
    let mut lines = page.lines().filter(|line| line.starts_with("for "));
    let (run, promise) = lines
        .next()
        .and_then(|line| line.split_once("   # "))
        .expect("a loop");
    assert_eq!(promise, "the sixth: 429");
    let run = run.replace("127.0.0.1:8080", &setup.web.to_string());
    let output = Command::new("sh").args(["-c", &run]).output();
    let output = output.expect("a shell");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let heads = told.lines().filter(|line| line.starts_with("HTTP"));
    let codes: Vec<&str> = heads.filter_map(|head| head.split(' ').nth(1)).collect();
    assert_eq!(codes, ["200", "200", "200", "200", "200", "429"], "{told}");
    assert!(told.contains("\"rls:edge.user\";r=0;"), "{told}");
}

#[test]
fn envoy_limits_by_header_and_by_masked_address() {
    let setup = Setup::start();
    for left in (0..5).rev() {
        let head = setup.get("/", "anna");
        assert_eq!(status(&head), "200");
        let limit = field(&head, "x-ratelimit-limit").expect("a limit");
        assert!(limit.contains(", 5;w=3600;name=\"per-user\""), "{limit}");
        let ours = field(&head, "ratelimit").expect("a field of ours");
        assert!(
            ours.contains(&format!("\"rls:edge.user\";r={left};")),
            "{ours}"
        );
    }
    let head = setup.get("/", "anna");
    assert_eq!(status(&head), "429");
    assert_eq!(field(&head, "x-envoy-ratelimited"), Some("true"));
    assert_eq!(field(&head, "x-ratelimit-remaining"), Some("0"));
    let reset: u64 = field(&head, "x-ratelimit-reset")
        .and_then(|it| it.parse().ok())
        .expect("a time");
    let wait: u64 = field(&head, "retry-after")
        .and_then(|it| it.parse().ok())
        .expect("a wait");
    assert!((1..=3600).contains(&wait) && reset.abs_diff(wait) <= 1);
    // What was denied reached nobody.
    let seen = setup
        .service
        .log()
        .iter()
        .filter(|line| line.contains("GET / "))
        .count();
    assert_eq!(seen, 5);
    // By network: 20, of which this one has used some; another has not.
    let policy = setup.get_from("/", "staff", "198.51.100.200");
    assert_eq!(
        field(&policy, "x-ratelimit-limit").map(|it| it.contains("per-network")),
        Some(false)
    );
    let mut passed = 0;
    for at in 0..30 {
        if status(&setup.get(&format!("/?{at}"), &format!("user{at}"))) == "200" {
            passed += 1;
        }
    }
    // Five of anna, and one for each probe while it came up.
    assert!((5..=15).contains(&passed), "{passed}");
    assert_eq!(status(&setup.get("/", "zoe")), "429");
    assert_eq!(status(&setup.get_from("/", "zoe", "203.0.113.5")), "200");
}

#[test]
fn envoy_brings_limits_gives_back_and_counts_in_shadow() {
    let setup = Setup::start();
    for expected in ["200", "200", "429"] {
        assert_eq!(
            status(&setup.get("/special", "berta").replace("404", "200")),
            expected
        );
    }
    // A user that is full has room again for what was given back.
    for _ in 0..5 {
        setup.get("/", "carl");
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    assert_eq!(status(&setup.get("/", "carl")), "429");
    assert_ne!(status(&setup.get("/undo", "carl")), "429");
    assert_eq!(status(&setup.get("/", "carl")), "200");
    assert_eq!(status(&setup.get("/", "carl")), "429");
    for name in ["a", "b"] {
        assert_ne!(
            status(&setup.get(&format!("/export/{name}"), "dora")),
            "429"
        );
    }
    let shadow =
        "jeton_decisions_total{rule=\"rls:edge.user.path_/export/*\",outcome=\"shadow_denied\"} ";
    assert_eq!(setup.jeton().metric(shadow), 1);
}

#[test]
fn envoy_goes_on_without_jeton_and_with_another_file() {
    let mut setup = Setup::start();
    let file =
        example("ratelimit/edge.yaml").replace("requests_per_unit: 5", "requests_per_unit: 1");
    setup
        .jeton()
        .folder()
        .file("ratelimit/edge.yaml", file.as_bytes());
    setup.jeton().logs("policy 2 is in force");
    assert_eq!(status(&setup.get("/", "emil")), "200");
    assert_eq!(status(&setup.get("/", "emil")), "429");
    setup.jeton = None;
    // It fails open, and says nothing of limits.
    let head = setup.get("/", "emil");
    assert_eq!(
        (status(&head), field(&head, "x-ratelimit-limit")),
        ("200", None)
    );
    setup.jeton = Some(jeton(setup.rls));
    eventually("Envoy asks again", || {
        setup.get("/quiet", "fred").contains("x-ratelimit-limit")
    });
}
