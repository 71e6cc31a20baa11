//! The disk store: beside the table in memory, and beside Redis with its log of commands.
//!
//! Both are asked by callers in turn on one machine and one disk. Shared machines are noisy: read the
//! ratios. `syncs` is how often the disk was made to write for one decision.

use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use jeton::{Clock, Quota, Rate, Span};
use jeton_core::{Answers, Cost, Op, Plan, RuleId, Store, Submitted, When};
use jeton_disk::{DiskStore, Settings, Sync};
use jeton_memory::Table;

type Failure = Box<dyn std::error::Error>;

const KEYS: u64 = 100_000;
const CALLERS: u64 = 64;
const ROUNDS: usize = 5;

fn main() -> Result<(), Failure> {
    let folder =
        PathBuf::from(std::env::var("CARGO_TARGET_TMPDIR").unwrap_or("target/disk".into()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    println!("| one caller, {KEYS} keys | ns per take | of memory's speed |\n|---|---|---|");
    beside_memory(&folder)?;
    println!(
        "\n| {CALLERS} callers, {KEYS} keys | decisions per s | syncs per decision | of Redis |"
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
    let begun = Instant::now();
    for _ in 0..takes {
        let key = next(&mut random).to_le_bytes();
        take(store, &key, &quota, clock, &mut out);
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

fn take(store: &dyn Store, key: &[u8], quota: &Quota, clock: &Clock, out: &mut Answers) {
    let op = Op::take(RuleId::new(1), key, quota, Cost::ONE);
    out.clear();
    match store.submit(&[Plan::one(&op)], When::NotBefore(clock.now()), out) {
        Submitted::Done => {}
        Submitted::Later(answers) => *out = wait_for(answers),
    }
    assert!(out.plan(0).0.is_ok());
}

fn beside_redis(folder: &Path, sync: Sync, word: &str) -> Result<(), Failure> {
    let lasts = if std::env::var_os("JETON_FULL").is_some() {
        10
    } else {
        3
    };
    let lasts = Duration::from_secs(lasts);
    let server = Redis::start(&folder.join(format!("redis-{word}")), word)?;
    let clock = Clock::system();
    let path = folder.join(word);
    let store = DiskStore::open(&settings(&path, sync), clock.now())?;
    let quota = quota()?;
    let (mut ours, mut redis, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        redis.push(per_second(lasts, |_| {
            let mut line = server.connect()?;
            Ok(move |key: u64| line.increment(key))
        })?);
        let before = store.batches();
        ours.push(per_second(lasts, |_| {
            let (store, clock, quota) = (&store, &clock, &quota);
            let mut out = Answers::new();
            Ok(move |key: u64| {
                take(store, &key.to_le_bytes(), quota, clock, &mut out);
                Ok(())
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

/// How often callers are answered in a second, each asking again when it is.
fn per_second<F: FnMut(u64) -> Result<(), Failure>>(
    lasts: Duration,
    caller: impl Fn(u64) -> Result<F, Failure> + std::marker::Sync,
) -> Result<f64, Failure> {
    let counts = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                let caller = &caller;
                scope.spawn(move || {
                    let mut ask = caller(number).map_err(|error| error.to_string())?;
                    let (mut random, mut count) = (number, 0_u64);
                    let begun = Instant::now();
                    while begun.elapsed() < lasts {
                        ask(next(&mut random)).map_err(|error| error.to_string())?;
                        count += 1;
                    }
                    Ok::<u64, String>(count)
                })
            })
            .collect();
        let join = |caller: thread::ScopedJoinHandle<'_, Result<u64, String>>| {
            caller.join().map_err(|_| "a caller is gone".to_owned())?
        };
        callers.into_iter().map(join).sum::<Result<u64, String>>()
    })?;
    Ok(counts as f64 / lasts.as_secs_f64())
}

struct Redis {
    server: Child,
    port: u16,
}

struct Line {
    read: BufReader<TcpStream>,
    write: TcpStream,
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
        while redis
            .connect()
            .and_then(|mut line| line.increment(0))
            .is_err()
        {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("redis-server does not answer".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(redis)
    }

    fn connect(&self) -> Result<Line, Failure> {
        let write = TcpStream::connect(("127.0.0.1", self.port))?;
        write.set_nodelay(true)?;
        Ok(Line {
            read: BufReader::new(write.try_clone()?),
            write,
            text: String::new(),
        })
    }
}

impl Line {
    fn increment(&mut self, key: u64) -> Result<(), Failure> {
        let key = format!("key:{key:06}");
        write!(
            self.write,
            "*2\r\n$4\r\nINCR\r\n${}\r\n{key}\r\n",
            key.len()
        )?;
        self.text.clear();
        self.read.read_line(&mut self.text)?;
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

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(ready) => return ready,
            Poll::Pending => thread::park(),
        }
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
