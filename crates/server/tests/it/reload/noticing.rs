//! A change is seen whichever way it is made.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Changing, NOTICED, five_per_hour};
use crate::support::Folder;

/// A folder as Kubernetes mounts a `ConfigMap`: the file is a link through `..data`, a link to a
/// folder that holds the file itself.
fn mount(folder: &Folder, version: &str, text: &str) {
    let base = folder.path();
    let hidden = base.join(version);
    fs::create_dir(&hidden).expect("a version");
    fs::write(hidden.join("jeton.toml"), text).expect("its file");
    symlink(version, base.join("..data_tmp")).expect("a link");
    fs::rename(base.join("..data_tmp"), base.join("..data")).expect("the link is turned");
    let visible = base.join("jeton.toml");
    if !visible.is_symlink() {
        symlink("..data/jeton.toml", visible).expect("a link");
    }
}

#[test]
fn f46_a_change_is_noticed_whichever_way_it_is_made() {
    let file = Changing::by(&five_per_hour(1));
    file.after(|| file.write(&five_per_hour(2)));
    assert_eq!(file.client("a").passes(5), 2, "written in place");
    file.after(|| file.rename_over(&five_per_hour(3)));
    assert_eq!(file.client("b").passes(5), 3, "renamed over");
    file.after(|| file.hang_up());
    assert_eq!(file.client("c").passes(5), 3, "the same again");
}

#[test]
fn f46_hidden_and_linked_copies_are_ignored_and_a_turned_link_is_noticed() {
    let file = Changing::within(Folder::new(), "jeton.toml", |folder, text| {
        mount(folder, "..2026_1", &format!("{text}{}", five_per_hour(1)));
        // What an editor leaves behind.
        folder.file(".jeton.toml.swp", text.as_bytes());
        folder.file("jeton.toml~", b"this is no policy");
    });
    let rules = file.call("/v1/rules");
    assert_eq!(rules.text.matches("\"name\":\"five\"").count(), 1);
    assert_eq!(file.client("a").passes(5), 1);

    let second = file.text(&five_per_hour(2));
    file.after(|| mount(file.jeton.folder(), "..2026_2", &second));
    assert_eq!(file.client("b").passes(5), 2);

    // The copy that nothing leads to any more.
    let base = file.jeton.folder().path();
    fs::write(base.join("..2026_1/jeton.toml"), "no policy").expect("written");
    fs::write(base.join(".jeton.toml.swp"), "no policy").expect("written");
    std::thread::sleep(NOTICED);
    assert_eq!(file.generation(), 2);
    assert!(
        !file.jeton.log().contains("refused"),
        "{}",
        file.jeton.log()
    );
}

#[test]
fn sighup_asks_for_the_file_at_once() {
    let file = Changing::by(&five_per_hour(1));
    for generation in 2..6 {
        let asked = Instant::now();
        file.hang_up();
        file.reaches(generation, asked);
        // No second read has to agree.
        assert!(
            asked.elapsed() < Duration::from_secs(1),
            "{:?}",
            asked.elapsed()
        );
    }
}

#[test]
fn a_value_in_a_file_of_its_own_is_followed_too() {
    let rules = "[[rule]]\nname = \"partner\"\nmatch = { header = { x-key = { file = \"key\" } } }\n\
                 key = [\"header:x-key\"]\nalgorithm = \"sliding-log\"\nlimit = 1\nwindow = \"1h\"\n";
    let file = Changing::within(Folder::new(), "jeton.toml", |folder, text| {
        folder.file("key", b"old-key\n");
        folder.file("jeton.toml", format!("{text}{rules}").as_bytes());
    });
    let matched = |key: &str| {
        let mut client = file.client("a");
        client.head = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Key: {key}\r\n\r\n");
        client.ask().field("ratelimit").is_some()
    };
    assert_eq!((matched("old-key"), matched("new-key")), (true, false));
    file.after(|| drop(file.jeton.folder().file("key", b"new-key\n")));
    assert_eq!((matched("old-key"), matched("new-key")), (false, true));
    let log = file.jeton.log();
    assert!(
        !log.contains("old-key") && !log.contains("new-key"),
        "{log}"
    );
}

#[test]
fn a_pipe_is_read_once_and_not_followed() {
    let file = Changing::within(Folder::new(), "jeton.toml", |folder, text| {
        let path = folder.path().join("jeton.toml");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        let text = format!("{text}{}", five_per_hour(1));
        // Waits for its reader.
        std::thread::spawn(move || fs::write(path, text));
    });
    file.jeton.logs("is no regular file");
    file.hang_up();
    file.jeton.logs("cannot be read again");
    assert_eq!((file.generation(), file.client("a").passes(3)), (1, 1));
}

#[test]
fn a_file_that_is_being_written_is_not_taken_for_what_it_will_be() {
    let file = Changing::by(&five_per_hour(1));
    let (mut generation, mut quick) = (1, 0);
    while quick < 5 {
        let begun = Instant::now();
        file.jeton
            .folder()
            .file("jeton.toml", b"[[rule]]\nname = \"fi");
        std::thread::sleep(Duration::from_millis(100));
        file.write(&five_per_hour(generation + 1));
        // On a busy machine the half file may have stood for too long.
        let was_quick = begun.elapsed() < Duration::from_millis(300);
        generation += 1;
        file.reaches(u64::from(generation), Instant::now());
        let was_refused = file.jeton.log().contains("refused");
        assert!(!(was_quick && was_refused), "{}", file.jeton.log());
        quick += u32::from(was_quick);
    }
}
