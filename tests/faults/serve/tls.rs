//! Listeners with trusted and untrusted certificates.

use std::{fs, path::Path, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_rustls::TlsAcceptor;

use super::{announce, http::wire::Stream};
use crate::script::Script;

/// Writes certificates of two authorities for the server of this folder: `good` and `bad`. Returns the
/// good authority as PEM.
pub(crate) fn certificates(folder: &Path) -> Vec<u8> {
    certify(folder, "bad");
    certify(folder, "good")
}

fn certify(folder: &Path, name: &str) -> Vec<u8> {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("valid");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, format!("{name} authority"));
    let pem = authority.self_signed(&authority_key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("valid");
    let certificate = params.signed_by(&key, &issuer).expect("signed");
    let write = |ending: &str, bytes: &[u8]| {
        fs::write(folder.join(format!("{name}.{ending}")), bytes).expect("it is written");
    };
    write("cert", certificate.der());
    write("key", &key.serialize_der());
    pem.into_bytes()
}

/// The trusted and the untrusted acceptor.
#[derive(Clone)]
pub(crate) struct Doors {
    good: TlsAcceptor,
    bad: TlsAcceptor,
}

impl Doors {
    pub(crate) fn read(folder: &Path) -> Self {
        let door = |name: &str| {
            let read = |ending: &str| fs::read(folder.join(format!("{name}.{ending}")));
            let certificate = CertificateDer::from(read("cert").expect("written before"));
            let key = PrivateKeyDer::try_from(read("key").expect("written before")).expect("a key");
            let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)
                .expect("a config");
            TlsAcceptor::from(Arc::new(config))
        };
        Self { good: door("good"), bad: door("bad") }
    }
}

/// Listens on this port, or on a free one, and returns the port and a stream of connections.
pub(super) async fn listen(
    script: Script,
    port: u16,
    doors: Option<Doors>,
) -> mpsc::Receiver<Box<dyn Stream>> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port");
    announce(listener.local_addr().expect("an address").port());
    let (streams, accepted) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream: Box<dyn Stream> = match &doors {
                None => Box::new(stream),
                Some(doors) => {
                    let door = if script.is_healed() { &doors.good } else { &doors.bad };
                    // The client rejected our certificate.
                    let Ok(stream) = door.accept(stream).await else { continue };
                    Box::new(stream)
                }
            };
            if streams.send(stream).await.is_err() {
                return;
            }
        }
    });
    accepted
}
