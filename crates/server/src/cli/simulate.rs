//! `jeton simulate`: a trace on a virtual clock, through the real engine and store.

mod lines;
mod place;
mod summary;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::process::ExitCode;

use jeton::{Gate, Handle, Micros};

use super::args::Simulate;
use super::config;
use super::failure::Failure;
use super::number::grouped;
use crate::engine::{Event, Failed, InputError, Outcome, TraceLine, step};
use lines::Lines;
use place::{Place, on_server};
use summary::Summary;

/// Bytes of output gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Lines between two signs of life on a terminal.
const PROGRESS_EVERY: u64 = 1 << 16;

pub(super) fn run(flags: &Simulate) -> Result<ExitCode, Failure> {
    let policy = config::load_without_server(&flags.config)?.policy;
    let (name, input) = open(flags)?;
    let as_summary = flags.summary;
    let simulate = move |place: Place| {
        let desk = Desk {
            gate: place.gate(policy)?,
            place,
            reservations: HashMap::new(),
        };
        let lines = Lines::new(input);
        Run { desk, lines, name }.tell(as_summary)
    };
    match &flags.store {
        None => simulate(Place::memory()?)?,
        Some(url) => on_server(url, simulate)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a trace comes from.
type Input = Box<dyn Read + Send>;

struct Run {
    desk: Desk,
    lines: Lines<Input>,
    name: String,
}

impl Run {
    /// Carries out every event, and tells what became of it, or of all.
    fn tell(&mut self, as_summary: bool) -> Result<(), Failure> {
        let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
        if as_summary {
            let mut summary = Summary::default();
            self.each(|event, _, _| {
                summary.count(event.at_us);
                Ok(())
            })?;
            summary.print(&self.name, &self.desk.gate, &mut out)?;
            return Ok(out.flush()?);
        }
        let told = self.each(|event, outcome, more| {
            serde_json::to_writer(&mut out, &TraceLine::of(event.at_us, outcome))
                .map_err(io::Error::from)?;
            out.write_all(b"\n")?;
            // Whoever waits for this answer before it sends more gets it.
            if more { Ok(()) } else { out.flush() }
        });
        // What came before a bad line is told before the line is.
        out.flush()?;
        told
    }

    /// Carries out every event, in order, and hands its answer on, with whether more input is
    /// there already.
    fn each(
        &mut self,
        mut tell: impl FnMut(&Event<'_>, &Outcome, bool) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new();
        loop {
            let number = self.lines.number() + 1;
            let at = |what: &dyn std::fmt::Display| {
                Failure::new(format!("{}:{number}: {what}", self.name))
            };
            let (line, more) = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(()),
                Err(error) => return Err(at(&error)),
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let event = Event::from_trace(line).map_err(|error| at(&error))?;
            let outcome = self.desk.carry_out(&event);
            let outcome = outcome.map_err(|failed| match self.desk.place.words(&failed) {
                Some(words) => at(&words),
                None => at(&failed),
            })?;
            tell(&event, &outcome, more)?;
            progress.step(number);
        }
    }
}

/// Carries events out at the instants that they tell.
struct Desk {
    gate: Gate,
    place: Place,
    /// Reservations by the names that the trace gives them; none for those that were refused.
    reservations: HashMap<String, Option<Handle>>,
}

impl Desk {
    fn carry_out(&mut self, event: &Event<'_>) -> Result<Outcome, Failed> {
        self.gate.clock().set(Micros::new(event.at_us));
        let named = event.reservation().map(str::to_owned);
        if let Some(name) = &named
            && let Some(Some(_)) = self.reservations.get(name)
        {
            let what = format!("{name:?} stands for a reservation before; choose another name");
            return Err(InputError::new("handle", what).into());
        }
        let outcome = {
            let find = |name: &str| {
                self.reservations.get(name).cloned().ok_or_else(|| {
                    let what = format!("no reservation before this is called {name:?}");
                    InputError::new("handle", what)
                })
            };
            self.place.run(step(&self.gate, event, &find))
        }?;
        self.place.vet(&outcome)?;
        if let Some(name) = named {
            self.reservations.insert(name, outcome.handle().cloned());
        }
        Ok(outcome)
    }
}

fn open(flags: &Simulate) -> Result<(String, Input), Failure> {
    let Some(path) = &flags.trace else {
        if io::stdin().is_terminal() {
            let told = "reading events from standard input, one JSON object a line; Ctrl-D ends";
            drop(writeln!(io::stderr(), "{told}"));
        }
        return Ok(("stdin".to_owned(), Box::new(io::stdin())));
    };
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => Ok((name, Box::new(file))),
        Err(error) => Err(Failure::new(format!(
            "the trace {name} cannot be read: {error}"
        ))),
    }
}

/// A sign of life, where somebody watches and nothing else is written.
struct Progress(bool);

impl Progress {
    fn new() -> Self {
        Self(io::stderr().is_terminal() && !io::stdout().is_terminal())
    }

    fn step(&mut self, lines: u64) {
        if self.0 && lines.is_multiple_of(PROGRESS_EVERY) {
            drop(write!(io::stderr(), "\r{} lines", grouped(lines)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.0 {
            drop(write!(io::stderr(), "\r\u{1b}[K"));
        }
    }
}
