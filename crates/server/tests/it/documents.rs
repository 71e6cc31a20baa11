//! Pages whose samples are run as they stand: a `toml` block is a policy that `jeton serve` is
//! started with, an `sh` block is run beside it, and the block after that says what it prints.

mod agreement;

use std::fs;
use std::path::Path;
use std::process::Command;

use agreement::{agrees, head_agrees};

use crate::support::Folder;
use crate::support::binary::{Running, jeton, stdout};

/// A fenced block of a page.
struct Block<'a> {
    kind: &'a str,
    text: &'a str,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let (mut offset, mut open) = (0, None);
    for (number, line) in page.split_inclusive('\n').enumerate() {
        if let Some(kind) = line.strip_prefix("```") {
            open = match open.take() {
                None => Some((kind.trim(), offset + line.len(), number + 1)),
                Some((kind, start, line)) => {
                    let text = &page[start..offset];
                    found.push(Block { kind, text, line });
                    None
                }
            };
        }
        offset += line.len();
    }
    assert!(open.is_none(), "a block without an end");
    found
}

/// A page, while its samples are run from top to bottom.
struct Reading {
    jeton: Option<Running>,
    /// What stands for `HANDLE` and `RECEIPT`: the last that was answered.
    handle: String,
    receipt: String,
    printed: String,
}

impl Reading {
    /// A sample as it can be run here.
    fn here(&self, text: &str) -> String {
        let jeton = self.jeton.as_ref().expect("a policy before");
        let mut text = text.to_owned();
        if text.contains("127.0.0.1:7070") {
            text = text.replace("127.0.0.1:7070", &jeton.api_address().to_string());
        }
        if text.contains("-p 6380") {
            let port = jeton.resp_address().port();
            text = text.replace("-p 6380", &format!("-p {port}"));
        }
        text.replace("HANDLE", &self.handle)
            .replace("RECEIPT", &self.receipt)
    }

    fn run(&mut self, block: &Block<'_>, environment: &[(&str, &str)]) {
        let mut shell = Command::new("sh");
        shell.args(["-euc", &self.here(block.text)]);
        shell.envs(environment.iter().copied());
        let jeton = Path::new(env!("CARGO_BIN_EXE_jeton"));
        let path = std::env::var("PATH").expect("a path");
        let beside = jeton.parent().expect("a folder").display();
        shell.env("PATH", format!("{beside}:{path}"));
        let output = shell.output().expect("sh runs");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "line {}: {complaint}", block.line);
        self.printed = String::from_utf8(output.stdout).expect("text");
        for (name, place) in [("handle", &mut self.handle), ("receipt", &mut self.receipt)] {
            let found = self.printed.split(&format!("\"{name}\":\"")).nth(1);
            if let Some(value) = found.and_then(|rest| rest.split('"').next()) {
                value.clone_into(place);
            }
        }
    }

    fn compare(&self, block: &Block<'_>) {
        let (line, printed) = (block.line, self.printed.as_str());
        let parsed = |text: &str| {
            let value = serde_json::from_str(text);
            value.unwrap_or_else(|error| panic!("line {line}: {error}: {text}"))
        };
        let agreed = match block.kind {
            "json" => agrees(&parsed(printed), &parsed(block.text)),
            "http" => head_agrees(printed, block.text),
            _ => printed.trim() == block.text.trim(),
        };
        assert!(agreed, "line {line}: it prints\n{printed}");
    }
}

/// Runs the samples of a page; gives how many there were.
fn run_page(name: &str, environment: &[(&str, &str)]) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    let page = fs::read_to_string(&path).expect("a page");
    let mut reading = Reading {
        jeton: None,
        handle: String::new(),
        receipt: String::new(),
        printed: String::new(),
    };
    let mut samples = 0;
    for block in blocks(&page) {
        match block.kind {
            "toml" => {
                let policy = block.text.replace("127.0.0.1:7070", "127.0.0.1:0");
                let policy = policy.replace("127.0.0.1:6380", "127.0.0.1:0");
                reading.jeton = Some(Running::serve_with(&policy, environment));
            }
            "sh" => {
                reading.run(&block, environment);
                samples += 1;
            }
            "json" | "http" | "text" => reading.compare(&block),
            _ => {}
        }
    }
    samples
}

#[test]
fn the_page_of_the_api_is_true() {
    let tokens = [
        ("JETON_TOKEN", "a-token"),
        ("JETON_ADMIN_TOKEN", "another-token"),
    ];
    assert!(run_page("docs/api.md", &tokens) >= 10);
}

#[test]
fn the_policies_of_a_page_to_begin_with_draw_no_warning() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settling.md");
    let page = fs::read_to_string(page).expect("a page");
    let folder = Folder::new();
    let policies = blocks(&page).into_iter().filter(|it| it.kind == "toml");
    let checked = policies.map(|policy| {
        let file = folder.file("jeton.toml", policy.text.as_bytes());
        let output = jeton(&["check", "--config", file.to_str().expect("a path")]);
        let told = stdout(&output);
        assert!(told.contains("\n0 errors, 0 warnings"), "{told}");
    });
    assert!(checked.count() >= 1);
}

#[test]
fn the_page_of_settling_is_true() {
    assert!(run_page("docs/settling.md", &[]) >= 3);
}

#[test]
fn the_page_for_redis_clients_is_true() {
    assert!(run_page("docs/resp.md", &[]) >= 3);
}

#[test]
fn the_page_of_the_disk_is_true() {
    assert!(run_page("docs/disk.md", &[]) >= 3);
}
