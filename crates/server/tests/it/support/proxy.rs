//! A proxy on a runtime of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use jeton_server::proxy::{self, Address, Admission, Settings};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::admissions::Everybody;

pub(crate) struct Proxy {
    address: Address,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

impl Proxy {
    /// In front of `upstream`, everybody passes.
    pub(crate) fn start(upstream: &str) -> Self {
        Self::with(upstream, Everybody, |_| {})
    }

    pub(crate) fn with(
        upstream: &str,
        admission: impl Admission,
        adjust: impl FnOnce(&mut Settings),
    ) -> Self {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let mut settings = Settings::new(listen, upstream.parse().expect("an upstream"));
        adjust(&mut settings);
        let runtime = runtime();
        let bound = runtime
            .block_on(async { proxy::bind(settings) })
            .expect("a listener");
        let address = bound.address().clone();
        let (stop, stopped) = oneshot::channel();
        let serving = std::thread::spawn(move || {
            let shutdown = async { drop(stopped.await) };
            runtime.block_on(bound.serve(Arc::new(admission), shutdown));
        });
        Self {
            address,
            stop: Some(stop),
            serving: Some(serving),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match &self.address {
            Address::Tcp(address) => *address,
            Address::Unix(path) => panic!("{} is no TCP address", path.display()),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// Tells it to stop.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Whether it has stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.serving.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the proxy panicked"
            );
        }
    }
}
