//! Whether two matches can speak of one request, as far as their words tell.

use super::Match;
use crate::key::KeyPart;
use crate::setting::Setting;

impl Match {
    /// Whether some request may meet both. `true` also where only a closer look would tell that
    /// none does.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        let get = |one: &str, of: &str| one == "GET" && of == "HEAD";
        let fold = !self.match_case || !other.match_case;
        share(&self.domains, &other.domains, |one, of| one == of)
            && share(&self.methods, &other.methods, |one, of| {
                one == of || get(one, of) || get(of, one)
            })
            && share(&self.hosts, &other.hosts, |one, of| one == of)
            && share(&self.paths, &other.paths, |one, of| one.may_meet(of, !fold))
            && !self.rules_out(other)
            && !other.rules_out(self)
    }

    /// Whether no request of `other` meets this: it asks for a part that this must not have.
    fn rules_out(&self, other: &Self) -> bool {
        let field = |name: &String| self.excludes(&KeyPart::Header(name.clone()));
        other.with.iter().any(|part| self.excludes(part))
            || other.headers.iter().any(|(name, _)| field(name))
    }
}

/// Whether one of some is like one of others, an empty list standing for everything.
fn share<T>(some: &[Setting<T>], others: &[Setting<T>], like: impl Fn(&T, &T) -> bool) -> bool {
    let known = |one: &Setting<T>| others.iter().any(|of| like(one.get(), of.get()));
    some.is_empty() || others.is_empty() || some.iter().any(known)
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::super::generated::of;

    #[test]
    fn matches_that_share_a_request_meet() {
        for (one, other) in [
            ("", ""),
            ("", "path = \"/x\""),
            ("path = \"/a/{x}\"", "path = [\"/y\", \"/{x}/b\"]"),
            ("path = \"/a/{x..}\"", "path = \"/a/b/c\""),
            ("path = \"/a/{x..}\"", "path = \"/{y..}\""),
            ("path = \"/A\", match_case = true", "path = \"/a\""),
            ("method = \"GET\"", "method = [\"POST\", \"HEAD\"]"),
            ("method = \"HEAD\"", "method = \"GET\""),
            ("host = [\"a\", \"b\"]", "host = \"b\""),
            ("with = \"header:a\"", "without = \"header:b\""),
            // Of a field that is sent twice, each line is one.
            ("header = { a = \"1\" }", "header = { a = \"2\" }"),
        ] {
            let (one, other) = (of(one), of(other));
            assert!(
                one.may_meet(&other) && other.may_meet(&one),
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn matches_that_exclude_each_other_do_not() {
        for (one, other) in [
            ("path = \"/a\"", "path = \"/b\""),
            ("path = \"/a\"", "path = \"/a/{x}\""),
            (
                "path = \"/a/b/c/{x..}\"",
                "path = [\"/a/{y}\" , \"/c/{y..}\"]",
            ),
            (
                "path = \"/A\", match_case = true",
                "path = \"/a\", match_case = true",
            ),
            ("method = \"POST\"", "method = [\"GET\", \"PUT\"]"),
            ("host = \"a\"", "host = \"b\""),
            ("with = \"header:a\"", "without = \"header:a\""),
            ("header = { a = \"1\" }", "without = \"header:a\""),
            ("with = \"cookie:a\"", "without = \"header:cookie\""),
        ] {
            let (one, other) = (of(one), of(other));
            assert!(
                !one.may_meet(&other) && !other.may_meet(&one),
                "{one:?} {other:?}"
            );
        }
    }
}
