//! The proxy and the API of the demo, on their usual ports or on free ones.

use std::net::{Ipv4Addr, SocketAddr};

use jeton::policy::{NoReferences, Policy, Source};

use crate::proxy::Address;
use crate::run::{Service, StartError};

/// What [`policy`] says, as the banner has it.
pub(super) const RULE_IN_WORDS: &str = "2/s per client, bursts to 10";

const PROXY_PORT: u16 = 8080;
const API_PORT: u16 = 7070;

pub(super) struct Stage {
    pub(super) service: Service,
    /// What is not as usual.
    pub(super) notes: Vec<String>,
}

/// Opens both listeners; a port that is taken is replaced by a free one.
pub(super) async fn set(example: SocketAddr) -> Result<Stage, String> {
    let (mut proxy, mut api) = (PROXY_PORT, API_PORT);
    let mut notes = Vec::new();
    loop {
        let policy = policy(example, proxy, api)?;
        let taken = match Service::bind(policy).await {
            Ok(service) => return Ok(Stage { service, notes }),
            Err(StartError::Bind(error)) if error.is_in_use() => tcp(error.address()),
            Err(error) => return Err(error.to_string()),
        };
        let port = taken.map_or(0, |address| address.port());
        match port {
            PROXY_PORT if proxy == PROXY_PORT => proxy = 0,
            API_PORT if api == API_PORT => api = 0,
            _ => return Err("no free port was found on 127.0.0.1".to_owned()),
        }
        notes.push(format!(
            "127.0.0.1:{port} is in use, so a free port is used instead"
        ));
    }
}

pub(super) const fn tcp(address: &Address) -> Option<SocketAddr> {
    match address {
        Address::Tcp(address) => Some(*address),
        Address::Unix(_) => None,
    }
}

fn policy(example: SocketAddr, proxy: u16, api: u16) -> Result<Policy, String> {
    let host = Ipv4Addr::LOCALHOST;
    let text = format!(
        r#"
[proxy]
listen   = "{host}:{proxy}"
upstream = "http://{example}"

[api]
listen = "{host}:{api}"

[[rule]]
name      = "everyone"
key       = ["client-ip"]
algorithm = "token-bucket"
rate      = "2/s"
burst     = 10
"#
    );
    let loaded = Policy::load(&Source::new("demo", text), &NoReferences);
    loaded
        .map(|loaded| loaded.policy)
        .map_err(|report| report.to_string())
}

#[cfg(test)]
mod tests {
    use jeton::policy::RuleWords;

    use super::*;

    #[test]
    fn the_banner_says_what_the_policy_says() {
        let policy = policy("127.0.0.1:3000".parse().unwrap(), 0, 0).unwrap();
        let words = RuleWords::of(policy.rules()[0].rule());
        assert_eq!(words.meaning.replace("address", "client"), RULE_IN_WORDS);
    }
}
