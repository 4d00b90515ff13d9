//! Name resolution.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use futures_core::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use mcp_jsonrpc::FailureCause;
use tower_service::Service;

use crate::cause::FailedStep;

/// Resolves names. The default uses the system's resolver.
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a host.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The system's resolver.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// The source of addresses for the TCP connector.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// The system's resolver. Failures are marked, since the system's errors do not say that they concern the name.
    System(GaiResolver),
    /// The name was resolved before, to exactly these addresses.
    Pinned(Arc<[SocketAddr]>),
}

impl Service<Name> for Names {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = FailedStep;
    type Future = BoxFuture<'static, Result<Self::Response, FailedStep>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FailedStep>> {
        match self {
            Self::System(resolver) => resolver.poll_ready(cx).map_err(unknown),
            Self::Pinned(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, name: Name) -> Self::Future {
        match self {
            Self::System(resolver) => {
                let found = resolver.call(name);
                Box::pin(async move {
                    Ok(found.await.map_err(unknown)?.collect::<Vec<_>>().into_iter())
                })
            }
            Self::Pinned(addresses) => {
                let addresses = addresses.to_vec();
                Box::pin(async move { Ok(addresses.into_iter()) })
            }
        }
    }
}

fn unknown(error: io::Error) -> FailedStep {
    FailedStep::new(FailureCause::UnknownHost, error)
}
