//! One charge, to be given back exactly.

use std::fmt;
use std::str::FromStr;

use jeton_core::{Kind, Receipt, RuleId};

use super::{OpaqueError, Reader, VERSION, put_receipt, read_text, write_text};

/// A charge as callers keep it: its rule, where it stands in the state of its key, and its cost.
///
/// ```
/// use jeton::GivenReceipt;
/// assert!("nonsense".parse::<GivenReceipt>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GivenReceipt {
    pub(crate) rule: RuleId,
    pub(crate) kind: Kind,
    pub(crate) receipt: Receipt,
}

impl GivenReceipt {
    /// Units charged.
    pub const fn cost(&self) -> u32 {
        self.receipt.cost
    }
}

impl fmt::Display for GivenReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.rule.get().to_be_bytes());
        bytes.push(self.kind as u8);
        put_receipt(&self.receipt, &mut bytes);
        write_text(&bytes, f)
    }
}

impl FromStr for GivenReceipt {
    type Err = OpaqueError;

    fn from_str(text: &str) -> Result<Self, OpaqueError> {
        let bytes = read_text(text)?;
        let mut reader = Reader::versioned(&bytes)?;
        let given = Self {
            rule: RuleId::new(reader.u64()?),
            kind: reader.kind()?,
            receipt: reader.receipt()?,
        };
        reader.end()?;
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::Micros;

    #[test]
    fn a_receipt_reads_back_to_the_last_digit() {
        let given = GivenReceipt {
            rule: RuleId::new(u64::MAX - 1),
            kind: Kind::Log,
            receipt: Receipt {
                cost: u32::MAX,
                part: 7,
                at: Micros::new(1_800_000_000_000_001),
                mark: Micros::HORIZON,
            },
        };
        let text = given.to_string();
        assert_eq!(text.parse(), Ok(given));
        for cut in 0..text.len() {
            assert!(text[..cut].parse::<GivenReceipt>().is_err(), "{cut}");
        }
        assert!(format!("{text}AA").parse::<GivenReceipt>().is_err());
    }
}
