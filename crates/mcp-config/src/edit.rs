//! Edits configuration text and preserves every byte that need not change.
//!
//! An [`Edit`] becomes a few operations on paths (set, remove). Each format applies them to its own text:
//! JSON and YAML by spans, TOML with its document type.

mod export;
mod json;
mod operation;
mod plan;
mod text;
#[cfg(feature = "toml")]
mod toml;
mod verify;
#[cfg(feature = "yaml")]
mod yaml;

pub use self::{
    export::{Exported, export},
    operation::{Edit, EditError},
};
use self::{operation::Operation, plan::Plan};
use crate::{
    dialect::{ReadOptions, read},
    format::Format,
    model::Scope,
};

/// Applies `edit` to `text`, a file of `options.dialect` (detected if `None`). Bytes outside the entry
/// concerned are unchanged.
///
/// ```
/// use mcp_config::{ReadOptions, edit::{Edit, edit_text}};
/// let text = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";
/// let off = edit_text(text, &ReadOptions::new(".mcp.json"), &Edit::Enable("a".into(), false))?;
/// assert_eq!(off, text.replace("\"x\" }", "\"x\", \"enabled\": false }"));
/// # Ok::<(), mcp_config::edit::EditError>(())
/// ```
pub fn edit_text(text: &str, options: &ReadOptions<'_>, edit: &Edit) -> Result<String, EditError> {
    edit_in_scope(text, options, edit, None)
}

/// Like [`edit_text`], for the section of one scope in files with several.
pub(crate) fn edit_in_scope(
    text: &str,
    options: &ReadOptions<'_>,
    edit: &Edit,
    scope: Option<Scope>,
) -> Result<String, EditError> {
    let document = read(text.as_bytes(), options);
    // A file with a syntax error is not edited, because that would need guessing.
    let dialect = document.dialect.ok_or_else(|| EditError::unreadable(&document))?;
    let project = options.project_key();
    let plan = Plan { dialect, project: project.as_deref(), scope };
    let operations = plan.operations(text, edit)?;
    let changed = operations.iter().try_fold(text.to_owned(), |text, operation| {
        carry_out(dialect.format(), &text, operation)
    })?;
    let options = ReadOptions { dialect: Some(dialect), ..*options };
    verify::check(&document, &read(changed.as_bytes(), &options), edit)?;
    Ok(changed)
}

fn carry_out(format: Format, text: &str, operation: &Operation) -> Result<String, EditError> {
    match format {
        Format::Json => json::apply(text, operation),
        #[cfg(feature = "toml")]
        Format::Toml => toml::apply(text, operation),
        #[cfg(feature = "yaml")]
        Format::Yaml => yaml::apply(text, operation),
        #[cfg(not(all(feature = "toml", feature = "yaml")))]
        _ => Err(EditError::Awkward(
            "this build does not support the format; enable the feature `toml` or `yaml`",
        )),
    }
}
