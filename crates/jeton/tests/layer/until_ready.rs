//! Waiting for one's turn, on tokio's virtual time and a clock that follows it.

use std::time::Duration;

use jeton::{Clock, Cost, Limiter, NotReady, Quota, Settings, Span};
use tokio::time::{Instant, sleep};

use crate::support::{START, clock, limiter, pass};

const MS: Duration = Duration::from_millis(1);

fn span_s(seconds: u64) -> Span {
    Span::from_micros(seconds * 1_000_000).unwrap()
}

/// One at once, and another every 50 ms.
fn every_50_ms() -> (Limiter, Clock) {
    let clock = clock();
    (limiter(1, 50_000, &clock), clock)
}

/// Carries a fixed clock along with tokio's, from one multiple of 50 ms to the next: a moment ahead,
/// so that whoever wakes on the spot finds it there.
fn follow(clock: &Clock) {
    let clock = clock.clone();
    tokio::spawn(async move {
        sleep(49 * MS).await;
        loop {
            pass(&clock, 50_000);
            sleep(50 * MS).await;
        }
    });
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_exactly_the_stated_time() {
    let (limiter, clock) = every_50_ms();
    follow(&clock);
    let begun = Instant::now();
    for turn in 0..4 {
        let decision = limiter
            .until_ready("a", Duration::from_secs(1))
            .await
            .unwrap();
        assert_eq!(begun.elapsed(), 50 * MS * turn);
        assert_eq!(decision.at.get(), START.get() + 50_000 * u64::from(turn));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_beyond_the_bound_is_refused_at_once() {
    let (limiter, clock) = every_50_ms();
    follow(&clock);
    limiter.take("a");
    let begun = Instant::now();
    let refused = limiter.until_ready("a", 49 * MS).await.unwrap_err();
    let retry_after = Span::from_micros(50_000).unwrap();
    assert_eq!(refused, NotReady::TooLong { retry_after });
    assert!(refused.to_string().contains("another 50 ms"), "{refused}");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    limiter.until_ready("a", 50 * MS).await.unwrap();
    assert_eq!(begun.elapsed(), 50 * MS);
    limiter.until_ready("a", Duration::MAX).await.unwrap();
    assert_eq!(begun.elapsed(), 100 * MS);
}

#[tokio::test(start_paused = true)]
async fn waiters_get_one_unit_each_and_none_twice() {
    let (limiter, clock) = every_50_ms();
    follow(&clock);
    let begun = Instant::now();
    let waiters: Vec<_> = (0..5)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                limiter
                    .until_ready("a", 120 * MS)
                    .await
                    .map(|_| begun.elapsed())
            })
        })
        .collect();
    let mut turns = Vec::new();
    let mut given_up = 0;
    for waiter in waiters {
        match waiter.await.unwrap() {
            Ok(at) => turns.push(at),
            Err(NotReady::TooLong { .. }) => given_up += 1,
            Err(other) => panic!("{other}"),
        }
    }
    turns.sort_unstable();
    assert_eq!(
        (turns, given_up),
        (vec![Duration::ZERO, 50 * MS, 100 * MS], 2)
    );
}

#[tokio::test(start_paused = true)]
async fn f23_no_window_ever_lets_go_of_more_than_its_limit() {
    let clock = clock();
    let quota = Quota::fixed_window(3, span_s(10), jeton::Anchor::Epoch).unwrap();
    let limiter = Limiter::with(quota, &Settings::default(), clock.clone()).unwrap();
    assert_eq!(
        START.get() % 10_000_000,
        0,
        "callers come as a window opens"
    );
    follow(&clock);
    let begun = Instant::now();
    let wait = |limiter: Limiter| async move {
        let ready = limiter.until_ready("a", Duration::from_secs(12)).await;
        ready.map(|_| begun.elapsed())
    };
    let callers: Vec<_> = (0..10)
        .map(|_| tokio::spawn(wait(limiter.clone())))
        .collect();
    let mut turns = Vec::new();
    let mut refused = 0;
    for caller in callers {
        match caller.await.unwrap() {
            Ok(at) => turns.push(at.as_secs()),
            Err(_) => refused += 1,
        }
    }
    turns.sort_unstable();
    assert_eq!((turns, refused), (vec![0, 0, 0, 10, 10, 10], 4));
}

#[tokio::test(start_paused = true)]
async fn dropping_it_charges_nothing() {
    let (limiter, clock) = every_50_ms();
    limiter.take("a");
    let before = limiter.check("a", Cost::ONE);
    {
        let mut waiting = std::pin::pin!(limiter.until_ready("a", Duration::from_secs(1)));
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
    }
    assert_eq!(limiter.check("a", Cost::ONE), before);
    pass(&clock, 50_000);
    assert!(limiter.take("a").fit.passes());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_ends_the_wait_at_its_bound() {
    let (limiter, _) = every_50_ms();
    limiter.take("a");
    let begun = Instant::now();
    let refused = limiter.until_ready("a", 120 * MS).await;
    assert!(matches!(refused, Err(NotReady::TooLong { .. })));
    assert_eq!(begun.elapsed(), 100 * MS);
}

/// On the clocks that users have: never early by the limiter's own word, and within reach.
#[tokio::test]
async fn on_the_real_clock_the_stated_wait_suffices() {
    let rate = jeton::Rate::new(20, Span::SECOND).unwrap();
    let quota = Quota::bucket(rate, 1).unwrap();
    let limiter = Limiter::with(quota, &Settings::default(), Clock::system()).unwrap();
    let first = limiter.until_ready("a", Duration::ZERO).await.unwrap();
    let second = limiter
        .until_ready("a", Duration::from_secs(5))
        .await
        .unwrap();
    assert!(second.at.since(first.at).as_micros() >= 50_000);
}
