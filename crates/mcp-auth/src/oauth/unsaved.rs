//! A login that is newer than what is stored, and how to tell.

use std::mem;

use super::login::Login;

/// No process renews so often while its store is broken that more of them could come back.
const MOST: usize = 64;

/// A login that could not be stored, or whose predecessors may still be stored late: a write that was given
/// up may be carried out when a prompt is answered an hour later.
#[derive(Clone, Debug)]
pub(crate) struct Unsaved {
    pub(crate) login: Login,
    /// The generations that it replaces; `None` stands for an empty store.
    replaces: Vec<Option<String>>,
    /// What was stored before it could not be read.
    is_blind: bool,
}

impl Unsaved {
    /// `login` takes the place of the generation that is stored, if any is.
    pub(crate) fn new(login: Login, stored: Option<String>) -> Self {
        Self { login, is_blind: false, replaces: vec![stored] }
    }

    /// `login` takes the place of something that cannot be read.
    pub(crate) fn blind(login: Login) -> Self {
        Self { login, is_blind: true, replaces: Vec::new() }
    }

    /// `login` takes the place of this one and of all that came before it.
    pub(crate) fn followed_by(mut self, login: Login, before: Option<&str>) -> Self {
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

    /// It is stored now: from here on an empty store means that somebody logged out.
    pub(crate) fn saved(mut self) -> Self {
        self.replaces.retain(Option::is_some);
        self.is_blind = false;
        self
    }

    /// Whether it is newer than what is stored. What could not be read before is taken for older.
    pub(crate) fn is_newer_than(&mut self, stored: Option<&str>) -> bool {
        if stored == Some(&self.login.generation) {
            return false;
        }
        let stored = stored.map(str::to_owned);
        if mem::take(&mut self.is_blind) {
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
    fn every_generation_that_was_replaced_is_older() {
        let mut third = Unsaved::new(login("1"), Some("0".into()))
            .followed_by(login("2"), Some("1"))
            .followed_by(login("3"), Some("2"));
        for older in ["0", "1", "2"] {
            assert!(third.is_newer_than(Some(older)), "{older}");
        }
        assert!(!third.is_newer_than(Some("3")), "it is stored");
        assert!(!third.is_newer_than(Some("elsewhere")), "somebody else logged in");
        assert!(!third.is_newer_than(None), "somebody logged out");
    }

    #[test]
    fn an_empty_store_is_older_until_something_is_stored() {
        let mut first = Unsaved::new(login("1"), None);
        assert!(first.is_newer_than(None));
        assert!(!first.saved().is_newer_than(None));
        let mut blind = Unsaved::blind(login("1"));
        assert!(blind.is_newer_than(Some("0")), "it could not be read before");
        assert!(!blind.is_newer_than(Some("elsewhere")));
    }

    #[test]
    fn the_list_has_an_end() {
        let mut last = Unsaved::blind(login("0"));
        for generation in 1..200 {
            last = last.followed_by(login(&generation.to_string()), None);
        }
        assert_eq!(last.replaces.len(), MOST);
        assert!(last.is_newer_than(Some("198")));
    }
}
