//! `docs/load.md`, out of what the runs wrote down: the words are here, the figures are theirs.

use serde_json::Value;

/// What a figure is on the page: `{load.servers}`, `{soak.warm.resident_kib:mib}`.
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

/// With commas, as people read it.
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

/// The page. A figure that is missing is an error: an older run wrote less down.
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
                &figure(load, soak, place).ok_or_else(|| format!("no run says `{place}`"))?,
            ),
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

const WORDS: &str = "\
# Load and soak

What a host with many servers can rely on, and how to see it for yourself. `cargo xtask load --page` writes this page from
what the runs wrote down: [`load.json`](load.json) and [`soak.json`](soak.json).

```sh
cargo xtask load                 # the figures below; about a minute on two cores, after a release build
cargo xtask load --quick         # the same in small, as CI runs it
cargo xtask load --rounds 200    # two million calls instead of one; `--only ws` is one transport
cargo xtask load --soak 600      # trouble for ten minutes, at random from a seed that is printed
cargo xtask models               # every order of threads (loom) and of events, where it matters
```

`--seed N` plays the same again, `--json FILE` writes the figures for machines.

## What is checked

- Every call carries a number nobody else uses, and its server answers with text that follows from that number and from
  its own: an answer that is lost, cut or crossed shows. Servers count what they answered, so nothing is done twice.
- The first call of every caller is held by its server until all have arrived: \"in flight\" is what servers say.
- One call in 128 has a companion that is dropped on its way, before it is written or as its answer arrives.
- Memory, both what is resident and what is in use by the allocator's own count: the most of the second half against the
  most of the first. More than one part in twenty and 8 MiB (4 MiB of what is in use) is a failure, and so is more
  than 2 MiB in use once everything is closed.
- Open files at the end against those at a quarter of the way, and against those before anything was started. No process
  may be left.
- A quarter of the servers is reached through a bridge, in turns of ten calls, the others through a client of their own.

## A million calls

| transport | servers | calls | lost | crossed |
|---|--:|--:|--:|--:|
{rows}

{load.servers} servers, {load.processes} processes, {load.in_flight} calls in flight at once. Open files were {load.before.files} before, {load.warm.files} at a quarter of the
way, {load.end.files} at the end and {load.after.files} after; {load.after.processes} processes were left.

| MiB | before | quarter | half | end | after | most until half | most then |
|---|--:|--:|--:|--:|--:|--:|--:|
| resident | {load.before.resident_kib:mib} | {load.warm.resident_kib:mib} | {load.half.resident_kib:mib} | {load.end.resident_kib:mib} | {load.after.resident_kib:mib} | {load.most_until_half.resident_kib:mib} | {load.most_then.resident_kib:mib} |
| in use | {load.before.heap_kib:mib} | {load.warm.heap_kib:mib} | {load.half.heap_kib:mib} | {load.end.heap_kib:mib} | {load.after.heap_kib:mib} | {load.most_until_half.heap_kib:mib} | {load.most_then.heap_kib:mib} |

What is in use rises until half of the calls are done, and then no more: no leak, and with two million calls it is the
same. `--only` shows whose it is: pipes, sockets and servers in the process are flat from a quarter on, HTTP is not. There
is a connection for each of the fifty calls that are in flight at a server, and hyper hands requests to a connection
through a queue in blocks of 32, with 9 KiB each (as massif has it): the second comes with a connection's 33rd call, and
then the two take turns. Twenty such servers alone had 54, 62 and 63 MiB in use with 100,000 calls, and 63, 63 and 64 with
400,000; some 40 KiB are kept for a connection that rests, and go with it.

When all is closed, some twelve thousand small pieces are left however many calls there were: the servers inside the
process, which live as long as it does. What is resident then is the allocator's: glibc returns next to nothing, with one
arena as with many (`MALLOC_ARENA_MAX=1` makes it 17 MiB less).

## Ten minutes of trouble

{soak.servers} servers behind one bridge, six of each kind, with 120 callers: {soak.trouble.killed} processes killed, {soak.trouble.restarted} servers restarted with
their sessions forgotten, {soak.trouble.reconnected} reconnects asked for, {soak.trouble.disabled_for_a_while} servers disabled for a while, {soak.trouble.lists_changed} lists changed;
{soak.reconnects} connections opened again. Of {soak.calls} calls {soak.lost} were lost, {soak.crossed} crossed, and {soak.unavailable} were told at once that
their server is unavailable. Memory was {soak.warm.resident_kib:mib} MiB a quarter of the way and {soak.end.resident_kib:mib} at the end; open files {soak.warm.files} and {soak.end.files}, and
{soak.after.files} after {soak.before.files} before. Every server was there again, with one process each, and {soak.after.processes} were left.
";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_is_what_the_runs_wrote_down() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let page = super::super::write_page(&docs, true);
        assert_eq!(page, Ok(()), "`cargo xtask load --page` writes it anew");
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
