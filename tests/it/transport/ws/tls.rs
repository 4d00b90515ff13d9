//! WebSocket over TLS, with the test's certificate authorities.

use std::sync::Arc;

use futures::{SinkExt as _, StreamExt as _};
use mcp_transport::{ErrorClass, WsOptions, net::TlsIdentity};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
};
use tokio_rustls::TlsAcceptor;

use super::{
    end, open, receive_all, refused, request,
    server::{accept, listen},
};

/// A certificate authority.
pub(super) struct Authority {
    pub(super) pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

struct Certified {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("valid");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Self { pem, der, issuer: Issuer::new(params, key) }
    }

    fn certify(&self, name: &str) -> Certified {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("valid");
        Certified { certificate: params.signed_by(&key, &self.issuer).expect("signed"), key }
    }
}

/// A TLS acceptor for 127.0.0.1 that requires certificates of `clients` if given.
pub(super) fn acceptor(authority: &Authority, clients: Option<&Authority>) -> TlsAcceptor {
    let Certified { certificate, key } = authority.certify("127.0.0.1");
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.der.clone()).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = builder.with_single_cert(vec![certificate.der().clone()], key).expect("a config");
    TlsAcceptor::from(Arc::new(config))
}

/// An echo server behind that acceptor.
async fn serving(authority: &Authority, clients: Option<&Authority>) -> String {
    let acceptor = acceptor(authority, clients);
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Clients that do not trust the certificate disconnect here.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let mut socket = accept(stream).await;
                while let Some(Ok(frame)) = socket.next().await {
                    if frame.is_text() {
                        socket.send(frame).await.expect("it is sent");
                    }
                }
            });
        }
    });
    url.replace("ws://", "wss://")
}

#[tokio::test]
async fn configured_authority_is_trusted_over_wss() {
    let authority = Authority::new();
    let url = serving(&authority, None).await;
    let mut options = WsOptions::new(&url);
    options.tls.extra_roots.push(authority.pem.clone().into_bytes());
    let mut link = open(options).await;
    let ticket = request(&link, 1);
    assert_eq!(receive_all(&mut link, 1).await.len(), 1);
    // More than TLS buffers at once, in both directions.
    for id in 2..500 {
        request(&link, id);
    }
    assert_eq!(receive_all(&mut link, 498).await.len(), 498);
    link.outlet.close();
    let (_, report) = end(&mut link).await;
    assert_eq!(report.to_string(), "the connection was closed on request");
    assert!(report.flushed >= ticket);

    // A different authority.
    let mut options = WsOptions::new(&url);
    options.tls.extra_roots.push(Authority::new().pem.into_bytes());
    let error = refused(options).await;
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(error.to_string().contains("TLS failed: invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn client_certificate_is_sent_over_wss() {
    let authority = Authority::new();
    let clients = Authority::new();
    let url = serving(&authority, Some(&clients)).await;
    let mut options = WsOptions::new(&url);
    options.tls.extra_roots.push(authority.pem.clone().into_bytes());

    // The handshake fails without one.
    let error = refused(options.clone()).await;
    assert_eq!(error.class(), ErrorClass::Permanent, "{error}");
    assert!(error.to_string().contains("TLS failed"), "{error}");

    let Certified { certificate, key } = clients.certify("us");
    options.tls.identity = Some(TlsIdentity::new(certificate.pem(), key.serialize_pem()));
    let mut link = open(options).await;
    request(&link, 1);
    assert_eq!(receive_all(&mut link, 1).await.len(), 1);
}

#[tokio::test]
async fn tls_to_a_plain_server_fails_clearly() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    let mut options = WsOptions::new(url.replace("ws://", "wss://"));
    options.tls.extra_roots.push(Authority::new().pem.into_bytes());
    let error = refused(options).await;
    assert!(error.to_string().contains("TLS failed"), "{error}");
}
