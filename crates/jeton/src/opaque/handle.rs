//! A reservation: which charges it holds, and the id of its record in the store.
//!
//! The record stands under a digest of the id and of what the handle says it has charged, so that
//! a handle with other words has no record.

use std::fmt;
use std::str::FromStr;

use jeton_core::{Kind, MAX_OPS, Receipt, RuleId, Span};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use super::{OpaqueError, Reader, VERSION, put_receipt, read_text, write_text};

/// What names a reservation on every node: 128 random bits.
pub(crate) type HandleId = [u8; 16];

/// A reservation as callers keep it.
///
/// Whether it is open, settled or over stands in the store beside the states it has charged; the
/// text itself says which charges those are, so that any node can settle them. With other words than
/// it was given out with, it has no record there.
/// It carries their keys: keep it as you keep those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    pub(crate) id: HandleId,
    pub(crate) ttl: Span,
    pub(crate) charges: SmallVec<[Reserved; 2]>,
}

/// One charge that a reservation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    /// Whose counter: a rule's, its preflights', its trial's.
    pub(crate) counter: RuleId,
    pub(crate) kind: Kind,
    /// The plan it was charged under.
    pub(crate) plan: Option<Box<str>>,
    pub(crate) key: Box<[u8]>,
    /// What was asked for.
    pub(crate) cost: u32,
    /// The charge; none if the rule has no vote and would have denied.
    pub(crate) receipt: Option<Receipt>,
}

/// The key of the record of a reservation: SHA-256 over its id and over counter, kind, plan, key
/// and cost of each charge.
pub(crate) fn record_key(id: &HandleId, charges: &[Reserved]) -> [u8; 32] {
    let mut words = id.to_vec();
    for reserved in charges {
        reserved.put_words(&mut words);
    }
    Sha256::digest(&words).into()
}

impl Handle {
    /// How long a reservation stays open unless it is extended.
    pub const fn ttl(&self) -> Span {
        self.ttl
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.id);
        bytes.extend_from_slice(&self.ttl.as_micros().to_be_bytes());
        bytes.push(u8::try_from(self.charges.len()).unwrap_or(u8::MAX));
        for reserved in &self.charges {
            reserved.put_words(&mut bytes);
            bytes.push(u8::from(reserved.receipt.is_some()));
            if let Some(receipt) = &reserved.receipt {
                put_receipt(receipt, &mut bytes);
            }
        }
        write_text(&bytes, f)
    }
}

impl FromStr for Handle {
    type Err = OpaqueError;

    fn from_str(text: &str) -> Result<Self, OpaqueError> {
        let bytes = read_text(text)?;
        let mut reader = Reader::versioned(&bytes)?;
        let id = reader.array()?;
        let ttl = Span::from_micros(reader.u64()?).map_err(|_| OpaqueError)?;
        let count = usize::from(reader.u8()?);
        if count > MAX_OPS {
            return Err(OpaqueError);
        }
        let charges = (0..count).map(|_| Reserved::read(&mut reader));
        let charges = charges.collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self { id, ttl, charges })
    }
}

impl Reserved {
    /// All but the receipt.
    fn put_words(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.counter.get().to_be_bytes());
        out.push(self.kind as u8);
        let plan = self.plan.as_deref().unwrap_or_default();
        put_short(plan.as_bytes(), out);
        put_short(&self.key, out);
        out.extend_from_slice(&self.cost.to_be_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, OpaqueError> {
        let (counter, kind) = (RuleId::new(reader.u64()?), reader.kind()?);
        let plan = std::str::from_utf8(short(reader)?).map_err(|_| OpaqueError)?;
        let (key, cost) = (short(reader)?.into(), reader.u32()?);
        let receipt = match reader.u8()? {
            0 => None,
            1 => Some(reader.receipt()?),
            _ => return Err(OpaqueError),
        };
        // A receipt is for what was asked for, no less and no more.
        if receipt.is_some_and(|receipt| receipt.cost != cost) {
            return Err(OpaqueError);
        }
        Ok(Self {
            counter,
            kind,
            plan: (!plan.is_empty()).then(|| plan.into()),
            key,
            cost,
            receipt,
        })
    }
}

/// Bytes that are few by construction: keys are bounded, and so are names of plans.
fn put_short(bytes: &[u8], out: &mut Vec<u8>) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes.get(..usize::from(length)).unwrap_or_default());
}

fn short<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], OpaqueError> {
    let length = reader.array().map(u16::from_be_bytes)?;
    reader.bytes(usize::from(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::Micros;
    use smallvec::smallvec;

    fn handle() -> Handle {
        let reserved = |plan: Option<&str>, key: &[u8]| Reserved {
            counter: RuleId::new(9),
            kind: Kind::Bucket,
            plan: plan.map(Into::into),
            key: key.into(),
            cost: 5,
            receipt: plan.is_none().then_some(Receipt {
                cost: 5,
                part: 1,
                at: Micros::new(2),
                mark: Micros::new(3),
            }),
        };
        Handle {
            id: [7; 16],
            ttl: Span::SECOND,
            charges: smallvec![reserved(None, b""), reserved(Some("pro"), &[0xff; 1024])],
        }
    }

    #[test]
    fn other_words_have_another_record() {
        let handle = handle();
        let key = |handle: &Handle| record_key(&handle.id, &handle.charges);
        let own = key(&handle);
        let mut others = vec![handle.clone(); 5];
        others[0].id[0] ^= 1;
        others[1].charges[0].key = Box::from(&b"victim"[..]);
        others[2].charges[0].cost += 1;
        others[3].charges[1].plan = None;
        others[4].charges.pop();
        for other in &others {
            assert_ne!(key(other), own);
        }
        assert_eq!(key(&handle), own);
    }

    #[test]
    fn a_handle_reads_back_to_the_last_digit() {
        let text = handle().to_string();
        assert_eq!(text.parse(), Ok(handle()));
        for cut in 0..text.len() {
            assert!(text[..cut].parse::<Handle>().is_err(), "{cut}");
        }
        assert!(format!("{text}AA").parse::<Handle>().is_err());
    }
}
