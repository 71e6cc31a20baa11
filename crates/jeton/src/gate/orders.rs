//! What operators set while a policy runs: blocks, overrides, modes.
//!
//! They live in the store, under names that put what replaces each other in one place, so that
//! every node that shares the store goes by them: this one at once, the others when
//! [`Gate::drive`] looks, twice a second.

mod note;

use std::fmt;
use std::sync::{Arc, MutexGuard, PoisonError};

use jeton_core::{Micros, NoteEdit, Span, StoreError};
use jeton_policy::{Allowance, Alternative, Fault, Mode, NamedKeyError, Order, Policy};

use super::{Gate, Live};
use crate::named::RESERVED;

/// Why an order was not taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OrderError {
    /// No rule has this name.
    UnknownRule {
        /// The name.
        rule: String,
        /// The name that it may have meant.
        nearest: Option<String>,
    },
    /// The key does not fit the rule.
    Key(NamedKeyError),
    /// A part of the key that should be a client's address is none.
    NoAddress {
        /// What it is.
        text: String,
    },
    /// The rule cannot have these settings.
    Settings(Fault),
    /// The store did not take it.
    Store(StoreError),
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule { rule, .. } if rule == jeton_policy::BROUGHT => {
                f.write_str(RESERVED)
            }
            Self::UnknownRule { rule, nearest } => {
                write!(f, "no rule is named {rule:?}")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => Ok(()),
                }
            }
            Self::Key(error) => error.fmt(f),
            Self::NoAddress { text } => write!(
                f,
                "{text:?} is no address of one client, so no request has that key; a network \
                 belongs on a list of the policy"
            ),
            Self::Settings(fault) => fault.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OrderError {}

impl From<StoreError> for OrderError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// An order that is in force, as operators are shown it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OrderInForce {
    /// The order.
    pub order: Order,
    /// Its key, one text per part (a keyed fingerprint where the rule's keys are secret); none for
    /// a mode, which is for all keys.
    pub key: Option<Vec<String>>,
    /// Why the policy in force cannot follow it, if it cannot: its rule is gone or has changed.
    pub idle: Option<String>,
}

impl Gate {
    /// Refuses this key in this rule for `span`, or until it is lifted.
    ///
    /// # Errors
    /// [`OrderError`]; nothing has changed.
    pub async fn block(
        &self,
        rule: &str,
        key: &[&str],
        span: Option<Span>,
    ) -> Result<(), OrderError> {
        let (rule, key) = self.named_key(rule, key)?;
        let until = self.until(span);
        self.set(&Order::Block { rule, key, until }).await
    }

    /// Lifts a block; `false` if there was none. The key may also be as [`Gate::orders`] shows it.
    ///
    /// # Errors
    /// [`OrderError`]; nothing has changed.
    pub async fn unblock(&self, rule: &str, key: &[&str]) -> Result<bool, OrderError> {
        let until = None;
        let order = |(rule, key)| Order::Block { rule, key, until };
        self.lift_named(rule, key, order).await
    }

    /// Gives this key another allowance in this rule, for `span` or until it is lifted. The counter
    /// stays: units owed are kept.
    ///
    /// # Errors
    /// [`OrderError`]; nothing has changed.
    pub async fn set_override(
        &self,
        rule: &str,
        key: &[&str],
        settings: Alternative,
        span: Option<Span>,
    ) -> Result<Allowance, OrderError> {
        let policy = self.policy();
        let (index, _) = policy.rule(rule).ok_or_else(|| unknown(&policy, rule))?;
        let allowance = policy.alternative(index, &settings);
        let allowance = allowance.map_err(OrderError::Settings)?;
        let (rule, key) = self.named_key(rule, key)?;
        let until = self.until(span);
        let order = Order::Override {
            rule,
            key,
            settings,
            until,
        };
        self.set(&order).await?;
        Ok(allowance)
    }

    /// Lifts an override; `false` if there was none. The key may also be as [`Gate::orders`] shows
    /// it.
    ///
    /// # Errors
    /// [`OrderError`]; nothing has changed.
    pub async fn lift_override(&self, rule: &str, key: &[&str]) -> Result<bool, OrderError> {
        let order = |(rule, key)| Order::Override {
            rule,
            key,
            settings: Alternative::default(),
            until: None,
        };
        self.lift_named(rule, key, order).await
    }

    /// Puts a rule into another mode, or with `None` back into its own; `false` if it was.
    ///
    /// # Errors
    /// [`OrderError`]; nothing has changed.
    pub async fn set_mode(&self, rule: &str, mode: Option<Mode>) -> Result<bool, OrderError> {
        let policy = self.policy();
        policy.rule(rule).ok_or_else(|| unknown(&policy, rule))?;
        let order = |mode| Order::Mode {
            rule: rule.to_owned(),
            mode,
        };
        match mode {
            Some(mode) => self.set(&order(mode)).await.map(|()| true),
            None => self.lift(&order(Mode::Enforce)).await,
        }
    }

    /// The override of a key, if one is in force.
    ///
    /// # Errors
    /// [`OrderError`] for a rule or key that there is not.
    pub fn override_of(&self, rule: &str, key: &[&str]) -> Result<Option<Order>, OrderError> {
        let (rule, key) = self.named_key(rule, key)?;
        let now = self.0.clock.now();
        let wanted = |order: &&Order| match order {
            Order::Override {
                rule: other,
                key: of,
                until,
                ..
            } => *other == rule && *of == key && until.is_none_or(|until| until > now),
            _ => false,
        };
        Ok(self.turn().iter().find(wanted).cloned())
    }

    /// Every order in force, by kind, rule and key.
    pub fn orders(&self) -> Vec<OrderInForce> {
        let now = self.0.clock.now();
        let policy = self.policy();
        let in_force = |order: &&Order| note::until(order).is_none_or(|until| until > now);
        let orders: Vec<Order> = self.turn().iter().filter(in_force).cloned().collect();
        let (_, idle) = policy.orders(&orders);
        let shown = |(index, order): (usize, Order)| {
            let why = idle.iter().find(|(of, _)| *of == index);
            OrderInForce {
                key: note::key(&order).map(|key| self.shown_key(&policy, order.rule(), key)),
                idle: why.map(|(_, why)| why.clone()),
                order,
            }
        };
        orders.into_iter().enumerate().map(shown).collect()
    }

    fn shown_key(&self, policy: &Policy, rule: &str, key: &[u8]) -> Vec<String> {
        let fingerprints = &self.0.fingerprints;
        match policy.rule(rule) {
            Some((_, rule)) => rule.shown_key(key, fingerprints),
            // Whether it was a secret, nobody knows any more.
            None => vec![fingerprints.of(key).to_string()],
        }
    }

    /// Goes by what the store has now. Called for whoever else may have written there.
    ///
    /// # Errors
    /// [`StoreError`]: what was in force stays in force.
    pub async fn refresh_orders(&self) -> Result<(), StoreError> {
        let notes = self.0.store.notes(self.0.clock.reading()).await?;
        let orders: Vec<Order> = notes.iter().filter_map(note::read).collect();
        let mut turn = self.turn();
        if *turn != orders {
            *turn = orders;
            let live = self.0.live.load_full();
            self.install(&turn, Arc::clone(&live.policy), Arc::clone(&live.tally));
        }
        Ok(())
    }

    /// Puts another policy in place: atomically, with every counter that a rule's name and key
    /// keep, and every order that still fits. Gives back the one before.
    pub fn swap(&self, policy: Policy) -> Arc<Policy> {
        let turn = self.turn();
        let old = self.0.live.load_full();
        let tally = Arc::new(old.tally.carried_over(&old.policy, &policy));
        self.install(&turn, Arc::new(policy), tally);
        Arc::clone(&old.policy)
    }

    fn install(&self, orders: &[Order], policy: Arc<Policy>, tally: Arc<crate::Tally>) {
        let (orders, _) = policy.orders(orders);
        self.0.live.store(Arc::new(Live {
            policy,
            tally,
            orders,
        }));
    }

    async fn set(&self, order: &Order) -> Result<(), OrderError> {
        let edit = NoteEdit::Put(note::write(order));
        self.0.store.note(edit, self.0.clock.reading()).await?;
        Ok(self.refresh_orders().await?)
    }

    /// Lifts the order about this key; or about the key that [`Gate::orders`] shows like this: then
    /// whoever lost the key, or the rule, can lift it too.
    async fn lift_named(
        &self,
        rule: &str,
        key: &[&str],
        order: impl Fn((String, Vec<u8>)) -> Order,
    ) -> Result<bool, OrderError> {
        let named = self.named_key(rule, key).map(&order);
        if let Ok(order) = &named
            && self.lift(order).await?
        {
            return Ok(true);
        }
        let kind = std::mem::discriminant(&order((String::new(), Vec::new())));
        let is_shown_so = |shown: &OrderInForce| {
            let shown_key = shown.key.iter().flatten().map(String::as_str);
            std::mem::discriminant(&shown.order) == kind
                && shown.order.rule() == rule
                && shown_key.eq(key.iter().copied())
        };
        match (self.orders().into_iter().find(is_shown_so), named) {
            (Some(shown), _) => self.lift(&shown.order).await,
            (None, Ok(_)) => Ok(false),
            (None, Err(error)) => Err(error),
        }
    }

    async fn lift(&self, order: &Order) -> Result<bool, OrderError> {
        let name = note::name(order);
        let (edit, reading) = (NoteEdit::Remove { name }, self.0.clock.reading());
        let was_there = self.0.store.note(edit, reading).await?;
        self.refresh_orders().await?;
        Ok(was_there)
    }

    fn turn(&self) -> MutexGuard<'_, Vec<Order>> {
        // Whoever panicked with it has replaced the whole, or nothing.
        self.0.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(&self, span: Option<Span>) -> Option<Micros> {
        span.map(|span| self.0.clock.now().saturating_add(span))
    }

    fn named_key(&self, rule: &str, key: &[&str]) -> Result<(String, Vec<u8>), OrderError> {
        let policy = self.policy();
        let (_, compiled) = policy.rule(rule).ok_or_else(|| unknown(&policy, rule))?;
        if let Some(text) = compiled.mistaken_address(key) {
            let text = text.to_owned();
            return Err(OrderError::NoAddress { text });
        }
        let mut bytes = Vec::new();
        let named = compiled.named_key(key, &mut bytes);
        named.map_err(OrderError::Key)?;
        Ok((rule.to_owned(), bytes))
    }
}

fn unknown(policy: &Policy, rule: &str) -> OrderError {
    OrderError::UnknownRule {
        rule: rule.to_owned(),
        nearest: policy.rule_named_like(rule).map(str::to_owned),
    }
}
