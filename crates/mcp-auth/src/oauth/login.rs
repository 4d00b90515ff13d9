//! A login as it is stored: all that is needed to renew it without asking anybody where.

use serde_json::{Value, json};

use super::{
    client::{Client, PreRegistered},
    dpop::DpopKey,
    error::LoginError,
    jwt::random_text,
    metadata::{object, text},
    place::Terms,
    scopes::Scopes,
};
use crate::{
    oauth::client::ClientProof,
    secret::Secret,
    store::{Key, SecretStore},
};

/// One login of one account at one server. Access tokens are not part of it: they stay in memory.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    /// A new one whenever the refresh token changes, so that nobody deletes a successor.
    pub(crate) generation: String,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) resource: String,
    pub(crate) client: Client,
    pub(crate) scopes: Scopes,
    pub(crate) refresh: Secret,
    pub(crate) dpop: Option<DpopKey>,
}

impl Login {
    /// The same login after its refresh token was traded for `refresh`.
    pub(crate) fn renewed(&self, refresh: Secret) -> Result<Self, LoginError> {
        Ok(Self { generation: random_text()?, refresh, ..self.clone() })
    }

    fn to_secret(&self) -> Secret {
        let record = json!({
            "version": 1,
            "generation": self.generation,
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint,
            "resource": self.resource,
            "client": self.client.to_json(),
            "scope": self.scopes.to_param(),
            "refresh_token": self.refresh.expose(),
            "dpop": self.dpop.as_ref().map(|key| key.to_stored().expose()),
        });
        Secret::new(record.to_string())
    }

    fn from_secret(secret: &Secret) -> Option<Self> {
        let record = object(secret.expose().as_bytes())?;
        let dpop = match &record["dpop"] {
            Value::String(stored) => Some(DpopKey::restore(&Secret::new(stored.as_str())).ok()?),
            _ => None,
        };
        Some(Self {
            generation: text(&record, "generation")?,
            issuer: text(&record, "issuer")?,
            token_endpoint: text(&record, "token_endpoint")?,
            revocation_endpoint: text(&record, "revocation_endpoint"),
            resource: text(&record, "resource")?,
            client: Client::from_json(&record["client"])?,
            scopes: Scopes::parse(record["scope"].as_str().unwrap_or_default()),
            refresh: record["refresh_token"].as_str().map(Secret::new)?,
            dpop,
        })
    }
}

/// Where the logins of one account at one server are stored.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    pub(crate) server: String,
    pub(crate) account: String,
    /// What a login must have been made under to be used.
    pub(crate) terms: Terms,
}

impl Shelf {
    /// Says which issuer the current login is from. Also what is locked while anything here changes.
    pub(crate) fn pointer(&self) -> Key {
        Key::new(&self.server, "", &self.account)
    }

    fn login(&self, issuer: &str) -> Key {
        Key::new(&self.server, issuer, &self.account)
    }

    /// The issuer that was used last, and the terms.
    async fn last(&self, store: &dyn SecretStore) -> Result<Option<(String, Terms)>, LoginError> {
        let Some(record) = store.get(&self.pointer()).await? else { return Ok(None) };
        let record = object(record.expose().as_bytes());
        Ok(record.and_then(|record| Some((text(&record, "issuer")?, Terms::from_record(&record)))))
    }

    /// The issuer that the configured client was shown to, if the user has changed nothing since.
    pub(crate) async fn bound(
        &self,
        store: &dyn SecretStore,
    ) -> Result<Option<String>, LoginError> {
        let last = self.last(store).await?;
        Ok(last.filter(|(_, terms)| self.terms.bind(terms)).map(|(issuer, _)| issuer))
    }

    /// The current login, with what proves the client put back from the configuration.
    pub(crate) async fn load(
        &self,
        store: &dyn SecretStore,
        given: Option<&PreRegistered>,
    ) -> Result<Option<Login>, LoginError> {
        let Some((issuer, terms)) = self.last(store).await? else { return Ok(None) };
        if !self.terms.allow(&terms) {
            return Ok(None);
        }
        let Some(record) = store.get(&self.login(&issuer)).await? else { return Ok(None) };
        let Some(mut login) = Login::from_secret(&record).filter(|login| login.issuer == issuer)
        else {
            return Ok(None);
        };
        match given {
            // It is from another issuer than the one the client belongs to.
            Some(PreRegistered { issuer: Some(issuer), .. }) if *issuer != login.issuer => {
                return Ok(None);
            }
            Some(PreRegistered { id, proof, .. }) if *id == login.client.id => match proof {
                ClientProof::Key(key) => login.client.key = Some(key.clone()),
                ClientProof::Secret(source) => login.client.secret = Some(source.read().await?),
                ClientProof::None => {}
            },
            // It was made as another client than the one that is configured now.
            Some(_) => return Ok(None),
            None => {}
        }
        Ok(Some(login))
    }

    /// Stores a login as the current one. The secret of a configured client stays in the configuration.
    pub(crate) async fn save(
        &self,
        store: &dyn SecretStore,
        login: &Login,
        is_given: bool,
    ) -> Result<(), LoginError> {
        let mut login = login.clone();
        if is_given {
            login.client.secret = None;
        }
        store.set(&self.login(&login.issuer), login.to_secret()).await?;
        self.point(store, &login.issuer).await
    }

    /// Remembers the issuer and the terms, and forgets what another issuer gave.
    pub(crate) async fn point(
        &self,
        store: &dyn SecretStore,
        issuer: &str,
    ) -> Result<(), LoginError> {
        let before = self.last(store).await?;
        if before.as_ref().is_some_and(|(last, terms)| last == issuer && *terms == self.terms) {
            return Ok(());
        }
        let record = self.terms.to_record(issuer).to_string();
        store.set(&self.pointer(), Secret::new(record)).await?;
        // Only now: until the new one is found, the old one is the login.
        if let Some((before, _)) = before.filter(|(before, _)| before != issuer) {
            store.delete(&self.login(&before)).await?;
        }
        Ok(())
    }

    /// Forgets the login from this issuer, but not that it was the one.
    pub(crate) async fn drop_login(
        &self,
        store: &dyn SecretStore,
        issuer: &str,
    ) -> Result<(), LoginError> {
        store.delete(&self.login(issuer)).await?;
        Ok(())
    }

    /// Forgets the login. A configured client outlives it, and with it the issuer that it belongs to.
    pub(crate) async fn clear(
        &self,
        store: &dyn SecretStore,
        is_given: bool,
    ) -> Result<(), LoginError> {
        if let Some((issuer, _)) = self.last(store).await? {
            self.drop_login(store, &issuer).await?;
        }
        if !is_given {
            store.delete(&self.pointer()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mcp_transport::BoxFuture;

    use super::*;
    use crate::store::{StoreError, memory::MemoryStore};

    fn login(issuer: &str) -> Login {
        Login {
            generation: "g".into(),
            issuer: issuer.into(),
            token_endpoint: format!("{issuer}/token"),
            revocation_endpoint: None,
            resource: "https://a.test".into(),
            client: Client::public("me"),
            scopes: Scopes::parse("a b"),
            refresh: Secret::new("r"),
            dpop: Some(DpopKey::generate().unwrap()),
        }
    }

    fn shelf(terms: Terms) -> Shelf {
        Shelf { server: "https://a.test".into(), account: String::new(), terms }
    }

    #[tokio::test]
    async fn a_login_survives_being_stored_and_moves_with_its_issuer() {
        let store = MemoryStore::new();
        let shelf = shelf(Terms::default());
        assert!(shelf.load(&store, None).await.unwrap().is_none());
        shelf.save(&store, &login("https://one.test"), false).await.unwrap();
        let loaded = shelf.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.refresh, Secret::new("r"));
        assert_eq!(loaded.scopes, Scopes::parse("a b"));
        assert!(loaded.dpop.is_some());

        shelf.save(&store, &login("https://two.test"), false).await.unwrap();
        let loaded = shelf.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.issuer, "https://two.test");
        let keys = store.list().await.unwrap();
        assert_eq!(keys.len(), 2, "nothing of the old issuer is left: {keys:?}");
        shelf.clear(&store, true).await.unwrap();
        assert!(shelf.load(&store, None).await.unwrap().is_none());
        assert_eq!(shelf.bound(&store).await.unwrap().as_deref(), Some("https://two.test"));
        shelf.clear(&store, false).await.unwrap();
        assert!(store.list().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_client_of_one_issuer_does_not_use_a_login_of_another() {
        let store = MemoryStore::new();
        let shelf = shelf(Terms::default());
        shelf.save(&store, &login("https://one.test"), true).await.unwrap();
        let mut given = PreRegistered::new("me", ClientProof::None);
        assert!(shelf.load(&store, Some(&given)).await.unwrap().is_some());
        given.issuer = Some("https://one.test".into());
        assert!(shelf.load(&store, Some(&given)).await.unwrap().is_some());
        given.issuer = Some("https://two.test".into());
        assert!(shelf.load(&store, Some(&given)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_login_that_was_made_under_other_terms_is_not_used() {
        let store = MemoryStore::new();
        let some = |text: &str| Some(text.to_owned());
        let (place, resource) = (some("https://as.test/metadata"), some("urn:x"));
        let all = [
            Terms::default(),
            Terms { place, ..Terms::default() },
            Terms { resource, ..Terms::default() },
        ];
        for made in &all {
            shelf(made.clone()).save(&store, &login("https://one.test"), false).await.unwrap();
            for now in &all {
                let found = shelf(now.clone()).load(&store, None).await.unwrap();
                assert_eq!(found.is_some(), made == now, "{made:?} {now:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_client_is_bound_to_its_issuer_until_the_user_names_another() {
        let store = MemoryStore::new();
        let terms = |client: Option<&str>, place: Option<&str>| Terms {
            client: client.map(str::to_owned),
            place: place.map(str::to_owned),
            resource: None,
        };
        shelf(terms(Some("me"), None)).point(&store, "https://one.test").await.unwrap();
        for (now, is_bound) in [
            (terms(Some("me"), None), true),
            (terms(Some("you"), None), false),
            (terms(Some("me"), Some("https://as.test/token")), false),
        ] {
            let bound = shelf(now.clone()).bound(&store).await.unwrap();
            assert_eq!(bound.is_some(), is_bound, "{now:?}");
        }
        // A client that was registered for the occasion binds none that is configured later.
        shelf(terms(None, None)).point(&store, "https://one.test").await.unwrap();
        assert_eq!(shelf(terms(Some("me"), None)).bound(&store).await.unwrap(), None);
    }

    /// Keeps everything but pointers.
    #[derive(Debug)]
    struct NoPointers<'a>(&'a MemoryStore, Key);

    impl SecretStore for NoPointers<'_> {
        fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
            self.0.get(key)
        }

        fn set<'a>(&'a self, key: &'a Key, new: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
            if *key == self.1 {
                return Box::pin(async { Err(StoreError::Locked) });
            }
            self.0.set(key, new)
        }

        fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
            self.0.delete(key)
        }

        fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
            self.0.list()
        }
    }

    #[tokio::test]
    async fn a_login_stays_until_its_successor_can_be_found() {
        let store = MemoryStore::new();
        let shelf = shelf(Terms::default());
        shelf.save(&store, &login("https://one.test"), false).await.unwrap();
        let broken = NoPointers(&store, shelf.pointer());
        shelf.save(&broken, &login("https://two.test"), false).await.unwrap_err();
        let loaded = shelf.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.issuer, "https://one.test");
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_read_is_no_login() {
        let store = MemoryStore::new();
        let shelf = shelf(Terms::default());
        shelf.save(&store, &login("https://one.test"), false).await.unwrap();
        let key = shelf.login("https://one.test");
        for damaged in ["", "{", "{}", "[]"] {
            store.set(&key, Secret::new(damaged)).await.unwrap();
            assert!(shelf.load(&store, None).await.unwrap().is_none());
        }
    }
}
