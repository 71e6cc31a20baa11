//! How the laws talk to a store.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use jeton_core::{
    Act, Anchor, Answers, Cost, Decision, Fit, Micros, Note, NoteEdit, Op, Plan, Quota, Rate,
    Receipt, RuleId, Span, Store, Submitted, Verdict, When,
};

use super::{Make, StoreConfig};

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const HOUR: u64 = 3600 * SECOND;
pub(super) const DAY: u64 = 24 * HOUR;
pub(super) const YEAR: u64 = 365 * DAY;
/// A day in 2026 that starts every window used by the laws.
pub(super) const START: u64 = 20_460 * DAY;

/// A store, and the virtual clock that it is asked at.
#[derive(Clone)]
pub(super) struct Desk {
    store: Arc<dyn Store>,
    pub(super) now_us: u64,
    /// Whether the clock never goes back, so that an earlier instant is an old reading.
    is_steady: bool,
}

impl Desk {
    pub(super) fn new(make: Make<'_>) -> Self {
        Self::of(make(StoreConfig::default()))
    }

    pub(super) fn with_keys(make: Make<'_>, max_keys: u64) -> Self {
        Self::of(make(StoreConfig { max_keys }))
    }

    fn of(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            now_us: START,
            is_steady: false,
        }
    }

    pub(super) fn at(&self, now_us: u64) -> Self {
        Self {
            store: Arc::clone(&self.store),
            now_us,
            is_steady: self.is_steady,
        }
    }

    /// The same with a clock that never goes back.
    pub(super) fn steady(&self) -> Self {
        Self {
            is_steady: true,
            ..self.clone()
        }
    }

    pub(super) fn submit(&self, plans: &[Plan<'_>]) -> Answers {
        let mut out = Answers::new();
        match self.store.submit(plans, self.when(), &mut out) {
            Submitted::Done => out,
            Submitted::Later(answers) => wait_for(answers),
        }
    }

    /// Decides one plan.
    pub(super) fn plan(&self, ops: &[Op<'_>]) -> (Verdict, Vec<Decision>) {
        let plan = Plan::new(ops).expect("a law makes no plan that is none");
        let answers = self.submit(&[plan]);
        let (verdict, decisions) = answers.plan(0);
        assert_eq!(decisions.len(), ops.len(), "one decision for each op");
        (verdict.expect("the store answers"), decisions.to_vec())
    }

    pub(super) fn act(&self, key: &Key<'_>, act: Act) -> Decision {
        let (verdict, decisions) = self.plan(&[key.op(act)]);
        assert_eq!(verdict.allowed, decisions[0].fit.passes());
        assert_eq!(verdict.retry_after, decisions[0].fit.retry_after());
        decisions[0]
    }

    pub(super) fn take(&self, key: &Key<'_>, units: u64) -> Decision {
        self.act(key, take(units))
    }

    pub(super) fn hold(&self, key: &Key<'_>, units: u64) -> Decision {
        self.act(key, hold(units))
    }

    pub(super) fn renew(&self, key: &Key<'_>, receipt: Receipt) -> Decision {
        self.act(key, Act::Renew { receipt })
    }

    pub(super) fn peek(&self, key: &Key<'_>) -> Decision {
        self.act(key, Act::Peek { cost: Cost::ZERO })
    }

    pub(super) fn remaining(&self, key: &Key<'_>) -> u32 {
        self.peek(key).remaining
    }

    pub(super) fn settle(&self, key: &Key<'_>, receipt: Receipt, actual: u64) -> Decision {
        self.act(key, settle(receipt, actual))
    }

    fn when(&self) -> When {
        let now = Micros::new(self.now_us);
        if self.is_steady {
            When::NotBefore(now)
        } else {
            When::At(now)
        }
    }

    /// Sets a note; whether there was one of that name.
    pub(super) fn put(&self, name: &[u8], value: &[u8], until_us: Option<u64>) -> bool {
        let note = Note {
            name: name.into(),
            value: value.into(),
            until: until_us.map(Micros::stored),
        };
        let edit = NoteEdit::Put(note);
        wait_for(self.store.note(edit, self.when())).expect("the store answers")
    }

    /// Removes a note; whether there was one of that name.
    pub(super) fn remove(&self, name: &[u8]) -> bool {
        let edit = NoteEdit::Remove { name: name.into() };
        wait_for(self.store.note(edit, self.when())).expect("the store answers")
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        wait_for(self.store.notes(self.when())).expect("the store answers")
    }
}

/// One key in one rule under one quota.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) rule: u64,
    pub(super) name: &'a [u8],
    pub(super) quota: &'a Quota,
}

impl<'a> Key<'a> {
    pub(super) fn new(rule: u64, name: &'a [u8], quota: &'a Quota) -> Self {
        Self { rule, name, quota }
    }

    pub(super) fn op(&self, act: Act) -> Op<'a> {
        Op::new(RuleId::new(self.rule), self.name, self.quota, act)
    }

    pub(super) fn take(&self, units: u64) -> Op<'a> {
        self.op(take(units))
    }
}

pub(super) fn take(units: u64) -> Act {
    Act::Take {
        cost: Cost::new(units),
    }
}

pub(super) fn hold(units: u64) -> Act {
    Act::Hold {
        cost: Cost::new(units),
    }
}

/// A settle that may leave as much debt as there can be.
pub(super) fn settle(receipt: Receipt, actual: u64) -> Act {
    Act::Settle {
        receipt,
        actual: Cost::new(actual),
        max_debt: Cost::MAX,
    }
}

pub(super) fn denied(decision: &Decision) -> bool {
    matches!(decision.fit, Fit::Denied { .. })
}

/// The wait that a denial states, in microseconds; 0 for what is not a denial.
pub(super) fn wait_us(decision: &Decision) -> u64 {
    decision.fit.retry_after().map_or(0, Span::as_micros)
}

pub(super) fn span(us: u64) -> Span {
    Span::from_micros(us).expect("the laws use spans in the domain")
}

/// Every algorithm, with this limit and this window.
pub(super) fn kinds(limit: u64, window_us: u64) -> [Quota; 5] {
    let window = span(window_us);
    let rate = Rate::new(limit, window).expect("a rate in the domain");
    [
        Quota::bucket(rate, limit),
        Quota::fixed_window(limit, window, Anchor::Epoch),
        Quota::fixed_window(limit, window, Anchor::FirstRequest),
        Quota::sliding_counter(limit, window),
        Quota::sliding_log(limit, window),
    ]
    .map(|quota| quota.expect("a quota in the domain"))
}

/// What is held at once, for leases of this length.
pub(super) fn concurrency(limit: u64, lease_us: u64) -> Quota {
    Quota::concurrency(limit, span(lease_us)).expect("a quota in the domain")
}

/// The record of a reservation.
pub(super) fn ticket(ttl_us: u64) -> Quota {
    Quota::ticket(span(ttl_us)).expect("a quota in the domain")
}

/// Waits for a store's answer on this thread.
fn wait_for<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
