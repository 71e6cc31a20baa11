//! Files of descriptors that change are taken up, or refused with their place.

use super::{ask, serve};
use crate::support::eventually;

fn limits(requests: u32) -> String {
    format!(
        "domain: d\ndescriptors: [{{ key: user, rate_limit: {{ unit: day, requests_per_unit: {requests} }} }}]\n"
    )
}

#[test]
fn a_file_that_changes_holds_at_once_and_what_was_used_stays_used() {
    let jeton = serve("", &limits(2));
    let left = || ask(&jeton, "user", "anna").1["statuses"][0]["limitRemaining"].clone();
    assert_eq!(left(), 1);
    jeton.folder().file("limits/a.yaml", limits(9).as_bytes());
    jeton.logs("policy 2 is in force");
    jeton.logs("rule rls:d.user: changed, counters kept: limit 2 -> 9");
    assert_eq!(left(), 7);
    // A second file, and a mistake in it.
    jeton
        .folder()
        .file("limits/b.yaml", b"domain: e\ndescriptors: [{ key: }]\n");
    jeton.logs("limits/b.yaml:2:17");
    jeton.logs("policy 2 stays in force");
    assert_eq!(jeton.metric("jeton_config_ok"), 0);
    assert_eq!(left(), 6);
    // Gone again, all is well; what begins with a dot is none of the files.
    std::fs::remove_file(jeton.folder().path().join("limits/b.yaml")).expect("a file");
    jeton.folder().file("limits/.swap", b"domain:");
    eventually("good again", || jeton.metric("jeton_config_ok") == 1);
    assert_eq!(left(), 5);
}

#[test]
fn a_folder_that_is_turned_as_kubernetes_does_is_followed() {
    let jeton = serve("", &limits(2));
    let path = |name: &str| jeton.folder().path().join(name);
    std::fs::remove_file(path("limits/a.yaml")).expect("a file");
    for (version, requests) in [("..1", 3), ("..2", 4)] {
        std::fs::create_dir(path(&format!("limits/{version}"))).expect("a folder");
        let name = format!("limits/{version}/a.yaml");
        jeton.folder().file(&name, limits(requests).as_bytes());
    }
    std::os::unix::fs::symlink("..1", path("limits/..data")).expect("a link");
    std::os::unix::fs::symlink("..data/a.yaml", path("limits/a.yaml")).expect("a link");
    jeton.logs("limit 2 -> 3");
    std::os::unix::fs::symlink("..2", path("limits/..new")).expect("a link");
    std::fs::rename(path("limits/..new"), path("limits/..data")).expect("turned");
    jeton.logs("limit 3 -> 4");
}
