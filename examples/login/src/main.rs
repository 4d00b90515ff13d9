//! A login of your own: the application has the user's session already, and gives servers a token of it.
//!
//! `Authorize` gives each request its credentials, `Login` obtains them, and `Identify` says for which server. OAuth is
//! the same in the library: `BridgeOptions::with_logins`.

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

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
use tokio::net::TcpListener;

const TOKEN: &str = "a-token-of-the-users-session-1234567890";

/// What the application knows of its user: nothing, or a token.
#[derive(Clone, Default)]
struct Session(Arc<Mutex<Option<String>>>);

impl Session {
    fn token(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, token: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

impl Authorize for Session {
    fn credentials<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async {
            let header = self
                .token()
                .map(|token| Credentials::header("authorization", format!("Bearer {token}")));
            Ok(header.unwrap_or_default())
        })
    }

    fn challenged<'a>(&'a self, _: &'a Challenge) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async { Err(AuthFailure::needs_user("log in to the application first")) })
    }
}

impl Login for Session {
    fn login(&self, user: LoginUser) -> BoxFuture<'_, Result<(), LoginFailure>> {
        Box::pin(async move {
            (user.tell)("logging in with the session of the application".into());
            self.set(Some(TOKEN.into()));
            Ok(())
        })
    }

    fn logout(&self) -> BoxFuture<'_, Result<(), LoginFailure>> {
        Box::pin(async {
            self.set(None);
            Ok(())
        })
    }
}

impl Identify for Session {
    fn identify(&self, _: &ServerConfig) -> Result<Identity, ConnectError> {
        let session = Arc::new(self.clone());
        Ok(Identity::default().with_authorizer(session.clone()).with_login(session))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ToolServer::new(ServeOptions::new("vault", "1.0.0"));
    server
        .add_tool(tool("open", "Opens the vault").read_only().run(|(), _ctx| async { Ok("open") }));
    let options = HttpServeOptions::default().with_bearer(TOKEN.parse::<AccessToken>()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let serving = tokio::spawn(async move { server.http(options).serve(listener).await });

    let connector = DefaultConnector::new().identify(Arc::new(Session::default()));
    let bridge = Bridge::new(BridgeOptions::default().with_connector(connector));
    let config = ServerConfig::new("vault".parse()?, Transport::Http(Remote::new(url.as_str())));
    bridge.add_server_as_written(config.with_trust(true));
    bridge.start().await;
    println!("{}", bridge.status()[0]);
    assert_eq!(bridge.status()[0].state, ServerState::NeedsLogin);

    let status = bridge.login("vault", Arc::new(|text| println!("{text}"))).await?;
    println!("{status}");
    let outcome =
        bridge.call("mcp__vault__open", RawJson::empty_object(), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "open");
    bridge.shutdown().await;
    serving.abort();
    Ok(())
}
