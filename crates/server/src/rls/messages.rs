//! The messages of `envoy.service.ratelimit.v3`, written by hand: a dozen, whose numbers are for ever.

use std::collections::HashMap;

/// `RateLimitRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RateLimitRequest {
    /// Which limits are asked about.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// What is limited, each for itself.
    #[prost(message, repeated, tag = "2")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// Units of each descriptor that does not say itself; 0 is 1.
    #[prost(uint32, tag = "3")]
    pub hits_addend: u32,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RateLimitDescriptor {
    /// In their order.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    /// A limit that holds instead of that of the service.
    #[prost(message, optional, tag = "2")]
    pub limit: Option<RateLimitOverride>,
    /// A `google.protobuf.UInt64Value`; 0 looks.
    #[prost(message, optional, tag = "3")]
    pub hits_addend: Option<u64>,
    /// Whether the units are given back.
    #[prost(bool, tag = "4")]
    pub is_negative_hits: bool,
}

/// `RateLimitDescriptor.Entry`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Entry {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it is.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `RateLimitDescriptor.RateLimitOverride`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RateLimitOverride {
    /// Requests in each unit.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// An `envoy.type.v3.RateLimitUnit`.
    #[prost(int32, tag = "2")]
    pub unit: i32,
}

/// `RateLimitResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RateLimitResponse {
    /// A [`Code`].
    #[prost(int32, tag = "1")]
    pub overall_code: i32,
    /// One for each descriptor, in their order.
    #[prost(message, repeated, tag = "2")]
    pub statuses: Vec<DescriptorStatus>,
    /// For the client.
    #[prost(message, repeated, tag = "3")]
    pub response_headers_to_add: Vec<HeaderValue>,
    /// For the service behind.
    #[prost(message, repeated, tag = "4")]
    pub request_headers_to_add: Vec<HeaderValue>,
    /// For a client that is refused.
    #[prost(bytes = "vec", tag = "5")]
    pub raw_body: Vec<u8>,
    /// For other filters.
    #[prost(message, optional, tag = "6")]
    pub dynamic_metadata: Option<Struct>,
}

/// `RateLimitResponse.DescriptorStatus`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DescriptorStatus {
    /// A [`Code`].
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// None if nothing limits it.
    #[prost(message, optional, tag = "2")]
    pub current_limit: Option<RateLimit>,
    /// What is left of it.
    #[prost(uint32, tag = "3")]
    pub limit_remaining: u32,
    /// Until it starts over.
    #[prost(message, optional, tag = "4")]
    pub duration_until_reset: Option<prost_types::Duration>,
}

/// `RateLimitResponse.RateLimit`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RateLimit {
    /// Requests in each unit.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// A `RateLimitResponse.RateLimit.Unit`.
    #[prost(int32, tag = "2")]
    pub unit: i32,
    /// What it is called.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HeaderValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `RateLimitResponse.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// It passes.
    Ok = 1,
    /// It is refused.
    OverLimit = 2,
}

/// `google.protobuf.Struct`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Struct {
    /// By name.
    #[prost(map = "string, message", tag = "1")]
    pub fields: HashMap<String, Value>,
}

/// `google.protobuf.Value`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Value {
    /// One of them.
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<Kind>,
}

/// What a [`Value`] is.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    /// Nothing.
    #[prost(int32, tag = "1")]
    Null(i32),
    /// A number.
    #[prost(double, tag = "2")]
    Number(f64),
    /// A text.
    #[prost(string, tag = "3")]
    Text(String),
    /// True or false.
    #[prost(bool, tag = "4")]
    Flag(bool),
    /// A map.
    #[prost(message, tag = "5")]
    Map(Struct),
    /// A list.
    #[prost(message, tag = "6")]
    List(ListValue),
}

/// `google.protobuf.ListValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListValue {
    /// In their order.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Value>,
}

impl From<Kind> for Value {
    fn from(kind: Kind) -> Self {
        Self { kind: Some(kind) }
    }
}
