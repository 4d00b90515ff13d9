//! Counts subscriptions to resources, so that providers watch only subscribed ones.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::resources::Resources;

/// Counts subscriptions, and notifies the provider of the first and the last of each resource.
pub(crate) struct Watches {
    resources: Arc<dyn Resources>,
    counts: Mutex<HashMap<String, usize>>,
}

impl Watches {
    pub(crate) fn new(resources: Arc<dyn Resources>) -> Arc<Self> {
        Arc::new(Self { resources, counts: Mutex::default() })
    }

    /// Subscribes to a resource until the returned value is dropped.
    pub(crate) fn watch(self: &Arc<Self>, uri: &str) -> Watch {
        // Call the provider under the lock, so that concurrent calls of `watch` and `unwatch` keep their order.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(uri.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.resources.watch(uri);
        }
        Watch { uri: uri.to_owned(), of: self.clone() }
    }

    fn end(&self, uri: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(uri);
            self.resources.unwatch(uri);
        }
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watches(..)")
    }
}

/// One client's subscription to one resource.
#[derive(Debug)]
pub(crate) struct Watch {
    uri: String,
    of: Arc<Watches>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.of.end(&self.uri);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Resources for Told {
        fn watch(&self, uri: &str) {
            self.0.lock().unwrap().push(format!("+{uri}"));
        }

        fn unwatch(&self, uri: &str) {
            self.0.lock().unwrap().push(format!("-{uri}"));
        }
    }

    #[test]
    fn provider_is_notified_of_first_and_last_watch() {
        let told = Arc::new(Told::default());
        let watches = Watches::new(told.clone());
        let (first, second) = (watches.watch("a"), watches.watch("a"));
        let other = watches.watch("b");
        drop(first);
        assert_eq!(*told.0.lock().unwrap(), ["+a", "+b"]);
        drop((second, other));
        drop(watches.watch("a"));
        assert_eq!(*told.0.lock().unwrap(), ["+a", "+b", "-a", "-b", "+a", "-a"]);
        assert!(watches.counts.lock().unwrap().is_empty());
    }
}
