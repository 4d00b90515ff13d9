//! The capabilities that a host declares to servers.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation>

use mcp_jsonrpc::{ObjectWriter, RawJson};

use crate::version::Era;

/// The capabilities of a host. Default: none.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "the object of the protocol has these flags")]
pub struct ClientCapabilities {
    /// Form elicitation: the user can fill in forms.
    pub elicitation_form: bool,
    /// URL elicitation: the user can be asked to visit a URL.
    pub elicitation_url: bool,
    /// Sampling: the host runs its model for servers.
    pub sampling: bool,
    /// Sampling with tools of the server.
    pub sampling_tools: bool,
    /// Roots: the host lists roots.
    pub roots: bool,
    /// The host notifies when its roots change (legacy servers only).
    pub roots_list_changed: bool,
    /// Extensions with their settings.
    pub extensions: Vec<(String, RawJson)>,
}

impl ClientCapabilities {
    /// The capabilities object. All values are objects.
    pub fn to_json(&self, era: Era) -> RawJson {
        let empty = RawJson::empty_object();
        let mut all = ObjectWriter::new();
        // An empty object would declare form elicitation, for compatibility with 2025-06-18:
        // <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#capabilities>
        if self.elicitation_form || self.elicitation_url {
            all.object("elicitation", |modes| {
                if self.elicitation_form {
                    modes.raw("form", &empty);
                }
                if self.elicitation_url {
                    modes.raw("url", &empty);
                }
                modes
            });
        }
        if self.sampling {
            all.object("sampling", |sampling| {
                if self.sampling_tools {
                    sampling.raw("tools", &empty);
                }
                sampling
            });
        }
        if self.roots {
            all.object("roots", |roots| {
                if self.roots_list_changed && era == Era::Legacy {
                    roots.boolean("listChanged", true);
                }
                roots
            });
        }
        // Legacy revisions do not define `extensions`.
        if !self.extensions.is_empty() && era == Era::Modern {
            all.object("extensions", |extensions| {
                for (id, settings) in &self.extensions {
                    extensions.raw(id, settings);
                }
                extensions
            });
        }
        all.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_objects_and_empty_by_default() {
        assert_eq!(ClientCapabilities::default().to_json(Era::Modern).as_str(), "{}");
        let all = ClientCapabilities {
            elicitation_form: true,
            elicitation_url: true,
            sampling: true,
            sampling_tools: true,
            roots: true,
            roots_list_changed: true,
            extensions: vec![("com.example/x".into(), RawJson::empty_object())],
        };
        assert_eq!(
            all.to_json(Era::Modern).as_str(),
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"extensions":{"com.example/x":{}}}"#
        );
        assert_eq!(
            all.to_json(Era::Legacy).as_str(),
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#
        );
    }
}
