//! A small HTTP client: one call to the API of a running process.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::failure::Failure;

/// The variables that a token may stand in, the first that is set first.
const TOKENS: [&str; 2] = ["JETON_ADMIN_TOKEN", "JETON_TOKEN"];

/// The variable that the address of the API may stand in.
const API: &str = "JETON_API";

/// How long a call may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const LONGEST: usize = 16 << 20;

/// The API of a running process.
pub(super) struct Server {
    url: String,
    place: Place,
    token: Option<HeaderValue>,
}

enum Place {
    Tcp(String),
    Unix(PathBuf),
}

/// What it answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// `null` if there was nothing in it.
    pub(super) body: Value,
}

impl Server {
    /// The API at a URL, with the token of a file or of the environment. Nothing is asked yet.
    pub(super) fn new(url: &str, token_file: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self {
            url: url.to_owned(),
            place: Place::of(url)?,
            token: token(token_file)?,
        })
    }

    /// Asks for something that there is.
    ///
    /// # Errors
    /// Why there is no good answer, and what to do.
    pub(super) fn call(
        &self,
        method: &Method,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let answer = self.ask(method, target, body)?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(self.refused(&answer))
    }

    /// Asks, and tells whatever is answered.
    ///
    /// # Errors
    /// Why there is no answer, and what to do.
    pub(super) fn ask(
        &self,
        method: &Method,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::new)?;
        let request = self.request(method, target, body)?;
        runtime.block_on(async {
            let asked = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
            let patience = PATIENCE.as_secs();
            let late = format!("{} has not answered in {patience} s", self.url);
            asked.map_err(|_| Failure::new(late))?
        })
    }

    fn request(
        &self,
        method: &Method,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let host = match &self.place {
            Place::Tcp(authority) => authority.as_str(),
            Place::Unix(_) => "localhost",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, host)
            .header(ACCEPT, "application/json");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        request.body(Full::from(body)).map_err(Failure::new)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        match &self.place {
            Place::Tcp(authority) => {
                let stream = TcpStream::connect(authority).await;
                self.speak(stream.map_err(|error| self.unreached(&error))?, request)
                    .await
            }
            Place::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                self.speak(stream.map_err(|error| self.unreached(&error))?, request)
                    .await
            }
        }
    }

    async fn speak<S>(&self, stream: S, request: Request<Full<Bytes>>) -> Result<Answer, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let broken = |error| Failure::new(format!("{} does not speak HTTP: {error}", self.url));
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(broken)?;
        let answering = async {
            self.read(sender.send_request(request).await.map_err(broken)?)
                .await
        };
        driven(connection, answering).await
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, Failure> {
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST).collect().await;
        let body = body.map_err(|error| {
            Failure::new(format!("the answer of {} broke off: {error}", self.url))
        })?;
        let bytes = body.to_bytes();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).map_err(|_| {
                let url = &self.url;
                Failure::new(format!(
                    "{url} answered {status}, and not as the API of jeton does; is that the \
                     address of its [api] section?"
                ))
            })?
        };
        Ok(Answer { status, body })
    }

    fn unreached(&self, error: &io::Error) -> Failure {
        let url = &self.url;
        Failure::new(format!(
            "nothing answers at {url}: {error}; name the `listen` of the policy's [api] with --api"
        ))
    }

    /// Why the API did not do it, and what to do.
    pub(super) fn refused(&self, answer: &Answer) -> Failure {
        let Answer { status, body } = answer;
        let detail = body["detail"].as_str().unwrap_or_default();
        let [admin, _] = TOKENS;
        Failure::new(match *status {
            StatusCode::UNAUTHORIZED if self.token.is_none() => format!(
                "{} asks for a token: put it into {admin}, or name its file with --token-file",
                self.url
            ),
            StatusCode::UNAUTHORIZED => format!(
                "{} does not know this token: that of --token-file or {admin} must be the \
                 policy's `admin_token`",
                self.url
            ),
            _ if detail.is_empty() => format!("{} answered {status}", self.url),
            _ => detail.to_owned(),
        })
    }
}

impl Place {
    fn of(url: &str) -> Result<Self, Failure> {
        if let Some(path) = url
            .strip_prefix("unix:")
            .filter(|path| path.starts_with('/'))
        {
            return Ok(Self::Unix(path.into()));
        }
        let wrong = |what: &str| {
            let write = "write http://127.0.0.1:7070, or unix:/run/jeton.sock";
            Failure::Usage(format!("--api: {url:?} {what}; {write}"))
        };
        if url.starts_with("https://") {
            return Err(wrong("asks for TLS, which the API does not speak"));
        }
        let parsed = url.parse::<http::Uri>().ok();
        let authority = parsed
            .as_ref()
            .filter(|uri| uri.scheme_str() == Some("http"));
        let is_bare = |uri: &&http::Uri| matches!(uri.path(), "" | "/") && uri.query().is_none();
        let authority = authority.filter(is_bare).and_then(http::Uri::authority);
        let Some(authority) = authority.filter(|authority| !authority.as_str().contains('@'))
        else {
            return Err(wrong("is no address of an API"));
        };
        let port = authority.port_u16().unwrap_or(80);
        Ok(Self::Tcp(format!("{}:{port}", authority.host())))
    }
}

/// The address of the API that the environment names.
pub(super) fn api_of_environment() -> Option<String> {
    std::env::var(API).ok().filter(|url| !url.is_empty())
}

/// The token of a file, or else of the environment. It never stands on a command line, where
/// everybody on the machine can read it.
fn token(file: Option<&Path>) -> Result<Option<HeaderValue>, Failure> {
    let (text, origin) = if let Some(path) = file {
        let shown = path.display();
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| {
            Failure::new(format!("the token file {shown} cannot be read: {error}"))
        })?;
        (text, shown.to_string())
    } else {
        let set = |name: &&str| Some((std::env::var(name).ok()?, (*name).to_owned()));
        match TOKENS.iter().find_map(set) {
            Some(found) => found,
            None => return Ok(None),
        }
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
        .map_err(|_| Failure::new(format!("the text of {origin} can be no token")))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The answer, while its connection is kept going.
async fn driven<T>(connection: impl Future, answering: impl Future<Output = T>) -> T {
    let mut connection = std::pin::pin!(connection);
    let mut answering = std::pin::pin!(answering);
    let mut is_open = true;
    loop {
        tokio::select! {
            answer = &mut answering => return answer,
            _ = &mut connection, if is_open => is_open = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(url: &str) -> Option<String> {
        match Place::of(url) {
            Ok(Place::Tcp(authority)) => Some(authority),
            _ => None,
        }
    }

    #[test]
    fn an_address_is_a_url_without_a_path() {
        assert_eq!(
            authority("http://127.0.0.1:7070").as_deref(),
            Some("127.0.0.1:7070")
        );
        assert_eq!(
            authority("http://[::1]:7070/").as_deref(),
            Some("[::1]:7070")
        );
        assert_eq!(authority("http://jeton").as_deref(), Some("jeton:80"));
        for wrong in [
            "",
            "127.0.0.1:7070",
            "https://127.0.0.1:7070",
            "http://127.0.0.1:7070/v1",
            "http://user@host",
            "http://host/?x",
            "unix:relative",
            "ftp://host",
        ] {
            let refused = Place::of(wrong).err();
            assert!(matches!(refused, Some(Failure::Usage(_))), "{wrong}");
        }
        assert!(matches!(Place::of("unix:/run/x"), Ok(Place::Unix(_))));
    }
}
