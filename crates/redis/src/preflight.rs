//! What a user must be allowed, tried out before anything depends on it.
//!
//! Scripts run most commands only now and then, and not every server says which one of a script was
//! refused. So each is sent once by itself, in one round trip, with arguments by which it changes
//! nothing: whoever may not run it is told so whatever the arguments are.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisError, Value};

use crate::names::Names;
use crate::trouble::{Redirection, Trouble, TroubleKind};

/// Stands for a key of ours.
const KEY: &str = "\0";

/// What runs scripts.
const EVAL: &str = "eval";

/// A command as access rules name it, and arguments by which it changes nothing.
pub(crate) type Trial = (&'static str, &'static [&'static str]);

/// What every decision, and what operators set, may need.
pub(crate) const DECISIONS: &[Trial] = &[
    (EVAL, &["return 0", "0"]),
    (
        "evalsha",
        &["0000000000000000000000000000000000000000", "0"],
    ),
    ("time", &[]),
    ("get", &[KEY]),
    // No time at all is refused, but not before the user is.
    ("set", &[KEY, "", "PX", "0"]),
    ("del", &[KEY]),
    ("exists", &[KEY]),
    ("getrange", &[KEY, "0", "0"]),
    ("setrange", &[KEY, "0", ""]),
    ("strlen", &[KEY]),
    ("pexpire", &[KEY, "0"]),
    ("pexpireat", &[KEY, "0"]),
    ("pttl", &[KEY]),
    ("persist", &[KEY]),
    ("hget", &[KEY, "field"]),
    // So is a field without a value.
    ("hset", &[KEY, "field", "", "field"]),
    ("hdel", &[KEY, "field"]),
    ("hlen", &[KEY]),
    ("hgetall", &[KEY]),
    ("ping", &[]),
];

/// What a node of a cluster is asked on top. The command after `ASKING` takes its effect away.
pub(crate) const ON_A_CLUSTER: &[Trial] = &[("asking", &[]), ("cluster|slots", &[])];

/// What removing a prefix takes.
pub(crate) const REMOVAL: &[Trial] = &[("scan", &["0", "COUNT", "1"]), ("unlink", &[KEY])];

/// What came of trials.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What would have to be added to the user, in the words of access rules.
    lacks: Vec<String>,
    /// What the server has no command for.
    pub(crate) unknown: Vec<&'static str>,
    /// The keys are another node's.
    pub(crate) is_elsewhere: bool,
}

impl Outcome {
    /// What is wrong, if anything is.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let mut words = Vec::new();
        if !self.lacks.is_empty() {
            words.push(format!("it lacks {}", self.lacks.join(" ")));
        }
        if !self.unknown.is_empty() {
            let unknown = self.unknown.join(", ");
            words.push(format!("there is no such command here: {unknown}"));
        }
        (!words.is_empty()).then(|| Trouble {
            kind: TroubleKind::Forbidden,
            text: words.join("; "),
        })
    }

    /// Notes that a command was refused.
    fn note(&mut self, name: &'static str, error: &RedisError, names: &Names) {
        let said = error.detail().unwrap_or_default();
        if said.contains("unknown command") {
            return self.unknown.push(name);
        }
        // "no permissions to access a key", "… one of the keys", "… the 'x' key"
        let lacks = if said.contains("to access") {
            format!("~{}*", names.start())
        } else {
            format!("+{name}")
        };
        if !self.lacks.contains(&lacks) {
            self.lacks.push(lacks);
        }
    }
}

/// Tries out commands.
///
/// # Errors
/// If the line fails, or the server runs no scripts now; what it does not let the user do is the outcome.
pub(crate) async fn try_out(
    connection: &mut MultiplexedConnection,
    trials: impl Iterator<Item = &'static Trial> + Clone,
    names: &Names,
) -> Result<Outcome, RedisError> {
    let mut pipe = Pipeline::new();
    for (name, arguments) in trials.clone() {
        let mut words = name.split('|');
        let command = pipe.cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            command.arg(word);
        });
        for argument in *arguments {
            if *argument == KEY {
                // Each in a slot of its own: on a cluster, not all of them are one node's.
                command.arg(names.scratch(name));
            } else {
                command.arg(*argument);
            }
        }
    }
    let count = trials.clone().count();
    let said = connection.send_packed_commands(&pipe, 0, count).await?;
    let mut outcome = Outcome::default();
    for ((name, _), said) in trials.zip(said) {
        let Err(error) = Value::extract_error(said) else {
            continue;
        };
        let is_refused = Trouble::from(&error).kind == TroubleKind::Forbidden;
        if is_refused {
            outcome.note(name, &error, names);
        } else if *name == EVAL {
            return Err(error); // it is to work, and the only one that is
        }
        outcome.is_elsewhere |= Redirection::of(&error).is_some();
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The user that the documentation makes is allowed what is tried out, and no more.
    #[test]
    fn the_documentation_names_them_all() {
        let page = include_str!("../../../docs/redis.md");
        let line = |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap();
        let commands = |line: &'static str| -> Vec<&str> {
            let words = line.split([' ', '`', '\'']);
            words.filter_map(|word| word.strip_prefix('+')).collect()
        };
        let names = |trials: &[Trial]| -> Vec<&str> {
            let mut names: Vec<&str> = trials.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names
        };
        for (start, trials) in [
            ("redis-cli ACL SETUSER", DECISIONS),
            ("- on a cluster", ON_A_CLUSTER),
            ("- to remove a prefix", REMOVAL),
        ] {
            let mut commands = commands(line(start));
            commands.sort_unstable();
            assert_eq!(commands, names(trials), "{start}");
        }
    }

    #[test]
    fn what_is_missing_is_said_in_one_line() {
        assert_eq!(Outcome::default().trouble(), None);
        let outcome = Outcome {
            lacks: vec!["+get".to_owned(), "~jeton1:*".to_owned()],
            unknown: vec!["set"],
            is_elsewhere: false,
        };
        let said = outcome.trouble().unwrap().text;
        assert_eq!(
            said,
            "it lacks +get ~jeton1:*; there is no such command here: set"
        );
    }
}
