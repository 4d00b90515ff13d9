//! Renders `docs/load.md`: the text is here, the figures are from the results of runs.

use serde_json::Value;

/// The text for a figure: `{load.servers}`, `{soak.warm.resident_kib:mib}`.
fn figure(load: &Value, soak: &Value, place: &str) -> Option<String> {
    let (path, unit) = place.split_once(':').unwrap_or((place, ""));
    let (of, path) = path.split_once('.')?;
    let root = match of {
        "load" => load,
        "soak" => soak,
        _ => return None,
    };
    let mut found = root;
    for name in path.split('.') {
        found = found.get(name.replace('_', " ")).or_else(|| found.get(name))?;
    }
    let number = found.as_u64()?;
    Some(grouped(if unit == "mib" { number / 1_024 } else { number }))
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn row(row: &Value) -> Option<String> {
    let name = row.get("transport")?.as_str()?;
    let number = |key: &str| row.get(key).and_then(Value::as_u64).map(grouped);
    let (servers, calls) = (number("servers")?, number("calls")?);
    Some(format!("| {name} | {servers} | {calls} | {} | {} |", number("lost")?, number("crossed")?))
}

/// Renders the page. A missing figure, such as of an older run, is an error.
pub(super) fn page(load: &Value, soak: &Value) -> Result<String, String> {
    let rows = load["rows"].as_array().into_iter().flatten().map(row);
    let rows: Option<Vec<String>> = rows.collect();
    let rows = rows.ok_or("a row of the load has a figure missing")?.join("\n");
    let mut text = String::new();
    let mut rest = WORDS;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').ok_or("a brace of the page is not closed")?;
        text.push_str(before);
        match place {
            "rows" => text.push_str(&rows),
            _ => text.push_str(
                &figure(load, soak, place)
                    .ok_or_else(|| format!("the results of the run lack `{place}`"))?,
            ),
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

const WORDS: &str = "\
# Load and soak

Results of the load and soak tests, and how to repeat them. `cargo xtask load --page` writes this page from the recorded
results in `xtask/data/load.json` and `xtask/data/soak.json`.

```sh
cargo xtask load                 # the figures below; about a minute on two cores, after a release build
cargo xtask load --quick         # a smaller run, as in CI
cargo xtask load --rounds 200    # two million calls instead of one; `--only ws` is one transport
cargo xtask load --soak 600      # random failures for ten minutes, from a printed seed
cargo xtask models               # model checks: thread interleavings (loom) and event orders
```

`--seed N` repeats a run, `--json FILE` writes the figures as JSON.

## What is checked

- Every call carries a unique number, and its server derives the answer from that number and its own, so that lost,
  truncated and crossed answers are detected. Servers count the calls they execute, so that duplicates are detected too.
- Servers hold the first call of every caller until all have arrived: \"in flight\" is the number that servers hold.
- One call in 128 has a companion that is dropped, before it is written, in flight or as its answer arrives.
- Resident memory, and memory in use by the allocator's count: the maximum of the second half is compared with that of
  the first. Growth by more than a twentieth plus 8 MiB (4 MiB for memory in use) is a failure, and so is more than
  2 MiB in use after everything is closed.
- Open files at the end are compared with those after a quarter of the run, and with those before it. No process may be
  left.
- A quarter of the servers is connected through a bridge, in turns of ten calls, the others through separate clients.

## A million calls

| transport | servers | calls | lost | crossed |
|---|--:|--:|--:|--:|
{rows}

{load.servers} servers, {load.processes} processes, {load.in_flight} calls in flight at once. There were {load.before.files} open files before, {load.warm.files} after a quarter
of the run, {load.end.files} at the end and {load.after.files} after it; {load.after.processes} processes were left.

| MiB | before | quarter | half | end | after | maximum of first half | of second half |
|---|--:|--:|--:|--:|--:|--:|--:|
| resident | {load.before.resident_kib:mib} | {load.warm.resident_kib:mib} | {load.half.resident_kib:mib} | {load.end.resident_kib:mib} | {load.after.resident_kib:mib} | {load.most_until_half.resident_kib:mib} | {load.most_then.resident_kib:mib} |
| in use | {load.before.heap_kib:mib} | {load.warm.heap_kib:mib} | {load.half.heap_kib:mib} | {load.end.heap_kib:mib} | {load.after.heap_kib:mib} | {load.most_until_half.heap_kib:mib} | {load.most_then.heap_kib:mib} |

Memory in use rises during the first half of the calls and then stays flat, also with two million calls: there is no leak.
`--only` shows the transport: stdio, WebSocket and in-process servers are flat after a quarter of the run, HTTP is not. Each
of the fifty calls in flight at a server has a connection, and hyper passes requests to a connection through a queue in
blocks of 32, with 9 KiB each (measured with massif): the second block is allocated at the 33rd call of a connection, and
then the two alternate. Twenty such servers alone had 54, 62 and 63 MiB in use with 100,000 calls, and 63, 63 and 64 with
400,000. An idle connection keeps about 40 KiB, which are freed with it.

After everything is closed, about twelve thousand small allocations are left, independent of the number of calls: the
in-process servers, which live as long as the process. The resident memory then belongs to the allocator: glibc returns
very little, with one arena as with many (`MALLOC_ARENA_MAX=1` saves 17 MiB).

## Ten minutes of failures

{soak.servers} servers behind one bridge, six of each kind, with 120 callers. {soak.trouble.killed} processes were killed, {soak.trouble.restarted} servers restarted
with their sessions lost, {soak.trouble.reconnected} reconnected on request, {soak.trouble.disabled_for_a_while} disabled for a while, and {soak.trouble.lists_changed} tool lists changed;
{soak.reconnects} connections were opened again. Of {soak.calls} calls {soak.lost} were lost, {soak.crossed} crossed, and {soak.unavailable} failed at once because
their server was unavailable. Memory was {soak.warm.resident_kib:mib} MiB after a quarter of the run and {soak.end.resident_kib:mib} MiB at the end; there were {soak.warm.files}
and {soak.end.files} open files, {soak.before.files} before the run and {soak.after.files} after it. Every server recovered, with one process each, and {soak.after.processes} processes
were left.
";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn load_page_matches_the_recorded_results() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = super::super::write_page(&root, true);
        assert_eq!(page, Ok(()), "run `cargo xtask load --page`");
    }

    #[test]
    fn a_figure_has_its_commas_and_its_unit() {
        let load: Value = serde_json::from_str(r#"{"a": {"b c": 1234567}, "k": 2047}"#).unwrap();
        let figure = |place| figure(&load, &Value::Null, place);
        assert_eq!(figure("load.a.b_c").as_deref(), Some("1,234,567"));
        assert_eq!(figure("load.k:mib").as_deref(), Some("1"));
        assert_eq!((figure("load.none"), figure("soak.k"), figure("k")), (None, None, None));
        assert_eq!(grouped(100_000), "100,000");
    }
}
