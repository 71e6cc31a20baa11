//! What is kept of a request of descriptors while the store decides.

use std::sync::Arc;

use jeton_core::Micros;
use smallvec::SmallVec;

use super::Ruled;
use super::draft::Group;
use super::finish::degraded;
use super::part::Part;
use crate::answered::Disposition;
use crate::gate::asked::{Asked, Seed};
use crate::gate::{Live, verdicts};

/// All that is needed when the answer is there.
pub(super) struct Outline {
    pub(super) live: Arc<Live>,
    /// Of those that charge; behind them come refunds.
    pub(super) seeds: SmallVec<[Seed; 3]>,
    pub(super) lines: SmallVec<[Noted; 8]>,
    pub(super) parts: SmallVec<[Part; 4]>,
    pub(super) sharing: Share,
    /// What the policy says by itself, if it does.
    pub(super) listed: Option<Disposition>,
    /// Keys of what may have to go back.
    pub(super) keys: SmallVec<[Box<[u8]>; 0]>,
    /// Whether meters count it.
    pub(super) is_metered: bool,
}

/// One charge.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    pub(super) seed: Seed,
    pub(super) group: Group,
    pub(super) is_metered: bool,
    /// The descriptors that a rule speaks of, a bit for each.
    pub(super) speaks: u64,
}

/// How limits of quota mode share one refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// How many there are.
    pub(super) quotas: usize,
    /// Whether they can refuse at all: one that only counts never does.
    pub(super) can_refuse: bool,
    /// Whether limits of descriptors never refuse.
    pub(super) is_shadow: bool,
}

impl Share {
    pub(super) fn of(live: &Live, parts: &mut [Part]) -> Self {
        let settings = live.policy.settings().rls.as_ref();
        if settings.is_some_and(|rls| rls.quota_mode) {
            for part in parts.iter_mut().filter(|part| !part.is_unlimited) {
                part.is_quota = true;
            }
        }
        let quotas = || {
            parts
                .iter()
                .filter(|part| part.is_quota && !part.is_unlimited)
        };
        let refuses = |part: &Part| {
            !part.is_shadow && !part.gives && (part.line.is_some() || part.refused.is_some())
        };
        Self {
            quotas: quotas().count(),
            can_refuse: quotas().all(refuses),
            is_shadow: settings.is_some_and(|rls| rls.shadow_mode),
        }
    }

    /// Whether a limit of quota mode has no vote of its own: only alone it has.
    pub(super) fn has_no_vote(&self, part: &Part) -> bool {
        part.is_quota && !(self.quotas == 1 && self.can_refuse)
    }
}

/// Whether the policy refuses without asking a counter.
pub(super) fn refuses(disposition: &Disposition) -> bool {
    !matches!(
        disposition,
        Disposition::Unmatched | Disposition::Unlimited | Disposition::Exempt
    )
}

impl Outline {
    pub(super) fn new(
        live: &Arc<Live>,
        parts: SmallVec<[Part; 4]>,
        sharing: Share,
        listed: Option<Disposition>,
    ) -> Self {
        Self {
            live: Arc::clone(live),
            seeds: SmallVec::new(),
            lines: SmallVec::new(),
            parts,
            sharing,
            listed,
            keys: SmallVec::new(),
            is_metered: true,
        }
    }

    pub(super) fn add(
        &mut self,
        seed: Seed,
        group: Group,
        is_metered: bool,
        speaks: u64,
        key: &[u8],
    ) {
        if group != Group::Back {
            self.seeds.push(seed);
        }
        self.lines.push(Noted {
            seed,
            group,
            is_metered,
            speaks,
        });
        // What may be refused by all of them together, after the others were charged.
        if self.sharing.quotas > 1 && self.sharing.can_refuse {
            self.keys.push(key.into());
        }
    }

    pub(super) fn count(&self, group: Group) -> usize {
        self.lines.iter().filter(|line| line.group == group).count()
    }

    pub(super) fn seeds(&self) -> &[Seed] {
        &self.seeds
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// As the gate asks the outage rule, and how many descriptors there are.
    pub(super) fn into_asked(self, at: Micros) -> (Asked, usize) {
        let descriptors = self.parts.len();
        let asked = Asked {
            live: self.live,
            is_metered: self.is_metered,
            corrects: false,
            at,
            seeds: self.seeds,
        };
        (asked, descriptors)
    }

    /// More than one step can hold: refused, since none may be left out.
    pub(super) fn too_many(self, at: Micros) -> Ruled {
        let disposition = Disposition::TooManyRules;
        let answered = verdicts::without_counter(&self.live, disposition, true, at);
        degraded(answered, self.parts.len())
    }
}
