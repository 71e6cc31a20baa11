//! The table: regions under a lock each, drawing from one budget.

use std::future::ready;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jeton_core::codec::Stored;
use jeton_core::{
    Act, Answers, Cost, Decision, Kind, MAX_OPS, Micros, Note, NoteEdit, OnDeny, Op, Pending, Plan,
    Quota, Reading, RuleId, Store, StoreError, StoreErrorKind, Submitted, TailEdit, When, Written,
};

use crate::budget::Budget;
use crate::hash::Hashing;
use crate::hint::Hint;
use crate::notes::Notes;
use crate::overflow::SHARED_BYTES;
use crate::plan::Step;
use crate::raw::lock::{Guard, Lock};
use crate::raw::prefetch::prefetch;
use crate::region::Region;
use crate::single::Single;
use crate::{Journal, Overflow, Place, Seed, Settings, SettingsError, Standing, Stats};

/// Keys of a region when the table is full.
const KEYS_PER_REGION: u64 = 1024;
/// So many regions a table has even if they are small, so that threads seldom meet.
const REGIONS: u64 = 64;
/// But none for fewer keys than this.
const LEAST_KEYS_PER_REGION: u64 = 64;
/// A table of so many regions, of some 30 KiB each, fits into the cache of a core.
const SMALL_REGIONS: usize = 64;
/// What a key weighs in a region that has just grown.
const KEY_BYTES: u64 = 50;

/// A region, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Padded {
    hint: Hint,
    region: Lock<Region>,
}

/// What a region weighs before it holds anything.
const REGION_BYTES: u64 = size_of::<Padded>() as u64 + SHARED_BYTES;

/// The in-process store: states of keys, bounded in number and bytes.
///
/// ```
/// use jeton_core::{Cost, Fit, Micros, Quota, RuleId, Span};
/// use jeton_memory::{Settings, Table};
///
/// let table = Table::new(&Settings::default())?;
/// let quota = Quota::sliding_log(1, Span::SECOND)?;
/// let take = |key: &[u8], us| {
///     table.take(RuleId::new(1), key, &quota, Cost::ONE, Micros::new(us)).fit
/// };
/// assert_eq!(take(b"alice", 0), Fit::Allowed);
/// assert_eq!(take(b"alice", 400_000).retry_after().map(Span::as_micros), Some(600_000));
/// assert_eq!(take(b"bob", 400_000), Fit::Allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    pub(crate) hashing: Hashing,
    pub(crate) overflow: Overflow,
    pub(crate) budget: Budget,
    notes: Notes,
    regions: Box<[Padded]>,
    /// Which region is next to be tidied up from another.
    hand: AtomicUsize,
}

impl Table {
    /// Makes an empty table.
    ///
    /// # Errors
    /// [`SettingsError`] for bounds that could hold nothing, or if the seed cannot be drawn.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let seed = match settings.seed {
            Some(seed) => seed,
            None => Seed::random()?,
        };
        let keys = settings.max_keys.min(settings.max_memory_bytes / KEY_BYTES);
        let regions = regions_for(keys);
        let budget = Budget::new(settings.max_keys, settings.max_memory_bytes);
        budget.charge_bytes(regions * REGION_BYTES);
        Ok(Self {
            hashing: Hashing::new(seed),
            overflow: settings.overflow,
            budget,
            notes: Notes::default(),
            regions: (0..regions).map(|_| Padded::default()).collect(),
            hand: AtomicUsize::new(0),
        })
    }

    /// Takes `cost` for `key` in `rule`: one lock, no allocation but where memory grows.
    #[inline]
    pub fn take(
        &self,
        rule: RuleId,
        key: &[u8],
        quota: &Quota,
        cost: Cost,
        when: impl Into<Reading>,
    ) -> Decision {
        let op = Op::take(rule, key, quota, cost);
        self.act(self.hashing.place(&op), quota, op.act, when)
    }

    /// Where the state of a key of `rule` under a quota of `kind` lives, for [`Table::act`]: the key
    /// is all that it hands to its hasher. Keys of bytes that come in an [`Op`] live elsewhere.
    #[inline]
    pub fn place_of(&self, rule: RuleId, kind: Kind, key: &(impl Hash + ?Sized)) -> Place {
        self.hashing.place_of(rule, kind, key)
    }

    /// Asks for the memory of a state: it comes while the caller reads a clock. A table that stands in a
    /// processor's cache does without.
    #[inline]
    pub fn prefetch(&self, place: Place) {
        if self.regions.len() > SMALL_REGIONS {
            self.prefetch_slot(place.hash);
        }
    }

    /// Does `act` on the state at `place`, which is for quotas of the kind of `quota`; a plan of one
    /// op with a vote.
    #[inline]
    pub fn act(&self, place: Place, quota: &Quota, act: Act, when: impl Into<Reading>) -> Decision {
        let one = Single {
            place,
            quota,
            act,
            on_deny: OnDeny::Keep,
        };
        self.single(&one, when.into(), &mut ())
    }

    /// Decides a plan in one indivisible step, tells `journal` what changed, and appends the answer
    /// to `out`.
    #[inline]
    pub fn decide<J: Journal>(
        &self,
        plan: Plan<'_>,
        when: impl Into<Reading>,
        journal: &mut J,
        out: &mut Answers,
    ) {
        let (ops, when) = (plan.ops(), when.into());
        match ops {
            [op] if op.on_deny == OnDeny::Keep => {
                self.decide_one(op, self.hashing.place(op), when, journal, out);
            }
            [_] | [] => Step::<J, 1>::new(self, ops, when, journal).decide(plan, out),
            [_, _] => Step::<J, 2>::new(self, ops, when, journal).decide(plan, out),
            [_, _, _] | [_, _, _, _] => {
                Step::<J, 4>::new(self, ops, when, journal).decide(plan, out);
            }
            _ => Step::<J, MAX_OPS>::new(self, ops, when, journal).decide(plan, out),
        }
    }

    /// Sets the state at `hash` to one that a journal kept; `false` if there is no room for it. A
    /// state that is over at `now` is not kept.
    pub fn restore(&self, hash: u64, state: &Stored, now: Micros) -> bool {
        let place = Place {
            rule: RuleId::new(0),
            kind: state.kind,
            hash,
        };
        let mut region = self.visit(self.region_of(place), now.into());
        let mut spot = region.spot(place);
        region.erase(&spot, &self.budget);
        if state.until <= now {
            return true;
        }
        if !region.claim(&mut spot, now, &self.budget) {
            return false;
        }
        if !region.fill(&spot, &state.tail, &self.budget) {
            region.release(&spot, &self.budget);
            return false;
        }
        region.put(
            &spot,
            &state.cell,
            state.until,
            &TailEdit::None,
            &self.budget,
        );
        true
    }

    /// Shows `look` what stands at `place`, dead or alive, in one step; what it returns is its mark
    /// from then on. The rule of `place` does not matter.
    pub fn show(&self, place: Place, look: impl FnOnce(Option<Standing<'_>>) -> u8) {
        let mut region = self.lock(self.region_of(place));
        let spot = region.spot(place);
        let mark = look(region.standing(&spot));
        region.mark(&spot, mark);
    }

    /// What the table holds. Looks into one region after the other, so not for every decision.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            keys: self.budget.keys(),
            max_keys: self.budget.max_keys,
            bytes: self.budget.bytes(),
            max_bytes: self.budget.max_bytes,
            overflowed: 0,
            dropped: 0,
        };
        for number in 0..self.regions.len() {
            let region = self.lock(number);
            stats.overflowed += region.overflowed;
            stats.dropped += region.dropped;
        }
        stats
    }

    /// The number of the region of a state.
    #[inline]
    pub(crate) fn region_of(&self, place: Place) -> usize {
        self.region_under(place.hash)
    }

    /// The number of the region of what has this hash. There is a power of two of them.
    #[allow(clippy::cast_possible_truncation)] // masked
    #[inline]
    fn region_under(&self, hash: u64) -> usize {
        hash as usize & self.regions.len().wrapping_sub(1)
    }

    pub(crate) const fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Locks a region. A thread that panicked in it has left a region that is whole: no step of
    /// an operation leaves one that later ones could not go on with.
    #[inline]
    pub(crate) fn lock(&self, number: usize) -> Guard<'_, Region> {
        self.regions[number].region.lock()
    }

    /// Asks for the cache line of the region of a hash that every operation in it needs.
    #[inline]
    pub(crate) fn prefetch_region(&self, hash: u64) {
        prefetch(core::ptr::from_ref(&self.regions[self.region_under(hash)]).addr());
    }

    /// Asks for the cache line of a state's slot.
    #[inline]
    pub(crate) fn prefetch_slot(&self, hash: u64) {
        self.regions[self.region_under(hash)].hint.prefetch(hash);
    }

    /// Locks a region for an operation, which carries a share of the upkeep.
    #[inline]
    pub(crate) fn visit(&self, number: usize, when: Reading) -> Guard<'_, Region> {
        let padded = &self.regions[number];
        let mut region = padded.region.lock();
        if region.is_due() {
            self.keep_up(padded, &mut region, when);
        }
        region
    }

    /// An array that has been replaced is always due, so that the hint is right from the next visit on.
    #[cold]
    #[inline(never)]
    fn keep_up(&self, padded: &Padded, region: &mut Region, when: Reading) {
        let now = when.at();
        if region.upkeep(now, &self.budget) {
            self.elsewhere(when, |other| other.tidy(now, &self.budget));
        }
        padded.hint.set(region.slots());
    }

    /// Cleans up in the next other region, if nobody else works on it. It never waits, and so can be
    /// called with regions locked.
    #[cold]
    pub(crate) fn elsewhere<T>(
        &self,
        when: Reading,
        work: impl FnOnce(&mut Region) -> T,
    ) -> Option<T> {
        let number = self.hand.fetch_add(1, Relaxed) & (self.regions.len() - 1);
        let mut region = self.regions[number].region.try_lock()?;
        region.cleaned(when);
        Some(work(&mut region))
    }
}

impl Store for Table {
    /// Always [`Submitted::Done`]. The table has no clock: at [`When::StoreClock`] everything fails
    /// as unsupported.
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        match reading(when) {
            Some(reading) => self.decide_each(plans, reading, &mut (), out),
            None => plans.iter().for_each(|_| out.push_failed(NO_CLOCK)),
        }
        Submitted::Done
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        let done = match reading(when) {
            Some(reading) => self.notes.edit(edit, reading, &self.budget),
            None => Err(NO_CLOCK),
        };
        Box::pin(ready(done))
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        let notes = match reading(when) {
            Some(reading) => Ok(self.notes.list(reading, &self.budget)),
            None => Err(NO_CLOCK),
        };
        Box::pin(ready(notes))
    }
}

const NO_CLOCK: StoreError = StoreError {
    kind: StoreErrorKind::Unsupported,
    written: Written::No,
};

fn reading(when: When) -> Option<Reading> {
    match when {
        When::At(now) => Some(now.into()),
        When::NotBefore(now) => Some(Reading::steady(now)),
        When::StoreClock => None,
    }
}

/// A power of two: about a thousand keys to a region; at least 64 regions, unless that makes them
/// smaller than 64 keys.
fn regions_for(keys: u64) -> u64 {
    let few = keys / LEAST_KEYS_PER_REGION;
    let least = if few < 2 { 1 } else { 1 << few.ilog2() };
    keys.div_ceil(KEYS_PER_REGION)
        .next_power_of_two()
        .max(REGIONS.min(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LEAST_MEMORY_BYTES;
    use crate::region::upkeep::MOST_SLOTS;
    use jeton_core::{Anchor, Span};

    #[test]
    fn regions_hold_between_512_and_1024_keys() {
        assert_eq!([1, 127, 128, 1_000].map(regions_for), [1, 1, 2, 8]);
        assert_eq!([4_096, 65_536, 65_537].map(regions_for), [64, 64, 128]);
        assert_eq!(regions_for(1_000_000), 1_024);
        assert_eq!(regions_for(crate::MAX_KEYS), 1 << 20);
    }

    fn worked(table: &Table) -> usize {
        (0..table.regions())
            .map(|number| table.lock(number).worked)
            .sum()
    }

    /// Takes on keys `from..to`, `step` µs apart; the most slots that one of them moved and cleaned.
    fn most_worked(table: &Table, keys: core::ops::Range<u64>, quota: &Quota, us: u64) -> usize {
        let mut most = 0;
        let mut before = worked(table);
        for (step, key) in (0..).zip(keys) {
            let now = Micros::new(us + step);
            table.take(RuleId::new(1), &key.to_le_bytes(), quota, Cost::ONE, now);
            let after = worked(table);
            most = most.max(after - before);
            before = after;
        }
        most
    }

    #[test]
    fn no_operation_moves_or_cleans_more_than_64_slots() {
        let second = 1_000_000;
        let short = Quota::fixed_window(5, Span::SECOND, Anchor::FirstRequest).unwrap();
        let log = Quota::sliding_log(5, Span::from_micros(60 * second).unwrap()).unwrap();
        let table = Table::new(&Settings {
            max_keys: 4_000,
            ..Settings::default()
        })
        .unwrap();
        let mut most = 0;
        for (generation, quota) in [short, log, short, log].iter().enumerate() {
            let us = (generation as u64 + 1) * 100 * second;
            let first = generation as u64 * 10_000;
            // It grows until it is full, and is flooded; all die together; a few go on, so that it
            // shrinks; and it grows again among the dead.
            most = most.max(most_worked(&table, first..first + 6_000, quota, us));
            for _ in 0..2_000 {
                most = most.max(most_worked(&table, 0..10, &short, us + 80 * second));
            }
        }
        assert!(worked(&table) > 50_000);
        assert!((33..=MOST_SLOTS).contains(&most), "{most}");
    }

    #[test]
    fn keys_that_expire_together_are_cleaned_a_few_slots_at_a_time() {
        let full = jeton_testkit::laws::full_size();
        let (keys, watched) = if full { (1_000_000, 40) } else { (20_000, 20) };
        let minute = 60_000_000;
        let window = Span::from_micros(minute).unwrap();
        let quota = Quota::fixed_window(5, window, Anchor::FirstRequest).unwrap();
        let table = Table::new(&Settings {
            max_keys: keys + 1_000,
            ..Settings::default()
        })
        .unwrap();
        let take = |key: u64, us| {
            let now = Micros::new(us);
            table.take(RuleId::new(1), &key.to_le_bytes(), &quota, Cost::ONE, now);
        };
        (0..keys).for_each(|key| take(key, 1));
        assert_eq!(table.stats().keys, keys);
        // A thousand others go on, at first watched one by one.
        let others = keys..keys + 1_000;
        let most = (0..watched).map(|_| most_worked(&table, others.clone(), &quota, 2 * minute));
        assert!((1..=MOST_SLOTS).contains(&most.max().unwrap()));
        let left = table.stats().keys;
        assert!(left < keys - watched * 30, "{left} of {keys}");
        let mut takes = 0;
        while table.stats().keys > 1_000 && takes < 40 * keys {
            others.clone().for_each(|key| take(key, 2 * minute));
            takes += 1_000;
        }
        assert_eq!(table.stats().keys, 1_000, "after {takes} takes");
    }

    #[test]
    fn a_plan_of_many_keys_does_no_more_than_each_alone_would() {
        let short = Quota::fixed_window(5, Span::SECOND, Anchor::FirstRequest).unwrap();
        // One region, so that all inserts of a plan come at one visit.
        let table = Table::new(&Settings {
            max_keys: 120,
            ..Settings::default()
        })
        .unwrap();
        assert_eq!(table.regions(), 1);
        let mut answers = Answers::new();
        for step in 0..3_000_u64 {
            let keys: Vec<[u8; 8]> = (0..MAX_OPS as u64)
                .map(|n| (step * 7 % 50 + n).to_le_bytes())
                .collect();
            let act = [Act::Take { cost: Cost::ONE }, Act::Reset][usize::from(step % 3 == 0)];
            let ops: Vec<Op<'_>> = keys
                .iter()
                .map(|key| Op::new(RuleId::new(step % 2), key, &short, act))
                .collect();
            let before = worked(&table);
            let now = Micros::new(step * 300_000);
            table.decide(Plan::new(&ops).unwrap(), now, &mut (), &mut answers);
            assert!(worked(&table) - before <= MOST_SLOTS * MAX_OPS);
        }
        assert_eq!(
            table.stats().overflowed,
            0,
            "an array filled up before it was moved"
        );
    }

    #[test]
    fn what_is_fixed_leaves_most_of_any_budget() {
        for shift in 0..16 {
            let bytes = LEAST_MEMORY_BYTES << shift;
            let fixed = regions_for(bytes / KEY_BYTES) * REGION_BYTES;
            assert!(fixed * 2 <= bytes, "{fixed} of {bytes}");
        }
        assert!(size_of::<Padded>() <= 256);
    }
}
