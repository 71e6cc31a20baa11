//! A store in a folder: opened, told about, and closed.

use std::sync::Arc;
use std::time::Duration;

use jeton::disk::{DiskStore, Figures, Health, Opened, Settings, Sync, Trouble, TroubleKind};
use jeton::policy::{self, DiskSync};
use jeton::{Clock, Span, Stats, Store, StoreErrorKind, StoreState, table_settings};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::OpenError;

/// How often it is told that a folder is still being read.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// A disk that hangs must not keep a process that is told to stop for ever; but millions of states take
/// a slow disk minutes, and who is in a hurry has SIGKILL.
const LEAVE_WITHIN: Duration = Duration::from_secs(600);

/// A store in a folder.
#[derive(Clone, Debug)]
pub struct Kept {
    store: Arc<DiskStore>,
    /// Which folder, as it may be shown.
    place: Arc<str>,
    timeout: Duration,
}

impl Kept {
    /// Reads the folder that a policy names, and tells the log what was there.
    pub(super) async fn open(named: &policy::Disk, of: &policy::Store) -> Result<Self, OpenError> {
        let place = named.place();
        let settings = Settings {
            sync: match named.sync {
                DiskSync::Every(span) => Sync::Every(span),
                DiskSync::Always => Sync::Always,
            },
            table: table_settings(of),
            ..Settings::new(named.path.get())
        };
        let (now, began) = (Clock::system().now(), Instant::now());
        let mut opening = spawn_blocking(move || DiskStore::open(&settings, now));
        let opened = loop {
            match timeout(TELL_EVERY, &mut opening).await {
                Ok(Ok(opened)) => break opened.map_err(|error| error.to_string()),
                Ok(Err(fault)) => break Err(format!("{place} could not be read: {fault}")),
                Err(_) => {
                    let s = began.elapsed().as_secs();
                    tracing::info!("still reading what {place} keeps, for {s} s");
                }
            }
        };
        let store = opened.map_err(|what| {
            // What stands elsewhere is not shown.
            let path = named.path.get().display().to_string();
            let what = what.replace(&path, &place);
            OpenError::Folder { what }
        })?;
        tell(store.opened(), &place);
        Ok(Self {
            store: Arc::new(store),
            place: place.into(),
            timeout: of.timeout,
        })
    }

    pub(super) fn shared(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as _
    }

    /// Which folder, as it may be shown.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// What it holds.
    pub(crate) fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// How the writing goes.
    pub(crate) fn figures(&self) -> Figures {
        self.store.figures()
    }

    /// How the disk is doing.
    pub(crate) fn health(&self) -> Health {
        self.store.health()
    }

    /// What is wrong with the disk; none if it is well.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let Health::Down(kind) = self.health() else {
            return None;
        };
        let said = self.store.latest_trouble();
        let nameless = Trouble {
            kind,
            said: "no more is known".to_owned(),
        };
        Some(said.unwrap_or(nameless))
    }

    pub(super) fn state(&self, asked: StoreState) -> StoreState {
        match self.health() {
            Health::Down(_) => {
                let why = StoreErrorKind::CannotPersist;
                StoreState::Away { why }
            }
            Health::Up | Health::Behind => asked,
        }
    }

    /// Why it gives no decisions, in its own words if it has some.
    pub(super) fn words(&self, why: StoreErrorKind) -> Option<String> {
        let place = &self.place;
        match why {
            StoreErrorKind::CannotPersist => {
                let trouble = self.store.latest_trouble()?;
                Some(format!("the store in {place}: {trouble}"))
            }
            StoreErrorKind::Timeout => {
                let latest_ms = self.figures().latest.as_millis();
                let timeout_ms = self.timeout.as_millis();
                Some(format!(
                    "the store in {place} takes longer than its `timeout` of {timeout_ms} ms: the \
                     latest batch took {latest_ms} ms to the disk"
                ))
            }
            _ => None,
        }
    }

    /// Closes the folder: what has been decided is kept, or the log says that it is not.
    pub(super) async fn leave(&self) {
        let store = Arc::clone(&self.store);
        let closing = timeout(LEAVE_WITHIN, spawn_blocking(move || store.close()));
        let place = &self.place;
        match closing.await {
            Ok(Ok(Ok(()))) => {}
            Ok(_) => {
                let trouble = self.store.latest_trouble();
                let why = trouble.map(|trouble| format!(": {trouble}"));
                let why = why.unwrap_or_default();
                tracing::error!("what was decided last could not be kept in {place}{why}");
            }
            Err(_) => tracing::error!(
                "{place} was left before all of it was written: the disk takes too long"
            ),
        }
    }
}

/// A word for each state that a disk can be in.
pub(crate) const fn word(health: Health) -> &'static str {
    match health {
        Health::Up => "up",
        Health::Behind => "behind",
        Health::Down(TroubleKind::Full) => "full",
        Health::Down(TroubleKind::ReadOnly) => "read_only",
        Health::Down(TroubleKind::Damaged) => "damaged",
        Health::Down(_) => "io",
    }
}

/// All of them.
pub(crate) const WORDS: [&str; 6] = ["up", "behind", "full", "read_only", "damaged", "io"];

/// Tells the log what a folder held.
fn tell(opened: Opened, place: &str) {
    let Opened {
        restored,
        expired,
        left_out,
        stepped_back,
    } = opened;
    tracing::info!("read back from {place}: {restored} states; {expired} more were over");
    if left_out > 0 {
        tracing::warn!(
            "{left_out} states in {place} have no room under max_keys and max_memory: they stay \
             there, and their keys start anew; raise these to have them back at the next start"
        );
    }
    if stepped_back > Span::ZERO {
        let s = stepped_back.as_micros().div_ceil(1_000_000);
        tracing::warn!(
            "the clock is {s} s behind what {place} has seen: everything there moved back with it, so \
             that nobody waits longer or less"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_health_has_a_word_of_its_own() {
        use TroubleKind::{Damaged, Full, Io, ReadOnly};
        let downs = [Full, ReadOnly, Damaged, Io].map(Health::Down);
        let all = [Health::Up, Health::Behind].into_iter().chain(downs);
        assert!(all.map(word).eq(WORDS));
    }
}
