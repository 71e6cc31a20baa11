//! Which layers have charged a request: left in its extensions, so that one request charges one
//! counter once however often a layer stands on its path.

use std::sync::Arc;

use http::Extensions;
use smallvec::SmallVec;

use super::decider::Decider;

/// The layers that have charged this request. They are kept alive so that no other can be taken
/// for one of them.
#[derive(Clone, Default)]
pub(super) struct Charged(SmallVec<[Arc<Decider>; 1]>);

impl Charged {
    /// Notes that `decider` charges the request with these extensions; `false` if it has.
    pub(super) fn first(extensions: &mut Extensions, decider: &Arc<Decider>) -> bool {
        let same =
            |known: &Arc<Decider>| Arc::ptr_eq(known, decider) || known.shares_gate_with(decider);
        let charged = extensions.get_or_insert_default::<Self>();
        let first = !charged.0.iter().any(same);
        if first {
            charged.0.push(Arc::clone(decider));
        }
        first
    }
}
