//! What one request costs, and which ones count.

use std::fmt;

/// Units of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSpec {
    /// The same for each. The default is 1.
    Fixed(u64),
    /// As many as a header field says, by its name in lower case; 1 without it. Believed from
    /// trusted peers only.
    Request(String),
    /// As many as the answer says; until then, an estimate.
    Response {
        /// Where the answer says it.
        source: ResponseCost,
        /// Held until it does, and charged if it never does.
        estimate: u64,
    },
}

impl Default for CostSpec {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

/// Where an answer says what its request cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseCost {
    /// A header field, by its name in lower case.
    Header(String),
    /// A trailer field, by its name in lower case.
    Trailer(String),
}

impl fmt::Display for ResponseCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Trailer(name) => write!(f, "trailer:{name}"),
        }
    }
}

/// A set of HTTP status codes from 100 to 599.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSet([u64; 8]);

impl StatusSet {
    /// The least status code.
    pub const FIRST: u16 = 100;
    /// The greatest status code.
    pub const LAST: u16 = 599;

    /// Whether an answer with this status is in it.
    ///
    /// ```
    /// use jeton_policy::StatusSet;
    /// let wrong = StatusSet::from_iter([401, 403]);
    /// assert!(wrong.contains(401) && !wrong.contains(200));
    /// assert!(!wrong.contains(0) && !wrong.contains(u16::MAX));
    /// ```
    pub fn contains(&self, status: u16) -> bool {
        let place = place(status).and_then(|(word, bit)| Some(self.0.get(word)? & bit));
        place.is_some_and(|bit| bit != 0)
    }

    /// Whether no answer is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Its codes in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        (Self::FIRST..=Self::LAST).filter(|status| self.contains(*status))
    }
}

/// Codes outside of 100 to 599 are left out.
impl FromIterator<u16> for StatusSet {
    fn from_iter<I: IntoIterator<Item = u16>>(codes: I) -> Self {
        let mut set = Self::default();
        for (word, bit) in codes.into_iter().filter_map(place) {
            if let Some(word) = set.0.get_mut(word) {
                *word |= bit;
            }
        }
        set
    }
}

/// Ranges as people write them: `401, 403`, `500-599`.
impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut codes = self.iter().peekable();
        let mut between = "";
        while let Some(first) = codes.next() {
            let mut last = first;
            while let Some(next) = codes.next_if_eq(&(last + 1)) {
                last = next;
            }
            f.write_str(between)?;
            between = ", ";
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}-{last}")?;
            }
        }
        Ok(())
    }
}

fn place(status: u16) -> Option<(usize, u64)> {
    if !(StatusSet::FIRST..=StatusSet::LAST).contains(&status) {
        return None;
    }
    let at = status - StatusSet::FIRST;
    Some((usize::from(at / 64), 1 << (at % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_place() {
        for code in StatusSet::FIRST..=StatusSet::LAST {
            let set = StatusSet::from_iter([code]);
            assert_eq!(set.iter().collect::<Vec<_>>(), [code]);
            assert_eq!(set.to_string(), code.to_string());
        }
        assert!(StatusSet::from_iter([0, 99, 600, u16::MAX]).is_empty());
    }

    #[test]
    fn neighbours_are_written_as_a_range() {
        let codes = (500..=599).chain([401, 403, 402, 404, 100]);
        let set: StatusSet = codes.collect();
        assert_eq!(set.to_string(), "100, 401-404, 500-599");
    }
}
