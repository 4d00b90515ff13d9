//! The tools of the demo server: small, self-contained, and useful.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_bridge::{
    CallContext, RawJson, Tool, ToolOutcome, ToolSpec,
    tool::{BoxFuture, Hints},
};
use mcp_client::{ElicitRequest, Progress, types::ElicitAction};
use serde_json::{Value, json};

type Run = fn(Value, CallContext, Arc<Notes>) -> BoxFuture<'static, ToolOutcome>;

/// The notebook, which is kept between calls.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

struct Demo {
    spec: ToolSpec,
    run: Run,
    notes: Arc<Notes>,
}

impl Tool for Demo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let arguments = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        (self.run)(arguments, context, self.notes.clone())
    }
}

/// Returns all demo tools, with a new notebook.
pub(super) fn all() -> Vec<Arc<dyn Tool>> {
    let notes = Arc::new(Notes(Mutex::new(vec!["water the plants".into(), "call Ada".into()])));
    let tool = |name: &str, description: &str, schema: Value, hints: Hints, run: Run| {
        let mut spec = ToolSpec::new(name, description);
        if let Ok(schema) = RawJson::encode(&schema) {
            spec.input_schema = schema;
        }
        spec.hints = hints;
        Arc::new(Demo { spec, run, notes: notes.clone() }) as Arc<dyn Tool>
    };
    let (reads, adds, deletes) = hints();
    vec![
        tool(
            "convert_units",
            "Converts a length, weight or temperature to another unit, for example 10 km to miles.",
            json!({"type": "object", "required": ["value", "from", "to"], "properties": {
                "value": {"type": "number", "description": "How many"},
                "from": {"type": "string", "description": "The unit it is in, such as km, lb or C"},
                "to": {"type": "string", "description": "The unit it should be in"}}}),
            reads,
            |arguments, _, _| ready(convert(&arguments)),
        ),
        tool(
            "text_statistics",
            "Counts words, sentences and characters of a text, and how long reading it takes.",
            json!({"type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "description": "The text to look at"}}}),
            reads,
            |arguments, _, _| ready(statistics(text(&arguments, "text"))),
        ),
        tool(
            "weekday",
            "Tells the day of the week of a date, for example 1969-07-20.",
            json!({"type": "object", "required": ["date"], "properties": {
                "date": {"type": "string", "description": "Year, month and day: YYYY-MM-DD"}}}),
            reads,
            |arguments, _, _| ready(weekday(text(&arguments, "date"))),
        ),
        tool(
            "find_primes",
            "Finds the largest prime numbers up to a limit. Takes its time and reports progress.",
            json!({"type": "object", "required": ["limit"], "properties": {
                "limit": {"type": "integer", "minimum": 2, "maximum": 1_000_000,
                    "description": "Where to stop"},
                "pause_ms": {"type": "integer", "minimum": 0, "maximum": 10_000,
                    "description": "How long to rest after each tenth, 60 by default"}}}),
            reads,
            |arguments, context, _| Box::pin(primes(arguments, context)),
        ),
        tool(
            "list_notes",
            "Lists the notes in the notebook, with their numbers.",
            json!({"type": "object", "properties": {}}),
            reads,
            |_, _, notes| ready(list(&notes)),
        ),
        tool(
            "add_note",
            "Adds a note to the notebook.",
            json!({"type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "description": "What to remember"}}}),
            adds,
            |arguments, _, notes| ready(add(&notes, text(&arguments, "text"))),
        ),
        tool(
            "delete_notes",
            "Deletes every note in the notebook. They cannot be brought back.",
            json!({"type": "object", "properties": {}}),
            deletes,
            |_, _, notes| ready(delete(&notes)),
        ),
        tool(
            "order_pizza",
            "Orders a pizza after asking the user which one, for example to try forms.",
            json!({"type": "object", "properties": {}}),
            adds,
            |_, context, _| Box::pin(order(context)),
        ),
    ]
}

/// Returns the annotations for reading, adding and deleting tools.
fn hints() -> (Hints, Hints, Hints) {
    let mut reads = Hints::default();
    reads.read_only = Some(true);
    reads.open_world = Some(false);
    let mut adds = Hints::default();
    adds.read_only = Some(false);
    adds.destructive = Some(false);
    adds.open_world = Some(false);
    let mut deletes = adds;
    deletes.destructive = Some(true);
    (reads, adds, deletes)
}

fn ready(outcome: ToolOutcome) -> BoxFuture<'static, ToolOutcome> {
    Box::pin(std::future::ready(outcome))
}

fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

/// Units by kind. Each factor converts to the first unit of its kind.
const UNITS: &[&[(&str, f64)]] = &[
    &[
        ("m", 1.0),
        ("km", 1_000.0),
        ("cm", 0.01),
        ("mm", 0.001),
        ("miles", 1_609.344),
        ("mi", 1_609.344),
        ("ft", 0.304_8),
        ("in", 0.025_4),
    ],
    &[("kg", 1.0), ("g", 0.001), ("lb", 0.453_592_37), ("oz", 0.028_349_523)],
];

fn convert(arguments: &Value) -> ToolOutcome {
    let value = arguments["value"].as_f64().unwrap_or_default();
    let (from, to) = (text(arguments, "from"), text(arguments, "to"));
    let converted = match (from, to) {
        ("C", "F") => Some(value * 1.8 + 32.0),
        ("F", "C") => Some((value - 32.0) / 1.8),
        _ => UNITS.iter().find_map(|kind| {
            let unit = |name: &str| kind.iter().find(|(known, _)| *known == name);
            Some(value * unit(from)?.1 / unit(to)?.1)
        }),
    };
    match converted {
        Some(result) => ToolOutcome::text(format!("{value} {from} = {result:.4} {to}")),
        None => ToolOutcome::error(format!("cannot convert {from} to {to}")),
    }
}

fn statistics(text: &str) -> ToolOutcome {
    let words = text.split_whitespace().count();
    let sentences = text.split(['.', '!', '?']).filter(|s| !s.trim().is_empty()).count();
    let seconds = words * 60 / 230;
    ToolOutcome::text(format!(
        "{words} words, {sentences} sentences, {} characters; about {seconds} s to read",
        text.chars().count()
    ))
}

/// Computes the day of the week by Zeller's congruence.
fn weekday(date: &str) -> ToolOutcome {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (Some(Some(year)), Some(Some(month)), Some(Some(day))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return ToolOutcome::error("a date looks like 1969-07-20");
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1583..=9999).contains(&year) {
        return ToolOutcome::error("this date does not exist");
    }
    let (year, month) = if month < 3 { (year - 1, month + 12) } else { (year, month) };
    let at = (day + 13 * (month + 1) / 5 + year + year / 4 - year / 100 + year / 400).rem_euclid(7);
    let names = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    let name = usize::try_from(at).ok().and_then(|at| names.get(at)).unwrap_or(&"?");
    ToolOutcome::text(format!("{date} is a {name}"))
}

async fn primes(arguments: Value, context: CallContext) -> ToolOutcome {
    let limit = arguments["limit"].as_u64().unwrap_or(2).clamp(2, 1_000_000);
    let pause = Duration::from_millis(arguments["pause_ms"].as_u64().unwrap_or(60).min(10_000));
    let mut found = Vec::new();
    for tenth in 1..=10 {
        let (from, to) = (limit * (tenth - 1) / 10, limit * tenth / 10);
        found.extend((from + 1..=to).filter(|n| is_prime(*n)));
        if let Some(report) = &context.on_progress {
            let mut progress = Progress::new(f64::from(u32::try_from(tenth).unwrap_or(10)));
            progress.total = Some(10.0);
            progress.message = Some(format!("{} primes up to {to}", found.len()));
            report(progress);
        }
        tokio::time::sleep(pause).await;
    }
    let last: Vec<String> = found.iter().rev().take(3).map(u64::to_string).collect();
    ToolOutcome::text(format!(
        "{} primes up to {limit}; the largest: {}",
        found.len(),
        last.join(", ")
    ))
}

fn is_prime(n: u64) -> bool {
    n > 1 && (2..=n.isqrt()).all(|d| !n.is_multiple_of(d))
}

fn list(notes: &Notes) -> ToolOutcome {
    let notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    for (at, note) in notes.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}. {note}", at + 1);
    }
    ToolOutcome::text(if text.is_empty() { "no notes".into() } else { text.trim_end().to_owned() })
}

fn add(notes: &Notes, text: &str) -> ToolOutcome {
    let mut notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() >= 1_000 {
        return ToolOutcome::error("the notebook is full");
    }
    notes.push(text.to_owned());
    ToolOutcome::text(format!("noted as number {}", notes.len()))
}

fn delete(notes: &Notes) -> ToolOutcome {
    let mut notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    let count = notes.len();
    notes.clear();
    ToolOutcome::text(format!("{count} notes deleted"))
}

async fn order(call: CallContext) -> ToolOutcome {
    let Some(owner) = call.owner.filter(|owner| owner.capabilities().elicitation_form) else {
        return ToolOutcome::error(
            "this client does not support elicitation, so it cannot choose a pizza",
        );
    };
    // Written as text, because the fields are asked for in the order of the schema.
    let form = RawJson::parse(
        r#"{"type":"object","required":["kind"],"properties":{
            "kind":{"type":"string","title":"Kind","enum":["margherita","funghi","diavola"]},
            "count":{"type":"integer","title":"How many","minimum":1,"maximum":9,"default":1}}}"#,
    );
    let Ok(form) = form else { return ToolOutcome::error("the form cannot be written") };
    let request = ElicitRequest::form("Which pizza shall it be?", form);
    let answer = owner.elicit(request).await;
    match (answer.action, answer.content) {
        (ElicitAction::Accept, Some(content)) => {
            let content: Value = serde_json::from_str(content.as_str()).unwrap_or_default();
            let count = content["count"].as_u64().unwrap_or(1);
            ToolOutcome::text(format!("ordered: {count} {}", text(&content, "kind")))
        }
        _ => ToolOutcome::text("nothing was ordered"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_return_correct_results() {
        let km = convert(&json!({"value": 10, "from": "km", "to": "miles"}));
        assert_eq!(km.text_content(), "10 km = 6.2137 miles");
        assert!(convert(&json!({"value": 1, "from": "kg", "to": "m"})).is_error);
        assert_eq!(weekday("1969-07-20").text_content(), "1969-07-20 is a Sunday");
        assert_eq!(weekday("2024-02-29").text_content(), "2024-02-29 is a Thursday");
        assert!(weekday("tomorrow").is_error);
        assert_eq!((1..30).filter(|n| is_prime(*n)).count(), 10);
    }
}
