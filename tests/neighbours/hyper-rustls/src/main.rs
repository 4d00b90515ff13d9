//! A host with an HTTP client on hyper-rustls with its defaults.

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = mcp_host::Bridge::new(mcp_host::BridgeOptions::default());
    let connector = hyper_rustls::HttpsConnectorBuilder::new().with_native_roots();
    let _connector =
        connector.expect("the certificates of the system").https_or_http().enable_http1().build();
    bridge.shutdown().await;
}
