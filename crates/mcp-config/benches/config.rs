//! What a host feels: how long until it knows its servers.
//!
//! `cargo bench -p mcp-config --all-features`. Prints one line per measure, with its ratio to plain
//! `serde_json::from_slice` of the same bytes where there are bytes.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use mcp_config::{
    Document, Environment, Layers, ReadOptions, Scope,
    files::{FileSource, Source},
    load, read, resolve,
};

/// The best of many runs: what the code costs, not what the machine was doing beside it. Until the
/// answer is there; throwing it away again is not counted, for anybody.
fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    let mut runs = 0;
    while runs < 5 || begin.elapsed() < Duration::from_secs(2) {
        let start = Instant::now();
        let answer = black_box(run());
        best = best.min(start.elapsed());
        drop(answer);
        runs += 1;
    }
    best
}

/// `count` servers as a realistic file: half programs, half endpoints.
fn file(count: usize, tag: &str) -> String {
    let entries: Vec<String> = (0..count)
        .map(|i| {
            if i % 2 == 0 {
                format!(
                    "    \"{tag}{i}\": {{\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@scope/server-{tag}{i}\", \"--verbose\"],\n      \"env\": {{ \"TOKEN\": \"${{TOKEN_{i}}}\", \"LOG_LEVEL\": \"info\" }}\n    }}"
                )
            } else {
                format!(
                    "    \"{tag}{i}\": {{\n      \"type\": \"http\",\n      \"url\": \"https://{tag}{i}.example.com/mcp?tenant={i}\",\n      \"headers\": {{ \"Authorization\": \"Bearer ${{TOKEN}}\" }},\n      \"timeout\": 30000\n    }}"
                )
            }
        })
        .collect();
    format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", entries.join(",\n"))
}

fn report(what: &str, time: Duration, note: &str) {
    eprintln!("{what:<44} {:>10.3} ms  {note}", time.as_secs_f64() * 1e3);
}

/// Ten megabytes of what `~/.claude.json` really fills up with, and thirty servers in it.
fn history() -> String {
    let line = "  { \"display\": \"please look at the tests in crates/x\", \"pasted\": [], \"at\": 1763300000 }";
    let lines = vec![line; 10_000_000 / line.len()].join(",\n");
    let servers = file(30, "s");
    let servers = servers.trim_end().trim_end_matches('}');
    format!("{servers},\n\"history\": [\n{lines}\n]\n}}\n")
}

fn large_file(what: &str, path: &str, text: &str) {
    let mut options = ReadOptions::new(path);
    options.max_bytes = usize::MAX;
    let servers = read(text.as_bytes(), &options).entries.len();
    let plain =
        best(|| serde_json::from_slice::<serde_json::Value>(text.as_bytes()).expect("valid JSON"));
    let ours = best(|| read(text.as_bytes(), &options));
    #[expect(clippy::cast_precision_loss, reason = "a rate to show")]
    let rate = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
    report(&format!("serde_json::Value, {what}"), plain, &format!("{:.0} MB/s", rate(plain)));
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    let note = format!("{:.0} MB/s, {ratio:.2} x serde_json, {servers} servers", rate(ours));
    report(&format!("read, {what}"), ours, &note);
}

fn many_servers() {
    let mut layers = Layers::new();
    layers.env = Environment::empty().with("TOKEN", "x");
    for (index, scope) in Scope::ALL.into_iter().enumerate() {
        // A third of the names and endpoints repeat from scope to scope.
        let tag = if index % 3 == 0 { "shared" } else { scope.as_str() };
        let count = if index == 0 { 170 } else { 166 };
        let text = file(count, tag);
        layers.push(scope, read(text.as_bytes(), &ReadOptions::new(&format!("{scope}.json"))));
    }
    let total: usize = layers.layers.iter().map(|layer| layer.document.entries.len()).sum();
    let time = best(|| resolve(&layers));
    report(&format!("resolve, {total} servers over six scopes"), time, "");
}

fn usual_machine() {
    let folder = std::env::temp_dir().join(format!("mcp-config-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut bytes = 0;
    let mut texts = Vec::new();
    let sources: Vec<std::sync::Arc<dyn Source>> = (0..6)
        .map(|index| {
            let path = folder.join(format!("{index}.json"));
            let text = file(6, &format!("f{index}-"));
            bytes += text.len();
            std::fs::write(&path, &text).expect("a file");
            texts.push(text);
            // Enterprise would keep the cloud out; a usual machine has none.
            let scope = Scope::ALL[1 + index % 5];
            std::sync::Arc::new(FileSource::new(scope, path)) as std::sync::Arc<dyn Source>
        })
        .collect();
    let io = best(|| {
        for index in 0..6 {
            black_box(std::fs::read(folder.join(format!("{index}.json"))).expect("a file"));
        }
    });
    let plain = best(|| {
        for text in &texts {
            black_box(
                serde_json::from_slice::<serde_json::Value>(text.as_bytes()).expect("valid JSON"),
            );
        }
    });
    let all = best(|| {
        let mut layers = Layers::new();
        layers.env = Environment::current();
        layers.layers = load(&sources);
        (resolve(&layers), layers)
    });
    let own = all.saturating_sub(io);
    report(&format!("reading six files, {bytes} bytes"), io, "the I/O");
    report("serde_json::Value of the six", plain, "");
    let ratio = own.as_secs_f64() / plain.as_secs_f64();
    report("load and resolve the six, without the I/O", own, &format!("{ratio:.1} x serde_json"));
    let _ = std::fs::remove_dir_all(&folder);
}

fn explain() {
    let document = read(file(200, "s").as_bytes(), &ReadOptions::new("a.json"));
    let mut layers = Layers::new();
    layers.push(Scope::User, document.clone());
    layers.push(
        Scope::Cloud,
        Document::from_servers("cloud", document.entries.iter().map(|e| e.config.clone())),
    );
    let resolution = resolve(&layers);
    let time = best(|| resolution.explain("s100").to_string());
    report("explain one of 400", time, "");
}

fn main() {
    large_file("10 MB of history", ".claude.json", &history());
    large_file("10 MB of servers", ".mcp.json", &file(57_000, "s"));
    large_file("100 kB of servers", ".mcp.json", &file(570, "s"));
    many_servers();
    usual_machine();
    explain();
}
