//! The scripts, assembled from one file per algorithm and one for the plan.
//!
//! A script runs from its top for every call, and most of what a take costs is what Lua makes anew
//! each time. So a call is sent to a script that holds only the algorithms that its plans use, and in
//! which constants stand as their values.

use std::array::from_fn;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use jeton_core::Kind;

/// A script, and the hash by which the server knows it once it has seen it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha1: String,
}

impl Script {
    fn new(files: &[&str]) -> Self {
        let text = with_constants(files);
        let sha1 = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha1 }
    }
}

/// Sets, removes and lists notes.
pub(crate) static NOTES: LazyLock<Script> =
    LazyLock::new(|| Script::new(&[include_str!("../lua/notes.lua")]));

/// Each algorithm, and whether its states have a tail.
const ALGORITHMS: [(&str, bool); 6] = [
    (include_str!("../lua/bucket.lua"), false),
    (include_str!("../lua/fixed_window.lua"), false),
    (include_str!("../lua/sliding_counter.lua"), false),
    (include_str!("../lua/sliding_log.lua"), true),
    (include_str!("../lua/concurrency.lua"), true),
    (include_str!("../lua/ticket.lua"), false),
];

/// A set of algorithms: a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Algorithms(u8);

impl Algorithms {
    const SETS: usize = 1 << ALGORITHMS.len();

    fn contains(self, number: usize) -> bool {
        self.0 & 1 << number != 0
    }

    /// The script that decides plans which use no others.
    pub(crate) fn script(self) -> &'static Script {
        static SCRIPTS: LazyLock<[OnceLock<Script>; Algorithms::SETS]> =
            LazyLock::new(|| from_fn(|_| OnceLock::new()));
        // There are as many as sets.
        let script = &SCRIPTS[usize::from(self.0) % Self::SETS];
        script.get_or_init(|| Script::new(&self.files()))
    }

    fn files(self) -> Vec<&'static str> {
        let used = || {
            (0..)
                .zip(ALGORITHMS)
                .filter(|(number, _)| self.contains(*number))
        };
        let mut files = vec![
            include_str!("../lua/number.lua"),
            include_str!("../lua/clock.lua"),
            include_str!("../lua/state.lua"),
        ];
        if used().any(|(_, (_, has_tail))| has_tail) {
            files.push(include_str!("../lua/tail.lua"));
        }
        files.push(include_str!("../lua/algorithm.lua"));
        files.extend(used().map(|(_, (file, _))| file));
        files.push(include_str!("../lua/plan.lua"));
        files
    }
}

impl FromIterator<Kind> for Algorithms {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        let number = |kind| match kind {
            Kind::Bucket => 0,
            Kind::FixedEpoch | Kind::FixedFirst => 1,
            Kind::Counter => 2,
            Kind::Log => 3,
            Kind::Concurrency => 4,
            Kind::Ticket => 5,
        };
        Self(
            kinds
                .into_iter()
                .fold(0, |set, kind| set | 1 << number(kind)),
        )
    }
}

/// The files as one text, without comments, each constant replaced by its value: Lua would make a
/// variable of it for every call, and one more for every function that uses it.
fn with_constants(files: &[&str]) -> String {
    let mut constants = HashMap::new();
    let mut text = String::new();
    let lines = files.iter().flat_map(|file| file.lines());
    for line in lines {
        let code = line.split("--").next().unwrap_or_default().trim();
        if let Some(found) = constants_of(code) {
            constants.extend(found);
        } else if !code.is_empty() {
            replace(code, &constants, &mut text);
            text.push('\n');
        }
    }
    text
}

/// The names and values that a line like `local ONE, TWO = 1, 'two'` gives, if it is one.
fn constants_of(code: &str) -> Option<Vec<(&str, &str)>> {
    let (names, values) = code.strip_prefix("local ")?.split_once(" = ")?;
    let is_constant = |name: &&str| {
        name.bytes()
            .all(|c| matches!(c, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    let is_literal =
        |value: &&str| value.starts_with('\'') || value.bytes().all(|c| c.is_ascii_digit());
    let (names, values) = (names.split(", "), values.split(", "));
    let are_constants = names.clone().all(|name| is_constant(&name));
    let are_literals = values.clone().all(|value| is_literal(&value));
    (are_constants && are_literals).then(|| names.zip(values).collect())
}

/// Appends a line, in which words that are constants are replaced. Strings stay as they are.
fn replace(code: &str, constants: &HashMap<&str, &str>, text: &mut String) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (number, part) in code.split('\'').enumerate() {
        if number % 2 == 1 {
            text.extend(["'", part, "'"]);
            continue;
        }
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| is_word(c) != is_word(first));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            text.push_str(constants.get(word).copied().unwrap_or(word));
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_replaced_and_nothing_else_is() {
        let files = [
            "local ONE, KEY = 1, 'ONE two' -- said once\nlocal one = ONE",
            "\n  call(KEY, ONE + ONES, 'ONE') -- ONE\nlocal FUNCTION = f()\n",
        ];
        let text = "local one = 1\ncall('ONE two', 1 + ONES, 'ONE')\nlocal FUNCTION = f()\n";
        assert_eq!(with_constants(&files), text);
    }

    #[test]
    fn no_two_constants_have_one_name() {
        let all = Algorithms(u8::MAX);
        let files = all.files();
        let lines = files.iter().flat_map(|file| file.lines());
        let code = lines.filter_map(|line| constants_of(line.split("--").next()?.trim()));
        let mut names: Vec<&str> = code.flatten().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((count, count > 40), (names.len(), true));
    }

    #[test]
    fn a_script_holds_what_its_plans_use() {
        let text = |kinds: &[Kind]| &kinds.iter().copied().collect::<Algorithms>().script().text;
        let bucket = text(&[Kind::Bucket, Kind::Bucket]);
        assert!(bucket.contains("units_in") && !bucket.contains("is_whole"));
        assert!(text(&[]).len() < bucket.len());
        let both = text(&[Kind::Log, Kind::FixedFirst]);
        assert!(
            both.contains("is_whole") && both.contains("window_end") && !both.contains("units_in")
        );
    }
}
