//! What to do about a text that is no YAML, as far as the parser's words tell.

/// Words of the parser, and what helps. The first that fit are taken.
const HINTS: [(&[&str], &str); 4] = [
    (&["tab"], "indent by spaces; tabs do not count"),
    (
        &["quoted scalar"],
        "close the quotes, on the same line if that is meant",
    ),
    (
        &["flow sequence", "flow mapping"],
        "close the bracket: [ a, b ] or { key: value }",
    ),
    (
        &[
            "block collection",
            "block mapping",
            "mapping values are not allowed",
            "indent",
        ],
        "keys of one map begin in one column, and a text with \": \" in it goes in \"quotes\"",
    ),
];

/// What helps.
pub(super) fn of(words: &str) -> &'static str {
    let fits = |(some, _): &&(&[&str], _)| some.iter().any(|one| words.contains(one));
    HINTS.iter().find(fits).map_or(
        "put the text in \"quotes\"; so must be what begins with * & ! @ % ` [ or {",
        |(_, hint)| hint,
    )
}
