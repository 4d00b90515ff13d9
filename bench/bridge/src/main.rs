//! Our bridge as used by a host: one for all servers, whose tools are checked, named, indexed and
//! offered. The difference to `ours` is work that a host would otherwise do.

use std::{
    process::ExitCode,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bench_worker::{Contender, Era, Reach, Server};
use bytes::BytesMut;
use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, Tool};
use mcp_config::{Stdio, Transport, model::EraPin};

static HOST: OnceLock<Bridge> = OnceLock::new();
static SERVERS: AtomicUsize = AtomicUsize::new(0);

fn host() -> &'static Bridge {
    HOST.get_or_init(|| {
        let mut options = BridgeOptions::default();
        // Tools are called by name here, and not searched for.
        options.tool_search = false;
        options.output.max_chars = 2 << 20;
        Bridge::new(options)
    })
}

struct Bridged {
    name: String,
    small: Arc<dyn Tool>,
}

impl Contender for Bridged {
    async fn connect(server: Server) -> Self {
        let name = format!("s{}", SERVERS.fetch_add(1, Ordering::Relaxed));
        let Reach::Start { program, args } = server.reach else { panic!("over stdio only") };
        let mut stdio = Stdio::new(&*program.display().to_string());
        stdio.args = args.iter().map(|arg| arg.as_str().into()).collect();
        let mut config = ServerConfig::new(name.parse().expect("a name"), Transport::Stdio(stdio));
        config.trust = true;
        config.era = match server.era {
            Era::Default => None,
            Era::Legacy => Some(EraPin::Legacy),
            Era::Modern => Some(EraPin::Modern),
        };
        host().add_server_as_written(config);
        let _ = host().connect(&name);
        let connected = |status: &mcp_bridge::ServerStatus| status.state.is_connected();
        host().wait_for(&name, connected).await.expect("a server");
        let turn = host().snapshot();
        let own = turn.tools().iter().find(|tool| tool.spec().server() == Some(&name));
        let small = own.cloned().expect("a tool");
        Self { name, small }
    }

    async fn call(&self, _: &'static str) -> usize {
        let outcome = self.small.call(RawJson::empty_object(), CallContext::default()).await;
        assert!(!outcome.is_error, "{outcome}");
        outcome.text_content().len()
    }

    async fn list(&self) -> usize {
        let all = host().status();
        all.iter().find(|status| *status.name == *self.name).expect("the server").tools
    }

    async fn close(self) {
        let _ = host().remove_server(&self.name).await;
    }

    fn decode_call(_: BytesMut) -> usize {
        panic!("the client decodes")
    }

    fn decode_list(_: BytesMut) -> usize {
        panic!("the client decodes")
    }
}

fn main() -> ExitCode {
    bench_worker::main::<Bridged>()
}
