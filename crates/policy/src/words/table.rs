//! The table that `jeton check` prints.

use std::fmt;

use jeton_wire::ratelimit::MAX_NAME_LEN;

use super::outage::of_store;
use super::{LimitWords, RuleWords};
use crate::compiled::Policy;
use crate::units::grouped;

/// A policy as a table: each rule in words and the most it lets through per key.
///
/// ```
/// use jeton_policy::{NoReferences, Policy, PolicyTable, Source};
/// let source = Source::new("jeton.toml", r#"
///     [[rule]]
///     name      = "everyone"
///     key       = ["client-ip"]
///     algorithm = "token-bucket"
///     rate      = "20/s"
///     burst     = 100
/// "#);
/// let policy = Policy::load(&source, &NoReferences)?.policy;
/// assert_eq!(PolicyTable::new("jeton.toml", &policy).to_string(), "\
/// jeton.toml: 1 rule, memory store, at most 1 000 000 keys
///                                              at most, per key
///   rule      meaning                          any 1 s  any 1 min
///   everyone  20/s per address, bursts to 100      120      1 300
///             one per 50 ms
/// ");
/// # Ok::<(), jeton_policy::Report>(())
/// ```
#[derive(Debug)]
pub struct PolicyTable<'a> {
    name: &'a str,
    policy: &'a Policy,
}

/// Columns of the middle column; longer words wrap.
const MEANING: usize = 48;

impl<'a> PolicyTable<'a> {
    /// The table of a policy that was read from `name`.
    pub const fn new(name: &'a str, policy: &'a Policy) -> Self {
        Self { name, policy }
    }
}

impl fmt::Display for PolicyTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<RuleWords> = self
            .policy
            .rules()
            .iter()
            .map(|rule| RuleWords::of(rule.rule()))
            .collect();
        let plural = if rules.len() == 1 { "" } else { "s" };
        let keys = grouped(self.policy.settings().store.max_keys);
        writeln!(
            f,
            "{}: {} rule{plural}, memory store, at most {keys} keys",
            self.name,
            rules.len()
        )?;
        if let Some(outage) = of_store(&self.policy.settings().store) {
            writeln!(f, "  without a store: {outage}")?;
        }
        if rules.is_empty() {
            return Ok(());
        }
        let rows: Vec<Row> = rules.iter().flat_map(Row::of).collect();
        let widest = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let names = widest(|row| row.name.chars().count()).clamp(4, MAX_NAME_LEN);
        let words = widest(|row| {
            row.lines
                .iter()
                .map(|line| line.chars().count())
                .max()
                .unwrap_or(0)
        });
        let words = words.max(7);
        writeln!(f, "  {:names$}  {:words$}  at most, per key", "", "")?;
        writeln!(
            f,
            "  {:names$}  {:words$}  any 1 s  any 1 min",
            "rule", "meaning"
        )?;
        rows.iter().try_for_each(|row| row.write(f, names, words))
    }
}

/// One limit, laid out: that of a rule, or below it one of a plan or on trial.
struct Row {
    name: String,
    lines: Vec<String>,
    second: String,
    minute: String,
    /// A mode without a vote.
    mode: &'static str,
}

impl Row {
    fn of(words: &RuleWords) -> Vec<Self> {
        let mut lines = wrap(&words.meaning);
        if !words.scope.is_empty() {
            lines.extend(wrap(&format!("for {}", words.scope)));
        }
        lines.extend(wrap(&words.missing));
        let at_most = Some(&words.at_most).filter(|_| !words.in_columns);
        lines.extend(wrap_all(at_most.into_iter().chain([&words.interval])));
        lines.extend(wrap(&words.settling));
        let own = Self {
            name: words.name.clone(),
            lines,
            second: number(words.any_second),
            minute: number(words.any_minute),
            mode: if words.shadow { words.mode } else { "" },
        };
        let plan = |limit: &LimitWords| {
            let head = format!("{} in the {}:", limit.name, words.plan);
            Self::below(&head, limit, "")
        };
        let trial = words.trial.iter();
        let trial = trial.map(|limit| Self::below("on trial:", limit, "shadow"));
        let plans = words.plans.iter().map(plan);
        std::iter::once(own).chain(plans).chain(trial).collect()
    }

    fn below(head: &str, limit: &LimitWords, mode: &'static str) -> Self {
        let mut lines = wrap(&format!("{head} {}", limit.meaning));
        if !limit.in_columns {
            lines.extend(wrap(&limit.at_most));
        }
        Self {
            name: String::new(),
            lines,
            second: number(limit.any_second),
            minute: number(limit.any_minute),
            mode,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, names: usize, words: usize) -> fmt::Result {
        let Self {
            name,
            lines,
            second,
            minute,
            mode,
        } = self;
        let mut lines = lines.iter();
        let first = lines.next().map_or("", String::as_str);
        write!(
            f,
            "  {name:names$}  {first:words$}  {second:>7}  {minute:>9}"
        )?;
        match *mode {
            "" => writeln!(f)?,
            mode => writeln!(f, "  {mode}")?,
        }
        lines.try_for_each(|line| writeln!(f, "  {:names$}  {line}", ""))
    }
}

fn number(most: Option<u64>) -> String {
    most.map_or_else(|| "–".to_owned(), grouped)
}

/// Several promises as one text.
fn wrap_all<'w>(promises: impl Iterator<Item = &'w String>) -> Vec<String> {
    let promises = promises.map(String::as_str).filter(|text| !text.is_empty());
    wrap(&promises.collect::<Vec<_>>().join("; "))
}

/// Breaks a text between words.
fn wrap(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= MEANING => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_wrap_between_words() {
        let lines = wrap(&"word ".repeat(30));
        assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= MEANING));
        assert_eq!(wrap(""), Vec::<String>::new());
        assert_eq!(wrap(&"x".repeat(80)).len(), 1);
    }
}
