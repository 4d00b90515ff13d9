//! Checks payloads against the types that providers publish, with the TypeScript compiler.

use std::{fs, process::Command};

use mcp_providers::{
    Api, CallResult, ModelCall, Session, anthropic::Anthropic, definitions, gemini::Gemini,
    openai::chat::Chat, openai::responses::Responses,
};
use mcp_tool::{RawJson, ToolOutcome, ToolSpec};

use crate::samples::{
    self, SCHEMAS, everything, failure, of_server, prompt, raw, sampling, sampling_responses, tool,
};

const IMPORTS: &str = r#"
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import type * as genai from "@google/genai";

// The packages declare enums, and JSON has their values.
type Wire<T> = T extends string ? `${T}` : T extends (infer U)[] ? Wire<U>[]
    : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;
// Fixtures of responses have the members that we read, and no others.
type Part<T> = T extends (infer U)[] ? Part<U>[] : T extends object ? { [K in keyof T]?: Part<T[K]> } : T;
type GeminiRequest = {
    contents: Wire<genai.Content>[];
    systemInstruction?: Wire<genai.Content>;
    generationConfig?: Pick<genai.GenerateContentConfig, "maxOutputTokens" | "temperature" | "stopSequences">;
    tools?: Wire<genai.Tool>[];
    toolConfig?: Wire<genai.ToolConfig>;
};
"#;

/// The published types of one API's payloads.
struct Types {
    tools: &'static str,
    message: &'static str,
    request: &'static str,
    response: &'static str,
}

const ANTHROPIC: Types = Types {
    tools: "Anthropic.Messages.ToolUnion[]",
    message: "Anthropic.Messages.MessageParam",
    request: "Anthropic.Messages.MessageCreateParamsNonStreaming",
    response: "Part<Anthropic.Messages.Message>",
};
const CHAT: Types = Types {
    tools: "OpenAI.Chat.Completions.ChatCompletionTool[]",
    message: "OpenAI.Chat.Completions.ChatCompletionMessageParam",
    request: "OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming",
    response: "Part<OpenAI.Chat.Completions.ChatCompletion>",
};
const RESPONSES: Types = Types {
    tools: "OpenAI.Responses.Tool[]",
    message: "OpenAI.Responses.ResponseInputItem",
    request: "OpenAI.Responses.ResponseCreateParamsNonStreaming",
    response: "Part<OpenAI.Responses.Response>",
};
const GEMINI: Types = Types {
    tools: "Wire<genai.Tool>[]",
    message: "Wire<genai.Content>",
    request: "GeminiRequest",
    response: "Part<Wire<genai.GenerateContentResponse>>",
};

#[test]
fn payloads_satisfy_the_published_types() {
    let Some(modules) = mcp_skip::kit("MCP_PROVIDER_TYPES") else { return };
    let mut source = Source(IMPORTS.to_owned());
    source.api(&ANTHROPIC, &Anthropic::default());
    source.api(&CHAT, &Chat::default());
    source.api(&CHAT, &Chat::strict());
    source.api(&RESPONSES, &Responses::default());
    source.api(&RESPONSES, &Responses::strict());
    source.api(&GEMINI, &Gemini::default());
    source.api(&GEMINI, &Gemini::open_api().with_media_in_responses());
    source.session(&ANTHROPIC, Anthropic::default());
    source.session(&RESPONSES, Responses::default());
    // `@ts-expect-error` fails the check if one of these compiles.
    for (kind, wrong) in [
        (ANTHROPIC.message, r#"{"role":"user","content":[{"type":"tool_result"}]}"#),
        (CHAT.message, r#"{"role":"tool","content":[{"type":"image_url"}]}"#),
        (RESPONSES.message, r#"{"type":"tool_search_output"}"#),
        (GEMINI.tools, r#"[{"functionDeclarations":[{"parameters":{"type":"object"}}]}]"#),
    ] {
        source.0 += "// @ts-expect-error\n";
        source.add(kind, &raw(wrong));
    }
    check(&modules, &source.0);
}

#[test]
fn fixtures_of_responses_satisfy_the_published_types() {
    let Some(modules) = mcp_skip::kit("MCP_PROVIDER_TYPES") else { return };
    let mut source = Source(IMPORTS.to_owned());
    let apis =
        [("anthropic", ANTHROPIC), ("chat", CHAT), ("responses", RESPONSES), ("gemini", GEMINI)];
    for (api, types) in &apis {
        let of_api = |(name, _): &&(&str, String)| name == api;
        let calls = samples::RESPONSES.iter().map(|(name, text)| (*name, (*text).to_owned()));
        let sampled = sampling_responses().into_iter().map(|(name, json)| (name, json.to_string()));
        let texts: Vec<(&str, String)> = calls.chain(sampled).collect();
        assert_eq!(texts.iter().filter(of_api).count(), 2, "{api}");
        for (_, text) in texts.iter().filter(of_api) {
            source.add(types.response, &raw(text));
        }
        source.0 += "// @ts-expect-error\n";
        source.add(types.response, &raw(r#"{"content":7,"choices":7,"output":7,"candidates":7}"#));
    }
    source.add(RESPONSES.response, &raw(samples::SEARCH_RESPONSE));
    check(&modules, &source.0);
}

struct Source(String);

impl Source {
    fn add(&mut self, kind: &str, payload: &RawJson) {
        let line = format!("(({payload}) satisfies {kind});\n", payload = payload.as_str());
        self.0 += &line;
    }

    fn api(&mut self, types: &Types, api: &dyn Api) {
        let specs: Vec<ToolSpec> =
            SCHEMAS.iter().map(|(name, schema)| tool(name, schema)).collect();
        let (tools, _) = definitions(api, &specs);
        assert_eq!(tools.len(), SCHEMAS.len());
        self.add(types.tools, &api.tools(&tools));
        let call = ModelCall::new("id_1", "plain", "{}");
        let outcomes = [everything(), failure(), ToolOutcome::new(Vec::new())];
        let results: Vec<CallResult<'_>> =
            outcomes.iter().map(|outcome| CallResult { call: &call, outcome }).collect();
        let results = api.results(&results);
        assert!(!results.is_empty());
        for message in results.iter().chain(&api.prompt(&prompt())) {
            self.add(types.message, message);
        }
        self.add(types.request, &api.sampling_request(&sampling(), "gpt-5.5").unwrap());
    }

    fn session<A: mcp_providers::Deferral>(&mut self, types: &Types, api: A) {
        let (search, always) = (tool("tool_search", "{}"), tool("clock", "{}"));
        let (first, second) = (of_server("git", "log", "{}"), of_server("git", "diff", "{}"));
        let mut session = Session::new(api, [&always], &search);
        let call = ModelCall::new("id_1", "tool_search", "{}");
        let other = ModelCall::new("id_2", "clock", "{}");
        let outcome = ToolOutcome::text("found");
        let results = [&call, &other, &call].map(|call| CallResult { call, outcome: &outcome });
        let mut messages = session.results(&results, &[&first, &tool("host", "{}")]);
        let changed = of_server("git", "log", r#"{"properties":{"n":{"type":"integer"}}}"#);
        messages.extend(session.refresh([&changed, &second]));
        messages.extend(session.refresh([&always, &changed, &second]));
        assert!(messages.len() >= 3);
        self.add(types.tools, &session.tools());
        for message in &messages {
            self.add(types.message, message);
        }
    }
}

/// Compiles `source` next to the folder of modules, where the compiler resolves them.
fn check(modules: &std::path::Path, source: &str) {
    let folder = tempfile::tempdir_in(modules.parent().unwrap()).unwrap();
    fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    let file = folder.path().join("payloads.ts");
    fs::write(&file, source).unwrap();
    let options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022"];
    let output = Command::new("node")
        .arg(modules.join("typescript/bin/tsc"))
        .args(options)
        .args(["--module", "nodenext"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{source}");
}
