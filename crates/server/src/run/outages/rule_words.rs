//! What outage rules make of requests, in words.

use jeton::policy::{CompiledRule, OnFailure, Policy};

/// Names that a line holds.
const NAMES: usize = 3;

/// What becomes of the requests that a policy speaks of, as long as its store is away.
pub(super) fn without_store(policy: &Policy) -> String {
    let counts = |rule: &&CompiledRule| rule.quota().is_some() || rule.rule().plan.is_some();
    let counting = policy.rules().iter().filter(counts);
    let mut groups: Vec<(OnFailure, Vec<String>)> = Vec::new();
    for rule in counting {
        let name = rule.name().to_owned();
        match groups
            .iter_mut()
            .find(|(said, _)| *said == rule.on_failure())
        {
            Some((_, names)) => names.push(name),
            None => groups.push((rule.on_failure(), vec![name])),
        }
    }
    match groups.as_slice() {
        [] => "no rule counts anything".to_owned(),
        [(said, _)] => format!("on_failure = {}: {}", written(*said), meaning(*said)),
        _ => {
            let group = |(said, names): &(OnFailure, Vec<String>)| {
                let what = meaning(*said);
                format!("{} of {}: {what}", written(*said), list(names))
            };
            let groups: Vec<String> = groups.iter().map(group).collect();
            format!("on_failure = {}", groups.join("; "))
        }
    }
}

/// Rules by their names, a few of many.
pub(super) fn list(names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(NAMES));
    let plural = if names.len() == 1 { "" } else { "s" };
    let shown = shown.join(", ");
    match more.len() {
        0 => format!("rule{plural} {shown}"),
        more => format!("rule{plural} {shown} and {more} more"),
    }
}

fn written(said: OnFailure) -> String {
    match said {
        OnFailure::Local(_) => said.to_string(),
        word => format!("{:?}", word.to_string()),
    }
}

const fn meaning(said: OnFailure) -> &'static str {
    match said {
        OnFailure::Allow => "requests pass unlimited",
        OnFailure::Deny => "requests are refused with 503",
        OnFailure::Local(_) => "this process limits by itself, to that share",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton::policy::{NoReferences, Source};

    fn said(on_failure: &[&str]) -> String {
        let rule = |(at, said): (usize, &&str)| {
            format!(
                "[[rule]]\nname = \"r{at}\"\nkey = [\"client-ip\"]\nalgorithm = \"gcra\"\n\
                 rate = \"5/s\"\non_failure = {said}\n"
            )
        };
        let text: String = on_failure.iter().enumerate().map(rule).collect();
        let loaded = Policy::load(&Source::new("a", text), &NoReferences);
        without_store(&loaded.expect("a policy").policy)
    }

    #[test]
    fn one_word_for_all_is_told_once() {
        let allow = said(&["\"allow\"", "\"allow\""]);
        assert_eq!(allow, "on_failure = \"allow\": requests pass unlimited");
        assert_eq!(
            said(&["\"deny\""]),
            "on_failure = \"deny\": requests are refused with 503"
        );
    }

    #[test]
    fn several_are_told_with_their_rules() {
        let words = [
            "\"allow\"",
            "{ local = 0.5 }",
            "\"allow\"",
            "\"allow\"",
            "\"allow\"",
        ];
        assert_eq!(
            said(&words),
            "on_failure = \"allow\" of rules r0, r2, r3 and 1 more: requests pass unlimited; \
             { local = 0.5 } of rule r1: this process limits by itself, to that share"
        );
    }
}
