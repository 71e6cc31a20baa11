//! One run: so many callers, each of which waits for its answer before it asks again.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jeton_core::{Answers, Cost, Op, Plan, Quota, RuleId, Store as _, Submitted, When};
use jeton_redis::{RedisStore, Settings};
use tokio::runtime::Runtime;

use crate::Failure;
use crate::server::Server;

pub const KEYS: u64 = 1_000_000;

/// What one run came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    pub per_second: f64,
    pub median_us: f64,
    pub p99_us: f64,
    pub server_cpu_us: f64,
    pub per_call: f64,
}

/// The peer, driven by `redis-benchmark`.
pub fn peer(server: &Server, callers: u64, takes: u64) -> Result<Run, Failure> {
    let sha = server.cli(&["SCRIPT", "LOAD", include_str!("bucket.lua")])?;
    let before = server.cpu()?;
    let mut command = Command::new("redis-benchmark");
    let number = |number: u64| number.to_string();
    command.args([
        "-p",
        &server.port.to_string(),
        "--csv",
        "-c",
        &number(callers),
    ]);
    command.args(["-n", &number(takes), "-r", &number(KEYS)]);
    command.args(["EVALSHA", &sha, "1", "bucket:__rand_int__", "10", "20"]);
    let output = String::from_utf8(command.output()?.stdout)?;
    let last = output.lines().last().unwrap_or_default();
    // The test (which has no comma), requests per second, and milliseconds: average, least, p50, p95, p99, most.
    let (_, columns) = last
        .rsplit_once("10 20\",")
        .ok_or("redis-benchmark did not finish")?;
    let columns: Vec<f64> = columns
        .split(',')
        .filter_map(|cell| cell.trim_matches('"').parse().ok())
        .collect();
    let &[per_second, _, _, p50_ms, _, p99_ms, _] = columns.as_slice() else {
        return Err(format!("redis-benchmark said {last}").into());
    };
    Ok(Run {
        per_second,
        median_us: p50_ms * 1000.0,
        p99_us: p99_ms * 1000.0,
        server_cpu_us: (server.cpu()? - before).as_secs_f64() * 1e6 / takes as f64,
        per_call: 1.0,
    })
}

/// Ours.
pub struct Ours {
    pub runtime: Runtime,
    pub store: Arc<RedisStore>,
}

impl Ours {
    pub fn open(server: &Server, threads: usize) -> Result<Self, Failure> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(threads).enable_all().build()?;
        let settings = Settings {
            timeout: Duration::from_secs(5),
            ..Settings::new(server.url())
        };
        let store = Arc::new(RedisStore::open(&settings, runtime.handle())?);
        runtime
            .block_on(store.ready())
            .map_err(|trouble| trouble.to_string())?;
        Ok(Self { runtime, store })
    }

    pub fn run(
        &self,
        server: &Server,
        quotas: &[Quota],
        callers: u64,
        lasts: Duration,
    ) -> Result<Run, Failure> {
        let (cpu, calls, start) = (server.cpu()?, server.script_calls()?, Instant::now());
        let task = |caller| {
            let caller = call(Arc::clone(&self.store), quotas.to_vec(), caller, lasts);
            self.runtime.spawn(caller)
        };
        let tasks: Vec<_> = (1..=callers).map(task).collect();
        let mut took = Vec::new();
        for task in tasks {
            took.extend(self.runtime.block_on(task)??);
        }
        let (takes, elapsed) = (took.len() as f64, start.elapsed());
        took.sort_unstable();
        let at = |share: f64| f64::from(took[((takes * share) as usize).min(took.len() - 1)]);
        Ok(Run {
            per_second: takes / elapsed.as_secs_f64(),
            median_us: at(0.5),
            p99_us: at(0.99),
            server_cpu_us: (server.cpu()? - cpu).as_secs_f64() * 1e6 / takes,
            per_call: takes / (server.script_calls()? - calls) as f64,
        })
    }
}

/// Xorshift: Marsaglia, 2003.
pub fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// How many microseconds each take took.
async fn call(
    store: Arc<RedisStore>,
    quotas: Vec<Quota>,
    caller: u64,
    lasts: Duration,
) -> Result<Vec<u32>, String> {
    let (start, mut took) = (Instant::now(), Vec::new());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(caller);
    while start.elapsed() < lasts {
        let key = (next(&mut random) % KEYS).to_be_bytes();
        let asked = Instant::now();
        let comes = {
            let ops: Vec<Op<'_>> = quotas
                .iter()
                .map(|quota| Op::take(RuleId::new(1), &key, quota, Cost::ONE))
                .collect();
            let plan = Plan::new(&ops).map_err(|error| error.to_string())?;
            store.submit(&[plan], When::StoreClock, &mut Answers::new())
        };
        let Submitted::Later(answers) = comes else {
            return Err("it answers before it has asked".to_owned());
        };
        answers.await.plan(0).0.map_err(|error| error.to_string())?;
        took.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(took)
}
