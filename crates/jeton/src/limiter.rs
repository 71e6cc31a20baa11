//! One quota over any key, in this process.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use jeton_core::{Act, Cost, Decision, Kind, Quota, QuotaError, Receipt, RuleId};
use jeton_memory::{Place, Settings, SettingsError, Table};
use jeton_policy::{Fault, parse_rate};

use crate::Clock;

/// Limits each key to one quota. Clones share all counters.
///
/// ```
/// use std::time::Duration;
/// use jeton::{Fit, Limiter};
///
/// let limiter = Limiter::bucket("5/s", 20)?;
/// match limiter.take("alice").fit {
///     Fit::Denied { retry_after } => println!("wait {:?}", Duration::from(retry_after)),
///     _ => println!("go on"),
/// }
/// # Ok::<(), jeton::LimiterError>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    quota: Quota,
    /// That of the quota.
    kind: Kind,
    table: Arc<Table>,
    clock: Clock,
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

/// The one rule of a limiter's table.
const RULE: RuleId = RuleId::new(0);

impl Limiter {
    /// `burst` units at once, refilled at `rate`: `"5/s"`, `"700/min"`, `"1/1500ms"`.
    ///
    /// # Errors
    /// [`LimiterError`] names what does not fit and the fix.
    pub fn bucket(rate: &str, burst: u64) -> Result<Self, LimiterError> {
        let rate = parse_rate(rate).map_err(LimiterError::Rate)?.rate()?;
        Self::new(Quota::bucket(rate, burst)?)
    }

    /// `quota` for each of up to a million keys, by [`Clock::system`].
    ///
    /// # Errors
    /// [`LimiterError::Table`] if the system gives no random seed.
    pub fn new(quota: Quota) -> Result<Self, LimiterError> {
        Self::with(quota, &Settings::default(), Clock::system())
    }

    /// `quota` for each key, within the bounds of `settings`, by `clock`.
    ///
    /// # Errors
    /// [`LimiterError::Table`] if no table can be made within those bounds.
    pub fn with(quota: Quota, settings: &Settings, clock: Clock) -> Result<Self, LimiterError> {
        let table = Arc::new(Table::new(settings)?);
        Ok(Self {
            quota,
            kind: quota.kind(),
            table,
            clock,
        })
    }

    /// Takes one unit if it fits.
    #[inline]
    pub fn take(&self, key: &(impl Hash + ?Sized)) -> Decision {
        self.take_units(key, Cost::ONE)
    }

    /// Takes `cost` units if they fit, all or none.
    #[inline]
    pub fn take_units(&self, key: &(impl Hash + ?Sized), cost: Cost) -> Decision {
        self.act(key, Act::Take { cost })
    }

    /// Answers as [`Limiter::take_units`] would, shows the present state, and changes nothing.
    pub fn check(&self, key: &(impl Hash + ?Sized), cost: Cost) -> Decision {
        self.act(key, Act::Peek { cost })
    }

    /// Turns a charge into what it has really cost: less is given back as far as it still counts,
    /// more is charged now and may go into debt, by one limit at the most.
    pub fn settle(&self, key: &(impl Hash + ?Sized), receipt: Receipt, actual: Cost) -> Decision {
        let max_debt = Cost::MAX;
        self.act(
            key,
            Act::Settle {
                receipt,
                actual,
                max_debt,
            },
        )
    }

    /// Gives units back without a receipt: never above a fresh state.
    pub fn refund(&self, key: &(impl Hash + ?Sized), units: Cost) -> Decision {
        self.act(key, Act::Give { units })
    }

    /// Forgets what a key has used.
    pub fn reset(&self, key: &(impl Hash + ?Sized)) -> Decision {
        self.act(key, Act::Reset)
    }

    /// The quota of each key.
    pub const fn quota(&self) -> &Quota {
        &self.quota
    }

    /// The table of states, for its figures.
    pub fn table(&self) -> &Table {
        &self.table
    }

    #[inline]
    fn act(&self, key: &(impl Hash + ?Sized), act: Act) -> Decision {
        self.act_at(self.place(key), act)
    }

    /// Where the table keeps the state of a key.
    #[inline]
    pub(crate) fn place(&self, key: &(impl Hash + ?Sized)) -> Place {
        self.table.place_of(RULE, self.kind, key)
    }

    #[inline]
    pub(crate) fn act_at(&self, place: Place, act: Act) -> Decision {
        self.table.prefetch(place);
        let now = self.clock.reading();
        self.table.act(place, &self.quota, act, now)
    }
}

/// Why a limiter cannot be made.
#[derive(Clone)]
#[non_exhaustive]
pub enum LimiterError {
    /// The text is not a rate.
    Rate(Fault),
    /// The quota cannot be held exactly.
    Quota(QuotaError),
    /// The table cannot be made.
    Table(SettingsError),
}

impl fmt::Display for LimiterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(fault) => write!(f, "{}; try {}", fault.what, fault.fix),
            Self::Quota(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
        }
    }
}

/// The text of [`Display`](fmt::Display): it is what `?` out of `main` prints.
impl fmt::Debug for LimiterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LimiterError {}

impl From<QuotaError> for LimiterError {
    fn from(error: QuotaError) -> Self {
        Self::Quota(error)
    }
}

impl From<SettingsError> for LimiterError {
    fn from(error: SettingsError) -> Self {
        Self::Table(error)
    }
}
