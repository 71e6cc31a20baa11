//! The thread that brings changes to the disk, batch by batch.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jeton_core::{Micros, RuleId};
use jeton_memory::Place;

use crate::Trouble;
use crate::batch::Batch;
use crate::engine::{Aside, Engine};
use crate::folder::Folder;
use crate::inner::Inner;
use crate::medium::Medium;
use crate::progress::Next;

/// How long nothing happens before the disk is tidied up.
const IDLE: Duration = Duration::from_secs(1);
/// How long a disk in trouble is left alone.
const RETRY: Duration = Duration::from_millis(500);
/// How often it is looked whether room can be given back.
const LOOK_BACK: Duration = Duration::from_secs(10);

/// The writer.
pub(crate) struct Writer {
    inner: Arc<Inner>,
    folder: Folder,
    medium: Arc<dyn Medium>,
    /// None after an error.
    engine: Option<Engine>,
    /// What could not be written yet.
    left: Option<Work>,
    /// An instant of the clock that decisions go by, and when it was.
    seen: (Micros, Instant),
    looked_back: Instant,
}

/// One epoch's changes.
struct Work {
    epoch: u64,
    states: Batch,
    aside: Aside,
}

impl Writer {
    pub(crate) fn new(
        inner: Arc<Inner>,
        folder: Folder,
        medium: Arc<dyn Medium>,
        engine: Engine,
        now: Micros,
    ) -> Self {
        Self {
            inner,
            folder,
            medium,
            engine: Some(engine),
            left: None,
            seen: (now, Instant::now()),
            looked_back: Instant::now(),
        }
    }

    pub(crate) fn start(mut self) -> std::io::Result<JoinHandle<()>> {
        thread::Builder::new()
            .name("jeton-disk-writer".into())
            .spawn(move || {
                let gone = Gone(Arc::clone(&self.inner));
                self.run();
                self.finish();
                // The folder is free again before anybody learns that the store is closed.
                drop(self);
                drop(gone);
            })
    }

    fn run(&mut self) {
        loop {
            if self.left.is_some() {
                self.inner.progress.pause(RETRY);
                self.write(false);
                if self.left.is_some() && self.inner.progress.is_closing() {
                    return;
                }
                continue;
            }
            match self.inner.progress.next(IDLE) {
                Next::Write => self.write(false),
                Next::Idle => self.tidy(),
                Next::Close => {
                    self.write(false);
                    return;
                }
            }
        }
    }

    /// Closes the file.
    fn finish(&mut self) {
        if let Some(Ok(batches)) = self.engine.take().map(Engine::close) {
            // Without it, the next start takes the file for one that was not closed.
            let _ = self.folder.note_closed(batches);
        }
    }

    /// Writes what has changed, if anything has or if it `tidies`.
    fn write(&mut self, tidies: bool) {
        let work = match self.left.take() {
            Some(work) => work,
            None => self.gather(),
        };
        match self.commit(&work, tidies) {
            Ok(()) => {
                self.inner.done.lays_down();
                self.inner.progress.reached(work.epoch);
                self.give_back();
            }
            Err(trouble) => {
                self.engine = None;
                self.left = Some(work);
                self.inner.progress.failed(trouble);
            }
        }
    }

    fn gather(&mut self) -> Work {
        let Inner {
            table,
            changes,
            progress,
            ..
        } = &*self.inner;
        progress.begin();
        let ended = changes.turn();
        let notes = core::mem::take(&mut *self.inner.notes());
        let (epoch, latest) = (ended.epoch, ended.latest);
        let states = changes.gather(ended, |key, look| {
            let place = Place {
                rule: RuleId::new(0),
                kind: key.kind,
                hash: key.hash,
            };
            table.show(place, look);
        });
        self.inner.done.takes_up(states.len());
        let latest = latest.filter(|_| states.len() > 0);
        if let Some(latest) = latest {
            self.seen = (latest, Instant::now());
        }
        Work {
            epoch,
            states,
            aside: Aside { notes, latest },
        }
    }

    fn commit(&mut self, work: &Work, tidies: bool) -> Result<(), Trouble> {
        if work.states.len() == 0 && work.aside.notes.is_empty() && self.engine.is_some() && !tidies
        {
            return Ok(());
        }
        let now = self.now();
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => Engine::open(&*self.medium, &self.folder.file())?,
        };
        let engine = self.engine.insert(engine);
        let begun = Instant::now();
        engine.commit(&work.states, &work.aside, now)?;
        self.inner.done.wrote(begun.elapsed());
        Ok(())
    }

    /// Lets go of what is over, while there is nothing else to do.
    fn tidy(&mut self) {
        let now = self.now();
        let Some(engine) = &mut self.engine else {
            return;
        };
        match engine.has_over(now) {
            Ok(true) => self.write(true),
            Ok(false) => self.give_back(),
            Err(trouble) => self.lose_engine(&trouble),
        }
    }

    /// Gives room back to the file system, now and then.
    fn give_back(&mut self) {
        if self.looked_back.elapsed() < LOOK_BACK {
            return;
        }
        self.looked_back = Instant::now();
        let Some(engine) = &mut self.engine else {
            return;
        };
        let slack = engine.space().map(|space| space.is_slack());
        if let Err(trouble) = slack.and_then(|slack| if slack { engine.compact() } else { Ok(()) })
        {
            self.lose_engine(&trouble);
        }
    }

    /// After an error it is of no more use; what is written next is written to a new one.
    fn lose_engine(&mut self, trouble: &Trouble) {
        self.engine = None;
        self.left = Some(self.gather());
        self.inner.progress.failed(trouble.clone());
    }

    /// The present instant, as far as it is known here.
    fn now(&self) -> Micros {
        let (at, since) = self.seen;
        let us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        Micros::new(at.get().saturating_add(us))
    }
}

/// Tells everybody that nothing is written any more, however the writer ended.
struct Gone(Arc<Inner>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.progress.closed();
    }
}
