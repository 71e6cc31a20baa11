//! What callers keep and bring back: charges and reservations as opaque text (base64url without
//! padding, RFC 4648 section 5), so that any node can settle them.

mod handle;
mod receipt;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jeton_core::{Kind, Micros, Receipt};

pub use handle::Handle;
pub(crate) use handle::{HandleId, Reserved, record_key};
pub use receipt::GivenReceipt;

/// The layout of both.
const VERSION: u8 = 1;

/// Why a text is no receipt and no handle of this release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpaqueError;

impl fmt::Display for OpaqueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not what was given out; bring it back as it was")
    }
}

impl std::error::Error for OpaqueError {}

fn write_text(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
}

fn read_text(text: &str) -> Result<Vec<u8>, OpaqueError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| OpaqueError)
}

fn put_receipt(receipt: &Receipt, out: &mut Vec<u8>) {
    out.extend_from_slice(&receipt.cost.to_be_bytes());
    out.extend_from_slice(&receipt.part.to_be_bytes());
    out.extend_from_slice(&receipt.at.get().to_be_bytes());
    out.extend_from_slice(&receipt.mark.get().to_be_bytes());
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn versioned(bytes: &'a [u8]) -> Result<Self, OpaqueError> {
        let mut reader = Self(bytes);
        match reader.array()? {
            [VERSION] => Ok(reader),
            _ => Err(OpaqueError),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], OpaqueError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(OpaqueError)?;
        self.0 = rest;
        Ok(*head)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], OpaqueError> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(OpaqueError)?;
        self.0 = rest;
        Ok(head)
    }

    fn u8(&mut self) -> Result<u8, OpaqueError> {
        self.array().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, OpaqueError> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, OpaqueError> {
        self.array().map(u64::from_be_bytes)
    }

    /// An instant that a state may have.
    fn instant(&mut self) -> Result<Micros, OpaqueError> {
        let us = self.u64()?;
        let is_known = us <= Micros::HORIZON.get();
        is_known.then_some(Micros::stored(us)).ok_or(OpaqueError)
    }

    fn kind(&mut self) -> Result<Kind, OpaqueError> {
        Kind::from_number(self.u8()?).ok_or(OpaqueError)
    }

    fn receipt(&mut self) -> Result<Receipt, OpaqueError> {
        Ok(Receipt {
            cost: self.u32()?,
            part: self.u32()?,
            at: self.instant()?,
            mark: self.instant()?,
        })
    }

    fn end(&self) -> Result<(), OpaqueError> {
        self.0.is_empty().then_some(()).ok_or(OpaqueError)
    }
}
