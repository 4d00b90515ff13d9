//! Server skills, loaded only if they match their list entry.
//!
//! The extension is [SEP-2640](https://modelcontextprotocol.io/seps/2640-skills-extension). A list
//! entry describes a skill and gives the digest of each of its files, so that a user can approve a
//! skill and a host can detect changes. Files are read on demand.

mod error;
mod front_matter;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod verify;
mod yaml;

use mcp_types::{
    ResourceContents,
    lists::Listing,
    meta, method,
    skills::{Skill, SkillResource, SkillResources},
};

pub use self::error::SkillError;
use super::Client;
use crate::error::CallError;

/// A `SKILL.md` that matches its skill's list entry.
///
/// This proves only that the server is consistent. The text is still untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    text: String,
    body_at: usize,
}

impl LoadedSkill {
    /// The whole text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text after the front matter. The front matter equals that of the list entry.
    pub fn body(&self) -> &str {
        &self.text[self.body_at..]
    }
}

/// A file of a skill that matches the skill's list entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFile {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The MIME type given by the server. The digest does not cover it.
    pub mime_type: Option<String>,
}

impl SkillFile {
    /// The content as text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

impl Client {
    /// Lists the skills of the server without reading their files. A server may have skills it does not list.
    ///
    /// If the server has not declared the extension, no request is sent and the error is
    /// [`CallError::Unsupported`].
    ///
    /// ```no_run
    /// # async fn example(client: mcp_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// for skill in client.list_skills().await? {
    ///     println!("{}: {}", skill.frontmatter.name, skill.frontmatter.description);
    ///     if skill.frontmatter.name == "pdf-processing" {
    ///         println!("{}", client.load_skill(&skill).await?.body());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn list_skills(&self) -> Result<Listing<Skill>, CallError> {
        let declared = self.0.profile.capabilities.extensions.as_ref();
        if !declared
            .and_then(|all| all.get(meta::SKILLS))
            .is_some_and(|settings| settings.is_object())
        {
            return Err(CallError::Unsupported("skills"));
        }
        self.list(method::SKILLS_LIST).await
    }

    /// Reads the `SKILL.md` of a skill. Its size, digest and front matter fields must match the
    /// list entry; otherwise none of its text is returned.
    ///
    /// A mismatch often means that the skill has changed since it was listed.
    /// [List](Self::list_skills) again and treat the new entry as a new skill: the user approved
    /// the old one.
    pub async fn load_skill(&self, skill: &Skill) -> Result<LoadedSkill, SkillError> {
        let file = self.read_listed(skill, &skill.uri).await?;
        let text = String::from_utf8(file.bytes)
            .map_err(|_| SkillError::unreadable("`SKILL.md` is not UTF-8"))?;
        let body_at = front_matter::check(&skill.frontmatter, &text)?;
        Ok(LoadedSkill { text, body_at })
    }

    /// Reads a file of a skill. Its size and digest must match the list entry. URIs that are not in
    /// the entry are not requested.
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<SkillFile, SkillError> {
        let file = self.read_listed(skill, uri).await?;
        if uri == skill.uri {
            // Apply the same checks to `SKILL.md` as `load_skill`.
            let text = file.text().ok_or(SkillError::unreadable("`SKILL.md` is not UTF-8"))?;
            front_matter::check(&skill.frontmatter, text)?;
        }
        Ok(file)
    }

    async fn read_listed(&self, skill: &Skill, uri: &str) -> Result<SkillFile, SkillError> {
        let entry = entry(skill, uri)?;
        let limit = self.0.options.max_skill_file;
        if entry.size > limit {
            return Err(SkillError::TooLarge { size: entry.size, limit });
        }
        let digest = verify::digest(&entry.digest).ok_or(SkillError::UnknownDigest)?;
        let read = self.read_resource(uri).await.map_err(SkillError::Call)?;
        let (bytes, mime_type) = content(read.contents, uri)?;
        verify::check(&bytes, entry.size, &digest)?;
        Ok(SkillFile { bytes, mime_type })
    }
}

/// Finds the list entry of a file.
fn entry<'a>(skill: &'a Skill, uri: &str) -> Result<&'a SkillResource, SkillError> {
    let SkillResources::Listed(files) = &skill.resources else {
        return Err(SkillError::Dynamic);
    };
    let mut named = files.iter().filter(|file| file.uri == uri);
    match (named.next(), named.next()) {
        (Some(file), None) => Ok(file),
        (None, _) => Err(SkillError::NotListed { uri: uri.into() }),
        // The user may have approved either entry, so neither is used.
        (Some(_), Some(_)) => Err(SkillError::ListedTwice { uri: uri.into() }),
    }
}

/// Returns the content of a read result and its MIME type.
fn content(
    mut parts: Vec<ResourceContents>,
    uri: &str,
) -> Result<(Vec<u8>, Option<String>), SkillError> {
    if parts.len() > 1 {
        parts.retain(|part| part.uri == uri);
    }
    let (Some(part), None) = (parts.pop(), parts.pop()) else {
        return Err(SkillError::unreadable("the server did not return exactly one file"));
    };
    let bytes = match (part.text, part.blob) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(blob)) => verify::base64(&blob)
            .ok_or(SkillError::unreadable("the file's `blob` is not Base64"))?,
        _ => return Err(SkillError::unreadable("the file is neither text nor a `blob`")),
    };
    Ok((bytes, part.mime_type))
}
