//! The table that `jeton check` prints.

use std::fmt;

use jeton_wire::ratelimit::MAX_NAME_LEN;

use super::{DoorWords, LimitWords, RuleWords, StoreWords};
use crate::compiled::{CompiledRule, Policy};
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
///   doors: none; `jeton serve` needs [proxy], [api], [rls] or [resp], a library none
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
/// Columns of what is said of the store, and of a door.
const LINE: usize = 90;

impl<'a> PolicyTable<'a> {
    /// The table of a policy that was read from `name`.
    pub const fn new(name: &'a str, policy: &'a Policy) -> Self {
        Self { name, policy }
    }
}

impl fmt::Display for PolicyTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.policy.told_rules().iter().map(CompiledRule::words);
        let rules: Vec<RuleWords> = rules.collect();
        let plural = if rules.len() == 1 { "" } else { "s" };
        let store = StoreWords::of(self.policy);
        let (name, count) = (self.name, rules.len());
        writeln!(f, "{name}: {count} rule{plural}, {}", store.meaning)?;
        for (about, text) in store.lines() {
            let lines = wrap(&format!("{about}: {text}"), LINE);
            writeln!(f, "  {}", lines.join("\n      "))?;
        }
        let settings = self.policy.settings();
        if !settings.has_doors() {
            writeln!(
                f,
                "  doors: none; `jeton serve` needs [proxy], [api], [rls] or [resp], a library none"
            )?;
        }
        // Of the other two the address says it all.
        for door in DoorWords::all(self.policy) {
            if matches!(door.door, "rls" | "resp") {
                let lines = wrap(&format!("{}: {}", door.door, door.meaning), LINE);
                writeln!(f, "  {}", lines.join("\n      "))?;
            }
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
        let (second, minute) = (
            widest(|row| row.second.chars().count()).max(7),
            widest(|row| row.minute.chars().count()).max(9),
        );
        writeln!(
            f,
            "  {:names$}  {:words$}  {:>second$}  {:>minute$}",
            "rule", "meaning", "any 1 s", "any 1 min"
        )?;
        let widths = [names, words, second, minute];
        rows.iter().try_for_each(|row| row.write(f, widths))
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
        let mut lines = wrap(&words.meaning, MEANING);
        if !words.scope.is_empty() {
            lines.extend(wrap(&format!("for {}", words.scope), MEANING));
        }
        lines.extend(wrap(&words.missing, MEANING));
        let at_most = Some(&words.at_most).filter(|_| !words.in_columns);
        lines.extend(wrap_all(at_most.into_iter().chain([&words.interval])));
        lines.extend(wrap(&words.settling, MEANING));
        lines.extend(wrap(&words.lease, MEANING));
        let own = Self {
            name: words.name.clone(),
            lines,
            second: number(words.any_second, words.per_process),
            minute: number(words.any_minute, words.per_process),
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
        let mut lines = wrap(&format!("{head} {}", limit.meaning), MEANING);
        if !limit.in_columns {
            lines.extend(wrap(&limit.at_most, MEANING));
        }
        Self {
            name: String::new(),
            lines,
            second: number(limit.any_second, limit.per_process),
            minute: number(limit.any_minute, limit.per_process),
            mode,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, widths: [usize; 4]) -> fmt::Result {
        let Self {
            name,
            lines,
            second,
            minute,
            mode,
        } = self;
        let [names, words, seconds, minutes] = widths;
        let mut lines = lines.iter();
        let first = lines.next().map_or("", String::as_str);
        write!(
            f,
            "  {name:names$}  {first:words$}  {second:>seconds$}  {minute:>minutes$}"
        )?;
        match *mode {
            "" => writeln!(f)?,
            mode => writeln!(f, "  {mode}")?,
        }
        lines.try_for_each(|line| writeln!(f, "  {:names$}  {line}", ""))
    }
}

/// `100+20n`: so much, and more for each of n processes.
fn number(most: Option<u64>, per_process: u64) -> String {
    match (most, per_process) {
        (None, _) => "–".to_owned(),
        (Some(most), 0) => grouped(most),
        (Some(most), more) => format!("{}+{}n", grouped(most), grouped(more)),
    }
}

/// Several promises as one text.
fn wrap_all<'w>(promises: impl Iterator<Item = &'w String>) -> Vec<String> {
    let promises = promises.map(String::as_str).filter(|text| !text.is_empty());
    wrap(&promises.collect::<Vec<_>>().join("; "), MEANING)
}

/// Breaks a text between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
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
        let lines = wrap(&"word ".repeat(30), MEANING);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= MEANING));
        assert_eq!(wrap("", MEANING), Vec::<String>::new());
        assert_eq!(wrap(&"x".repeat(80), MEANING).len(), 1);
    }
}
