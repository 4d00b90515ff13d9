//! Which permissions to ask for.

/// The scopes of one authorization, in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes(Vec<String>);

const OFFLINE: &str = "offline_access";
/// More than this is not a list of scopes.
const MOST: usize = 256;

impl Scopes {
    /// Of a space-separated list.
    pub(crate) fn parse(text: &str) -> Self {
        Self::default().with(text.split_ascii_whitespace())
    }

    pub(crate) fn of<T: AsRef<str>>(scopes: &[T]) -> Self {
        Self::default().with(scopes.iter().map(AsRef::as_ref))
    }

    fn with<'a>(mut self, more: impl Iterator<Item = &'a str>) -> Self {
        for scope in more {
            // RFC 6749 §3.3: anything else would break out of its list.
            let is_scope = scope.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\');
            let is_new = !self.0.iter().any(|known| known == scope);
            if is_scope && is_new && !scope.is_empty() && self.0.len() < MOST {
                self.0.push(scope.to_owned());
            }
        }
        self
    }

    /// Both, the old ones first.
    pub(crate) fn union(self, other: &Self) -> Self {
        self.with(other.0.iter().map(String::as_str))
    }

    pub(crate) fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|scope| self.0.contains(scope))
    }

    /// Without the scope that is asked for by a rule of its own, whatever a challenge says.
    pub(crate) fn without_offline(&self) -> Self {
        Self(self.0.iter().filter(|scope| *scope != OFFLINE).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As the parameter, which is left out when there is nothing to ask for.
    pub(crate) fn to_param(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(" "))
    }
}

/// What the choice depends on.
#[derive(Debug, Default)]
pub(crate) struct Wishes<'a> {
    /// What the host configured; empty for "whatever the server says".
    pub(crate) configured: Scopes,
    /// What was asked for before, if this is not the first time.
    pub(crate) before: Scopes,
    /// The `scope` of the challenge.
    pub(crate) challenged: Option<&'a str>,
    /// `scopes_supported` of the resource.
    pub(crate) resource: &'a [String],
    /// `scopes_supported` of the authorization server.
    pub(crate) server: &'a [String],
    /// Whether a refresh token would be of use.
    pub(crate) wants_refresh: bool,
}

/// The first time: what the challenge names, else all that the resource has, else nothing. Later: what was
/// asked for before and what the challenge adds.
pub(crate) fn choose(wishes: &Wishes<'_>) -> Scopes {
    let challenged = wishes.challenged.map(Scopes::parse).unwrap_or_default();
    let first = if !wishes.before.is_empty() {
        wishes.before.clone()
    } else if !wishes.configured.is_empty() {
        wishes.configured.clone()
    } else if challenged.is_empty() {
        Scopes::of(wishes.resource)
    } else {
        Scopes::default()
    };
    let chosen = first.union(&challenged);
    // Only the authorization server's own list counts here, and alone it would replace the defaults.
    let offers_offline = wishes.server.iter().any(|scope| scope == OFFLINE);
    if wishes.wants_refresh && offers_offline && !chosen.is_empty() {
        return chosen.union(&Scopes::of(&[OFFLINE]));
    }
    if offers_offline || wishes.configured.0.iter().any(|scope| scope == OFFLINE) {
        return chosen;
    }
    Scopes(chosen.0.into_iter().filter(|scope| scope != OFFLINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wishes: &Wishes<'_>) -> String {
        choose(wishes).to_param().unwrap_or_default()
    }

    #[test]
    fn the_challenge_comes_before_the_resource_and_nothing_is_invented() {
        let resource = ["a".to_owned(), "b".to_owned()];
        let wishes = Wishes { challenged: Some("x y"), resource: &resource, ..Wishes::default() };
        assert_eq!(chosen(&wishes), "x y");
        let wishes = Wishes { resource: &resource, ..Wishes::default() };
        assert_eq!(chosen(&wishes), "a b");
        assert_eq!(choose(&Wishes::default()).to_param(), None);
    }

    #[test]
    fn a_step_up_adds_to_what_was_asked_before() {
        let resource = ["a".to_owned(), "z".to_owned()];
        let before = Scopes::parse("a b");
        let wishes =
            Wishes { before, challenged: Some("b c"), resource: &resource, ..Wishes::default() };
        assert_eq!(chosen(&wishes), "a b c");
    }

    #[test]
    fn offline_access_is_asked_for_only_where_the_authorization_server_has_it() {
        let offers = [OFFLINE.to_owned()];
        let with = |server, wants_refresh, challenged| {
            chosen(&Wishes { challenged, server, wants_refresh, ..Wishes::default() })
        };
        assert_eq!(with(&offers, true, Some("a")), "a offline_access");
        assert_eq!(with(&offers, false, Some("a")), "a");
        assert_eq!(with(&[], true, Some("a offline_access")), "a");
        assert_eq!(with(&offers, true, None), "");
    }

    #[test]
    fn what_is_no_scope_is_left_out() {
        assert_eq!(Scopes::parse("a \"b\" c\\ ü a").to_param().as_deref(), Some("a"));
    }
}
