//! What a host declares that servers may ask of it.

use mcp_jsonrpc::{ObjectWriter, RawJson};

use crate::era::Era;

/// What a host offers. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "that is what the protocol's object is")]
pub struct ClientCapabilities {
    /// The user can fill in forms.
    pub elicitation_form: bool,
    /// The user can be sent to a page.
    pub elicitation_url: bool,
    /// The host runs its model for servers.
    pub sampling: bool,
    /// And lets it use the server's tools.
    pub sampling_tools: bool,
    /// The host names roots.
    pub roots: bool,
    /// And tells when they change (legacy servers only).
    pub roots_list_changed: bool,
    /// Extensions, with their settings.
    pub extensions: Vec<(String, RawJson)>,
}

impl ClientCapabilities {
    /// As the protocol writes it. All values are objects.
    pub(crate) fn to_json(&self, era: Era) -> RawJson {
        let empty = RawJson::empty_object();
        let mut all = ObjectWriter::new();
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
    fn declares_objects_only_and_nothing_by_default() {
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
