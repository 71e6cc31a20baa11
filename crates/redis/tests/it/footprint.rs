//! What a key costs the server: the figures of the documentation, measured.

use jeton_core::{Act, Anchor, Cost, Op, Plan, Quota, Rate, RuleId, Span, When};
use jeton_testkit::redis_server::{Server, Version};

use crate::server::{open, settings, submit};

fn quota(algorithm: &str) -> Quota {
    let day = Span::from_micros(86_400_000_000).unwrap();
    let quota = match algorithm {
        "token-bucket" | "gcra" => Quota::bucket(Rate::new(1, day).unwrap(), 4_000),
        "fixed-window" => Quota::fixed_window(1_000_000, day, Anchor::Epoch),
        "sliding-counter" => Quota::sliding_counter(1_000_000, day),
        "sliding-log" => Quota::sliding_log(1_000_000, day),
        "concurrency" => Quota::concurrency(1_000_000, day),
        other => panic!("{other} is no algorithm"),
    };
    quota.unwrap()
}

/// Bytes of a key after so many units were taken one by one.
fn measured(server: &Server, algorithm: &str, units: u64) -> u64 {
    let mut settings = settings(server.url());
    settings.prefix = String::new();
    let store = open(&settings);
    let (quota, cost) = (quota(algorithm), Cost::ONE);
    let act = if quota.kind().is_held() {
        Act::Hold { cost }
    } else {
        Act::Take { cost }
    };
    let key = [algorithm, &units.to_string()].concat();
    let op = Op::new(RuleId::new(1), key.as_bytes(), &quota, act);
    for _ in 0..units {
        let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
        assert!(answers.plan(0).0.unwrap().allowed);
    }
    let key = String::from_utf8(store.key_of(&op)).unwrap();
    server.ask(&["MEMORY", "USAGE", &key])
}

/// The figures are what `MEMORY USAGE` says, within a tenth.
#[test]
fn the_figures_of_the_documentation_hold() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/redis.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("\n## Memory\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let servers = Version::ALL.map(|version| Server::start(version, &[]));
    let mut algorithms = Vec::new();
    let mut wrong = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, units, old, new, _] = cells[..] else {
            panic!("{row}")
        };
        let units = units.replace(' ', "").parse().unwrap();
        for name in names.split(", ").map(|name| name.trim_matches('`')) {
            algorithms.push(name);
            let bytes = servers
                .each_ref()
                .map(|server| measured(server, name, units));
            for (bytes, stated) in bytes.iter().zip([old, new]) {
                let stated: u64 = stated.replace(' ', "").parse().unwrap();
                if bytes.abs_diff(stated) * 10 > stated {
                    wrong.push(format!("{name} with {units}: {bytes:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    algorithms.dedup();
    assert_eq!(algorithms.len(), 6, "{algorithms:?}");
}
