//! `on_failure`, in `[store]` and in a rule.

use crate::language::names;
use crate::raw::{self, Context, Section, Table, Value};
use crate::rule::OnFailure;

const WORDS: [(&str, OnFailure); 2] = [("allow", OnFailure::Allow), ("deny", OnFailure::Deny)];
pub(super) const ON_FAILURE_WORDS: &[&str] = &names(&WORDS);

/// What becomes of requests that the store gives no decision about.
pub(super) fn on_failure(cx: &mut Context<'_>, section: &Section<'_>) -> Option<OnFailure> {
    let item = section.item("on_failure")?;
    let local = |table: &Table| table.get("local").is_some();
    if matches!(&item.value, Value::Table(table) if local(table)) {
        return cx.error(item.mark, raw::LOCAL.fault("`on_failure = { local = … }`"));
    }
    section.word(cx, "on_failure", &WORDS, &[])
}
