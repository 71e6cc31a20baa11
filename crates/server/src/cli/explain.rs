//! `jeton explain`: what a policy makes of a request, and why; charges nothing.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use http::Method;
use jeton::{Clock, Gate};

use super::args::Explain;
use super::call::{Server, api_of_environment};
use super::config;
use super::failure::Failure;
use super::paint::Paint;
use crate::explain::{Counters, Document, Mark, Question, Written, write_text};
use crate::store::{Backend, Need, Opened, open};

pub(super) fn run(flags: &Explain) -> Result<ExitCode, Failure> {
    let written = Written {
        request: flags.request.clone(),
        ip: flags.ip.clone(),
        host: flags.host.clone(),
        headers: flags.header.clone(),
        domain: flags.domain.clone(),
        descriptors: flags.descriptor.clone(),
    };
    // What is wrong with it is told before a file is read or a server asked.
    let question = Question::read(&written)
        .map_err(|error| Failure::Usage(format!("--{}: {}", error.field, error.what)))?;
    let by_environment = || match flags.config {
        None => api_of_environment(),
        Some(_) => None,
    };
    let document = match flags.api.clone().or_else(by_environment) {
        Some(url) => live(&url, flags, &written)?,
        None if flags.token_file.is_some() => {
            let what = "--token-file is for a running process; add --api";
            return Err(Failure::Usage(what.to_owned()));
        }
        None => offline(flags, &question)?,
    };
    print(&document, flags.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The policy and the counters of a running process.
fn live(url: &str, flags: &Explain, written: &Written) -> Result<Document, Failure> {
    let target = format!("/v1/explain?{}", written.to_query());
    let answer =
        Server::new(url, flags.token_file.as_deref())?.call(&Method::GET, &target, None)?;
    serde_json::from_value(answer).map_err(|error| {
        let what = "is no explanation that this version reads";
        Failure::new(format!("the answer of {url} {what}: {error}"))
    })
}

/// The policy of the file: with counters that nobody has used, or with those of its store if that is
/// none of a process.
fn offline(flags: &Explain, question: &Question) -> Result<Document, Failure> {
    let config = flags.config.as_deref();
    let policy = config::load(config.unwrap_or(Path::new("jeton.toml")))?.policy;
    runtime()?.block_on(async {
        let opened = open(&policy.settings().store, Need::Looks).await;
        let Opened { store, away } = opened.map_err(Failure::new)?;
        if let Some(trouble) = away {
            let told = format!("warning: {} was not asked: {trouble}", store.place());
            drop(writeln!(io::stderr(), "{told}"));
        }
        let gate = Gate::new(policy, store.shared(), Clock::system());
        // Where they cannot be read, the answer says that the store gave none.
        let _ = gate.refresh_orders().await;
        let explained = question.ask(&gate).await;
        let counters = match store {
            Backend::Memory(_) | Backend::Disk(_) => Counters::Fresh,
            Backend::Redis(_) => Counters::OfStore,
        };
        Ok(Document::new(question, &explained, counters))
    })
}

fn print(document: &Document, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    let paint = Paint::for_stdout();
    let mut text = String::new();
    let written = write_text(document, &mut text, &|mark, word| match mark {
        Mark::Allows => paint.allowed(word),
        Mark::Denies => paint.denied(word),
        Mark::WouldDeny | Mark::Silent => word.to_owned(),
    });
    written.map_err(Failure::new)?;
    Ok(out.write_all(text.as_bytes())?)
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.map_err(Failure::new)
}
