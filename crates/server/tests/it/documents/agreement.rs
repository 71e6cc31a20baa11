//! Whether what is printed is what a page shows, but for what differs from run to run.

use serde_json::Value;

/// How much less may be left of a span than shown, in milliseconds: samples are run one after the
/// other, on machines that are busy.
const LATER_MS: u64 = 20_000;

/// Texts agree up to a `…` in the shown one; spans (`…_ms`) may have become shorter.
pub(super) fn agrees(told: &Value, shown: &Value) -> bool {
    match (told, shown) {
        (Value::Object(told), Value::Object(shown)) => {
            told.len() == shown.len()
                && shown.iter().all(|(name, shown)| {
                    let Some(told) = told.get(name) else {
                        return false;
                    };
                    match (told.as_u64(), shown.as_u64()) {
                        (Some(told), Some(shown)) if name.ends_with("_ms") => {
                            told <= shown && told + LATER_MS >= shown
                        }
                        _ => agrees(told, shown),
                    }
                })
        }
        (Value::Array(told), Value::Array(shown)) => {
            told.len() == shown.len()
                && told
                    .iter()
                    .zip(shown)
                    .all(|(told, shown)| agrees(told, shown))
        }
        (Value::String(told), Value::String(shown)) => text_agrees(told, shown),
        _ => told == shown,
    }
}

fn text_agrees(told: &str, shown: &str) -> bool {
    match shown.split_once('…') {
        Some((begin, end)) => {
            told.len() >= begin.len() + end.len() && told.starts_with(begin) && told.ends_with(end)
        }
        None => told == shown,
    }
}

/// Each shown line of a head is there; others may be too.
pub(super) fn head_agrees(printed: &str, shown: &str) -> bool {
    shown.trim().lines().all(|line| {
        let shown = line.to_ascii_lowercase();
        let mut lines = printed.lines().map(str::to_ascii_lowercase);
        lines.any(|printed| text_agrees(&printed, &shown))
    })
}

#[test]
fn disagreement_is_seen() {
    let shown = serde_json::json!({"a": "x…", "wait_ms": 30_000, "n": [1, null]});
    let agreed = |told: &str| agrees(&serde_json::from_str(told).expect("JSON"), &shown);
    assert!(agreed(r#"{"a":"xyz","wait_ms":29000,"n":[1,null]}"#));
    assert!(!agreed(r#"{"a":"yz","wait_ms":29000,"n":[1,null]}"#));
    assert!(!agreed(r#"{"a":"xyz","wait_ms":30001,"n":[1,null]}"#));
    assert!(!agreed(r#"{"a":"xyz","wait_ms":9999,"n":[1,null]}"#));
    assert!(!agreed(r#"{"a":"xyz","wait_ms":29000,"n":[2,null]}"#));
    assert!(!agreed(
        r#"{"a":"xyz","wait_ms":29000,"n":[1,null],"more":1}"#
    ));
    assert!(!agreed(r#"{"a":"xyz","n":[1,null],"b":0}"#));
    assert!(head_agrees(
        "HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\n",
        "HTTP/1.1 429 …\nretry-after: 3"
    ));
    assert!(!head_agrees("HTTP/1.1 429 Too Many\r\n", "retry-after: 3"));
}
