//! The facts of a request that an event describes.

use std::net::IpAddr;

use jeton::policy::Facts;
use serde::Deserialize;

use super::fields::{Address, Headers, Text, present};

/// A request as an event describes it. What is left out is not known, as behind a door that does
/// not know it either.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<Text<'a>>,
    /// With or without a query.
    #[serde(borrow, default, deserialize_with = "present")]
    path: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    host: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    client_ip: Option<Address>,
    #[serde(borrow, default, deserialize_with = "present")]
    headers: Option<Headers<'a>>,
}

impl Request<'_> {
    fn lines<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let fields = self.headers.iter().flat_map(|headers| &headers.0);
        fields
            .filter(move |(field, _)| field.as_str().eq_ignore_ascii_case(name))
            .flat_map(|(_, lines)| lines.iter())
    }

    /// Path and query as they stand on a request line.
    fn target(&self) -> (Option<&str>, Option<&str>) {
        let Some(path) = self.path.as_ref().map(Text::as_str) else {
            return (None, None);
        };
        match path.split_once('?') {
            Some((path, query)) => (Some(path), Some(query)),
            None => (Some(path), None),
        }
    }
}

impl Facts for Request<'_> {
    fn client_ip(&self) -> Option<IpAddr> {
        self.client_ip.map(|address| address.0)
    }

    fn method(&self) -> Option<&str> {
        self.method.as_ref().map(Text::as_str)
    }

    fn host(&self) -> Option<&str> {
        self.host
            .as_ref()
            .map(Text::as_str)
            .or_else(|| self.lines("host").next())
    }

    fn path(&self) -> Option<&str> {
        self.target().0
    }

    fn query(&self) -> Option<&str> {
        self.target().1
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        self.lines(name).for_each(|line| each(line.as_bytes()));
    }
}
