//! What the engine's file lies on. Tests put worse disks in its place.

use core::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use redb::StorageBackend;
use redb::backends::FileBackend;

/// Opens files for the engine.
pub trait Medium: Send + Sync + fmt::Debug + 'static {
    /// Opens a file for reading and writing; with `new`, makes it, in the place of any other.
    ///
    /// # Errors
    /// As the system says.
    fn open(&self, file: &Path, new: bool) -> io::Result<Box<dyn StorageBackend>>;

    /// So many bytes may stand in the journal before its states move to their places: a tenth of what
    /// 100 000 states take up saves most of the pages, and leaves room in [`crate::BYTES_AT_LEAST`].
    fn journal_bytes(&self) -> usize {
        1 << 20
    }
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Medium for Disk {
    fn open(&self, file: &Path, new: bool) -> io::Result<Box<dyn StorageBackend>> {
        let mut options = File::options();
        options.read(true).write(true).create(new);
        // It holds the seed under which keys are hashed.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.open(file)?;
        // Beside the lock of the folder, which may be removed by hand.
        opened.try_lock().map_err(io::Error::from)?;
        if new {
            opened.set_len(0)?;
        }
        let backend = FileBackend::new(opened);
        backend
            .map(|backend| Box::new(backend) as Box<dyn StorageBackend>)
            .map_err(io::Error::other)
    }
}
