//! What a start refuses, and leaves as it is; and who else keeps away from a folder.

use std::fs;

use redb::{Database, TableDefinition};

use super::{Data, HUNDRED, charge, content, left, stop};
use crate::support::binary::{Running, jeton, jeton_in, refused, stderr, stdout};
use crate::support::calls::{is_allowed, take};
use crate::support::{Folder, eventually};

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let data = Data::new();
    let node = data.serve("", HUNDRED);
    assert!(is_allowed(&charge(&node, "k", 40)));
    let said = refused(&data.policy("", HUNDRED));
    let path = data.path();
    let told = format!(
        "error: [store]: the store's folder {} is in use",
        path.display()
    );
    assert!(said.contains(&told), "{said}");
    assert!(is_allowed(&charge(&node, "k", 40)));
    stop(node);
    assert_eq!(left(&data.serve("", HUNDRED), "k"), 20);
}

#[test]
fn a_folder_of_a_later_release_is_refused_and_left_alone() {
    const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let data = Data::new();
    stop(data.serve("", HUNDRED));
    let db = Database::open(data.path().join("states.redb")).expect("a file");
    let writing = db.begin_write().expect("a transaction");
    let mut meta = writing.open_table(META).expect("a table");
    meta.insert("format", &7_u32.to_le_bytes()[..])
        .expect("written");
    drop(meta);
    writing.commit().expect("written");
    drop(db);
    let before = content(&data.path());
    let said = refused(&data.policy("", HUNDRED));
    assert!(
        said.contains("was written in format 7, and this release reads up to 1"),
        "{said}"
    );
    assert!(content(&data.path()) == before, "it was touched");
}

#[test]
fn damage_is_refused_with_the_file_and_left_alone() {
    let data = Data::new();
    let node = data.serve("", HUNDRED);
    for key in 0..200 {
        charge(&node, &format!("k{key}"), 1);
    }
    stop(node);
    let file = data.path().join("states.redb");
    let mut bytes = fs::read(&file).expect("a file");
    let middle = bytes.len() / 2;
    bytes.iter_mut().skip(middle).for_each(|byte| *byte ^= 0x5a);
    fs::write(&file, &bytes).expect("written");
    let before = content(&data.path());
    let said = refused(&data.policy("", HUNDRED));
    let told = format!("error: [store]: {} is damaged (", file.display());
    assert!(
        said.contains(&told) && said.contains("move it away"),
        "{said}"
    );
    assert!(content(&data.path()) == before, "it was touched");
}

#[test]
fn what_is_no_folder_is_told_and_a_place_from_elsewhere_is_not_shown() {
    let data = Data::new();
    fs::write(data.path(), "a file").expect("written");
    let said = refused(&data.policy("", HUNDRED));
    assert!(said.contains("check that it is a folder"), "{said}");
    assert_eq!(fs::read(data.path()).expect("a file"), b"a file");

    let folder = Folder::new();
    let path = data.path().to_str().expect("a path").to_owned();
    folder.file("where", path.as_bytes());
    let literal = format!("path = \"{path}\"");
    let policy = data
        .policy("", HUNDRED)
        .replace(&literal, "path = { file = \"where\" }");
    folder.file("jeton.toml", policy.as_bytes());
    let output = jeton_in(folder.path(), &["serve"], "");
    let said = stderr(&output);
    assert!(
        said.contains("what file where says cannot be used"),
        "{said}"
    );
    assert!(!said.contains(&path), "{said}");
}

/// As with other files that a policy names, a relative path begins beside it.
#[test]
fn the_usual_folder_lies_beside_the_policy_and_nobody_but_the_service_touches_it() {
    let policy = format!("[api]\nlisten = \"127.0.0.1:0\"\n[store]\nkind = \"disk\"\n{HUNDRED}");
    let folder = Folder::new();
    let path = folder.file("jeton.toml", policy.as_bytes());
    let data = folder.path().join("jeton-data");
    let config = path.to_str().expect("a path");
    let request = ["--request", "GET /", "--header", "x-user: k"];
    let explain = [&["explain", "--config", config], &request[..]].concat();
    let trace = folder.file(
        "t.jsonl",
        b"{\"at_us\":0,\"rule\":\"user\",\"key\":\"k\"}\n",
    );
    let trace = trace.to_str().expect("a path");
    let simulate = ["simulate", "--config", config, "--trace", trace];
    let check = ["check", "--config", config];
    let aside = [&explain[..], &simulate, &check];
    for arguments in aside {
        let output = jeton(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(!data.exists(), "{arguments:?}");
    }
    let node = Running::serve_from(folder, "jeton.toml");
    assert!(data.join("states.redb").exists());
    assert!(is_allowed(&charge(&node, "k", 100)));
    eventually("it is written", || node.metric("jeton_disk_pending ") == 0);
    let before = content(&data);
    for arguments in aside {
        let output = jeton(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(content(&data) == before, "{arguments:?}");
    }
    // With the API's help it sees the counters of the folder.
    let api = format!("http://{}", node.api_address());
    let output = jeton(&[&["explain", "--api", &api], &request[..]].concat());
    assert!(
        stdout(&output).starts_with("DENIED by user"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_reload_that_changes_the_store_is_refused_whole() {
    let data = Data::new();
    let node = data.serve("", HUNDRED);
    let path = node.folder().path().join("jeton.toml");
    let changed = data.policy(
        "sync = \"always\"",
        &HUNDRED.replace("limit = 100", "limit = 5"),
    );
    fs::write(path, changed).expect("written");
    node.signal("-HUP");
    node.logs("it changes [store] sync, which is read when the process starts");
    assert_eq!(left(&node, "k"), 100);
    assert!(is_allowed(&take(&node, "user", "k")));
}
