//! The way to a server: straight, or by asking sentinels who the primary is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisError, Value};
use tokio::time::timeout;

use crate::deployment::at;
use crate::trouble::{Trouble, TroubleKind};

/// A sentinel that does not answer for so long is passed over.
const ASK: Duration = Duration::from_millis(250);

/// The way to a server.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    to: To,
    whom: Whom,
}

#[derive(Clone, Debug)]
enum To {
    /// The one that the URL names.
    Straight(Client),
    /// A node of a cluster.
    Node(Client),
    /// By the name of a primary, through the first of these that answers.
    Primary {
        sentinels: Vec<Client>,
        name: String,
        primary: ConnectionInfo,
    },
}

/// Who answers, where the URL does not name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whom(Arc<Mutex<Option<String>>>);

impl Whom {
    fn is(&self, whom: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = whom;
    }

    /// The trouble with it, by its name.
    pub(crate) fn name(&self, trouble: Trouble) -> Trouble {
        let whom = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match whom.as_deref() {
            Some(whom) => trouble.after(whom),
            None => trouble,
        }
    }
}

impl Way {
    /// To the server that the URL names.
    pub(crate) fn straight(client: Client) -> Self {
        let whom = Whom::default();
        let to = To::Straight(client);
        Self { to, whom }
    }

    /// To a node of a cluster.
    pub(crate) fn node(client: Client) -> Self {
        let whom = Whom::default();
        whom.is(Some(format!(
            "node {}",
            client.get_connection_info().addr()
        )));
        let to = To::Node(client);
        Self { to, whom }
    }

    /// To the primary of this name; all but the address of `primary` is known.
    pub(crate) fn primary(sentinels: Vec<Client>, name: String, primary: ConnectionInfo) -> Self {
        let whom = Whom::default();
        let to = To::Primary {
            sentinels,
            name,
            primary,
        };
        Self { to, whom }
    }

    pub(crate) fn whom(&self) -> &Whom {
        &self.whom
    }

    pub(crate) fn is_to_a_node(&self) -> bool {
        matches!(self.to, To::Node(_))
    }

    /// What it is when nothing at all was heard.
    pub(crate) fn silence(&self) -> Trouble {
        let info = match &self.to {
            To::Straight(client) | To::Node(client) => client.get_connection_info(),
            To::Primary { primary, .. } => primary,
        };
        match info.addr() {
            ConnectionAddr::TcpTls { .. } => Trouble {
                kind: TroubleKind::Unreachable,
                text: "no TLS answer; of a server without TLS the url is redis, not rediss"
                    .to_owned(),
            },
            _ => Trouble::hangs(),
        }
    }

    pub(crate) async fn go(&self) -> Result<MultiplexedConnection, Trouble> {
        match &self.to {
            To::Straight(client) | To::Node(client) => Ok(connect(client).await?),
            To::Primary {
                sentinels,
                name,
                primary,
            } => {
                self.whom.is(None);
                let (host, port) = ask(sentinels, name).await?;
                self.whom.is(Some(format!("primary {host}:{port}")));
                let mut connection = connect(&Client::open(at(primary, &host, port))?).await?;
                // Sentinels that have not heard of a failover yet name the old one.
                match role(&mut connection).await?.as_slice() {
                    b"master" => Ok(connection),
                    _ => Err(Trouble {
                        kind: TroubleKind::NotPrimary,
                        text: "the sentinels name a replica".to_owned(),
                    }),
                }
            }
        }
    }
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    // Both times are the caller's to bound.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// What a server is, in its own word: `master`, `slave` or `sentinel`.
async fn role(connection: &mut MultiplexedConnection) -> Result<Vec<u8>, Trouble> {
    let role = redis::cmd("ROLE").query_async(connection).await;
    match role.map_err(Trouble::from) {
        Ok(Value::Array(words)) => match words.into_iter().next() {
            Some(Value::BulkString(word)) => Ok(word),
            _ => Ok(Vec::new()),
        },
        Ok(_) => Ok(Vec::new()),
        Err(trouble) if trouble.kind == TroubleKind::Forbidden => {
            Err(trouble.after("it lacks +role"))
        }
        Err(trouble) => Err(trouble),
    }
}

/// What is wrong with a server that does not know commands which every server knows: that it is a
/// sentinel, if it is one.
pub(crate) async fn if_sentinel(
    connection: &mut MultiplexedConnection,
    trouble: Trouble,
) -> Trouble {
    if role(connection).await.is_ok_and(|role| role == b"sentinel") {
        Trouble::misnamed("it is a Sentinel, write redis-sentinel://host:port/NAME".to_owned())
    } else {
        trouble
    }
}

/// Who the primary is. A sentinel that has answered is believed, be it that it knows no such name.
async fn ask(sentinels: &[Client], name: &str) -> Result<(String, u16), Trouble> {
    let mut told = None;
    for sentinel in sentinels {
        let trouble = match timeout(ASK, ask_one(sentinel, name)).await {
            Ok(Ok(primary)) => return Ok(primary),
            Ok(Err(trouble)) => trouble,
            Err(_) => Trouble {
                kind: TroubleKind::Unreachable,
                text: "no sentinel answers".to_owned(),
            },
        };
        told = Some(trouble.or(told));
    }
    Err(told.unwrap_or_else(Trouble::hangs))
}

async fn ask_one(sentinel: &Client, name: &str) -> Result<(String, u16), Trouble> {
    let place = sentinel.get_connection_info().addr().to_string();
    let mut connection = connect(sentinel).await?;
    let mut command = redis::cmd("SENTINEL");
    command.arg("get-master-addr-by-name").arg(name);
    let primary = command
        .query_async::<Option<(String, u16)>>(&mut connection)
        .await;
    match primary.map_err(Trouble::from) {
        Ok(Some(primary)) => Ok(primary),
        Ok(None) => Err(Trouble::misnamed(format!(
            "{place} watches no primary of the name {name:?}, write redis-sentinel://{place}/NAME as in its \
             `sentinel monitor NAME …`"
        ))),
        Err(trouble) if trouble.is_unknown_command() => Err(Trouble::misnamed(format!(
            "{place} is no Sentinel, whose port is 26379 if nobody changed it; one server is redis://{place}"
        ))),
        Err(trouble) => Err(trouble),
    }
}
