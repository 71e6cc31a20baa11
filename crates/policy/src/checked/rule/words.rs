//! The words of a rule.

use jeton_core::MAX_LIMIT;

use super::{MISSING_WORDS, MODE_WORDS};
use crate::checked::{allowance, cost, count, failure, matches, plans, settling};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw;

pub(in crate::checked) const RULE: Vocabulary = Vocabulary {
    section: "[[rule]]",
    example: "[[rule]]",
    about: "A named limit. All rules that match a request are charged together, or none is.",
    known: &[
        word(
            "name",
            Shape::Shown(Form::RuleName),
            "Stands in header fields, metrics and logs.",
        ),
        word("match", Shape::Table(&matches::MATCH), matches::MATCH.about),
        word(
            "key",
            Shape::ManyShown(Form::KeyPart),
            "Whose counter; several parts make one key.",
        ),
        word(
            "missing",
            Shape::Words(MISSING_WORDS),
            "When a part of the key is absent: \"share\" one counter (default), \"skip\" the \
             rule, \"deny\" the request.",
        ),
        word(
            "algorithm",
            Shape::Words(allowance::ALGORITHM_WORDS),
            "How units come back. token-bucket and gcra: `rate` and `burst`. Windows: `limit` \
             and `window`. concurrency: `limit` and `lease`.",
        ),
        word(
            "limit",
            Shape::CountOrWord(1, MAX, allowance::LIMIT_WORDS),
            "Units per window, or in flight at once; or \"unlimited\", or \"deny\".",
        ),
        word(
            "window",
            Shape::Text(Form::Duration),
            "The length of a window.",
        ),
        word(
            "anchor",
            Shape::Words(allowance::ANCHOR_WORDS),
            "Where fixed windows begin: \"epoch\", the clock (default), or \"first-request\".",
        ),
        word(
            "rate",
            Shape::Text(Form::Rate),
            "Units that come back to a bucket, per unit of time or per any duration.",
        ),
        word(
            "burst",
            Shape::Count(1, MAX),
            "Units in all from a full bucket. Default: those of one period of `rate`.",
        ),
        word(
            "lease",
            Shape::Text(Form::Duration),
            "How long a holder of concurrency keeps its units unless it renews them.",
        ),
        word(
            "plan",
            Shape::Shown(Form::PlanSource),
            "Where the request says which of `plans` it has. A header is believed from trusted \
             peers only.",
        ),
        word(
            "plans",
            Shape::Named(Form::RuleName, &plans::PLAN_SHAPE),
            "Allowances by name: \"unlimited\", \"deny\", or settings that replace the rule's. \
             They change the quota, never the counter.",
        ),
        word("count", Shape::Table(&count::COUNT), count::COUNT.about),
        word(
            "cost",
            cost::COST_SHAPE,
            "Units of one request: a number (default 1), \"header:NAME\" of trusted peers, or what \
             the answer says.",
        ),
        word(
            "max_debt",
            Shape::Count(0, MAX),
            "Units that a cost known afterwards may go below nothing left. Default: one limit.",
        ),
        word(
            "hold_wait",
            Shape::Text(Form::Duration),
            "How long a request waits that is refused only because of units held for answers that \
             are still out. Default 50ms.",
        ),
        word(
            "on_deny",
            Shape::Words(settling::ON_DENY_WORDS),
            "What a denial by this rule costs: nothing (\"keep\", default), or what is left \
             (\"charge\").",
        ),
        word(
            "on_failure",
            failure::ON_FAILURE,
            "What becomes of its requests when the store gives no decision: \"allow\", \"deny\" or \
             { local = 0.5 }. Default: what [store] says.",
        ),
        word("trial", Shape::Table(&plans::TRIAL), plans::TRIAL.about),
        word(
            "mode",
            Shape::Words(MODE_WORDS),
            "\"enforce\" (default); \"shadow\": counted, never refused; \"mark\": the same, and \
             the service behind is told.",
        ),
        word(
            "replaces",
            Shape::ManyShown(Form::RuleName),
            "Names of rules that do not apply when this one matches.",
        ),
        word(
            "secret_key",
            Shape::Flag,
            "Keys are shown as a fingerprint only. Default false; always so for credentials.",
        ),
    ],
    required: &["name"],
    later: raw::RULE,
};

const MAX: u64 = MAX_LIMIT as u64;
