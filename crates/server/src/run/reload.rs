//! Reloading: a policy file that changes, or a SIGHUP, puts another policy into force, or nothing.
//!
//! The file is read again and again instead of waiting for word from its file system: contents are
//! the same whichever way they were put there (written in place, renamed over, behind a link that
//! was turned, as Kubernetes does), and network file systems send no word. Two reads must agree, so
//! that a file that is being written is not taken for what it will be.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jeton::Gate;
use jeton::policy::{Change, Loaded, Report, Severity};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::policy_file::{PolicyFile, Seen, Unreadable};
use super::signals::HangUps;
use crate::metrics::Metrics;

/// A change holds a moment after the second read that shows it: two of these at most.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// Where the policy of a service comes from, and who asks for it to be read again.
#[derive(Debug)]
pub struct Reload {
    file: Arc<PolicyFile>,
    /// What was last loaded, or refused.
    seen: Seen,
    /// What was there at the last look, if it was something else.
    fresh: Option<Seen>,
    hang_ups: HangUps,
}

impl Reload {
    /// Follows `file`, of which `seen` is in force.
    pub fn new(file: PolicyFile, seen: Seen, hang_ups: HangUps) -> Self {
        Self {
            file: Arc::new(file),
            seen,
            fresh: None,
            hang_ups,
        }
    }

    /// Reloads whenever there is reason to. Never ends.
    pub(super) async fn follow(mut self, gate: Gate, metrics: Arc<Metrics>) {
        let mut looks = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_pipe = self.file.is_pipe();
        if is_pipe {
            let path = self.file.path().display();
            tracing::info!("{path} is no regular file: it is read once, and changes go unseen");
        }
        loop {
            let is_asked = tokio::select! {
                () = self.hang_ups.next() => true,
                _ = looks.tick(), if !is_pipe => false,
            };
            if is_pipe {
                let path = self.file.path().display();
                tracing::warn!("SIGHUP: {path} is no regular file and cannot be read again");
                continue;
            }
            // A file system may hang: that must not hold up requests.
            let file = Arc::clone(&self.file);
            let seen = self.seen.clone();
            let Ok((text, found)) = spawn_blocking(move || file.look(&seen)).await else {
                continue;
            };
            if is_asked || self.is_settled(found) {
                self.load(text, &gate, &metrics).await;
            }
        }
    }

    /// Whether what was `found` is new, and was found before.
    fn is_settled(&mut self, found: Seen) -> bool {
        if found == self.seen {
            self.fresh = None;
        } else if self.fresh.as_ref() == Some(&found) {
            return true;
        } else {
            self.fresh = Some(found);
        }
        false
    }

    async fn load(&mut self, text: Result<String, Unreadable>, gate: &Gate, metrics: &Metrics) {
        self.fresh = None;
        let file = Arc::clone(&self.file);
        let outcome = match text {
            Ok(text) => {
                let Ok((checked, seen)) = spawn_blocking(move || file.check(text)).await else {
                    return;
                };
                self.seen = seen;
                checked
                    .map_err(Refusal::Policy)
                    .and_then(|loaded| put_into_force(gate, metrics, loaded))
            }
            Err(unreadable) => {
                self.seen = self.file.without_text(&self.seen, &unreadable);
                Err(Refusal::Unreadable(unreadable))
            }
        };
        if let Err(refusal) = outcome {
            let generation = metrics.generation();
            tracing::error!(
                "the policy file was refused, and policy {generation} stays in force: {refusal}"
            );
            metrics.refused(&refusal.in_short());
        }
    }
}

/// Why a file that was read again changes nothing.
enum Refusal {
    Unreadable(Unreadable),
    Policy(Report),
    /// Settings that are read at the start alone.
    NeedsRestart(Vec<&'static str>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => why.fmt(f),
            Self::Policy(report) => write!(f, "\n{report}"),
            Self::NeedsRestart(settings) => write!(
                f,
                "it changes {}, which is read when the process starts and never again; restart it, \
                 or put back what was there",
                settings.join(", ")
            ),
        }
    }
}

impl Refusal {
    /// For `/readyz`: where the mistakes are, and what they are.
    fn in_short(&self) -> String {
        match self {
            Self::Policy(report) => {
                let mistakes = report
                    .iter()
                    .filter(|found| found.severity == Severity::Error);
                let lines = mistakes.map(|found| format!("\n{}", found.short()));
                format!("the file has mistakes{}", lines.collect::<String>())
            }
            other => other.to_string(),
        }
    }
}

fn put_into_force(gate: &Gate, metrics: &Metrics, loaded: Loaded) -> Result<(), Refusal> {
    let Loaded { policy, report, .. } = loaded;
    let changes = policy.diff(&gate.policy());
    if !changes.refused().is_empty() {
        return Err(Refusal::NeedsRestart(changes.refused().to_vec()));
    }
    gate.swap(policy);
    let was_refused = metrics.refusal().is_some();
    let reloaded = metrics.swapped(&changes);
    let again = if was_refused {
        " is good again, and"
    } else {
        ""
    };
    let generation = reloaded.generation;
    tracing::info!("the policy file{again} was reloaded: policy {generation} is in force");
    let (kept, differing): (Vec<_>, Vec<_>) = changes
        .rules
        .iter()
        .partition(|rule| rule.change == Change::Kept);
    for rule in differing {
        tracing::info!("{rule}");
    }
    match kept.len() {
        0 => {}
        1 => tracing::info!("1 rule: kept"),
        kept => tracing::info!("{kept} rules: kept"),
    }
    for setting in &changes.adopted {
        tracing::info!("{setting}: changed");
    }
    for warning in &report {
        tracing::warn!("{}", warning.short());
    }
    Ok(())
}
