//! Removes what stands under a prefix.

use std::time::Duration;

use jeton_core::StoreError;
use redis::{FromRedisValue as _, Value};
use tokio::time::Instant;

use crate::line::Line;
use crate::names::Names;
use crate::preflight;
use crate::reply::BAD_ANSWER;

/// So many keys are looked at in one step.
const STEP: usize = 1000;

/// Removes all keys that match; how many there were.
pub(crate) async fn clear(line: Line, names: &Names, timeout: Duration) -> Result<u64, StoreError> {
    let pattern = names.pattern();
    // Half of what is needed is told about at once, with the other half.
    line.try_out(preflight::REMOVAL, names, Instant::now() + timeout)
        .await?;
    let mut cursor = 0_u64;
    let mut removed = 0;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor)
            .arg("MATCH")
            .arg(&pattern)
            .arg("COUNT")
            .arg(STEP);
        let said = line.send(&scan, Instant::now() + timeout).await?;
        let (next, keys) = <(u64, Vec<Vec<u8>>)>::from_redis_value(said).map_err(|_| BAD_ANSWER)?;
        if !keys.is_empty() {
            let mut unlink = redis::cmd("UNLINK");
            unlink.arg(&keys);
            let Value::Int(many) = line.send(&unlink, Instant::now() + timeout).await? else {
                return Err(BAD_ANSWER);
            };
            removed += u64::try_from(many).unwrap_or(0);
        }
        if next == 0 {
            return Ok(removed);
        }
        cursor = next;
    }
}
