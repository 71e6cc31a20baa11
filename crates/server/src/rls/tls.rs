//! Who the door is, and whom it lets in.

use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jeton::policy::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

/// New certificates are shown within two of these.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a door cannot show who it is; says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there, or holds nothing of its kind.
    File {
        /// Which.
        path: PathBuf,
        /// What should be in it.
        wanted: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The files do not fit each other.
    Pair(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, wanted, why } => {
                let path = path.display();
                write!(f, "`tls` of [rls]: {path} has no {wanted} in PEM: {why}")
            }
            Self::Pair(why) => write!(
                f,
                "`tls` of [rls]: certificate and key do not fit each other: {why}"
            ),
        }
    }
}

impl std::error::Error for TlsError {}

/// Longer than any chain of certificates.
const LONGEST: u64 = 1 << 20;

/// What the files of a door hold.
#[derive(Hash)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Contents {
    fn read(tls: &Tls) -> Result<Self, TlsError> {
        let client_ca = tls.client_ca.as_deref();
        Ok(Self {
            cert: read(&tls.cert, CERTIFICATE)?,
            key: read(&tls.key, KEY)?,
            client_ca: client_ca.map(|path| read(path, ROOT)).transpose()?,
        })
    }

    /// What encrypts connections.
    fn config(&self, tls: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pair = |error: rustls::Error| TlsError::Pair(error.to_string());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(pair)?;
        let builder = match (&tls.client_ca, &self.client_ca) {
            (Some(path), Some(bytes)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path, bytes, ROOT)? {
                    roots
                        .add(certificate)
                        .map_err(|error| file(path, ROOT, &error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder
                    .with_client_cert_verifier(verifier.map_err(|error| file(path, ROOT, &error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_slice(&self.key);
        let key = key.map_err(|error| file(&tls.key, KEY, &error))?;
        let chain = certificates(&tls.cert, &self.cert, CERTIFICATE)?;
        let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

const CERTIFICATE: &str = "certificate";
const KEY: &str = "private key";
const ROOT: &str = "certificate of a root";

/// Pipes and devices may never end.
fn read(path: &Path, wanted: &'static str) -> Result<Vec<u8>, TlsError> {
    let whole = || -> io::Result<Vec<u8>> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    whole().map_err(|error| file(path, wanted, &error))
}

fn certificates(
    path: &Path,
    bytes: &[u8],
    wanted: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match read {
        Ok(all) if all.is_empty() => Err(file(path, wanted, &"there is none in it")),
        Ok(all) => Ok(all),
        Err(error) => Err(file(path, wanted, &error)),
    }
}

fn file(path: &Path, wanted: &'static str, why: &dyn fmt::Display) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        wanted,
        why: why.to_string(),
    }
}

/// Who the door is as its files say now. Connections that are there keep what they were begun with.
pub(super) struct Identity {
    files: Arc<Tls>,
    now: ArcSwap<ServerConfig>,
    /// Tells contents apart, and nothing of what they are.
    prints: RandomState,
    print: u64,
}

impl Identity {
    /// What the files say.
    pub(super) fn open(tls: &Tls) -> Result<Self, TlsError> {
        let contents = Contents::read(tls)?;
        let prints = RandomState::new();
        Ok(Self {
            files: Arc::new(tls.clone()),
            now: ArcSwap::new(contents.config(tls)?),
            print: prints.hash_one(&contents),
            prints,
        })
    }

    /// For the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.now.load_full())
    }

    /// Takes up files that change, once two looks have found the same: certificates are renewed while
    /// the door is open. What cannot be taken up is told, and changes nothing. Never ends.
    pub(super) async fn follow(&self) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut known, mut fresh) = (self.print, None);
        loop {
            looks.tick().await;
            let files = Arc::clone(&self.files);
            // A file system may hang.
            let Ok(read) = spawn_blocking(move || Contents::read(&files)).await else {
                continue;
            };
            let print = match &read {
                Ok(contents) => self.prints.hash_one(contents),
                Err(error) => self.prints.hash_one(error.to_string()),
            };
            if print == known {
                fresh = None;
            } else if fresh.replace(print) == Some(print) {
                known = print;
                fresh = None;
                self.take_up(read);
            }
        }
    }

    fn take_up(&self, read: Result<Contents, TlsError>) {
        match read.and_then(|contents| contents.config(&self.files)) {
            Ok(config) => {
                self.now.store(config);
                tracing::info!("`tls` of [rls]: the files have changed, and hold from now on");
            }
            Err(error) => tracing::error!("{error}; what was read before stays in force"),
        }
    }
}
