//! What a response holds is let go when its body has ended, not before and not later.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_executor::block_on;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use jeton::layer::{Guarded, Hold};

fn held<R>(body: R) -> (Guarded<R>, Arc<()>) {
    let token = Arc::new(());
    (
        Guarded::new(body).holding(Hold::new(Arc::clone(&token))),
        token,
    )
}

fn is_held(token: &Arc<()>) -> bool {
    Arc::strong_count(token) == 2
}

#[test]
fn a_hold_lasts_until_the_end_of_the_body() {
    let (mut body, token) = held(Full::new(Bytes::from("hello")));
    assert_eq!(body.size_hint().exact(), Some(5));
    let frame = block_on(body.frame()).unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "hello");
    assert!(is_held(&token), "its data may still be under way");
    assert!(block_on(body.frame()).is_none());
    assert!(!is_held(&token));
}

#[test]
fn a_hold_ends_with_the_client() {
    let (body, token) = held(Full::new(Bytes::from("hello")));
    drop(body);
    assert!(!is_held(&token));
}

/// Fails at once.
struct Broken;

impl Body for Broken {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(Some(Err("broken")))
    }
}

#[test]
fn a_hold_ends_with_a_body_that_fails() {
    let (mut body, token) = held(Broken);
    let failed = block_on(body.frame()).unwrap();
    assert_eq!(
        failed.unwrap_err(),
        "broken",
        "the error is the service's own"
    );
    assert!(!is_held(&token));
}

#[test]
fn a_new_hold_takes_the_place_of_the_old() {
    let (body, first) = held(Full::new(Bytes::new()));
    let second = Arc::new(());
    let body = body.holding(Hold::new(Arc::clone(&second)));
    assert!(!is_held(&first));
    assert!(is_held(&second));
    drop(body);
    assert!(!is_held(&second));
}
