//! A store that does not answer: the request passes, nothing is invented, everything is counted.

use std::sync::Arc;

use jeton::{Answers, Disposition, Event, Store, StoreError, StoreErrorKind, Submitted, When};
use jeton_core::{Note, NoteEdit, Pending, Plan, Written};

use crate::support::{Request, gate_over, take};

struct Down {
    later: bool,
}

const ERROR: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::No,
};

impl Store for Down {
    fn note(&self, _: NoteEdit, _: When) -> Pending<bool> {
        Box::pin(async { Err(ERROR) })
    }

    fn notes(&self, _: When) -> Pending<Vec<Note>> {
        Box::pin(async { Err(ERROR) })
    }

    fn submit(&self, _: &[Plan<'_>], _: When, out: &mut Answers) -> Submitted {
        if self.later {
            return Submitted::Later(Box::pin(async move {
                let mut answers = Answers::new();
                answers.push_failed(ERROR);
                answers
            }));
        }
        out.push_failed(ERROR);
        Submitted::Done
    }
}

const RULE: &str = "[[rule]]\nname = \"r\"\nkey = [\"client-ip\"]\n\
                    algorithm = \"gcra\"\nrate = \"1/h\"\n";

#[test]
fn an_outage_passes_without_invented_numbers() {
    let gate = gate_over(Arc::new(Down { later: false }), RULE);
    for _ in 0..3 {
        let answered = take(&gate, &Request::get("192.0.2.1", "/"));
        assert!(answered.allowed());
        assert_eq!(answered.decisions().count(), 0);
        let error = StoreErrorKind::Unavailable;
        assert_eq!(
            answered.disposition(),
            Disposition::Degraded {
                error,
                denied: false
            }
        );
    }
    assert_eq!(gate.tally().event(Event::Degraded), 3);
    let counted: Vec<_> = gate
        .tally()
        .store_errors()
        .filter(|(_, n)| *n > 0)
        .collect();
    assert_eq!(counted, [("unavailable", 3)]);
}

#[test]
fn a_store_that_answers_later_is_waited_for() {
    let gate = gate_over(Arc::new(Down { later: true }), RULE);
    let deciding = gate
        .take(&Request::get("192.0.2.1", "/"))
        .now()
        .unwrap_err();
    let answered = futures_executor::block_on(deciding.wait());
    assert!(answered.allowed());
}
