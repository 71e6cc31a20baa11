//! The disk store: beside the table in memory, and beside Redis with its log of commands.
//!
//! Both are asked in turn on one machine and one disk, by as many callers on as few threads, as a server
//! has them. Shared machines are noisy: read the ratios. `syncs` is how often the disk was made to write
//! for one decision.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jeton::{Clock, Quota, Rate, Span};
use jeton_core::{Answers, Cost, Op, Plan, RuleId, Store, Submitted, When};
use jeton_disk::{DiskStore, Settings, Sync};
use jeton_memory::Table;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

type Failure = Box<dyn std::error::Error>;

const KEYS: u64 = 100_000;
const CALLERS: u64 = 64;
const THREADS: u64 = 2;
const ROUNDS: usize = 5;

fn main() -> Result<(), Failure> {
    let folder =
        PathBuf::from(std::env::var("CARGO_TARGET_TMPDIR").unwrap_or("target/disk".into()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    println!("| one caller, {KEYS} keys | ns per take | of memory's speed |\n|---|---|---|");
    beside_memory(&folder)?;
    println!(
        "\n| {CALLERS} callers on {THREADS} threads, {KEYS} keys | decisions per s | syncs per decision | of Redis |"
    );
    println!("|---|---|---|---|");
    beside_redis(&folder, Sync::Always, "always")?;
    beside_redis(&folder, Sync::Every(Duration::from_secs(1)), "everysec")?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn settings(path: &Path, sync: Sync) -> Settings {
    Settings {
        sync,
        ..Settings::new(path)
    }
}

/// All pass, and every one of them changes a state that lives on.
fn quota() -> Result<Quota, Failure> {
    Ok(Quota::bucket(Rate::new(1, Span::SECOND)?, 1_000_000)?)
}

fn beside_memory(folder: &Path) -> Result<(), Failure> {
    let takes = if std::env::var_os("JETON_FULL").is_some() {
        20_000_000
    } else {
        5_000_000
    };
    let clock = Clock::system();
    let memory = Table::new(&jeton_memory::Settings::default())?;
    let path = folder.join("one");
    let disk = DiskStore::open(
        &settings(&path, Sync::Every(Duration::from_secs(1))),
        clock.now(),
    )?;
    let (mut m, mut d) = (Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        m.push(ns_per_take(&memory, &clock, takes)?);
        d.push(ns_per_take(&disk, &clock, takes)?);
    }
    let (m, d) = (median(&mut m[1..]), median(&mut d[1..]));
    println!("| memory | {m:.0} | |");
    println!("| disk, `sync = \"1s\"` | {d:.0} | {:.2}x |", m / d);
    Ok(())
}

fn ns_per_take(store: &dyn Store, clock: &Clock, takes: u64) -> Result<f64, Failure> {
    let quota = quota()?;
    let mut out = Answers::new();
    let mut random = 1;
    let runtime = runtime()?;
    let begun = Instant::now();
    for _ in 0..takes {
        let key = next(&mut random).to_le_bytes();
        match submit(store, &key, &quota, clock, &mut out) {
            Submitted::Done => {}
            Submitted::Later(answers) => out = runtime.block_on(answers),
        }
        assert!(out.plan(0).0.is_ok());
    }
    Ok(begun.elapsed().as_nanos() as f64 / takes as f64)
}

/// A random key.
fn next(random: &mut u64) -> u64 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*random >> 33) % KEYS
}

fn submit(
    store: &dyn Store,
    key: &[u8],
    quota: &Quota,
    clock: &Clock,
    out: &mut Answers,
) -> Submitted {
    let op = Op::take(RuleId::new(1), key, quota, Cost::ONE);
    out.clear();
    store.submit(&[Plan::one(&op)], When::NotBefore(clock.now()), out)
}

fn beside_redis(folder: &Path, sync: Sync, word: &str) -> Result<(), Failure> {
    let lasts = if std::env::var_os("JETON_FULL").is_some() {
        10
    } else {
        3
    };
    let lasts = Duration::from_secs(lasts);
    let server = Redis::start(&folder.join(format!("redis-{word}")), word)?;
    let path = folder.join(word);
    let store = Arc::new(DiskStore::open(
        &settings(&path, sync),
        Clock::system().now(),
    )?);
    let quota = quota()?;
    let (mut ours, mut redis, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        redis.push(per_second(lasts, async || Line::connect(server.port).await)?);
        let before = store.batches();
        ours.push(per_second(lasts, async || {
            Ok(Ours {
                store: Arc::clone(&store),
                clock: Clock::system(),
                quota,
                out: Answers::new(),
            })
        })?);
        let decided = ours.last().copied().unwrap_or(1.0) * lasts.as_secs_f64();
        syncs.push((store.batches() - before) as f64 / decided);
    }
    let (r, o, s) = (median(&mut redis), median(&mut ours), median(&mut syncs));
    println!("| Redis INCR, `appendfsync {word}` | {r:.0} | | |");
    let name = if sync == Sync::Always { "always" } else { "1s" };
    println!(
        "| disk, `sync = \"{name}\"` | {o:.0} | {s:.4} (1 in {:.0}) | {:.2}x |",
        1.0 / s,
        o / r
    );
    Ok(())
}

/// A caller, who asks again when it is answered.
trait Caller: 'static {
    async fn ask(&mut self, key: u64) -> Result<(), Failure>;
}

/// How often callers are answered in a second.
fn per_second<C: Caller>(
    lasts: Duration,
    caller: impl AsyncFn() -> Result<C, Failure> + std::marker::Sync,
) -> Result<f64, Failure> {
    let counts = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let caller = &caller;
                scope.spawn(move || answered(number, lasts, caller).map_err(|e| e.to_string()))
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<u64, String>>| {
            thread.join().map_err(|_| "a thread is gone".to_owned())?
        };
        threads.into_iter().map(join).sum::<Result<u64, String>>()
    })?;
    Ok(counts as f64 / lasts.as_secs_f64())
}

/// How many answers the callers of one thread have had.
fn answered<C: Caller>(
    number: u64,
    lasts: Duration,
    caller: impl AsyncFn() -> Result<C, Failure>,
) -> Result<u64, Failure> {
    LocalSet::new().block_on(&runtime()?, async {
        let mut callers = Vec::new();
        for _ in 0..CALLERS / THREADS {
            callers.push(caller().await?);
        }
        let begun = Instant::now();
        let tasks: Vec<_> = (number..)
            .step_by(THREADS as usize)
            .zip(callers)
            .map(|(mut random, mut caller)| {
                tokio::task::spawn_local(async move {
                    let mut count = 0;
                    while begun.elapsed() < lasts {
                        caller.ask(next(&mut random)).await?;
                        count += 1;
                    }
                    Ok::<u64, Failure>(count)
                })
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await??;
        }
        Ok(sum)
    })
}

fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_io().build()?)
}

/// A caller of the disk store.
struct Ours {
    store: Arc<DiskStore>,
    clock: Clock,
    quota: Quota,
    out: Answers,
}

impl Caller for Ours {
    async fn ask(&mut self, key: u64) -> Result<(), Failure> {
        let key = key.to_le_bytes();
        match submit(&*self.store, &key, &self.quota, &self.clock, &mut self.out) {
            // The others have their turn.
            Submitted::Done => tokio::task::yield_now().await,
            Submitted::Later(answers) => self.out = answers.await,
        }
        self.out.plan(0).0.map_err(|error| format!("{error:?}"))?;
        Ok(())
    }
}

struct Redis {
    server: Child,
    port: u16,
}

/// A connection to Redis.
struct Line {
    stream: BufReader<TcpStream>,
    text: String,
}

impl Redis {
    fn start(folder: &Path, appendfsync: &str) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let server = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--appendonly",
                "yes",
                "--save",
                "",
            ])
            .args(["--appendfsync", appendfsync, "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()?;
        let redis = Self { server, port };
        let begun = Instant::now();
        let runtime = runtime()?;
        let asked = async || Line::connect(port).await?.ask(0).await;
        while runtime.block_on(asked()).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("redis-server does not answer".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(redis)
    }
}

impl Line {
    async fn connect(port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            text: String::new(),
        })
    }
}

impl Caller for Line {
    async fn ask(&mut self, key: u64) -> Result<(), Failure> {
        let key = format!("key:{key:06}");
        let command = format!("*2\r\n$4\r\nINCR\r\n${}\r\n{key}\r\n", key.len());
        self.stream.write_all(command.as_bytes()).await?;
        self.text.clear();
        self.stream.read_line(&mut self.text).await?;
        if self.text.starts_with(':') {
            Ok(())
        } else {
            Err(format!("Redis said {:?}", self.text).into())
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
