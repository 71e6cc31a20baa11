//! "Did you mean": the known word nearest to one that is not.

/// The candidate nearest to `word`, if it is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = word.to_ascii_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .map(|candidate| (distance(&folded, &candidate.replace('-', "_")), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).min(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Whether a word that may be anything is most likely meant to be `candidate`.
pub(crate) fn is_slip(word: &str, candidate: &str) -> bool {
    let folded = word.to_ascii_lowercase().replace('_', "-");
    word != candidate && distance(&folded, candidate) <= 2
}

/// Edits that turn one word into the other: insert, delete, replace, or swap two neighbours
/// (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    /// Longer words are nobody's slip of the fingers; this bounds the work.
    const LONGEST: usize = 64;
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().max(b.len()) > LONGEST {
        return usize::MAX;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let words = ["upstream", "listen", "rate", "burst", "ipv6_prefix"];
        assert_eq!(nearest("upsteam", words), Some("upstream"));
        assert_eq!(nearest("Listen", words), Some("listen"));
        assert_eq!(nearest("ipv6-prefix", words), Some("ipv6_prefix"));
        assert_eq!(nearest("brust", words), Some("burst"));
        assert_eq!(nearest("colour", words), None);
        assert_eq!(nearest(&"x".repeat(100_000), words), None);
    }

    #[test]
    fn a_word_of_ones_own_is_no_slip() {
        for slip in [
            "x-forward-for",
            "X_Forwarded_For",
            "x-forwarded-fo",
            "xforwarded-for",
        ] {
            assert!(is_slip(slip, "x-forwarded-for"), "{slip}");
        }
        for own in [
            "x-forwarded-for",
            "x-forwarded",
            "x-real-ip",
            "cf-connecting-ip",
        ] {
            assert!(!is_slip(own, "x-forwarded-for"), "{own}");
        }
    }

    #[test]
    fn distances_are_counted_in_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abcd", "acbd"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
