//! A plain JSON format for models without a supported API: MCP's own objects.

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_tool::ToolSpec;
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult};

use crate::{
    api::{Api, CallResult, Definition},
    arguments::Arguments,
    call::ModelCall,
    define::fitted,
    json::{Json, Object, object},
    name::Limits,
    sampling::SamplingError,
    schema::Dialect,
};

/// MCP's own objects as a format: tools with `inputSchema`, calls as `{"id", "name", "arguments"}` in
/// `calls`, results and messages with MCP's content.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Generic;

impl Api for Generic {
    fn limits(&self) -> Limits {
        Limits::new(64, None, None)
    }

    fn definition(&self, tool: &ToolSpec) -> Definition {
        let tool = fitted(tool, self.limits(), Dialect::Generic);
        let mut object = tool.head(Object::default());
        object.set("inputSchema", tool.schema);
        Definition { name: tool.name, json: Json::from(object).raw(), losses: tool.losses }
    }

    fn calls(&self, response: &RawJson) -> Vec<ModelCall> {
        let response = Json::read(response);
        let calls = response.get("calls").and_then(Json::as_array).unwrap_or_default();
        let call = |call: &Json| {
            Some(ModelCall {
                id: call.get("id").and_then(Json::as_str).unwrap_or_default().to_owned(),
                name: call.get("name")?.as_str()?.to_owned(),
                arguments: Arguments::of(
                    call.get("arguments").map_or_else(RawJson::null, Json::raw),
                ),
            })
        };
        calls.iter().filter_map(call).collect()
    }

    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson> {
        let write = |CallResult { call, outcome }: &CallResult<'_>| {
            let content = RawJson::encode(&outcome.content).unwrap_or_else(|_| RawJson::null());
            let mut result = object! {
                "role" => "tool",
                "id" => call.id.as_str(),
                "name" => call.name.as_str(),
                "content" => Json::read(&content),
                "isError" => outcome.is_error,
            };
            if let Some(structured) = &outcome.structured {
                result.set("structuredContent", Json::read(structured));
            }
            Json::from(result).raw()
        };
        results.iter().map(write).collect()
    }

    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson> {
        prompt.messages.iter().filter_map(|message| RawJson::encode(message).ok()).collect()
    }

    fn sampling_request(
        &self,
        request: &CreateMessageRequest,
        model: &str,
    ) -> Result<RawJson, SamplingError> {
        request.check_tool_results()?;
        let mut body = ObjectWriter::new();
        body.string("model", model).splice(&RawJson::encode(request)?);
        Ok(body.finish())
    }

    fn sampling_result(&self, response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
        response.decode().map_err(|_| SamplingError::Response("content"))
    }
}
