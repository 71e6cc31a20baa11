//! What operators set while a policy runs, as stores keep it: apart from the policy, and by name.

use jeton_core::Micros;

use crate::Mode;
use crate::alternative::Alternative;

/// One thing that an operator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Requests of this key that the rule speaks of are refused.
    Block {
        /// The name of the rule.
        rule: String,
        /// The key, as [`CompiledRule::named_key`](crate::CompiledRule::named_key) writes it.
        key: Vec<u8>,
        /// When it ends; `None`: when it is lifted.
        until: Option<Micros>,
    },
    /// This key gets another allowance.
    Override {
        /// The name of the rule.
        rule: String,
        /// The key, as [`CompiledRule::named_key`](crate::CompiledRule::named_key) writes it.
        key: Vec<u8>,
        /// What it gets.
        settings: Alternative,
        /// When it ends; `None`: when it is lifted.
        until: Option<Micros>,
    },
    /// The rule has another mode.
    Mode {
        /// The name of the rule.
        rule: String,
        /// The mode.
        mode: Mode,
    },
}

impl Order {
    /// The name of the rule that it is about.
    pub fn rule(&self) -> &str {
        match self {
            Self::Block { rule, .. } | Self::Override { rule, .. } | Self::Mode { rule, .. } => {
                rule
            }
        }
    }
}
