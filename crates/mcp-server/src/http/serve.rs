//! Accepts connections and runs each in its own task.

use std::{
    convert::Infallible,
    future::poll_fn,
    io,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::task::JoinSet;

use super::{
    HttpServer,
    connections::{Connections, Slot},
    listen::{Connection, Listen, Stream},
};

/// How long to pause after an error of `accept`.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

impl HttpServer {
    /// Accepts connections for as long as it is polled. Does not support TLS: put a TLS proxy in front, pass a TLS
    /// listener, or bind to the loopback interface.
    ///
    /// # Errors
    /// If the listener fails for good. Errors of a connection end only that connection.
    ///
    /// # Cancel safety
    /// Dropping the future closes every connection. Sessions are kept in the [`HttpServer`].
    pub async fn serve(&self, mut listener: impl Listen) -> io::Result<()> {
        let options = &self.0.options;
        let connections =
            Connections::new(options.max_connections, options.max_connections_per_peer);
        let mut tasks = JoinSet::new();
        loop {
            let Connection { stream, peer } = match listener.accept().await {
                Ok(connection) => connection,
                Err(error) if is_transient(&error) => {
                    tracing::debug!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            while tasks.try_join_next().is_some() {}
            let Some(slot) = connections.admit(peer).await else {
                tracing::debug!(?peer, "connection closed: too many connections of this peer");
                continue;
            };
            tasks.spawn(self.clone().handle_connection(stream, slot));
        }
    }

    /// Serves one connection until either side closes it.
    async fn handle_connection(self, stream: Box<dyn Stream>, mut slot: Slot) {
        let options = &self.0.options;
        let has_head = AtomicBool::new(false);
        let activity = slot.activity();
        let service = service_fn(|request| {
            has_head.store(true, Ordering::Relaxed);
            let (server, activity) = (self.clone(), activity.clone());
            async move { Ok::<_, Infallible>(server.answer(request, &activity).await) }
        });
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(options.read_timeout)
                .max_buf_size(options.max_head)
                .serve_connection(TokioIo::new(stream), service)
        );
        let mut first_head = pin!(tokio::time::sleep(options.head_timeout));
        let ended = poll_fn(|cx| {
            let is_late =
                !has_head.load(Ordering::Relaxed) && first_head.as_mut().poll(cx).is_ready();
            if is_late || pin!(&mut slot.closed).poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            connection.as_mut().poll(cx)
        });
        if let Err(error) = ended.await {
            tracing::debug!(%error, "connection ended with an error");
        }
    }
}

/// Whether accepting may succeed again after this error.
fn is_transient(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotConnected)
}
