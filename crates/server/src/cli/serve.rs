//! `jeton serve`: everything a policy file names. What it shares with the other commands that serve
//! stands here too.

use std::io::{self, Write};
use std::process::ExitCode;

use jeton::policy::{Policy, Report};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::args::Serve;
use super::failure::Failure;
use super::paint::{self, Paint};
use crate::proxy::Address;
use crate::run::{PolicyFile, Reload, Seen, Service, Signals, StartError, start_logging};
use crate::store::Backend;

pub(super) fn run(flags: &Serve) -> Result<ExitCode, Failure> {
    let file = PolicyFile::new(&flags.config);
    let text = file.read().map_err(Failure::new)?;
    let (checked, seen) = file.check(text);
    let loaded = checked.map_err(Failure::Policy)?;
    warn(&loaded.report);
    let name = flags.config.display().to_string();
    let source = Some((file, seen));
    serve(loaded.policy, source, Failure::new, |service, policy| {
        let mut out = io::stdout().lock();
        if let (Some(address), Some(proxy)) = (service.proxy_address(), &policy.settings().proxy) {
            writeln!(out, "  proxy    {}  →  {}", url(address), proxy.upstream)?;
        }
        if let Some(address) = service.api_address() {
            let paths = "/v1/take …  /v1/auth  /openapi.json  /healthz  /readyz  /metrics";
            writeln!(out, "  api      {}  {paths}", url(address))?;
        }
        if let Some(address) = service.resp_address() {
            let commands = "CL.THROTTLE  THROTTLE  JETON.TAKE …";
            writeln!(out, "  resp     {}  {commands}", redis_url(address))?;
        }
        if let Some(address) = service.rls_address() {
            let calls = "RateLimitService/ShouldRateLimit  /json  /healthcheck";
            writeln!(out, "  rls      {}  {calls}", grpc_url(address))?;
        }
        if let Backend::Disk(_) | Backend::Redis(_) = service.store() {
            writeln!(out, "  store    {}", service.store().place())?;
        }
        let rules = policy.told_rules().len();
        let plural = if rules == 1 { "" } else { "s" };
        writeln!(
            out,
            "  policy   {name}: {rules} rule{plural}; in words: jeton check --config {name}"
        )?;
        out.flush()
    })
}

/// Serves a policy until a signal ends it, and whatever takes its place in the file it was read
/// from, if it was. `banner` tells what listens where, `refused` why nothing does.
pub(super) fn serve(
    policy: Policy,
    source: Option<(PolicyFile, Seen)>,
    refused: impl FnOnce(StartError) -> Failure,
    banner: impl FnOnce(&Service, &Policy) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    start_logging();
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut service = Service::bind(policy).await.map_err(refused)?;
        let mut signals = Signals::catch().map_err(Failure::new)?;
        if let Some((file, seen)) = source
            && let Some(hang_ups) = signals.take_hang_ups()
        {
            service = service.reloading(Reload::new(file, seen, hang_ups));
        }
        // Whoever started this may not be there to read it: a service serves all the same.
        drop(banner(&service, &service.gate().policy()));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut serving = std::pin::pin!(service.serve(async { drop(stopped.await) }));
        tokio::select! {
            () = serving.as_mut() => return Ok(ExitCode::SUCCESS),
            signal = signals.stop() => {
                tracing::info!("{signal}: no new connections, finishing what is in flight");
            }
        }
        drop(stop);
        tokio::select! {
            () = serving => {
                tracing::info!("stopped");
                Ok(ExitCode::SUCCESS)
            }
            signal = signals.stop() => {
                Err(Failure::new(format!("{signal} again: stopped with requests in flight")))
            }
        }
    });
    // A file system or a name server that hangs must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// What to connect to, as people type it.
pub(super) fn url(address: &Address) -> String {
    match address {
        Address::Tcp(address) => format!("http://{address}"),
        Address::Unix(_) => address.to_string(),
    }
}

/// The same for a Redis client.
fn redis_url(address: &Address) -> String {
    match address {
        Address::Tcp(address) => format!("redis://{address}"),
        Address::Unix(_) => address.to_string(),
    }
}

/// What Envoy's cluster names.
fn grpc_url(address: &Address) -> String {
    match address {
        Address::Tcp(address) => format!("grpc://{address}"),
        Address::Unix(_) => address.to_string(),
    }
}

/// A runtime with a thread for each core.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    built.map_err(|error| Failure::new(format!("the threads cannot be started: {error}")))
}

/// Tells warnings of a policy that is about to be served.
pub(super) fn warn(report: &Report) {
    let paint = Paint::for_stderr();
    let mut out = io::stderr().lock();
    for warning in report {
        // A policy is served with or without anybody to read this.
        drop(writeln!(
            out,
            "{}",
            paint::findings(&warning.short().to_string(), paint)
        ));
    }
}
