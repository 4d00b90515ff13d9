//! Paginated lists, fetched completely but within limits.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination>

use std::collections::HashSet;

use mcp_jsonrpc::{ErrorObject, Failure, ObjectWriter};
use mcp_types::lists::{Freshness, Listing, Page, Rejectable};

use super::{Client, request::Ask};
use crate::{error::CallError, options::CallOptions};

impl Client {
    pub(crate) async fn list<T: Rejectable>(
        &self,
        method: &'static str,
    ) -> Result<Listing<T>, CallError> {
        match self.list_once(method).await {
            // The list changed and invalidated the cursor. Start again, once.
            // <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#error-handling>
            Err((true, CallError::Failed { failure: Failure::Rejected(error), .. }))
                if error.code == ErrorObject::INVALID_PARAMS =>
            {
                self.list_once(method).await.map_err(|(_, error)| error)
            }
            result => result.map_err(|(_, error)| error),
        }
    }

    /// Fetches all pages. The flag in the error says whether the failing request carried a cursor.
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
            if let Some(problem) = page.problem {
                tracing::warn!(method, %problem, "the server's list is invalid and treated as empty");
                listing.problem = Some(problem);
            }
            let freshness = page.freshness;
            listing.freshness = match (page_number, listing.freshness, freshness) {
                (0, _, fresh) => fresh,
                (_, Some(before), Some(fresh)) => Some(Freshness::and(before, fresh)),
                _ => None,
            };
            // Rejected entries count too, so that a server cannot fill the memory with them.
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
                // Only a missing cursor ends the list. An empty one is as opaque as any other:
                // <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#implementation-guidelines>
                None => return Ok(listing),
                // A repeated cursor would make this loop endless.
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
        let page = Page::read(reply).map_err(|failure| CallError::new(method, failure))?;
        self.check_type(method, page.result_type.as_ref(), "complete")?;
        Ok(page)
    }
}
