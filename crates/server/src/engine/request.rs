//! The facts of a request that an event describes.

use std::net::IpAddr;

use jeton::policy::Facts;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::{Address, Given, Headers, Named, Text};

/// A request as an event describes it. What is left out is not known, as behind a door that does
/// not know it either.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Request<'a> {
    /// The method, such as `GET`.
    method: Given<Text<'a>>,
    /// The path, with or without a query.
    path: Given<Text<'a>>,
    /// The host; that of the `host` field if left out.
    host: Given<Text<'a>>,
    /// The client's address, already found.
    client_ip: Given<Address>,
    /// The fields of its head: a text each, or an array of texts for several lines.
    headers: Given<Headers<'a>>,
    /// The domain of the descriptors, for `match.domain`.
    domain: Given<Text<'a>>,
    /// Facts that have a name only, for keys by `descriptor:NAME`.
    descriptors: Given<Named<'a>>,
}

impl Request<'_> {
    fn lines<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let fields = self.headers.0.iter().flat_map(|headers| &headers.0);
        fields
            .filter(move |(field, _)| field.as_str().eq_ignore_ascii_case(name))
            .flat_map(|(_, lines)| lines.iter())
    }

    /// Path and query as they stand on a request line.
    fn target(&self) -> (Option<&str>, Option<&str>) {
        let Some(path) = self.path.0.as_ref().map(Text::as_str) else {
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
        self.client_ip.0.map(|address| address.0)
    }

    fn method(&self) -> Option<&str> {
        self.method.0.as_ref().map(Text::as_str)
    }

    fn host(&self) -> Option<&str> {
        let host = self.host.0.as_ref().map(Text::as_str);
        host.or_else(|| self.lines("host").next())
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

    fn domain(&self) -> Option<&str> {
        self.domain.0.as_ref().map(Text::as_str)
    }

    fn descriptor(&self, name: &str) -> Option<&str> {
        let mut known = self.descriptors.0.iter().flat_map(|named| &named.0);
        let found = known.find(|(known, _)| known.as_str() == name);
        found.map(|(_, value)| value.as_str())
    }
}
