//! Reloads while requests are in flight.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::{Changing, metric, rule};
use crate::support::is_full;

/// Limits only grow: whoever was let through under one policy is let through under the next.
#[test]
fn reloads_under_load_lose_no_request_refill_no_bucket_and_deny_nobody_anew() {
    let reloads = if is_full() { 100 } else { 20 };
    let policy = |reload: u32| {
        let limit = 1_000_000 + reload;
        let busy = rule("busy", &format!("limit = {limit}\nwindow = \"1h\""));
        let used = "limit = 5\nwindow = \"1h\"\nmatch = { with = [\"header:x-used\"] }";
        format!("{busy}{}", rule("used", used))
    };
    let file = Changing::by(&policy(0));
    let mut exhausted = file.client("spent");
    exhausted.head = exhausted.head.replace("\r\n\r\n", "\r\nX-Used: 1\r\n\r\n");
    assert_eq!(exhausted.passes(6), 5);

    let is_over = AtomicBool::new(false);
    let (asked, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for user in 0..4 {
            let (file, is_over, asked) = (&file, &is_over, &asked);
            scope.spawn(move || {
                let mut client = file.client(&format!("user-{user}"));
                while !is_over.load(Ordering::Relaxed) {
                    let reply = client.ask();
                    assert_eq!(reply.status(), 200, "{}", reply.text);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (is_over_too, refused) = (&is_over, &refused);
        scope.spawn(move || {
            while !is_over_too.load(Ordering::Relaxed) {
                assert_eq!(exhausted.ask().status(), 429);
                refused.fetch_add(1, Ordering::Relaxed);
            }
        });
        for reload in 1..=reloads {
            file.after(|| {
                if reload % 2 == 0 {
                    file.rename_over(&policy(reload));
                } else {
                    file.write(&policy(reload));
                    file.hang_up();
                }
            });
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (asked, refused) = (asked.into_inner(), refused.into_inner());
    println!("{reloads} reloads, {asked} requests passed, {refused} denied");
    assert!(asked > 100 && refused > 100);
    let metrics = file.metrics();
    let counter = |rule: &str, outcome: &str| {
        metric(
            &metrics,
            &format!("jeton_decisions_total{{rule=\"{rule}\",outcome=\"{outcome}\"}}"),
        )
    };
    // Everybody's requests are in the counters, through all policies.
    assert_eq!(counter("busy", "allowed"), asked + 5);
    assert_eq!(counter("used", "denied"), refused + 1);
    assert_eq!(file.upstream.heads().len() as u64, asked + 5);
}
