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

#[test]
fn what_is_no_file_of_the_folder_is_told_by_its_name() {
    use std::os::unix::ffi::OsStrExt;
    let jeton = serve("", &limits(2));
    let folder = jeton.folder().path().join("limits");
    let good = || eventually("good again", || jeton.metric("jeton_config_ok") == 1);
    // A link that leads nowhere, and is not the folder.
    let dangling = folder.join("b.yaml");
    std::os::unix::fs::symlink("nowhere.yaml", &dangling).expect("a link");
    jeton.logs("the file \"limits/b.yaml\" does not exist");
    std::fs::remove_file(&dangling).expect("a link");
    good();
    // A pipe would be waited for, for ever.
    let pipe = folder.join("c.yaml");
    let made = crate::support::run("mkfifo", &[pipe.to_str().expect("a path")]);
    assert!(made.status.success());
    jeton.logs("\"limits/c.yaml\" is a pipe or a device");
    std::fs::remove_file(&pipe).expect("a pipe");
    good();
    let odd = folder.join(std::ffi::OsStr::from_bytes(b"\xff.yaml"));
    std::fs::write(&odd, "domain: e\n").expect("a file");
    jeton.logs("is not text in UTF-8");
    std::fs::remove_file(&odd).expect("a file");
    good();
    for number in 0..1_001 {
        std::fs::write(folder.join(format!("{number}.yaml")), "").expect("a file");
    }
    jeton.logs("at most 4 MiB, and 1000 files");
    for number in 0..1_001 {
        std::fs::remove_file(folder.join(format!("{number}.yaml"))).expect("a file");
    }
    good();
    // A round trip of links is not walked for ever.
    std::os::unix::fs::symlink("..", folder.join("loop")).expect("a link");
    eventually("refused", || jeton.metric("jeton_config_ok") == 0);
    std::fs::remove_file(folder.join("loop")).expect("a link");
    good();
    assert_eq!(ask(&jeton, "user", "anna").0, 200);
}

#[test]
fn a_file_that_becomes_a_folder_is_what_is_in_it() {
    let jeton = serve("", &limits(2));
    let path = |name: &str| jeton.folder().path().join(name);
    let left = || ask(&jeton, "user", "anna").1["statuses"][0]["limitRemaining"].clone();
    assert_eq!(left(), 1);
    std::fs::create_dir(path("limits/new")).expect("a folder");
    jeton
        .folder()
        .file("limits/new/b.yaml", limits(5).as_bytes());
    // One domain in two files, for a moment or for longer.
    std::fs::remove_file(path("limits/a.yaml")).expect("a file");
    std::fs::rename(path("limits/new"), path("limits/a.yaml")).expect("turned");
    jeton.logs("limit 2 -> 5");
    assert_eq!(left(), 3);
    // Nothing at all is a folder without limits.
    std::fs::remove_dir_all(path("limits/a.yaml")).expect("a folder");
    jeton.logs("rule rls:d.user: removed");
    assert_eq!(ask(&jeton, "user", "anna").0, 200);
    // And no folder is a mistake.
    std::fs::remove_dir(path("limits")).expect("a folder");
    jeton.logs("the folder \"limits\" does not exist");
}
