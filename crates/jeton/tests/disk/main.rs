//! A gate over a disk: what outlasts it, and what a disk costs that is too slow.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jeton::disk::{Disk, DiskStore, Medium, Settings, Sync};
use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Answered, Clock, Disposition, Gate, NamedCharge, StoreErrorKind, StoreState, Verb};
use redb::StorageBackend;

const TIMEOUT: Duration = Duration::from_millis(60);
const GRACE: Duration = Duration::from_millis(30);

const POLICY: &str = r#"
[store]
timeout = "60ms"

[[rule]]
name = "r"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 100
window = "1d"
"#;

fn policy() -> Policy {
    let loaded = Policy::load(&Source::new("t", POLICY), &NoReferences);
    loaded.unwrap().policy
}

fn settings(path: &Path, sync: Sync) -> Settings {
    Settings {
        sync,
        ..Settings::new(path)
    }
}

/// A gate over `store`.
fn gate(store: &Arc<DiskStore>) -> Gate {
    Gate::new(policy(), Arc::clone(store) as _, Clock::system())
}

async fn take(gate: &Gate, key: &str) -> Answered {
    let keys = [key];
    let charge = NamedCharge::new("r", &keys);
    let deciding = gate.charge(Verb::Take, &[charge]).unwrap();
    deciding.wait().await
}

fn remaining(answered: &Answered) -> u64 {
    let decision = answered.decisions().next().unwrap();
    decision.decision.remaining.into()
}

/// A file whose syncs take so many milliseconds.
#[derive(Clone, Debug, Default)]
struct Slow(Arc<AtomicU64>);

#[derive(Debug)]
struct SlowFile(Box<dyn StorageBackend>, Slow);

impl Medium for Slow {
    fn open(&self, file: &Path, new: bool) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(SlowFile(Disk.open(file, new)?, self.clone())))
    }
}

impl StorageBackend for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        let Slow(ms) = &self.1;
        std::thread::sleep(Duration::from_millis(ms.load(Relaxed)));
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

#[tokio::test]
async fn what_is_drained_and_closed_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    for (round, sync) in [Sync::Every(Duration::from_secs(3600)), Sync::Always]
        .into_iter()
        .enumerate()
    {
        let key = format!("k{round}");
        let at = settings(folder.path(), sync);
        let store = Arc::new(DiskStore::open(&at, Clock::system().now()).unwrap());
        let gate = gate(&store);
        for _ in 0..3 {
            assert!(take(&gate, &key).await.allowed());
        }
        gate.block("r", &["blocked"], None).await.unwrap();
        gate.drain().await;
        store.close().unwrap();
        // Nothing is decided any more that could not be kept.
        assert!(take(&gate, &key).await.is_degraded());
        drop((gate, store));

        let store = Arc::new(DiskStore::open(&at, Clock::system().now()).unwrap());
        assert_eq!(store.opened().restored, 1 + round as u64);
        let gate = self::gate(&store);
        gate.refresh_orders().await.unwrap();
        assert_eq!(remaining(&take(&gate, &key).await), 96);
        assert!(!take(&gate, "blocked").await.allowed());
    }
}

/// With a disk slower than its timeout the outage rule speaks, charges stay, and operators get through.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_too_slow_costs_the_timeout_and_then_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = settings(folder.path(), Sync::Always);
    let slow = Slow::default();
    let now = Clock::system().now();
    let store = DiskStore::open_on(Arc::new(slow.clone()), &at, now).unwrap();
    let store = Arc::new(store);
    let gate = gate(&store);
    let driving = tokio::spawn(gate.clone().drive());
    assert_eq!(remaining(&take(&gate, "k").await), 99);

    slow.0.store(400, Relaxed);
    for _ in 0..5 {
        let asked = Instant::now();
        let answered = take(&gate, "k").await;
        assert!(asked.elapsed() < TIMEOUT + GRACE, "{:?}", asked.elapsed());
        let why = match answered.disposition() {
            Disposition::Degraded { error, .. } => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(why, StoreErrorKind::Timeout);
    }
    let why = StoreErrorKind::Timeout;
    assert_eq!(gate.store_state(), StoreState::Away { why });
    let asked = Instant::now();
    assert!(take(&gate, "k").await.is_degraded());
    assert!(asked.elapsed() < GRACE, "it is not asked");
    gate.block("r", &["blocked"], None).await.unwrap();
    assert!(
        asked.elapsed() > TIMEOUT,
        "the disk took longer than requests wait"
    );

    slow.0.store(0, Relaxed);
    let well = Instant::now();
    while gate.store_state() != StoreState::Ready {
        assert!(well.elapsed() < Duration::from_secs(3) + GRACE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Five were charged though nobody was told, and one was never asked for.
    assert_eq!(remaining(&take(&gate, "k").await), 93);
    assert!(store.figures().latest < TIMEOUT);
    driving.abort();
}
