//! The way to a server: straight, or by asking sentinels who the primary is.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, RedisError};
use tokio::time::timeout;

use crate::deployment::at;

/// A sentinel that does not answer for so long is passed over.
const ASK: Duration = Duration::from_millis(250);

/// The way to a server.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Straight(Client),
    /// By the name of a primary, through the first of these that answers.
    Sentinels {
        sentinels: Vec<Client>,
        name: String,
        primary: ConnectionInfo,
    },
}

impl Way {
    pub(crate) async fn go(&self) -> Result<MultiplexedConnection, RedisError> {
        match self {
            Self::Straight(client) => connect(client).await,
            Self::Sentinels {
                sentinels,
                name,
                primary,
            } => {
                let (host, port) = ask(sentinels, name).await?;
                let mut connection = connect(&Client::open(at(primary, &host, port))?).await?;
                // Sentinels that have not heard of a failover yet name the old one.
                let role: redis::Value = redis::cmd("ROLE").query_async(&mut connection).await?;
                if is_primary(&role) {
                    Ok(connection)
                } else {
                    Err(NOT_A_PRIMARY.into())
                }
            }
        }
    }
}

const NOT_A_PRIMARY: (ErrorKind, &str) = (
    ErrorKind::Server(redis::ServerErrorKind::ReadOnly),
    "the sentinels name a replica",
);

fn is_primary(role: &redis::Value) -> bool {
    let redis::Value::Array(words) = role else {
        return false;
    };
    matches!(words.first(), Some(redis::Value::BulkString(word)) if word == b"master")
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

async fn ask(sentinels: &[Client], name: &str) -> Result<(String, u16), RedisError> {
    let mut told = RedisError::from((ErrorKind::Io, "no sentinel answers"));
    for sentinel in sentinels {
        let asking = async {
            let mut connection = connect(sentinel).await?;
            let mut command = redis::cmd("SENTINEL");
            command.arg("get-master-addr-by-name").arg(name);
            command
                .query_async::<Option<(String, u16)>>(&mut connection)
                .await
        };
        match timeout(ASK, asking).await {
            Ok(Ok(Some(primary))) => return Ok(primary),
            Ok(Ok(None)) => {
                told = (
                    ErrorKind::MasterNameNotFoundBySentinel,
                    "no sentinel knows this name",
                )
                    .into();
            }
            Ok(Err(error)) => told = error,
            Err(_) => {}
        }
    }
    Err(told)
}
