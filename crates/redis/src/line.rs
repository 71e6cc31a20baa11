//! The line to the server: one multiplexed connection, opened again by itself.
//!
//! A keeper watches it. While it is down, calls are told so at once and cost nothing; while it is being
//! opened for the first time, or again after it was cut or refused, they wait for it as long as they
//! may. A line that hangs counts as down until a new one has answered.

mod keeper;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::names::Names;
use crate::preflight::{self, Trial};
use crate::script::Script;
use crate::trouble::{Redirection, Trouble, TroubleKind};
use crate::way::{Way, Whom, if_sentinel};
use jeton_core::{StoreError, StoreErrorKind, Written};
use keeper::Keeper;

/// How the server is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// A line is being opened.
    Connecting,
    /// It decides.
    Up,
    /// It does not; a new line is tried at least once a second.
    Down(Trouble),
}

#[derive(Clone)]
enum State {
    Connecting,
    Up(Open),
    Down(Trouble),
}

/// A line that is open.
#[derive(Clone)]
pub(crate) struct Open {
    number: u64,
    connection: MultiplexedConnection,
}

/// The side that calls.
#[derive(Clone)]
pub(crate) struct Line {
    state: watch::Receiver<State>,
    lost: mpsc::Sender<(u64, Trouble)>,
    /// Lines before this number are lost, whether or not the keeper has got round to it.
    good_from: Arc<AtomicU64>,
    latest: Arc<Mutex<Option<Trouble>>>,
    whom: Whom,
}

/// Why a call has no answer.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) error: StoreError,
    pub(crate) instead: Option<Instead>,
}

/// What to do instead; nothing was done yet.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    /// Ask another node.
    Elsewhere(Redirection),
    /// Send the script itself.
    WithText,
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self {
            error,
            instead: None,
        }
    }
}

/// How a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// By its hash: a server that does not know it does nothing.
    ByHash,
    /// With its text.
    WithText,
    /// With its text, on a node that is about to take over the slot.
    Asking,
}

/// What is called: a script, its keys and its arguments.
pub(crate) struct Call<'a> {
    pub(crate) script: &'a Script,
    pub(crate) keys: Vec<&'a [u8]>,
    pub(crate) arguments: Vec<&'a [u8]>,
}

impl Call<'_> {
    fn command(&self, how: How) -> Cmd {
        let (name, script) = match how {
            How::ByHash => ("EVALSHA", &self.script.sha1),
            How::WithText | How::Asking => ("EVAL", &self.script.text),
        };
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for bytes in self.keys.iter().chain(&self.arguments) {
            command.arg(*bytes);
        }
        command
    }
}

impl Open {
    async fn call(&mut self, call: &Call<'_>, how: How) -> Result<Value, RedisError> {
        let command = call.command(how);
        if how != How::Asking {
            return self.send(&command).await;
        }
        let mut pipe = redis::pipe();
        // With its text: two round trips would be two chances to be interrupted.
        pipe.cmd("ASKING").ignore().add_command(command);
        let said = self.connection.send_packed_commands(&pipe, 0, 2).await?;
        said.into_iter()
            .next_back()
            .unwrap_or(Value::Nil)
            .extract_error()
    }

    async fn send(&mut self, command: &Cmd) -> Result<Value, RedisError> {
        self.connection
            .send_packed_command(command)
            .await
            .and_then(Value::extract_error)
    }

    /// Whether it is what the URL names, and the user may do all that will be needed.
    async fn try_out(&mut self, way: &Way, names: &Names) -> Result<(), Trouble> {
        let on_top = if way.is_to_a_node() {
            preflight::ON_A_CLUSTER
        } else {
            &[]
        };
        let trials = on_top.iter().chain(preflight::DECISIONS);
        let outcome = preflight::try_out(&mut self.connection, trials, names).await?;
        if let Some(trouble) = outcome.trouble() {
            return Err(if outcome.unknown.is_empty() {
                trouble
            } else {
                if_sentinel(&mut self.connection, trouble).await
            });
        }
        if outcome.is_elsewhere && !way.is_to_a_node() {
            let words = "it is a node of a Cluster, write redis-cluster://host:port";
            return Err(Trouble::misnamed(words.to_owned()));
        }
        Ok(())
    }
}

impl Line {
    /// Opens a line and keeps it open until the last caller is gone. Needs to be called on a runtime.
    pub(crate) fn keep(way: Way, names: Names, timeout: Duration) -> Self {
        let (told, state) = watch::channel(State::Connecting);
        let (lost, hears) = mpsc::channel(16);
        let whom = way.whom().clone();
        tokio::spawn(
            Keeper {
                way,
                names,
                timeout,
                told,
                hears,
            }
            .run(),
        );
        Self {
            state,
            lost,
            whom,
            latest: Arc::default(),
            good_from: Arc::default(),
        }
    }

    pub(crate) fn health(&self) -> Health {
        match &*self.state.borrow() {
            State::Connecting => Health::Connecting,
            State::Up(_) => Health::Up,
            State::Down(trouble) => Health::Down(trouble.clone()),
        }
    }

    /// What the latest call that failed met.
    pub(crate) fn latest_trouble(&self) -> Option<Trouble> {
        let latest = self.latest.lock();
        latest.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the server is known to be up or down.
    pub(crate) async fn ready(&self) -> Result<(), Trouble> {
        let mut state = self.state.clone();
        let known = state
            .wait_for(|state| !matches!(state, State::Connecting))
            .await;
        match known.as_deref() {
            Ok(State::Down(trouble)) => Err(trouble.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(Trouble {
                kind: TroubleKind::Unreachable,
                text: "closed".to_owned(),
            }),
        }
    }

    /// Calls a script, whether or not the server knows it. Is over at `deadline` at the latest.
    pub(crate) async fn call(&self, call: &Call<'_>, deadline: Instant) -> Result<Value, Failed> {
        let open = self.open(deadline).await?;
        let said = self.call_on(open.clone(), call, How::ByHash, deadline);
        match said.await {
            Err(Failed {
                instead: Some(Instead::WithText),
                ..
            }) => self.call_on(open, call, How::WithText, deadline).await,
            said => said,
        }
    }

    /// Calls a script on a line that is open, once: polled once, it is on its way behind what was before.
    pub(crate) async fn call_on(
        &self,
        mut open: Open,
        call: &Call<'_>,
        how: How,
        deadline: Instant,
    ) -> Result<Value, Failed> {
        let said = timeout_at(deadline, open.call(call, how)).await;
        self.judge(open.number, said)
    }

    /// Sends a command. Is over at `deadline` at the latest.
    pub(crate) async fn send(&self, command: &Cmd, deadline: Instant) -> Result<Value, Failed> {
        let mut open = self.open(deadline).await?;
        let said = timeout_at(deadline, open.send(command)).await;
        self.judge(open.number, said)
    }

    /// Whether the user may run some commands.
    pub(crate) async fn try_out(
        &self,
        trials: &'static [Trial],
        names: &Names,
        deadline: Instant,
    ) -> Result<(), Failed> {
        let mut open = self.open(deadline).await?;
        let tried = preflight::try_out(&mut open.connection, trials.iter(), names);
        let outcome = match timeout_at(deadline, tried).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => return self.judge(open.number, Ok(Err(error))).map(drop),
            Err(late) => return self.judge(open.number, Err(late)).map(drop),
        };
        let Some(trouble) = outcome.trouble() else {
            return Ok(());
        };
        let error = trouble.error();
        self.note(self.whom.name(trouble));
        Err(error.into())
    }

    fn note(&self, trouble: Trouble) {
        let latest = self.latest.lock();
        *latest.unwrap_or_else(PoisonError::into_inner) = Some(trouble);
    }

    fn judge(
        &self,
        number: u64,
        said: Result<Result<Value, RedisError>, Elapsed>,
    ) -> Result<Value, Failed> {
        let (trouble, redirection) = match said {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => (Trouble::from(&error), Redirection::of(&error)),
            Err(_) => (Trouble::hangs(), None),
        };
        let error = trouble.error();
        let instead = match redirection {
            Some(redirection) => Some(Instead::Elsewhere(redirection)),
            None if trouble.kind == TroubleKind::NoScript => {
                let instead = Some(Instead::WithText);
                return Err(Failed { error, instead });
            }
            None => None,
        };
        let trouble = self.whom.name(trouble);
        self.note(trouble.clone());
        if trouble.needs_new_line() && instead.is_none() {
            // A keeper that has enough to do hears of it from the next one who calls on this line.
            if self.lost.try_send((number, trouble)).is_ok() {
                self.good_from.fetch_max(number + 1, Ordering::Relaxed);
            }
        }
        Err(Failed { error, instead })
    }

    /// A line that is open. Is over at `deadline` at the latest.
    pub(crate) async fn open(&self, deadline: Instant) -> Result<Open, StoreError> {
        let not_sent = |kind| StoreError {
            kind,
            written: Written::No,
        };
        let mut state = self.state.clone();
        let known = state.wait_for(|state| match state {
            State::Connecting => false,
            State::Up(open) => open.number >= self.good_from.load(Ordering::Relaxed),
            State::Down(_) => true,
        });
        match timeout_at(deadline, known).await {
            Err(_) => Err(not_sent(StoreErrorKind::Timeout)),
            Ok(Err(_)) => Err(not_sent(StoreErrorKind::Unavailable)),
            Ok(Ok(state)) => match &*state {
                State::Up(open) => Ok(open.clone()),
                State::Down(trouble) if trouble.kind != TroubleKind::Hangs => {
                    Err(not_sent(trouble.error().kind))
                }
                _ => Err(not_sent(StoreErrorKind::Unavailable)),
            },
        }
    }
}
