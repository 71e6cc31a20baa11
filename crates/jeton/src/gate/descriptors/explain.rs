//! Why a request of descriptors would pass, or not: charges nothing.

use std::future::Future;

use super::draft::Intent;
use super::facts::DescriptorFacts;
use super::{DescriptorRequest, Gate};
use crate::gate::explain::Explained;

impl Gate {
    /// As [`Gate::explain`], of a request of descriptors: behind the rules stand the limits that files have
    /// for its domain. Charges nothing, creates no key, touches no meter.
    pub fn explain_descriptors(
        &self,
        request: &DescriptorRequest<'_>,
    ) -> impl Future<Output = Explained> + Send + use<> {
        let live = self.0.live.load_full();
        let reading = self.0.clock.reading();
        let policy = live.policy.explain_descriptors(
            &DescriptorFacts(request),
            (request.domain, &request.asked()),
            &live.orders,
            reading.at(),
            &self.0.fingerprints,
        );
        let ruling = self.rule_under(&live, request, reading, Intent::Look);
        async move {
            Explained {
                policy,
                answered: ruling.wait().await.answered,
            }
        }
    }
}
