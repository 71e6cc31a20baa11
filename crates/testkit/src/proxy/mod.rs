//! A proxy before a Redis server, with the faults of servers and of the lines to them.
//!
//! It takes calls apart, so that a fault can concern some of them only, and every answer stays with
//! its call. It runs on a thread of its own.
//!
//! ```no_run
//! use jeton_testkit::proxy::{Fault, Proxy};
//!
//! let proxy = Proxy::before("127.0.0.1:6379".parse::<std::net::SocketAddr>()?);
//! println!("connect to {}", proxy.url());
//! proxy.set(Fault::Swallow);
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

mod fault;
mod relay;
mod resp;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use fault::{Fault, Refusal};

/// Where the server is.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// At a Unix socket.
    Socket(PathBuf),
    /// At an address.
    Address(SocketAddr),
}

impl From<&Path> for Upstream {
    fn from(path: &Path) -> Self {
        Self::Socket(path.to_owned())
    }
}

impl From<SocketAddr> for Upstream {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// The proxy. All its lines are cut when it goes.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    counts: Arc<Counts>,
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Counts {
    lines: AtomicU64,
    open: AtomicU64,
    arrived: AtomicU64,
    carried_out: AtomicU64,
    by_hash: AtomicU64,
    /// How many faults have been set.
    age: AtomicU64,
}

impl Proxy {
    /// Stands before a server, at a free port.
    pub fn before(server: impl Into<Upstream>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread can be started");
        let bind = TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(bind).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let (fault, faults) = watch::channel(Fault::None);
        let counts = Arc::<Counts>::default();
        runtime.spawn(listen(listener, server.into(), faults, Arc::clone(&counts)));
        Self {
            address,
            fault,
            counts,
            runtime: Some(runtime),
        }
    }

    /// Where clients find it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL: `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// From now on this is wrong.
    pub fn set(&self, fault: Fault) {
        self.counts.age.fetch_add(1, Relaxed);
        self.fault.send_replace(fault);
    }

    /// How many scripts with keys the server has carried out, as it has said itself: whoever called may
    /// not have heard of it.
    pub fn carried_out(&self) -> u64 {
        self.counts.carried_out.load(Relaxed)
    }

    /// How many scripts with keys were sent on to the server.
    pub fn arrived(&self) -> u64 {
        self.counts.arrived.load(Relaxed)
    }

    /// How many lines there have been.
    pub fn lines(&self) -> u64 {
        self.counts.lines.load(Relaxed)
    }

    /// How many lines there are.
    pub fn open_lines(&self) -> u64 {
        self.counts.open.load(Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn listen(
    listener: TcpListener,
    server: Upstream,
    faults: watch::Receiver<Fault>,
    counts: Arc<Counts>,
) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        counts.lines.fetch_add(1, Relaxed);
        counts.open.fetch_add(1, Relaxed);
        let (server, faults, counts) = (server.clone(), faults.clone(), Arc::clone(&counts));
        tokio::spawn(async move {
            relay::carry(client, server, faults, Arc::clone(&counts)).await;
            counts.open.fetch_sub(1, Relaxed);
        });
    }
}
