//! A login in memory that is newer than the stored one.

use std::mem;

use super::login::Login;

/// The generations remembered. A process does not renew more often while its store is broken.
const MOST: usize = 64;

/// A login that could not be stored, or whose predecessors may still be written: a write that timed out may complete
/// an hour later, when the user responds to a keyring prompt.
#[derive(Clone, Debug)]
pub(crate) struct PendingSave {
    pub(crate) login: Login,
    /// The generations that it replaces; `None` is an empty store.
    replaces: Vec<Option<String>>,
    /// Whether the stored generation is unknown, because the store could not be read.
    is_unread: bool,
}

impl PendingSave {
    /// Creates a pending login that replaces the stored generation, if any.
    pub(crate) fn new(login: Login, stored: Option<String>) -> Self {
        Self { login, is_unread: false, replaces: vec![stored] }
    }

    /// Creates a pending login when the stored generation cannot be read.
    pub(crate) fn without_stored_state(login: Login) -> Self {
        Self { login, is_unread: true, replaces: Vec::new() }
    }

    /// Replaces this login, and all that it replaces, with `login`.
    pub(crate) fn superseded_by(mut self, login: Login, before: Option<&str>) -> Self {
        let ours = Some(self.login.generation.as_str());
        for generation in [ours, before].into_iter().flatten() {
            let generation = Some(generation.to_owned());
            if !self.replaces.contains(&generation) {
                self.replaces.push(generation);
            }
        }
        let excess = self.replaces.len().saturating_sub(MOST);
        self.replaces.drain(..excess);
        Self { login, ..self }
    }

    /// Marks the login as stored: from now on an empty store means that the user logged out.
    pub(crate) fn saved(mut self) -> Self {
        self.replaces.retain(Option::is_some);
        self.is_unread = false;
        self
    }

    /// Whether it is newer than the stored generation. A generation that could not be read before counts as older.
    pub(crate) fn is_newer_than(&mut self, stored: Option<&str>) -> bool {
        if stored == Some(&self.login.generation) {
            return false;
        }
        let stored = stored.map(str::to_owned);
        if mem::take(&mut self.is_unread) {
            self.replaces.push(stored);
            return true;
        }
        self.replaces.contains(&stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        oauth::{client::Client, scopes::Scopes},
        secret::Secret,
    };

    fn login(generation: &str) -> Login {
        Login {
            generation: generation.into(),
            issuer: "https://as.test".into(),
            token_endpoint: "https://as.test/token".into(),
            revocation_endpoint: None,
            resource: "https://a.test".into(),
            client: Client::public("me"),
            scopes: Scopes::default(),
            refresh: Secret::new("r"),
            dpop: None,
        }
    }

    #[test]
    fn replaced_generations_are_older() {
        let mut third = PendingSave::new(login("1"), Some("0".into()))
            .superseded_by(login("2"), Some("1"))
            .superseded_by(login("3"), Some("2"));
        for older in ["0", "1", "2"] {
            assert!(third.is_newer_than(Some(older)), "{older}");
        }
        assert!(!third.is_newer_than(Some("3")), "it is stored");
        assert!(!third.is_newer_than(Some("elsewhere")), "another process logged in");
        assert!(!third.is_newer_than(None), "the user logged out");
    }

    #[test]
    fn empty_store_is_older_until_the_login_is_stored() {
        let mut first = PendingSave::new(login("1"), None);
        assert!(first.is_newer_than(None));
        assert!(!first.saved().is_newer_than(None));
        let mut unread = PendingSave::without_stored_state(login("1"));
        assert!(unread.is_newer_than(Some("0")), "it could not be read before");
        assert!(!unread.is_newer_than(Some("elsewhere")));
    }

    #[test]
    fn list_of_replaced_generations_is_bounded() {
        let mut last = PendingSave::without_stored_state(login("0"));
        for generation in 1..200 {
            last = last.superseded_by(login(&generation.to_string()), None);
        }
        assert_eq!(last.replaces.len(), MOST);
        assert!(last.is_newer_than(Some("198")));
    }
}
