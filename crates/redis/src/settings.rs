//! Where the server is, and how it is used.

use std::fmt;
use std::time::Duration;

use crate::deployment::Deployment;

/// The longest time that a call can be allowed.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the server is, and how it is used.
///
/// ```
/// use jeton_redis::Settings;
/// let settings = Settings::new("redis://:hunter2@cache.example:6379/2");
/// assert_eq!(settings.timeout.as_millis(), 20);
/// assert!(!format!("{settings:?}").contains("hunter2"));
/// ```
#[derive(Clone)]
pub struct Settings {
    /// `redis://[user][:password@]host[:port][/db]`, `unix:///path?db=2&user=…&pass=…`,
    /// `redis-cluster://host,host…`, `redis-sentinel://host,host…/NAME[/db]`; `rediss…` with TLS
    /// (feature `tls`).
    pub url: String,
    /// With TLS: the root (PEM) by which servers are believed, in the place of the system's.
    pub tls_root: Option<Box<[u8]>>,
    /// Within this time a call is answered, one way or the other.
    pub timeout: Duration,
    /// Stands before every key, after `jeton1:`. Two prefixes share nothing.
    pub prefix: String,
    /// Keys of clients stand in the server as a hash keyed with this. All nodes must have the same.
    pub key_secret: Option<Box<[u8]>>,
}

impl Settings {
    /// The server at `url`, with a timeout of 20 ms.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            tls_root: None,
            timeout: Duration::from_millis(20),
            prefix: String::new(),
            key_secret: None,
        }
    }

    pub(crate) fn check(&self) -> Result<Deployment, SettingsError> {
        let is_plain = |c: char| c.is_ascii_graphic() && !"{}*?[]\\".contains(c);
        if !self.prefix.chars().all(is_plain) {
            return Err(SettingsError::Prefix);
        }
        if self.timeout.is_zero() || self.timeout > LONGEST_TIMEOUT {
            return Err(SettingsError::Timeout);
        }
        if self
            .key_secret
            .as_ref()
            .is_some_and(|secret| secret.is_empty())
        {
            return Err(SettingsError::EmptySecret);
        }
        Deployment::read(&self.url, self.tls_root.as_deref())
            .map_err(|reason| SettingsError::Url { reason })
    }
}

/// Neither the password nor the secret.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.check().map(|deployment| deployment.servers());
        f.debug_struct("Settings")
            .field("servers", &servers.unwrap_or_default())
            .field("timeout", &self.timeout)
            .field("prefix", &self.prefix)
            .field("key_secret", &self.key_secret.is_some())
            .finish_non_exhaustive()
    }
}

/// Why settings are no settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// The URL is none that can be connected to.
    Url {
        /// What is wrong with it.
        reason: String,
    },
    /// A prefix with braces, blanks, wildcards or anything but printable ASCII.
    Prefix,
    /// No time at all, or more than a minute.
    Timeout,
    /// A secret of no bytes hides nothing.
    EmptySecret,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { reason } => write!(
                f,
                "the store's url cannot be used ({reason}); write redis://host:port, unix:///path, \
                 redis-cluster://host,host or redis-sentinel://host,host/NAME"
            ),
            Self::Prefix => f.write_str(
                "a prefix is printable ASCII without blanks, braces and wildcards ({ } * ? [ ] \\)",
            ),
            Self::Timeout => f.write_str("a timeout is more than 0 and at most 60 s"),
            Self::EmptySecret => f.write_str("an empty key_secret hides nothing; leave it out"),
        }
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused_with_the_fix() {
        let good = Settings::new("redis://127.0.0.1");
        assert!(good.check().is_ok());
        let with = |change: fn(&mut Settings)| {
            let mut settings = good.clone();
            change(&mut settings);
            settings.check().map(|_| ())
        };
        assert_eq!(
            with(|s| s.prefix = "a{b}".into()),
            Err(SettingsError::Prefix)
        );
        assert_eq!(
            with(|s| s.timeout = Duration::ZERO),
            Err(SettingsError::Timeout)
        );
        assert_eq!(
            with(|s| s.key_secret = Some([].into())),
            Err(SettingsError::EmptySecret)
        );
        let refused = with(|s| s.url = "http://127.0.0.1".into()).unwrap_err();
        assert!(
            refused.to_string().contains("redis://host:port"),
            "{refused}"
        );
    }
}
