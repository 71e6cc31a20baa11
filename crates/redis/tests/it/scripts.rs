//! A server that has forgotten the scripts is given each of them anew.

use jeton_core::{
    Act, Anchor, Cost, Note, NoteEdit, Op, Plan, Quota, Rate, RuleId, Span, Store as _, When,
};
use jeton_testkit::redis_server::{Server, Version};

use crate::mirror::store;
use crate::server::{RUNTIME, submit};

/// Every set of algorithms has a script of its own.
#[test]
fn every_script_is_given_anew() {
    let hour = Span::from_micros(3_600_000_000).unwrap();
    let quotas = [
        Quota::bucket(Rate::new(1000, hour).unwrap(), 1000).unwrap(),
        Quota::fixed_window(
            1000,
            Span::from_micros(100_000 * 3_600_000_000).unwrap(),
            Anchor::Epoch,
        )
        .unwrap(),
        Quota::sliding_counter(1000, hour).unwrap(),
        Quota::sliding_log(1000, hour).unwrap(),
        Quota::concurrency(1000, hour).unwrap(),
        Quota::ticket(hour).unwrap(),
    ];
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = store(&server);
        RUNTIME.block_on(store.ready()).unwrap();
        for set in 1_u32..1 << quotas.len() {
            let key = set.to_be_bytes();
            let ops: Vec<Op<'_>> = (0_u64..)
                .zip(&quotas)
                .filter(|(number, _)| set & 1 << number != 0)
                .map(|(number, quota)| {
                    let act = Act::Hold { cost: Cost::ONE };
                    Op::new(RuleId::new(number), &key, quota, act)
                })
                .collect();
            // A ticket is given once, everything else a second time too.
            let has_ticket = set & 1 << 5 != 0;
            let plan = Plan::new(&ops).unwrap();
            for allowed in [true, !has_ticket] {
                let () = server.ask(&["SCRIPT", "FLUSH"]);
                let answers = submit(&store, &[plan], When::StoreClock);
                assert_eq!(answers.plan(0).0.unwrap().allowed, allowed, "{set:b}");
            }
        }
        let () = server.ask(&["SCRIPT", "FLUSH"]);
        let note = Note {
            name: b"name".as_slice().into(),
            value: b"value".as_slice().into(),
            until: None,
        };
        let put = store.note(NoteEdit::Put(note.clone()), When::StoreClock);
        assert_eq!(RUNTIME.block_on(put), Ok(false));
        let () = server.ask(&["SCRIPT", "FLUSH"]);
        let notes = RUNTIME.block_on(store.notes(When::StoreClock));
        assert_eq!(notes, Ok(vec![note]));
        assert_eq!(store.disagreements(), 0);
    }
}
