//! Settings of a plan or an override as text.

use jeton_core::MAX_LIMIT;

use crate::checked::{Change, LIMITS, change_fits, changed};
use crate::diagnostic::{Fault, code};
use crate::rule::{Allowance, Rule};
use crate::units::{parse_duration, parse_rate, zero};

/// The settings of an override, by name, as text: `limit`, `window`, `rate`, `burst`, `lease`.
///
/// ```
/// use jeton_policy::Alternative;
/// let settings = Alternative::parse("rate=50/s\nburst=200\n")?;
/// assert_eq!(settings.get("burst"), Some("200"));
/// assert_eq!(settings.to_text(), "rate=50/s\nburst=200\n");
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternative(Vec<(String, String)>);

/// More settings than any algorithm has.
const MAX_SETTINGS: usize = 8;
/// Longer than any number, duration or rate.
const MAX_VALUE_BYTES: usize = 64;

impl Alternative {
    /// Settings by name. Which of them a rule takes, [`Policy::alternative`](crate::Policy::alternative)
    /// tells.
    ///
    /// # Errors
    /// [`Fault`] for a name that stands twice, and for what could be no setting of any rule.
    pub fn new<N, V>(settings: impl IntoIterator<Item = (N, V)>) -> Result<Self, Fault>
    where
        N: Into<String>,
        V: Into<String>,
    {
        let mut all = Self::default();
        for (name, value) in settings {
            all.push(name.into(), value.into())?;
        }
        if all.0.is_empty() {
            return Err(
                Fault::new(code::EMPTY, "an override without settings changes nothing")
                    .fix("limit = …, rate = …, or limit = \"unlimited\" or \"deny\""),
            );
        }
        Ok(all)
    }

    fn push(&mut self, name: String, value: String) -> Result<(), Fault> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        if name.is_empty() || name.len() > MAX_VALUE_BYTES || !name.bytes().all(is_name) {
            return Err(Fault::new(code::UNKNOWN, "this is no name of a setting").fix(NAMES));
        }
        if value.len() > MAX_VALUE_BYTES || value.chars().any(char::is_control) {
            let what = format!("`{name}` is no number, duration or rate");
            return Err(Fault::new(code::TYPE, what).fix(format!(
                "at most {MAX_VALUE_BYTES} characters, as in a policy"
            )));
        }
        if self.get(&name).is_some() {
            let what = format!("`{name}` stands twice");
            return Err(Fault::new(code::DUPLICATE, what).fix("write it once"));
        }
        if self.0.len() == MAX_SETTINGS {
            return Err(Fault::new(code::TOO_MANY, "no rule has so many settings").fix(NAMES));
        }
        self.0.push((name, value));
        Ok(())
    }

    /// The settings in their order.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.settings()
            .find_map(|(own, value)| (own == name).then_some(value))
    }

    /// One line `name=value` for each setting.
    pub fn to_text(&self) -> String {
        let line = |(name, value)| format!("{name}={value}\n");
        self.settings().map(line).collect()
    }

    /// Reads what [`Alternative::to_text`] wrote.
    ///
    /// # Errors
    /// [`Fault`] for what it cannot have written.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let pair = |line: &str| {
            let (name, value) = line.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        let pairs: Option<Vec<_>> = text.lines().map(pair).collect();
        match pairs {
            Some(pairs) => Self::new(pairs),
            None => Err(Fault::new(code::SYNTAX, "a line is no setting").fix("name=value")),
        }
    }

    /// What these settings make of a rule.
    pub(crate) fn applied(&self, rule: &Rule) -> Result<Allowance, Fault> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(word) = self.get("limit").filter(|text| !is_number(text)) {
            return match LIMITS.iter().find(|(own, _)| *own == word) {
                _ if self.0.len() > 1 => {
                    let what = "a word for `limit` and other settings exclude each other";
                    Err(Fault::new(code::CONTRADICTION, what).fix("the word alone"))
                }
                Some((_, allowance)) => Ok(*allowance),
                None => {
                    let what = format!("`limit` does not know the word {word:?}");
                    Err(Fault::new(code::WORD, what).fix("a number, \"unlimited\" or \"deny\""))
                }
            };
        }
        let Allowance::Quota(base) = &rule.allowance else {
            let what = format!("{:?} has no algorithm, so it takes a word only", rule.name);
            return Err(Fault::new(code::CONTRADICTION, what)
                .fix("limit = \"unlimited\", or limit = \"deny\""));
        };
        let mut change = Change::default();
        for (name, value) in self.settings() {
            change_fits(base, name)?;
            match name {
                "limit" => change.limit = Some(units(name, value)?),
                "window" => change.window = Some(parse_duration(value)?),
                "rate" => change.rate = Some(parse_rate(value)?),
                "lease" => change.lease = Some(parse_duration(value)?),
                _ => change.burst = Some(units(name, value)?),
            }
        }
        changed(base, &change)
            .map(Allowance::Quota)
            .map_err(|unfit| unfit.fault())
    }
}

const NAMES: &str = "limit, window, rate, burst or lease";

fn units(name: &str, text: &str) -> Result<u64, Fault> {
    let range = || {
        let what = format!("`{name}` is no whole number");
        Fault::new(code::NUMBER, what).fix(format!("a whole number from 1 to {MAX_LIMIT}"))
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>().map_err(|_| range())? {
        _ if !digits => Err(range()),
        0 => Err(zero(&format!("a {name} of 0"))),
        units if units > u64::from(MAX_LIMIT) => {
            let what = format!("`{name}` is above {MAX_LIMIT}");
            Err(Fault::new(code::NUMBER, what).fix(format!("{name} = {MAX_LIMIT}")))
        }
        units => Ok(units),
    }
}
