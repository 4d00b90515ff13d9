//! The server of `crates/mcp-server/examples/typed.rs` with rmcp's macros, to compare how long they are. A test in
//! mcp-host counts the lines.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler, ServiceExt,
    handler::server::{
        router::{prompt::PromptRouter, tool::ToolRouter},
        wrapper::Parameters,
    },
    model::{
        Implementation, ListResourcesResult, PaginatedRequestParams, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
        ResourceContents, Role, ServerCapabilities, ServerConfig,
    },
    prompt, prompt_handler, prompt_router,
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: i64,
    /// Must not be zero.
    divisor: i64,
}

#[derive(Serialize, JsonSchema)]
struct Quotient {
    quotient: i64,
    remainder: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The aspect to look at.
    topic: String,
    language: Option<String>,
}

#[derive(Clone)]
struct Typed {
    notes: Arc<Mutex<Vec<String>>>,
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

#[tool_router]
impl Typed {
    #[tool(description = "Divides two integers", annotations(read_only_hint = true))]
    async fn divide(&self, args: Parameters<Division>) -> Result<Json<Quotient>, String> {
        let Division { dividend, divisor } = args.0;
        if divisor == 0 {
            return Err("the divisor must not be zero".to_owned());
        }
        Ok(Json(Quotient { quotient: dividend / divisor, remainder: dividend % divisor }))
    }

    #[tool(description = "Keeps a note", annotations(destructive_hint = false))]
    async fn add_note(&self, note: Parameters<Note>) -> String {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note.0.text);
        "kept".to_owned()
    }

    #[tool(description = "Counts the notes", annotations(read_only_hint = true))]
    async fn count_notes(&self) -> String {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).len().to_string()
    }
}

#[prompt_router]
impl Typed {
    #[prompt(description = "Reviews code")]
    async fn review(&self, args: Parameters<Review>) -> Vec<PromptMessage> {
        let language = args.0.language.unwrap_or_else(|| "Rust".to_owned());
        let text = format!("Review this {language} code for {}.", args.0.topic);
        vec![PromptMessage::new_text(Role::User, text)]
    }
}

#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Typed {
    fn get_info(&self) -> ServerConfig {
        let offers =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        ServerConfig::new(offers.build()).with_server_info(Implementation::new("typed", "1.0.0"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("memo://notes", "notes")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "memo://notes" {
            return Err(ErrorData::resource_not_found("unknown resource", None));
        }
        let text = self.notes.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let typed = Typed {
        notes: Arc::default(),
        tool_router: Typed::tool_router(),
        prompt_router: Typed::prompt_router(),
    };
    typed.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
