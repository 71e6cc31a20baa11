//! Disks that are worse than real ones.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use jeton_disk::{Disk, Medium};
use jeton_testkit::random::Random;
use redb::StorageBackend;

/// What a disk does to whoever writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    Fails(io::ErrorKind),
    /// Syncs do not return until it is in another mood.
    Hangs,
}

/// A disk whose mood changes, and of which it is known what a power cut would leave.
#[derive(Clone, Debug)]
pub(crate) struct Moody(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    /// What is on the platter.
    synced: Vec<u8>,
    /// What has been written since.
    since: Vec<Write>,
    syncs: u64,
}

#[derive(Clone, Debug)]
enum Write {
    At(usize, Vec<u8>),
    Len(usize),
}

#[derive(Debug)]
struct File {
    disk: Arc<Shared>,
    file: Box<dyn StorageBackend>,
}

impl Moody {
    pub(crate) fn new() -> Self {
        let state = State {
            mood: Mood::Well,
            synced: Vec::new(),
            since: Vec::new(),
            syncs: 0,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }))
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.0.lock().mood = mood;
        self.0.changed.notify_all();
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.0.lock().syncs
    }

    /// The bytes of the file after a power cut now: everything that was synced, and of what was
    /// written since, any sectors, whatever their order.
    pub(crate) fn after_power_cut(&self, random: &mut Random) -> Vec<u8> {
        const SECTOR: usize = 512;
        let state = self.0.lock();
        let (mut bytes, since) = (state.synced.clone(), state.since.clone());
        drop(state);
        let keep = random.between(0, 4);
        for write in since {
            match write {
                Write::Len(len) if random.below(4) < keep => bytes.resize(len, 0),
                Write::Len(_) => {}
                Write::At(offset, data) => {
                    for (number, sector) in data.chunks(SECTOR).enumerate() {
                        let start = offset + number * SECTOR;
                        if random.below(4) < keep {
                            let end = start + sector.len();
                            bytes.resize(bytes.len().max(end), 0);
                            bytes[start..end].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        bytes
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn well(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.lock();
        match state.mood {
            Mood::Fails(kind) => Err(kind.into()),
            _ => Ok(state),
        }
    }
}

impl Medium for Moody {
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn StorageBackend>> {
        let mut state = self.0.well()?;
        let file = Disk.open(path, new)?;
        state.synced = std::fs::read(path)?;
        state.since.clear();
        drop(state);
        let disk = Arc::clone(&self.0);
        Ok(Box::new(File { disk, file }))
    }

    fn journal_bytes(&self) -> usize {
        Small.journal_bytes()
    }
}

/// The file system, with a journal that is soon full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Small;

impl Medium for Small {
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn StorageBackend>> {
        Disk.open(path, new)
    }

    fn journal_bytes(&self) -> usize {
        4 << 10
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.well()?;
        state.since.push(Write::Len(usize::try_from(len).unwrap()));
        self.file.set_len(len)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.disk.well()?;
        let at = usize::try_from(offset).unwrap();
        state.since.push(Write::At(at, data.to_vec()));
        self.file.write(offset, data)
    }

    fn sync_data(&self) -> io::Result<()> {
        let state = self.disk.lock();
        let hangs = |state: &mut State| state.mood == Mood::Hangs;
        drop(self.disk.changed.wait_while(state, hangs).unwrap());
        let mut state = self.disk.well()?;
        state.syncs += 1;
        let since = core::mem::take(&mut state.since);
        for write in since {
            match write {
                Write::Len(len) => state.synced.resize(len, 0),
                Write::At(start, data) => {
                    let end = start + data.len();
                    let len = state.synced.len().max(end);
                    state.synced.resize(len, 0);
                    state.synced[start..end].copy_from_slice(&data);
                }
            }
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
