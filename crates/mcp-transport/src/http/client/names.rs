//! From the name of a host to its addresses.

use std::{
    io,
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use mcp_jsonrpc::Trouble;
use tower_service::Service;

use crate::trouble::FailedStep;

/// Asks the system, and says of a failure that it was about the name: the system's own error does not.
#[derive(Clone, Debug)]
pub(super) struct Names(GaiResolver);

impl Default for Names {
    fn default() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Names {
    type Response = GaiAddrs;
    type Error = FailedStep;
    type Future = BoxFuture<'static, Result<GaiAddrs, FailedStep>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FailedStep>> {
        self.0.poll_ready(cx).map_err(unknown)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.0.call(name);
        Box::pin(async move { found.await.map_err(unknown) })
    }
}

fn unknown(error: io::Error) -> FailedStep {
    FailedStep::new(Trouble::UnknownHost, error)
}
