//! The HTTP reverse proxy: HTTP/1.1 in, one `http://` upstream out, bodies streamed both ways.
//!
//! What it promises, each held by a test against real servers:
//!
//! - **Bounded.** No body is ever buffered; heads, connections, waits and stalls have limits
//!   ([`Limits`], [`Timeouts`]).
//! - **One reading of a request.** What two parsers could frame differently is refused with 400,
//!   and the connection closed ([RFC 9112, section 6.3]).
//! - **Never worse than no proxy.** A stale upstream connection is replaced and an unsent request
//!   sent again; a body is never sent twice. An upstream that fails is 502 or 504, and says why.
//! - **An answer for all that was asked.** A client may close its sending side once it has asked
//!   (a half-close): it gets every answer that is due, and only then is the connection closed. One
//!   that is gone altogether looks the same until something is written to it, over TCP: its
//!   exchange ends at the next write, within the bounds of any other, and an event stream with its
//!   next event. One that resets, or whose Unix socket is closed, frees the upstream at once.
//! - **A refusal arrives.** A refused upload is read within bounds, so that its client sees the
//!   answer instead of a reset.
//!
//! The proxy knows nothing of limits: it asks an [`Admission`]. WebSocket, other upgrades and
//! `CONNECT` are not served yet.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use jeton_server::proxy::{self, Admission, Admitted, Admitting, Pass, Peer, Settings};
//! struct Everybody;
//!
//! impl Admission for Everybody {
//!     fn admit(&self, _: &mut http::request::Parts, _: Peer) -> Admitting {
//!         Admitting::Now(Admitted::Pass(Pass::default()))
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::new("127.0.0.1:8080".parse()?, "http://127.0.0.1:3000".parse()?);
//! let bound = proxy::bind(settings)?;
//! println!("listening on {}", bound.address());
//! let until = async { drop(tokio::signal::ctrl_c().await) };
//! bound.serve(Arc::new(Everybody), until).await;
//! # Ok(())
//! # }
//! ```
//!
//! [RFC 9112, section 6.3]: https://www.rfc-editor.org/rfc/rfc9112#section-6.3

mod accepting;
mod admission;
mod connection;
mod departure;
mod download;
mod exchange;
mod failure;
mod fields;
mod forwarded;
mod handle;
mod head_scan;
mod io;
mod listen;
mod nudge;
mod pool;
mod problem;
mod pulse;
mod serve;
mod settings;
mod upload;
mod vet;

pub(crate) use accepting::Accepting;
pub use admission::{Admission, Admitted, Admitting, Fields, Hold, Pass, Peer};
pub use listen::{Address, AddressError, BindError};
pub(crate) use listen::{Listener, open};
pub(crate) use serve::bind_within;
pub use serve::{Bound, bind};
pub use settings::{Limits, Settings, Timeouts, Upstream, UpstreamError};
