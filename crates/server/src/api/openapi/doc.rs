//! What a caller must know of a route.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

use crate::api::answer::ProblemDocument;
use crate::metrics;

/// The schema of a type, by reference where it has a name.
pub(in crate::api) type Shape = fn(&mut SchemaGenerator) -> Schema;

pub(in crate::api) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What a caller must know of a route.
pub(in crate::api) struct Doc {
    /// A name that clients are generated with; it stays.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// Besides the refusals that all routes have.
    pub(super) answers: Vec<Answer>,
}

pub(in crate::api) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) what: &'static str,
    pub(super) shape: Shape,
    pub(super) is_needed: bool,
}

pub(super) struct Body {
    pub(super) shape: Shape,
    pub(super) most_bytes: usize,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) what: &'static str,
    pub(super) content: Option<(Media, Shape)>,
    /// Names of fields that it may have.
    pub(super) fields: &'static [&'static str],
}

/// The media types that are answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Media {
    Json,
    Problem,
    Text,
    Metrics,
}

impl Media {
    pub(in crate::api) const fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Problem => "application/problem+json",
            Self::Text => "text/plain; charset=utf-8",
            Self::Metrics => metrics::CONTENT_TYPE,
        }
    }
}

/// The fields of a request that may pass.
pub(in crate::api) const OF_PASSES: &[&str] = &["ratelimit-policy", "ratelimit", "x-jeton-limited"];

/// The fields of a refusal.
pub(in crate::api) const OF_REFUSALS: &[&str] = &["retry-after", "ratelimit-policy", "ratelimit"];

impl Doc {
    pub(in crate::api) const fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
        }
    }

    /// It reads a body.
    pub(in crate::api) fn takes<T: JsonSchema>(mut self, most_bytes: usize) -> Self {
        self.body = Some(Body {
            shape: shape::<T>,
            most_bytes,
        });
        self
    }

    /// It answers 200 with a value as JSON.
    pub(in crate::api) fn gives<T: JsonSchema>(self, what: &'static str) -> Self {
        self.answers_with::<T>(200, what, Media::Json, &[])
    }

    pub(in crate::api) fn answers_with<T: JsonSchema>(
        mut self,
        status: u16,
        what: &'static str,
        media: Media,
        fields: &'static [&'static str],
    ) -> Self {
        let content = Some((media, shape::<T> as Shape));
        self.answers.push(Answer {
            status,
            what,
            content,
            fields,
        });
        self
    }

    /// It may refuse with a problem.
    pub(in crate::api) fn refuses(self, status: u16, what: &'static str) -> Self {
        self.answers_with::<ProblemDocument>(status, what, Media::Problem, &[])
    }

    /// It answers without a body.
    pub(in crate::api) fn empty(
        mut self,
        status: u16,
        what: &'static str,
        fields: &'static [&'static str],
    ) -> Self {
        self.answers.push(Answer {
            status,
            what,
            content: None,
            fields,
        });
        self
    }

    /// It has a parameter in its query that may be left out.
    pub(in crate::api) fn asks<T: JsonSchema>(
        self,
        name: &'static str,
        what: &'static str,
    ) -> Self {
        self.parameter::<T>(name, "query", what)
    }

    /// Part of its path is a parameter.
    pub(in crate::api) fn at<T: JsonSchema>(self, name: &'static str, what: &'static str) -> Self {
        self.parameter::<T>(name, "path", what)
    }

    fn parameter<T: JsonSchema>(
        mut self,
        name: &'static str,
        place: &'static str,
        what: &'static str,
    ) -> Self {
        self.parameters.push(Parameter {
            name,
            place,
            what,
            shape: shape::<T>,
            is_needed: place == "path",
        });
        self
    }
}
