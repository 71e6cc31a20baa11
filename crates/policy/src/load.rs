//! From text to policy: raw, checked, compiled.

use crate::compiled::{Loaded, Policy};
use crate::diagnostic::{Report, code};
use crate::raw::{Context, Resolve};
use crate::source::Source;

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
        let report = cx.findings.into_report();
        match meaning {
            Some((settings, rules)) => Ok(Loaded {
                policy: Self::compile(settings, rules),
                report,
            }),
            None => Err(report),
        }
    }
}
