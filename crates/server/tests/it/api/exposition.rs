//! `/metrics` as a strict reader of `OpenMetrics` 1.0 sees it: what Prometheus would refuse fails.

use std::collections::{BTreeMap, BTreeSet};

use super::{api, post};
use crate::support::curl;

/// One line of values.
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// What stands between two `# TYPE` lines.
#[derive(Default)]
struct Family {
    kind: String,
    has_help: bool,
    samples: Vec<Sample>,
}

type Families = BTreeMap<String, Family>;

/// Reads a whole exposition; says which line is wrong.
fn read(text: &str) -> Result<Families, String> {
    let lines = text
        .strip_suffix("# EOF\n")
        .ok_or("does not end in # EOF and a line feed")?;
    let mut families = Families::new();
    let mut current = String::new();
    for line in lines.lines() {
        let wrong = |what: &str| format!("{what}: {line:?}");
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (word, name) = (words.next(), words.next().ok_or_else(|| wrong("no name"))?);
            let rest = words.next().ok_or_else(|| wrong("nothing said"))?;
            if name != current {
                if families.contains_key(name) {
                    return Err(wrong("a family comes twice"));
                }
                name.clone_into(&mut current);
            }
            let family = families.entry(current.clone()).or_default();
            let is_first = match word {
                Some("HELP") => !std::mem::replace(&mut family.has_help, true),
                Some("TYPE") => std::mem::replace(&mut family.kind, rest.to_owned()).is_empty(),
                Some("UNIT") => name.ends_with(&format!("_{rest}")),
                _ => return Err(wrong("a comment of no kind")),
            };
            if !is_first || !family.samples.is_empty() {
                return Err(wrong("told twice, late or in another unit"));
            }
            continue;
        }
        let sample = sample(line).ok_or_else(|| wrong("no sample"))?;
        let family = families
            .get_mut(&current)
            .ok_or_else(|| wrong("no family"))?;
        let suffix = sample.name.strip_prefix(current.as_str());
        let allowed: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => return Err(wrong("a family of no kind")),
        };
        if !suffix.is_some_and(|suffix| allowed.contains(&suffix)) {
            return Err(wrong("a name that is not the family's"));
        }
        family.samples.push(sample);
    }
    families.iter().try_for_each(check)?;
    Ok(families)
}

fn check((name, family): (&String, &Family)) -> Result<(), String> {
    if family.kind.is_empty() || !family.has_help || family.samples.is_empty() {
        return Err(format!("{name} lacks its type, its help or its samples"));
    }
    let mut seen = BTreeSet::new();
    let twice = |sample: &&Sample| !seen.insert((sample.name.clone(), sample.labels.clone()));
    if family.samples.iter().find(twice).is_some() {
        return Err(format!("{name} has a sample twice"));
    }
    match family.kind.as_str() {
        "histogram" => check_histogram(name, &family.samples),
        "counter" if family.samples.iter().any(|it| it.value < 0.0) => {
            Err(format!("{name} counts below zero"))
        }
        _ => Ok(()),
    }
}

/// Buckets rise to a last one that is boundless and holds all there is.
fn check_histogram(name: &str, samples: &[Sample]) -> Result<(), String> {
    let mut buckets = Vec::new();
    for bucket in samples.iter().filter(|it| it.name.ends_with("_bucket")) {
        let bound = bucket.labels.get("le").map(String::as_str);
        let bound = match bound {
            Some("+Inf") => f64::INFINITY,
            Some(bound) => bound.parse().map_err(|_| format!("{name}: le={bound:?}"))?,
            None => return Err(format!("{name}: a bucket without a bound")),
        };
        if bound > 1e300 && bound.is_finite() {
            return Err(format!("{name}: le={bound:e} stands for +Inf"));
        }
        buckets.push((bound, bucket.value));
    }
    let rises = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
    if !buckets.windows(2).all(rises) {
        return Err(format!("{name}: buckets that do not rise: {buckets:?}"));
    }
    let one = |suffix: &str| {
        let mut found = samples.iter().filter(|it| it.name.ends_with(suffix));
        found
            .next()
            .filter(|_| found.next().is_none())
            .map(|it| it.value)
    };
    let (count, sum) = (one("_count"), one("_sum"));
    let whole = count.map(|count| (f64::INFINITY, count));
    if whole.is_none() || buckets.last().copied() != whole {
        return Err(format!(
            "{name}: no +Inf bucket equal to its count {count:?}"
        ));
    }
    match sum {
        Some(sum) if sum >= 0.0 => Ok(()),
        _ => Err(format!("{name}: a sum of {sum:?}")),
    }
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !name.is_empty() && name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
                return None;
            }
            rest = match after.strip_prefix(',') {
                Some(more) if !more.starts_with('}') => more,
                Some(_) => return None,
                None => after,
            };
            if rest == after && !rest.starts_with('}') {
                return None;
            }
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ')?;
    let value = (!value.contains(' ')).then(|| value.parse().ok())??;
    is_name(name).then(|| Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            }),
            char => value.push(char),
        }
    }
    None
}

/// A name with all that may stand in one and means something here.
const ODD_NAME: &str = "a{b=c},d e #}";

#[test]
fn metrics_are_what_a_strict_reader_accepts() {
    let rule = "key = [\"client-ip\"]\nalgorithm = \"token-bucket\"\nrate = \"3/s\"\nburst = 5\n";
    let jeton = api(&format!(
        "[[rule]]\nname = \"api\"\n{rule}\n[[rule]]\nname = \"{ODD_NAME}\"\n{rule}"
    ));
    let address = jeton.api_address();
    let before = read(&jeton.metrics()).expect("before the first decision");
    assert_eq!(before["jeton_decision_seconds"].kind, "histogram");
    for _ in 0..7 {
        post(address, "/v1/take", r#"{"rule":"api","key":"alice"}"#);
    }
    let families = read(&jeton.metrics()).expect("after some");
    let histogram = &families["jeton_decision_seconds"].samples;
    let counted = histogram.iter().find(|it| it.name.ends_with("_count"));
    assert_eq!(counted.map(|it| it.value), Some(7.0));
    let limits = families["jeton_rule_limit"].samples.iter();
    let names: Vec<_> = limits.filter_map(|it| it.labels.get("rule")).collect();
    assert_eq!(names, ["api", ODD_NAME]);
}

#[test]
fn the_media_type_is_that_of_the_text() {
    let jeton = api("[[rule]]\nname = \"no\"\nlimit = \"deny\"\n");
    let url = format!("http://{}/metrics", jeton.api_address());
    let head = curl(&["-D", "-", "-o", "/dev/null", &url]);
    let types: Vec<_> = head
        .lines()
        .filter(|it| it.starts_with("content-type:"))
        .collect();
    assert_eq!(
        types,
        ["content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"]
    );
}

#[test]
fn the_reader_refuses_what_is_wrong() {
    let good = "# HELP a_seconds x\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\n\
                a_seconds_sum 1.5\na_seconds_count 2\na_seconds_bucket{le=\"0.5\"} 1\n\
                a_seconds_bucket{le=\"+Inf\"} 2\n# EOF\n";
    read(good).expect("a good one");
    for (from, to) in [
        ("+Inf", "1.7976931348623157e308"),
        ("count 2", "count 3"),
        ("\"0.5\"} 1", "\"0.5\"} 3"),
        ("# HELP a_seconds x\n", ""),
        ("# EOF\n", ""),
        ("seconds_sum", "seconds_total"),
        ("le=\"0.5\"", "le=\"0.5"),
        ("UNIT a_seconds seconds", "UNIT a_seconds bytes"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(read(&bad).is_err(), "accepted: {bad}");
    }
}
