//! The scopes to request.

/// The scopes of one authorization, in order and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes(Vec<String>);

const OFFLINE: &str = "offline_access";
/// Further scopes are ignored.
const MOST: usize = 256;

impl Scopes {
    /// Parses a space-separated list.
    pub(crate) fn parse(text: &str) -> Self {
        Self::default().with(text.split_ascii_whitespace())
    }

    pub(crate) fn of<T: AsRef<str>>(scopes: &[T]) -> Self {
        Self::default().with(scopes.iter().map(AsRef::as_ref))
    }

    fn with<'a>(mut self, more: impl Iterator<Item = &'a str>) -> Self {
        for scope in more {
            // The allowed characters: https://www.rfc-editor.org/rfc/rfc6749#section-3.3
            let is_scope = scope.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\');
            let is_new = !self.0.iter().any(|known| known == scope);
            if is_scope && is_new && !scope.is_empty() && self.0.len() < MOST {
                self.0.push(scope.to_owned());
            }
        }
        self
    }

    /// Appends the scopes of `other`.
    pub(crate) fn union(self, other: &Self) -> Self {
        self.with(other.0.iter().map(String::as_str))
    }

    pub(crate) fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|scope| self.0.contains(scope))
    }

    /// Returns the scopes without `offline_access`, which [`choose`] adds by its own rule.
    pub(crate) fn without_offline(&self) -> Self {
        Self(self.0.iter().filter(|scope| *scope != OFFLINE).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Formats the `scope` parameter, which is omitted if there are no scopes.
    pub(crate) fn to_param(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(" "))
    }
}

/// The inputs of [`choose`].
#[derive(Debug, Default)]
pub(crate) struct ScopeInputs<'a> {
    /// The scopes configured by the host; empty to use those of the server.
    pub(crate) configured: Scopes,
    /// The scopes requested before; empty for the first request.
    pub(crate) before: Scopes,
    /// The `scope` of the challenge.
    pub(crate) challenged: Option<&'a str>,
    /// `scopes_supported` of the resource.
    pub(crate) resource: &'a [String],
    /// `scopes_supported` of the authorization server.
    pub(crate) server: &'a [String],
    /// Whether a refresh token is useful.
    pub(crate) wants_refresh: bool,
}

/// Chooses the scopes to request. First request: the configured scopes and those of the challenge; without either,
/// those of the resource. Later requests: the earlier scopes and those of the challenge. See
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization>.
pub(crate) fn choose(inputs: &ScopeInputs<'_>) -> Scopes {
    let challenged = inputs.challenged.map(Scopes::parse).unwrap_or_default();
    let first = if !inputs.before.is_empty() {
        inputs.before.clone()
    } else if !inputs.configured.is_empty() {
        inputs.configured.clone()
    } else if challenged.is_empty() {
        Scopes::of(inputs.resource)
    } else {
        Scopes::default()
    };
    let chosen = first.union(&challenged);
    // Only the authorization server's list counts. Requested alone, the scope would replace the server's defaults.
    let offers_offline = inputs.server.iter().any(|scope| scope == OFFLINE);
    if inputs.wants_refresh && offers_offline && !chosen.is_empty() {
        return chosen.union(&Scopes::of(&[OFFLINE]));
    }
    if offers_offline || inputs.configured.0.iter().any(|scope| scope == OFFLINE) {
        return chosen;
    }
    Scopes(chosen.0.into_iter().filter(|scope| scope != OFFLINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(inputs: &ScopeInputs<'_>) -> String {
        choose(inputs).to_param().unwrap_or_default()
    }

    #[test]
    fn scopes_of_the_challenge_precede_those_of_the_resource() {
        let resource = ["a".to_owned(), "b".to_owned()];
        let inputs =
            ScopeInputs { challenged: Some("x y"), resource: &resource, ..ScopeInputs::default() };
        assert_eq!(chosen(&inputs), "x y");
        let inputs = ScopeInputs { resource: &resource, ..ScopeInputs::default() };
        assert_eq!(chosen(&inputs), "a b");
        assert_eq!(choose(&ScopeInputs::default()).to_param(), None);
    }

    #[test]
    fn step_up_adds_to_the_scopes_requested_before() {
        let resource = ["a".to_owned(), "z".to_owned()];
        let before = Scopes::parse("a b");
        let inputs = ScopeInputs {
            before,
            challenged: Some("b c"),
            resource: &resource,
            ..ScopeInputs::default()
        };
        assert_eq!(chosen(&inputs), "a b c");
    }

    #[test]
    fn offline_access_is_requested_only_if_the_authorization_server_lists_it() {
        let offers = [OFFLINE.to_owned()];
        let with = |server, wants_refresh, challenged| {
            chosen(&ScopeInputs { challenged, server, wants_refresh, ..ScopeInputs::default() })
        };
        assert_eq!(with(&offers, true, Some("a")), "a offline_access");
        assert_eq!(with(&offers, false, Some("a")), "a");
        assert_eq!(with(&[], true, Some("a offline_access")), "a");
        assert_eq!(with(&offers, true, None), "");
    }

    #[test]
    fn invalid_scopes_are_ignored() {
        assert_eq!(Scopes::parse("a \"b\" c\\ ü a").to_param().as_deref(), Some("a"));
    }
}
