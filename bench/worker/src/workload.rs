//! The workloads. Each warms up, measures, and returns named figures.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use bench_server::{ToolList, large_result, line, plain_result, small_result, structured_result};
use bytes::BytesMut;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Contender, Era, Reach, Server,
    listening::Listening,
    options::{Options, Over},
    usage,
};

/// Figures by name; the name ends in the unit.
pub(crate) type Figures = Vec<(&'static str, f64)>;

pub(crate) fn run<C: Contender>(options: &Options) -> Figures {
    match options.workload.as_str() {
        "calls" if options.depth > 1 => on(options, call_many::<C>),
        "calls" => on(options, call_in_sequence::<C>),
        "list" => on(options, list::<C>),
        "connect" => on(options, connect::<C>),
        "peak" => on(options, peak::<C>),
        "idle" => on(options, idle::<C>),
        "decode" => decode::<C>(options),
        other => panic!("no workload {other}"),
    }
}

/// Runs `workload` on the runtime of the options: in a spawned task, like the calls of a host, or in
/// `async fn main`, where every wake-up is a system call.
fn on<F>(options: &Options, workload: fn(Plan) -> F) -> Figures
where
    F: Future<Output = Figures> + Send + 'static,
{
    let runtime: Runtime = if options.current_thread {
        Builder::new_current_thread().enable_all().build()
    } else {
        Builder::new_multi_thread().enable_all().build()
    }
    .expect("a runtime starts");
    let work = workload(Plan::new(options));
    if options.current_thread || options.from_main {
        return runtime.block_on(work);
    }
    runtime.block_on(async { tokio::spawn(work).await.expect("a workload panicked") })
}

/// The options as a workload needs them, owned.
struct Plan {
    server: Server,
    tool: &'static str,
    /// Whether `peak` lists instead of calling.
    list: bool,
    iterations: usize,
    warm_up: usize,
    depth: usize,
    servers: usize,
    tools: usize,
    /// The server ends with the plan.
    _listening: Option<Listening>,
}

impl Plan {
    fn new(options: &Options) -> Self {
        let mut args = vec![
            "--tools".into(),
            options.tools.to_string(),
            "--tool-bytes".into(),
            options.tool_bytes.to_string(),
        ];
        if options.era == Era::Legacy {
            args.push("--legacy".into());
        }
        let (program, era, tuned) = (options.server.clone(), options.era, options.tuned);
        let listening = (options.over != Over::Stdio).then(|| Listening::start(&program, &args));
        let address = listening.as_ref().map_or("", |server| &server.address);
        let reach = match options.over {
            Over::Stdio => Reach::Start { program, args },
            Over::Json => Reach::Http { url: format!("http://{address}/json") },
            Over::Sse => Reach::Http { url: format!("http://{address}/sse") },
            Over::Ws => Reach::Ws { url: format!("ws://{address}/") },
        };
        Self {
            server: Server { reach, era, tuned },
            tool: options.tool(),
            list: options.what == "list",
            iterations: options.iterations,
            warm_up: (options.iterations / 5).clamp(1, 2000),
            depth: options.depth,
            servers: options.servers,
            tools: options.tools,
            _listening: listening,
        }
    }
}

/// Calls in sequence.
async fn call_in_sequence<C: Contender>(plan: Plan) -> Figures {
    let client = C::connect(plan.server.clone()).await;
    for _ in 0..plan.warm_up {
        assert_ne!(client.call(plan.tool).await, 0);
    }
    let mut clock = Clock::start(plan.iterations);
    for _ in 0..plan.iterations {
        let begun = Instant::now();
        assert_ne!(client.call(plan.tool).await, 0);
        clock.lap(begun);
    }
    let figures = clock.figures(plan.warm_up);
    client.close().await;
    figures
}

/// Many calls in flight on one connection.
async fn call_many<C: Contender>(plan: Plan) -> Figures {
    let client = Arc::new(C::connect(plan.server.clone()).await);
    let warm_up = plan.warm_up.max(plan.depth);
    Arc::clone(&client).call_many(plan.tool, plan.depth, warm_up).await;
    let cpu = usage::cpu_us();
    let begun = Instant::now();
    Arc::clone(&client).call_many(plan.tool, plan.depth, plan.iterations).await;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = usage::cpu_us() - cpu;
    let calls = plan.iterations as f64;
    let client = Arc::into_inner(client).expect("all callers are done");
    client.close().await;
    let operations = calls + warm_up as f64;
    vec![("per_s", calls / seconds), ("cpu_us", cpu / calls), ("operations", operations)]
}

/// Lists in sequence.
async fn list<C: Contender>(plan: Plan) -> Figures {
    let client = C::connect(plan.server.clone()).await;
    for _ in 0..plan.warm_up {
        assert_eq!(client.list().await, plan.tools);
    }
    let mut clock = Clock::start(plan.iterations);
    for _ in 0..plan.iterations {
        let begun = Instant::now();
        assert_eq!(client.list().await, plan.tools);
        clock.lap(begun);
    }
    let figures = clock.figures(plan.warm_up);
    client.close().await;
    figures
}

/// Starts several servers at once, connects and lists their tools.
async fn connect<C: Contender>(plan: Plan) -> Figures {
    let mut clock = Clock::start(plan.iterations);
    // The first round loads programs and libraries, and does not count.
    for iteration in 0..=plan.iterations {
        let begun = Instant::now();
        let tasks: Vec<_> = (0..plan.servers)
            .map(|_| {
                let server = plan.server.clone();
                tokio::spawn(async move {
                    let client = C::connect(server).await;
                    (client.list().await, client)
                })
            })
            .collect();
        let mut clients = Vec::with_capacity(tasks.len());
        for task in tasks {
            let (tools, client) = task.await.expect("a connection panicked");
            assert_eq!(tools, plan.tools);
            clients.push(client);
        }
        if iteration > 0 {
            clock.lap(begun);
        }
        let cpu = usage::cpu_us();
        let closing: Vec<_> =
            clients.into_iter().map(|client| tokio::spawn(client.close())).collect();
        for task in closing {
            task.await.expect("a close panicked");
        }
        clock.forget_cpu_since(cpu);
        if iteration == 0 {
            clock.reset_cpu();
        }
    }
    clock.figures(1)
}

/// The peak memory of a few lists or results, each dropped before the next.
async fn peak<C: Contender>(plan: Plan) -> Figures {
    let client = C::connect(plan.server.clone()).await;
    assert_ne!(client.call("small").await, 0);
    usage::reset_peak();
    let before = usage::peak_kib();
    for _ in 0..plan.iterations {
        let got = if plan.list { client.list().await } else { client.call(plan.tool).await };
        assert_ne!(got, 0);
    }
    let growth = usage::peak_kib() - before;
    client.close().await;
    vec![("growth_kib", growth)]
}

/// The memory of an idle connection after one call, and its CPU time per second.
async fn idle<C: Contender>(plan: Plan) -> Figures {
    const WARM_UP: usize = 4;
    let mut clients = Vec::with_capacity(WARM_UP + plan.servers);
    let mut before = 0.0;
    for index in 0..WARM_UP + plan.servers {
        if index == WARM_UP {
            before = usage::resident_kib();
        }
        let client = C::connect(plan.server.clone()).await;
        assert_ne!(client.call("small").await, 0);
        clients.push(client);
    }
    let each = (usage::resident_kib() - before) / plan.servers as f64;
    let cpu = usage::cpu_us();
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let cpu = (usage::cpu_us() - cpu) / begun.elapsed().as_secs_f64() / clients.len() as f64;
    let closing: Vec<_> = clients.into_iter().map(|client| tokio::spawn(client.close())).collect();
    for task in closing {
        task.await.expect("a close panicked");
    }
    vec![("each_kib", each), ("process_kib", before), ("cpu_us", cpu)]
}

/// Decodes lines to typed results and drops them, without a pipe or a runtime.
fn decode<C: Contender>(options: &Options) -> Figures {
    let list = ToolList { tools: options.tools, bytes: options.tool_bytes };
    let (result, decode): (_, fn(BytesMut) -> usize) = match options.what.as_str() {
        "list" => (list.result(), C::decode_list),
        "large" => (large_result(), C::decode_call),
        "plain" => (plain_result(), C::decode_call),
        "structured" => (structured_result(), C::decode_call),
        _ => (small_result(), C::decode_call),
    };
    const WARM_UP: usize = 2;
    let line = line("1234", &result);
    // Enough lines for the resolution of the clock, copied before it starts.
    let batch = (64 << 10) / line.len().min(64 << 10) + 1;
    let mut per_decode = Vec::with_capacity(options.iterations);
    for _ in 0..WARM_UP + options.iterations {
        let lines: Vec<_> = (0..batch).map(|_| BytesMut::from(line.as_bytes())).collect();
        let begun = Instant::now();
        for line in lines {
            assert_ne!(black_box(decode(line)), 0);
        }
        per_decode.push(begun.elapsed().as_secs_f64() * 1e6 / batch as f64);
    }
    let operations = (batch * per_decode.len()) as f64;
    let p50 = quantile(&mut per_decode.split_off(WARM_UP), 0.5);
    vec![("p50_us", p50), ("operations", operations)]
}

/// The times and the CPU time of a loop.
struct Clock {
    laps: Vec<f64>,
    cpu: f64,
    begun: Instant,
}

impl Clock {
    fn start(laps: usize) -> Self {
        // Reserved here, so that no lap pays for the growth of the list.
        Self { laps: Vec::with_capacity(laps), cpu: usage::cpu_us(), begun: Instant::now() }
    }

    fn lap(&mut self, begun: Instant) {
        self.laps.push(begun.elapsed().as_secs_f64() * 1e6);
    }

    /// Excludes the CPU time used since it was `cpu`.
    fn forget_cpu_since(&mut self, cpu: f64) {
        self.cpu += usage::cpu_us() - cpu;
    }

    fn reset_cpu(&mut self) {
        self.cpu = usage::cpu_us();
    }

    fn figures(mut self, warm_up: usize) -> Figures {
        let cpu = usage::cpu_us() - self.cpu;
        let seconds = self.begun.elapsed().as_secs_f64();
        let laps = self.laps.len() as f64;
        vec![
            ("p50_us", quantile(&mut self.laps, 0.5)),
            ("p99_us", quantile(&mut self.laps, 0.99)),
            ("best_us", quantile(&mut self.laps, 0.0)),
            ("per_s", laps / seconds),
            ("cpu_us", cpu / laps),
            ("operations", laps + warm_up as f64),
        ]
    }
}

fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * quantile).round() as usize]
}
