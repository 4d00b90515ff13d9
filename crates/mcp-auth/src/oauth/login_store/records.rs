//! The login records in a secret store.

use super::{conditions::LoginConditions, login::Login};
use crate::{
    error::LoginError,
    oauth::{
        client::{ClientProof, PreRegistered},
        document::{object, text},
    },
    secret::Secret,
    store::{Key, SecretStore},
};

/// Reads and writes the login records of one account at one server.
#[derive(Clone, Debug)]
pub(crate) struct LoginRecords {
    pub(crate) server: String,
    pub(crate) account: String,
    /// The current settings, which a stored login must match.
    pub(crate) conditions: LoginConditions,
}

impl LoginRecords {
    /// Returns the key of the record that names the issuer of the current login. It is also the lock for all changes.
    pub(crate) fn pointer(&self) -> Key {
        Key::new(&self.server, "", &self.account)
    }

    fn login(&self, issuer: &str) -> Key {
        Key::new(&self.server, issuer, &self.account)
    }

    /// Reads the issuer used last, and the settings it was used with.
    async fn last(
        &self,
        store: &dyn SecretStore,
    ) -> Result<Option<(String, LoginConditions)>, LoginError> {
        let Some(record) = store.get(&self.pointer()).await? else { return Ok(None) };
        let record = object(record.expose().as_bytes());
        Ok(record.and_then(|record| {
            Some((text(&record, "issuer")?, LoginConditions::from_record(&record)))
        }))
    }

    /// Returns the issuer that the configured client was used with, if the settings have not changed since.
    pub(crate) async fn bound(
        &self,
        store: &dyn SecretStore,
    ) -> Result<Option<String>, LoginError> {
        let last = self.last(store).await?;
        Ok(last
            .filter(|(_, conditions)| self.conditions.bind(conditions))
            .map(|(issuer, _)| issuer))
    }

    /// Loads the current login, and adds the client's credential from the configuration.
    pub(crate) async fn load(
        &self,
        store: &dyn SecretStore,
        given: Option<&PreRegistered>,
    ) -> Result<Option<Login>, LoginError> {
        let Some((issuer, conditions)) = self.last(store).await? else { return Ok(None) };
        if !self.conditions.allow(&conditions) {
            return Ok(None);
        }
        let Some(record) = store.get(&self.login(&issuer)).await? else { return Ok(None) };
        let Some(mut login) = Login::from_secret(&record).filter(|login| login.issuer == issuer)
        else {
            return Ok(None);
        };
        match given {
            // The configured client belongs to another issuer.
            Some(PreRegistered { issuer: Some(issuer), .. }) if *issuer != login.issuer => {
                return Ok(None);
            }
            Some(PreRegistered { id, proof, .. }) if *id == login.client.id => match proof {
                ClientProof::Key(key) => login.client.key = Some(key.clone()),
                ClientProof::Secret(source) => login.client.secret = Some(source.read().await?),
                ClientProof::None => {}
            },
            // The login was made with another client than the configured one.
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

    /// Stores the issuer and the settings, and deletes the login of another issuer.
    pub(crate) async fn point(
        &self,
        store: &dyn SecretStore,
        issuer: &str,
    ) -> Result<(), LoginError> {
        let before = self.last(store).await?;
        if before
            .as_ref()
            .is_some_and(|(last, conditions)| last == issuer && *conditions == self.conditions)
        {
            return Ok(());
        }
        let record = self.conditions.to_record(issuer).to_string();
        store.set(&self.pointer(), Secret::new(record)).await?;
        // Delete last: the old login is the current one until the pointer is written.
        if let Some((before, _)) = before.filter(|(before, _)| before != issuer) {
            store.delete(&self.login(&before)).await?;
        }
        Ok(())
    }

    /// Deletes the login of this issuer, but keeps the pointer to the issuer.
    pub(crate) async fn drop_login(
        &self,
        store: &dyn SecretStore,
        issuer: &str,
    ) -> Result<(), LoginError> {
        store.delete(&self.login(issuer)).await?;
        Ok(())
    }

    /// Deletes the login. The pointer is kept for a configured client, which stays bound to its issuer.
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
    use crate::{
        oauth::{client::Client, proof::dpop::DpopKey, scopes::Scopes},
        store::{MemoryStore, StoreError},
    };

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

    fn records(conditions: LoginConditions) -> LoginRecords {
        LoginRecords { server: "https://a.test".into(), account: String::new(), conditions }
    }

    #[tokio::test]
    async fn stored_login_is_read_back_and_replaced_by_one_of_another_issuer() {
        let store = MemoryStore::new();
        let records = records(LoginConditions::default());
        assert!(records.load(&store, None).await.unwrap().is_none());
        records.save(&store, &login("https://one.test"), false).await.unwrap();
        let loaded = records.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.refresh, Secret::new("r"));
        assert_eq!(loaded.scopes, Scopes::parse("a b"));
        assert!(loaded.dpop.is_some());

        records.save(&store, &login("https://two.test"), false).await.unwrap();
        let loaded = records.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.issuer, "https://two.test");
        let keys = store.list().await.unwrap();
        assert_eq!(keys.len(), 2, "the login of the old issuer is deleted: {keys:?}");
        records.clear(&store, true).await.unwrap();
        assert!(records.load(&store, None).await.unwrap().is_none());
        assert_eq!(records.bound(&store).await.unwrap().as_deref(), Some("https://two.test"));
        records.clear(&store, false).await.unwrap();
        assert!(store.list().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn client_of_one_issuer_does_not_use_a_login_of_another() {
        let store = MemoryStore::new();
        let records = records(LoginConditions::default());
        records.save(&store, &login("https://one.test"), true).await.unwrap();
        let mut given = PreRegistered::new("me", ClientProof::None);
        assert!(records.load(&store, Some(&given)).await.unwrap().is_some());
        given.issuer = Some("https://one.test".into());
        assert!(records.load(&store, Some(&given)).await.unwrap().is_some());
        given.issuer = Some("https://two.test".into());
        assert!(records.load(&store, Some(&given)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn login_made_with_other_settings_is_not_used() {
        let store = MemoryStore::new();
        let some = |text: &str| Some(text.to_owned());
        let (source_url, resource) = (some("https://as.test/metadata"), some("urn:x"));
        let all = [
            LoginConditions::default(),
            LoginConditions { source_url, ..LoginConditions::default() },
            LoginConditions { resource, ..LoginConditions::default() },
        ];
        for made in &all {
            records(made.clone()).save(&store, &login("https://one.test"), false).await.unwrap();
            for now in &all {
                let found = records(now.clone()).load(&store, None).await.unwrap();
                assert_eq!(found.is_some(), made == now, "{made:?} {now:?}");
            }
        }
    }

    #[tokio::test]
    async fn client_is_bound_to_its_issuer_until_the_settings_change() {
        let store = MemoryStore::new();
        let conditions = |client: Option<&str>, source_url: Option<&str>| LoginConditions {
            client: client.map(str::to_owned),
            source_url: source_url.map(str::to_owned),
            resource: None,
        };
        records(conditions(Some("me"), None)).point(&store, "https://one.test").await.unwrap();
        for (now, is_bound) in [
            (conditions(Some("me"), None), true),
            (conditions(Some("you"), None), false),
            (conditions(Some("me"), Some("https://as.test/token")), false),
        ] {
            let bound = records(now.clone()).bound(&store).await.unwrap();
            assert_eq!(bound.is_some(), is_bound, "{now:?}");
        }
        // A dynamically registered client does not bind one that is configured later.
        records(conditions(None, None)).point(&store, "https://one.test").await.unwrap();
        assert_eq!(records(conditions(Some("me"), None)).bound(&store).await.unwrap(), None);
    }

    /// A store that fails to write the pointer record.
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
    async fn old_login_is_kept_until_the_pointer_to_the_new_one_is_written() {
        let store = MemoryStore::new();
        let records = records(LoginConditions::default());
        records.save(&store, &login("https://one.test"), false).await.unwrap();
        let broken = NoPointers(&store, records.pointer());
        records.save(&broken, &login("https://two.test"), false).await.unwrap_err();
        let loaded = records.load(&store, None).await.unwrap().unwrap();
        assert_eq!(loaded.issuer, "https://one.test");
    }

    #[tokio::test]
    async fn damaged_login_record_is_ignored() {
        let store = MemoryStore::new();
        let records = records(LoginConditions::default());
        records.save(&store, &login("https://one.test"), false).await.unwrap();
        let key = records.login("https://one.test");
        for damaged in ["", "{", "{}", "[]"] {
            store.set(&key, Secret::new(damaged)).await.unwrap();
            assert!(records.load(&store, None).await.unwrap().is_none());
        }
    }
}
