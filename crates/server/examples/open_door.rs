//! The proxy without a limit: what the engine alone costs.
//!
//! `open_door LISTEN UPSTREAM [WORKERS]`, for example `open_door 127.0.0.1:8080
//! http://127.0.0.1:3000 1`. Stops on SIGINT.

use std::error::Error;
use std::sync::Arc;

use jeton_server::proxy::{self, Admission, Admitted, Admitting, Pass, Peer, Settings};

struct Everybody;

impl Admission for Everybody {
    fn admit(&self, _: &mut http::request::Parts, _: Peer) -> Admitting {
        Admitting::Now(Admitted::Pass(Pass::default()))
    }
}

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err("usage: open_door LISTEN UPSTREAM [WORKERS]".into());
    };
    let settings = Settings::new(listen.parse()?, upstream.parse()?);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = arguments.next() {
        runtime.worker_threads(workers.parse()?);
    }
    runtime.enable_all().build()?.block_on(async {
        let bound = proxy::bind(settings)?;
        println!("{}", bound.address());
        bound
            .serve(Arc::new(Everybody), async {
                drop(tokio::signal::ctrl_c().await);
            })
            .await;
        Ok(())
    })
}
