//! `jeton demo`: an example service, the proxy before it, honest clients and one spammer. Every
//! number it prints is counted in the run.

mod clients;
mod score;
mod service;
mod stage;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::args::Demo;
use super::failure::Failure;
use super::paint::Paint;
use super::serve::{runtime, url};
use crate::run::{Signals, start_logging};
use score::Score;

pub(super) fn run(flags: &Demo) -> Result<ExitCode, Failure> {
    start_logging();
    runtime()?.block_on(play(flags.lasting))
}

async fn play(lasting: Option<Duration>) -> Result<ExitCode, Failure> {
    let mut signals = Signals::catch().map_err(Failure::new)?;
    let example = service::start().await.map_err(Failure::new)?;
    let stage = stage::set(example.address).await.map_err(Failure::new)?;
    let Some(proxy) = stage.service.proxy_address().and_then(stage::tcp) else {
        return Err(Failure::new("the proxy of the demo has no address"));
    };
    banner(&stage)?;

    let score = Arc::new(Score::default());
    let (curtain, falling) = watch::channel(false);
    let mut over = falling.clone();
    let serving = tokio::spawn(stage.service.serve(async move {
        drop(over.wait_for(|over| *over).await);
    }));
    let sending = tokio::spawn(clients::send(
        proxy,
        lasting,
        falling.clone(),
        Arc::clone(&score),
    ));
    let watching = tokio::spawn(show_progress(Arc::clone(&score), falling));
    let mut sending = std::pin::pin!(sending);
    let sent = tokio::select! {
        sent = sending.as_mut() => sent,
        _ = signals.stop() => {
            curtain.send_replace(true);
            sending.await
        }
    };
    curtain.send_replace(true);
    drop(watching.await);
    drop(serving.await);
    sent.map_err(Failure::new)?.map_err(Failure::new)?;
    score.print(&mut io::stdout().lock(), Paint::for_stdout())?;
    conclude(&score, example.answered())
}

fn banner(stage: &stage::Stage) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for note in &stage.notes {
        writeln!(out, "  {note}")?;
    }
    if let Some(address) = stage.service.proxy_address() {
        let url = url(address);
        writeln!(
            out,
            "  proxy    {url}   {}        try: curl -i {url}/say",
            stage::RULE_IN_WORDS
        )?;
    }
    if let Some(address) = stage.service.api_address() {
        let url = url(address);
        writeln!(out, "  api      {url}   {url}/metrics  {url}/v1/rules")?;
    }
    out.flush()
}

/// One line that is written over and over, where somebody watches.
async fn show_progress(score: Arc<Score>, mut falling: watch::Receiver<bool>) {
    if !io::stderr().is_terminal() {
        return;
    }
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    while !*falling.borrow() {
        tokio::select! {
            _ = tick.tick() => drop(write!(io::stderr(), "\r\u{1b}[K  {}", score.in_a_line())),
            _ = falling.changed() => {}
        }
    }
    drop(write!(io::stderr(), "\r\u{1b}[K"));
}

/// The demo failed if what it shows is not so.
fn conclude(score: &Score, answered: u64) -> Result<ExitCode, Failure> {
    let total = score.total();
    if total.failed > 0 {
        return Err(Failure::new(format!(
            "{} requests got no answer at all",
            total.failed
        )));
    }
    // Whoever tried the proxy by hand reached the service too.
    if answered < total.passed {
        let passed = total.passed;
        return Err(Failure::new(format!(
            "{passed} passed, but the service saw {answered}"
        )));
    }
    let refused = score.honest().denied;
    Ok(if refused == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
