//! Colour, in a terminal only, and never as the only carrier of a meaning.

use std::io::{IsTerminal, stderr, stdout};

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paint(bool);

const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const BLUE: &str = "\u{1b}[34m";
const ORANGE: &str = "\u{1b}[38;5;166m";
const RESET: &str = "\u{1b}[0m";

impl Paint {
    pub(super) fn for_stdout() -> Self {
        Self(stdout().is_terminal() && wanted())
    }

    pub(super) fn for_stderr() -> Self {
        Self(stderr().is_terminal() && wanted())
    }

    /// What was allowed.
    pub(super) fn allowed(self, text: &str) -> String {
        self.wrap(BLUE, text)
    }

    /// What was denied.
    pub(super) fn denied(self, text: &str) -> String {
        self.wrap(ORANGE, text)
    }

    fn wrap(self, colour: &str, text: &str) -> String {
        if self.0 {
            format!("{colour}{text}{RESET}")
        } else {
            text.to_owned()
        }
    }
}

/// <https://no-color.org>: set and not empty means none.
fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Findings about a policy, with the words and marks that matter in colour.
pub(super) fn findings(text: &str, paint: Paint) -> String {
    let lines: Vec<String> = text.lines().map(|line| finding_line(line, paint)).collect();
    lines.join("\n")
}

fn finding_line(line: &str, paint: Paint) -> String {
    for (word, colour) in [("error", RED), ("warning", YELLOW)] {
        if let Some(rest) = line.strip_prefix(word)
            && let Some(end) = rest.find(": ").filter(|_| rest.starts_with(['[', ':']))
        {
            return format!(
                "{}{}",
                paint.wrap(colour, &format!("{word}{}", &rest[..end])),
                &rest[end..]
            );
        }
    }
    match line.split_once(" | ") {
        Some((margin, marks))
            if margin.trim().is_empty() && marks.trim_start().starts_with('^') =>
        {
            format!("{margin} | {}", paint.wrap(RED, marks))
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        let text = "error[E012]: `rate` needs a unit\n  |\n2 | rate = \"20\"\n  |        ^^^^ 20 per what?";
        assert_eq!(findings(text, Paint(false)), text);
        let painted = findings(text, Paint(true));
        assert!(
            painted.starts_with("\u{1b}[1;31merror[E012]\u{1b}[0m: `rate`"),
            "{painted}"
        );
        assert!(
            painted.ends_with("| \u{1b}[1;31m       ^^^^ 20 per what?\u{1b}[0m"),
            "{painted}"
        );
    }
}
