//! The kinds of findings. A code keeps its meaning for ever; a new kind gets a new one.

use serde::{Serialize, Serializer};

/// The kind of a finding: `E…` refuses the policy, `W1…` warns of a policy, `W2…` warns while
/// requests come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    id: &'static str,
    meaning: &'static str,
    page: &'static str,
}

impl Code {
    /// Such as `E012`.
    pub const fn id(self) -> &'static str {
        self.id
    }

    /// What findings of this kind have in common, in one sentence.
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }

    /// What `jeton help CODE` prints: what it means, why it matters, a bad policy with what is
    /// said of it, and a good one. Markdown that reads well as it is.
    pub const fn page(self) -> &'static str {
        self.page
    }

    /// The code that somebody names, in any case.
    ///
    /// ```
    /// use jeton_policy::Code;
    /// let code = Code::named("e012").ok_or("no such code")?;
    /// assert!(code.page().starts_with("# E012: A rate that cannot be read."));
    /// assert_eq!(Code::named("E999"), None);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn named(text: &str) -> Option<Self> {
        let is_it = |code: &&Self| code.id.eq_ignore_ascii_case(text);
        CODES.iter().find(is_it).copied()
    }

    /// `true` if it shows only while requests come, never in a file.
    pub fn is_of_run_time(self) -> bool {
        self.id.starts_with("W2")
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.id)
    }
}

/// Its id, not its page: findings that hold a code are printed whole.
impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

macro_rules! codes {
    ($($name:ident = $id:literal $meaning:literal;)+) => {
        /// One constant per code, for use within the crate.
        pub(crate) mod code {
            use super::Code;
            $(pub(crate) const $name: Code = Code {
                id: $id,
                meaning: $meaning,
                page: include_str!(concat!("pages/", $id, ".md")),
            };)+
        }

        /// Every code with its meaning, in order.
        pub const CODES: &[Code] = &[$(code::$name),+];
    };
}

codes! {
    SYNTAX = "E001" "A file is not valid TOML, or YAML.";
    UNKNOWN = "E002" "A section or setting that does not exist.";
    LATER = "E003" "A word of the policy language that this version does not support.";
    MISSING = "E004" "A setting that must be there is not.";
    TYPE = "E005" "A value of the wrong type, such as a number in quotes.";
    ZERO = "E006" "Zero never has a special meaning; there are words for that.";
    NUMBER = "E007" "A number that is negative, fractional, or out of range.";
    REFERENCE = "E008" "A value to be read from the environment or a file could not be.";
    WORD = "E009" "A word that is not one of those the setting takes.";
    DURATION = "E010" "A duration that cannot be read.";
    SIZE = "E011" "A size in bytes that cannot be read.";
    RATE = "E012" "A rate that cannot be read.";
    ADDRESS = "E013" "An address to listen on that cannot be read, or is used twice.";
    UPSTREAM = "E014" "An upstream that cannot be read or reached by this version.";
    NETWORK = "E015" "An address or network prefix that cannot be read.";
    NAME = "E016" "A name with characters it must not have, or of a wrong length.";
    DUPLICATE = "E017" "The same thing written twice.";
    CONTRADICTION = "E018" "Settings that exclude each other, or one that would have no effect.";
    QUOTA = "E019" "A limit that cannot be held exactly.";
    KEY = "E020" "A key part that cannot be read.";
    PATH = "E021" "A path pattern that cannot be read.";
    HOST = "E022" "A host that cannot be read.";
    METHOD = "E023" "A method that cannot be read.";
    REPLACES = "E024" "A rule cannot replace the rule it names.";
    EMPTY = "E025" "An empty list or text where it would match nothing.";
    TRUST = "E026" "Nothing says whose header is believed.";
    TOO_MANY = "E027" "More of something than one request could be decided by.";
    API_OPEN = "E028" "A door beyond this machine needs a token.";
    ORIGIN = "E029" "An origin that no browser sends.";
    STATUS = "E030" "A status code that cannot be read.";
    SOURCE = "E031" "A place that a plan or a cost cannot be read from.";
    TOO_DEAR = "E032" "A cost that a limit could never hold.";
    TOKEN = "E033" "A token that protects nothing.";
    STORE_URL = "E034" "A store's URL that cannot be read.";
    RLS_OPEN = "E036" "The rate limit service beyond this machine asks nobody who they are.";
    NO_RULES = "W101" "The policy has no rules, so nothing is limited.";
    BURST_ONE = "W102" "A burst of 1 refuses the second of two requests sent together.";
    TRUSTS_ALL = "W103" "Everybody is trusted or exempt.";
    WINDOW_EDGE = "W104" "A fixed window lets twice its limit through around its edge.";
    LOG_MEMORY = "W105" "A sliding log remembers every request of a window.";
    NO_ADDRESS = "W106" "Clients have no address here, so they share one counter.";
    REPLACED_SHADOW = "W108" "A rule in shadow has no vote, so it replaces no rule that has one.";
    NEVER_APPLIES = "W109" "A rule that no request can reach.";
    INVENTED_KEY = "W110" "A key that anyone can invent, without a rule by address beside it.";
    WEAK_TOKEN = "W111" "A token that may be guessed.";
    NOT_BELIEVED = "W112" "A plan or a cost that is never believed.";
    NOT_SETTLED = "W113" "A limit that waits for answers which no door here sees.";
    GATEWAY_ADDRESS = "W114" "Gateways are believed, and their clients have no address.";
    CHOSEN_PLAN = "W115" "A plan that clients choose for themselves.";
    SECRET_IN_FILE = "W116" "A secret of the store stands in the file.";
    LEASE_OF_NOTHING = "W117" "A lease that nobody can use.";
    BOUND_OF_NOTHING = "W118" "A bound of memory in which nothing is kept.";
    NO_FILE = "W119" "A file that is named and is not there.";
    NO_TIME_TO_SYNC = "W120" "A timeout shorter than a disk takes.";
    DESCRIPTORS = "W121" "Something about descriptors that is allowed, and hardly meant.";
    HEADER_NOT_READ = "W201" "A header that names clients is sent, and not read.";
    ONE_ADDRESS = "W202" "All clients seem to stand behind one address.";
    NO_CLIENT_ADDRESS = "W203" "A request came without a client's address.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn a_code_shows_its_id_and_not_its_page() {
        assert_eq!(format!("{:?}", code::RATE), "E012");
    }
}
