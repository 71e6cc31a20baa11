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
