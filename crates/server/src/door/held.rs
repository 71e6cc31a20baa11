//! Charges that are settled when the upstream has answered.

use http::{HeaderMap, response};
use jeton::Answered;
use jeton::door::LimitFields;

use crate::proxy;

/// The charges of one request that are out, and what its client is told of them.
pub(super) struct Held {
    pub(super) hold: jeton::Hold,
    pub(super) answered: Answered,
}

impl proxy::Hold for Held {
    fn answered(&mut self, response: &response::Parts) -> Option<LimitFields> {
        let Self { hold, answered } = self;
        hold.answered(response.status, &response.headers, Some(&mut *answered));
        Some(answered.limit_fields())
    }

    fn ended(self: Box<Self>, trailers: &HeaderMap) {
        self.hold.ended(Some(trailers));
    }
}
