//! Lists, fetched to their end but not beyond reason.

use std::collections::HashSet;

use mcp_jsonrpc::{ErrorObject, ObjectWriter};

use crate::{
    client::Client,
    error::CallError,
    options::CallOptions,
    request::Ask,
    types::{Freshness, Listing, Page, Rejectable},
};

impl Client {
    pub(crate) async fn list<T: Rejectable>(
        &self,
        method: &'static str,
    ) -> Result<Listing<T>, CallError> {
        match self.list_once(method).await {
            // The list changed under us, and our cursor with it: once more from the start.
            Err((true, CallError::Rejected(error)))
                if error.code == ErrorObject::INVALID_PARAMS =>
            {
                self.list_once(method).await.map_err(|(_, error)| error)
            }
            result => result.map_err(|(_, error)| error),
        }
    }

    /// Fetches all pages. An error comes with whether it was about a cursor.
    async fn list_once<T: Rejectable>(
        &self,
        method: &'static str,
    ) -> Result<Listing<T>, (bool, CallError)> {
        let options = &self.0.options;
        let mut listing = Listing::default();
        let mut cursor = None;
        let mut seen = HashSet::new();
        for page_number in 0..options.max_pages {
            let page: Page<T> = self
                .page(method, cursor.as_deref())
                .await
                .map_err(|error| (cursor.is_some(), error))?;
            let freshness = page.freshness;
            listing.freshness = match (page_number, listing.freshness, freshness) {
                (0, _, fresh) => fresh,
                (_, Some(before), Some(fresh)) => Some(Freshness::and(before, fresh)),
                _ => None,
            };
            // What cannot be read counts too, or a server could fill our memory with it.
            let taken = listing.items.len() + listing.rejected.len();
            let room = options.max_items.saturating_sub(taken);
            listing.truncated = page.items.len() + page.rejected.len() > room;
            if listing.items.is_empty() && !listing.truncated {
                listing.items = page.items;
            } else {
                listing.items.extend(page.items.into_iter().take(room));
            }
            let room = options.max_items.saturating_sub(listing.items.len());
            listing.rejected.extend(page.rejected);
            listing.rejected.truncate(room);
            match page.next_cursor {
                None => return Ok(listing),
                // A server that hands out a cursor twice would keep us busy for ever.
                Some(next) if listing.truncated || !seen.insert(next.clone()) => break,
                Some(next) => cursor = Some(next),
            }
        }
        listing.truncated = true;
        Ok(listing)
    }

    async fn page<T: Rejectable>(
        &self,
        method: &'static str,
        cursor: Option<&str>,
    ) -> Result<Page<T>, CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick(method, &options);
        let members = |params: &mut ObjectWriter| {
            if let Some(cursor) = cursor {
                params.string("cursor", cursor);
            }
        };
        let reply = self.send(&ask, method.into(), None, &members).await?;
        let page = Page::read(reply).map_err(|failure| CallError::new(method, failure, None))?;
        self.check_type(method, page.result_type.as_ref(), "complete")?;
        Ok(page)
    }
}
