//! A scripted authorization server that checks every request.

use std::collections::{HashMap, HashSet};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    digest,
    signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey},
};
use serde_json::{Value, json};
use url::Url;

use super::{Count, Reply, SERVER, param};

/// The prefix of all issued secrets, so that a leak can be found.
pub(crate) const CANARY: &str = "CANARY-";

#[derive(Clone, Debug, Default)]
pub(crate) struct Token {
    pub(crate) scope: String,
    /// The thumbprint of the key it is bound to.
    pub(crate) key: Option<String>,
}

#[derive(Debug)]
struct Code {
    challenge: String,
    redirect: String,
    client: String,
    resource: String,
    scope: String,
}

#[derive(Debug)]
pub(crate) struct Authority {
    pub(crate) issuer: String,
    /// The metadata document, served at `metadata_path`.
    pub(crate) metadata: Value,
    pub(crate) metadata_path: String,
    /// The `iss` of every redirect; `None` omits it.
    pub(crate) iss: Option<String>,
    /// The error sent instead of a code.
    pub(crate) denies: Option<&'static str>,
    /// Clients and their secrets.
    pub(crate) clients: HashMap<String, Option<String>>,
    pub(crate) auth_method: &'static str,
    pub(crate) gives_refresh: bool,
    pub(crate) rotates: bool,
    pub(crate) life: u64,
    pub(crate) grants_scope: bool,
    pub(crate) wants_nonce: Option<String>,
    /// The only resource that tokens are issued for.
    pub(crate) resource: String,
    codes: HashMap<String, Code>,
    pub(crate) tokens: HashMap<String, Token>,
    /// Valid refresh tokens.
    pub(crate) refresh: HashMap<String, String>,
    pub(crate) spent: HashSet<String>,
    pub(crate) double_spends: usize,
    pub(crate) revoked: Vec<String>,
    pub(crate) authorizations: Vec<String>,
    pub(crate) registrations: Vec<Value>,
    pub(crate) token_requests: Vec<String>,
    pub(crate) proofs: HashSet<String>,
    /// How often a device code is pending before the user consents.
    pub(crate) pending: usize,
}

impl Authority {
    pub(crate) fn new(issuer: &str) -> Self {
        let origin = Url::parse(issuer).unwrap().origin().ascii_serialization();
        let at = |path: &str| format!("{origin}{path}");
        Self {
            issuer: issuer.to_owned(),
            metadata: json!({
                "issuer": issuer,
                "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"),
                "registration_endpoint": at("/register"),
                "revocation_endpoint": at("/revoke"),
                "device_authorization_endpoint": at("/device"),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
                "token_endpoint_auth_methods_supported": ["none"],
                "dpop_signing_alg_values_supported": ["ES256"],
            }),
            metadata_path: "/.well-known/oauth-authorization-server".to_owned(),
            iss: Some(issuer.to_owned()),
            denies: None,
            clients: HashMap::new(),
            auth_method: "none",
            gives_refresh: true,
            rotates: true,
            life: 3600,
            grants_scope: true,
            wants_nonce: None,
            resource: SERVER.to_owned(),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            refresh: HashMap::new(),
            spent: HashSet::new(),
            double_spends: 0,
            revoked: Vec::new(),
            authorizations: Vec::new(),
            registrations: Vec::new(),
            token_requests: Vec::new(),
            proofs: HashSet::new(),
            pending: 0,
        }
    }

    pub(crate) fn origin(&self) -> String {
        Url::parse(&self.issuer).unwrap().origin().ascii_serialization()
    }

    pub(crate) fn handle(
        &mut self,
        method: &str,
        url: &Url,
        headers: &HashMap<String, String>,
        body: &str,
        ids: &Count,
    ) -> Reply {
        match (method, url.path()) {
            ("GET", path) if path == self.metadata_path => Reply::json(200, &self.metadata),
            ("GET", "/authorize") => self.authorize(url, ids),
            ("POST", "/register") => self.register(body, ids),
            ("POST", "/token") => self.token(headers, body, ids),
            ("POST", "/revoke") => {
                let token = param(body, "token").unwrap();
                self.tokens.remove(&token);
                self.refresh.remove(&token);
                self.revoked.push(param(body, "token_type_hint").unwrap());
                Reply::status(200)
            }
            ("POST", "/device") => {
                assert_eq!(param(body, "resource").as_deref(), Some(SERVER));
                Reply::json(
                    200,
                    &json!({
                        "device_code": format!("{CANARY}device"), "user_code": "AB-CD",
                        "verification_uri": "https://as.test/enter", "expires_in": 600,
                        "interval": 1,
                    }),
                )
            }
            _ => Reply::status(404),
        }
    }

    fn authorize(&mut self, url: &Url, ids: &Count) -> Reply {
        let get = |name: &str| param(url.as_str(), name);
        self.authorizations.push(url.to_string());
        assert_eq!(get("code_challenge_method").as_deref(), Some("S256"));
        assert!(self.clients.contains_key(&get("client_id").unwrap()), "an unknown client");
        let redirect = get("redirect_uri").unwrap();
        let mut to = Url::parse(&redirect).unwrap();
        to.query_pairs_mut().append_pair("state", &get("state").unwrap());
        if let Some(iss) = &self.iss {
            to.query_pairs_mut().append_pair("iss", iss);
        }
        if let Some(error) = self.denies {
            to.query_pairs_mut().append_pair("error", error);
        } else {
            let code = format!("{CANARY}code-{}", ids.next());
            to.query_pairs_mut().append_pair("code", &code);
            let made = Code {
                challenge: get("code_challenge").unwrap(),
                redirect,
                client: get("client_id").unwrap(),
                resource: get("resource").unwrap(),
                scope: get("scope").unwrap_or_default(),
            };
            self.codes.insert(code, made);
        }
        Reply::status(302).with("location", to.as_str())
    }

    fn register(&mut self, body: &str, ids: &Count) -> Reply {
        let wanted: Value = serde_json::from_str(body).unwrap();
        assert_eq!(wanted["application_type"], "native");
        let id = format!("client-{}", ids.next());
        let mut response =
            json!({ "client_id": id, "token_endpoint_auth_method": self.auth_method });
        let secret = (self.auth_method != "none").then(|| format!("{CANARY}secret-{id}"));
        if let Some(secret) = &secret {
            response["client_secret"] = secret.as_str().into();
        }
        self.clients.insert(id, secret);
        self.registrations.push(wanted);
        Reply::json(201, &response)
    }

    fn token(&mut self, headers: &HashMap<String, String>, body: &str, ids: &Count) -> Reply {
        self.token_requests.push(body.to_owned());
        let refuse = |code: &str| Reply::json(400, &json!({ "error": code }));
        let key = match headers.get("dpop") {
            None => None,
            Some(proof) => {
                assert!(self.proofs.insert(proof.clone()), "a proof was used twice");
                let url = format!("{}/token", self.origin());
                match check_proof(proof, "POST", &url, None, self.wants_nonce.as_deref()) {
                    Ok(key) => Some(key),
                    Err("nonce") => {
                        let nonce = self.wants_nonce.clone().unwrap();
                        return refuse("use_dpop_nonce").with("dpop-nonce", nonce);
                    }
                    Err(wrong) => panic!("a wrong proof: {wrong}"),
                }
            }
        };
        let Some(client) = self.client(headers, body) else { return refuse("invalid_client") };
        let (scope, with_refresh) = match self.redeem(body, &client) {
            Ok(granted) => granted,
            Err(code) => return refuse(code),
        };
        let access = format!("{CANARY}access-{}", ids.next());
        let kind = if key.is_some() { "DPoP" } else { "Bearer" };
        let mut response =
            json!({ "access_token": access, "token_type": kind, "expires_in": self.life });
        self.tokens.insert(access, Token { scope: scope.clone(), key });
        let is_first = param(body, "refresh_token").is_none();
        if with_refresh && self.gives_refresh && (is_first || self.rotates) {
            let refresh = format!("{CANARY}refresh-{}", ids.next());
            response["refresh_token"] = refresh.as_str().into();
            self.refresh.insert(refresh, scope);
        }
        if param(body, "grant_type").unwrap().ends_with("token-exchange") {
            response["access_token"] = format!("{CANARY}-is-no-jwt").into();
            response["issued_token_type"] = "urn:ietf:params:oauth:token-type:id-jag".into();
        }
        Reply::json(200, &response)
    }

    /// Returns the client of a request, if it authenticated with its registered method.
    fn client(&self, headers: &HashMap<String, String>, body: &str) -> Option<String> {
        if let Some(assertion) = param(body, "client_assertion") {
            let claims = claims(&assertion);
            assert_eq!(claims["aud"], self.issuer.as_str());
            assert_eq!(claims["iss"], claims["sub"]);
            return Some(claims["iss"].as_str().unwrap().to_owned());
        }
        let (id, secret, method) = match headers.get("authorization") {
            Some(basic) => {
                let pair = STANDARD.decode(basic.strip_prefix("Basic ")?).ok()?;
                let (id, secret) = std::str::from_utf8(&pair).ok()?.split_once(':')?;
                let plain = |text: &str| param(&format!("x={text}"), "x").unwrap();
                (plain(id), Some(plain(secret)), "client_secret_basic")
            }
            None => match param(body, "client_secret") {
                Some(secret) => (param(body, "client_id")?, Some(secret), "client_secret_post"),
                None => (param(body, "client_id")?, None, "none"),
            },
        };
        assert_eq!(method, self.auth_method);
        (self.clients.get(&id)? == &secret).then_some(id)
    }

    /// Returns the granted scope, and whether a refresh token is issued with it.
    fn redeem(&mut self, body: &str, client: &str) -> Result<(String, bool), &'static str> {
        let get = |name: &str| param(body, name).unwrap_or_default();
        let grant = get("grant_type");
        assert_eq!(get("resource"), self.resource, "`resource` of {grant}");
        match grant.as_str() {
            "authorization_code" => {
                let code = self.codes.remove(&get("code")).ok_or("invalid_grant")?;
                let hash = digest::digest(&digest::SHA256, get("code_verifier").as_bytes());
                assert_eq!(URL_SAFE_NO_PAD.encode(hash.as_ref()), code.challenge);
                assert_eq!(get("redirect_uri"), code.redirect);
                assert_eq!(client, code.client);
                assert_eq!(get("resource"), code.resource);
                Ok((if self.grants_scope { code.scope } else { String::new() }, true))
            }
            "refresh_token" => {
                let token = get("refresh_token");
                if self.spent.contains(&token) {
                    self.double_spends += 1;
                    return Err("invalid_grant");
                }
                let scope = self.refresh.get(&token).cloned().ok_or("invalid_grant")?;
                if self.rotates {
                    self.refresh.remove(&token);
                    self.spent.insert(token);
                }
                Ok((scope, true))
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                assert_eq!(get("device_code"), format!("{CANARY}device"));
                if self.pending > 0 {
                    self.pending -= 1;
                    return Err(if self.pending % 2 == 1 {
                        "slow_down"
                    } else {
                        "authorization_pending"
                    });
                }
                Ok((String::new(), true))
            }
            "urn:ietf:params:oauth:grant-type:jwt-bearer" if get("assertion").contains("bad") => {
                Err("invalid_grant")
            }
            "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                Ok((get("scope"), false))
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                assert_eq!(get("audience"), super::ISSUER);
                Ok((get("scope"), false))
            }
            other => panic!("an unknown grant: {other}"),
        }
    }
}

/// The claims of a JWT, unverified.
pub(crate) fn claims(jwt: &str) -> Value {
    let part = jwt.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// Verifies a `DPoP` proof and returns its key.
pub(crate) fn check_proof(
    proof: &str,
    method: &str,
    url: &str,
    token: Option<&str>,
    nonce: Option<&str>,
) -> Result<String, &'static str> {
    let (signed, signature) = proof.rsplit_once('.').ok_or("no JWT")?;
    let (header, _) = signed.split_once('.').ok_or("no JWT")?;
    let header: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).map_err(|_| "no base64")?)
            .map_err(|_| "no JSON")?;
    if header["typ"] != "dpop+jwt" || header["alg"] != "ES256" {
        return Err("header");
    }
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap());
    let mut point = vec![4];
    point.extend(coordinate("x").map_err(|_| "key")?);
    point.extend(coordinate("y").map_err(|_| "key")?);
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &point)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).map_err(|_| "no base64")?)
        .map_err(|_| "signature")?;
    let claims = claims(proof);
    if claims["htm"] != method || claims["htu"] != url {
        return Err("request");
    }
    let hash = |text: &str| {
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
    };
    if claims["ath"].as_str().map(str::to_owned) != token.map(hash) {
        return Err("token");
    }
    if nonce.is_some() && claims["nonce"].as_str() != nonce {
        return Err("nonce");
    }
    Ok(header["jwk"].to_string())
}
