//! Lists of tools, resources and prompts.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
};

use mcp_types::{
    Era, Prompt, Resource, ResourceTemplate, Tool,
    lists::{Listing, Rejected},
    method,
    tasks::TaskSupport,
};

use super::Client;
use crate::error::{CallError, problem};

impl Client {
    /// Lists all tools in the server's order. Entries that cannot be parsed are reported as rejected.
    pub async fn list_tools(&self) -> Result<Listing<Tool>, CallError> {
        let mut listing = self.list::<Tool>(method::TOOLS_LIST).await?;
        if self.era() == Era::Modern {
            self.register_header_params(&mut listing);
        }
        if self.era() == Era::Legacy && self.runs_tasks() {
            let required =
                listing.items.iter().filter(|t| t.task_support() == TaskSupport::Required);
            *self.task_tools() = required.map(|tool| tool.name.clone()).collect();
        }
        Ok(listing)
    }

    /// Registers the arguments that are also sent as headers. Tools with an
    /// invalid declaration of them are rejected.
    fn register_header_params(&self, listing: &mut Listing<Tool>) {
        let outlet = self.0.engine.outlet();
        let Listing { items, rejected, .. } = listing;
        items.retain(|tool| match outlet.register_header_params(&tool.name, &tool.input_schema) {
            Ok(()) => true,
            Err(why) => {
                tracing::warn!(tool = tool.name, %why, "tool rejected: its header parameters are invalid");
                rejected.push(Rejected::new(Some(tool.name.clone()), problem(why.to_string())));
                false
            }
        });
    }

    /// Lists all resources.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, CallError> {
        self.list(method::RESOURCES_LIST).await
    }

    /// Lists all resource templates.
    pub async fn list_resource_templates(&self) -> Result<Listing<ResourceTemplate>, CallError> {
        self.list(method::RESOURCES_TEMPLATES_LIST).await
    }

    /// Lists all prompts.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, CallError> {
        self.list(method::PROMPTS_LIST).await
    }

    pub(crate) fn must_run_as_task(&self, tool: &str) -> bool {
        self.0.options.follow_tasks && self.task_tools().contains(tool)
    }

    /// Whether a legacy server declares task support for tool calls. Others must not be sent task requests.
    fn runs_tasks(&self) -> bool {
        let tasks = self.0.profile.capabilities.tasks.as_ref();
        let tools = tasks.and_then(|tasks| tasks.get("requests")?.get("tools"));
        tools.is_some_and(|tools| tools.get("call").is_some())
    }

    fn task_tools(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.task_tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
