//! What `lease` and `deny_cache` save, and that they keep to their bounds: gates with and without, in
//! turn, over one server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, NamedCharge, Verb};
use tokio::runtime::Runtime;

use crate::Failure;
use crate::server::Server;
use crate::takes::{Ours, next};

const KEYS: usize = 1000;

/// What callers of a gate came to.
pub struct Seen {
    pub per_second: f64,
    /// Round trips per take.
    pub calls: f64,
    /// What was admitted of each key.
    pub admitted: Vec<u64>,
    pub lasted: Duration,
}

/// A gate over the server, with these lines of `[store]`, and a bucket of this rate and burst.
pub fn gate(ours: &Ours, store: &str, rule: &str, rate: &str, burst: u64) -> Result<Gate, Failure> {
    let text = format!(
        "[store]\nkind = \"redis\"\nurl = \"redis://localhost\"\non_failure = \"deny\"\ntimeout = \"1s\"\n{store}\n\
         [[rule]]\nname = \"{rule}\"\nkey = \"header:x-user\"\nalgorithm = \"token-bucket\"\n\
         rate = \"{rate}\"\nburst = {burst}\n"
    );
    let loaded = Policy::load(&Source::new("bench.toml", &text), &NoReferences);
    let policy = loaded.map_err(|report| report.to_string())?.policy;
    Ok(Gate::new(
        policy,
        Arc::clone(&ours.store) as _,
        Clock::system(),
    ))
}

/// So many callers take of keys as they come in the field: the key of rank k with a weight of 1/k.
pub fn zipf(
    runtime: &Runtime,
    server: &Server,
    gate: &Gate,
    rule: &str,
    callers: u64,
    lasts: Duration,
) -> Result<Seen, Failure> {
    let keys: Arc<Vec<String>> = Arc::new((0..KEYS).map(|key| format!("user-{key}")).collect());
    let weights: Arc<Vec<f64>> = Arc::new(
        (1..=KEYS)
            .scan(0.0, |sum, rank| {
                *sum += 1.0 / rank as f64;
                Some(*sum)
            })
            .collect(),
    );
    let (calls, start) = (server.script_calls()?, Instant::now());
    let tasks: Vec<_> = (1..=callers)
        .map(|caller| {
            let (gate, rule) = (gate.clone(), rule.to_owned());
            let (keys, weights) = (Arc::clone(&keys), Arc::clone(&weights));
            runtime.spawn(async move {
                let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(caller);
                let (mut takes, mut admitted) = (0_u64, vec![0_u64; KEYS]);
                while start.elapsed() < lasts {
                    let share = next(&mut random) as f64 / u64::MAX as f64;
                    let at = share * weights[KEYS - 1];
                    let key = weights.partition_point(|sum| *sum < at).min(KEYS - 1);
                    takes += 1;
                    admitted[key] += u64::from(take(&gate, &rule, &keys[key]).await?);
                    if takes % 64 == 0 {
                        // What a lease answers never waits.
                        tokio::task::yield_now().await;
                    }
                }
                Ok::<_, String>((takes, admitted))
            })
        })
        .collect();
    let (mut takes, mut admitted) = (0, vec![0; KEYS]);
    for task in tasks {
        let (its_takes, its_admitted) = runtime.block_on(task)??;
        takes += its_takes;
        admitted
            .iter_mut()
            .zip(its_admitted)
            .for_each(|(all, its)| *all += its);
    }
    let lasted = start.elapsed();
    Ok(Seen {
        per_second: takes as f64 / lasted.as_secs_f64(),
        calls: (server.script_calls()? - calls) as f64 / takes as f64,
        admitted,
        lasted,
    })
}

/// A client that is blocked, and does not mind: takes, and round trips.
pub fn blocked(
    runtime: &Runtime,
    server: &Server,
    gate: &Gate,
    rule: &str,
    lasts: Duration,
) -> Result<(u64, u64), Failure> {
    let (calls, start) = (server.script_calls()?, Instant::now());
    let takes = runtime.block_on(async {
        let mut takes = 0;
        while start.elapsed() < lasts {
            take(gate, rule, "blocked").await?;
            takes += 1;
        }
        Ok::<u64, String>(takes)
    })?;
    Ok((takes, server.script_calls()? - calls))
}

async fn take(gate: &Gate, rule: &str, key: &str) -> Result<bool, String> {
    let key = [key];
    let charge = [NamedCharge::new(rule, &key)];
    let deciding = gate
        .charge(Verb::Take, &charge)
        .map_err(|error| error.to_string())?;
    let answered = deciding.wait().await;
    match answered.store_error() {
        Some(error) => Err(format!("no decision: {error:?}")),
        None => Ok(answered.allowed()),
    }
}
