//! A request made by hand, for unit tests.

use std::net::IpAddr;

use crate::facts::Facts;

#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) client_ip: Option<IpAddr>,
    pub(crate) method: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Sample {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Facts for Sample {
    fn client_ip(&self) -> Option<IpAddr> {
        self.client_ip
    }

    fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for (_, value) in self.headers.iter().filter(|(key, _)| key == name) {
            each(value.as_bytes());
        }
    }
}
