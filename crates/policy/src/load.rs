//! From text to policy: raw, checked, compiled.

use crate::compiled::{Loaded, Policy};
use crate::diagnostic::{Fault, Report, code};
use crate::raw::{Context, Resolve, Table, Value};
use crate::source::{Mark, Source};

impl Policy {
    /// Reads a policy file. `references` answers `{ env = … }` and `{ file = … }`.
    ///
    /// ```
    /// use jeton_policy::{NoReferences, Policy, Source};
    /// let source = Source::new("jeton.toml", r#"
    ///     [[rule]]
    ///     name      = "everyone"
    ///     key       = ["client-ip"]
    ///     algorithm = "token-bucket"
    ///     rate      = "20/s"
    ///     burst     = 100
    /// "#);
    /// let loaded = Policy::load(&source, &NoReferences)?;
    /// assert_eq!(loaded.policy.rules()[0].name(), "everyone");
    /// assert!(loaded.report.is_empty());
    /// # Ok::<(), jeton_policy::Report>(())
    /// ```
    ///
    /// # Errors
    /// A [`Report`] with every mistake in the file, and its warnings.
    pub fn load(source: &Source, references: &dyn Resolve) -> Result<Loaded, Report> {
        let mut cx = Context::new(source, references);
        let table = crate::raw::parse(source.text(), &mut cx.findings);
        let broken = cx.findings.lines();
        let meaning = crate::checked::check(&mut cx, &table);
        if !broken.is_empty() {
            // What stands on a line that could not be read is not missing, and not wrong twice.
            cx.findings.retain(|code, line| {
                code == code::SYNTAX || (code != code::MISSING && !broken.contains(&line))
            });
        }
        if let Some(mark) = single_rule(source, &table) {
            // Every line from there on is read as the same rule again.
            let first = source.place(mark).line;
            cx.findings.retain(|_, line| line < first);
            let fault = Fault::new(code::TYPE, "`[rule]` can stand only once")
                .fix("[[rule]] before each rule");
            let _: Option<()> = cx.error(mark, fault);
        }
        let mut report = cx.findings.into_report();
        report.extend(cx.beside);
        match meaning {
            Some(meaning) => Ok(Loaded {
                policy: Self::compile(meaning.settings, meaning.rules, &meaning.domains),
                report,
            }),
            None => Err(report),
        }
    }
}

/// The first `[rule]`, which should have been `[[rule]]`.
fn single_rule(source: &Source, table: &Table) -> Option<Mark> {
    let Value::Table(_) = table.get("rule")?.value else {
        return None;
    };
    let text = source.text();
    let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let (start, line) = lines.find(|(_, line)| line.trim_start().starts_with("[rule]"))?;
    let start = start + line.len() - line.trim_start().len();
    Some(Mark::from(start..start + "[rule]".len()))
}
