//! The laws are kept by the plainest store there is, and each is broken by a store with a fault.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod faults;

mod plain {
    use std::sync::Arc;

    use jeton_testkit::plain::PlainStore;

    jeton_testkit::store_laws!(|_config| Arc::new(PlainStore::default()));
}

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use faults::{Fault, Faulty};
use jeton_testkit::laws::{ALL, StoreConfig};

/// Which law catches which fault, at the least.
const CAUGHT_BY: &[(Fault, &[&str])] = &[
    (Fault::None, &[]),
    (
        Fault::OneByOne,
        &[
            "all_or_nothing_over_several_keys",
            "an_impossible_charge_stops_the_whole_plan",
            "a_plan_of_many_charges_is_one_step",
            "threads_on_random_pairs_charge_what_they_admit",
            "a_reservation_is_settled_once",
            "threads_settle_a_reservation_once",
            "random_plans_equal_the_models",
        ],
    ),
    (Fault::BatchStops, &["plans_in_one_batch_are_independent"]),
    (Fault::CheckThenCharge, &["threads_admit_exactly_the_limit"]),
    (Fault::NoRule, &["f42_the_rule_is_part_of_the_key"]),
    (Fault::OneKind, &["kinds_of_state_never_meet"]),
    (Fault::ShortKeys, &["keys_are_bytes_of_any_content"]),
    (Fault::DenialsCharge, &["f18_f48_a_denial_writes_nothing"]),
    (
        Fault::NoOnDeny,
        &[
            "a_denial_that_charges_takes_what_is_left",
            "random_plans_equal_the_models",
        ],
    ),
    (
        Fault::NoShadow,
        &["a_shadow_rule_has_no_vote", "random_plans_equal_the_models"],
    ),
    (
        Fault::LooksWrite,
        &[
            "f19_a_look_writes_nothing",
            "looks_and_denials_take_no_space",
        ],
    ),
    (Fault::NoReset, &["a_reset_forgets_one_key_in_one_rule"]),
    (
        Fault::NoGive,
        &["a_refund_without_a_receipt_lowers_the_present_state"],
    ),
    (
        Fault::SettleIsRefund,
        &["a_settle_gives_back_its_own_and_nothing_late"],
    ),
    (Fault::NoDebt, &["an_excess_goes_into_debt_up_to_one_limit"]),
    (
        Fault::FullDebt,
        &[
            "an_excess_goes_no_further_into_debt_than_it_may",
            "random_plans_equal_the_models",
            "threads_of_random_plans_equal_the_models",
        ],
    ),
    (
        Fault::HoldersStay,
        &[
            "holders_share_one_limit",
            "holders_stay_under_another_quota",
            "threads_hold_at_most_the_limit",
            "f25_a_cancelled_reservation_leaves_no_trace",
        ],
    ),
    (
        Fault::LastHolder,
        &[
            "a_holder_gives_back_its_own_units",
            "holders_stay_under_another_quota",
        ],
    ),
    (
        Fault::NoLease,
        &[
            "units_come_back_when_a_lease_is_over",
            "a_lease_outlasts_a_clock_that_steps_back",
            "the_store_equals_the_models",
        ],
    ),
    (
        Fault::NoRenewal,
        &[
            "units_come_back_when_a_lease_is_over",
            "a_reservation_lives_as_long_as_it_is_renewed",
        ],
    ),
    (
        Fault::SettledAgain,
        &[
            "a_reservation_is_settled_once",
            "a_reservation_outlasts_a_clock_that_steps_back",
            "threads_settle_a_reservation_once",
            "threads_reserve_and_settle_what_is_charged",
        ],
    ),
    (
        Fault::AnyTicket,
        &[
            "f25_a_cancelled_reservation_leaves_no_trace",
            "an_unsettled_reservation_stays_charged",
        ],
    ),
    (Fault::TicketTwice, &["a_ticket_is_given_once"]),
    (Fault::LookThenHold, &["threads_hold_at_most_the_limit"]),
    (Fault::FirstNote, &["a_note_is_set_replaced_and_removed"]),
    (Fault::NotesBackwards, &["notes_are_listed_by_name"]),
    (
        Fault::ShortNotes,
        &["notes_are_listed_by_name", "threads_lose_no_note"],
    ),
    (Fault::EternalNotes, &["a_note_is_over_at_its_end"]),
    (Fault::NotesRace, &["threads_lose_no_note"]),
    (
        Fault::LimitInKey,
        &["owed_units_stay_owed_under_another_quota"],
    ),
    (
        Fault::ChangeFills,
        &["f49_a_raise_never_turns_an_allow_into_a_deny"],
    ),
    (
        Fault::FrozenClock,
        &[
            "a_state_vanishes_after_its_time",
            "years_of_idling_change_nothing",
        ],
    ),
    (
        Fault::MillisecondClock,
        &[
            "a_stated_wait_suffices_and_a_microsecond_less_does_not",
            "the_store_equals_the_models",
        ],
    ),
    (
        Fault::ClockNeverBack,
        &["f1_a_clock_that_steps_back_costs_nothing"],
    ),
    (
        Fault::OldReadingsRewind,
        &["an_old_reading_of_a_steady_clock_gains_no_time"],
    ),
    (
        Fault::NothingExpires,
        &[
            "expired_space_is_used_again",
            "erased_space_is_used_again",
            "nothing_is_immortal",
        ],
    ),
];

fn breaks(fault: Fault, law: &str) -> bool {
    let (_, run) = ALL
        .iter()
        .find(|(name, _)| *name == law)
        .expect("a law of that name");
    let make = move |config: StoreConfig| -> Arc<dyn jeton_core::Store> {
        Arc::new(Faulty::new(fault, config.max_keys))
    };
    catch_unwind(AssertUnwindSafe(|| run(&make))).is_err()
}

#[test]
fn every_fault_is_caught_by_the_law_it_breaks() {
    for &(fault, laws) in CAUGHT_BY {
        for law in laws {
            assert!(breaks(fault, law), "{law} let {fault:?} pass");
        }
    }
}

#[test]
fn every_law_is_broken_by_some_fault_and_by_no_faultless_store() {
    let caught: HashSet<&str> = CAUGHT_BY
        .iter()
        .flat_map(|(_, laws)| laws.iter().copied())
        .collect();
    for (law, _) in ALL {
        assert!(caught.contains(law), "nothing shows that {law} can fail");
        assert!(
            !breaks(Fault::None, law),
            "the store without a fault breaks {law}"
        );
    }
}
