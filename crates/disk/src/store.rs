//! The store.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use jeton_core::{
    Answers, Micros, Note, NoteEdit, Pending, Plan, Reading, Store, StoreError, StoreErrorKind,
    Submitted, When, Written,
};
use jeton_memory::Stats;

use crate::inner::Inner;
use crate::medium::{Disk, Medium};
use crate::open::{Ready, open};
use crate::owned::OwnedPlans;
use crate::progress::{Gate, Progress};
use crate::wait::{Durable, REFUSED, at_once, held, kept};
use crate::writer::Writer;
use crate::{Health, OpenError, Opened, Settings, Sync, Trouble, watch};

/// States in the process, kept in a folder.
///
/// Dropping it writes what has changed and frees the folder.
///
/// ```
/// use jeton_core::{Answers, Cost, Micros, Op, Plan, Quota, RuleId, Span, Store, When};
/// use jeton_disk::{DiskStore, Settings};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("jeton-data");
/// let quota = Quota::sliding_log(1, Span::SECOND)?;
/// let take = Op::take(RuleId::new(1), b"alice", &quota, Cost::ONE);
/// let allowed = |store: &DiskStore, us| {
///     let mut answers = Answers::new();
///     let _ = store.submit(&[Plan::one(&take)], When::At(Micros::new(us)), &mut answers);
///     answers.plan(0).0.map(|verdict| verdict.allowed)
/// };
/// let store = DiskStore::open(&Settings::new(&path), Micros::new(0))?;
/// assert_eq!(allowed(&store, 0), Ok(true));
/// drop(store);
/// let store = DiskStore::open(&Settings::new(&path), Micros::new(400_000))?;
/// assert_eq!(allowed(&store, 400_000), Ok(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DiskStore {
    inner: Arc<Inner>,
    sync: Sync,
    opened: Opened,
    threads: Vec<JoinHandle<()>>,
}

impl DiskStore {
    /// Reads the folder back at `now` and starts to write to it.
    ///
    /// # Errors
    /// [`OpenError`]: what is wrong, and the fix. A folder that was there is as it was.
    pub fn open(settings: &Settings, now: Micros) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(Disk), settings, now)
    }

    /// The same, on a medium of the caller's.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    #[doc(hidden)]
    pub fn open_on(
        medium: Arc<dyn Medium>,
        settings: &Settings,
        now: Micros,
    ) -> Result<Self, OpenError> {
        let Ready {
            folder,
            engine,
            table,
            opened,
        } = open(settings, now, &*medium)?;
        let sync = settings.sync;
        let inner = Arc::new(Inner::new(table, Progress::new(sync)));
        let no_thread = |error| OpenError::Folder {
            path: settings.path.clone(),
            error,
        };
        let writer = Writer::new(Arc::clone(&inner), folder, medium, engine, now);
        let mut store = Self {
            threads: vec![writer.start().map_err(no_thread)?],
            inner,
            sync,
            opened,
        };
        if let Sync::Every(span) = sync {
            let watch = watch::start(&store.inner, span).map_err(no_thread)?;
            store.threads.push(watch);
        }
        Ok(store)
    }

    /// What the start has read.
    pub fn opened(&self) -> Opened {
        self.opened
    }

    /// How the disk is doing.
    pub fn health(&self) -> Health {
        self.inner.progress.health()
    }

    /// What is wrong with the disk, in the system's words; what was, if it is well again.
    pub fn latest_trouble(&self) -> Option<Trouble> {
        self.inner.progress.latest_trouble()
    }

    /// What the table holds.
    pub fn stats(&self) -> Stats {
        self.inner.table.stats()
    }

    /// How many batches have been brought to the disk, with one sync each.
    pub fn batches(&self) -> u64 {
        self.inner.batches.load(Relaxed)
    }

    /// Waits until everything that has been decided is on disk, and does not let that wait.
    pub fn flush(&self) -> Pending<()> {
        let epoch = self.inner.changes.epoch();
        let inner = Arc::clone(&self.inner);
        inner.progress.hurry();
        Box::pin(Durable { inner, epoch })
    }

    fn submit_at(&self, plans: &[Plan<'_>], reading: Reading, out: &mut Answers) -> Submitted {
        match self.inner.progress.gate() {
            Gate::Open if self.sync == Sync::Always => self.submit_kept(plans, reading, out),
            Gate::Open => {
                self.inner.decide(plans, reading, out);
                Submitted::Done
            }
            Gate::Held => {
                let plans = OwnedPlans::new(plans, reading);
                Submitted::Later(Box::pin(held(Arc::clone(&self.inner), plans)))
            }
            Gate::Shut => all_fail(plans, REFUSED, out),
        }
    }

    /// Answers when what the answers change is on disk; at once if they change nothing.
    fn submit_kept(&self, plans: &[Plan<'_>], reading: Reading, out: &mut Answers) -> Submitted {
        let mut answers = Answers::new();
        match self.inner.decide(plans, reading, &mut answers) {
            0 => {
                for number in 0..answers.len() {
                    match answers.plan(number) {
                        (Ok(verdict), decisions) => out.push(verdict, decisions),
                        (Err(error), _) => out.push_failed(error),
                    }
                }
                Submitted::Done
            }
            epoch => {
                let inner = Arc::clone(&self.inner);
                Submitted::Later(Box::pin(kept(inner, epoch, answers)))
            }
        }
    }

    fn change_note(&self, edit: NoteEdit, when: When) -> Result<(bool, u64), StoreError> {
        let now = reading(when).ok_or(NO_CLOCK)?.at();
        if self.inner.progress.gate() == Gate::Shut {
            return Err(REFUSED);
        }
        let change = match &edit {
            NoteEdit::Put(note) => {
                let kept = note.is_in_force(now).then(|| note.clone());
                (note.name.clone(), kept)
            }
            NoteEdit::Remove { name } => (name.clone(), None),
        };
        // Changes go to the disk in the order in which they were made.
        let mut notes = self.inner.notes();
        let there_was = at_once(self.inner.table.note(edit, when)).unwrap_or(Err(REFUSED))?;
        notes.push(change);
        drop(notes);
        Ok((there_was, self.inner.changes.epoch()))
    }
}

impl Store for DiskStore {
    /// With [`Sync::Every`] it is done at once, unless the disk is behind. With [`Sync::Always`] what
    /// changes nothing is. It has no clock: at [`When::StoreClock`] everything fails as unsupported.
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        if let Some(reading) = reading(when) {
            self.submit_at(plans, reading, out)
        } else {
            all_fail(plans, NO_CLOCK, out)
        }
    }

    /// Answers when the change is on disk, however the store is set.
    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        match self.change_note(edit, when) {
            Ok((there_was, epoch)) => {
                let inner = Arc::clone(&self.inner);
                inner.progress.hurry();
                Box::pin(async move {
                    Durable { inner, epoch }.await?;
                    Ok(there_was)
                })
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.inner.table.notes(when)
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.inner.progress.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has told everybody that the store is closed.
            let _ = thread.join();
        }
    }
}

const NO_CLOCK: StoreError = StoreError {
    kind: StoreErrorKind::Unsupported,
    written: Written::No,
};

fn all_fail(plans: &[Plan<'_>], error: StoreError, out: &mut Answers) -> Submitted {
    for _ in plans {
        out.push_failed(error);
    }
    Submitted::Done
}

fn reading(when: When) -> Option<Reading> {
    match when {
        When::At(now) => Some(now.into()),
        When::NotBefore(now) => Some(Reading::steady(now)),
        When::StoreClock => None,
    }
}
