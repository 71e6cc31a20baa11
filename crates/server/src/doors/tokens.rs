//! Who somebody is by the token that they show.

use jeton::policy::Secret;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The tokens of a door, as digests: comparing those takes the same time for every guess, however long
/// it is.
#[derive(Clone, Default)]
pub(crate) struct Known {
    token: Option<[u8; 32]>,
    admin: Option<[u8; 32]>,
}

/// Who somebody is, as far as tokens tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Nobody,
    Stranger,
    User,
    Operator,
}

impl Known {
    pub(crate) fn new(token: Option<&str>, admin: Option<&str>) -> Self {
        let digest = |text: &str| Sha256::digest(text.as_bytes()).into();
        Self {
            token: token.map(digest),
            admin: admin.map(digest),
        }
    }

    pub(crate) fn of(token: Option<&Secret>, admin: Option<&Secret>) -> Self {
        Self::new(token.map(Secret::expose), admin.map(Secret::expose))
    }

    /// Whether there is one for users.
    pub(crate) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether there is one for operators.
    pub(crate) const fn has_admin(&self) -> bool {
        self.admin.is_some()
    }

    /// Who shows `token`.
    pub(crate) fn who(&self, token: &[u8]) -> Caller {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let is = |known: &Option<[u8; 32]>| known.map_or(Choice::from(0), |it| it.ct_eq(&digest));
        // Both are compared, whatever the first comes to.
        let (is_admin, is_user) = (is(&self.admin), is(&self.token));
        match (bool::from(is_admin), bool::from(is_user)) {
            (true, _) => Caller::Operator,
            (false, true) => Caller::User,
            (false, false) => Caller::Stranger,
        }
    }
}
