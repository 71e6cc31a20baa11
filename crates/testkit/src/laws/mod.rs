//! What every store owes, as one suite: put yours through it with
//! [`store_laws!`](crate::store_laws!).
//!
//! The laws only use the [`Store`] seam and a virtual clock. Each of them makes a fresh store of
//! its own; they run small by default and at full size with `JETON_FULL=1`.

mod atomic;
mod denials;
mod desk;
mod holders;
mod identity;
mod models;
mod notes;
mod plans;
mod quotas;
mod reservations;
mod space;
mod threads;
mod time;
mod translate;
mod verbs;

use std::sync::Arc;

use jeton_core::Store;

pub use atomic::*;
pub use denials::*;
pub use holders::*;
pub use identity::*;
pub use models::*;
pub use notes::*;
pub use plans::*;
pub use quotas::*;
pub use reservations::*;
pub use space::*;
pub use threads::*;
pub use time::*;
pub use translate::{act_of, quota_of, told_of};
pub use verbs::*;

/// What a law needs of the store it is about to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The most states it will be asked to hold at once; a store with a cap should have it there.
    pub max_keys: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { max_keys: 100_000 }
    }
}

/// Makes an empty store.
pub type Make<'a> = &'a (dyn Fn(StoreConfig) -> Arc<dyn Store> + Sync);

/// One law.
pub type Law = fn(Make<'_>);

macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        /// Every law under its name.
        pub const ALL: &[(&str, Law)] = &[$((stringify!($law), $law as Law)),*];

        /// Makes one `#[test]` of every law for the store that the given function makes.
        ///
        /// ```
        /// use std::sync::Arc;
        /// use jeton_testkit::plain::PlainStore;
        ///
        /// jeton_testkit::store_laws!(|_config| Arc::new(PlainStore::default()));
        /// ```
        #[macro_export]
        macro_rules! store_laws {
            ($make:expr) => {
                $(
                    #[test]
                    fn $law() {
                        $crate::laws::$law(&$make);
                    }
                )*
            };
        }
    };
}

laws![
    all_or_nothing_over_several_keys,
    an_impossible_charge_stops_the_whole_plan,
    plans_in_one_batch_are_independent,
    a_plan_of_many_charges_is_one_step,
    threads_admit_exactly_the_limit,
    threads_on_random_pairs_charge_what_they_admit,
    threads_hold_at_most_the_limit,
    threads_settle_a_reservation_once,
    threads_reserve_and_settle_what_is_charged,
    threads_lose_no_note,
    f42_the_rule_is_part_of_the_key,
    kinds_of_state_never_meet,
    keys_are_bytes_of_any_content,
    f18_f48_a_denial_writes_nothing,
    a_denial_that_charges_takes_what_is_left,
    a_shadow_rule_has_no_vote,
    f19_a_look_writes_nothing,
    a_reset_forgets_one_key_in_one_rule,
    a_refund_without_a_receipt_lowers_the_present_state,
    a_settle_gives_back_its_own_and_nothing_late,
    an_excess_goes_into_debt_up_to_one_limit,
    an_excess_goes_no_further_into_debt_than_it_may,
    holders_share_one_limit,
    a_holder_gives_back_its_own_units,
    units_come_back_when_a_lease_is_over,
    a_lease_outlasts_a_clock_that_steps_back,
    holders_stay_under_another_quota,
    a_reservation_is_settled_once,
    f25_a_cancelled_reservation_leaves_no_trace,
    a_ticket_is_given_once,
    an_unsettled_reservation_stays_charged,
    a_reservation_lives_as_long_as_it_is_renewed,
    a_reservation_outlasts_a_clock_that_steps_back,
    a_note_is_set_replaced_and_removed,
    notes_are_listed_by_name,
    a_note_is_over_at_its_end,
    owed_units_stay_owed_under_another_quota,
    f49_a_raise_never_turns_an_allow_into_a_deny,
    a_state_vanishes_after_its_time,
    a_stated_wait_suffices_and_a_microsecond_less_does_not,
    f1_a_clock_that_steps_back_costs_nothing,
    an_old_reading_of_a_steady_clock_gains_no_time,
    years_of_idling_change_nothing,
    expired_space_is_used_again,
    erased_space_is_used_again,
    looks_and_denials_take_no_space,
    nothing_is_immortal,
    the_store_equals_the_models,
    random_plans_equal_the_models,
    threads_of_random_plans_equal_the_models,
];

/// Puts a store through all laws, one after the other.
pub fn all(make: Make<'_>) {
    for (_, law) in ALL {
        law(make);
    }
}

/// How often a law repeats itself. With a store on a server, which has a clock of its own, each step is
/// a round trip: so it does less there, and at full size what others do in a quick run.
fn repeats(make: Make<'_>, quick: u64, full: u64) -> u64 {
    /// Less often by so much.
    const ON_A_SERVER: u64 = 16;
    let is_on_a_server = make(StoreConfig::default()).has_own_clock();
    match (is_on_a_server, full_size()) {
        (true, false) => quick.div_ceil(ON_A_SERVER),
        (true, true) | (false, false) => quick,
        (false, true) => full,
    }
}

/// Whether the suites run at full size.
pub fn full_size() -> bool {
    std::env::var_os("JETON_FULL").is_some_and(|value| value == "1")
}
