//! A host's own login to a server over HTTP.

use std::sync::{Arc, Mutex};

use mcp_host::{
    BoxFuture, Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, ServerState,
    auth::{
        AuthFailure, Authorize, Challenge, Credentials, Identify, Identity, Login, LoginFailure,
        LoginUser, Target,
    },
    config::{Remote, Transport},
    serve::{
        ServeOptions, ToolServer,
        http::{AccessToken, HttpServeOptions},
    },
    servers::DefaultConnector,
    tool,
    transport::ConnectError,
};

const TOKEN: &str = "a-token-of-the-users-session-1234567890";

#[derive(Clone, Default)]
struct Session(Arc<Mutex<bool>>);

impl Authorize for Session {
    fn credentials<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        let is_in = *self.0.lock().unwrap();
        let header = || Credentials::header("authorization", format!("Bearer {TOKEN}"));
        Box::pin(async move { Ok(if is_in { header() } else { Credentials::default() }) })
    }

    fn challenged<'a>(&'a self, _: &'a Challenge) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async { Err(AuthFailure::needs_user("log in first")) })
    }
}

impl Login for Session {
    fn login(&self, _: LoginUser) -> BoxFuture<'_, Result<(), LoginFailure>> {
        *self.0.lock().unwrap() = true;
        Box::pin(async { Ok(()) })
    }

    fn logout(&self) -> BoxFuture<'_, Result<(), LoginFailure>> {
        *self.0.lock().unwrap() = false;
        Box::pin(async { Ok(()) })
    }
}

impl Identify for Session {
    fn identify(&self, _: &ServerConfig) -> Result<Identity, ConnectError> {
        let session = Arc::new(self.clone());
        Ok(Identity::default().with_authorizer(session.clone()).with_login(session))
    }
}

#[tokio::test]
async fn tools_are_listed_after_a_login() {
    let server = ToolServer::new(ServeOptions::new("vault", "1.0.0"));
    server.add_tool(tool("open", "Opens").read_only().run(|(), _ctx| async { Ok("open") }));
    let token: AccessToken = TOKEN.parse().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = server.http(HttpServeOptions::default().with_bearer(token));
    tokio::spawn(async move { http.serve(listener).await });

    let connector = DefaultConnector::new().identify(Arc::new(Session::default()));
    let bridge = Bridge::new(BridgeOptions::default().with_connector(connector));
    let mut config =
        ServerConfig::new("vault".parse().unwrap(), Transport::Http(Remote::new(url.as_str())));
    config.trust = true;
    bridge.add_server_as_written(config);
    bridge.start().await;
    assert_eq!(bridge.status()[0].state, ServerState::NeedsLogin);

    let status = bridge.login("vault", Arc::new(|_| {})).await.unwrap();
    assert_eq!((status.state, status.tools), (ServerState::Connected, 1));
    let turn = bridge.snapshot(); // without waiting for the connection
    assert!(
        turn.get("mcp__vault__open").is_some() && turn.get("mcp__vault__authenticate").is_none()
    );
    let outcome =
        turn.call("mcp__vault__open", RawJson::empty_object(), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "open");
    bridge.shutdown().await;
}
