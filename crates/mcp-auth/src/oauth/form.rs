//! Form bodies of requests to an authorization server.

use zeroize::Zeroizing;

use crate::secret::Secret;

/// The fields of one form, wiped from memory on drop.
#[derive(Clone, Default)]
pub(crate) struct Form(Vec<(&'static str, Zeroizing<String>)>);

impl Form {
    pub(crate) fn new(grant_type: &str) -> Self {
        Self::default().with("grant_type", grant_type)
    }

    pub(crate) fn add(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Zeroizing::new(value.to_owned())));
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.add(name, value);
        self
    }

    pub(crate) fn with_some(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Encodes the form: <https://www.rfc-editor.org/rfc/rfc6749#appendix-B>.
    pub(crate) fn encode(&self) -> Secret {
        let mut encoder = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.0 {
            encoder.append_pair(name, value);
        }
        Secret::new(encoder.finish())
    }
}
