//! Several allowances of one rule.

use super::Allowance;
use crate::key::KeyPart;

/// Allowances of one rule that a word in the request chooses from. A request without such a word,
/// or with an unknown one, gets the rule's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans {
    /// Where the word stands: a header field, a cookie, a parameter or a descriptor.
    pub source: KeyPart,
    /// The plans by name, in the order of the file.
    pub named: Vec<(String, Allowance)>,
}
