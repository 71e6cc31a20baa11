//! Gates on a clock that moves by hand, servers on a runtime of their own, and curl.

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::request::Parts;
use jeton::layer::RateLimitLayer;
use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, Limiter, Micros, Quota, Settings, Span, Store, Table};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub(crate) const START: Micros = Micros::new(1_800_000_000_000_000);

pub(crate) fn clock() -> Clock {
    Clock::fixed(START)
}

/// Moves a fixed clock forward.
pub(crate) fn pass(clock: &Clock, us: u64) {
    clock.set(Micros::new(clock.now().get() + us));
}

/// `units` at once, and one more every `period_us`, on a clock that moves by hand.
pub(crate) fn limiter(burst: u64, period_us: u64, clock: &Clock) -> Limiter {
    let rate = jeton::Rate::new(1, Span::from_micros(period_us).unwrap()).unwrap();
    let quota = Quota::bucket(rate, burst).unwrap();
    Limiter::with(quota, &Settings::default(), clock.clone()).unwrap()
}

pub(crate) fn gate_over(store: Arc<dyn Store>, file: &str) -> Gate {
    let policy = match Policy::load(&Source::new("jeton.toml", file), &NoReferences) {
        Ok(loaded) => loaded.policy,
        Err(report) => panic!("{report}"),
    };
    Gate::new(policy, store, clock())
}

pub(crate) fn gate(file: &str) -> Gate {
    gate_over(Arc::new(Table::new(&Settings::default()).unwrap()), file)
}

/// The peer as axum leaves it.
pub(crate) fn peer(head: &Parts) -> Option<IpAddr> {
    Some(head.extensions.get::<ConnectInfo<SocketAddr>>()?.ip())
}

/// A server on a runtime that ends with it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
}

impl Server {
    pub(crate) fn run<F>(serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let serving = {
            let _context = runtime.enter();
            serve(listener)
        };
        runtime.spawn(serving);
        Self {
            address,
            _runtime: runtime,
        }
    }

    /// An axum server: `/` says hello and counts, behind `layer`.
    pub(crate) fn axum(layer: &RateLimitLayer) -> (Self, Arc<AtomicU64>) {
        let hits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&hits);
        let hello = move || async move {
            counter.fetch_add(1, SeqCst);
            ([("ratelimit", r#""mine";r=7;t=1"#)], "hello\n")
        };
        let app = Router::new().route("/", get(hello)).layer(layer.clone());
        let server = Self::run(|listener| async move {
            let service = app.into_make_service_with_connect_info::<SocketAddr>();
            axum::serve(listener, service).await.unwrap();
        });
        (server, hits)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// What curl got: the whole heads and bodies as it prints them with `-i`.
pub(crate) struct Got(pub(crate) String);

impl Got {
    /// Statuses in the order of arrival.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        let heads = self.0.lines().filter(|line| line.starts_with("HTTP/"));
        heads
            .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
            .collect()
    }

    /// All values of a field, in order.
    pub(crate) fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.0.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).first().copied()
    }

    pub(crate) fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").unwrap().1
    }
}

pub(crate) fn curl(arguments: &[&str]) -> Got {
    let output = Command::new("curl")
        .args(["-s", "-i", "--max-time", "10"])
        .args(arguments)
        .output()
        .expect("curl");
    assert!(output.status.success(), "curl {arguments:?}: {output:?}");
    Got(String::from_utf8(output.stdout).unwrap())
}
