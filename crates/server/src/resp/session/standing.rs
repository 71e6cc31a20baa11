//! What a client may, by the token it has shown.

use jeton::policy::{Policy, Secret};

use super::super::protocol::Writer;
use crate::doors::{Caller, Known};

/// What a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A token, if there is one for clients.
    User,
    /// That of operators, if there is any.
    Operator,
}

/// A client, and the tokens in force: one that is taken away counts from the next command on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    caller: Caller,
    has_token: bool,
    has_admin: bool,
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// For want of a token.
    Token,
    /// The token is not that of operators.
    Operators,
    /// There is no token for operators.
    NobodyMay,
}

impl Standing {
    pub(super) fn of(policy: &Policy, caller: Caller) -> Self {
        let resp = policy.settings().resp.as_ref();
        Self {
            caller,
            has_token: resp.is_some_and(|resp| resp.token.is_some()),
            has_admin: resp.is_some_and(|resp| resp.admin_token.is_some()),
        }
    }

    pub(super) const fn may(self, needs: Needs) -> Result<(), Refused> {
        match (needs, self.caller) {
            (Needs::Nothing, _) | (_, Caller::Operator) | (Needs::User, Caller::User) => Ok(()),
            (Needs::User, _) if !self.has_token => Ok(()),
            (Needs::Operator, _) if !self.has_token && !self.has_admin => Ok(()),
            (Needs::Operator, _) if !self.has_admin => Err(Refused::NobodyMay),
            (Needs::Operator, Caller::User) => Err(Refused::Operators),
            _ => Err(Refused::Token),
        }
    }
}

impl Refused {
    pub(super) fn write(self, out: &mut Writer<'_>) {
        match self {
            Self::Token => out.error("NOAUTH", "Authentication required."),
            Self::Operators => out.error("NOPERM", "this is for operators: AUTH with the admin token"),
            Self::NobodyMay => out.error(
                "NOPERM",
                "this is for operators, and there is no token for them: set `admin_token` in [resp]",
            ),
        }
    }
}

/// The tokens in force.
pub(super) fn known(policy: &Policy) -> Known {
    let resp = policy.settings().resp.as_ref();
    Known::of(
        resp.and_then(|resp| resp.token.as_ref()),
        resp.and_then(|resp| resp.admin_token.as_ref()),
    )
}

/// Who a client is that has shown this token: one that is taken away counts for nothing. It was right
/// once, so nobody learns anything from how long comparing it takes.
pub(super) fn still(shown: Option<&Secret>, policy: &Policy) -> Caller {
    let Some((shown, resp)) = shown.zip(policy.settings().resp.as_ref()) else {
        return Caller::Nobody;
    };
    if resp.admin_token.as_ref() == Some(shown) {
        Caller::Operator
    } else if resp.token.as_ref() == Some(shown) {
        Caller::User
    } else {
        Caller::Nobody
    }
}
