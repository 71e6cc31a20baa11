//! An answer that is there, or will be.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::Answered;

/// An answer that is there, or will be.
#[must_use]
#[allow(clippy::large_enum_variant)] // a box would cost an allocation on the path that is taken
pub enum Deciding {
    /// The store answered at once: memory always does.
    Now(Answered),
    /// It will.
    Later(Pin<Box<dyn Future<Output = Answered> + Send>>),
}

impl fmt::Debug for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answered) => f.debug_tuple("Now").field(answered).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

impl Deciding {
    pub(crate) fn later(answered: impl Future<Output = Answered> + Send + 'static) -> Self {
        Self::Later(Box::pin(answered))
    }

    /// The same, with a change to the answer.
    pub(crate) fn map(self, change: impl FnOnce(&mut Answered) + Send + 'static) -> Self {
        match self {
            Self::Now(mut answered) => {
                change(&mut answered);
                Self::Now(answered)
            }
            Self::Later(later) => Self::later(async move {
                let mut answered = later.await;
                change(&mut answered);
                answered
            }),
        }
    }

    /// The answer if it is there.
    ///
    /// # Errors
    /// Gives itself back if the store has still to answer.
    #[allow(clippy::result_large_err)] // as above
    pub fn now(self) -> Result<Answered, Self> {
        match self {
            Self::Now(answered) => Ok(answered),
            later @ Self::Later(_) => Err(later),
        }
    }

    /// Waits for the answer.
    pub async fn wait(self) -> Answered {
        match self {
            Self::Now(answered) => answered,
            Self::Later(answered) => answered.await,
        }
    }
}
