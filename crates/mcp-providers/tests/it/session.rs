//! A conversation keeps its prefix over 50 turns with 500 tools, searches, restarts and changed lists.

use mcp_providers::{
    CallResult, Deferral, ModelCall, Session, anthropic::Anthropic, openai::responses::Responses,
};
use mcp_tool::{RawJson, ToolOutcome, ToolSpec};

use crate::samples::{of_server, tool};

const TURNS: usize = 50;
const SERVERS: usize = 10;
const TOOLS_OF_EACH: usize = 50;

/// The state of the servers at one turn of the conversation.
struct World {
    /// How often each tool's definition has changed.
    versions: Vec<usize>,
    down: Option<usize>,
}

impl World {
    fn tool(&self, index: usize) -> ToolSpec {
        let schema = format!(
            r#"{{"type":"object","properties":{{"v{}":{{"type":"string"}}}}}}"#,
            self.versions[index]
        );
        of_server(&format!("s{}", index / TOOLS_OF_EACH), &format!("t{index}"), &schema)
    }

    fn is_up(&self, index: usize) -> bool {
        self.down != Some(index / TOOLS_OF_EACH)
    }

    /// Every few turns a server stops or starts, a tool changes, or a tool is renamed to a new version.
    fn step(&mut self, turn: usize, loaded: &[usize]) {
        self.down = if turn % 7 < 3 { Some(turn % SERVERS) } else { None };
        if let Some(&one) =
            loaded.get(turn % loaded.len().max(1)).filter(|_| turn.is_multiple_of(4))
        {
            self.versions[one] += 1;
        }
        self.versions[turn * 31 % (SERVERS * TOOLS_OF_EACH)] += 1;
    }
}

/// One recorded request: its tools and its messages, as they are sent.
struct Request {
    tools: RawJson,
    messages: Vec<RawJson>,
}

impl Request {
    /// The text of each entry of `tools`.
    fn entries(&self) -> Vec<RawJson> {
        self.tools.decode().unwrap()
    }
}

/// Runs the conversation and returns all its requests.
fn play<A: Deferral + Clone>(api: &A) -> Vec<Request> {
    let mut world = World { versions: vec![0; SERVERS * TOOLS_OF_EACH], down: None };
    let (search, clock) = (tool("tool_search", "{}"), tool("clock", "{}"));
    let mut session = Session::new(api.clone(), [&clock], &search);
    let (mut loaded, mut messages): (Vec<usize>, Vec<RawJson>) = (Vec::new(), Vec::new());
    let mut requests = Vec::new();
    for turn in 0..TURNS {
        world.step(turn, &loaded);
        let up: Vec<ToolSpec> =
            loaded.iter().filter(|i| world.is_up(**i)).map(|i| world.tool(*i)).collect();
        // The order in which servers reconnect must not matter.
        let turn_tools = up.iter().rev().chain([&clock]);
        messages.extend(session.refresh(turn_tools));
        requests.push(Request { tools: session.tools(), messages: messages.clone() });
        // The model searches twice in three turns and calls a loaded tool in the third.
        let is_search = turn % 3 != 2;
        let call = ModelCall::new(
            format!("id_{turn}"),
            if is_search { "tool_search" } else { "clock" },
            "{}",
        );
        let found: Vec<usize> =
            if is_search { vec![turn * 37 % 500, (turn * 53 + 7) % 500] } else { Vec::new() };
        let specs: Vec<ToolSpec> = found.iter().map(|index| world.tool(*index)).collect();
        let specs: Vec<&ToolSpec> = specs.iter().collect();
        loaded.extend(found.iter().filter(|i| !loaded.contains(i)).copied().collect::<Vec<_>>());
        let outcome = ToolOutcome::text(format!("result of turn {turn}"));
        messages.extend(session.results(&[CallResult { call: &call, outcome: &outcome }], &specs));
        if turn % 10 == 5 {
            // Stored in a file, and read by another process.
            let file = session.save().as_str().to_owned();
            session = Session::resume(api.clone(), &RawJson::parse(file).unwrap()).unwrap();
        }
    }
    requests
}

fn is(member: Option<RawJson>, text: &str) -> bool {
    member.is_some_and(|member| member.as_str() == text)
}

fn list(member: Option<RawJson>) -> Vec<RawJson> {
    member.and_then(|member| member.decode().ok()).unwrap_or_default()
}

/// The prompt as Anthropic renders it: tools that are not deferred, then the messages, with references replaced by the
/// definitions. All of it is the text that was sent, byte for byte.
fn anthropic_prompt(request: &Request) -> String {
    let tools = request.entries();
    let permanent = tools.iter().filter(|tool| !is(tool.get("defer_loading"), "true"));
    let mut prompt: String = permanent.map(RawJson::as_str).collect();
    for message in &request.messages {
        prompt += message.as_str();
        for block in list(message.get("content")) {
            for reference in list(block.get("content")) {
                if is(reference.get("type"), r#""tool_reference""#) {
                    let name = reference.get("tool_name");
                    let tool = tools.iter().find(|tool| tool.get("name") == name);
                    prompt += tool.expect("a reference to a defined tool").as_str();
                }
            }
        }
    }
    prompt
}

/// The prompt as OpenAI renders it: all tools, then the items, which contain definitions.
fn openai_prompt(request: &Request) -> String {
    request.entries().iter().chain(&request.messages).map(RawJson::as_str).collect()
}

/// The number of requests that do not begin with the previous one.
fn edits(prompts: &[String]) -> usize {
    prompts.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count()
}

#[test]
fn anthropic_prefix_is_byte_identical_over_fifty_turns() {
    let requests = play(&Anthropic::default());
    let prompts: Vec<String> = requests.iter().map(anthropic_prompt).collect();
    assert_eq!(edits(&prompts), 0);
    // Entries are not rewritten either, whether or not they are in the prompt.
    for pair in requests.windows(2) {
        let [old, new] = [&pair[0], &pair[1]].map(|request| request.tools.as_str());
        assert!(new.starts_with(&old[..old.len() - 1]), "{old}\n{new}");
    }
    let last = requests.last().unwrap().entries();
    assert!(last.len() > 50, "{} tools were loaded", last.len());
    let names: std::collections::HashSet<String> =
        last.iter().map(|tool| tool.get("name").unwrap().as_str().to_owned()).collect();
    assert_eq!(names.len(), last.len(), "names are unique");
    let said = prompts.last().unwrap();
    for remark in ["not available now", "available again", "has a new definition"] {
        assert!(said.contains(remark), "{remark}");
    }
}

#[test]
fn openai_prefix_is_byte_identical_over_fifty_turns() {
    let requests = play(&Responses::default());
    let prompts: Vec<String> = requests.iter().map(openai_prompt).collect();
    assert_eq!(edits(&prompts), 0);
    let first = requests[0].tools.as_str();
    assert!(requests.iter().all(|request| request.tools.as_str() == first));
    assert!(is(requests[0].entries()[1].get("type"), r#""tool_search""#));
    let said = prompts.last().unwrap();
    for item in ["tool_search_output", "additional_tools", "namespace", "not available now"] {
        assert!(said.contains(item), "{item}");
    }
}

#[test]
fn a_rewritten_definition_would_be_counted() {
    let mut prompts: Vec<String> =
        play(&Anthropic::default()).iter().map(anthropic_prompt).collect();
    prompts[20].insert(3, ' ');
    assert_eq!(edits(&prompts), 2);
}

#[test]
fn saved_session_keeps_the_text_of_its_tools() {
    let tools = r#"[{"name": "a",  "b":1.0, "a":"\u00e9"}]"#;
    let known = r#"[{"name":"a","definition":{"name": "a"},"gone":true}]"#;
    let saved = format!(r#"{{"search":"tool_search","tools":{tools},"known":{known}}}"#);
    let session = Session::resume(Anthropic::default(), &RawJson::parse(saved.clone()).unwrap());
    let session = session.unwrap();
    assert_eq!(session.tools().as_str(), tools);
    assert_eq!(session.save().as_str(), saved);
}

#[test]
fn each_search_of_a_response_is_answered_with_its_own_tools() {
    let search = tool("tool_search", "{}");
    let (first, second) = (tool("log", "{}"), tool("diff", "{}"));
    let calls = ["id_1", "id_2"].map(|id| ModelCall::new(id, "tool_search", "{}"));
    let outcome = ToolOutcome::text("found");
    let result = |call| CallResult { call, outcome: &outcome };
    let found = [(result(&calls[0]), vec![&first]), (result(&calls[1]), vec![&second])];
    let messages = Session::new(Anthropic::default(), [], &search).results_of_searches(&found);
    let blocks = list(messages[0].get("content"));
    assert!(blocks[0].as_str().contains("log") && !blocks[0].as_str().contains("diff"));
    assert!(blocks[1].as_str().contains("diff"));
    let items = Session::new(Responses::default(), [], &search).results_of_searches(&found);
    assert!(
        items[1].as_str().contains(r#""call_id":"id_2""#) && items[1].as_str().contains("diff")
    );
}

#[test]
fn a_search_that_finds_nothing_still_answers_the_model() {
    let search = tool("tool_search", "{}");
    let call = ModelCall::new("id_1", "tool_search", "{}");
    let outcome = ToolOutcome::text("no matches; nearest: git_log");
    let result = [CallResult { call: &call, outcome: &outcome }];
    let messages = Session::new(Anthropic::default(), [], &search).results(&result, &[]);
    assert!(messages[0].as_str().contains("nearest: git_log"));
    let items = Session::new(Responses::default(), [], &search).results(&result, &[]);
    assert!(items[0].as_str().contains(r#""tools":[]"#) && items[1].as_str().contains("nearest"));
}

#[test]
fn unchanged_tools_add_no_message() {
    let (search, clock) = (tool("tool_search", "{}"), tool("clock", "{}"));
    let mut session = Session::new(Responses::default(), [&clock], &search);
    assert!(session.refresh([&clock, &search]).is_empty());
    assert_eq!(session.refresh([&search]).len(), 1, "the clock went");
    assert!(session.refresh([&search]).is_empty(), "once is enough");
    assert_eq!(session.refresh([&clock]).len(), 1, "the clock came back");
}

#[test]
fn a_changed_tool_that_is_found_again_is_announced() {
    let search = tool("tool_search", "{}");
    let (old, new) = (tool("log", "{}"), tool("log", r#"{"properties":{"n":{"type":"integer"}}}"#));
    let call = ModelCall::new("id_1", "tool_search", "{}");
    let outcome = ToolOutcome::text("log");
    let result = [CallResult { call: &call, outcome: &outcome }];
    let mut session = Session::new(Anthropic::default(), [], &search);
    session.results(&result, &[&old]);
    let tools = session.tools();
    session.results(&result, &[&new]);
    assert_eq!(session.tools(), tools, "the entry is as it was first sent");
    let news = session.refresh([&new]);
    assert!(news[0].as_str().contains("The tool log has a new definition"));
    // In the other API the answer to the search has the new definition.
    let mut session = Session::new(Responses::default(), [], &search);
    session.results(&result, &[&old]);
    assert!(session.results(&result, &[&new])[0].as_str().contains("integer"));
    assert!(session.refresh([&new]).is_empty());
}
