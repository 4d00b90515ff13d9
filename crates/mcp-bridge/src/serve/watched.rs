//! Which resources somebody wants to hear of, so that whoever has them knows when to look.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::providers::Resources;

/// Counts wishes, and tells the provider of the first and of the end of the last.
pub(crate) struct Watches {
    resources: Option<Arc<dyn Resources>>,
    counts: Mutex<HashMap<String, usize>>,
}

impl Watches {
    pub(crate) fn new(resources: Option<Arc<dyn Resources>>) -> Arc<Self> {
        Arc::new(Self { resources, counts: Mutex::default() })
    }

    /// Wishes to hear of a resource, for as long as what is returned lives.
    pub(crate) fn watch(self: &Arc<Self>, uri: &str) -> Watch {
        // Told under the lock: a beginning and an end that cross must not arrive the other way round.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(uri.to_owned()).or_default();
        *count += 1;
        if *count == 1
            && let Some(resources) = &self.resources
        {
            resources.watch(uri);
        }
        Watch { uri: uri.to_owned(), of: self.clone() }
    }

    fn end(&self, uri: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(uri);
            if let Some(resources) = &self.resources {
                resources.unwatch(uri);
            }
        }
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watches(..)")
    }
}

/// One client's wish to hear of one resource.
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
    fn only_the_first_wish_and_the_end_of_the_last_are_told() {
        let told = Arc::new(Told::default());
        let watches = Watches::new(Some(told.clone()));
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
