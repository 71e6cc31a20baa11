//! The README's lines, in functions.

pub(crate) fn five_lines() -> Result<(), jeton::LimiterError> {
    use jeton::{Fit, Limiter};

    let limiter = Limiter::bucket("5/s", 20)?;
    if let Fit::Denied { retry_after } = limiter.take("alice").fit {
        println!("try again in {} ms", retry_after.as_millis_ceil());
    }
    Ok(())
}

pub(crate) fn layer() -> Result<(), jeton::LimiterError> {
    use jeton::{Limiter, layer::RateLimitLayer};

    let limiter = Limiter::bucket("5/s", 20)?;
    #[rustfmt::skip]
    let limit = RateLimitLayer::by(limiter, |head| head.headers.get("x-api-key").cloned());
    #[rustfmt::skip]
    let app = axum::Router::new().route("/", axum::routing::get(|| async { "hello" })).layer(limit);
    drop::<axum::Router>(app);
    Ok(())
}
