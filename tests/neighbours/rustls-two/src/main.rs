//! A host whose rustls has only ring, beside our default `aws-lc-rs`: cargo gives it one rustls with both, which cannot
//! choose. `docs/decisions.md` refers to this. If this program fails because rustls has learnt to choose, remove the
//! warning from `docs/host-author.md`.

use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = mcp_host::Bridge::new(mcp_host::BridgeOptions::default());
    assert!(CryptoProvider::get_default().is_none(), "our crates install nothing");
    std::panic::set_hook(Box::new(|_| {}));
    assert!(std::panic::catch_unwind(ClientConfig::builder).is_err(), "two providers, no default");

    // The remedy in one line, before anything else.
    rustls::crypto::ring::default_provider().install_default().expect("none is installed");
    let config = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    assert!(!config.crypto_provider().cipher_suites.is_empty());
    bridge.shutdown().await;
}
