//! All servers of a login behind one function: takes a request, returns a response, and logs both.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

use mcp_auth::http::{HttpClient, HttpError, HttpRequest, HttpResponse};
use mcp_transport::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use super::{Count, ISSUER, SERVER, authority::Authority};

/// A response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The behaviour of the MCP server.
#[derive(Debug)]
pub(crate) struct Resource {
    /// The `WWW-Authenticate` of a 401.
    pub(crate) challenge: String,
    /// The metadata by path.
    pub(crate) metadata: HashMap<String, Value>,
    /// Scopes that a method needs in addition to a valid token.
    pub(crate) needs: HashMap<&'static str, &'static str>,
    /// Tokens of other issuers are rejected.
    pub(crate) trusts: HashSet<String>,
    pub(crate) wants_dpop: bool,
    pub(crate) nonce: Option<String>,
}

/// The MCP server and the authorization servers. All of them work correctly at first.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) resource: Mutex<Resource>,
    pub(crate) authorities: Mutex<HashMap<String, Authority>>,
    /// Responses that override all others, by method and URL without query.
    pub(crate) scripted: Mutex<HashMap<String, Reply>>,
    log: Mutex<Vec<String>>,
    calls: Mutex<usize>,
    pub(crate) ids: Count,
}

impl World {
    pub(crate) fn new() -> Self {
        let metadata = json!({ "resource": SERVER, "authorization_servers": [ISSUER] });
        let path = "/.well-known/oauth-protected-resource/mcp";
        Self {
            resource: Mutex::new(Resource {
                challenge: format!(r#"Bearer resource_metadata="https://mcp.test{path}""#),
                metadata: HashMap::from([(path.to_owned(), metadata)]),
                needs: HashMap::new(),
                trusts: HashSet::from([ISSUER.to_owned()]),
                wants_dpop: false,
                nonce: None,
            }),
            authorities: Mutex::new(HashMap::from([(ISSUER.to_owned(), Authority::new(ISSUER))])),
            scripted: Mutex::default(),
            log: Mutex::default(),
            calls: Mutex::default(),
            ids: Count::default(),
        }
    }

    pub(crate) fn resource(&self) -> MutexGuard<'_, Resource> {
        self.resource.lock().unwrap()
    }

    /// Changes the default authorization server.
    pub(crate) fn authority(&self, change: impl FnOnce(&mut Authority)) {
        change(self.authorities.lock().unwrap().get_mut(ISSUER).unwrap());
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Authority) -> T) -> T {
        look(&self.authorities.lock().unwrap()[ISSUER])
    }

    /// Responds to `METHOD url` with `reply` from now on.
    pub(crate) fn script(&self, request: &str, reply: Reply) {
        self.scripted.lock().unwrap().insert(request.to_owned(), reply);
    }

    pub(crate) fn unscript(&self, request: &str) {
        self.scripted.lock().unwrap().remove(request);
    }

    /// Returns the requests so far, as `METHOD url` without queries, and without MCP calls.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Returns the number of requests to the MCP server.
    pub(crate) fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }

    pub(crate) fn asked(&self, request: &str) -> usize {
        self.log().iter().filter(|line| *line == request).count()
    }

    pub(crate) fn handle(
        &self,
        method: &str,
        url: &str,
        headers: &HashMap<String, String>,
        body: &str,
    ) -> Reply {
        let bare = url.split('?').next().unwrap_or_default();
        let line = format!("{method} {bare}");
        if url != SERVER {
            self.log.lock().unwrap().push(line.clone());
        }
        if let Some(reply) = self.scripted.lock().unwrap().get(&line) {
            return reply.clone();
        }
        if url == SERVER {
            *self.calls.lock().unwrap() += 1;
            return self.call(method, headers, body);
        }
        let Ok(parsed) = Url::parse(url) else { return Reply::status(400) };
        if parsed.host_str() == Some("mcp.test") && method == "GET" {
            let resource = self.resource();
            let found = resource.metadata.get(parsed.path());
            if let Some(document) = found {
                return Reply::json(200, document);
            }
        }
        let mut authorities = self.authorities.lock().unwrap();
        let origin = parsed.origin().ascii_serialization();
        let authority = authorities.values_mut().find(|authority| authority.origin() == origin);
        match authority {
            Some(authority) => authority.handle(method, &parsed, headers, body, &self.ids),
            None => Reply::status(404),
        }
    }

    /// Handles a request to the MCP server: 401 without a trusted token, 403 without the required scope.
    fn call(&self, method: &str, headers: &HashMap<String, String>, body: &str) -> Reply {
        let resource = self.resource();
        let (scheme, token) = headers
            .get("authorization")
            .and_then(|header| header.split_once(' '))
            .unwrap_or_default();
        let authorities = self.authorities.lock().unwrap();
        let known = authorities
            .values()
            .filter(|authority| resource.trusts.contains(&authority.issuer))
            .find_map(|authority| authority.tokens.get(token));
        let refuse = |error: &str| {
            let comma = if resource.challenge.contains('=') { "," } else { "" };
            let challenge = format!("{}{comma} error=\"{error}\"", resource.challenge);
            Reply::status(401).with("www-authenticate", challenge)
        };
        let Some(known) = known else {
            return if token.is_empty() {
                Reply::status(401).with("www-authenticate", resource.challenge.clone())
            } else {
                refuse("invalid_token")
            };
        };
        if resource.wants_dpop {
            let proof = headers.get("dpop").map(String::as_str).unwrap_or_default();
            let verdict = super::authority::check_proof(
                proof,
                method,
                SERVER,
                Some(token),
                resource.nonce.as_deref(),
            );
            match verdict {
                Ok(key) if scheme == "DPoP" && known.key.as_deref() == Some(&key) => {}
                Err("nonce") => {
                    let nonce = resource.nonce.clone().unwrap_or_default();
                    return refuse("use_dpop_nonce").with("dpop-nonce", nonce);
                }
                other => panic!("a wrong proof: {other:?}"),
            }
        } else {
            assert_eq!(scheme, "Bearer");
        }
        match resource.needs.get(body) {
            Some(scope) if !known.scope.split(' ').any(|has| has == *scope) => {
                let challenge = format!(
                    r#"{}, error="insufficient_scope", scope="{scope}""#,
                    resource.challenge
                );
                Reply::status(403).with("www-authenticate", challenge)
            }
            _ => Reply::status(200),
        }
    }
}

impl HttpClient for World {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        let headers: HashMap<String, String> = request
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.expose().to_owned()))
            .collect();
        let reply = self.handle(request.method, &request.url, &headers, request.body.expose());
        Box::pin(async move {
            // Let other tasks run, as with a real network.
            tokio::task::yield_now().await;
            match reply.status {
                0 => Err(HttpError::Unreachable(None)),
                _ if reply.body.len() > request.most_bytes => {
                    Err(HttpError::TooLarge(request.most_bytes))
                }
                status => Ok(HttpResponse::new(status, reply.headers, reply.body.into_bytes())),
            }
        })
    }
}
