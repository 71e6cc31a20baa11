//! Matches compared: which requests two of them share, as far as their words tell.

use super::Match;
use crate::key::KeyPart;

impl Match {
    /// Whether this speaks of every request that `other` speaks of. `false` also where only a
    /// closer look would tell.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        within(&other.domains, &self.domains, |one, of| {
            one.get() == of.get()
        }) && self.covers_methods(other)
            && self.covers_paths(other)
            && within(&other.hosts, &self.hosts, |one, of| one.get() == of.get())
            && self.with.iter().all(|part| other.implies(part))
            && self.without.iter().all(|part| other.excludes(part))
            && self.headers.iter().all(|(name, value)| {
                let same = |field: &(String, _)| field.0 == *name && field.1 == *value;
                other.headers.iter().any(same)
            })
    }

    /// Two conditions that no request meets together.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let absent = |part: &&KeyPart| self.excludes(part);
        if let Some(part) = self.with.iter().find(absent) {
            return Some(format!(
                "`with` asks for \"{part}\", and `without` rules it out"
            ));
        }
        let field = |name: &String| KeyPart::Header(name.clone());
        let mut fields = self.headers.iter().map(|(name, _)| field(name));
        if let Some(part) = fields.find(|part| self.excludes(part)) {
            return Some(format!(
                "`header` asks for \"{part}\", and `without` rules it out"
            ));
        }
        // RFC 9110, section 9.3.6: the target of CONNECT is a host and a port.
        let connect = |method: &crate::Setting<String>| method.get() == "CONNECT";
        let pathless = !self.methods.is_empty() && self.methods.iter().all(connect);
        (pathless && !self.paths.is_empty()).then(|| "a CONNECT request has no path".to_owned())
    }

    fn covers_methods(&self, other: &Self) -> bool {
        within(&other.methods, &self.methods, |one, of| {
            of.get() == one.get() || (of.get() == "GET" && one.get() == "HEAD")
        })
    }

    fn covers_paths(&self, other: &Self) -> bool {
        (self.paths.is_empty() || !self.match_case || other.match_case)
            && within(&other.paths, &self.paths, |one, of| {
                of.get().covers(one.get(), self.match_case)
            })
    }

    /// Whether every request has the part.
    fn implies(&self, part: &KeyPart) -> bool {
        let cookies = |other: &KeyPart| matches!(other, KeyPart::Cookie(_));
        self.with.contains(part)
            || match part {
                KeyPart::Header(name) => {
                    self.headers.iter().any(|(field, _)| field == name)
                        || (name == "cookie" && self.with.iter().any(cookies))
                }
                _ => false,
            }
    }

    /// Whether no request has the part.
    pub(crate) fn excludes(&self, part: &KeyPart) -> bool {
        let cookies = || KeyPart::Header("cookie".to_owned());
        self.without.contains(part)
            || (matches!(part, KeyPart::Cookie(_)) && self.without.contains(&cookies()))
    }
}

/// Whether each of `some` is one of `all`, an empty list standing for everything.
fn within<T>(some: &[T], all: &[T], is: impl Fn(&T, &T) -> bool) -> bool {
    let known = |one: &T| all.iter().any(|of| is(one, of));
    all.is_empty() || (!some.is_empty() && some.iter().all(known))
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use proptest::prelude::*;

    use super::super::generated::{conditions, of, requests};
    use super::*;
    use crate::request::Request;

    #[test]
    fn a_wider_match_covers_a_narrower_one() {
        for (wide, narrow) in [
            ("", ""),
            ("", "path = \"/x\""),
            (
                "path = \"/{all..}\"",
                "path = [\"/x\", \"/y/{id}\", \"/z/{rest..}\"]",
            ),
            ("path = \"/a/{x}\"", "path = \"/A/b\""),
            ("path = \"/a/b\"", "path = \"/a/b\", match_case = true"),
            ("method = \"GET\"", "method = [\"GET\", \"HEAD\"]"),
            ("host = [\"a\", \"b\"]", "host = \"b\", method = \"GET\""),
            ("with = \"header:a\"", "with = [\"header:b\", \"header:a\"]"),
            ("with = \"header:a\"", "header = { a = \"1\" }"),
            ("with = \"header:cookie\"", "with = \"cookie:sid\""),
            ("without = \"cookie:sid\"", "without = \"header:cookie\""),
            (
                "header = { a = \"1\" }",
                "header = { a = \"1\", b = \"2\" }",
            ),
        ] {
            assert!(of(wide).covers(&of(narrow)), "{wide} covers {narrow}");
        }
    }

    #[test]
    fn a_narrower_or_other_match_does_not() {
        for (wide, narrow) in [
            ("path = \"/x\"", ""),
            ("path = \"/x\"", "path = [\"/x\", \"/y\"]"),
            ("path = \"/a/{x}\"", "path = \"/a/{x..}\""),
            ("path = \"/a\"", "path = \"/a/{x..}\""),
            ("path = \"/a/{x}\"", "path = \"/a/b/c\""),
            ("path = \"/a/b\"", "path = \"/a/{x}\""),
            ("path = \"/a/b/{x..}\"", "path = \"/a/{x..}\""),
            ("path = \"/a\", match_case = true", "path = \"/a\""),
            (
                "path = \"/a\", match_case = true",
                "path = \"/A\", match_case = true",
            ),
            ("method = \"HEAD\"", "method = \"GET\""),
            ("host = \"a\"", ""),
            ("with = \"header:a\"", "with = \"header:b\""),
            ("without = \"header:a\"", "with = \"header:b\""),
            ("without = \"header:cookie\"", "without = \"cookie:sid\""),
            ("header = { a = \"1\" }", "header = { a = \"2\" }"),
        ] {
            assert!(!of(wide).covers(&of(narrow)), "{wide} covers {narrow}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_covered_contradictory_or_apart_is_so(
            one in conditions(),
            two in conditions(),
            all in prop::collection::vec(requests(), 40),
        ) {
            let (wide, narrow) = (of(&one), of(&two));
            let covers = wide.covers(&narrow);
            for sample in &all {
                let request = Request::new(sample);
                let speaks = |of: &Match| of.meet(&request).is_ok();
                prop_assert!(!covers || !speaks(&narrow) || speaks(&wide), "{one} | {two} | {sample:?}");
                prop_assert!(wide.may_meet(&narrow) || !speaks(&wide) || !speaks(&narrow), "{one} | {two} | {sample:?}");
                prop_assert!(narrow.contradiction().is_none() || !speaks(&narrow), "{two} | {sample:?}");
            }
            prop_assert!(narrow.covers(&narrow), "{two}");
            prop_assert_eq!(wide.may_meet(&narrow), narrow.may_meet(&wide), "{} | {}", one, two);
        }
    }
}
