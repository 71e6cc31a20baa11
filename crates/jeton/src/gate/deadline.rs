//! How long a call to the store may take.

use std::time::Duration;

/// Until when a call may take.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    #[cfg(feature = "settling")]
    at: tokio::time::Instant,
}

#[cfg(feature = "settling")]
impl Deadline {
    pub(super) fn after(timeout: Duration) -> Self {
        let at = tokio::time::Instant::now() + timeout;
        Self { at }
    }

    /// What comes in time. Outside a tokio runtime there is no timer, and it may take as long as it
    /// takes.
    pub(super) async fn bound<T>(self, future: impl Future<Output = T>) -> Option<T> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Some(future.await);
        }
        tokio::time::timeout_at(self.at, future).await.ok()
    }
}

#[cfg(not(feature = "settling"))]
impl Deadline {
    pub(super) const fn after(_: Duration) -> Self {
        Self {}
    }

    /// Without a timer it may take as long as it takes.
    pub(super) async fn bound<T>(self, future: impl Future<Output = T>) -> Option<T> {
        Some(future.await)
    }
}
