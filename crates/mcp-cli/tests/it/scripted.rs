//! A server that answers each method with prepared lines.

use serde_json::{Value, json};

use crate::support::Machine;

/// Answers `method` with the lines of `$1/method`. A request without such a file gets an error, and a response gets the
/// lines of `$1/answer`. `@ID@` is the id of the current request, `@CALL@` that of the last call, and `@TOKEN@` its
/// progress token.
const SERVER: &str = r#"
[ -f "$1/stderr" ] && cat "$1/stderr" >&2
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  method=$(printf %s "$line" | sed -n 's/.*"method":"\([^"]*\)".*/\1/p' | tr / .)
  case "$method" in
    tools.call) call=$id; token=$(printf %s "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p') ;;
    notifications.*) continue ;;
    '') method=answer ;;
  esac
  if [ -f "$1/$method" ]; then
    sed "s/\"@ID@\"/$id/g; s/\"@CALL@\"/$call/g; s/\"@TOKEN@\"/$token/g" "$1/$method"
  elif [ -n "$id" ]; then
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id"
  fi
done
"#;

/// The folder with one server's lines.
pub(crate) struct Scripted<'a> {
    machine: &'a Machine,
    name: &'a str,
}

impl<'a> Scripted<'a> {
    /// Adds a server without tools to the user scope.
    pub(crate) fn add(machine: &'a Machine, name: &'a str, flags: &[&str]) -> Self {
        let _ = Self::at(machine, name);
        Self::add_configured(machine, name, flags)
    }

    /// Adds a server whose lines are already written.
    pub(crate) fn add_configured(machine: &'a Machine, name: &'a str, flags: &[&str]) -> Self {
        let this = Self { machine, name };
        let folder = this.folder();
        let mut args = vec!["add", "-s", "user"];
        args.extend(flags);
        args.extend([name, "--", "sh", "-c", SERVER, "sh", &folder]);
        let added = machine.run(args);
        assert_eq!(added.code, 0, "{}", added.stderr);
        this
    }

    /// Returns the entry of the server, with an argument in its command that has no effect.
    pub(crate) fn entry(&self, word: &str) -> Value {
        json!({"command": "sh", "args": ["-c", SERVER, word, self.folder()]})
    }

    fn folder(&self) -> String {
        self.machine.home().join("scripts").join(self.name).to_str().unwrap().to_owned()
    }

    /// Writes the lines of a server without configuring it.
    pub(crate) fn at(machine: &'a Machine, name: &'a str) -> Self {
        let this = Self { machine, name };
        this.result(
            "initialize",
            &json!({"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
            "serverInfo": {"name": "sh", "version": "1"}}),
        );
        this.tools(&json!([]))
    }

    /// Sets the tools of the server.
    pub(crate) fn tools(self, tools: &Value) -> Self {
        self.result("tools/list", &json!({ "tools": tools }));
        self
    }

    /// Sets the result of `method`.
    pub(crate) fn result(&self, method: &str, result: &Value) {
        self.lines(method, &[json!({"jsonrpc": "2.0", "id": "@ID@", "result": result})]);
    }

    /// Sets the error of `method`.
    pub(crate) fn error(&self, method: &str, message: &str) {
        let error = json!({"code": -32000, "message": message});
        self.lines(method, &[json!({"jsonrpc": "2.0", "id": "@ID@", "error": error})]);
    }

    /// Sets the messages sent for `method`.
    pub(crate) fn lines(&self, method: &str, messages: &[Value]) {
        let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
        self.text(method, &(lines.join("\n") + "\n"));
    }

    /// Sets the text sent for `method`; for `stderr`, the text written there at the start.
    pub(crate) fn text(&self, method: &str, text: &str) {
        let file = format!("scripts/{}/{}", self.name, method.replace('/', "."));
        self.machine.write(&file, text);
    }
}
