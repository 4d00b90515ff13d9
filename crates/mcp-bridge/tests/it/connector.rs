//! Selection of the transport by configuration.

use std::sync::Arc;

use mcp_bridge::{
    ServerConfig,
    connect::{Connector, DefaultConnector},
};
use mcp_config::{Remote, Sdk, SecretText, Transport};
use mcp_transport::{ConnectError, InProcess, Locality};

fn open(transport: Transport) -> Result<Locality, String> {
    let server = InProcess::new(|_| Box::pin(async {}));
    let connector = DefaultConnector::new().register("own", Arc::new(server));
    let config = ServerConfig::new("srv".parse().unwrap(), transport);
    connector.open(&config).map(|way| way.connect.locality()).map_err(|error| match error {
        ConnectError::InvalidOptions(problem) => problem,
        other => panic!("{other}"),
    })
}

#[test]
fn an_in_process_server_is_found_by_name() {
    let mut sdk = Sdk::default();
    sdk.server = Some("own".into());
    assert_eq!(open(Transport::Sdk(sdk)), Ok(Locality::Local));
    let missing = open(Transport::Sdk(Sdk::default())).unwrap_err();
    assert_eq!(missing, "no in-process server is registered as `srv`");
}

#[test]
fn missing_transport_feature_is_named_in_the_error() {
    let url = || Remote::new("https://example.com/mcp");
    for (transport, built_in) in [
        (Transport::Http(url()), cfg!(feature = "http")),
        (Transport::Sse(url()), cfg!(feature = "http")),
        (Transport::Ws(Remote::new("wss://example.com/mcp")), cfg!(feature = "ws")),
        (Transport::Stdio(mcp_config::Stdio::new("mcp-files")), cfg!(feature = "stdio")),
    ] {
        let kind = transport.kind();
        let is_listed = DefaultConnector::transports().any(|known| known == kind);
        assert_eq!(is_listed, built_in, "{kind}");
        match open(transport) {
            Ok(_) => assert!(built_in, "{kind}"),
            Err(problem) => {
                assert!(!built_in, "{kind}: {problem}");
                assert_eq!(problem, format!("this host was built without the transport `{kind}`"));
            }
        }
    }
}

#[test]
fn error_names_the_unset_variable_without_values() {
    let mut remote = Remote::new("https://example.com/mcp");
    let header = "Bearer ${MCP_BRIDGE_TEST_UNSET}";
    remote.headers.insert("Authorization", SecretText::parse(header));
    let problem = open(Transport::Http(remote)).unwrap_err();
    assert!(problem.contains("MCP_BRIDGE_TEST_UNSET") && !problem.contains("Bearer"), "{problem}");
}

#[cfg(feature = "http")]
#[test]
fn unreadable_certificate_is_an_error_before_connecting() {
    let mut remote = Remote::new("https://example.com/mcp");
    let mut tls = mcp_config::model::Tls::default();
    tls.ca = Some("no/such/file.pem".into());
    remote.tls = Some(Box::new(tls));
    let problem = open(Transport::Http(remote)).unwrap_err();
    assert!(problem.contains("no/such/file.pem"), "{problem}");
}

struct Said;

impl mcp_config::expand::AskInput for Said {
    fn input(&self, id: &str) -> Option<String> {
        (id == "region").then(|| "eu".to_owned())
    }
}

#[cfg(feature = "http")]
#[test]
fn workspace_folder_and_inputs_are_expanded() {
    let folder = tempfile::tempdir().unwrap();
    let mut remote = Remote::new("https://${input:region}.example.com/mcp");
    let mut tls = mcp_config::model::Tls::default();
    tls.ca = Some("${workspaceFolder}/no-such.pem".into());
    remote.tls = Some(Box::new(tls));
    let config = ServerConfig::new("srv".parse().unwrap(), Transport::Http(remote));
    let plain = DefaultConnector::new().open(&config).unwrap_err().to_string();
    assert!(plain.contains("region") || plain.contains("workspaceFolder"), "{plain}");
    let connector = DefaultConnector::new().in_workspace(folder.path()).inputs(Arc::new(Said));
    let problem = connector.open(&config).unwrap_err().to_string();
    let path = folder.path().join("no-such.pem");
    assert!(problem.contains(&*path.to_string_lossy()), "{problem}");
}
