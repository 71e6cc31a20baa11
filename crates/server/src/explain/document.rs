//! An explanation as JSON, which reads back into the same.

use jeton::{Answered, Explained, Span, StoreErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::question::Question;
use super::rules::Entry;
use crate::engine::{reason, refusing};

/// What a policy makes of a request, and why. Spans of time are in milliseconds, rounded up;
/// secrets are in it as fingerprints only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Whether the request would pass.
    pub allowed: bool,
    /// Whether it costs more than a rule can ever hold.
    pub impossible: bool,
    /// The wait after which it would pass if nobody else competes; `None` if waiting is no help.
    pub retry_after_ms: Option<u64>,
    /// Why, if no counter decided: the words of every other answer of the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the store gave no decision, if it gave none: the words of `jeton_store_errors_total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_error: Option<String>,
    /// The rules that would deny, the one with the longest wait first.
    pub denied_by: Vec<String>,
    /// The rules in mode `mark` that would deny; the service is told in `x-jeton-limited`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<String>,
    /// The instant of the state, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// How often the process has taken up a policy; 0 if no process was asked.
    pub generation: u64,
    /// `true` if the state is that of a store which processes share, and none of them was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_store: bool,
    /// Every rule, in the order of the file.
    pub rules: Vec<Entry>,
    /// What the client would see.
    pub client: Client,
}

/// Whose counters are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// Nobody's: they are new.
    Fresh,
    /// Those of a store that processes share.
    OfStore,
    /// Those of a process, under the policy that it has taken up as its `generation`th.
    OfProcess {
        /// From 1.
        generation: u64,
    },
}

impl Document {
    /// What [`Gate::explain`](jeton::Gate::explain) said to a question.
    pub fn new(question: &Question, explained: &Explained, counters: Counters) -> Self {
        let answered = &explained.answered;
        let at = answered.at();
        Self {
            allowed: answered.allowed(),
            impossible: answered.impossible(),
            retry_after_ms: answered.retry_after().map(Span::as_millis_ceil),
            reason: reason(answered.disposition()).map(str::to_owned),
            store_error: answered.store_error().map(|why| why.word().to_owned()),
            denied_by: denied_by(answered),
            marked: answered.marked().map(str::to_owned).collect(),
            at_ms: at.get() / 1_000,
            generation: match counters {
                Counters::OfProcess { generation } => generation,
                Counters::Fresh | Counters::OfStore => 0,
            },
            of_store: counters == Counters::OfStore,
            rules: Entry::all(explained),
            client: Client::new(question, answered),
        }
    }
}

/// What a word of `jeton_store_errors_total` says.
pub(super) fn store_words(word: &str) -> String {
    let kind = StoreErrorKind::ALL
        .into_iter()
        .find(|kind| kind.word() == word);
    kind.map_or_else(|| word.to_owned(), |kind| kind.to_string())
}

fn denied_by(answered: &Answered) -> Vec<String> {
    if let Some(rule) = refusing(answered) {
        return vec![rule.to_owned()];
    }
    let violated: Vec<&str> = answered.violated().collect();
    let told = answered.told();
    let by_wait = told.iter().map(|decided| decided.rule.name());
    let mut names: Vec<String> = Vec::with_capacity(violated.len());
    // Estimates are not told, and deny all the same.
    for name in by_wait.chain(violated.iter().copied()) {
        if violated.contains(&name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
