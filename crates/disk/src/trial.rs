//! A file that is read on trial: what is written to it stays in memory, and the file as it is.
//!
//! The engine repairs a file that was not closed, before anybody can look into it. What turns out to
//! be damaged, or of another time, must stay untouched; so a folder is read on trial first, and
//! opened for good only if all of it could be read.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

const BLOCK: usize = 4096;

/// A file on trial.
pub(crate) struct OnTrial {
    file: Box<dyn StorageBackend>,
    trial: Mutex<Trial>,
}

struct Trial {
    len: u64,
    /// Below this, what has not been written is read from the file; above, it is zero.
    file_len: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

impl fmt::Debug for OnTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnTrial").field(&self.file).finish()
    }
}

impl OnTrial {
    pub(crate) fn new(file: Box<dyn StorageBackend>) -> io::Result<Self> {
        let len = file.len()?;
        let trial = Mutex::new(Trial {
            len,
            file_len: len,
            blocks: BTreeMap::new(),
        });
        Ok(Self { file, trial })
    }

    fn trial(&self) -> MutexGuard<'_, Trial> {
        self.trial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trial {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        for (number, at, bytes) in pieces(offset, out.len()) {
            let Some(out) = out.get_mut(bytes) else {
                continue;
            };
            let written = self.blocks.get(&number);
            if let Some(from) = written.and_then(|block| block.get(at..at + out.len())) {
                out.copy_from_slice(from);
                continue;
            }
            let start = number * BLOCK as u64 + at as u64;
            let left = usize::try_from(self.file_len.saturating_sub(start)).unwrap_or(BLOCK);
            let (there, beyond) = out.split_at_mut(left.min(out.len()));
            beyond.fill(0);
            if !there.is_empty() {
                file.read(start, there)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, file: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        for (number, at, bytes) in pieces(offset, data.len()) {
            let mut block = if let Some(block) = self.blocks.remove(&number) {
                block
            } else {
                let mut block = Box::new([0; BLOCK]);
                self.read(file, number * BLOCK as u64, &mut block[..])?;
                block
            };
            let to = block.get_mut(at..at + bytes.len());
            if let (Some(from), Some(to)) = (data.get(bytes), to) {
                to.copy_from_slice(from);
            }
            self.blocks.insert(number, block);
        }
        self.len = self.len.max(offset.saturating_add(data.len() as u64));
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        // What grows back later must read as nothing.
        self.file_len = self.file_len.min(len);
        let last = len / BLOCK as u64;
        let at = usize::try_from(len % BLOCK as u64).unwrap_or(0);
        self.blocks.retain(|&number, _| number <= last);
        if let Some(block) = self.blocks.get_mut(&last) {
            block.iter_mut().skip(at).for_each(|byte| *byte = 0);
        }
        self.len = len;
    }
}

/// The blocks that `len` bytes at `offset` lie in: number, where in it, and which of the bytes.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    core::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let position = offset + done as u64;
        let at = usize::try_from(position % BLOCK as u64).unwrap_or(0);
        let start = done;
        done = len.min(start + BLOCK - at);
        Some((position / BLOCK as u64, at, start..done))
    })
}

impl StorageBackend for OnTrial {
    fn len(&self) -> io::Result<u64> {
        Ok(self.trial().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let trial = self.trial();
        if offset.saturating_add(out.len() as u64) > trial.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        trial.read(&*self.file, offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.trial().set_len(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.trial().write(&*self.file, offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::InMemoryBackend;

    #[test]
    fn what_is_written_is_read_back_and_the_file_stays_as_it_was() {
        let file = InMemoryBackend::new();
        file.set_len(10_000).unwrap();
        file.write(0, &[7; 10_000]).unwrap();
        let trial = OnTrial::new(Box::new(file)).unwrap();
        let mut model = vec![7; 10_000];
        let mut random: u64 = 5;
        for _ in 0..2_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let [a, b, c] = [random >> 33, random >> 20, random >> 40]
                .map(|n| usize::try_from(n & 0xffff).unwrap());
            match c % 8 {
                0 => {
                    model.resize(a % 20_000, 0);
                    trial.set_len(model.len() as u64).unwrap();
                }
                n => {
                    let at = a % (model.len() + 1);
                    let len = (b % 6_000).min(model.len() - at);
                    if n % 2 == 0 {
                        let byte = u8::try_from(b & 0xff).unwrap();
                        model[at..at + len].fill(byte);
                        trial.write(at as u64, &vec![byte; len]).unwrap();
                    }
                    let mut read = vec![1; len];
                    trial.read(at as u64, &mut read).unwrap();
                    assert_eq!(read, model[at..at + len]);
                }
            }
            assert_eq!(trial.len().unwrap(), model.len() as u64);
        }
        let past = trial.read(model.len() as u64, &mut [0]);
        assert_eq!(past.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let mut file = vec![0; 10_000];
        trial.file.read(0, &mut file).unwrap();
        assert_eq!(file, [7; 10_000]);
    }
}
