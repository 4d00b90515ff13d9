//! Servers reached through a URL.

use std::{fs, sync::Arc};

use mcp_config::{ServerConfig, Transport, model::Tls};
use mcp_transport::{
    Authorize, Connect, ConnectError, StaticHeaders,
    net::{TlsIdentity, TlsOptions},
};

/// Changes the options of a server before each connection.
type Adjust<O> = Box<dyn Fn(&ServerConfig, &mut O) + Send + Sync>;

/// State shared by all remote servers of a host.
#[derive(Default)]
pub(super) struct Remote {
    #[cfg(feature = "http")]
    pub(super) adjust_http: Option<Adjust<mcp_transport::HttpOptions>>,
    #[cfg(feature = "ws")]
    pub(super) adjust_ws: Option<Adjust<mcp_transport::WsOptions>>,
    /// The shared connection pool, created on first use.
    #[cfg(feature = "http")]
    pool: std::sync::Mutex<Option<mcp_transport::HttpClient>>,
}

impl Remote {
    /// Returns the connector for a server. The variables of `config` are already expanded.
    pub(super) fn open(
        &self,
        config: &ServerConfig,
        authorizer: Option<Arc<dyn Authorize>>,
    ) -> Result<Arc<dyn Connect>, ConnectError> {
        let Some(remote) = config.transport.remote() else {
            return Err(super::left_out(config));
        };
        if remote.headers_helper.is_some() && authorizer.is_none() {
            let problem = "`headersHelper` is not supported: this host was created without logins";
            return Err(ConnectError::InvalidOptions(problem.into()));
        }
        let url = remote.url.expose().to_owned();
        let headers: Vec<(String, String)> = remote
            .headers
            .iter()
            .map(|(name, value)| (name.to_owned(), value.expose().to_owned()))
            .collect();
        // Headers of an entry are often credentials, so all of them are treated as such.
        let authorizer = match authorizer {
            None if !headers.is_empty() => {
                Some(Arc::new(StaticHeaders::new(headers)) as Arc<dyn Authorize>)
            }
            authorizer => authorizer,
        };
        let tls = tls(remote.tls.as_deref())?;
        match &config.transport {
            #[cfg(feature = "http")]
            Transport::Http(_) | Transport::Sse(_) => {
                let mut options = mcp_transport::HttpOptions::new(url);
                options.authorizer = authorizer;
                if let Some(adjust) = &self.adjust_http {
                    adjust(config, &mut options);
                }
                let client = self.client(tls)?;
                Ok(match &config.transport {
                    Transport::Sse(_) => Arc::new(mcp_transport::Sse::new(client, options)),
                    _ => Arc::new(mcp_transport::Http::new(client, options)),
                })
            }
            #[cfg(feature = "ws")]
            Transport::Ws(_) => {
                let mut options = mcp_transport::WsOptions::new(url);
                options.authorizer = authorizer;
                options.tls = tls.unwrap_or_default();
                if let Some(adjust) = &self.adjust_ws {
                    adjust(config, &mut options);
                }
                Ok(Arc::new(mcp_transport::Ws::new(options)))
            }
            _ => Err(super::left_out(config)),
        }
    }

    /// The shared pool, or a separate one for a server with its own certificates.
    #[cfg(feature = "http")]
    fn client(&self, tls: Option<TlsOptions>) -> Result<mcp_transport::HttpClient, ConnectError> {
        if let Some(tls) = tls {
            let mut options = mcp_transport::net::HttpClientOptions::default();
            options.tls = tls;
            return mcp_transport::HttpClient::with_options(&options);
        }
        let mut pool = crate::sync::lock(&self.pool);
        if let Some(client) = &*pool {
            return Ok(client.clone());
        }
        let client = mcp_transport::HttpClient::new()?;
        *pool = Some(client.clone());
        Ok(client)
    }
}

/// Reads a server's certificates. `None`: the default certificates are used.
fn tls(config: Option<&Tls>) -> Result<Option<TlsOptions>, ConnectError> {
    let Some(config) = config else { return Ok(None) };
    let read = |path: &mcp_config::Template| {
        let path = path.expose();
        fs::read(path).map_err(|error| {
            ConnectError::InvalidOptions(format!("cannot read the certificate {path}: {error}"))
        })
    };
    let mut options = TlsOptions::default();
    if let Some(path) = &config.ca {
        options.extra_roots.push(read(path)?);
    }
    match (&config.cert, &config.key) {
        (Some(cert), Some(key)) => {
            options.identity = Some(TlsIdentity::new(read(cert)?, read(key)?));
        }
        (None, None) => {}
        _ => {
            let problem = "`cert` and `key` of `tls` must be set together";
            return Err(ConnectError::InvalidOptions(problem.into()));
        }
    }
    Ok(Some(options))
}
