//! Traits for the tools, resources, prompts and completions that a server offers, with do-nothing defaults.

pub(crate) mod catalog;
pub(crate) mod header_params;
mod prompt;
mod prompts;
mod resource;
mod resources;
mod texts;
pub(crate) mod tools;
mod uri_template;
pub(crate) mod watches;

pub use self::{
    prompt::{PromptBuilder, ServedPrompt, prompt},
    prompts::{CompletionOf, CompletionQuestion, Completions, Prompts},
    resource::{
        ResourceBody, ResourceBuilder, ServedResource, TemplateBuilder, resource, resource_template,
    },
    resources::Resources,
    tools::ServedTool,
};

/// Offers no resources, prompts or completions. The default methods of these traits return nothing.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct without state")]
pub struct Nothing;

impl Resources for Nothing {}
impl Prompts for Nothing {}
impl Completions for Nothing {}
