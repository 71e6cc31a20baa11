//! Who may call what.
//!
//! | set in `[api]` | take, check, reserve … | reset, block, overrides, modes | what reveals the policy |
//! |---|---|---|---|
//! | nothing (loopback and Unix sockets only) | open | open | open |
//! | `token` | either token | refused: there is no token for operators | either token |
//! | `admin_token` | open | that token | that token |
//! | both | either token | the admin token | either token |
//!
//! Health is always open, and so is `/v1/auth`, whose callers are told by their address. Metrics
//! are open to this machine; beyond it they reveal the policy.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::Api;
use super::answer::problem_of;
use super::listen::Reach;
use crate::doors::{Caller, Known};

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Nothing.
    Open,
    /// Either token, beyond this machine.
    Watch,
    /// Either token, if one is set: the answer reveals the policy.
    Read,
    /// Either token, if `token` is set.
    Use,
    /// The admin token, if a token is set.
    Admin,
}

/// The tokens that are set, and whether only this machine can show them.
#[derive(Clone, Default)]
pub(super) struct Tokens {
    known: Known,
    is_local: bool,
}

impl Tokens {
    /// Those of `[api]`.
    pub(super) fn of(api: Option<&jeton::policy::Api>, reach: Reach) -> Self {
        let token = api.and_then(|api| api.token.as_ref());
        let admin = api.and_then(|api| api.admin_token.as_ref());
        Self {
            known: Known::of(token, admin),
            is_local: reach != Reach::Network,
        }
    }

    /// How many sets of tokens there are, told apart by which are there.
    pub(super) const SETS: usize = 4;

    /// Which of those this is.
    pub(super) fn which(&self) -> usize {
        usize::from(self.known.has_token()) + 2 * usize::from(self.known.has_admin())
    }

    /// Whether calls of that kind need a token at all.
    pub(super) const fn ask_for(&self, access: Access) -> bool {
        let (token, admin) = (self.known.has_token(), self.known.has_admin());
        match access {
            Access::Open => false,
            Access::Watch => !self.is_local && (token || admin),
            Access::Read | Access::Admin => token || admin,
            Access::Use => token,
        }
    }

    /// Whether whoever sends these fields may make a call of that kind.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn admit(&self, access: Access, headers: &HeaderMap) -> Result<(), NotAdmitted> {
        if !self.ask_for(access) {
            return Ok(());
        }
        let is_for_operators = access == Access::Admin;
        match self.caller(headers) {
            Caller::Operator => Ok(()),
            Caller::User if !is_for_operators => Ok(()),
            Caller::User if !self.known.has_admin() => Err(NotAdmitted::NoOperators),
            Caller::User => Err(NotAdmitted::NoOperator),
            Caller::Nobody => Err(NotAdmitted::NoToken),
            Caller::Stranger => Err(NotAdmitted::UnknownToken),
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Caller {
        let mut lines = headers.get_all(AUTHORIZATION).iter();
        let Some(line) = lines.next() else {
            return Caller::Nobody;
        };
        let Some(token) = bearer(line).filter(|_| lines.next().is_none()) else {
            return Caller::Stranger;
        };
        self.known.who(token)
    }
}

/// The token of `Authorization: Bearer …` (RFC 6750, section 2.1).
fn bearer(line: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = line.as_bytes().split_at_checked(7)?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
    is_bearer.then(|| token.trim_ascii())
}

/// Why a caller may not make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// There is no token.
    NoToken,
    /// There is one that is not known.
    UnknownToken,
    /// The call is for operators, and the token is not theirs.
    NoOperator,
    /// The same, and nobody has theirs.
    NoOperators,
}

impl NotAdmitted {
    fn response(self) -> Response {
        let (detail, why) = match self {
            Self::NoOperators => {
                let detail = "This is for operators, and this service has no token for them: set \
                              `admin_token` in [api].";
                return problem_of(StatusCode::FORBIDDEN, detail);
            }
            Self::NoOperator => {
                let detail = "This is for operators: send the admin token.";
                return problem_of(StatusCode::FORBIDDEN, detail);
            }
            Self::NoToken => ("Send a token: `Authorization: Bearer …`.", ""),
            Self::UnknownToken => ("This token is not known here.", ", error=\"invalid_token\""),
        };
        let mut response = problem_of(StatusCode::UNAUTHORIZED, detail);
        if let Ok(challenge) = HeaderValue::from_str(&format!("Bearer realm=\"jeton\"{why}")) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Whether whoever sends a request may do what operators do; told to calls that may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IsOperator(pub(super) bool);

/// Stands before the calls of one kind.
pub(super) async fn gatekeeper(
    State((api, access)): State<(Api, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    let tokens = api.tokens();
    if let Err(refused) = tokens.admit(access, request.headers()) {
        return refused.response();
    }
    if access == Access::Use {
        let is_operator = tokens.admit(Access::Admin, request.headers()).is_ok();
        request.extensions_mut().insert(IsOperator(is_operator));
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Access; 5] = [
        Access::Open,
        Access::Watch,
        Access::Read,
        Access::Use,
        Access::Admin,
    ];

    fn statuses(tokens: &Tokens, authorization: Option<&'static str>) -> [u16; 5] {
        let mut headers = HeaderMap::new();
        if let Some(line) = authorization {
            headers.insert(AUTHORIZATION, HeaderValue::from_static(line));
        }
        ALL.map(|access| match tokens.admit(access, &headers) {
            Ok(()) => 200,
            Err(refused) => refused.response().status().as_u16(),
        })
    }

    #[test]
    fn each_kind_of_call_needs_its_token() {
        let (user, admin) = (Some("Bearer user"), Some("bearer  admin "));
        let set = |token, admin, is_local| Tokens {
            known: Known::new(token, admin),
            is_local,
        };
        let (t, a) = (Some("user"), Some("admin"));
        for (tokens, sent, expected) in [
            (set(None, None, true), None, [200, 200, 200, 200, 200]),
            (set(None, None, true), user, [200, 200, 200, 200, 200]),
            (set(t, None, true), None, [200, 200, 401, 401, 401]),
            (set(t, None, true), user, [200, 200, 200, 200, 403]),
            (set(t, None, false), None, [200, 401, 401, 401, 401]),
            (set(None, a, true), None, [200, 200, 401, 200, 401]),
            (set(None, a, true), admin, [200, 200, 200, 200, 200]),
            (set(t, a, false), user, [200, 200, 200, 200, 403]),
            (set(t, a, false), admin, [200, 200, 200, 200, 200]),
            (
                set(t, a, false),
                Some("Bearer other"),
                [200, 401, 401, 401, 401],
            ),
            (set(t, a, false), Some("Bearer "), [200, 401, 401, 401, 401]),
            (
                set(t, a, false),
                Some("Basic dXNlcg=="),
                [200, 401, 401, 401, 401],
            ),
            (
                set(t, a, false),
                Some("Bearer user2"),
                [200, 401, 401, 401, 401],
            ),
            (
                set(t, a, false),
                Some("Bearer use"),
                [200, 401, 401, 401, 401],
            ),
        ] {
            assert_eq!(statuses(&tokens, sent), expected, "{sent:?}");
        }
    }

    #[test]
    fn two_tokens_are_one_too_many() {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer user"));
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer user"));
        let tokens = Tokens {
            known: Known::new(Some("user"), None),
            is_local: true,
        };
        let refusal = tokens.admit(Access::Use, &headers).unwrap_err().response();
        assert_eq!(refusal.status(), 401);
        assert!(refusal.headers().contains_key(WWW_AUTHENTICATE));
    }
}
