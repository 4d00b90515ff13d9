//! The TLS configuration: trusted certificate authorities and the client certificate.

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

use crate::{error::ConnectError, setters::setters};

/// How to secure connections to one server. By default, the system's certificate authorities are trusted.
///
/// ```no_run
/// use mcp_transport::net::TlsOptions;
///
/// let mut tls = TlsOptions::default();
/// tls.extra_roots.push(std::fs::read("company-ca.pem")?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Certificate authorities to trust in addition to the system's: PEM, one or more in each.
    pub extra_roots: Vec<Vec<u8>>,
    /// The client certificate, for servers that require one.
    pub identity: Option<TlsIdentity>,
}

/// A client certificate with its key. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsIdentity {
    /// The client certificate, followed by intermediate certificates: PEM.
    pub chain: Vec<u8>,
    /// The private key: PEM, as PKCS #8, PKCS #1 or SEC 1, and not encrypted.
    pub key: Vec<u8>,
}

impl TlsIdentity {
    /// Both arguments may be the content of one file.
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
    /// Builds the rustls configuration, without ALPN, which the caller sets.
    ///
    /// Reads the system's certificates where those are files, so call it once per server.
    ///
    /// # Errors
    /// [`ConnectError::InvalidOptions`], which names the unusable part and never quotes it.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, ConnectError> {
        let provider = provider()?;
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

/// Returns the process-wide crypto provider if the host has installed one, else the provider of this crate's
/// features.
///
/// It is passed explicitly and never installed: a library must not choose for the whole process.
#[cfg_attr(
    any(feature = "aws-lc-rs", feature = "ring"),
    expect(clippy::unnecessary_wraps, reason = "fails only without a provider feature")
)]
fn provider() -> Result<Arc<CryptoProvider>, ConnectError> {
    if let Some(installed) = CryptoProvider::get_default() {
        return Ok(installed.clone());
    }
    #[cfg(feature = "aws-lc-rs")]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Ok(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    Err(ConnectError::InvalidOptions(
        "TLS has no crypto provider: enable the feature `aws-lc-rs` or `ring` of mcp-transport, or install a default \
         `rustls::crypto::CryptoProvider` at start-up"
            .into(),
    ))
}

/// Parses every certificate in `pem`, at least one.
fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| unreadable(what, &error))?;
    if found.is_empty() { Err(unreadable(what, &pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// Describes a parser error without quoting its input: some errors contain a line that may be part of a key.
fn unreadable(what: &str, error: &pem::Error) -> ConnectError {
    let why = match error {
        pem::Error::NoItemsFound => "no such section found",
        pem::Error::MissingSectionEnd { .. } => "the END line is missing",
        pem::Error::IllegalSectionStart { .. } => "the BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "the content is not Base64",
        _ => "it is malformed",
    };
    ConnectError::InvalidOptions(format!("{what} is not usable PEM: {why}"))
}

fn invalid(what: &str, error: &rustls::Error) -> ConnectError {
    ConnectError::InvalidOptions(format!("{what}: {error}"))
}

setters! { TlsOptions {
    with_extra_roots => extra_roots: Vec<Vec<u8>>,
    with_identity => identity: impl Into<Option<TlsIdentity>>,
}}

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
    fn unusable_pem_is_named_and_never_quoted() {
        let (certificate, key) = certified();
        let root = |pem: &str| TlsOptions { extra_roots: vec![pem.into()], identity: None };
        assert_eq!(
            problem(&root("hello")),
            "an extra root certificate is not usable PEM: no such section found"
        );
        assert_eq!(
            problem(&root(&key)),
            "an extra root certificate is not usable PEM: no such section found"
        );
        assert_eq!(
            problem(&root("-----BEGIN CERTIFICATE-----\nAAAA\n")),
            "an extra root certificate is not usable PEM: the END line is missing"
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
            "the client certificate is not usable PEM: no such section found"
        );
        assert_eq!(
            problem(&known(&certificate, &certificate)),
            "the key of the client certificate is not usable PEM: no such section found"
        );
        // The key of another certificate.
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
