//! The trait for resources.

use mcp_types::{BoxFuture, Resource, ResourceContents, ResourceTemplate};

use crate::{call::Call, error::ServeError};

/// A provider of resources.
///
/// Report changes with [`ToolServer::resources_changed`](crate::ToolServer::resources_changed) and
/// [`resource_updated`](crate::ToolServer::resource_updated).
pub trait Resources: Send + Sync {
    /// Lists all resources, in a stable order.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Lists the resource templates.
    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Reads a resource. The URI may be listed, match a template, or neither.
    ///
    /// # Errors
    /// [`ServeError::UnknownResource`] by default.
    fn read(
        &self,
        uri: String,
        call: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        let _ = call;
        Box::pin(async { Err(ServeError::UnknownResource(uri)) })
    }

    /// Called when a resource gets its first subscription. The server holds a lock during the call: only record the
    /// URI here, and do the work elsewhere. Does nothing by default.
    fn watch(&self, uri: &str) {
        let _ = uri;
    }

    /// Called when the last subscription to a resource ends. The server holds a lock during the call.
    fn unwatch(&self, uri: &str) {
        let _ = uri;
    }
}
