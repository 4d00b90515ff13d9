//! A host whose rustls has only ring, and that gives our crates no provider at all: they use the one that it installs.

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = mcp_host::Bridge::new(mcp_host::BridgeOptions::default());
    let ours = || mcp_host::transport::HttpClient::new();
    let missing = ours().expect_err("no provider yet");
    assert!(missing.to_string().contains("TLS has no crypto provider"), "{missing}");

    let roots = rustls::RootCertStore::empty();
    let config =
        rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    assert!(!config.crypto_provider().cipher_suites.is_empty());
    // rustls has installed its only provider as the default of the process, and ours use it.
    ours().expect("the provider of the process");
    bridge.shutdown().await;
}
