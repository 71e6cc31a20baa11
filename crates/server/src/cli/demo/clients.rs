//! Ten clients, each with a loopback address of its own, on connections that stay open.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::score::{HONEST, Outcome, SPAM_PER_SECOND, Score};

/// Where clients come from: 127.0.0.2 and on; the last is the spammer.
const FIRST_HOST: u8 = 2;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets all clients send for `lasting`, or until the curtain falls.
pub(super) async fn send(
    proxy: SocketAddr,
    lasting: Option<Duration>,
    falling: watch::Receiver<bool>,
    score: Arc<Score>,
) -> io::Result<()> {
    let mut clients = JoinSet::new();
    let start = Instant::now();
    for number in 0..=HONEST {
        let every = if number < HONEST {
            1_000
        } else {
            1_000 / SPAM_PER_SECOND
        };
        let plan = Plan {
            from: Ipv4Addr::new(127, 0, 0, FIRST_HOST.saturating_add(number)),
            start: start + Duration::from_millis(every * u64::from(number) / 10),
            every: Duration::from_millis(every),
            requests: lasting.map(|lasting| requests(lasting, every)),
        };
        let (score, falling) = (Arc::clone(&score), falling.clone());
        clients.spawn(
            async move { client(proxy, plan, falling, |out| score.note(number, out)).await },
        );
    }
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

struct Plan {
    from: Ipv4Addr,
    start: Instant,
    every: Duration,
    /// How many; without end if none.
    requests: Option<u64>,
}

fn requests(lasting: Duration, every_ms: u64) -> u64 {
    u64::try_from(lasting.as_millis())
        .unwrap_or(u64::MAX)
        .div_ceil(every_ms)
        .max(1)
}

/// Sends on schedule: one that falls behind catches up.
async fn client(
    proxy: SocketAddr,
    plan: Plan,
    mut falling: watch::Receiver<bool>,
    note: impl Fn(Outcome),
) -> io::Result<()> {
    let mut connection = connect(plan.from, proxy).await?;
    let mut due = plan.start;
    for _ in 0..plan.requests.unwrap_or(u64::MAX) {
        tokio::select! {
            () = sleep_until(due) => {}
            _ = falling.wait_for(|fallen| *fallen) => return Ok(()),
        }
        due += plan.every;
        let outcome = timeout(PATIENCE, say(&mut connection, proxy)).await;
        let outcome = outcome.ok().and_then(Result::ok).unwrap_or(Outcome::Failed);
        note(outcome);
        if outcome == Outcome::Failed || connection.is_closed() {
            connection = connect(plan.from, proxy).await?;
        }
    }
    Ok(())
}

async fn connect(from: Ipv4Addr, proxy: SocketAddr) -> io::Result<SendRequest<Empty<Bytes>>> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into()).map_err(|error| {
        let what = format!(
            "no client can have the address {from}: {error}; give the loopback interface all of \
             127.0.0.0/8, as Linux does"
        );
        io::Error::new(error.kind(), what)
    })?;
    let stream = socket.connect(proxy).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

async fn say(
    connection: &mut SendRequest<Empty<Bytes>>,
    proxy: SocketAddr,
) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
    connection.ready().await?;
    let request = Request::get("/say").header(http::header::HOST, proxy.to_string());
    let response = connection.send_request(request.body(Empty::new())?).await?;
    let status = response.status();
    response.into_body().collect().await?;
    Ok(match status {
        StatusCode::OK => Outcome::Passed,
        StatusCode::TOO_MANY_REQUESTS => Outcome::Denied,
        _ => Outcome::Failed,
    })
}
