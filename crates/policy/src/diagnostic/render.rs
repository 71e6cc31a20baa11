//! Findings as text: plain, so that a terminal may colour it and a file may hold it.

use std::fmt;

use super::Diagnostic;

/// Characters of a line that are shown; a longer one is cut around the mark.
const WIDTH: usize = 120;
/// Characters shown before the mark of a line that is cut.
const BEFORE: usize = 40;

impl Diagnostic {
    /// Three lines instead of seven: for warnings below a table.
    ///
    /// ```text
    /// warning[W102]: "api" has a burst of 1    jeton.toml:9:13
    ///   fix:  burst = 20
    ///   more: jeton help W102
    /// ```
    pub const fn short(&self) -> Short<'_> {
        Short(self)
    }

    /// Where it stands: `jeton.toml:14:13`.
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            severity,
            what,
            line,
            label,
            fix,
            ..
        } = self;
        let margin = line.to_string().len();
        let cut = Cut::around(self);
        writeln!(f, "{}[{code}]: {what}", severity.as_str())?;
        writeln!(f, "{:margin$}--> {}", "", self.place())?;
        writeln!(f, "{:margin$} |", "")?;
        writeln!(f, "{line} | {}", cut.text)?;
        write!(
            f,
            "{:margin$} | {}{}",
            "",
            cut.padding,
            "^".repeat(cut.carets)
        )?;
        if !label.is_empty() {
            write!(f, " {label}")?;
        }
        writeln!(f)?;
        if !fix.is_empty() {
            writeln!(f, "{:margin$} = fix:  {fix}", "")?;
        }
        writeln!(f, "{:margin$} = more: jeton help {code}", "")
    }
}

/// A [`Diagnostic`] in three lines; see [`Diagnostic::short`].
#[derive(Debug)]
pub struct Short<'a>(&'a Diagnostic);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic {
            code,
            severity,
            what,
            fix,
            ..
        } = self.0;
        write!(
            f,
            "{}[{code}]: {what}    {}",
            severity.as_str(),
            self.0.place()
        )?;
        if !fix.is_empty() {
            write!(f, "\n  fix:  {fix}")?;
        }
        write!(f, "\n  more: jeton help {code}")
    }
}

/// The part of a line that is shown.
struct Cut {
    text: String,
    /// What stands before the carets, tabs kept so that they line up.
    padding: String,
    carets: usize,
}

impl Cut {
    fn around(found: &Diagnostic) -> Self {
        let column = found.column - 1;
        let total = found.excerpt.chars().count();
        let skip = if total > WIDTH {
            column.saturating_sub(BEFORE)
        } else {
            0
        };
        let shown = found.excerpt.chars().skip(skip).take(WIDTH).map(harmless);
        let padding = shown
            .clone()
            .take(column - skip)
            .map(|c| if c == '\t' { c } else { ' ' });
        Self {
            padding: padding.collect(),
            carets: found
                .length
                .min((skip + WIDTH).saturating_sub(column))
                .max(1),
            text: shown.collect(),
        }
    }
}

/// A file must not steer the terminal it is shown on, nor reorder what is read there.
fn harmless(c: char) -> char {
    let bidi =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if (c.is_control() && c != '\t') || bidi {
        '\u{fffd}'
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Fault, Findings, code};
    use crate::source::Source;

    fn render(text: &str, range: std::ops::Range<usize>) -> String {
        let source = Source::new("jeton.toml", text);
        let mut findings = Findings::new(&source);
        let fault = Fault::new(code::RATE, "`rate` needs a unit").label("20 per what?");
        let _: Option<()> = findings.error(range.into(), fault.fix("rate = \"20/s\""));
        findings.into_report().to_string()
    }

    #[test]
    fn shows_the_line_and_points_at_the_word() {
        let expected = "\
error[E012]: `rate` needs a unit
 --> jeton.toml:2:12
  |
2 | rate     = \"20\"
  |            ^^^^ 20 per what?
  = fix:  rate = \"20/s\"
  = more: jeton help E012

1 error, 0 warnings";
        assert_eq!(render("[[rule]]\nrate     = \"20\"\n", 20..24), expected);
    }

    #[test]
    fn a_long_line_is_cut_and_the_terminal_is_not_steered() {
        let text = format!("{}\u{1b}[31m{}", "a".repeat(5_000), "b".repeat(5_000));
        let shown = render(&text, 5_000..5_005);
        assert!(shown.len() < 1_000 && !shown.contains('\u{1b}'), "{shown}");
        assert!(shown.contains("\u{fffd}[31mbbb"));
    }
}
