//! A server that requires a login, and its authorization server, on one socket.

use std::{
    collections::{HashMap, HashSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

/// The prefix of every secret issued, to search for leaks.
pub(crate) const CANARY: &str = "canary-";

/// Both servers; they stop when it is dropped.
pub(crate) struct Authority {
    pub(crate) origin: String,
    pub(crate) state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(crate) struct State {
    origin: String,
    /// The number of requests an access token is valid for.
    uses: u32,
    next: u32,
    codes: HashSet<String>,
    access: HashMap<String, u32>,
    refresh: HashSet<String>,
    spent: HashSet<String>,
    pub(crate) refreshes: usize,
    /// The number of refresh tokens used twice, by processes that did not share a refresh.
    pub(crate) double_spends: usize,
    pub(crate) revocations: usize,
    /// Whether the user denies the authorization.
    pub(crate) denies: bool,
    /// Whether the device authorization grant is supported.
    pub(crate) has_codes: bool,
    /// Device codes and whether they were confirmed, by user code.
    devices: HashMap<String, (String, bool)>,
    /// The redirect URIs that were used.
    pub(crate) redirects: Vec<String>,
}

struct Reply(u16, Vec<(&'static str, String)>, String);

impl Authority {
    /// Starts both servers. Access tokens must be renewed after `uses` requests.
    pub(crate) fn start(uses: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = State { origin: origin.clone(), uses, ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || answer(stream, &shared));
            }
        });
        Self { origin, state }
    }

    pub(crate) fn server(&self) -> String {
        format!("{}/mcp", self.origin)
    }
}

/// Follows redirects like a browser, and returns the last page.
pub(crate) fn browse(page: &str) -> String {
    let (location, body) = get(page);
    match location {
        Some(location) => get(&location).1,
        None => body,
    }
}

/// Returns the redirect target of a page, if any, and its text.
pub(crate) fn get(url: &str) -> (Option<String>, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let location = head.lines().find_map(|line| line.strip_prefix("location: "));
    (location.map(str::to_owned), body.to_owned())
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let mut headers = HashMap::new();
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let body = String::from_utf8(body).unwrap();
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Reply(status, more, body) =
        state.lock().unwrap().handle((method, path), query, &headers, &body);
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in more {
        text.extend([name, ": ", &*value, "\r\n"]);
    }
    text += "content-type: application/json\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all((text + &body).as_bytes());
}

impl State {
    fn handle(
        &mut self,
        what: (&str, &str),
        query: &str,
        headers: &HashMap<String, String>,
        body: &str,
    ) -> Reply {
        let at = |path: &str| format!("{}{path}", self.origin);
        match what {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                ok(&json!({"resource": at("/mcp"), "authorization_servers": [self.origin]}))
            }
            ("GET", "/.well-known/oauth-authorization-server") => ok(&json!({
                "issuer": self.origin, "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"), "registration_endpoint": at("/register"),
                "revocation_endpoint": at("/revoke"), "response_types_supported": ["code"],
                "device_authorization_endpoint": self.has_codes.then(|| at("/device")),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"]})),
            ("POST", "/register") => {
                ok(&json!({"client_id": "client", "token_endpoint_auth_method": "none"}))
            }
            ("GET", "/authorize") => self.authorize(query),
            ("POST", "/device") => self.device(),
            ("GET", "/activate") => {
                let known = self.devices.get_mut(&param(query, "code"));
                let Some((_, is_entered)) = known else {
                    return Reply(404, Vec::new(), String::new());
                };
                *is_entered = true;
                ok(&json!({}))
            }
            ("POST", "/token") => self.token(body),
            ("POST", "/revoke") => {
                self.revocations += 1;
                self.refresh.remove(&param(body, "token"));
                self.access.remove(&param(body, "token"));
                ok(&json!({}))
            }
            ("POST", "/mcp") => self.mcp(headers, body),
            _ => Reply(404, Vec::new(), String::new()),
        }
    }

    fn secret(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{CANARY}{kind}-{}", self.next)
    }

    /// Confirms at once, without asking the user.
    fn authorize(&mut self, query: &str) -> Reply {
        let answer = if self.denies {
            "error=access_denied".to_owned()
        } else {
            let code = self.secret("code");
            self.codes.insert(code.clone());
            format!("code={code}")
        };
        let (redirect, state) = (param(query, "redirect_uri"), param(query, "state"));
        self.redirects.push(redirect.clone());
        let to = format!("{redirect}?{answer}&state={state}");
        Reply(302, vec![("location", to)], String::new())
    }

    fn device(&mut self) -> Reply {
        let code = self.secret("device");
        let shown = format!("WDJB-{:04}", self.next);
        self.devices.insert(shown.clone(), (code.clone(), false));
        ok(&json!({"device_code": code, "user_code": shown, "interval": 1, "expires_in": 600,
            "verification_uri": format!("{}/activate", self.origin)}))
    }

    fn token(&mut self, body: &str) -> Reply {
        let refuse = |code: &str| Reply(400, Vec::new(), json!({ "error": code }).to_string());
        let refresh = param(body, "refresh_token");
        let is_good = match param(body, "grant_type").as_str() {
            "authorization_code" => {
                !param(body, "code_verifier").is_empty() && self.codes.remove(&param(body, "code"))
            }
            "refresh_token" => {
                self.refreshes += 1;
                self.double_spends += usize::from(self.spent.contains(&refresh));
                self.spent.insert(refresh.clone());
                self.refresh.remove(&refresh)
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let wanted = param(body, "device_code");
                match self.devices.values().find(|(code, _)| *code == wanted) {
                    Some((_, false)) => return refuse("authorization_pending"),
                    found => found.is_some(),
                }
            }
            _ => false,
        };
        if !is_good {
            return refuse("invalid_grant");
        }
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        self.access.insert(access.clone(), self.uses);
        self.refresh.insert(refresh.clone());
        ok(&json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
            "expires_in": 3600}))
    }

    fn mcp(&mut self, headers: &HashMap<String, String>, body: &str) -> Reply {
        let token = headers.get("authorization").and_then(|text| text.strip_prefix("Bearer "));
        let left = token.and_then(|token| self.access.get_mut(token)).filter(|left| **left > 0);
        let Some(left) = left else {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            return Reply(401, vec![("www-authenticate", challenge)], String::new());
        };
        *left -= 1;
        let request: Value = serde_json::from_str(body).unwrap();
        let Some(id) = request.get("id") else { return Reply(202, Vec::new(), String::new()) };
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "whoami", "description": "Says who you are",
                "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "ada"}]}),
            _ => {
                let error = json!({"code": -32601, "message": "unknown method"});
                return ok(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        ok(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}

fn ok(body: &Value) -> Reply {
    Reply(200, Vec::new(), body.to_string())
}

/// Returns one parameter of a form or query.
fn param(text: &str, name: &str) -> String {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next();
    let mut bytes = value.unwrap_or_default().bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8(out).unwrap()
}
