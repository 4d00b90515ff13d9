//! The client that the official conformance suite drives: see `cargo xtask conformance`.
//!
//! Every scenario runs the same code: connect, list, read and call everything the server offers, close. The behaviour
//! under test is in the library; this program only passes on the context of the suite (credentials, calls to make).

mod login;
mod synthesis;

use std::{env, error::Error, process::ExitCode, sync::Arc, time::Duration};

use mcp_client::{
    BoxFuture, CallError, Client, ClientCapabilities, ClientOptions, ElicitRequest, ElicitResult,
    Handler, RawJson, types::Tool,
};
use mcp_transport::{Http, HttpClient, HttpOptions};
use serde_json::Value;

/// Shorter than the suite's limit: a client killed by the suite cannot report an error.
const DEADLINE: Duration = Duration::from_secs(20);

const SKILLS: &str = "io.modelcontextprotocol/skills";

/// An error that the scenario did not ask for.
type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let url = env::args().next_back().filter(|url| url.starts_with("http"));
    let url = url.ok_or("the last argument must be the server's URL")?;
    let context = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let talk = tokio::time::timeout(DEADLINE, talk(&url, &context)).await;
        talk.map_err(|_| format!("not done within {DEADLINE:?}"))?
    })
}

async fn talk(url: &str, context: &Value) -> Result<(), Failure> {
    let mut http = HttpOptions::new(url);
    http.authorizer = Some(Arc::new(login::authorizer(url, context)?));
    let server = Http::new(HttpClient::new()?, http);
    let mut options = ClientOptions::default();
    options.handler = Arc::new(Agreeable);
    let client = Client::connect(&server, options).await?;
    let tools = client.list_tools().await?;
    for rejected in &tools.rejected {
        eprintln!("not offered: {rejected:?}");
    }
    read_and_prompt(&client).await?;
    load_skills(&client).await?;
    call_all(&client, &tools.items, context).await?;
    client.close().await;
    Ok(())
}

/// Reads the first resource and gets the first prompt, if there are any.
async fn read_and_prompt(client: &Client) -> Result<(), Failure> {
    let offered = &client.server().capabilities;
    if offered.resources.is_some()
        && let Some(resource) = client.list_resources().await?.items.first()
    {
        client.read_resource(&resource.uri).await?;
    }
    if offered.prompts.is_some()
        && let Some(prompt) = client.list_prompts().await?.items.first()
    {
        client.get_prompt(&prompt.name, &synthesis::prompt_arguments(prompt)).await?;
    }
    Ok(())
}

/// Loads every skill the server lists, unless the scenario is about skills that are not loaded.
async fn load_skills(client: &Client) -> Result<(), Failure> {
    let extensions = client.server().capabilities.extensions.as_ref();
    if extensions.and_then(|all| all.get(SKILLS)).is_none() {
        return Ok(());
    }
    let wanted =
        env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|name| !name.contains("no-prefetch"));
    for skill in client.list_skills().await?.items.iter().filter(|_| wanted) {
        client.load_skill(skill).await?;
        for file in skill.resources.listed() {
            client.read_skill_file(skill, &file.uri).await?;
        }
    }
    Ok(())
}

/// Makes the calls of the context, or calls every tool once with made-up arguments.
async fn call_all(client: &Client, tools: &[Tool], context: &Value) -> Result<(), Failure> {
    let wanted: Vec<(String, RawJson)> = match context["toolCalls"].as_array() {
        Some(calls) => calls.iter().map(as_call).collect::<Result<_, _>>()?,
        None => tools
            .iter()
            .map(|tool| Ok((tool.name.clone(), synthesis::arguments(tool, tools)?)))
            .collect::<Result<_, Failure>>()?,
    };
    for (name, arguments) in wanted {
        match client.call_tool_raw(&name, arguments).await {
            Ok(_) => {}
            // The server may reject a call; any other failure is ours.
            Err(CallError::Failed {
                failure: mcp_client::rpc::Failure::Rejected(error), ..
            }) => {
                eprintln!("{name}: {error}");
            }
            Err(error) => return Err(format!("{name}: {error}").into()),
        }
    }
    Ok(())
}

fn as_call(call: &Value) -> Result<(String, RawJson), Failure> {
    let name = call["name"].as_str().ok_or("a call without a name")?;
    Ok((name.to_owned(), RawJson::encode(&call["arguments"])?))
}

/// Accepts every elicitation without input, so that the library sends the defaults of the form.
struct Agreeable;

impl Handler for Agreeable {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered
    }

    fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(async { ElicitResult::accept(RawJson::empty_object()) })
    }
}
