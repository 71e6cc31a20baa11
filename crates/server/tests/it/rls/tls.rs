//! Who may ask beyond this machine.

use std::path::Path;

use super::serve;
use crate::support::{Folder, curl, run};

const LIMITS: &str =
    "domain: d\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 2 } }]\n";

fn openssl(folder: &Path, arguments: &str) {
    let script = format!("cd '{}' && openssl {arguments}", folder.display());
    let output = run("sh", &["-c", &script]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A root, a certificate of the door and one of a caller.
fn certificates(folder: &Path) {
    let new = "-nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2";
    openssl(
        folder,
        &format!("req -x509 {new} -subj /CN=root -keyout root.key -out root.pem"),
    );
    for name in ["door", "caller"] {
        openssl(
            folder,
            &format!(
                "req {new} -subj /CN={name} -addext subjectAltName=IP:127.0.0.1 -keyout {name}.key -out {name}.csr"
            ),
        );
        openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA root.pem -CAkey root.key -CAcreateserial -copy_extensions copy -days 2 -out {name}.pem"
            ),
        );
    }
}

#[test]
fn callers_show_a_certificate_where_one_is_asked_for() {
    let folder = Folder::new();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tls = format!(
        "tls = {{ cert = \"{}\", key = \"{}\", client_ca = \"{}\" }}\n",
        file("door.pem"),
        file("door.key"),
        file("root.pem")
    );
    let jeton = serve(&tls, LIMITS);
    let url = format!("https://{}/json", jeton.rls_address());
    let body = r#"{"domain":"d","descriptors":[{"entries":[{"key":"user","value":"a"}]}]}"#;
    let known = [
        "--cacert",
        &file("root.pem"),
        "--cert",
        &file("caller.pem"),
        "--key",
        &file("caller.key"),
    ];
    for version in ["--http1.1", "--http2"] {
        let arguments = [&known[..], &[version, "-d", body, &url]].concat();
        assert!(curl(&arguments).contains("\"overallCode\":\"OK\""));
    }
    let stranger = run(
        "curl",
        &["-sS", "--cacert", &file("root.pem"), "-d", body, &url],
    );
    assert!(!stranger.status.success());
    let plain = run("curl", &["-sS", "-d", body, &url.replace("https", "http")]);
    assert!(!plain.status.success());
}

/// What the door shows, as a number.
fn serial(jeton: &crate::support::binary::Running) -> String {
    let script = format!(
        "openssl s_client -connect {} </dev/null 2>/dev/null | openssl x509 -noout -serial",
        jeton.rls_address()
    );
    String::from_utf8(run("sh", &["-c", &script]).stdout).expect("text")
}

#[test]
fn certificates_are_renewed_while_the_door_is_open() {
    let folder = Folder::new();
    certificates(folder.path());
    let path = |name: &str| folder.path().join(name);
    let jeton = serve(
        &format!(
            "tls = {{ cert = {:?}, key = {:?} }}\n",
            path("door.pem"),
            path("door.key")
        ),
        LIMITS,
    );
    let first = serial(&jeton);
    assert!(first.starts_with("serial="), "{first}");
    // One that is there before, and stays.
    let mut before = Client::to(&jeton, &path("root.pem"));
    before.asks_for_health();

    let other = Folder::new();
    certificates(other.path());
    let turn = |name: &str| {
        let new = path("new");
        std::fs::copy(other.path().join(name), &new).expect("a copy");
        std::fs::rename(new, path(name)).expect("turned");
    };
    // A key that fits no certificate changes nothing.
    turn("door.key");
    jeton.logs("do not fit each other");
    jeton.logs("what was read before stays in force");
    assert_eq!(serial(&jeton), first);
    turn("door.pem");
    jeton.logs("the files have changed, and hold from now on");
    assert_ne!(serial(&jeton), first);
    before.asks_for_health();
    std::fs::remove_file(path("door.pem")).expect("a file");
    jeton.logs("door.pem has no certificate");
    before.asks_for_health();
}

/// A connection under TLS that asks again and again.
struct Client {
    child: std::process::Child,
    answers: std::io::BufReader<std::process::ChildStdout>,
}

impl Client {
    fn to(jeton: &crate::support::binary::Running, root: &Path) -> Self {
        use std::process::{Command, Stdio};
        let mut child = Command::new("openssl")
            .args(["s_client", "-quiet", "-verify_quiet", "-CAfile"])
            .arg(root)
            .args(["-connect", &jeton.rls_address().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl");
        let answers = std::io::BufReader::new(child.stdout.take().expect("its output"));
        Self { child, answers }
    }

    fn asks_for_health(&mut self) {
        use std::io::{BufRead, Read, Write};
        let input = self.child.stdin.as_mut().expect("its input");
        input
            .write_all(b"GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n")
            .expect("sent");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a line");
        assert_eq!(line, "HTTP/1.1 200 OK\r\n");
        while line != "\r\n" {
            line.clear();
            self.answers.read_line(&mut line).expect("a line");
        }
        self.answers.read_exact(&mut [0; 2]).expect("OK");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn files_that_do_not_fit_are_named() {
    let folder = Folder::new();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (cert, key, why) in [
        ("door.pem", "caller.key", "do not fit each other"),
        ("door.key", "door.key", "door.key has no certificate"),
        ("door.pem", "door.pem", "door.pem has no private key"),
        ("none.pem", "door.key", "none.pem has no certificate"),
    ] {
        let policy = format!(
            "[rls]\nlisten = \"127.0.0.1:0\"\ntls = {{ cert = \"{}\", key = \"{}\" }}\n[[rule]]\n\
             name = \"a\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n",
            file(cert),
            file(key)
        );
        let path = folder.file("jeton.toml", policy.as_bytes());
        let output =
            crate::support::binary::jeton(&["serve", "--config", path.to_str().expect("a path")]);
        let said = crate::support::binary::stderr(&output);
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
