//! Whom we trust over TLS, and as whom we introduce ourselves.

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};
use rustls_platform_verifier::Verifier;

use crate::error::ConnectError;

/// How to secure connections to one server. By default those whom the system trusts are trusted.
///
/// ```no_run
/// use mcp_transport::TlsOptions;
///
/// let mut tls = TlsOptions::default();
/// tls.extra_roots.push(std::fs::read("company-ca.pem")?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Certificate authorities to trust beside those of the system: PEM, one or more in each.
    pub extra_roots: Vec<Vec<u8>>,
    /// Who we are, for servers that ask clients for a certificate too.
    pub identity: Option<TlsIdentity>,
}

/// A certificate of our own with its key. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsIdentity {
    /// Our certificate, followed by those between it and an authority the server trusts: PEM.
    pub chain: Vec<u8>,
    /// The private key: PEM, as PKCS #8, PKCS #1 or SEC 1, and not encrypted.
    pub key: Vec<u8>,
}

impl TlsIdentity {
    /// Both may come from one file, given twice.
    pub fn new(chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { chain: chain.into(), key: key.into() }
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

impl TlsOptions {
    /// What rustls wants to know, without ALPN, which is the caller's to set.
    ///
    /// Reads the system's certificates where those are files: worth doing once for each server.
    ///
    /// # Errors
    /// [`ConnectError::InvalidOptions`], which says what cannot be used and never quotes it.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, ConnectError> {
        // Given explicitly: a library must not choose for the whole process, nor panic where nobody has.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = self.verifier(provider.clone())?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid("TLS cannot be set up", &error))?
            .dangerous() // is what rustls calls any verifier but its own
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some(identity) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(&identity.chain, "the client certificate")?;
        let key = PrivateKeyDer::from_pem_slice(&identity.key)
            .map_err(|error| unreadable("the key of the client certificate", &error))?;
        let config = builder.with_client_auth_cert(chain, key);
        config.map_err(|error| invalid("the client certificate cannot be used", &error))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Verifier, ConnectError> {
        let mut roots = Vec::new();
        for pem in &self.extra_roots {
            roots.extend(certificates(pem, "an extra root certificate")?);
        }
        let what = if roots.is_empty() {
            "the certificate authorities of this system cannot be used"
        } else {
            "the extra root certificates cannot be used"
        };
        Verifier::new_with_extra_roots(roots, provider).map_err(|error| invalid(what, &error))
    }
}

/// Every certificate in `pem`, at least one.
fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| unreadable(what, &error))?;
    if found.is_empty() { Err(unreadable(what, &pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// Some of the parser's errors quote the line they stumble over, which may be part of a key.
fn unreadable(what: &str, error: &pem::Error) -> ConnectError {
    let why = match error {
        pem::Error::NoItemsFound => "nothing of the kind is in there",
        pem::Error::MissingSectionEnd { .. } => "it has no end",
        pem::Error::IllegalSectionStart { .. } => "it starts strangely",
        pem::Error::Base64Decode(_) => "it is not Base64",
        _ => "it is broken",
    };
    ConnectError::InvalidOptions(format!("{what} is not usable PEM: {why}"))
}

fn invalid(what: &str, error: &rustls::Error) -> ConnectError {
    ConnectError::InvalidOptions(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn certified() -> (String, String) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
        (cert.pem(), signing_key.serialize_pem())
    }

    fn problem(options: &TlsOptions) -> String {
        match options.client_config() {
            Err(ConnectError::InvalidOptions(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn roots_and_an_identity_make_a_config_without_a_process_wide_provider() {
        let (certificate, key) = certified();
        let options = TlsOptions {
            extra_roots: vec![format!("{certificate}{certificate}").into_bytes()],
            identity: Some(TlsIdentity::new(certificate, key)),
        };
        let config = options.client_config().expect("a config");
        assert!(config.alpn_protocols.is_empty());
        assert!(config.client_auth_cert_resolver.has_certs());
        assert!(CryptoProvider::get_default().is_none());
    }

    #[test]
    fn what_cannot_be_used_is_named_and_never_quoted() {
        let (certificate, key) = certified();
        let root = |pem: &str| TlsOptions { extra_roots: vec![pem.into()], identity: None };
        assert_eq!(
            problem(&root("hello")),
            "an extra root certificate is not usable PEM: nothing of the kind is in there"
        );
        assert_eq!(
            problem(&root(&key)),
            "an extra root certificate is not usable PEM: nothing of the kind is in there"
        );
        assert_eq!(
            problem(&root("-----BEGIN CERTIFICATE-----\nAAAA\n")),
            "an extra root certificate is not usable PEM: it has no end"
        );
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let text = problem(&root(garbage));
        assert!(text.starts_with("the extra root certificates cannot be used: "), "{text}");

        let known = |chain: &str, key: &str| TlsOptions {
            extra_roots: vec![certificate.clone().into()],
            identity: Some(TlsIdentity::new(chain, key)),
        };
        assert_eq!(
            problem(&known("", &key)),
            "the client certificate is not usable PEM: nothing of the kind is in there"
        );
        assert_eq!(
            problem(&known(&certificate, &certificate)),
            "the key of the client certificate is not usable PEM: nothing of the kind is in there"
        );
        // A key, but of somebody else.
        let (_, stranger) = certified();
        let text = problem(&known(&certificate, &stranger));
        assert!(text.starts_with("the client certificate cannot be used: "), "{text}");
    }

    #[test]
    fn a_broken_key_is_not_shown() {
        let (certificate, key) = certified();
        let cut = key.lines().take(2).collect::<Vec<_>>().join("\n");
        let secret = key.lines().nth(1).expect("a line of the key");
        let options = TlsOptions {
            extra_roots: vec![certificate.clone().into()],
            identity: Some(TlsIdentity::new(certificate, cut)),
        };
        let text = format!("{} {options:?}", problem(&options));
        assert!(!text.contains(secret), "{text}");
    }
}
