//! Calls that are out together: each is sent before the one before it is answered.
//!
//! What memory decides is decided by being sent. A store that answers later decides many in one
//! round trip; so many at once that none of them waits for long, since each has only so much time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// As many as a store takes with two calls of its own.
const AT_ONCE: usize = 128;

/// Calls that are out, and what became of those before them.
pub(super) struct Outgoing<F: Future> {
    landed: Vec<F::Output>,
    out: VecDeque<Out<F>>,
}

enum Out<F: Future> {
    Flying(Pin<Box<F>>),
    /// Answered before some that were sent earlier.
    Landed(F::Output),
}

impl<F: Future> Outgoing<F> {
    pub(super) fn with_capacity(calls: usize) -> Self {
        Self {
            landed: Vec::with_capacity(calls),
            out: VecDeque::new(),
        }
    }

    /// Sends a call.
    pub(super) async fn send(&mut self, call: F) {
        if self.out.len() >= AT_ONCE {
            self.land_one().await;
        }
        let mut call = Box::pin(call);
        let sent = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
        match sent {
            Poll::Ready(answer) if self.out.is_empty() => self.landed.push(answer),
            Poll::Ready(answer) => self.out.push_back(Out::Landed(answer)),
            Poll::Pending => self.out.push_back(Out::Flying(call)),
        }
    }

    /// Waits until every call is answered.
    pub(super) async fn land(&mut self) {
        while !self.out.is_empty() {
            self.land_one().await;
        }
    }

    /// What became of all, in the order in which they were sent.
    pub(super) async fn landed(mut self) -> Vec<F::Output> {
        self.land().await;
        self.landed
    }

    async fn land_one(&mut self) {
        let answer = match self.out.front_mut() {
            // It stays where it is until it is answered: whoever stops waiting loses nothing.
            Some(Out::Flying(call)) => call.as_mut().await,
            Some(Out::Landed(_)) | None => match self.out.pop_front() {
                Some(Out::Landed(answer)) => return self.landed.push(answer),
                _ => return,
            },
        };
        self.out.pop_front();
        self.landed.push(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::ready;
    use std::rc::Rc;

    use tokio::sync::Notify;

    use super::*;

    /// What happens, in its order.
    type Diary = Rc<RefCell<Vec<(char, usize)>>>;

    async fn call(number: usize, waits: bool, gong: Rc<Notify>, diary: Diary) -> usize {
        diary.borrow_mut().push(('>', number));
        if waits {
            gong.notified().await;
            gong.notify_one();
        } else {
            ready(()).await;
        }
        diary.borrow_mut().push(('<', number));
        number
    }

    fn run(calls: usize, waits: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<(char, usize)>) {
        let (gong, diary) = (Rc::new(Notify::new()), Diary::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let landed = runtime.block_on(async {
            let mut outgoing = Outgoing::with_capacity(calls);
            for number in 0..calls {
                if number == AT_ONCE {
                    gong.notify_one();
                }
                let call = call(number, waits(number), Rc::clone(&gong), Rc::clone(&diary));
                outgoing.send(call).await;
            }
            gong.notify_one();
            outgoing.landed().await
        });
        let diary = diary.borrow().clone();
        (landed, diary)
    }

    #[test]
    fn all_are_sent_before_one_is_waited_for() {
        let (landed, diary) = run(5, |_| true);
        assert_eq!(landed, [0, 1, 2, 3, 4]);
        let sent: Vec<_> = (0..5).map(|number| ('>', number)).collect();
        assert_eq!(diary[..5], sent);
    }

    #[test]
    fn so_many_and_no_more() {
        let (landed, diary) = run(AT_ONCE + 1, |_| true);
        assert_eq!(landed, (0..=AT_ONCE).collect::<Vec<_>>());
        assert_eq!(diary[AT_ONCE..AT_ONCE + 2], [('<', 0), ('>', AT_ONCE)]);
    }

    #[test]
    fn what_is_decided_at_once_keeps_its_place() {
        let (landed, diary) = run(4, |number| number == 1);
        assert_eq!(landed, [0, 1, 2, 3]);
        let last = diary.last().copied();
        assert_eq!(last, Some(('<', 1)));
    }
}
