//! The laws of all stores, in both settings, and once more with restarts in the middle of everything.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use jeton_core::{Answers, Micros, Note, NoteEdit, Pending, Plan, Store, Submitted, When};
use jeton_disk::{DiskStore, Settings, Sync};
use jeton_testkit::laws::StoreConfig;
use tempfile::TempDir;

use crate::media::Small;
use crate::support::{SECONDLY, quick_folder};

/// A store in a folder that goes when it does. It starts anew before every so many calls.
struct Restarting {
    settings: Settings,
    /// None only while it starts.
    store: RwLock<Option<DiskStore>>,
    calls: AtomicU64,
    every: u64,
    latest_us: AtomicU64,
    _folder: TempDir,
}

impl Restarting {
    fn new(config: StoreConfig, sync: Sync, every: u64) -> Self {
        let folder = quick_folder();
        let settings = Settings {
            sync,
            table: jeton_memory::Settings {
                max_keys: config.max_keys,
                ..jeton_memory::Settings::default()
            },
            ..Settings::new(folder.path().join("store"))
        };
        let store = DiskStore::open_on(Arc::new(Small), &settings, Micros::ZERO).unwrap();
        Self {
            settings,
            store: RwLock::new(Some(store)),
            calls: AtomicU64::new(0),
            every,
            latest_us: AtomicU64::new(0),
            _folder: folder,
        }
    }

    /// Restarts now and then, unless the clock has just gone back, which a start would notice where
    /// nobody has looked yet.
    fn call<T>(&self, when: When, ask: impl FnOnce(&DiskStore) -> T) -> T {
        let (When::At(now) | When::NotBefore(now)) = when else {
            panic!("the laws have a clock");
        };
        let latest_us = self.latest_us.fetch_max(now.get(), Ordering::SeqCst);
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        if calls % self.every == self.every - 1 && now.get() >= latest_us {
            let mut store = self.store.write().unwrap();
            drop(store.take());
            let started = DiskStore::open_on(Arc::new(Small), &self.settings, now).unwrap();
            assert_eq!(started.opened().left_out, 0);
            *store = Some(started);
        }
        ask(self.store.read().unwrap().as_ref().unwrap())
    }
}

impl Store for Restarting {
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        self.call(when, |store| store.submit(plans, when, out))
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        self.call(when, |store| store.note(edit, when))
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.call(when, |store| store.notes(when))
    }
}

mod secondly {
    use super::*;
    jeton_testkit::store_laws!(|config: StoreConfig| -> Arc<dyn Store> {
        Arc::new(Restarting::new(config, SECONDLY, u64::MAX))
    });
}

mod always {
    use super::*;
    jeton_testkit::store_laws!(|config: StoreConfig| -> Arc<dyn Store> {
        Arc::new(Restarting::new(config, Sync::Always, u64::MAX))
    });
}

mod restarting {
    use super::*;
    jeton_testkit::store_laws!(|config: StoreConfig| -> Arc<dyn Store> {
        Arc::new(Restarting::new(config, SECONDLY, 257))
    });
}
