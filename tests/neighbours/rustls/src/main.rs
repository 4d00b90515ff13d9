//! A host that builds a rustls configuration without naming a crypto provider.

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = mcp_host::Bridge::new(mcp_host::BridgeOptions::default());
    let roots = rustls::RootCertStore::empty();
    let config =
        rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    assert!(!config.crypto_provider().cipher_suites.is_empty());
    bridge.shutdown().await;
}
