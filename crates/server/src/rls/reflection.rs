//! What the service says of itself to tools that ask, such as `grpcurl`.

use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use prost_types::FileDescriptorSet;
use tonic::codegen::Service as _;
use tonic_reflection::server::Builder;

use super::protos;
use super::service::Answering;

/// A service that answers one version of the question.
pub(super) type Answer = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// Both versions of the service that tools ask.
pub(super) struct Reflection {
    v1: Option<Answer>,
    v1alpha: Option<Answer>,
}

impl Reflection {
    pub(super) fn new() -> Self {
        let builder = || {
            Builder::configure()
                .register_file_descriptor_set(FileDescriptorSet {
                    file: protos::files(),
                })
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let v1 = builder().build_v1().ok();
        let v1alpha = builder().build_v1alpha().ok();
        Self {
            v1: v1.map(|own| -> Answer { Arc::new(move |request| own.clone().call(request)) }),
            v1alpha: v1alpha
                .map(|own| -> Answer { Arc::new(move |request| own.clone().call(request)) }),
        }
    }

    /// What answers questions at a path.
    pub(super) fn at(&self, path: &str) -> Option<&Answer> {
        let is_alpha = path.starts_with("/grpc.reflection.v1alpha.");
        let answer = if is_alpha { &self.v1alpha } else { &self.v1 };
        answer.as_ref()
    }
}
