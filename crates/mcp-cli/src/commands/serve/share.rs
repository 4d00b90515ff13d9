//! `mcp serve --share`: a gateway that uses the servers of the background host, or becomes that host.

#[cfg(unix)]
mod unix {
    use clap::ArgMatches;

    use crate::host::{
        app::App,
        background::service::{Listening, Service},
    };

    /// Becomes the background host if `--share` is given and no host is running.
    pub(in super::super) fn begin(app: &App, matches: &ArgMatches) -> Option<Listening> {
        if !matches.get_flag("share") {
            return None;
        }
        let place = app.host_place().ok()?;
        match Listening::at(&place) {
            Ok(Some(listening)) => Some(listening),
            Ok(None) => {
                app.out.remark("using the local servers of the background host");
                None
            }
            Err(error) => {
                app.out.remark(format!("servers are not shared: {error}"));
                None
            }
        }
    }

    /// Runs the background host until `mcp down`. Never returns if this gateway is not the host.
    pub(in super::super) async fn run(app: &App, listening: Option<Listening>) {
        let Some(listening) = listening else { return std::future::pending().await };
        let (connector, start_in) = app.host_connector();
        let service = Service {
            out: app.out,
            config: &app.config,
            connector,
            start_in,
            secrets: app.secrets.clone(),
            store: app.logins.vault().store().clone(),
            idle: None,
        };
        service.run(listening, std::future::pending()).await;
    }
}

#[cfg(not(unix))]
mod unix {
    use clap::ArgMatches;

    use crate::host::app::App;

    pub(in super::super) fn begin(_: &App, _: &ArgMatches) -> Option<()> {
        None
    }

    pub(in super::super) async fn run(_: &App, _: Option<()>) {
        std::future::pending().await
    }
}

pub(super) use self::unix::{begin, run};
