//! What is to be asked of the store about a request of descriptors.

use std::sync::Arc;

use jeton_core::{Act, Cost, Kind, Micros, OnDeny, Op, Plan, RuleId};
use jeton_policy::{Buffers, Charge, Mode, Named, Rulings, Settle};
use smallvec::SmallVec;

use super::facts::{DescriptorFacts, speaks_of};
use super::outline::{Outline, Share, refuses};
use super::part::{OfRule, Part};
use super::{DescriptorRequest, Hits};
use crate::answered::Disposition;
use crate::gate::asked::{Seed, cost_of, op};
use crate::gate::{Live, verdicts};

/// A request of descriptors, ready to be asked of the store.
pub(super) struct Draft<'a> {
    pub(super) outline: Outline,
    lines: SmallVec<[Line<'a>; 8]>,
}

/// Whether something is to become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// It is charged, and meters count it.
    Decide,
    /// It is looked at, and nothing else.
    Look,
}

/// One charge.
struct Line<'a> {
    charge: Charge<'a>,
    act: Act,
}

/// How charges are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// All of them, or none.
    Together,
    /// Each for itself.
    Apart,
    /// Units that go back, whatever becomes of the rest.
    Back,
}

const GROUPS: [Group; 3] = [Group::Together, Group::Apart, Group::Back];

/// One charge, before those on one counter have been made one.
struct Wanted<'a> {
    charge: Charge<'a>,
    hits: Hits,
    group: Group,
}

impl Wanted<'_> {
    fn place(&self) -> (Group, RuleId, Kind, &[u8]) {
        (
            self.group,
            self.charge.id,
            self.charge.quota.kind(),
            self.charge.key,
        )
    }
}

impl<'a> Draft<'a> {
    /// What a policy and its files of descriptors make of a request.
    pub(super) fn of(
        live: &'a Arc<Live>,
        request: &DescriptorRequest<'_>,
        (now, intent): (Micros, Intent),
        buffers: &'a mut Buffers,
        rulings: &'a mut Rulings,
    ) -> Self {
        let policy = &live.policy;
        let evaluation = policy.evaluate(&DescriptorFacts(request), &live.orders, now, buffers);
        if intent == Intent::Decide {
            let denials = evaluation.shadow_denials();
            live.tally.refused_without_vote(live, denials);
        }
        let listed = verdicts::of(&evaluation);
        let refused = listed.filter(refuses);
        let mut wanted: SmallVec<[Wanted<'a>; 8]> = SmallVec::new();
        let mut needs_hold = None;
        for charge in evaluation.charges() {
            if matches!(charge.settle, Some(Settle::Lease)) {
                let has_vote = charge.mode == Mode::Enforce;
                needs_hold = needs_hold.or(has_vote.then_some(charge.rule));
                continue;
            }
            wanted.push(of_rule(live, request, charge));
        }
        let refused = refused.or(needs_hold.map(|rule| Disposition::NeedsHold { rule }));
        let is_exempt = listed == Some(Disposition::Exempt);
        let rules = wanted.len();
        let mut parts: SmallVec<[Part; 4]> = SmallVec::new();
        if !is_exempt {
            let asked = request.asked();
            policy.descriptors().rule(request.domain, &asked, rulings);
            let rulings: &'a Rulings = rulings;
            for at in 0..asked.len() {
                let part = of_descriptor(live, request, now, rulings, at, &mut wanted);
                parts.push(part.part);
                let denied = part.denied.filter(|_| intent == Intent::Decide);
                live.tally.refused_without_vote(live, denied.as_slice());
            }
        }
        let sharing = Share::of(live, &mut parts);
        set_modes(live, &sharing, &parts, &mut wanted, rules);
        let voted_down = !sharing.is_shadow && parts.iter().any(Part::votes_down);
        let lines = one_for_each_counter(wanted, &mut parts);
        let only_look = refused.is_some() || voted_down;
        let draft = Self::laid_out(
            live,
            request,
            &lines,
            parts,
            sharing,
            (refused, listed),
            only_look,
        );
        match intent {
            Intent::Decide => draft,
            Intent::Look => draft.looked_at(),
        }
    }

    /// The same, charging nothing.
    fn looked_at(mut self) -> Self {
        for line in &mut self.lines {
            line.act = match line.act {
                Act::Take { cost } => Act::Peek { cost },
                Act::Give { .. } => Act::Peek { cost: Cost::ZERO },
                act => act,
            };
        }
        for noted in &mut self.outline.lines {
            noted.is_metered = false;
        }
        self.outline.is_metered = false;
        self
    }

    fn laid_out(
        live: &Arc<Live>,
        request: &DescriptorRequest<'_>,
        wanted: &[Wanted<'a>],
        mut parts: SmallVec<[Part; 4]>,
        sharing: Share,
        (refused, listed): (Option<Disposition>, Option<Disposition>),
        only_look: bool,
    ) -> Self {
        let mut order: SmallVec<[usize; 8]> = SmallVec::new();
        for group in GROUPS {
            let own = |(_, wanted): &(usize, &Wanted<'a>)| wanted.group == group;
            order.extend(wanted.iter().enumerate().filter(own).map(|(at, _)| at));
        }
        for part in &mut parts {
            part.line = part
                .line
                .and_then(|line| order.iter().position(|at| *at == line));
        }
        let mut outline = Outline::new(live, parts, sharing, refused.or(listed));
        let mut lines = SmallVec::new();
        for wanted in order.iter().filter_map(|at| wanted.get(*at)) {
            let Wanted {
                charge,
                hits,
                group,
            } = wanted;
            let act = match *hits {
                Hits::Refund(units) => Act::Give { units },
                Hits::Take(cost) if only_look && *group == Group::Together => Act::Peek { cost },
                Hits::Take(cost) => Act::Take { cost },
            };
            let is_metered = matches!(hits, Hits::Take(cost) if *cost != Cost::ZERO);
            let rule = live.policy.rules().get(charge.rule);
            let speaks: u64 = match rule {
                Some(rule) => request
                    .descriptors
                    .iter()
                    .take(64)
                    .enumerate()
                    .filter(|(_, one)| speaks_of(rule.rule(), one))
                    .fold(0, |all, (at, _)| all | 1 << at),
                None => 0,
            };
            outline.add(
                Seed::of(live, charge),
                *group,
                is_metered,
                speaks,
                charge.key,
            );
            lines.push(Line {
                charge: *charge,
                act,
            });
        }
        Self { outline, lines }
    }

    /// The ops, in the order of the outline's lines.
    pub(super) fn ops(&self) -> SmallVec<[Op<'a>; 8]> {
        self.lines
            .iter()
            .map(|line| op(&line.charge, line.act))
            .collect()
    }
}

impl Outline {
    /// The plans of these ops; none if some of them are too many for one step.
    pub(super) fn plans<'o>(&self, ops: &'o [Op<'o>]) -> Option<SmallVec<[Plan<'o>; 4]>> {
        let (together, rest) = ops.split_at_checked(self.count(Group::Together))?;
        let (apart, back) = rest.split_at_checked(self.count(Group::Apart))?;
        let mut plans = SmallVec::new();
        let mut add = |ops: &'o [Op<'o>]| {
            if !ops.is_empty() {
                plans.push(Plan::new(ops).ok()?);
            }
            Some(())
        };
        add(together)?;
        apart
            .iter()
            .try_for_each(|op| add(std::slice::from_ref(op)))?;
        back.chunks(jeton_core::MAX_OPS).try_for_each(add)?;
        Some(plans)
    }
}

/// The charge of a rule of the policy: for the first descriptor that it speaks of.
fn of_rule<'a>(live: &Live, request: &DescriptorRequest<'_>, charge: Charge<'a>) -> Wanted<'a> {
    let rule = live.policy.rules().get(charge.rule);
    let spoken_of = rule.and_then(|rule| {
        let mut all = request.descriptors.iter();
        all.find(|one| speaks_of(rule.rule(), one))
    });
    let hits = spoken_of.and_then(|one| one.hits);
    let hits = hits.unwrap_or(Hits::Take(cost_of(&charge, request.cost)));
    let group = match hits {
        Hits::Take(_) => Group::Together,
        Hits::Refund(_) => Group::Back,
    };
    Wanted {
        charge,
        hits,
        group,
    }
}

fn of_descriptor<'a>(
    live: &'a Arc<Live>,
    request: &DescriptorRequest<'_>,
    now: Micros,
    rulings: &'a Rulings,
    at: usize,
    wanted: &mut SmallVec<[Wanted<'a>; 8]>,
) -> OfRule {
    let hits = request
        .descriptors
        .get(at)
        .map_or(Hits::Take(Cost::ZERO), |one| request.hits(one));
    let mut part = Part::of_limit(live, rulings, at, hits);
    let mut charged = None;
    let mut keep = |charge: Charge<'a>| charged = Some(charge);
    let named = live
        .policy
        .descriptor_charge(&live.orders, now, rulings, at, &mut keep);
    let rule = part.rule;
    match named {
        Some(Named::Unlimited) => part.part.is_unlimited = true,
        Some(Named::Denied(reason)) if !part.part.gives => {
            part.part.refused = Some(Disposition::Refused { rule, reason });
        }
        Some(Named::BlockedUntil(until)) => {
            part.part.refused = Some(Disposition::BlockedUntil { rule, until });
        }
        Some(Named::ShadowDenied(reason)) => {
            part.denied = Some(jeton_policy::Denied { rule, reason });
            part.part.is_shadow = true;
        }
        _ => {}
    }
    if let Some(charge) = charged {
        part.part.is_shadow = !charge.mode.has_vote();
        part.part.line = Some(wanted.len());
        let group = match hits {
            Hits::Refund(_) => Group::Back,
            Hits::Take(_) => Group::Together,
        };
        wanted.push(Wanted {
            charge,
            hits,
            group,
        });
    }
    part
}

/// Who has a vote, and what is decided for itself.
fn set_modes(
    live: &Live,
    sharing: &Share,
    parts: &[Part],
    wanted: &mut [Wanted<'_>],
    rules: usize,
) {
    let settings = live.policy.settings().rls.as_ref();
    let apart = settings.is_some_and(|rls| rls.on_deny == OnDeny::Charge);
    for part in parts {
        let Some(own) = part
            .line
            .filter(|at| *at >= rules)
            .and_then(|at| wanted.get_mut(at))
        else {
            continue;
        };
        if own.group == Group::Back {
            continue;
        }
        if apart {
            own.group = Group::Apart;
            own.charge.mode = Mode::Enforce;
            own.charge.on_deny = OnDeny::Charge;
        } else if sharing.is_shadow || part.is_shadow || sharing.has_no_vote(part) {
            own.charge.mode = Mode::Shadow;
        }
    }
}

/// Charges on one counter become one of their sum, under the smaller quota and with the stronger vote.
fn one_for_each_counter<'a>(
    wanted: SmallVec<[Wanted<'a>; 8]>,
    parts: &mut [Part],
) -> SmallVec<[Wanted<'a>; 8]> {
    let mut all: SmallVec<[Wanted<'a>; 8]> = SmallVec::new();
    for (at, own) in wanted.into_iter().enumerate() {
        let same = all.iter().position(|other| other.place() == own.place());
        let line = same.unwrap_or(all.len());
        for part in parts.iter_mut().filter(|part| part.line == Some(at)) {
            part.line = Some(line);
        }
        let Some(other) = same.and_then(|same| all.get_mut(same)) else {
            all.push(own);
            continue;
        };
        if own.charge.quota.limit() < other.charge.quota.limit() {
            other.charge.quota = own.charge.quota;
        }
        if own.charge.mode == Mode::Enforce {
            other.charge.mode = Mode::Enforce;
        }
        let sum = |one: Cost, two: Cost| Cost::new(u64::from(one.get()) + u64::from(two.get()));
        other.hits = match (other.hits, own.hits) {
            (Hits::Take(one), Hits::Take(two)) => Hits::Take(sum(one, two)),
            (Hits::Refund(one), Hits::Refund(two)) => Hits::Refund(sum(one, two)),
            (first, _) => first,
        };
    }
    all
}
