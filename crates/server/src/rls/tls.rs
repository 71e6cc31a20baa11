//! Who the door is, and whom it lets in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jeton::policy::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

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

/// What encrypts connections.
pub(super) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pair = |error: rustls::Error| TlsError::Pair(error.to_string());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(pair)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(pair)?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| TlsError::File {
                path: path.clone(),
                wanted: "certificate of a root",
                why: error.to_string(),
            })?)
        }
    };
    let key = PrivateKeyDer::from_pem_file(&tls.key);
    let key = key.map_err(|error| file(&tls.key, "private key", &error))?;
    let config = builder.with_single_cert(certificates(&tls.cert)?, key);
    let mut config = config.map_err(pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(all) if all.is_empty() => Err(TlsError::File {
            path: path.to_owned(),
            wanted: "certificate",
            why: "there is none in it".to_owned(),
        }),
        Ok(all) => Ok(all),
        Err(error) => Err(file(path, "certificate", &error)),
    }
}

fn file(path: &Path, wanted: &'static str, why: &rustls::pki_types::pem::Error) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        wanted,
        why: why.to_string(),
    }
}
