//! What an event can ask for, by its name.

use serde::de::{Deserialize, Deserializer, Error};

use super::fields::Text;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Op {
    /// Charge all, or none.
    #[default]
    Take,
    /// Answer as [`Op::Take`] would, and change nothing.
    Check,
    /// Give units back.
    Refund,
    /// Forget states.
    Reset,
    /// Charge an estimate, to be settled.
    Reserve,
    /// Keep a reservation, or what it holds, for longer.
    Extend,
    /// Settle a reservation at what it has really cost.
    Commit,
    /// Settle a reservation at nothing.
    Cancel,
    /// Refuse a key for a while.
    Block,
    /// Lift that.
    Unblock,
}

impl Op {
    /// Every op with its name.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Take, "take"),
        (Self::Check, "check"),
        (Self::Refund, "refund"),
        (Self::Reset, "reset"),
        (Self::Reserve, "reserve"),
        (Self::Extend, "extend"),
        (Self::Commit, "commit"),
        (Self::Cancel, "cancel"),
        (Self::Block, "block"),
        (Self::Unblock, "unblock"),
    ];

    const NAMES: &[&str] = &{
        let mut names = [""; Self::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].1;
            index += 1;
        }
        names
    };

    /// Whether it is an operator's: it does away with what a limit knows, or stands above limits.
    pub const fn is_for_operators(self) -> bool {
        matches!(self, Self::Reset | Self::Block | Self::Unblock)
    }
}

/// A derived reader would accept `{"take":null}` as well.
impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(deserializer)?;
        let named = Self::ALL.iter().find(|(_, known)| *known == name.as_str());
        named
            .map(|(op, _)| *op)
            .ok_or_else(|| D::Error::unknown_variant(name.as_str(), Self::NAMES))
    }
}
